//! How a node is set up.

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
}

impl Config {
    /// A node that asks again after one to two seconds.
    pub const fn new(id: NodeId) -> Self {
        let retry = Delay { least_ms: 1_000, most_ms: 2_000 };
        Self { id, starts_with_token: false, retry }
    }

    /// The node that starts with the token.
    pub const fn with_token(self) -> Self {
        Self { starts_with_token: true, ..self }
    }
}
