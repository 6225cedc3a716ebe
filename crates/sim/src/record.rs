//! Records a run as a trace, for viewers and for tools that run its events again.
//!
//! Everything goes out line by line; the recorder keeps one line number for each message and timer in flight, so that an
//! arrival or loss can name the line of its sending. Recording changes nothing: events, random numbers and the trace hash
//! are the same with and without it. A write error does not end the run; it is reported at its end.

mod causes;

use std::collections::BTreeMap;
use std::io::Write;

use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol};
use meshlock_protocols::setup::RETRY;
use meshlock_protocols::{Message, Node};
use meshlock_trace::{At, End, Happening, Header, Link, Lost, Move, NodeInfo, Record, Source, TraceError};
use meshlock_trace::{Violation, What, Writer};
use serde::Serialize;
use serde_json::{Value, json};

use crate::build::world;
use crate::edit::Edits;
use crate::geometry::{Leg, Point};
use crate::observe::Observer;
use crate::outcome::{Broken, Outcome, Totals};
use crate::run::{Progress, RunError, drive};
use crate::scenario::{Name, Network, Over, Recovery, Scenario, Text};
use crate::time::Time;
use crate::world::World;
use causes::Causes;

/// What a trace says beside what happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Every event with the view of its node afterwards, and the header with the first ones. Traces become several times
    /// as large.
    pub views: bool,
    /// For the header: what else was chosen, by name.
    pub parameters: BTreeMap<String, Value>,
    /// For the header: the program and its version.
    pub made_by: Option<String>,
    /// For the header: the command that runs this again.
    pub replay: Option<String>,
}

#[derive(Debug)]
pub struct Traced {
    pub outcome: Outcome,
    /// Whether all of the trace was written; if not, why its writing was given up.
    pub written: Result<(), TraceError>,
}

/// Runs a scenario to its end and records it. Give it a buffered output. An edit that cannot be made is an error; what
/// happened before it is recorded.
pub fn run_traced(
    scenario: &Scenario,
    seed: u64,
    edits: &Edits,
    progress: &mut dyn Progress,
    output: impl Write,
    about: &About,
) -> Result<Traced, RunError> {
    let world = world(scenario, seed)?;
    let mut recorder = Recorder::begin(Box::new(output), &world, scenario, seed, about);
    let outcome = drive(world, scenario, edits, progress, &mut recorder)?;
    let written = recorder.finish(&outcome);
    Ok(Traced { outcome, written })
}

pub(crate) type Output<'a> = Box<dyn Write + 'a>;

pub(crate) struct Recorder<'a> {
    writer: Option<Writer<Output<'a>>>,
    /// The first thing that went wrong; nothing is written after it.
    error: Option<TraceError>,
    views: bool,
    nodes: u32,
    causes: Causes,
    latest: Time,
}

impl<'a> Recorder<'a> {
    /// Writes all that can be said before the first event.
    pub(crate) fn begin(output: Output<'a>, world: &World, scenario: &Scenario, seed: u64, about: &About) -> Self {
        let header = header(world, scenario, seed, about);
        let (writer, error) = match Writer::new(output, &header) {
            Ok(writer) => (Some(writer), None),
            Err(error) => (None, Some(error)),
        };
        let nodes = world.nodes().len() as u32;
        let links = (!world.reaches_all()).then(|| world.links().clone());
        let (views, causes) = (about.views, Causes::new(nodes, links));
        let mut recorder = Self { writer, error, views, nodes, causes, latest: Time::ZERO };
        recorder.first_moves(world);
        recorder
    }

    /// The header has places only; these are the first speeds.
    fn first_moves(&mut self, world: &World) {
        for node in (0..self.nodes).map(NodeId) {
            if let Some(leg) = world.leg(node).filter(|leg| velocity(leg).is_some()) {
                self.write_move(Time::ZERO, node, leg);
            }
        }
    }

    fn write_move(&mut self, now: Time, node: NodeId, leg: &Leg) {
        let place = leg.position(now);
        let movement =
            Move { node, position: [place.x, place.y], velocity: velocity(leg), gone: !leg.present, crashed: false };
        self.write::<()>(now, What::Move(movement));
    }

    /// The line it stands in, if it was written.
    fn write<M: Serialize>(&mut self, now: Time, what: What<M>) -> Option<u64> {
        self.latest = self.latest.max(now);
        match self.writer.as_mut()?.write(&Record { at: At::TimeNs(now.0), what }) {
            Ok(line) => Some(line),
            Err(error) => {
                self.writer = None;
                self.error = Some(error);
                None
            }
        }
    }

    /// Writes how it ended. Nothing is written after that.
    pub(crate) fn finish(&mut self, outcome: &Outcome) -> Result<(), TraceError> {
        let at = self.latest.max(outcome.quiet.unwrap_or(outcome.end));
        self.write::<()>(at, What::End(end(outcome)));
        match (self.writer.take(), self.error.take()) {
            (Some(writer), _) => writer.finish().map(drop),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(()),
        }
    }
}

impl Observer for Recorder<'_> {
    fn handled(&mut self, now: Time, node: &Node, event: Event<Message>, effects: Result<&[Effect<Message>], Misuse>) {
        if self.writer.is_none() {
            return;
        }
        let id = node.id();
        let cause = self.causes.of_event(id, &event);
        let (effects, misuse) = match effects {
            Ok(effects) => (effects, None),
            Err(misuse) => (&[][..], Some(misuse)),
        };
        let view = self.views.then(|| node.view());
        let happening = Happening { node: id, event, effects: effects.to_vec(), misuse, view, cause };
        if let Some(line) = self.write(now, What::Event(happening)) {
            effects.iter().for_each(|effect| self.causes.note(id, effect, line));
        }
    }

    fn linked(&mut self, now: Time, between: (NodeId, NodeId), up: bool) {
        self.causes.link(between, up);
        self.write::<()>(now, What::Link(Link { between, up }));
    }

    fn moved(&mut self, now: Time, node: NodeId, leg: &Leg) {
        self.write_move(now, node, leg);
    }

    fn joined(&mut self, now: Time, node: &Node, place: Option<Point>) {
        self.nodes += 1;
        self.causes.grow();
        let position = place.map(|place| [place.x, place.y]);
        let view = self.views.then(|| node.view());
        let info = NodeInfo { position, view, ..NodeInfo::new(node.id().0, format!("n{}", node.id())) };
        self.write::<()>(now, What::Join(info));
    }

    fn crashed(&mut self, now: Time, node: NodeId, place: Option<Point>) {
        // Wires have no places: the links that go down tell it.
        if place.is_some() {
            self.gone(now, node, place);
        }
    }

    fn gone(&mut self, now: Time, node: NodeId, place: Option<Point>) {
        let Point { x, y } = place.unwrap_or_default();
        self.write::<()>(now, What::Move(Move { node, position: [x, y], velocity: None, gone: true, crashed: false }));
    }

    fn lost(&mut self, now: Time, from: NodeId, to: NodeId, message: &Message) {
        // A printed text may send to a node that does not exist.
        if self.writer.is_some() && to.0 < self.nodes {
            let cause = self.causes.of_message(from, to, message);
            self.write(now, What::Lost(Lost { from, to, message: message.clone(), cause }));
        }
    }
}

/// `None` for an absent node.
fn velocity(leg: &Leg) -> Option<[f64; 2]> {
    let moves = leg.present && (leg.velocity.x != 0.0 || leg.velocity.y != 0.0);
    moves.then_some([leg.velocity.x, leg.velocity.y])
}

fn header(world: &World, scenario: &Scenario, seed: u64, about: &About) -> Header {
    let node = |node: &Node| {
        let position = world.position(node.id()).map(|place| [place.x, place.y]);
        let view = about.views.then(|| node.view());
        NodeInfo { position, view, ..NodeInfo::new(node.id().0, format!("n{}", node.id())) }
    };
    let nodes = world.nodes().iter().map(node).collect();
    let links = world.links().all().map(|(a, b)| (NodeId(a), NodeId(b))).collect();
    let choice = &scenario.protocol;
    let recovers = scenario.crashes.as_ref().is_some_and(|crashes| crashes.recovery != Recovery::None);
    let (variant, repairs) = match &choice.text {
        // Its messages are those of members that recover.
        Text::Repaired if recovers => ("recovering", &[][..]),
        Text::Repaired => ("repaired", &[][..]),
        Text::Published { repairs } => ("published", repairs.as_slice()),
    };
    let mut parameters = BTreeMap::from([
        ("name".to_owned(), json!(scenario.name)),
        ("capacity".to_owned(), json!(choice.capacity)),
        ("duration_s".to_owned(), json!(scenario.duration.seconds())),
    ]);
    parameters.extend(for_replay(scenario));
    if !repairs.is_empty() {
        parameters.insert("repairs".to_owned(), json!(repairs));
    }
    if let Network::Radio(radio) = &scenario.network {
        parameters.insert("area_m".to_owned(), json!([radio.area.width, radio.area.height]));
        parameters.insert("range_m".to_owned(), json!(radio.range));
    }
    parameters.extend(about.parameters.clone());
    Header {
        parameters,
        seed: Some(seed),
        made_by: about.made_by.clone(),
        replay: about.replay.clone(),
        ..Header::new(Source::Sim, choice.name.name(), variant, nodes, links)
    }
}

/// What else is needed to run the events again, where that can be done.
fn for_replay(scenario: &Scenario) -> BTreeMap<String, Value> {
    let choice = &scenario.protocol;
    let over = match choice.over {
        Over::Links => "links",
        Over::Relay => "relay",
        Over::Routing => "routing",
    };
    let fifo = match &scenario.network {
        Network::Wired(wired) => wired.fifo,
        Network::Radio(_) => true,
    };
    let retry = if choice.name == Name::Flood { choice.retry.or(Some(RETRY)) } else { choice.retry };
    let all = [
        ("order", json!(choice.order)),
        ("joins", json!(choice.joins)),
        ("passes", json!(choice.passes)),
        ("levels", json!(choice.levels)),
        ("retry", json!(retry)),
        ("over", json!(over)),
        ("fifo", json!(fifo)),
    ];
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The rule that ended the run, or the first of those that broke; and sums.
fn end(outcome: &Outcome) -> End {
    let by_rule = outcome.stopped && outcome.storm.is_none();
    let shown = if by_rule { outcome.broken.last() } else { outcome.broken.first() };
    let violation = |broken: &Broken| Violation {
        rule: broken.rule.name().to_owned(),
        node: broken.node,
        what: format!("{} (at {})", broken.words, broken.at),
    };
    let sent = Totals::of(&outcome.kinds);
    let granted = outcome.requests.iter().filter(|request| request.granted.is_some()).count();
    let mut totals = BTreeMap::from([
        ("events".to_owned(), json!(outcome.events)),
        ("requests".to_owned(), json!(outcome.requests.len())),
        ("granted".to_owned(), json!(granted)),
        ("messages".to_owned(), json!(sent.messages)),
        ("frames".to_owned(), json!(sent.frames)),
        ("bytes".to_owned(), json!(sent.bytes)),
        ("trace_hash".to_owned(), json!(format!("{:016x}", outcome.trace_hash))),
    ]);
    if !outcome.broken.is_empty() {
        let times: BTreeMap<&str, u64> =
            outcome.broken.iter().map(|broken| (broken.rule.name(), broken.times)).collect();
        totals.insert("broken".to_owned(), json!(times));
    }
    if let Some(storm) = &outcome.storm {
        totals.insert("stopped".to_owned(), json!(storm.to_string()));
    }
    End { violation: shown.map(violation), repeats_from: None, totals }
}
