//! The lines of a stream: one connection that carries all requests of a client. `docs/stream.md` describes it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::request::{NewRequest, RequestInfo, Urgency};

/// What a client names in the header `Upgrade`, and a node in its answer.
pub const PROTOCOL: &str = "meshlock/1";
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
    /// Why something was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Cow<'a, Problem>>,
    /// The answer to a `ping`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pong: Option<bool>,
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
