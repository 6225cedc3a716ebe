//! A node that wants to enter asks all others, and each agrees at once or after its own turn.
//!
//! Glenn Ricart and Ashok K. Agrawala, "An optimal algorithm for mutual exclusion in computer networks",
//! CACM 24(1), 1981.
//!
//! ```text
//!   ann --request(3)--> bob, cy        bob wants nothing: replies at once
//!   bob --reply--> ann                 cy asked earlier, with stamp 2: it replies when it leaves
//!   cy  .......... --reply--> ann
//! ```
//!
//! Requests are ordered by Lamport's clocks and, among equals, by id. Tolerates reordered messages.

use std::collections::BTreeSet;
use std::vec::Vec;

use super::check_number;
use super::single::{self, Turn};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::protocol::Rejection;
use meshlock_core::vocabulary::{NodeId, Units};

meshlock_core::bugs! {
    /// A node that waits replies to all at once.
    ReplyWhileWaiting,
    /// Two nodes that wait defer each other.
    DeferWhileWaiting,
    /// Clocks do not learn from messages.
    DeafClock,
    /// A node that leaves forgets the replies it deferred.
    ForgetDeferred,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// May I enter?
    Request {
        /// The sender's clock when it asked.
        clock: u64,
    },
    /// You may.
    Reply,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Algorithm {
    /// The greatest clock seen in any request, the own ones included.
    clock: u64,
    /// The clock of the own request; zero while the caller is away.
    asked_at: u64,
    /// Nodes that have not replied yet. Invariant: empty unless the caller waits.
    missing: BTreeSet<NodeId>,
    /// Nodes that get a reply when the caller leaves. Invariant: empty while it is away.
    deferred: BTreeSet<NodeId>,
}

pub type Node = single::Node<Algorithm>;

impl Algorithm {
    fn enter_if_allowed(&self, turn: &mut Turn<'_, Self>) {
        if self.missing.is_empty() {
            turn.enter(None);
        }
    }

    /// Whether a request with this clock has to wait until the own one is over.
    fn comes_first(&self, from: NodeId, clock: u64, turn: &Turn<'_, Self>) -> bool {
        let caller = turn.caller();
        let earlier = (self.asked_at, turn.id) < (clock, from) || turn.has(Bug::DeferWhileWaiting);
        caller.is_inside() || (caller.waits() && earlier && !turn.has(Bug::ReplyWhileWaiting))
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
        self.asked_at = self.clock;
        self.missing.clone_from(turn.others);
        turn.send_to_all(&Message::Request { clock: self.clock });
        self.enter_if_allowed(turn);
    }

    fn leave(&mut self, _units: Units, turn: &mut Turn<'_, Self>) {
        self.asked_at = 0;
        for node in std::mem::take(&mut self.deferred) {
            if !turn.has(Bug::ForgetDeferred) {
                turn.send(node, Message::Reply);
            }
        }
    }

    fn receive(&mut self, from: NodeId, message: Message, turn: &mut Turn<'_, Self>) -> Result<(), Rejection> {
        match message {
            Message::Request { clock } => {
                check_number(clock)?;
                if self.deferred.contains(&from) {
                    return Err(Rejection::UnexpectedAnswer); // it asks again without a reply to the first
                }
                if !turn.has(Bug::DeafClock) {
                    self.clock = self.clock.max(clock);
                }
                if self.comes_first(from, clock, turn) {
                    self.deferred.insert(from);
                } else {
                    turn.send(from, Message::Reply);
                }
            }
            Message::Reply => {
                if !self.missing.remove(&from) {
                    return Err(Rejection::UnexpectedAnswer);
                }
                self.enter_if_allowed(turn);
            }
        }
        Ok(())
    }

    fn queue(&self) -> Vec<NodeId> {
        self.deferred.iter().copied().collect()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "request",
            Message::Reply => "reply",
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visitor.number(STAMP, &mut self.clock);
        visitor.number(STAMP, &mut self.asked_at);
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        match message {
            Message::Request { clock } => visitor.number(STAMP, clock),
            Message::Reply => {}
        }
    }
}

const STAMP: Line = Line::stepping("stamp");
