//! What a recorder knows: the nodes of this process, where they are, and the traces that are written.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_api::Definition;
use meshlock_core::{Event, NodeId, View};
use meshlock_properties::Violation;
use meshlock_trace::{NodeInfo, TraceError};

use super::clock::Clock;
use super::disk::Written;
use super::outlet::{Outlet, Outputs};
use super::place::{Place, Told};
use super::tape::Tape;
use crate::machine::{Noticed, Settings, Step, fresh_view};
use crate::wire::Entry;

/// How many resources are recorded: each has an open file, and a node needs some for its links and clients.
const MOST_FILES: usize = 256;

/// What a recorder knows.
#[derive(Debug)]
pub(super) struct Inner {
    outlets: Vec<Box<dyn Outlet>>,
    clock: Clock,
    /// Traces begin with their resources, and have all nodes of this process from the beginning. Otherwise they begin
    /// when something happens, with those to whom it does.
    eager: bool,
    /// The nodes of this process.
    names: BTreeMap<NodeId, String>,
    /// Those of them that have said what they begin with.
    present: BTreeSet<NodeId>,
    /// Where nodes are, by name; only those of this process.
    places: BTreeMap<String, Told>,
    /// Nodes of this process that have crashed, by name.
    crashed: BTreeSet<String>,
    /// How nodes looked when they came, by resource; until their first event.
    first: BTreeMap<String, BTreeMap<NodeId, (View, bool)>>,
    tapes: BTreeMap<String, Tape>,
    /// To be told with the next step of a node.
    notes: Vec<String>,
    too_many: bool,
    finished: bool,
}

impl Inner {
    pub(super) fn new(outlets: Vec<Box<dyn Outlet>>, eager: bool) -> Self {
        Self {
            outlets,
            clock: Clock::start(),
            eager,
            names: BTreeMap::new(),
            present: BTreeSet::new(),
            places: BTreeMap::new(),
            crashed: BTreeSet::new(),
            first: BTreeMap::new(),
            tapes: BTreeMap::new(),
            notes: Vec::new(),
            too_many: false,
            finished: false,
        }
    }

    /// A node of this process will be recorded. It takes the place of its former incarnation.
    pub(super) fn add_node(&mut self, settings: &Settings) {
        let is_former = |id: &NodeId| id.member() == settings.id.member() && *id != settings.id;
        self.names.retain(|id, _| !is_former(id));
        self.present.retain(|id| !is_former(id));
        self.crashed.remove(&settings.name);
        self.names.insert(settings.id, settings.name.clone());
    }

    pub(super) fn flush(&mut self) -> Result<(), TraceError> {
        let mut result = Ok(());
        for tape in self.tapes.values_mut() {
            let flushed = tape.flush(); // all of them, also after one that fails
            result = result.and(flushed);
        }
        result
    }

    /// Hears when everything that was flushed is written.
    pub(super) fn written(&self) -> Vec<Written> {
        self.outlets.iter().filter_map(|outlet| outlet.written()).collect()
    }

    /// Writes the ends of all traces; nothing follows.
    pub(super) fn end(&mut self) -> Result<(), TraceError> {
        self.finished = true;
        let now = self.clock.now_ns();
        let mut result = Ok(());
        for tape in self.tapes.values_mut() {
            let ended = tape.end(now);
            result = result.and(ended);
        }
        result
    }

    /// Whether everything could be written, after the ends were and a caller waited for it.
    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        let mut result = Ok(());
        for mut tape in std::mem::take(&mut self.tapes).into_values() {
            let finished = tape.finish();
            result = result.and(finished);
        }
        result
    }

    pub(super) fn begins(&mut self, node: NodeId, mesh: &str, entry: &Entry, view: View, resumed: bool) {
        self.first.entry(entry.name.clone()).or_default().insert(node, (view, resumed));
        if self.eager && !self.finished && !self.tapes.contains_key(&entry.name) {
            let info = self.info(node, &entry.name, &entry.definition, None);
            if let Some(tape) = self.open(mesh, entry, info) {
                self.tapes.insert(entry.name.clone(), tape);
            }
        }
    }

    pub(super) fn present(&mut self, node: NodeId) {
        self.present.insert(node);
        if !self.eager || self.finished {
            return;
        }
        let now = self.clock.now_ns();
        let mut tapes = std::mem::take(&mut self.tapes);
        for (resource, tape) in tapes.iter_mut().filter(|(_, tape)| !tape.knows(node)) {
            let info = self.info(node, resource, &tape.definition, None);
            let joined = self.join(tape, now, info);
            self.note_failure(tape, joined);
        }
        self.tapes = tapes;
    }

    pub(super) fn moved(&mut self, node: &str, place: Place) {
        let now = self.clock.now_ns();
        self.places.insert(node.to_owned(), Told { at: now, place });
        if !self.crashed.contains(node) {
            self.tell_of(node, |tape, id| tape.moved(now, id, place));
        }
    }

    pub(super) fn crashed(&mut self, node: &str) {
        let now = self.clock.now_ns();
        // Where no node has a place, neither has one that is gone.
        let position = self.places.get(node).map_or([0.0; 2], |told| told.now(now).position);
        self.tell_of(node, |tape, id| tape.crashed(now, id, position));
        self.crashed.insert(node.to_owned());
    }

    /// Writes something of a node of this process into all traces.
    fn tell_of(&mut self, node: &str, write: impl Fn(&mut Tape, NodeId) -> Result<(), TraceError>) {
        if self.finished {
            return;
        }
        for (id, _) in self.names.iter().filter(|(_, name)| *name == node) {
            for tape in self.tapes.values_mut() {
                if let Err(error) = write(tape, *id) {
                    self.notes.extend(tape.give_up(&error));
                }
            }
        }
    }

    pub(super) fn left(&mut self, node: &str) {
        let now = self.clock.now_ns();
        // Where no node has a place, neither has one that is gone.
        let position = self.places.get(node).map_or([0.0; 2], |told| told.now(now).position);
        self.moved(node, Place { gone: true, ..Place::at(position) });
    }

    /// Begins the trace of a resource, unless there are too many.
    fn open(&mut self, mesh: &str, entry: &Entry, first: NodeInfo) -> Option<Tape> {
        if self.tapes.len() >= MOST_FILES {
            if !std::mem::replace(&mut self.too_many, true) {
                let text = format!("{MOST_FILES} resources are recorded; {:?} and others are not", entry.name);
                self.notes.push(text);
            }
            return None;
        }
        let outputs = Outputs::open(&mut self.outlets, &entry.name);
        let now = self.clock.now_ns();
        let (id, name) = (first.id, first.name.clone());
        let mut tape = Tape::new(outputs, mesh, entry, &self.clock, first);
        let mut written = self.tell_movement(&mut tape, now, id, &name);
        if self.eager {
            for node in self.present.iter().filter(|node| **node != id) {
                let info = self.info(*node, &entry.name, &entry.definition, None);
                written = written.and_then(|()| self.join(&mut tape, now, info));
            }
        }
        self.note_failure(&mut tape, written);
        Some(tape)
    }

    fn note_failure(&mut self, tape: &mut Tape, written: Result<(), TraceError>) {
        if let Err(error) = written {
            self.notes.extend(tape.give_up(&error));
        }
    }

    pub(super) fn stepped(&mut self, node: NodeId, mesh: &str, step: &Step<'_>) -> Noticed {
        let mut noticed = Noticed::default();
        if self.finished {
            return noticed;
        }
        let resource = &step.entry.name;
        let tape = match self.tapes.remove(resource) {
            Some(tape) => Some(tape),
            None => {
                let first = self.own_info(node, step);
                self.open(mesh, step.entry, first)
            }
        };
        noticed.notes.append(&mut self.notes);
        let Some(mut tape) = tape else { return noticed };
        let mut broken = Vec::new();
        if let Err(error) = self.record(&mut tape, node, step, &mut broken) {
            noticed.notes.extend(tape.give_up(&error));
        }
        noticed.notes.extend(tape.troubles());
        broken.extend(tape.watch(node, step));
        noticed.broken.extend(broken.iter().map(ToString::to_string));
        self.tapes.insert(resource.clone(), tape);
        noticed
    }

    fn record(
        &mut self,
        tape: &mut Tape,
        node: NodeId,
        step: &Step<'_>,
        broken: &mut Vec<Violation>,
    ) -> Result<(), TraceError> {
        let now = self.clock.now_ns();
        if !tape.has_seen(node) {
            let info = self.own_info(node, step);
            let view = info.view.clone().unwrap_or_default();
            if !tape.knows(node) {
                self.join(tape, now, info)?;
            }
            broken.extend(tape.begin(node, &view));
            if let Some(first) = self.first.get_mut(&step.entry.name) {
                first.remove(&node);
            }
            for neighbour in view.neighbours {
                self.hear_of(tape, now, neighbour, step)?;
                tape.was_linked(now, node, neighbour)?;
            }
        }
        if let Event::LinkUp { neighbour } = step.event {
            self.hear_of(tape, now, *neighbour, step)?;
            tape.link(now, (node, *neighbour), true)?;
        } else if let Event::LinkDown { neighbour } = step.event {
            self.hear_of(tape, now, *neighbour, step)?;
            tape.link(now, (node, *neighbour), false)?;
        }
        tape.event(now, node, step)
    }

    fn hear_of(&self, tape: &mut Tape, now: u64, node: NodeId, step: &Step<'_>) -> Result<(), TraceError> {
        if tape.knows(node) {
            return Ok(());
        }
        self.join(tape, now, self.info(node, &step.entry.name, &step.entry.definition, step.neighbour))
    }

    fn join(&self, tape: &mut Tape, now: u64, info: NodeInfo) -> Result<(), TraceError> {
        let (id, name) = (info.id, info.name.clone());
        tape.join(now, info)?;
        self.tell_movement(tape, now, id, &name)
    }

    /// What is said of a new node has its place; how it moves is said apart.
    fn tell_movement(&self, tape: &mut Tape, now: u64, node: NodeId, name: &str) -> Result<(), TraceError> {
        match self.place(node, name, now) {
            Some(place) if place.gone || place.velocity.is_some() => tape.moved(now, node, place),
            Some(_) | None => Ok(()),
        }
    }

    fn place(&self, node: NodeId, name: &str, now: u64) -> Option<Place> {
        let ours = self.names.contains_key(&node);
        self.places.get(name).filter(|_| ours).map(|told| told.now(now))
    }

    /// What a trace says of the node whose first event this is.
    fn own_info(&self, node: NodeId, step: &Step<'_>) -> NodeInfo {
        let came_first = self.first.get(&step.entry.name).is_some_and(|first| first.contains_key(&node));
        let info = self.info(node, &step.entry.name, &step.entry.definition, None);
        if came_first { info } else { NodeInfo { view: Some(step.before.clone()), ..info } }
    }

    /// What a trace says of a node before its first event. One of this process that does not know the resource yet will
    /// begin as all nodes do; one of another process has its own recording.
    fn info(&self, node: NodeId, resource: &str, definition: &Definition, heard: Option<&str>) -> NodeInfo {
        let ours = self.names.get(&node);
        let name = ours.map(String::as_str).or(heard).map_or_else(|| format!("node {node}"), str::to_owned);
        let first = self.first.get(resource).and_then(|first| first.get(&node)).cloned();
        let (view, resumed) = match (ours, first) {
            (_, Some((view, resumed))) => (Some(view), resumed),
            (Some(_), None) => (Some(fresh_view(definition, node)), false),
            (None, None) => (None, false),
        };
        let position = self.place(node, &name, self.clock.now_ns()).map(|place| place.position);
        NodeInfo { view, resumed, position, ..NodeInfo::new(node.0, name) }
    }
}
