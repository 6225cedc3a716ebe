//! The format in which a clean stop writes down what a node knows.
//!
//! JSON with a name for every field, and a number for the format as the first of them. It has a version of its own: what
//! nodes say to each other may change without a node losing its tokens over an upgrade, and the other way round. A
//! field that is added gets `#[serde(default)]`; a change that a default cannot bridge gets the next number, and the
//! former format keeps a reader here. `tests/saved_*` have the bytes of every format that was ever written.
//!
//! Format 1 was `postcard` without names, under the version of the wire. It is told from rubbish, but no longer read: a
//! token has more to say now, and what has no names cannot grow.

use meshlock_core::NodeId;
use meshlock_core::recovery::Report;
use serde::{Deserialize, Serialize};

use super::instance::Instance;
use super::kept::{KeptCompany, KeptGrant};
use crate::wire::Entry;

/// The format that is written.
const FORMAT: u32 = 2;

/// What a node saves when it stops.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) format: u32,
    pub(super) mesh: String,
    pub(super) id: NodeId,
    pub(super) last_number: u64,
    pub(super) last_query: u64,
    pub(super) resources: Vec<(Entry, Instance)>,
    /// What was removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) removed: Vec<Entry>,
    #[serde(default)]
    pub(super) grants: Vec<KeptGrant>,
    #[serde(default)]
    pub(super) companies: Vec<KeptCompany>,
    /// Where there are voters: what they count of this node.
    #[serde(default)]
    pub(super) counter: u64,
    /// What this node told of itself when its census grew last, and whether it has decided in it as the heir.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) report: Option<(Report, bool)>,
}

/// The counter in what was saved; 0 if it cannot be read, which the reader of the rest will tell.
pub fn saved_counter(bytes: &[u8]) -> u64 {
    Saved::read(bytes).map_or(0, |saved| saved.counter)
}

/// The report in what was saved, likewise.
pub(super) fn saved_report(bytes: &[u8]) -> Option<(Report, bool)> {
    Saved::read(bytes).ok()?.report
}

/// Why saved bytes cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedError {
    /// Damaged.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// Of a meshlock that is too old.
    #[error("its format is 1, which this version does not read: start and stop the node once with the version before")]
    Older,
    /// Of a newer meshlock.
    #[error("its format is {0}, and this one reads {FORMAT}")]
    Newer(u32),
    /// Of another mesh or node.
    #[error("it belongs to node {0} of mesh {1:?}")]
    SomebodyElse(NodeId, String),
}

impl Saved {
    pub(super) fn new(mesh: String, id: NodeId) -> Self {
        let (grants, companies) = (Vec::new(), Vec::new());
        Self {
            format: FORMAT,
            mesh,
            id,
            last_number: 0,
            last_query: 0,
            resources: Vec::new(),
            removed: Vec::new(),
            grants,
            companies,
            counter: 0,
            report: None,
        }
    }

    /// # Panics
    ///
    /// If it cannot be written, such as a map whose keys are no text; ours all can, and nothing else would keep a token.
    pub(super) fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_else(|error| panic!("a state that cannot be written: {error}"))
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, SavedError> {
        if bytes.first() == Some(&1) {
            return Err(SavedError::Older);
        }
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let unreadable = |error: serde_json::Error| SavedError::Unreadable(error.to_string());
        let Head { format } = serde_json::from_slice(bytes).map_err(unreadable)?;
        if format > FORMAT {
            return Err(SavedError::Newer(format));
        }
        serde_json::from_slice(bytes).map_err(unreadable)
    }
}
