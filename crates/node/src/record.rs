//! Records what happens at one or several nodes of a mesh, one trace for each resource.
//!
//! Several nodes of one process share a [`Recorder`]; then a trace tells of all of them in the order in which things
//! happened. Nodes of other processes are heard of by name only; `meshlock trace merge` puts their recordings together.
//! While it records, the rules that a trace can show are watched; a broken one is told by the node at once.
//!
//! What goes wrong in writing never stops a node: it is noted once. Nor does a slow disk hold it up: files are written
//! by a thread of their own ([`Files`]).

mod clock;
mod disk;
mod inner;
mod name;
mod outlet;
mod place;
mod said;
mod tape;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use meshlock_core::{NodeId, View};
use meshlock_trace::TraceError;

use crate::machine::{Noticed, Observer, Settings, Step};
use crate::wire::Entry;

use inner::Inner;

pub use disk::Written;
pub use name::unused;
pub use outlet::{Files, Outlet};
pub use place::Place;

/// How long a line may wait before it is written.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Records what happens. Clones record into the same traces.
#[derive(Clone, Debug)]
pub struct Recorder {
    inner: Arc<Mutex<Inner>>,
}

impl Recorder {
    /// Records into files beside `path`: given `run.jsonl`, the file of resource `dock` is `run.dock.jsonl`. Files are
    /// made when something happens; a directory that does not exist is an error now.
    pub fn new(path: &Path) -> io::Result<Self> {
        Self::start(vec![Box::new(Files::beside(path)?)], false)
    }

    /// Records for a live view: traces begin with their resources, and show all nodes of this
    /// process from the beginning, even those to which nothing happens. All outlets get the same lines.
    pub fn live(outlets: Vec<Box<dyn Outlet>>) -> io::Result<Self> {
        Self::start(outlets, true)
    }

    fn start(outlets: Vec<Box<dyn Outlet>>, eager: bool) -> io::Result<Self> {
        let inner = Arc::new(Mutex::new(Inner::new(outlets, eager)));
        let weak = Arc::downgrade(&inner);
        thread::Builder::new().name("recorder".into()).spawn(move || keep_flushed(&weak))?;
        Ok(Self { inner })
    }

    /// Something to give to [`Machine::set_recorder`](crate::machine::Machine::set_recorder) of the node with these
    /// settings.
    pub fn observer(&self, settings: &Settings) -> Box<dyn Observer + Send> {
        lock(&self.inner).add_node(settings);
        let (node, mesh) = (settings.id, settings.mesh.clone());
        Box::new(Seat { recorder: self.clone(), node, mesh })
    }

    /// A node of this process, by name, is somewhere else or moves otherwise from now on. That may be told before the
    /// node is there.
    pub fn moved(&self, node: &str, place: Place) {
        lock(&self.inner).moved(node, place);
    }

    /// A node of this process, by name, has crashed. It is there again when it is started again.
    pub fn crashed(&self, node: &str) {
        lock(&self.inner).crashed(node);
    }

    /// A node of this process, by name, is not there any more.
    pub fn left(&self, node: &str) {
        lock(&self.inner).left(node);
    }

    /// Writes the ends of all traces. Nothing is recorded afterwards.
    ///
    /// Waits until everything is written: call it when the nodes have stopped.
    pub fn finish(&self) -> Result<(), TraceError> {
        let ended = lock(&self.inner).end();
        self.wait_until_written();
        lock(&self.inner).finish().and(ended)
    }

    /// Writes out whatever waits to be written, and waits until that is done. Nodes can go on meanwhile.
    pub fn flush(&self) -> Result<(), TraceError> {
        let flushed = lock(&self.inner).flush();
        self.wait_until_written();
        flushed
    }

    fn wait_until_written(&self) {
        let written = lock(&self.inner).written();
        written.into_iter().for_each(Written::wait);
    }
}

/// Lines wait in memory for a second at most, also when nothing happens any more.
fn keep_flushed(inner: &Weak<Mutex<Inner>>) {
    loop {
        thread::sleep(FLUSH_EVERY);
        let Some(inner) = inner.upgrade() else { return };
        // The next line that is written will fail in the same way, and that is noted.
        let _ = lock(&inner).flush();
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
        lock(&self.recorder.inner).begins(self.node, &self.mesh, entry, view, resumed);
    }

    fn has_begun(&mut self) {
        lock(&self.recorder.inner).present(self.node);
    }

    fn stepped(&mut self, step: &Step<'_>) -> Noticed {
        lock(&self.recorder.inner).stepped(self.node, &self.mesh, step)
    }

    fn of_next(&self, settings: &Settings) -> Option<Box<dyn Observer + Send>> {
        Some(self.recorder.observer(settings))
    }
}
