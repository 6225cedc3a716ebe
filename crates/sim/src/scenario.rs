//! A scenario: everything that decides a run, apart from the seed. All values are in SI units, checked and resolved;
//! [`mod@file`] reads them from TOML.

mod crashes;
pub mod file;
mod network;
mod protocol;

pub use crashes::{Crashes, Recovery, ScriptedCrash, Voting};
pub use meshlock_protocols::{Name, Text};
pub use network::{Area, Changes, MessageSize, Mobility, Network, Placement, Radio, ScriptedChange, Shape, Wired};
pub use protocol::{Over, ProtocolChoice};

use crate::distribution::Distribution;
use crate::time::Span;

/// Everything that decides a run, apart from the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub name: String,
    /// How many nodes; ids are 0 to n-1. Node 0 starts with the token (or is the coordinator).
    pub nodes: u32,
    /// How long clients ask and are measured.
    pub duration: Span,
    /// What is left out of the measures at the beginning.
    pub warmup: Warmup,
    /// After `duration` clients stop asking. The run goes on for at most this long until all requests are served, then for
    /// at most this long, with links as they are, until it is quiet. A request that still waits then is stuck.
    pub drain: Span,
    pub protocol: ProtocolChoice,
    pub network: Network,
    pub traffic: Traffic,
    pub crashes: Option<Crashes>,
    /// What stops a run that would not end by itself.
    pub limits: Limits,
}

/// What stops a run that would not end by itself: a *storm*. The literal flood on wires, for one, has more messages in
/// flight at every hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub events: u64,
    /// The most messages in flight at a time. On a radio a broadcast is one, and what waits at a transmitter counts.
    pub in_flight: u64,
}

/// What is left out of the measures at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// Everything before this moment.
    Fixed(Span),
    /// What MSER-5 finds on the waiting times of the run.
    Mser5,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Kinds of clients. A node may run several.
    pub classes: Vec<Class>,
}

/// Clients of one kind: one at each of its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// For tables: waiting times are told by class.
    pub name: String,
    pub nodes: Vec<u32>,
    pub arrivals: Arrivals,
    /// How long a grant is held, in seconds.
    pub holding: Distribution,
    /// The h of h-out-of-k.
    pub units: Distribution,
    pub urgency: UrgencyOf,
    pub session: Option<Distribution>,
    /// How long a client waits before it cancels, in seconds; `None`: without limit.
    pub patience: Option<Distribution>,
    /// It asks from this moment on.
    pub start: Span,
    /// It asks no more from this moment on, if any.
    pub stop: Option<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Think, ask, wait, hold, release, and again.
    Closed {
        /// In seconds.
        think: Distribution,
    },
    /// At times that do not depend on answers.
    Open {
        /// Between requests, in seconds.
        gap: Distribution,
    },
    Burst {
        at: Span,
        /// How many per node.
        requests: u32,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum UrgencyOf {
    /// A whole number; higher is more urgent.
    Priority(Distribution),
    /// Due so many seconds after it was asked for. On the wire a deadline is in microseconds of simulated time.
    Deadline(Distribution),
}

impl Class {
    /// Each of n nodes thinks, asks for one unit at priority 1 and holds it.
    pub fn closed(nodes: u32, think: Distribution, holding: Distribution) -> Self {
        Self {
            name: "all".to_owned(),
            nodes: (0..nodes).collect(),
            arrivals: Arrivals::Closed { think },
            holding,
            units: Distribution::Constant(1.0),
            urgency: UrgencyOf::Priority(Distribution::Constant(1.0)),
            session: None,
            patience: None,
            start: Span::ZERO,
            stop: None,
        }
    }
}

impl Limits {
    /// Some ten minutes of computing.
    pub const EVENTS: u64 = 1_000_000_000;
    /// Some hundred megabytes.
    pub const IN_FLIGHT: u64 = 1_000_000;

    /// For so many nodes. One message between each pair of nodes at once is no storm.
    pub fn of(nodes: u32) -> Self {
        let pairs = u64::from(nodes).pow(2);
        Self { events: Self::EVENTS, in_flight: Self::IN_FLIGHT.max(4 * pairs) }
    }
}

impl Scenario {
    /// The set-up of the report: 100 nodes that all ask, thinking 0 to 1 s, moving linearly in 600 m x 600 m. The
    /// report names neither area nor speed nor how long a node stays inside; these are ours.
    pub fn reference() -> Self {
        let mobility = Mobility::Linear { speed: Distribution::Uniform { low: 1.0, high: 5.0 } };
        let area = Area { width: 600.0, height: 600.0 };
        let think = Distribution::Uniform { low: 0.0, high: 1.0 };
        Self {
            name: "reference".to_owned(),
            nodes: 100,
            duration: Span::from_millis(60_000),
            warmup: Warmup::Fixed(Span::from_millis(5_000)),
            drain: Span::from_millis(60_000),
            protocol: ProtocolChoice::default(),
            network: Network::Radio(Radio::report(area, mobility)),
            traffic: Traffic { classes: vec![Class::closed(100, think, Distribution::Constant(0.01))] },
            crashes: None,
            limits: Limits::of(100),
        }
    }
}
