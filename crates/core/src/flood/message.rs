//! What nodes remember and tell each other: requests heard, tokens seen, the token itself, and its copies.

use alloc::collections::{BTreeMap, VecDeque};

use crate::counters::{CounterVisitor, Line};
use crate::protocol::Rejection;
use crate::view::{Claimant, Origin, TokenView};
use crate::vocabulary::{Fence, NodeId, Rank, Units};

/// The latest request heard of a node. A greater one is news; anything else has been heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Heard {
    /// The node's own count of its requests, from 1; 0 if none was heard.
    pub number: u64,
    /// How often this request has been repeated.
    pub attempt: u64,
}

/// The latest token seen, here or passing by. A greater one is news; anything else has been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TokenStamp {
    /// The number of the transfer.
    pub transfer: u64,
    /// The attempt of the request that it answers.
    pub attempt: u64,
}

/// The token. The node that has it may enter.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// How often it was given away. Copies of one transfer have the same number and are accepted once.
    pub transfer: u64,
    /// The fence of the latest grant.
    pub fence: Fence,
    /// The latest request of each node that is done with; 0 where there is no entry.
    pub served: BTreeMap<NodeId, u64>,
    /// Who gets it next, each node at most once.
    pub queue: VecDeque<NodeId>,
}

/// What the node that gave the token away last keeps, until it sees the token pass by again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GivenAway {
    /// The token as it went.
    pub token: Token,
    /// The node it went to.
    pub to: NodeId,
    /// The number of the request it answered.
    pub answers: u64,
}

/// What travels between neighbours. Both kinds are floods: everyone who hears one for the first time repeats it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Message {
    /// A node wants the token.
    Request {
        /// The node that asks.
        site: NodeId,
        /// Which of its requests, and which repetition.
        heard: Heard,
    },
    /// The token for a node that wants it.
    Token {
        /// The node it is for.
        to: NodeId,
        /// The attempt of the request it answers.
        attempt: u64,
        /// The node that gave it away, where nodes recover from crashes: it is void once that one is gone.
        giver: Option<NodeId>,
        /// The token itself.
        token: Token,
    },
}

impl Token {
    /// The latest request of `node` that is done with.
    pub fn served(&self, node: NodeId) -> u64 {
        self.served.get(&node).copied().unwrap_or(0)
    }

    /// As rules and viewers see it.
    pub(super) fn view(&self, free: Units) -> TokenView {
        let claimant =
            |j: &NodeId| Claimant { origin: Origin::Node(*j), rank: Rank(0), units: Units(1), session: None };
        let queue = self.queue.iter().map(claimant).collect();
        TokenView { pass: Some(self.transfer), free, queue, ..TokenView::default() }
    }

    pub(super) fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visitor.number(TRANSFERS, &mut self.transfer);
        visitor.number(CLOCK, &mut self.fence.0);
        for (node, number) in &mut self.served {
            visitor.visit(Line::of("number", *node), 0);
            visitor.number(Line::of("number", *node), number);
        }
    }
}

impl Message {
    /// Numbers that honest counting cannot have reached.
    pub(super) fn check_numbers(&self) -> Result<(), Rejection> {
        let within = |number: u64, least: u64| (least..=LIMIT).contains(&number);
        let fine = match self {
            Self::Request { heard, .. } => within(heard.number, 1) && within(heard.attempt, 0),
            Self::Token { attempt, token, .. } => {
                within(*attempt, 0)
                    && within(token.transfer, 1)
                    && within(token.fence.0, 0)
                    && token.served.values().all(|number| within(*number, 0))
            }
        };
        if fine { Ok(()) } else { Err(Rejection::NumberOutOfRange) }
    }

    pub(super) fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        match self {
            Self::Request { site, heard } => heard.visit_counters(*site, visitor),
            Self::Token { attempt, token, .. } => {
                visitor.number(ATTEMPTS, attempt);
                token.visit_counters(visitor);
            }
        }
    }
}

impl Heard {
    pub(super) fn visit_counters(&mut self, site: NodeId, visitor: &mut dyn CounterVisitor) {
        // Zero is "never": it is on the line although it is not stored, and no other number may become it.
        visitor.visit(Line::of("number", site), 0);
        visitor.number(Line::of("number", site), &mut self.number);
        visitor.number(ATTEMPTS, &mut self.attempt);
    }
}

impl TokenStamp {
    pub(super) fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visitor.visit(TRANSFERS, 0);
        visitor.visit(ATTEMPTS, 0);
        visitor.number(TRANSFERS, &mut self.transfer);
        visitor.number(ATTEMPTS, &mut self.attempt);
    }
}

const LIMIT: u64 = u64::MAX >> 2;
pub(super) const TRANSFERS: Line = Line::stepping("transfer");
/// One line for the attempts of all nodes, because what a node has seen does not say whose attempt it was.
const ATTEMPTS: Line = Line::stepping("attempt");
/// Fences: the line that all protocols and the rules share.
pub(super) const CLOCK: Line = Line { name: "clock", of: None, reach: 2 };
