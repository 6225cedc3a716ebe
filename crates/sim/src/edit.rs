//! Edits: what a user may change in a live run.
//!
//! Scenario, seed and edits decide a run: an [`Edit`] happens after everything that happens at its moment or before, and
//! after the edits before it. [`mod@file`] keeps them, so that an edited run can be repeated exactly.

pub mod file;

use meshlock_core::NodeId;
use serde::{Deserialize, Serialize};

use crate::time::Time;

/// A place: metres to the east and to the north.
pub type Position = [f64; 2];

#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub at: Time,
    pub change: Change,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edits {
    pub edits: Vec<Edit>,
    /// The user ended the run here. Without it a run goes on to its usual end.
    pub end: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Change {
    /// A node is put somewhere else at once, and stays there.
    Move { node: NodeId, to: Position },
    /// A link is cut or restored. On the air a cut is a barrier, which stays until it is taken away.
    Link { between: (NodeId, NodeId), up: bool },
    /// A node comes; its id is the next one. On the air it stays where it is; on wires it has no links yet.
    Add {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Position>,
    },
    /// A node goes for good: in order if it can, but within five simulated seconds.
    Remove { node: NodeId },
    Range {
        /// More than zero.
        metres: f64,
    },
    Pace {
        /// How many times as fast as the scenario says, 0 to 100.
        factor: f64,
    },
    /// A client asks by hand, and holds until it releases by hand.
    Request {
        node: NodeId,
        units: u32,
        /// How urgently; more is more urgent. Where deadlines decide, so many milliseconds ago.
        priority: i32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<u64>,
    },
    /// A grant is given back, or a waiting request given up, of clients or users.
    Release { node: NodeId, request: u64 },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub node: Option<NodeId>,
    pub request: Option<u64>,
    pub note: Option<String>,
}

/// Why a change cannot be made, and what would help. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EditError(pub String);

impl EditError {
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl Change {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Move { .. } => "move",
            Self::Link { .. } => "link",
            Self::Add { .. } => "add",
            Self::Remove { .. } => "remove",
            Self::Range { .. } => "range",
            Self::Pace { .. } => "pace",
            Self::Request { .. } => "request",
            Self::Release { .. } => "release",
        }
    }

    /// With all numbers rounded to thousandths: millimetres are precise enough, and numbers survive writing and reading
    /// to the last bit.
    #[must_use]
    pub fn rounded(&self) -> Self {
        let place = |[x, y]: Position| [thousandths(x), thousandths(y)];
        match self.clone() {
            Self::Move { node, to } => Self::Move { node, to: place(to) },
            Self::Add { at } => Self::Add { at: at.map(place) },
            Self::Range { metres } => Self::Range { metres: thousandths(metres) },
            Self::Pace { factor } => Self::Pace { factor: thousandths(factor) },
            other @ (Self::Link { .. } | Self::Remove { .. } | Self::Request { .. } | Self::Release { .. }) => other,
        }
    }
}

fn thousandths(number: f64) -> f64 {
    // Adding zero turns minus zero into zero, as it is when read back.
    (number * 1_000.0).round() / 1_000.0 + 0.0
}
