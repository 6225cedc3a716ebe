//! What happens at a node, as it happens.

use serde::{Deserialize, Serialize};

use crate::request::RequestInfo;
use crate::resource::ResourceInfo;

/// Something that happened at the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Event {
    /// Counts the events of this node from 1; a gap means that a slow reader missed some.
    pub number: u64,
    /// Milliseconds since 1970 by the node's clock, for people.
    pub at_ms: u64,
    /// What happened.
    pub what: What,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "kebab-case", tag = "type")]
#[expect(
    clippy::large_enum_variant,
    reason = "an event is written once and kept by few; a box would be in every client's way"
)]
pub enum What {
    /// A request of a client of this node was made or changed its state.
    Request {
        /// How it is doing now.
        request: RequestInfo,
    },
    /// A link came up.
    LinkUp {
        /// The neighbour.
        node: String,
    },
    /// A link went down.
    LinkDown {
        /// The neighbour.
        node: String,
        /// Why, if it is known.
        reason: String,
    },
    /// The token of a resource came here.
    TokenHere {
        /// The resource.
        resource: String,
    },
    /// The token of a resource left.
    TokenGone {
        /// The resource.
        resource: String,
    },
    /// A resource was made, changed, or is in conflict with this node's file.
    Resource {
        /// What is known of it.
        resource: ResourceInfo,
    },
    /// A resource was removed.
    ResourceRemoved {
        /// Its name.
        resource: String,
    },
    /// A rule that must hold does not. Please report it.
    Broken {
        /// The resource.
        resource: String,
        /// The rule and what was seen.
        what: String,
    },
}

impl What {
    /// The resource that it happened to, if it did not happen to a link.
    pub fn resource(&self) -> Option<&str> {
        match self {
            Self::Request { request } => Some(&request.resource),
            Self::Resource { resource } => Some(&resource.name),
            Self::TokenHere { resource }
            | Self::TokenGone { resource }
            | Self::ResourceRemoved { resource }
            | Self::Broken { resource, .. } => Some(resource),
            Self::LinkUp { .. } | Self::LinkDown { .. } => None,
        }
    }
}
