//! Who holds what and who waits, at every node that answers.

use serde::{Deserialize, Serialize};

use crate::request::{Mode, State, Urgency};
use crate::resource::Definition;

/// The mesh as one node sees it, with what the others answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MeshStatus {
    /// The name of the mesh.
    pub mesh: String,
    /// The node that was asked.
    pub node: String,
    /// All nodes that answered in time, the asked one first.
    pub nodes: Vec<NodeInfo>,
    /// All resources, or the one that was asked for, by name.
    pub resources: Vec<ResourceStatus>,
}

/// A node that answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeInfo {
    /// Its name.
    pub name: String,
    /// Its number in the protocols and in traces.
    pub id: u32,
    /// The names of its neighbours.
    pub links: Vec<Link>,
}

/// A neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
pub struct ResourceStatus {
    /// Its name.
    pub name: String,
    /// What the mesh agreed on.
    pub definition: Definition,
    /// The node that has the token, if it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_at: Option<String>,
    /// Units in use at the nodes that answered.
    pub in_use: u32,
    /// Those who hold, the oldest grant first.
    pub holders: Vec<Row>,
    /// Those who wait, in the order of service as far as it can be told.
    pub waiters: Vec<Row>,
}

/// A holder or a waiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    /// In which order it will be served among all that wait: more is earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<i64>,
}
