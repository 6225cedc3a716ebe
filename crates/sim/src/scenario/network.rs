//! What carries the messages: a radio in a plane, or given links.

use std::sync::Arc;

use crate::distribution::Distribution;
use crate::geometry::Leg;
use crate::time::Span;

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

/// A radio network: nodes in range are linked.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    pub area: Area,
    /// In metres.
    pub range: f64,
    /// In bits per second.
    pub bandwidth: f64,
    /// From the end of a transmission to its handling.
    pub latency: Span,
    pub error: f64,
    pub message: MessageSize,
    /// The bytes of an acknowledgement.
    pub ack: u32,
    /// How often an unacknowledged transmission is repeated before the link is given up.
    pub retries: u32,
    /// How long a message that nobody waits for is held back at most, to go in one frame with the next one for its
    /// receiver; what one event sends to a neighbour is then one frame, too. `None`: every message is a frame.
    pub hold_back: Option<Span>,
    /// Whether a link that breaks first delivers what is on it.
    pub gentle: bool,
    pub mobility: Mobility,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSize {
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
        step: Span,
        /// 0 forgets everything, 1 never changes.
        memory: f64,
        speed: f64,
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

#[derive(Clone, Debug, PartialEq)]
pub enum Placement {
    /// Uniformly anywhere.
    Random,
    /// In rows and columns over the whole area, as square as possible, each in the middle of its cell.
    Grid,
    /// At these places (from a file), one per node.
    At(Vec<(f64, f64)>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Wired {
    pub shape: Shape,
    /// From sending to handling, in seconds; drawn per message.
    pub delay: Distribution,
    /// Whether a message waits for those sent before it over the same link.
    pub fifo: bool,
    pub loss: f64,
    /// How long messages are (for counting bytes; delay does not depend on it).
    pub message: MessageSize,
    /// As with [`Radio::hold_back`].
    pub hold_back: Option<Span>,
    /// Whether a link that breaks first delivers what is on it.
    pub gentle: bool,
    pub changes: Changes,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// 0-1-2-...
    Line,
    /// A line whose ends are linked.
    Ring,
    /// All nodes to node 0.
    Star,
    /// Rows and columns, as square as possible.
    Grid,
    /// Node i to node (i-1)/arity.
    Tree {
        /// Children per node.
        arity: u32,
    },
    Complete,
    /// A random connected graph with this share of all possible links (at least a spanning tree).
    Random {
        /// From 0 to 1.
        connectivity: f64,
    },
    Links(Vec<(u32, u32)>),
}

/// How the links of an abstract network change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Mean time between random changes; `None`: there are none. A change cuts a random link and adds a random one.
    pub every: Option<Span>,
    /// Never cut a link that holds the network together, as in the reverse-link paper.
    pub keep_connected: bool,
    pub script: Vec<ScriptedChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedChange {
    pub at: Span,
    pub a: u32,
    pub b: u32,
    /// Whether the link comes or goes.
    pub up: bool,
}

impl Wired {
    /// Links that keep the order of messages, lose none and do not change; messages as encoded.
    pub fn new(shape: Shape, delay: Distribution) -> Self {
        let message = MessageSize::Encoded { header: 0 };
        let changes = Changes::default();
        Self { shape, delay, fifo: true, loss: 0.0, message, hold_back: None, gentle: false, changes }
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
            hold_back: None,
            gentle: false,
            mobility,
        }
    }
}
