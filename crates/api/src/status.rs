//! Who holds what and who waits, at every node that answers.

use serde::{Deserialize, Serialize};

use crate::request::{Mode, State, Urgency};
use crate::resource::Definition;

/// The mesh as one node sees it, with what the others answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct MeshStatus {
    /// The name of the mesh.
    pub mesh: String,
    /// The node that was asked.
    pub node: String,
    /// All nodes in reach have answered, and wholly. Otherwise the time was over before, or others were not asked.
    #[serde(default)]
    pub complete: bool,
    /// All nodes that answered in time, the asked one first.
    pub nodes: Vec<NodeInfo>,
    /// Members that the asked node has heard of since it began, or that others are linked to, and that did not answer,
    /// or only in part. Not told if only the asked node was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// All resources, or the one that was asked for, by name.
    pub resources: Vec<ResourceStatus>,
    /// What an operator has to act on, such as two nodes with one identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
    /// How recovery from crashes is doing at the asked node; absent in a mesh that does not recover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryStatus>,
}

/// How recovery from crashes is doing at a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct RecoveryStatus {
    /// `voters` or `restart`.
    pub mode: String,
    /// Grows with every fact about who came and who is gone; equal at all nodes that know the same.
    pub rank: u64,
    /// With voters: how long this node may still grant if it hears nothing more of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing_ms: Option<u64>,
    /// Why this node grants nothing now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<String>,
    /// Members that are gone: stopped, declared gone, or removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Who votes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub voters: Vec<String>,
    /// Members that a voter has not heard for too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspected: Vec<String>,
    /// The repair that is open, as far as this node knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<OpenRepair>,
}

/// A repair that waits. Tokens that are alive are not touched by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct OpenRepair {
    /// Since the last fact about who came or is gone.
    pub for_ms: u64,
    /// Members whose reports are missing, ten at most.
    pub missing: Vec<String>,
    /// How many reports are missing.
    pub count: u32,
    /// Who makes lost tokens anew when all reports are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heir: Option<String>,
    /// Nothing is missing but the word of the voters.
    #[serde(default)]
    pub asks_voters: bool,
}

impl std::fmt::Display for OpenRepair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a repair is open for {}", crate::duration::display(std::time::Duration::from_millis(self.for_ms)))?;
        if self.asks_voters {
            return write!(f, ": it waits for a majority of the voters");
        }
        let names = self.missing.join(", ");
        let more = self.count as usize - self.missing.len().min(self.count as usize);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        write!(
            f,
            ": it waits for {names}{more}; bring them back, or remove who is gone for good with `mesh remove --gone`"
        )
    }
}

/// A member that did not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Missing {
    /// Its name.
    pub name: String,
    /// How long ago something was heard of it: by the asked node, or now if another one is linked to it.
    pub heard_ms_ago: u64,
}

/// A token that no node in reach has, or had in the last three seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct OutOfReach {
    /// For how long, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// The node where it was last, or to which it was on its way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
}

impl std::fmt::Display for OutOfReach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "out of reach")?;
        if let Some(ms) = self.for_ms {
            write!(f, " for {}", crate::duration::display(std::time::Duration::from_millis(ms)))?;
        }
        match &self.last_seen {
            Some(node) => write!(f, ", last seen at {node}: bring {node} back, or the links to it"),
            None => write!(f, ": bring back the nodes and links that are missing"),
        }
    }
}

/// A node that answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct NodeInfo {
    /// Its name.
    pub name: String,
    /// Its number in the protocols and in traces.
    pub id: u32,
    /// The names of its neighbours.
    pub links: Vec<Link>,
    /// The version of meshlock that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Milliseconds since 1970 by its clock, when it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_ms: Option<u64>,
    /// Resources that its file declares otherwise than the mesh, so that it does not serve them; five at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

/// A neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Link {
    /// Its name.
    pub to: String,
    /// Where it is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// A resource, its holders and who waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ResourceStatus {
    /// Its name.
    pub name: String,
    /// What the mesh agreed on.
    pub definition: Definition,
    /// The node that has the token, if it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_at: Option<String>,
    /// No node in reach has the token, so no request is served. Only told in a complete answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_reach: Option<OutOfReach>,
    /// Units in use: at the nodes that answered, and those that the token says are in use elsewhere. While the token is
    /// out of reach there may be more.
    pub in_use: u32,
    /// Those of them at nodes that did not answer: their clients may still work, or they were lost in a crash.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub elsewhere: u32,
    /// Those who hold, the oldest grant first. Every node lists 1,000 at most.
    pub holders: Vec<Row>,
    /// Those who wait, in the order of service as far as it can be told. Every node lists its first 1,000 at most.
    pub waiters: Vec<Row>,
    /// How many more hold than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_holders: u32,
    /// How many more wait than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_waiters: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A holder or a waiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Row {
    /// The node whose client it is.
    pub node: String,
    /// The id of the request.
    pub id: String,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// `GRANTED` or `QUEUED`.
    pub state: State,
    /// How many units.
    pub units: u32,
    /// How urgent.
    pub urgency: Urgency,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Read or write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// How long it has waited or held.
    pub age_ms: u64,
    /// The fence of a holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// Which units a holder has, where they are numbered; the definition has their names. Missing if they are more than
    /// 50 runs of numbers that follow each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<u32>,
    /// In which order it will be served among all that wait: more is earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<i64>,
}
