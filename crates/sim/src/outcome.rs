//! What a run leaves behind: every request, what was sent, what the network looked like, which rules broke.
//!
//! Nothing here is averaged: [`crate::measures`] does that.

use meshlock_core::{NodeId, RequestId, Session, Units, Urgency};
use meshlock_properties::Rule;

use crate::time::{Span, Time};

#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub seed: u64,
    pub nodes: u32,
    /// The k of h-out-of-k. For protocols whose units do not limit anything: the number of nodes.
    pub capacity: u32,
    /// When clients stopped asking: the end of what is measured. Earlier than planned if the run was stopped.
    pub end: Time,
    /// When the run became quiet after that; `None` if it did not in time.
    pub quiet: Option<Time>,
    pub events: u64,
    /// A number that is the same exactly if the same events happened in the same order with the same messages.
    pub trace_hash: u64,
    /// Every request, in the order in which they were made. Some may be answered only after `end`.
    pub requests: Vec<Request>,
    /// Everything sent until `end`, by kind of message, in the order of their names.
    pub kinds: Vec<Kind>,
    /// What of that was sent before the fixed warm-up ended.
    pub kinds_before: Vec<Kind>,
    /// Acknowledgements sent by radios until `end`; they are in the bytes of no kind.
    pub acks: u64,
    pub network: NetworkSeen,
    /// Every rule that broke, with its first time, place and words, in the order in which they broke.
    pub broken: Vec<Broken>,
    /// The run ended before its time: by a storm if there is one, else by the last of `broken`.
    pub stopped: bool,
    pub storm: Option<Storm>,
    /// Messages that their receivers refused as a mistake.
    pub rejected: u64,
    pub crashes: Option<CrashesSeen>,
}

/// What crashes did, until the run was quiet; each list in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrashesSeen {
    pub crashed: Vec<Time>,
    /// A fact that starts a repair: a node began as another incarnation, was declared gone, or was removed.
    pub facts: Vec<Time>,
    /// Voters declared a node gone.
    pub declared: Vec<Declaration>,
    /// A lost token was made anew.
    pub remade: Vec<Time>,
    /// A client had to stop before it was done: its lease or the standing of its node was over.
    pub cut_short: Vec<Time>,
    /// A request was lost while it waited at a node that crashed, or came to one that did not serve.
    pub refused: Vec<Time>,
    /// Times in which nothing could be granted.
    pub outages: Vec<Outage>,
}

/// Voters declared a node gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    pub at: Time,
    pub node: NodeId,
    pub wrongly: bool,
}

/// From what took the token, or the last unit, to the next grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    pub start: Time,
    /// `None`: nothing was granted after it.
    pub end: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub node: NodeId,
    pub request: RequestId,
    pub class: u16,
    /// The h of h-out-of-k.
    pub units: Units,
    pub urgency: Urgency,
    pub session: Option<Session>,
    pub asked: Time,
    pub granted: Option<Time>,
    pub released: Option<Time>,
    pub cancelled: Option<Time>,
    /// Everything sent before it was granted, so that differences tell what was sent in between.
    pub sent: Totals,
}

/// Sums over all kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Totals {
    /// Messages from one node to one other: a broadcast to five neighbours counts five.
    pub messages: u64,
    /// Transmissions: a broadcast counts one, and every repetition one more. On wires the same as messages, unless
    /// several share a frame.
    pub frames: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Kind {
    /// The protocol's word for it.
    pub name: &'static str,
    #[serde(flatten)]
    pub totals: Totals,
}

/// What the network looked like until the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkSeen {
    /// The mean number of neighbours, over time and nodes.
    pub mean_degree: f64,
    /// The share of the time in which all present nodes were connected.
    pub connected: f64,
    pub parts: f64,
    /// The mean number of hops between nodes that can reach each other.
    pub mean_hops: f64,
    /// The greatest number of hops seen between nodes that can reach each other.
    pub diameter: u32,
    /// Links that came or went, after the first moment.
    pub link_changes: u64,
    /// Messages lost on a link that broke, or by an error that was not repaired.
    pub lost: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub rule: Rule,
    pub times: u64,
    pub at: Time,
    pub node: Option<NodeId>,
    pub words: String,
}

/// A run with no end in sight: it exceeded a limit of its scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storm {
    pub exceeded: Limit,
    pub at: Time,
    /// Events handled until then.
    pub events: u64,
    pub in_flight: u64,
}

/// A limit of a run, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `limits.events`
    Events(u64),
    /// `limits.in_flight`
    InFlight(u64),
}

impl std::fmt::Display for Storm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { exceeded, at, events, in_flight } = self;
        let (key, most) = match exceeded {
            Limit::Events(most) => ("limits.events", most),
            Limit::InFlight(most) => ("limits.in_flight", most),
        };
        write!(f, "storm at {at}: {events} events so far, {in_flight} messages in flight; {key} = {most} is exceeded")
    }
}

impl Totals {
    /// Of all kinds together.
    pub fn of(kinds: &[Kind]) -> Self {
        kinds.iter().fold(Self::default(), |sum, kind| Self {
            messages: sum.messages + kind.totals.messages,
            frames: sum.frames + kind.totals.frames,
            bytes: sum.bytes + kind.totals.bytes,
        })
    }
}

impl Request {
    pub fn wait(&self) -> Option<Span> {
        self.granted.map(|granted| granted.since(self.asked))
    }
}
