//! How a node is set up, and which bugs can be planted in it.

use crate::planted::Planted;
use crate::protocol::Delay;
use crate::vocabulary::NodeId;

/// How a node is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Config {
    /// This node.
    pub id: NodeId,
    /// Exactly one node of the network starts with the token.
    pub starts_with_token: bool,
    /// How long a waiting node waits before it asks again for the first time.
    pub retry: Delay,
    /// For the checker's own tests.
    pub planted: Planted<Bug>,
}

impl Config {
    /// A node that asks again after one to two seconds.
    pub const fn new(id: NodeId) -> Self {
        let retry = Delay { least_ms: 1_000, most_ms: 2_000 };
        Self { id, starts_with_token: false, retry, planted: Planted::NONE }
    }

    /// The node that starts with the token.
    pub const fn with_token(self) -> Self {
        Self { starts_with_token: true, ..self }
    }
}

/// Bugs that can be planted, to see whether the checker finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Bug {
    /// Repeats and takes up what was heard or seen before.
    SkipDuplicateCheck,
    /// Accepts every copy of a token that is addressed to it.
    AcceptTokenTwice,
    /// Keeps no copy of the token it gives away.
    ForgetCopy,
    /// Gives the token only to those who are in its queue already.
    NoQueueMerge,
    /// Does not write into the token that its own request is done with.
    ForgetServed,
    /// Repeats a request under the same attempt, which everybody drops.
    RepeatWithoutAttempt,
    /// Numbers every transfer 1.
    ResetTransfer,
    /// Goes on after a stop without the timer of its request.
    ForgetTimerOnResume,
    /// Goes on after a stop as if it had asked for nothing.
    ForgetAskingOnResume,
    /// Goes on after a stop without its copy of the token.
    ForgetCopyOnResume,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::SkipDuplicateCheck,
        Self::AcceptTokenTwice,
        Self::ForgetCopy,
        Self::NoQueueMerge,
        Self::ForgetServed,
        Self::RepeatWithoutAttempt,
        Self::ResetTransfer,
        Self::ForgetTimerOnResume,
        Self::ForgetAskingOnResume,
        Self::ForgetCopyOnResume,
    ];
}
