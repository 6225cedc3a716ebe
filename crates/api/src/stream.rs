//! The lines of a stream: one connection that carries all requests of a client. `docs/stream.md` describes it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::request::{NewRequest, PartInfo, Place, RequestInfo, State, Urgency};
use crate::status::OutOfReach;

/// What a client names in the header `Upgrade`, and a node in its answer.
pub const PROTOCOL: &str = "meshlock/1";
/// What a client says in the header `Prefer` that wants to hear no more than it does not know already.
pub const BRIEF: &str = "return=minimal";
/// Where a client asks for the upgrade.
pub const PATH: &str = "/v1/stream";
/// The longest line that a node reads, without its newline.
pub const LONGEST_LINE: usize = 64 * 1_024;

/// A line of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientLine<'a> {
    /// Chosen by the client; the answer carries it.
    pub n: u64,
    /// What is to be done.
    #[serde(rename = "do")]
    pub act: Act,
    /// The id of the request, for all but `acquire` and `ping`.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    /// What `acquire` asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Cow<'a, NewRequest>>,
    /// With `renew`: another length of the lease, from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// With `change`: how urgent it is from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
}

/// What a line of a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// Ask for a resource, or take a request over that was asked for on another connection.
    Acquire,
    /// The client is still there.
    Renew,
    /// Change how urgent it is.
    Change,
    /// Give it back, or no longer wait for it.
    Release,
    /// How it is doing. Renews nothing.
    Look,
    /// Keep the grant while this connection is open, should the connection that asked for it close.
    Anchor,
    /// A sign of life.
    Ping,
}

impl<'a> ClientLine<'a> {
    /// A line without particulars.
    pub const fn new(n: u64, act: Act) -> Self {
        Self { n, act, id: None, request: None, lease_ms: None, urgency: None }
    }

    /// About this request.
    #[must_use]
    pub fn about(mut self, id: &'a str) -> Self {
        self.id = Some(Cow::Borrowed(id));
        self
    }
}

/// A line of a node: an answer if it has an `n`, otherwise news.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct NodeLine<'a> {
    /// The number of the line that this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// The first line of a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello: Option<Cow<'a, Hello>>,
    /// How a request is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Cow<'a, RequestInfo>>,
    /// The same in brief, for a client that prefers it.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub brief: Option<Brief<'a>>,
    /// Why something was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Cow<'a, Problem>>,
    /// The answer to a `ping`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pong: Option<bool>,
}

/// How a request is doing, without what its client said itself when it asked. Writing and reading lines is a quarter of what
/// nodes and clients compute where a lock goes from hand to hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Brief<'a> {
    /// Its id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// How it is doing.
    pub state: State,
    /// Each of several resources that were asked for together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartInfo>,
    /// The fence of the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// Which units, by number, if they are numbered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<u32>,
    /// Their names, if they have names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slot_names: Vec<String>,
    /// The length of the lease.
    #[serde(default)]
    pub lease_ms: u64,
    /// How much of it is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// Its place in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The token is out of reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_reach: Option<OutOfReach>,
    /// Why it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<RequestInfo> for Brief<'static> {
    fn from(info: RequestInfo) -> Self {
        Self {
            id: Cow::Owned(info.id),
            state: info.state,
            parts: info.parts,
            fence: info.fence,
            slots: info.slots,
            slot_names: info.slot_names,
            lease_ms: info.lease_ms,
            expires_in_ms: info.expires_in_ms,
            place: info.place,
            out_of_reach: info.out_of_reach,
            reason: info.reason,
        }
    }
}

impl Brief<'_> {
    /// The same, with nothing in the places of what was left out: who asked knows it.
    pub fn into_info(self) -> RequestInfo {
        RequestInfo {
            id: self.id.into_owned(),
            resource: String::new(),
            state: self.state,
            parts: self.parts,
            units: 1,
            urgency: Urgency::Priority(0),
            session: None,
            mode: None,
            owner: None,
            fence: self.fence,
            fence_text: None,
            slots: self.slots,
            slot_names: self.slot_names,
            lease_ms: self.lease_ms,
            expires_in_ms: self.expires_in_ms,
            waited_ms: 0,
            held_ms: None,
            place: self.place,
            out_of_reach: self.out_of_reach,
            reason: self.reason,
            expiry: None,
            made: None,
        }
    }
}

/// Who is at the other end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Hello {
    /// The name of the node.
    pub node: String,
    /// Its mesh.
    pub mesh: String,
    /// Its version.
    pub version: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What other clients rely on, as text.
    #[test]
    fn lines_are_written_as_the_page_says() {
        let asked = NewRequest { id: Some("job-17".into()), resource: "gpu".into(), ..NewRequest::default() };
        let mut acquire = ClientLine::new(1, Act::Acquire);
        acquire.request = Some(Cow::Owned(asked));
        let renew = ClientLine { lease_ms: Some(500), ..ClientLine::new(2, Act::Renew).about("job-17") };
        let urgency = Some(Urgency::Priority(7));
        let change = ClientLine { urgency, ..ClientLine::new(3, Act::Change).about("job-17") };
        for (line, text) in [
            (acquire, r#"{"n":1,"do":"acquire","request":{"id":"job-17","resource":"gpu"}}"#),
            (renew, r#"{"n":2,"do":"renew","id":"job-17","lease_ms":500}"#),
            (change, r#"{"n":3,"do":"change","id":"job-17","urgency":{"priority":7}}"#),
            (ClientLine::new(7, Act::Ping), r#"{"n":7,"do":"ping"}"#),
        ] {
            assert_eq!(serde_json::to_string(&line).ok().as_deref(), Some(text));
            assert_eq!(serde_json::from_str::<ClientLine<'_>>(text).ok(), Some(line));
        }
        let pong = NodeLine { n: Some(7), pong: Some(true), ..NodeLine::default() };
        assert_eq!(serde_json::to_string(&pong).ok().as_deref(), Some(r#"{"n":7,"pong":true}"#));
    }
}
