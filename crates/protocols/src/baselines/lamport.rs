//! All nodes keep the same queue of requests, and its first may enter once no other can come before it any more.
//!
//! Leslie Lamport, "Time, clocks, and the ordering of events in a distributed system", CACM 21(7), 1978.
//!
//! ```text
//!   ann --request(3)--> bob, cy      both put ann into their queues and acknowledge
//!   bob, cy --ack(5)--> ann          ann is first in its own queue and has later messages of all others: it enters
//!   ann --release(6)--> bob, cy      both take it out
//! ```
//!
//! Requests are ordered by clock and, among equals, by id. Every message carries the clock of its sender. Needs FIFO
//! channels: a later message from a node means that no earlier one of it is still in flight.

use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

use super::check_number;
use super::single::{self, Turn};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::protocol::Rejection;
use meshlock_core::vocabulary::{NodeId, Units};

meshlock_core::bugs! {
    /// The first of the queue enters without having heard from all others.
    EnterUnheard,
    /// A release is not told to the others.
    SilentRelease,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Message {
    pub clock: u64,
    pub word: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Put me into your queue, with the clock of this message.
    Request,
    /// I have heard your request.
    Ack,
    /// Take me out.
    Release,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Algorithm {
    clock: u64,
    /// The clock of each node's request, this node's included.
    requests: BTreeMap<NodeId, u64>,
    /// The nodes from which nothing later than the own request was heard. Invariant: empty unless the caller waits.
    unheard: BTreeSet<NodeId>,
}

pub type Node = single::Node<Algorithm>;

impl Algorithm {
    fn in_order(&self) -> Vec<(u64, NodeId)> {
        let mut order: Vec<_> = self.requests.iter().map(|(&node, &clock)| (clock, node)).collect();
        order.sort_unstable();
        order
    }

    fn enter_if_first(&mut self, turn: &mut Turn<'_, Self>) {
        let heard = self.unheard.is_empty() || turn.has(Bug::EnterUnheard);
        if turn.caller().waits() && heard && self.in_order().first().is_some_and(|&(_, first)| first == turn.id) {
            self.unheard.clear();
            turn.enter(None);
        }
    }
}

impl single::Algorithm for Algorithm {
    type Message = Message;
    type Bug = Bug;
    type Setting = ();

    const BY_PERMISSION: bool = true;

    fn start(_id: NodeId, _members: &BTreeSet<NodeId>, (): ()) -> Self {
        Self::default()
    }

    fn ask(&mut self, turn: &mut Turn<'_, Self>) {
        self.clock += 1;
        self.requests.insert(turn.id, self.clock);
        self.unheard.clone_from(turn.others);
        turn.send_to_all(&Message { clock: self.clock, word: Word::Request });
        self.enter_if_first(turn);
    }

    fn leave(&mut self, _units: Units, turn: &mut Turn<'_, Self>) {
        self.clock += 1;
        self.requests.remove(&turn.id);
        if !turn.has(Bug::SilentRelease) {
            turn.send_to_all(&Message { clock: self.clock, word: Word::Release });
        }
    }

    fn receive(&mut self, from: NodeId, message: Message, turn: &mut Turn<'_, Self>) -> Result<(), Rejection> {
        let Message { clock, word } = message;
        check_number(clock)?;
        let known = self.requests.contains_key(&from);
        match word {
            Word::Request if known => return Err(Rejection::UnexpectedAnswer),
            Word::Release if !known => return Err(Rejection::UnexpectedAnswer),
            Word::Request => drop(self.requests.insert(from, clock)),
            Word::Release => drop(self.requests.remove(&from)),
            Word::Ack => {}
        }
        self.clock = self.clock.max(clock) + 1;
        if word == Word::Request {
            turn.send(from, Message { clock: self.clock, word: Word::Ack });
        }
        if self.requests.get(&turn.id).is_some_and(|&own| (own, turn.id) < (clock, from)) {
            self.unheard.remove(&from);
        }
        self.enter_if_first(turn);
        Ok(())
    }

    fn queue(&self) -> Vec<NodeId> {
        self.in_order().into_iter().map(|(_, node)| node).collect()
    }

    fn kind(message: &Message) -> &'static str {
        match message.word {
            Word::Request => "request",
            Word::Ack => "ack",
            Word::Release => "release",
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visitor.number(STAMP, &mut self.clock);
        for clock in self.requests.values_mut() {
            visitor.number(STAMP, clock);
        }
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        visitor.number(STAMP, &mut message.clock);
    }
}

const STAMP: Line = Line::stepping("stamp");
