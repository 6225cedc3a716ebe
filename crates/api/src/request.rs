//! Asking for units or a session, and how a request is doing.

use serde::{Deserialize, Serialize};

use crate::resource::Definition;
use crate::status::OutOfReach;

/// What a client asks for.
///
/// The `id` is chosen by the client. Sent again with the same content it changes nothing and answers with the state of
/// the first, so a client that lost the answer can safely ask again and never gets a second grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewRequest {
    /// Chosen by the client, up to 128 visible ASCII characters; the node chooses one if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name of the resource. Left out if there is an `all`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    /// Several resources, all or none, instead of one `resource`: 1 to 16, each of them once. Units, session and mode are
    /// said of each; everything else is said once. It is granted when all are held, lost when one is lost, and
    /// released as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<NewPart>,
    /// How many units, all at once. One if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
    /// How urgent. Priority 0 if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
    /// The session to attend, for a resource with sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Read or write, for a readers-writer resource. Write if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// How long the request lives without a sign of its client, waiting or granted. The resource's default if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// How long to wait for the grant before the request expires. Without limit, as long as it is renewed, if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Who asks, for people who look at the queue: a host and process, a robot's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// How many resources one request can ask for.
pub const MOST_PARTS: usize = 16;
/// Between the names of several resources where one name is expected. No name of a resource has a space in it.
const BETWEEN_NAMES: &str = " + ";

impl NewRequest {
    /// What it asks for, for people: the name of the resource, or the names of all of them, as `dock-3 + lift-1`.
    pub fn names(&self) -> String {
        if self.all.is_empty() {
            return self.resource.clone();
        }
        let names: Vec<&str> = self.all.iter().map(|part| part.resource.as_str()).collect();
        names.join(BETWEEN_NAMES)
    }
}

/// One of several resources that a client asks for together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewPart {
    /// The name of the resource.
    pub resource: String,
    /// How many units. One if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
    /// The session to attend, for a resource with sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Read or write, for a readers-writer resource. Write if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// One of several resources of a request, and how it is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct PartInfo {
    /// The name of the resource.
    pub resource: String,
    /// How it is doing by itself. Only the state of the whole request says whether the client holds it.
    pub state: State,
    /// How many units.
    pub units: u32,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Read or write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Its fence, as that of a request for this resource alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// The same as text, for languages whose numbers are exact only below 2^53.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence_text: Option<String>,
    /// Which units, by number, if they are numbered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<u32>,
    /// Their names, in the same order, if they have names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slot_names: Vec<String>,
    /// There was no resource of this name, and one was made for this request. What was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Box<Definition>>,
}

/// How urgent a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "kebab-case")]
pub enum Urgency {
    /// Higher is more urgent. For resources ordered by priority.
    Priority(i32),
    /// Earlier is more urgent. A number on which all clients of the resource agree, such as milliseconds since 1970.
    /// For resources ordered by deadline.
    Deadline(u64),
}

/// How a readers-writer resource is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Together with other readers.
    Read,
    /// Alone.
    Write,
}

/// Where a request is in its life. Only `QUEUED` and `GRANTED` can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// It waits.
    Queued,
    /// It holds its units.
    Granted,
    /// It held its units and was told to stop: its node left the mesh, or an operator took them back.
    Revoked,
    /// It can never be granted, or the node refuses it.
    Rejected,
    /// Its client gave no sign for the length of the lease, or it waited longer than its timeout.
    Expired,
    /// The client gave it back, or no longer wanted it.
    Released,
}

impl State {
    /// Whether nothing can happen to it any more.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Queued | Self::Granted => false,
            Self::Revoked | Self::Rejected | Self::Expired | Self::Released => true,
        }
    }

    /// The word that is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "QUEUED",
            Self::Granted => "GRANTED",
            Self::Revoked => "REVOKED",
            Self::Rejected => "REJECTED",
            Self::Expired => "EXPIRED",
            Self::Released => "RELEASED",
        }
    }
}

/// A request and how it is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct RequestInfo {
    /// Its id.
    pub id: String,
    /// What it asks for: the name of a resource, or the names of all its parts with ` + ` in between.
    pub resource: String,
    /// How it is doing.
    pub state: State,
    /// Each of several resources that were asked for together, in the order in which they were named; their fences and
    /// slots are here, and `units` is 1. None for a request for one resource.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartInfo>,
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
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Larger than that of every earlier grant of this resource (with protocol `group`: than that of every earlier
    /// session; all who attend one together have the same). Pass it to what the lock guards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// The same as text, for languages whose numbers are exact only below 2^53.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence_text: Option<String>,
    /// Which units, by number, if it is granted and they are numbered: those of a semaphore of at most 4,096.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<u32>,
    /// Their names, in the same order, if they have names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slot_names: Vec<String>,
    /// The length of the lease.
    pub lease_ms: u64,
    /// How much of the lease is left, while it is queued or granted. Count from before the question was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// How long it has waited, or waited before it was granted.
    pub waited_ms: u64,
    /// How long it has been held, or was held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_ms: Option<u64>,
    /// Its place in the queue as far as its node knows, while it is queued and can be served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The token is out of reach, so that no request can be served: while it is queued, or when it timed
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_reach: Option<OutOfReach>,
    /// Why it is over, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it expired, for programs; only with state `EXPIRED`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
    /// There was no resource of this name, and one was made for this request. What was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Box<Definition>>,
}

impl RequestInfo {
    /// The fence by which one grant of this request can be told from another; of several resources, that of the first.
    pub fn any_fence(&self) -> Option<u64> {
        self.fence.or_else(|| self.parts.first().and_then(|part| part.fence))
    }
}

/// Why a request expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "kebab-case")]
pub enum Expiry {
    /// It was not granted within its `timeout_ms`.
    Timeout,
    /// Its client gave no sign for the length of the lease.
    Lease,
    /// Its client closed the connection on which it waited, and did not come back.
    Disconnect,
}

/// A place in a queue, as far as the node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Place {
    /// How many are known to be served before it, counted up to 1,000.
    pub ahead: u32,
    /// The token is at this node and all were counted, so that no other request is ahead. Otherwise there may be more.
    pub exact: bool,
    /// How long it will still take, as likely shorter as longer: from how long the latest grants lasted, and how long the
    /// holder has held. Missing without a basis: fewer than five grants that were given back, a holder that outlasts
    /// them, or others that may be ahead and are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_ms: Option<u64>,
    /// With it: one in ten such waits would be shorter than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_low_ms: Option<u64>,
    /// With it: one in ten such waits would be longer than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_high_ms: Option<u64>,
}
