//! How a process of the repaired group protocol is set up, and the bugs that can be planted in it.

use alloc::vec::Vec;

use crate::group::Level;
use crate::planted::Planted;
use crate::protocol::Delay;
use crate::vocabulary::NodeId;

/// Bugs to be planted for the tests of the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Bug {
    /// A follower does not tell that it is out, not even when asked.
    LoseComplete,
    /// A complete that runs ahead of the token is dropped.
    DropEarlyComplete,
    /// The token does not remember what was taken up.
    ForgetAccepted,
    /// The open session may be joined while others wait.
    JoinWhileOthersWait,
    /// The next session is opened while followers are inside.
    OpenOverFollowers,
    /// A session that follows another at once leaves the token with the name of the one before.
    SessionNotSet,
    /// Only the holder remembers requests.
    HeardOnlyByHolder,
    /// Waiting gains nothing.
    AgeNothing,
    /// A repeated token is taken again.
    AcceptTokenTwice,
    /// A start for a withdrawn request is followed.
    GrantCancelled,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::LoseComplete,
        Self::DropEarlyComplete,
        Self::ForgetAccepted,
        Self::JoinWhileOthersWait,
        Self::OpenOverFollowers,
        Self::SessionNotSet,
        Self::HeardOnlyByHolder,
        Self::AgeNothing,
        Self::AcceptTokenTwice,
        Self::GrantCancelled,
    ];
}

/// How a process is set up. All but `id` must be the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Config {
    /// The process.
    pub id: NodeId,
    /// All processes. The one with the smallest id has the token first.
    pub members: Vec<NodeId>,
    /// The greatest level of priority (the paper's K).
    pub levels: Level,
    /// How long to wait before asking again. `None` where no message is ever lost: then there are no timers.
    pub retry: Option<Delay>,
    /// Bugs, for the tests of the checker.
    pub planted: Planted<Bug>,
}
