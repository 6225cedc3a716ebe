//! A scenario: everything that decides a run, apart from the seed. All values are in SI units, checked and resolved;
//! [`mod@file`] reads them from TOML.

pub mod file;

use std::sync::Arc;

use meshlock_core::{Aging, Delay, Order};

use crate::distribution::Distribution;
use crate::geometry::Leg;
use crate::time::Span;

/// Everything that decides a run, apart from the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// For tables and reports.
    pub name: String,
    /// How many nodes; ids are 0 to n-1. Node 0 starts with the token (or is the coordinator).
    pub nodes: u32,
    /// How long clients ask and are measured.
    pub duration: Span,
    /// What is left out of the measures at the beginning.
    pub warmup: Warmup,
    /// After `duration` nobody asks any more. The run goes on for at most so long until everybody is served, then for at
    /// most so long, with links as they are, until nothing is under way. Who still waits then is stuck.
    pub drain: Span,
    /// Who decides who may enter.
    pub protocol: ProtocolChoice,
    /// What carries the messages.
    pub network: Network,
    /// Who asks for what, and when.
    pub traffic: Traffic,
}

/// What is left out of the measures at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// Everything before this moment.
    Fixed(Span),
    /// What MSER-5 finds on the waiting times of the run.
    Mser5,
}

/// A protocol with its parameters. What a protocol does not use is ignored by it and refused by the file reader.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolChoice {
    /// Which.
    pub name: ProtocolName,
    /// Which text of it.
    pub text: Text,
    /// How its messages travel.
    pub over: Over,
    /// The k of h-out-of-k.
    pub capacity: u32,
    /// How requests are ordered.
    pub order: Order,
    /// How many may join a session past the front (reverse-link).
    pub joins: u32,
    /// The greatest level of priority (group), the paper's K.
    pub levels: u32,
    /// What aging adds (published reverse-link), the paper's epsilon.
    pub epsilon: u32,
    /// How long a node waits before it repeats itself (flood and group); `None` if it never does.
    pub retry: Option<Delay>,
}

/// The protocols there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtocolName {
    /// Jiang: prioritized h-out-of-k over the reverse-link graph.
    ReverseLink,
    /// The PSAR report: Suzuki-Kasami by flooding.
    Flood,
    /// Swaroop and Singh: prioritized group mutual exclusion.
    Group,
    /// A coordinator at node 0 that everybody asks.
    Central,
    /// Raymond's tree.
    Raymond,
    /// Suzuki and Kasami's broadcast.
    SuzukiKasami,
    /// Ricart and Agrawala's permissions.
    RicartAgrawala,
    /// Lamport's queue that everybody keeps.
    Lamport,
    /// Naimi and Trehel's path reversal.
    NaimiTrehel,
    /// Raynal's h-out-of-k permissions.
    Raynal,
    /// Knows everything at once: [`Self::Central`] on a network without delay. The bound nobody can beat.
    Omniscient,
}

impl ProtocolName {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::ReverseLink,
        Self::Flood,
        Self::Group,
        Self::Central,
        Self::Raymond,
        Self::SuzukiKasami,
        Self::RicartAgrawala,
        Self::Lamport,
        Self::NaimiTrehel,
        Self::Raynal,
        Self::Omniscient,
    ];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReverseLink => "reverse-link",
            Self::Flood => "flood",
            Self::Group => "group",
            Self::Central => "central",
            Self::Raymond => "raymond",
            Self::SuzukiKasami => "suzuki-kasami",
            Self::RicartAgrawala => "ricart-agrawala",
            Self::Lamport => "lamport",
            Self::NaimiTrehel => "naimi-trehel",
            Self::Raynal => "raynal",
            Self::Omniscient => "omniscient",
        }
    }

    /// The protocol of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// Whether its messages go to neighbours only. All others send to any node.
    pub const fn speaks_to_neighbours(self) -> bool {
        matches!(self, Self::ReverseLink | Self::Flood)
    }
}

/// Which text of a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// What a node runs. A broken rule ends the run.
    Repaired,
    /// As printed, with some defects repaired by name (`p1`, `f7`, `g3`). Broken rules are counted. Only
    /// reverse-link, flood and group have one.
    Published {
        /// The repaired ones.
        repairs: Vec<String>,
    },
}

/// How messages of a protocol travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Over the links of the network, to neighbours. For any-to-any protocols the network should be complete.
    Links,
    /// To any node by meshlock's relay, which floods and learns routes. Messages can be lost.
    Relay,
    /// To any node by ideal routing: hop by hop on a shortest path of the moment, waiting where there is none, sent
    /// again where a link breaks. Costs transmissions but no messages of its own: better than any real routing.
    Routing,
}

/// What carries the messages.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// Nodes in a plane, in reach of each other or not.
    Radio(Radio),
    /// A graph whose links are given or drawn.
    Wired(Wired),
}

/// The plane in which nodes move, in metres. Its corner is at the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// From west to east.
    pub width: f64,
    /// From south to north.
    pub height: f64,
}

/// A radio network: who is in range is linked.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// The plane.
    pub area: Area,
    /// In metres.
    pub range: f64,
    /// In bits per second.
    pub bandwidth: f64,
    /// From the end of a transmission to its handling.
    pub latency: Span,
    /// The probability that a reception fails.
    pub error: f64,
    /// How long messages are.
    pub message: MessageSize,
    /// The bytes of an acknowledgement.
    pub ack: u32,
    /// How often an unacknowledged transmission is repeated before the link is given up.
    pub retries: u32,
    /// Whether a link that breaks first delivers what is on it.
    pub gentle: bool,
    /// How nodes move.
    pub mobility: Mobility,
}

/// How long messages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSize {
    /// All the same.
    Fixed(u32),
    /// As encoded on the wire, with so many bytes of header.
    Encoded {
        /// Of every message.
        header: u32,
    },
}

/// How nodes move. Speeds are in metres per second, times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Mobility {
    /// Nobody moves.
    Static(Placement),
    /// The report's: start anywhere, go straight at a speed drawn once, and bounce off the border like light.
    Linear {
        /// Drawn once per node.
        speed: Distribution,
    },
    /// Go straight to the border, rest, choose a new direction and speed.
    Direction {
        /// Drawn per leg.
        speed: Distribution,
        /// Drawn per rest.
        pause: Distribution,
    },
    /// Go to a random point, rest, choose the next; started in the steady state, so that nothing drifts.
    Waypoint {
        /// Greater than zero.
        slowest: f64,
        /// At least `slowest`.
        fastest: f64,
        /// Drawn per rest.
        pause: Distribution,
    },
    /// Speed and direction with a memory, changed every step; turned inwards near the border.
    GaussMarkov {
        /// How long a step is.
        step: Span,
        /// 0 forgets everything, 1 never changes.
        memory: f64,
        /// The mean speed.
        speed: f64,
        /// The deviation of the speed.
        speed_deviation: f64,
        /// The deviation of the direction, in radians.
        direction_deviation: f64,
    },
    /// Restricted random walk: for a drawn time in a new direction within `turn` of the old one, bouncing off the border.
    Walk {
        /// Drawn per leg.
        speed: Distribution,
        /// How long a leg lasts, in seconds.
        leg: Distribution,
        /// How far the direction may turn at once, in radians; pi is an unrestricted walk.
        turn: f64,
    },
    /// Recorded or scripted movement, already read: node i has `legs[i]`, in order and without gaps from time zero.
    Trace {
        /// Where it comes from, for reports.
        source: String,
        /// By node.
        legs: Arc<Vec<Vec<Leg>>>,
    },
}

/// Where nodes stand that do not move.
#[derive(Clone, Debug, PartialEq)]
pub enum Placement {
    /// Uniformly anywhere.
    Random,
    /// In rows and columns over the whole area, as square as possible, each in the middle of its cell.
    Grid,
    /// At these places (from a file), one per node.
    At(Vec<(f64, f64)>),
}

/// A network of given links.
#[derive(Clone, Debug, PartialEq)]
pub struct Wired {
    /// Which links there are at the beginning.
    pub shape: Shape,
    /// From sending to handling, in seconds; drawn per message.
    pub delay: Distribution,
    /// Whether a message waits for those sent before it over the same link.
    pub fifo: bool,
    /// The probability that a message is lost.
    pub loss: f64,
    /// How long messages are (for counting bytes; delay does not depend on it).
    pub message: MessageSize,
    /// Whether a link that breaks first delivers what is on it.
    pub gentle: bool,
    /// How links change.
    pub changes: Changes,
}

/// Which links an abstract network has.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// 0-1-2-...
    Line,
    /// A line whose ends are linked.
    Ring,
    /// Everyone to node 0.
    Star,
    /// Rows and columns, as square as possible.
    Grid,
    /// Node i to node (i-1)/arity.
    Tree {
        /// Children per node.
        arity: u32,
    },
    /// Everyone to everyone.
    Complete,
    /// A random connected graph with this share of all possible links (at least a spanning tree).
    Random {
        /// From 0 to 1.
        connectivity: f64,
    },
    /// Exactly these.
    Links(Vec<(u32, u32)>),
}

/// How the links of an abstract network change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Mean time between random changes; `None`: there are none. A change cuts a random link and adds a random one.
    pub every: Option<Span>,
    /// Never cut a link that holds the network together, as in the reverse-link paper.
    pub keep_connected: bool,
    /// At given times.
    pub script: Vec<ScriptedChange>,
}

/// A change at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedChange {
    /// When.
    pub at: Span,
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Whether the link comes or goes.
    pub up: bool,
}

/// Who asks for what, and when.
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
    /// Where they run.
    pub nodes: Vec<u32>,
    /// When they ask.
    pub arrivals: Arrivals,
    /// How long a grant is held, in seconds.
    pub holding: Distribution,
    /// The h of h-out-of-k.
    pub units: Distribution,
    /// How urgent.
    pub urgency: UrgencyOf,
    /// Which session, if any.
    pub session: Option<Distribution>,
    /// How long a client waits before it cancels, in seconds; `None`: for ever.
    pub patience: Option<Distribution>,
    /// It asks from this moment on.
    pub start: Span,
    /// It asks no more from this moment on, if any.
    pub stop: Option<Span>,
}

/// When the clients of a class ask.
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
    /// Several at once, at one moment.
    Burst {
        /// When.
        at: Span,
        /// How many per node.
        requests: u32,
    },
}

/// How urgent requests are.
#[derive(Clone, Debug, PartialEq)]
pub enum UrgencyOf {
    /// A whole number; higher is more urgent.
    Priority(Distribution),
    /// Due so many seconds after it was asked for. On the wire a deadline is in microseconds of simulated time.
    Deadline(Distribution),
}

impl Default for ProtocolChoice {
    fn default() -> Self {
        Self {
            name: ProtocolName::ReverseLink,
            text: Text::Repaired,
            over: Over::Links,
            capacity: 1,
            order: Order::Priority { aging: Aging(0) },
            joins: 0,
            levels: 10,
            epsilon: 0,
            retry: Some(Delay { least_ms: 1_000, most_ms: 2_000 }),
        }
    }
}

impl Class {
    /// Everyone of n nodes thinks, asks for one unit at priority 1 and holds it.
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

impl Radio {
    /// The radio of the report: 120 m, 1 Mb/s, 300 us, 200 bytes, no errors.
    pub const fn report(area: Area, mobility: Mobility) -> Self {
        Self {
            area,
            range: 120.0,
            bandwidth: 1e6,
            latency: Span(300_000),
            error: 0.0,
            message: MessageSize::Fixed(200),
            ack: 14,
            retries: 7,
            gentle: false,
            mobility,
        }
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
        }
    }
}
