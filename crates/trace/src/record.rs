//! All lines of a trace after the first: events, links, moves, losses, and the end.

use std::collections::BTreeMap;
use std::fmt;

use meshlock_core::{Effect, Event, Misuse, NodeId, View};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::error::Flaw;
use crate::header::{NodeInfo, Position};

/// One line: something happened at some moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<M = Value> {
    /// The step or time.
    pub at: At,
    /// What happened.
    pub what: What<M>,
}

/// When something happened. One trace counts in one way only, and never backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// At this step: the checker has no time.
    Step(u64),
    /// So many nanoseconds after the beginning.
    TimeNs(u64),
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum What<M = Value> {
    /// A node handled an event.
    Event(Happening<M>),
    /// A link came up or went down. Its ends learn of it by events of their own.
    Link(Link),
    /// A node is at a new place, or moves in a new way.
    Move(Move),
    /// A message was lost.
    Lost(Lost<M>),
    /// A node is there that was not in the header.
    Join(NodeInfo),
    /// The run is over; nothing follows. A trace without it was cut off or is still being written.
    End(End),
}

/// One event at one node, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening<M = Value> {
    /// At which node.
    pub node: NodeId,
    /// The event.
    pub event: Event<M>,
    /// What the node wanted done, in order.
    pub effects: Vec<Effect<M>>,
    /// The event was a caller's mistake and changed nothing.
    pub misuse: Option<Misuse>,
    /// How the node looks now; left out where it would be too much.
    pub view: Option<View>,
    /// The line of the trace with the effect that this event answers: the sending of the message that is received,
    /// or the arming of the timer that runs out. Where it is missing, links deliver in the order of sending.
    pub cause: Option<u64>,
}

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its two ends.
    pub between: (NodeId, NodeId),
    /// Whether it is there now.
    pub up: bool,
}

/// A change of place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Move {
    /// The node that moved.
    pub node: NodeId,
    /// Where it is now.
    pub position: Position,
    /// How it moves from now on, in metres per second. Without it, it stays there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub velocity: Option<Position>,
    /// It is not there any more, until it moves again.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub gone: bool,
    /// It is gone because it crashed: it said no goodbye, and only its next incarnation comes back.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub crashed: bool,
}

/// A message that will not arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lost<M = Value> {
    /// Who sent it.
    pub from: NodeId,
    /// Who does not get it.
    pub to: NodeId,
    /// What it said.
    pub message: M,
    /// The line of the trace with the sending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The rule that was broken, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
    /// The run is infinite: everything after this step (or time) repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_from: Option<u64>,
    /// Numbers about the whole run, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub totals: BTreeMap<String, Value>,
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The name of the rule.
    pub rule: String,
    /// Where it shows, if at one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// What was seen, in words.
    pub what: String,
}

impl At {
    /// The name of the field: in which way it counts.
    pub const fn clock(self) -> &'static str {
        match self {
            Self::Step(_) => "step",
            Self::TimeNs(_) => "time_ns",
        }
    }

    /// The number.
    pub const fn number(self) -> u64 {
        match self {
            Self::Step(number) | Self::TimeNs(number) => number,
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.clock(), self.number())
    }
}

/// As it stands in a file; what there is nothing to say of is left out.
impl<M: Serialize> Serialize for Record<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_map(None)?;
        line.serialize_entry(self.at.clock(), &self.at.number())?;
        match &self.what {
            What::Event(Happening { node, event, effects, misuse, view, cause }) => {
                line.serialize_entry("node", node)?;
                cause.iter().try_for_each(|cause| line.serialize_entry("cause", cause))?;
                line.serialize_entry("event", event)?;
                line.serialize_entry("effects", effects)?;
                misuse.iter().try_for_each(|misuse| line.serialize_entry("misuse", misuse))?;
                view.iter().try_for_each(|view| line.serialize_entry("view", view))?;
            }
            What::Link(link) => line.serialize_entry("link", link)?,
            What::Move(movement) => line.serialize_entry("move", movement)?,
            What::Lost(lost) => line.serialize_entry("lost", lost)?,
            What::Join(node) => line.serialize_entry("join", node)?,
            What::End(end) => line.serialize_entry("end", end)?,
        }
        line.end()
    }
}

impl<M> Happening<M> {
    /// An event from which nothing came, as far as is said.
    pub const fn new(node: NodeId, event: Event<M>) -> Self {
        Self { node, event, effects: Vec::new(), misuse: None, view: None, cause: None }
    }
}

/// A record as it is found in a file: anything may be missing, and there may be too much.
#[derive(Deserialize)]
pub(crate) struct Found<M> {
    step: Option<u64>,
    time_ns: Option<u64>,
    node: Option<NodeId>,
    cause: Option<u64>,
    event: Option<Event<M>>,
    effects: Option<Vec<Effect<M>>>,
    misuse: Option<Misuse>,
    view: Option<View>,
    link: Option<Link>,
    #[serde(rename = "move")]
    movement: Option<Move>,
    lost: Option<Lost<M>>,
    join: Option<NodeInfo>,
    end: Option<End>,
}

impl<M> TryFrom<Found<M>> for Record<M> {
    type Error = Flaw;

    fn try_from(found: Found<M>) -> Result<Self, Flaw> {
        let at = match (found.step, found.time_ns) {
            (Some(step), None) => At::Step(step),
            (None, Some(time)) => At::TimeNs(time),
            (None, None) => return Err(Flaw::NoClock),
            (Some(_), Some(_)) => return Err(Flaw::TwoClocks),
        };
        let happening = match found.event {
            Some(event) => Some(What::Event(Happening {
                node: found.node.ok_or(Flaw::EventWithoutNode)?,
                event,
                effects: found.effects.unwrap_or_default(),
                misuse: found.misuse,
                view: found.view,
                cause: found.cause,
            })),
            None => None,
        };
        let kinds = [
            happening,
            found.link.map(What::Link),
            found.movement.map(What::Move),
            found.lost.map(What::Lost),
            found.join.map(What::Join),
            found.end.map(What::End),
        ];
        let mut kinds = kinds.into_iter().flatten();
        match (kinds.next(), kinds.next()) {
            (Some(what), None) => Ok(Self { at, what }),
            (None, _) => Err(Flaw::NoKind),
            (Some(_), Some(_)) => Err(Flaw::TwoKinds),
        }
    }
}
