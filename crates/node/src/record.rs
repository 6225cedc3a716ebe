//! Records what happens at one or several nodes of a mesh, one trace for each resource.
//!
//! Several nodes of one process share a [`Recorder`]; then a trace tells of all of them in the order in which things
//! happened. Nodes of other processes are heard of by name only; `meshlock trace merge` puts their recordings together.
//! While it records, the rules that a trace can show are watched; a broken one is told by the node at once.
//!
//! What goes wrong in writing never stops a node: it is noted once.

mod clock;
mod name;
mod said;
mod tape;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use meshlock_core::{Event, NodeId, View};
use meshlock_properties::Violation;
use meshlock_trace::{NodeInfo, TraceError};

use crate::machine::{Noticed, Observer, Settings, Step, fresh_view};
use crate::wire::Entry;

use clock::Clock;
use tape::Tape;

/// How many resources are recorded: each has an open file, and a node needs some for its links and clients.
const MOST_FILES: usize = 256;

/// How long a line may wait before it is written.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Records what happens. Clones record into the same files.
#[derive(Clone, Debug)]
pub struct Recorder {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    clock: Clock,
    /// The nodes of this process.
    names: BTreeMap<NodeId, String>,
    /// How nodes looked when they came, by resource; until their first event.
    first: BTreeMap<String, BTreeMap<NodeId, (View, bool)>>,
    tapes: BTreeMap<String, Tape>,
    too_many: bool,
    finished: bool,
}

impl Recorder {
    /// Records into files beside `path`: given `run.jsonl`, the file of resource `dock` is `run.dock.jsonl`. Files are
    /// made when something happens; a directory that does not exist is an error now.
    pub fn new(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let text = format!("the folder {} of the recording does not exist; make it first", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        if path.file_name().is_none() {
            let text = format!("{} is no name for a file; give one such as run.jsonl", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let inner = Arc::new(Mutex::new(Inner {
            path: path.to_owned(),
            clock: Clock::start(),
            names: BTreeMap::new(),
            first: BTreeMap::new(),
            tapes: BTreeMap::new(),
            too_many: false,
            finished: false,
        }));
        let weak = Arc::downgrade(&inner);
        thread::Builder::new().name("recorder".into()).spawn(move || keep_flushed(&weak))?;
        Ok(Self { inner })
    }

    /// Something to give to [`Machine::set_recorder`](crate::machine::Machine::set_recorder) of the node with these
    /// settings.
    pub fn observer(&self, settings: &Settings) -> Box<dyn Observer + Send> {
        lock(&self.inner).names.insert(settings.id, settings.name.clone());
        let (node, mesh) = (settings.id, settings.mesh.clone());
        Box::new(Seat { recorder: self.clone(), node, mesh })
    }

    /// Writes the ends of all traces. Nothing is recorded afterwards.
    pub fn finish(&self) -> Result<(), TraceError> {
        let mut inner = lock(&self.inner);
        inner.finished = true;
        let now = inner.clock.now_ns();
        let mut result = Ok(());
        for mut tape in std::mem::take(&mut inner.tapes).into_values() {
            let finished = tape.finish(now);
            result = result.and(finished);
        }
        result
    }

    /// Writes out whatever waits to be written.
    pub fn flush(&self) -> Result<(), TraceError> {
        let mut result = Ok(());
        for tape in lock(&self.inner).tapes.values_mut() {
            let flushed = tape.flush(); // all of them, also after one that fails
            result = result.and(flushed);
        }
        result
    }
}

/// Lines wait in memory for a second at most, also when nothing happens any more.
fn keep_flushed(inner: &Weak<Mutex<Inner>>) {
    loop {
        thread::sleep(FLUSH_EVERY);
        let Some(inner) = inner.upgrade() else { return };
        // The next line that is written will fail in the same way, and that is noted.
        let _ = Recorder { inner }.flush();
    }
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    // A panic would be a bug; what was recorded is still the best there is.
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One node's place at a recorder.
#[derive(Debug)]
struct Seat {
    recorder: Recorder,
    node: NodeId,
    mesh: String,
}

impl Observer for Seat {
    fn begins(&mut self, entry: &Entry, view: View, resumed: bool) {
        let mut inner = lock(&self.recorder.inner);
        inner.first.entry(entry.name.clone()).or_default().insert(self.node, (view, resumed));
    }

    fn stepped(&mut self, step: &Step<'_>) -> Noticed {
        lock(&self.recorder.inner).stepped(self.node, &self.mesh, step)
    }
}

impl Inner {
    fn stepped(&mut self, node: NodeId, mesh: &str, step: &Step<'_>) -> Noticed {
        let mut noticed = Noticed::default();
        if self.finished {
            return noticed;
        }
        let resource = &step.entry.name;
        let mut tape = match self.tapes.remove(resource) {
            Some(tape) => tape,
            None if self.tapes.len() >= MOST_FILES => {
                if !std::mem::replace(&mut self.too_many, true) {
                    let text = format!("{MOST_FILES} resources are recorded; {resource:?} and others are not");
                    noticed.notes.push(text);
                }
                return noticed;
            }
            None => {
                let path = name::file_of(&self.path, resource);
                let first = self.own_info(node, step);
                let (tape, note) = Tape::new(path, mesh, step.entry, &self.clock, first);
                noticed.notes.extend(note);
                tape
            }
        };
        let mut broken = Vec::new();
        if let Err(error) = self.record(&mut tape, node, step, &mut broken) {
            noticed.notes.push(tape.give_up(&error));
        }
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
                tape.join(now, info)?;
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
        if tape.knows(node) { Ok(()) } else { tape.join(now, self.info(node, step, step.neighbour)) }
    }

    /// What a trace says of the node whose first event this is.
    fn own_info(&self, node: NodeId, step: &Step<'_>) -> NodeInfo {
        let came_first = self.first.get(&step.entry.name).is_some_and(|first| first.contains_key(&node));
        let info = self.info(node, step, None);
        if came_first { info } else { NodeInfo { view: Some(step.before.clone()), ..info } }
    }

    /// What a trace says of a node before its first event. One of this process that does not know the resource yet will
    /// begin as everybody does; one of another process has its own recording.
    fn info(&self, node: NodeId, step: &Step<'_>, heard: Option<&str>) -> NodeInfo {
        let ours = self.names.get(&node);
        let name = ours.map(String::as_str).or(heard).map_or_else(|| format!("node {node}"), str::to_owned);
        let first = self.first.get(&step.entry.name).and_then(|first| first.get(&node)).cloned();
        let (view, resumed) = match (ours, first) {
            (_, Some((view, resumed))) => (Some(view), resumed),
            (Some(_), None) => (Some(fresh_view(&step.entry.definition, node)), false),
            (None, None) => (None, false),
        };
        NodeInfo { view, resumed, ..NodeInfo::new(node.0, name) }
    }
}
