//! What the relay puts around the messages it carries.

use crate::counters::{CounterVisitor, Line};
use crate::protocol::{Protocol, Rejection};
use crate::vocabulary::NodeId;

use super::window::Window;

/// Where a carried message comes from and goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Label {
    /// The node that sent it first.
    pub origin: NodeId,
    /// The origin's count of its messages, from 1.
    pub number: u64,
    /// How many links it has crossed when it arrives, this one included.
    pub hops: u16,
}

/// A message of another protocol on its way over neighbour links.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Message<M> {
    /// Over all links, each node once.
    Flood {
        /// Its origin and age.
        label: Label,
        /// The destination; `None` is every node.
        to: Option<NodeId>,
        /// The message of the protocol inside.
        payload: M,
    },
    /// Along a known route.
    Hop {
        /// Its origin and age.
        label: Label,
        /// For whom.
        to: NodeId,
        /// The message of the protocol inside.
        payload: M,
    },
}

impl<M> Message<M> {
    /// Its origin and age.
    pub const fn label(&self) -> Label {
        match self {
            Self::Flood { label, .. } | Self::Hop { label, .. } => *label,
        }
    }

    /// What is carried, by value.
    pub fn into_payload(self) -> M {
        match self {
            Self::Flood { payload, .. } | Self::Hop { payload, .. } => payload,
        }
    }

    /// The message of the protocol inside.
    pub const fn payload(&self) -> &M {
        match self {
            Self::Flood { payload, .. } | Self::Hop { payload, .. } => payload,
        }
    }
}

/// The word under which protocol `P` counts what is carried.
pub fn inner_kind<P: Protocol>(message: &Message<P::Message>) -> &'static str {
    P::kind(message.payload())
}

impl Label {
    /// As it goes over the next link, unless it has come as far as it may.
    pub(super) fn onward(self, hop_limit: u16) -> Option<Self> {
        (self.hops < hop_limit).then(|| Self { hops: self.hops + 1, ..self })
    }

    pub(super) fn check(self, hop_limit: u16) -> Result<(), Rejection> {
        let fine = (1..=hop_limit).contains(&self.hops) && (1..=LIMIT).contains(&self.number);
        if fine { Ok(()) } else { Err(Rejection::NumberOutOfRange) }
    }

    pub(super) fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visitor.visit(line(self.origin), 0);
        visitor.number(line(self.origin), &mut self.number);
    }
}

/// The numbers of one origin. A window tells the last ones apart, so gaps count up to its size.
pub(super) const fn line(origin: NodeId) -> Line {
    Line { name: "relay", of: Some(origin), reach: Window::SIZE as i64 }
}

const LIMIT: u64 = u64::MAX >> 2;
