//! The coordinator's desk: who waits, who is inside, and who is next.

use std::vec::Vec;

use super::{Bug, Message};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::planted::Planted;
use meshlock_core::protocol::Rejection;
use meshlock_core::reverse_link::{Capacity, Claim, Token};
use meshlock_core::view::{Claimant, Origin, TokenView};
use meshlock_core::vocabulary::{Demand, Fence, GrantId, NodeId, Order, Rank, Units, Urgency};

/// What all nodes agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rules {
    pub(super) capacity: Units,
    pub(super) order: Order,
    pub(super) joins: u32,
    pub(super) planted: Planted<Bug>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    id: GrantId,
    /// How many grants had been made when it came, to rank it anew.
    since: Fence,
    claim: Claim,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Desk {
    /// Everything in use, in the same ledger as the token of our own protocol; here it stays at the coordinator.
    ledger: Token,
    /// By rank, equals by arrival.
    queue: Vec<Entry>,
}

impl Desk {
    pub(super) fn new(capacity: Units) -> Self {
        Self { ledger: Token::new(Capacity::first(capacity)), queue: Vec::new() }
    }

    /// Takes in a message of a member. On `Err` nothing has changed.
    pub(super) fn take_in(&mut self, from: NodeId, message: Message, rules: &Rules) -> Result<(), Rejection> {
        match message {
            Message::Request { id, demand } => {
                self.check_owner(from, id)?;
                self.on_request(id, &demand, rules)
            }
            Message::Cancel { id } => {
                self.check_owner(from, id)?;
                self.on_cancel(id, rules)
            }
            Message::Reprioritize { id, urgency } => {
                self.check_owner(from, id)?;
                self.on_reprioritize(id, urgency, rules)
            }
            Message::Release { id, units } => {
                self.check_owner(from, id)?;
                self.on_release(id, units)
            }
            Message::Grant { .. } => Err(Rejection::UnexpectedAnswer),
        }
    }

    fn check_owner(&self, from: NodeId, id: GrantId) -> Result<(), Rejection> {
        if id.node == from { Ok(()) } else { Err(Rejection::UnknownNode) }
    }

    fn on_request(&mut self, id: GrantId, demand: &Demand, rules: &Rules) -> Result<(), Rejection> {
        if demand.units == Units(0) || demand.units > rules.capacity {
            return Err(Rejection::ImpossibleUnits);
        }
        if self.queued_at(id).is_some() || self.is_in_use(id) {
            return Err(Rejection::UnexpectedAnswer);
        }
        let since = self.ledger.granted;
        let rank = rules.order.rank(demand.urgency, since).ok_or(Rejection::NumberOutOfRange)?;
        let claim = Claim { alone: true, origin: id.node, rank, units: demand.units, session: demand.session };
        self.insert(Entry { id, since, claim }, rules);
        Ok(())
    }

    /// A cancellation of a granted request has crossed the grant: it counts as a release.
    fn on_cancel(&mut self, id: GrantId, rules: &Rules) -> Result<(), Rejection> {
        if let Some(at) = self.queued_at(id) {
            self.queue.remove(at);
        } else if !self.is_in_use(id) {
            return Err(Rejection::UnexpectedAnswer);
        } else if !rules.planted.has(Bug::IgnoreCrossedCancel) {
            self.ledger.strike(id);
        }
        Ok(())
    }

    fn on_reprioritize(&mut self, id: GrantId, urgency: Urgency, rules: &Rules) -> Result<(), Rejection> {
        let Some(at) = self.queued_at(id) else {
            // Too late for one that is granted by now.
            return if self.is_in_use(id) { Ok(()) } else { Err(Rejection::UnexpectedAnswer) };
        };
        let mut entry = self.queue[at];
        entry.claim.rank = rules.order.rank(urgency, entry.since).ok_or(Rejection::NumberOutOfRange)?;
        self.queue.remove(at);
        self.insert(entry, rules);
        Ok(())
    }

    fn on_release(&mut self, id: GrantId, units: Units) -> Result<(), Rejection> {
        match self.ledger.ledger.iter().find(|loan| loan.grant == id) {
            None => Err(Rejection::UnexpectedAnswer),
            Some(loan) if loan.units != units => Err(Rejection::ImpossibleUnits),
            Some(_) => {
                self.ledger.strike(id);
                Ok(())
            }
        }
    }

    fn queued_at(&self, id: GrantId) -> Option<usize> {
        self.queue.iter().position(|entry| entry.id == id)
    }

    fn is_in_use(&self, id: GrantId) -> bool {
        self.ledger.ledger.iter().any(|loan| loan.grant == id)
    }

    /// Behind all that are as urgent.
    fn insert(&mut self, entry: Entry, rules: &Rules) {
        let at = self.queue.partition_point(|other| other.claim.rank >= entry.claim.rank);
        let at = if rules.planted.has(Bug::IgnoreRanks) { self.queue.len() } else { at };
        self.queue.insert(at, entry);
    }

    /// Grants the front if it fits, or a request that may join the running session past it.
    pub(super) fn next_grant(&mut self, rules: &Rules) -> Option<(GrantId, Fence)> {
        let front = self.queue.first()?;
        let fits = self.fits(&front.claim, rules);
        let at = if fits { 0 } else { self.joiner(&front.claim, rules)? };
        let Entry { id, claim, .. } = self.queue.remove(at);
        let fence = self.ledger.lend(id, &claim, meshlock_core::Slots::NONE);
        if !fits {
            self.ledger.joined = (self.ledger.joined + 1).min(rules.joins);
        }
        Some((id, fence))
    }

    fn fits(&self, claim: &Claim, rules: &Rules) -> bool {
        let units = self.ledger.free() >= claim.units || rules.planted.has(Bug::IgnoreUnits);
        units && (!self.ledger.excludes(claim) || rules.planted.has(Bug::IgnoreSessions))
    }

    /// The place of a request that may join past a front that has to wait for the end of the running session.
    fn joiner(&self, front: &Claim, rules: &Rules) -> Option<usize> {
        let capped = self.ledger.joined >= rules.joins && !rules.planted.has(Bug::JoinWithoutCap);
        if capped || !self.ledger.excludes(front) {
            return None;
        }
        let running = self.ledger.session();
        self.queue.iter().position(|entry| entry.claim.session == running && self.fits(&entry.claim, rules))
    }

    pub(super) fn ledger(&self) -> TokenView {
        TokenView { pass: None, capacity: None, ..self.ledger.view() }
    }

    pub(super) fn claimants(&self, here: NodeId) -> Vec<Claimant> {
        let claimant = |entry: &Entry| {
            let origin =
                if entry.id.node == here { Origin::Local(entry.id.request) } else { Origin::Node(entry.id.node) };
            let Claim { rank, units, session, .. } = entry.claim;
            Claimant { origin, rank, units, session }
        };
        self.queue.iter().map(claimant).collect()
    }

    pub(super) fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visitor.number(Line::CLOCK, &mut self.ledger.granted.0);
        for loan in &mut self.ledger.ledger {
            visit_id(&mut loan.grant, visitor);
        }
        for entry in &mut self.queue {
            visit_id(&mut entry.id, visitor);
            visitor.number(Line::CLOCK, &mut entry.since.0);
            // A rank is a virtual deadline with its sign turned.
            entry.claim.rank = Rank(-visitor.visit(Line::DUE, -entry.claim.rank.0));
        }
    }
}

pub(super) fn visit_id(id: &mut GrantId, visitor: &mut dyn CounterVisitor) {
    visitor.number(Line::of("request", id.node), &mut id.request.0);
}
