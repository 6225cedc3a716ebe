//! Taking away what a client holds, and the record of who held what.

use serde::{Deserialize, Serialize};

use crate::request::{Mode, State};

/// An operator's wish to take something away from a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewRevocation {
    /// The id of the request, as `status` shows it.
    pub id: String,
    /// The node where it was asked for. Needed only if several nodes have a request of this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Why, for the client and for the audit: at most 256 bytes without control characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who wants it, for the audit: at most 256 bytes without control characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Let others in at once, without waiting for the client to stop. Only fences protect what the lock guards then.
    #[serde(default)]
    pub force: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Revocation {
    /// The node where the request was asked for.
    pub node: String,
    /// Its id.
    pub id: String,
    /// What it asked for.
    pub resource: String,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// How it is doing.
    pub state: State,
    /// The client has said that it stopped, or its lease is over: others can be let in.
    pub stopped: bool,
    /// If it has not: when its lease is over, and others are let in anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
}

/// A line of a node's audit: who held what, when, and who took it away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct AuditRecord {
    /// Milliseconds since 1970 by the node's clock.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub what: Audited,
}

/// What is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Audited {
    /// The node began to write.
    Started {
        /// Its name.
        node: String,
        /// The version of meshlock.
        version: String,
    },
    /// A client of this node was let in.
    Granted {
        /// Who, and to what.
        #[serde(flatten)]
        grant: AuditGrant,
        /// How many units.
        units: u32,
        /// The session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// Read or write.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        /// How long it had waited.
        waited_ms: u64,
    },
    /// A grant ended: given back, expired, or revoked.
    Ended {
        /// Whose.
        #[serde(flatten)]
        grant: AuditGrant,
        /// How.
        state: State,
        /// Why, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// How long it was held.
        held_ms: u64,
    },
    /// An operator took it away.
    Revoked {
        /// From whom.
        #[serde(flatten)]
        grant: AuditGrant,
        /// Who did, as they say.
        by: String,
        /// The node where they did.
        at: String,
        /// Why.
        reason: String,
        /// Others were let in without waiting for the client.
        forced: bool,
    },
    /// The client of a revoked grant said that it stopped, or its lease was over: others can be let in.
    Stopped {
        /// Whose.
        #[serde(flatten)]
        grant: AuditGrant,
    },
    /// Records are missing here: they came faster than they could be written, or there was no room on the disk.
    Missed {
        /// How many.
        records: u64,
    },
}

/// A grant in the audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct AuditGrant {
    /// The resource.
    pub resource: String,
    /// The id of the request.
    pub request: String,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The fence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
}

impl Audited {
    /// The resource it is about, if it is about one.
    pub fn resource(&self) -> Option<&str> {
        match self {
            Self::Granted { grant, .. }
            | Self::Ended { grant, .. }
            | Self::Revoked { grant, .. }
            | Self::Stopped { grant } => Some(&grant.resource),
            Self::Started { .. } | Self::Missed { .. } => None,
        }
    }
}
