//! The trace of one resource while it is written, with the rules that are watched on the way.

use std::collections::BTreeMap;
use std::io;

use meshlock_api::{Definition, Order, Protocol};
use meshlock_core::{Aging, Effect, Event, NodeId, Units, View};
use meshlock_properties::{RuleSet, Setting, Violation, Watcher};
use meshlock_trace::{
    At, End, Happening, Header, Link, LinkEnds, Move, NodeInfo, Position, Record, Source, TraceError, UnderWay, What,
    Writer,
};
use serde_json::{Value, json};

use super::clock::Clock;
use super::outlet::{Outputs, Troubles};
use super::place::Place;
use super::said::{Said, said};
use crate::machine::{GROUP_PRIORITIES, RETRY, Step, is_numbered};
use crate::wire::Entry;

/// One trace.
#[derive(Debug)]
pub(super) struct Tape {
    /// What it is about.
    pub(super) definition: Definition,
    /// Gone once everything went wrong, or the end was written; also if it is not wanted.
    writer: Option<Writer<Outputs>>,
    troubles: Troubles,
    latest: u64,
    /// The line of the end.
    last_line: u64,
    /// Nodes in the trace; true for those whose events have been seen.
    nodes: BTreeMap<NodeId, bool>,
    ends: LinkEnds,
    under_way: UnderWay,
    watcher: Watcher,
    broken: Option<Violation>,
    totals: BTreeMap<&'static str, u64>,
}

impl Tape {
    /// Begins the trace of a resource with the first node that is seen of it.
    pub(super) fn new(outputs: Outputs, mesh: &str, entry: &Entry, clock: &Clock, first: NodeInfo) -> Self {
        let troubles = outputs.troubles();
        let nodes = BTreeMap::from([(first.id, false)]);
        let header = header(mesh, entry, clock, first);
        // What goes wrong with the first line is among the troubles.
        let writer = if outputs.is_empty() { None } else { Writer::new(outputs, &header).ok() };
        Self {
            definition: entry.definition.clone(),
            writer,
            troubles,
            latest: 0,
            last_line: 0,
            nodes,
            ends: LinkEnds::default(),
            under_way: UnderWay::new(),
            watcher: watcher(&entry.definition),
            broken: None,
            totals: BTreeMap::new(),
        }
    }

    /// What went wrong and has not been told yet.
    pub(super) fn troubles(&self) -> Vec<String> {
        self.troubles.take()
    }

    pub(super) fn knows(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    /// Whether an event of this node has been seen.
    pub(super) fn has_seen(&self, node: NodeId) -> bool {
        self.nodes.get(&node).copied().unwrap_or_default()
    }

    /// A node that is not in the trace yet.
    pub(super) fn join(&mut self, now: u64, node: NodeInfo) -> Result<(), TraceError> {
        let id = node.id;
        if node.view.is_none() {
            self.under_way.ignore(id); // the recording of another process has it
        }
        self.nodes.insert(id, false);
        self.write::<()>(now, What::Join(node)).map(drop)
    }

    /// A node is somewhere else, or moves otherwise. Nothing is said of nodes that are not in the trace.
    pub(super) fn moved(&mut self, now: u64, node: NodeId, place: Place) -> Result<(), TraceError> {
        if !self.knows(node) {
            return Ok(());
        }
        let Place { position, velocity, gone } = place;
        self.write::<()>(now, What::Move(Move { node, position, velocity, gone, crashed: false })).map(drop)
    }

    /// A node has crashed: nothing of it follows, and its links are down.
    pub(super) fn crashed(&mut self, now: u64, node: NodeId, position: Position) -> Result<(), TraceError> {
        if !self.knows(node) {
            return Ok(());
        }
        let neighbours: Vec<NodeId> = self.under_way.neighbours(node).collect();
        for neighbour in neighbours {
            self.link(now, (node, neighbour), false)?;
        }
        let movement = Move { node, position, velocity: None, gone: true, crashed: true };
        self.write::<()>(now, What::Move(movement)).map(drop)
    }

    /// The first event of a node comes next.
    pub(super) fn begin(&mut self, node: NodeId, view: &View) -> Option<Violation> {
        self.nodes.insert(node, true);
        let verdict = self.watcher.begins(node, view);
        self.judge(verdict)
    }

    /// An end tells that its link has come or gone. Both ends must be known.
    pub(super) fn link(&mut self, now: u64, between: (NodeId, NodeId), up: bool) -> Result<(), TraceError> {
        if !self.ends.tells(between.0, between.1, up) {
            return Ok(());
        }
        self.write::<()>(now, What::Link(Link { between, up })).map(drop)
    }

    /// The link was up before anything was recorded.
    pub(super) fn was_linked(&mut self, now: u64, node: NodeId, neighbour: NodeId) -> Result<(), TraceError> {
        // A link that comes up answers nothing.
        let _ = self.under_way.happens::<()>(node, &Event::LinkUp { neighbour });
        self.link(now, (node, neighbour), true)
    }

    /// Writes an event with what came of it.
    pub(super) fn event(&mut self, now: u64, node: NodeId, step: &Step<'_>) -> Result<(), TraceError> {
        let event = step.event.clone().map(Said);
        // What comes from a node that is recorded elsewhere answers nothing in this trace.
        let cause = self.under_way.happens(node, &event).ok().flatten();
        let effects: Vec<Effect<Said>> = step.result.unwrap_or_default().iter().map(said).collect();
        for effect in &effects {
            if matches!(effect, Effect::Granted { .. }) {
                *self.totals.entry("granted").or_default() += 1;
            }
        }
        *self.totals.entry("events").or_default() += 1;
        let view = Some(step.after.clone());
        let happening = Happening { node, event, effects, misuse: step.result.err(), view, cause };
        let record = What::Event(happening);
        let line = self.write(now, record.clone())?;
        if let (Some(line), What::Event(happening)) = (line, record) {
            happening.effects.iter().for_each(|effect| self.under_way.effect(node, effect, line));
        }
        Ok(())
    }

    /// Looks whether the rules still hold.
    pub(super) fn watch(&mut self, node: NodeId, step: &Step<'_>) -> Option<Violation> {
        let effects = step.result.ok()?;
        let verdict = self.watcher.step(node, step.event, effects, Some((step.before, step.after)));
        self.judge(verdict)
    }

    fn judge(&mut self, verdict: Result<(), Violation>) -> Option<Violation> {
        let violation = verdict.err()?;
        *self.totals.entry("broken").or_default() += 1;
        self.broken.get_or_insert_with(|| violation.clone());
        Some(violation)
    }

    pub(super) fn flush(&mut self) -> Result<(), TraceError> {
        self.writer.as_mut().map_or(Ok(()), Writer::flush)
    }

    /// Writes the end; nothing follows.
    pub(super) fn end(&mut self, now: u64) -> Result<(), TraceError> {
        let violation = self.broken.as_ref().map(|broken| meshlock_trace::Violation {
            rule: broken.rule.name().to_owned(),
            node: broken.node,
            what: broken.what.clone(),
        });
        let totals = self.totals.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        let written = self.write::<()>(now, What::End(End { violation, repeats_from: None, totals }))?;
        self.last_line = written.unwrap_or_default();
        self.flush()
    }

    /// Whether it could be written to its end.
    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        let finished = self.writer.take().map_or(Ok(()), |writer| writer.finish().map(drop));
        match self.troubles().first() {
            Some(text) => Err(TraceError::Io { line: self.last_line, source: io::Error::other(text.clone()) }),
            None => finished,
        }
    }

    /// Nothing more is written; the rules are watched on. What is to be told is returned.
    pub(super) fn give_up(&mut self, error: &TraceError) -> Vec<String> {
        self.writer = None;
        let told = self.troubles();
        if told.is_empty() { vec![format!("recording ends; the node goes on: {error}")] } else { told }
    }

    /// The line it stands in, if it was written.
    fn write<M: serde::Serialize>(&mut self, now: u64, what: What<M>) -> Result<Option<u64>, TraceError> {
        let Some(writer) = &mut self.writer else { return Ok(None) };
        self.latest = self.latest.max(now);
        writer.write(&Record { at: At::TimeNs(self.latest), what }).map(Some)
    }
}

fn watcher(definition: &Definition) -> Watcher {
    let order = match definition.order {
        Order::Priority { aging } => meshlock_core::Order::Priority { aging: Aging(aging) },
        Order::Deadline => meshlock_core::Order::Deadline,
    };
    let capacity = Units(definition.capacity);
    let setting = Setting {
        capacity,
        order,
        joins: definition.joins,
        overtaking_bound: u32::MAX,
        passes: definition.policy.passes(),
        numbered: false,
    };
    Watcher::new(Watcher::rules_of(protocol_name(definition.protocol)).unwrap_or(RuleSet::NONE), setting)
}

const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::ReverseLink => "reverse-link",
        Protocol::Flood => "flood",
        Protocol::Group => "group",
    }
}

fn header(mesh: &str, entry: &Entry, clock: &Clock, first: NodeInfo) -> Header {
    let Definition { capacity, protocol, order, joins, .. } = entry.definition;
    let mut parameters = vec![
        ("resource", json!(entry.name)),
        ("mesh", json!(mesh)),
        ("capacity", json!(capacity)),
        ("order", json!(order)),
        ("joins", json!(joins)),
        ("began_unix_ms", json!(clock.began_unix_ms)),
    ];
    parameters.extend(clock.monotonic_ns.map(|ns| ("monotonic_ns", json!(ns))));
    parameters.extend(clock.boot_id.as_ref().map(|id| ("boot_id", json!(id))));
    match protocol {
        Protocol::ReverseLink => parameters.extend([
            ("numbered", json!(is_numbered(&entry.definition))),
            ("passes", json!(entry.definition.policy.passes())),
        ]),
        Protocol::Flood => parameters.push(("retry", json!(RETRY))),
        Protocol::Group => {
            let levels = GROUP_PRIORITIES.unsigned_abs() + 1;
            let more: [(&str, Value); 4] = [
                ("retry", json!(RETRY)),
                ("levels", json!(levels)),
                ("members", json!("anyone")),
                ("over", json!("relay")),
            ];
            parameters.extend(more);
        }
    }
    Header {
        parameters: parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        made_by: Some(format!("meshlock {}", env!("CARGO_PKG_VERSION"))),
        ..Header::new(Source::Node, protocol_name(protocol), "repaired", vec![first], vec![])
    }
}
