//! The first line of a trace: what was run, with which nodes.

use std::collections::BTreeMap;

use meshlock_core::{NodeId, View};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version this crate writes, and the only one it reads.
///
/// Within a version fields may be added, and readers pass over those they do not know. A new kind of record, or a new
/// meaning of an old field, is a new version.
pub const VERSION: u64 = 1;

/// A place on the plane, in metres.
pub type Position = [f64; 2];

/// What was run, with which nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Who wrote it.
    pub source: Source,
    /// The protocol, such as `reverse-link`.
    pub protocol: String,
    /// Its variant, such as `published` or `repaired`.
    pub variant: String,
    /// What else was chosen, by name: the capacity, the model, the scenario.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
    /// The seed of a random run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The program that wrote it, with its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// The command that runs this again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// The nodes that are there from the beginning.
    pub nodes: Vec<NodeInfo>,
    /// The links that are up at the beginning.
    #[serde(default)]
    pub links: Vec<(NodeId, NodeId)>,
}

/// Who wrote a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The checker: a way through its states.
    Check,
    /// The simulator.
    Sim,
    /// A node on a network.
    Node,
}

/// A node of the trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its id, by which all records know it.
    pub id: NodeId,
    /// Its name, for people.
    pub name: String,
    /// Where it is, if it is somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// How it looks before the first record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    /// It went on from an earlier run, so its state is more than its view shows.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub resumed: bool,
}

impl Header {
    /// A header with nothing but what is needed.
    pub fn new(
        source: Source,
        protocol: impl Into<String>,
        variant: impl Into<String>,
        nodes: Vec<NodeInfo>,
        links: Vec<(NodeId, NodeId)>,
    ) -> Self {
        Self {
            source,
            protocol: protocol.into(),
            variant: variant.into(),
            parameters: BTreeMap::new(),
            seed: None,
            made_by: None,
            replay: None,
            nodes,
            links,
        }
    }
}

impl NodeInfo {
    /// A node that is nowhere and looks like nothing yet.
    pub fn new(id: u32, name: impl Into<String>) -> Self {
        Self { id: NodeId(id), name: name.into(), position: None, view: None, resumed: false }
    }
}
