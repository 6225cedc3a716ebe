//! h out of k units by permission: each node says how many it does not need.
//!
//! Michel Raynal, "A distributed solution to the k-out-of-M resources allocation problem", ICCI 1991, LNCS 497. It
//! grows out of Ricart and Agrawala, and for k = 1 it is the same.
//!
//! ```text
//!   k = 3; cy uses 2                  ann wants 1
//!   ann --request(4)--> bob, cy
//!   bob --permit 3--> ann             bob wants nothing: all of them
//!   cy  --permit 1--> ann             cy needs 2 itself; ann counts 0 + 2 in use, and 1 fits: it enters
//!   cy  --permit 2--> ann             when cy leaves
//! ```
//!
//! A node that asks assumes that each other node uses all k units, and subtracts what that node permits. It enters as
//! soon as the units that may be in use and its own demand are at most k together. A node that is inside, or asked
//! earlier, permits all but its own units at once (if that is none, it sends nothing) and the rest when it leaves.
//!
//! Permits for an earlier request may still be in flight when the next one is made. So a new request does not set what a
//! node may use to k but adds k, and a node that still owes its units for the previous request permits all k for the
//! next: the sum is right in the end. Tolerates reordered messages.

use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

use super::check_number;
use super::single::{self, Turn};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::protocol::Rejection;
use meshlock_core::vocabulary::{NodeId, Units};

meshlock_core::bugs! {
    /// A new request forgets what is still to come for the one before.
    ForgetOutstanding,
    /// A node that waits permits everything.
    PermitAllWhileWaiting,
    /// A node that leaves does not permit the rest.
    KeepRest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// I want units. The number is not told.
    Request {
        /// The sender's clock when it asked.
        clock: u64,
    },
    /// You may use these, as far as I am concerned.
    Permit { units: Units },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Algorithm {
    /// The k of h-out-of-k (the paper's M).
    capacity: Units,
    /// The greatest clock seen in any request, the own ones included.
    clock: u64,
    /// The clock of the own request; zero while the caller is away.
    asked_at: u64,
    /// What each other node may be using: permits that are still to come. Nodes with none are left out.
    used: BTreeMap<NodeId, u64>,
    /// The nodes that get the caller's units when it leaves. Invariant: empty while it is away.
    owed: BTreeSet<NodeId>,
}

pub type Node = single::Node<Algorithm>;

impl Algorithm {
    fn enter_if_it_fits(&self, turn: &mut Turn<'_, Self>) {
        let wanted = u64::from(turn.caller().units().0);
        if self.used.values().sum::<u64>() + wanted <= u64::from(self.capacity.0) {
            turn.enter(None);
        }
    }

    fn on_request(&mut self, from: NodeId, clock: u64, turn: &mut Turn<'_, Self>) {
        self.clock = self.clock.max(clock);
        let caller = turn.caller();
        let earlier = caller.waits() && (self.asked_at, turn.id) < (clock, from);
        let needs = caller.is_inside() || (earlier && !turn.has(Bug::PermitAllWhileWaiting));
        // Units that are already owed for the previous request are not kept back twice.
        let kept = if needs && self.owed.insert(from) { caller.units() } else { Units(0) };
        let units = Units(self.capacity.0.saturating_sub(kept.0));
        if units > Units(0) {
            turn.send(from, Message::Permit { units });
        }
    }

    fn on_permit(&mut self, from: NodeId, units: Units, turn: &mut Turn<'_, Self>) -> Result<(), Rejection> {
        if units == Units(0) {
            return Err(Rejection::ImpossibleUnits);
        }
        let used = self.used.get_mut(&from).ok_or(Rejection::UnexpectedAnswer)?;
        *used = used.checked_sub(units.0.into()).ok_or(Rejection::ImpossibleUnits)?;
        if *used == 0 {
            self.used.remove(&from);
        }
        self.enter_if_it_fits(turn);
        Ok(())
    }
}

impl single::Algorithm for Algorithm {
    type Message = Message;
    type Bug = Bug;
    type Setting = Units;

    const BY_PERMISSION: bool = true;

    fn start(_id: NodeId, _members: &BTreeSet<NodeId>, capacity: Units) -> Self {
        Self { capacity, clock: 0, asked_at: 0, used: BTreeMap::new(), owed: BTreeSet::new() }
    }

    fn capacity(&self) -> Units {
        self.capacity
    }

    fn ask(&mut self, turn: &mut Turn<'_, Self>) {
        self.clock += 1;
        self.asked_at = self.clock;
        if turn.has(Bug::ForgetOutstanding) {
            self.used.clear();
        }
        for &node in turn.others {
            *self.used.entry(node).or_default() += u64::from(self.capacity.0);
        }
        turn.send_to_all(&Message::Request { clock: self.clock });
        self.enter_if_it_fits(turn);
    }

    fn leave(&mut self, units: Units, turn: &mut Turn<'_, Self>) {
        self.asked_at = 0;
        for node in std::mem::take(&mut self.owed) {
            if !turn.has(Bug::KeepRest) {
                turn.send(node, Message::Permit { units });
            }
        }
    }

    fn receive(&mut self, from: NodeId, message: Message, turn: &mut Turn<'_, Self>) -> Result<(), Rejection> {
        match message {
            Message::Request { clock } => {
                check_number(clock)?;
                self.on_request(from, clock, turn);
                Ok(())
            }
            Message::Permit { units } => self.on_permit(from, units, turn),
        }
    }

    fn queue(&self) -> Vec<NodeId> {
        self.owed.iter().copied().collect()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "request",
            Message::Permit { .. } => "permit",
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visitor.number(STAMP, &mut self.clock);
        visitor.number(STAMP, &mut self.asked_at);
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        match message {
            Message::Request { clock } => visitor.number(STAMP, clock),
            Message::Permit { .. } => {}
        }
    }
}

const STAMP: Line = Line::stepping("stamp");
