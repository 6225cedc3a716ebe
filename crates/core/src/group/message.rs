//! What the processes of the repaired group protocol tell each other.
//!
//! Everything a process says of itself is a [`Record`]: its latest request, or that this request is over. Records of
//! one process are ordered by their [`Stamp`], so that a receiver keeps the newest and may get them late, twice or
//! never.

use crate::group::{Level, Token};
use crate::vocabulary::{Fence, NodeId, RequestId, Session};

/// The place of a record among those of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stamp {
    /// The request it is about. The caller's number: it only grows, also over restarts.
    pub number: RequestId,
    /// How often that request has changed since: its priority, and at last that it is over.
    pub version: u64,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Wish {
    /// The session to attend.
    pub session: Session,
    /// Its level of priority.
    pub level: Level,
}

/// What a process says of its latest request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Record {
    /// Which request, and which word on it.
    pub stamp: Stamp,
    /// What it asks for; `None` when it is over, served or withdrawn.
    pub wish: Option<Wish>,
}

impl Record {
    /// Whether this tells that request `number` of the same process is over: a process asks again only then.
    pub(super) fn ends(&self, number: RequestId) -> bool {
        self.stamp.number > number || (self.stamp.number == number && self.wish.is_none())
    }

    /// The next word on the same request.
    pub(super) const fn changed(self, wish: Option<Wish>) -> Self {
        Self { stamp: Stamp { number: self.stamp.number, version: self.stamp.version + 1 }, wish }
    }
}

/// Leave to enter as follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Start {
    /// Who may enter: the receiver.
    pub node: NodeId,
    /// Its request that is answered.
    pub number: RequestId,
    /// The session that is open.
    pub session: Session,
    /// The fence of the grant.
    pub fence: Fence,
    /// The process to tell when it is over.
    pub captain: NodeId,
}

/// A message between processes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Message {
    /// To all: the sender's latest request, a change of it, or that it is withdrawn.
    /// To a holder that asked: that it is over.
    Request {
        /// The sender.
        node: NodeId,
        /// Its latest word.
        record: Record,
        /// Said again, because the sender has waited long.
        again: bool,
    },
    /// To one: enter.
    Start(Start),
    /// To the captain: the sender is no longer inside.
    Complete {
        /// The sender.
        node: NodeId,
        /// The request that is over.
        stamp: Stamp,
    },
    /// To the next captain.
    Token(Token),
    /// To a follower or to one in the queue, when a process has waited long: say so if you are past this request.
    Ask {
        /// The receiver.
        node: NodeId,
        /// Its request.
        number: RequestId,
    },
    /// To the last giver, if it sent the token again: it arrived before.
    Have {
        /// The transfer in which it arrived.
        transfer: u64,
    },
}

impl Message {
    /// The word under which it is counted. The first four are the paper's; the others appear only when a request is
    /// withdrawn or something was sent again.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Request { record: Record { wish: Some(_), .. }, again: false, .. } => "request",
            Self::Start(_) => "start",
            Self::Complete { .. } => "complete",
            Self::Token(_) => "token",
            Self::Request { record: Record { wish: None, .. }, .. } => "over",
            Self::Request { record: Record { wish: Some(_), .. }, again: true, .. } => "request-again",
            Self::Ask { .. } => "ask",
            Self::Have { .. } => "have",
        }
    }
}
