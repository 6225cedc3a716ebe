//! Every state of a model: breadth first for the shortest counterexample, or depth first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::action::Action;
use crate::clock::Stopwatch;
use crate::counterexample::Counterexample;
use crate::finding::Finding;
use crate::graph::Graph;
use crate::liveness;
use crate::model::{Model, ModelError};
use crate::parallel::{Crew, Level, LevelEnd};
use crate::parts::Recent;
use crate::report::{Broken, Observer, Outcome, Progress, Verdict};
use crate::space::{Applied, Space};
use crate::store::{State, Store};
use crate::sweep::{Swept, has_stages, sweep};

#[derive(Clone, Debug)]
pub struct Options {
    /// The order in which states are visited.
    pub search: Search,
    /// Remove messages that their receiver is certain to ignore.
    pub reduce: bool,
    /// Renumber growing counters, so that states come back. `None`: only if the workload is endless.
    pub canonical: Option<bool>,
    /// Keep the graph and search it for endless messages and starvation after a complete exploration. Only breadth
    /// first.
    pub graph: bool,
    /// How many threads explore. Everything that is found is the same with any number of them. Depth first, with the graph
    /// and where counters are renumbered, one does it alone.
    pub threads: usize,
    /// Up to so many states one thread explores alone, whatever comes then: for less, several threads gain nothing, and what
    /// is wrong nearby is soon found.
    pub small: u64,
    /// The most different states.
    pub max_states: Option<u64>,
    /// The most steps from the start.
    pub max_depth: Option<u32>,
    pub max_time: Option<Duration>,
    /// The most memory of the tables.
    pub max_bytes: Option<u64>,
    /// Set it from outside to end with what there is.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            search: Search::BreadthFirst,
            reduce: true,
            canonical: None,
            graph: false,
            threads: 1,
            small: 300_000,
            max_states: None,
            max_depth: None,
            max_time: None,
            max_bytes: None,
            cancel: None,
        }
    }
}

/// The order in which states are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Nearest first: the first counterexample is a shortest one.
    BreadthFirst,
    /// Newest first: deep states early. A depth limit may hide states that are near on another path.
    DepthFirst,
}

pub struct Explorer {
    model: Model,
    options: Options,
}

impl Explorer {
    /// An exploration of this model with default options.
    pub fn new(model: Model) -> Self {
        Self { model, options: Options::default() }
    }

    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Explores until all states were visited, a rule is broken, or a limit is reached.
    pub fn run(self, observer: &mut dyn Observer) -> Result<Outcome, ModelError> {
        let canonical = self.options.canonical.unwrap_or(self.model.workload.endless);
        let mut space = Space::new(self.model, self.options.reduce, canonical)?;
        if self.options.graph && space.layout.nodes > 8 {
            return Err(ModelError::TooManyForGraph(space.layout.nodes));
        }
        let mut watch = Stopwatch::start();
        let (end, progress) = if self.options.can_sweep(&space) {
            search_or_sweep(&mut space, &self.options, &mut watch, observer)
        } else {
            search(&mut space, self.options, &watch, observer)
        };
        let (verdict, broken) = match end {
            End::Broken { path, finding, cycle_from } => (Verdict::Violated, Some((path, finding, cycle_from))),
            End::Stopped(verdict) => (verdict, None),
        };
        let parts = space.local.sizes();
        let violation = broken.map(|(path, finding, cycle_from)| {
            let counterexample = Counterexample::replay(&space, &path, cycle_from);
            Broken { finding, counterexample }
        });
        Ok(Outcome { progress, verdict, violation, parts })
    }
}

impl Options {
    /// Whether a sweep finds the same. Renumbering has to be done in order, and a limit of states means the nearest ones.
    fn can_sweep(&self, space: &Space) -> bool {
        let (_, canonical) = space.reductions();
        let breadth = self.search == Search::BreadthFirst && !self.graph;
        self.threads > 1 && breadth && !canonical && self.max_states.is_none() && has_stages(&space.model)
    }
}

/// Searches what is near with one thread, and sweeps a space that turns out to be large.
fn search_or_sweep(
    space: &mut Space,
    options: &Options,
    watch: &mut Stopwatch,
    observer: &mut dyn Observer,
) -> (End, Progress) {
    let small = Options { threads: 1, max_states: Some(options.small), ..options.clone() };
    match search(space, small, watch, observer) {
        (End::Stopped(Verdict::StateLimit), _) => match sweep(space, options, watch, observer) {
            Swept::Ended(verdict, progress) => (End::Stopped(verdict), progress),
            Swept::Broken(depth) => find_run(space, depth, options, watch, observer),
            Swept::Unfit => search(space, options.clone(), watch, observer),
        },
        ended => ended,
    }
}

/// Searches for the run to something wrong at this distance. It is known to be there: the limits of time and memory do not keep
/// it from being shown.
pub(crate) fn find_run(
    space: &mut Space,
    depth: u32,
    options: &Options,
    watch: &Stopwatch,
    observer: &mut dyn Observer,
) -> (End, Progress) {
    let found = Options { max_depth: Some(depth), max_time: None, max_bytes: None, ..options.clone() };
    let mut observer = Expecting { observer, depth };
    match search(space, found, watch, &mut observer) {
        (shown @ End::Broken { .. }, progress) => (shown, progress),
        (ended, progress) => (ended, observer.expected(progress)),
    }
}

/// Looks on while the run to something wrong is searched for.
struct Expecting<'a> {
    observer: &'a mut dyn Observer,
    depth: u32,
}

impl Expecting<'_> {
    const fn expected(&self, progress: Progress) -> Progress {
        Progress { broken_at: Some(self.depth), ..progress }
    }
}

impl Observer for Expecting<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.observer.progress(&self.expected(*progress));
    }
}

/// Searches with a way to every state.
fn search(space: &mut Space, options: Options, watch: &Stopwatch, observer: &mut dyn Observer) -> (End, Progress) {
    let mut run = Run::new(space, options, watch.clone(), observer);
    let end = run.search();
    let progress = run.progress();
    (end, progress)
}

/// Why a search ended.
pub(crate) enum End {
    Stopped(Verdict),
    Broken {
        path: Vec<Action>,
        finding: Finding,
        /// The run repeats from this step on.
        cycle_from: Option<usize>,
    },
}

struct Run<'a> {
    space: &'a mut Space,
    options: Options,
    observer: &'a mut dyn Observer,
    watch: Stopwatch,
    store: Store,
    graph: Option<Graph>,
    crew: Option<Crew>,
    generated: u64,
    depth: u32,
    frontier: u64,
    looked_at: u64,
    actions: Vec<Action>,
    row: Vec<u32>,
    next: Vec<u32>,
}

impl<'a> Run<'a> {
    fn new(space: &'a mut Space, options: Options, watch: Stopwatch, observer: &'a mut dyn Observer) -> Self {
        let width = space.layout.width();
        let graph = (options.graph && options.search == Search::BreadthFirst).then(Graph::new);
        let breadth = options.search == Search::BreadthFirst && graph.is_none();
        let (_, canonical) = space.reductions();
        let together = options.threads > 1 && breadth && !canonical;
        let halves = space.layout.halves();
        let store = if together { Store::divided(halves) } else { Store::new(halves) };
        let crew = together.then(|| Crew::new(space, &store, options.threads));
        Self {
            space,
            options,
            observer,
            watch,
            store,
            graph,
            crew,
            generated: 1,
            depth: 0,
            frontier: 1,
            looked_at: 0,
            actions: Vec::new(),
            row: vec![0; width],
            next: vec![0; width],
        }
    }

    fn search(&mut self) -> End {
        let row = self.space.start();
        let start = self.store.insert_start(&row);
        if let Err(finding) = self.space.check(&row) {
            return End::Broken { path: Vec::new(), finding, cycle_from: None };
        }
        let searched = match self.options.search {
            Search::BreadthFirst => self.breadth_first(start),
            Search::DepthFirst => self.depth_first(start),
        };
        match searched {
            Err(end) => *end,
            Ok(()) => match &self.graph {
                Some(graph) => liveness::search(self.space, &self.store, graph),
                None => End::Stopped(Verdict::Holds),
            },
        }
    }

    fn breadth_first(&mut self, start: State) -> Result<(), Box<End>> {
        let mut level = vec![start];
        loop {
            let next = match self.expand_together(&level)? {
                Some(next) => next,
                None => self.expand_alone(&level)?,
            };
            self.frontier = next.len() as u64;
            if next.is_empty() {
                return Ok(());
            }
            self.depth += 1;
            level = next;
        }
    }

    /// Makes every step from the states of a level, one after the other: the next level.
    fn expand_alone(&mut self, level: &[State]) -> Result<Vec<State>, Box<End>> {
        let mut next = Vec::new();
        for (done, state) in level.iter().enumerate() {
            self.frontier = (level.len() - done + next.len()) as u64;
            self.pause()?;
            if self.options.max_depth.is_some_and(|most| self.depth >= most) {
                return Err(Box::new(End::Stopped(Verdict::DepthLimit)));
            }
            self.expand(*state, &mut |found| next.push(found))?;
        }
        Ok(next)
    }

    /// The same on several threads. `None` if the level is too small, or if something is wrong or a limit is near: then
    /// nothing has happened, and the states are to be expanded one after the other.
    fn expand_together(&mut self, states: &[State]) -> Result<Option<Vec<State>>, Box<End>> {
        let Some(mut crew) = self.crew.take() else { return Ok(None) };
        if states.len() < Level::LEAST || self.options.max_depth.is_some_and(|most| self.depth >= most) {
            self.crew = Some(crew);
            return Ok(None);
        }
        self.store.begin_level();
        self.frontier = states.len() as u64;
        let most = self.options.max_states.unwrap_or(u64::MAX);
        let level = Level::new(&self.store, states, most);
        let mut stopped = Ok(());
        let end = {
            let Self { options, observer, watch, depth, generated, .. } = self;
            let known = (crew.bytes() + size_of_val(states)) as u64;
            let (before, depth) = (self.store.len() as u64, *depth);
            let mut look = |space: &Space, level: &Level<'_>| {
                let elapsed = watch.elapsed();
                let progress = Progress {
                    generated: *generated + level.generated(),
                    unique: before + level.fresh(),
                    depth,
                    frontier: states.len() as u64 + level.fresh(),
                    elapsed,
                    broken_at: None,
                    bytes: known + (space.bytes() + self.store.bytes()) as u64,
                };
                stopped = stop_now(options, elapsed, progress.bytes);
                if watch.report_due(elapsed) {
                    observer.progress(&progress);
                }
                stopped.is_ok()
            };
            crew.expand(self.space, &level, &mut look)
        };
        let generated = level.generated();
        let expanded = match (stopped, end) {
            (Err(verdict), _) => {
                self.store.undo_level();
                Err(Box::new(End::Stopped(verdict)))
            }
            (Ok(()), LevelEnd::Alone) => {
                self.store.undo_level();
                Ok(None)
            }
            (Ok(()), LevelEnd::Together) => {
                self.generated += generated;
                self.looked_at += states.len() as u64;
                Ok(Some(self.store.end_level(Level::orders(states.len()), crew.threads())))
            }
        };
        self.crew = Some(crew);
        expanded
    }

    fn depth_first(&mut self, start: State) -> Result<(), Box<End>> {
        let mut stack = vec![(start, 0)];
        let mut cut_short = false;
        while let Some((at, depth)) = stack.pop() {
            self.depth = self.depth.max(depth);
            self.frontier = stack.len() as u64 + 1;
            self.pause()?;
            if self.options.max_depth.is_some_and(|most| depth >= most) {
                cut_short = true;
                continue;
            }
            self.expand(at, &mut |found| stack.push((found, depth + 1)))?;
        }
        self.frontier = 0;
        if cut_short { Err(Box::new(End::Stopped(Verdict::DepthLimit))) } else { Ok(()) }
    }

    /// Makes every step from one state and hands on the new states.
    fn expand(&mut self, at: State, found: &mut dyn FnMut(State)) -> Result<(), Box<End>> {
        self.store.read(at.pair, &mut self.row);
        let mut actions = std::mem::take(&mut self.actions);
        actions.clear();
        self.space.enabled(&self.row, &mut actions);
        for action in &actions {
            let granted = match self.space.apply(&self.row, *action, &mut self.next) {
                Ok(Applied::Made { granted }) => granted,
                Ok(Applied::Impossible) => continue,
                Ok(Applied::MustWait) => {
                    if let Some(graph) = &mut self.graph {
                        graph.add_waiting(*action);
                    }
                    continue;
                }
                Err(finding) => return Err(self.broken(at.id, Some(*action), finding)),
            };
            self.generated += 1;
            let pair = self.store.pair(&self.next, (&self.row, at.pair), &mut Recent::nothing());
            let (next, new) = self.store.insert(pair, at.id, *action);
            if let Some(graph) = &mut self.graph {
                graph.add(next.id, *action, granted);
            }
            if new {
                if let Err(finding) = self.space.check(&self.next) {
                    return Err(self.broken(next.id, None, finding));
                }
                found(next);
            }
        }
        if let Some(graph) = &mut self.graph {
            graph.close();
        }
        self.actions = actions;
        Ok(())
    }

    fn broken(&self, at: u32, action: Option<Action>, finding: Finding) -> Box<End> {
        let mut path = self.store.path(at);
        path.extend(action);
        Box::new(End::Broken { path, finding, cycle_from: None })
    }

    /// Looks at limits, clock and cancellation now and then.
    fn pause(&mut self) -> Result<(), Box<End>> {
        let stop = |verdict| Err(Box::new(End::Stopped(verdict)));
        if self.options.max_states.is_some_and(|most| self.store.len() as u64 >= most) {
            return stop(Verdict::StateLimit);
        }
        self.looked_at += 1;
        if !(self.looked_at - 1).is_multiple_of(1024) {
            return Ok(());
        }
        let elapsed = self.watch.elapsed();
        stop_now(&self.options, elapsed, self.bytes()).or_else(stop)?;
        if self.watch.report_due(elapsed) {
            let progress = self.progress();
            self.observer.progress(&progress);
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        let graph = self.graph.as_ref().map_or(0, Graph::bytes);
        let crew = self.crew.as_ref().map_or(0, Crew::bytes);
        (self.space.bytes() + self.store.bytes() + graph + crew) as u64
    }

    fn progress(&self) -> Progress {
        Progress {
            generated: self.generated,
            unique: self.store.len() as u64,
            depth: self.depth,
            frontier: self.frontier,
            elapsed: self.watch.elapsed(),
            broken_at: None,
            bytes: self.bytes(),
        }
    }
}

/// Whether somebody or something wants it to end now.
pub(crate) fn stop_now(options: &Options, elapsed: Duration, bytes: u64) -> Result<(), Verdict> {
    if options.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        return Err(Verdict::Cancelled);
    }
    if options.max_time.is_some_and(|most| elapsed >= most) {
        return Err(Verdict::TimeLimit);
    }
    if options.max_bytes.is_some_and(|most| bytes >= most) {
        return Err(Verdict::MemoryLimit);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
