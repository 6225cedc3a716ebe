//! How a process of the repaired group protocol is set up.

use alloc::collections::BTreeSet;

use crate::group::Level;
use crate::protocol::Delay;
use crate::vocabulary::NodeId;

/// The processes that take part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Members {
    /// Only these. Messages from others, or about them, are rejected.
    These(BTreeSet<NodeId>),
    /// Any, also those that come later. No sender is rejected here: the layer that carries the messages decides.
    Anyone,
}

impl Members {
    /// Whether this process may take part.
    pub fn include(&self, node: NodeId) -> bool {
        match self {
            Self::These(members) => members.contains(&node),
            Self::Anyone => true,
        }
    }
}

/// How a process is set up. All but `id` and `starts_with_token` must be the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Config {
    /// The process.
    pub id: NodeId,
    /// All processes.
    pub members: Members,
    /// Whether the token starts here. Exactly one process may say so.
    pub starts_with_token: bool,
    /// The greatest level of priority (the paper's K).
    pub levels: Level,
    /// How long to wait before asking again. `None` where no message is ever lost: then there are no timers.
    pub retry: Option<Delay>,
}

impl Config {
    /// A process among those that are known from the start. The one with the smallest id has the token first.
    pub fn among(members: impl IntoIterator<Item = NodeId>, id: NodeId, levels: Level, retry: Option<Delay>) -> Self {
        let mut members: BTreeSet<_> = members.into_iter().collect();
        members.insert(id);
        let starts_with_token = members.first() == Some(&id);
        Self { id, members: Members::These(members), starts_with_token, levels, retry }
    }

    /// A process among any that come, without the token. It asks again after a while, because one that comes later
    /// cannot have heard what was said before.
    pub const fn open(id: NodeId, levels: Level, retry: Delay) -> Self {
        let (members, starts_with_token, retry) = (Members::Anyone, false, Some(retry));
        Self { id, members, starts_with_token, levels, retry }
    }

    /// The process that starts with the token.
    #[must_use]
    pub fn with_token(self) -> Self {
        Self { starts_with_token: true, ..self }
    }
}
