//! A grant goes to the most urgent request that the granter knows.
//!
//! Source: "highest priority first" (Jiang, section 2 and theorem 2), as far as one node can keep it: it compares what is in
//! its own queue. What it has not been told is the business of `most-urgent-known`.
//!
//! Checked on steps rather than states, because afterwards the grant is gone from the queue and what it passed is not
//! known: after a step that granted a request, no entry of the node's queue may be strictly more urgent than it was.
//! This also forbids passing a front that does not fit, which is the strict admission rule. Only nodes that grant are
//! looked at: those that had or have the token, and all nodes of protocols with heights, where no other node can grant.
//!
//! Excused is
//! - **joining**, if the setting allows it: a request of the session that was open already, or was opened by an earlier
//!   grant of this step, may pass entries of other sessions or of none. How many may do so is counted by the protocol;
//!   one that forgets to count starves the front, which the checker sees on its graph. If the token came and went
//!   within the step, it is not known what was open, and the protocol gets the benefit of the doubt;
//! - **backfilling**, if the setting allows it: a request may pass entries that wait for more units than were free. How many
//!   may do so is the business of `backfill`;
//! - **a request made or changed in this very step where requests age**: its rank depends on a clock that is not seen
//!   here. With strict priority or deadlines its rank is computed from the event, and jumping the queue is caught.

use meshlock_core::view::{Claimant, Origin, View};
use meshlock_core::{Aging, Event, Fence, Grant, NodeId, Order, Rank, RequestId, Session, Urgency};

use crate::rule::{Rule, Setting, Violation};

/// One step of one node that granted something.
pub(crate) struct Step<'a> {
    pub(crate) setting: &'a Setting,
    pub(crate) node: NodeId,
    pub(crate) before: &'a View,
    pub(crate) after: &'a View,
    pub(crate) granted: &'a [Grant],
}

pub(crate) fn check<M>(step: &Step<'_>, event: &Event<M>) -> Result<(), Violation> {
    step.check(|request| step.rank_of(event, request))
}

impl Step<'_> {
    /// Whether a grant of this step has left a more urgent request in the queue. Not if its rank is not known.
    pub(crate) fn passes<M>(&self, event: &Event<M>, grant: &Grant) -> bool {
        let rank = self.rank_of(event, grant.request);
        rank.is_some_and(|rank| self.after.queue.iter().any(|claim| claim.rank > rank))
    }

    /// The rank that a request had when it was granted.
    fn rank_of<M>(&self, event: &Event<M>, request: RequestId) -> Option<Rank> {
        let urgency = if let Event::Request { request: wished, demand } = event {
            (*wished == request).then_some(demand.urgency)
        } else if let Event::Reprioritize { request: wished, urgency } = event {
            (*wished == request).then_some(*urgency)
        } else {
            None
        };
        match urgency {
            Some(urgency) => timeless_rank(self.setting.order, urgency),
            None => self.rank_before(request),
        }
    }

    fn check(&self, rank_of: impl Fn(RequestId) -> Option<Rank>) -> Result<(), Violation> {
        if self.before.token.is_none() && self.after.token.is_none() && self.after.height.is_none() {
            return Ok(());
        }
        for grant in self.granted {
            let Some(rank) = rank_of(grant.request) else {
                continue;
            };
            let passed =
                self.after.queue.iter().find(|claim| {
                    claim.rank > rank && !self.may_join(grant, claim) && !self.may_backfill(grant, claim)
                });
            if let Some(claim) = passed {
                let whose = match claim.origin {
                    Origin::Local(request) => format!("request {}.{request}", self.node),
                    Origin::Node(neighbour) => format!("the claim of node {neighbour}"),
                };
                let what = format!(
                    "request {}.{} of rank {rank} is granted past {whose} of rank {}",
                    self.node, grant.request, claim.rank
                );
                return Err(Violation::new(Rule::GrantOrder, Some(self.node), what));
            }
        }
        Ok(())
    }

    fn rank_before(&self, request: RequestId) -> Option<Rank> {
        self.before.waiting.iter().find(|waiting| waiting.request == request).map(|waiting| waiting.rank)
    }

    fn is_granted(&self, request: RequestId) -> bool {
        self.granted.iter().any(|grant| grant.request == request)
    }

    fn may_join(&self, grant: &Grant, passed: &Claimant) -> bool {
        let joins = self.setting.joins > 0 && grant.session.is_some() && passed.session != grant.session;
        let mut earlier = self.granted.iter().take_while(|other| other.request != grant.request);
        let opened_now = earlier.any(|other| other.session == grant.session);
        joins && (opened_now || self.open_session().is_none_or(|open| open == grant.session))
    }

    /// Whether what was passed did not fit. If the token has gone within the step, what was free is not known.
    fn may_backfill(&self, grant: &Grant, passed: &Claimant) -> bool {
        let since = self.granted.iter().skip_while(|other| other.request != grant.request);
        let granted: u64 = since.map(|other| u64::from(other.units.0)).sum();
        let free = self.after.token.as_ref().map(|token| u64::from(token.free.0) + granted);
        self.setting.passes > 0 && free.is_none_or(|free| free < u64::from(passed.units.0))
    }

    /// The session that was open before the step granted anything; the outer `None` if that is not known.
    fn open_session(&self) -> Option<Option<Session>> {
        if let Some(token) = &self.before.token {
            let booked = token.ledger.iter().flatten().find_map(|entry| entry.session);
            return Some(booked.or(token.session));
        }
        let token = self.after.token.as_ref()?;
        let earlier = token
            .ledger
            .iter()
            .flatten()
            .filter(|entry| entry.grant.node != self.node || !self.is_granted(entry.grant.request));
        Some(earlier.into_iter().find_map(|entry| entry.session))
    }
}

/// The rank of a request made now, where it does not depend on how many grants were given before.
fn timeless_rank(order: Order, urgency: Urgency) -> Option<Rank> {
    match order {
        Order::Priority { aging: Aging(0) } | Order::Deadline => order.rank(urgency, Fence(0)),
        Order::Priority { aging: Aging(_) } => None,
    }
}

#[cfg(test)]
mod tests;
