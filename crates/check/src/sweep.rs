//! Every state of a model, stage by stage: large explorations in little memory, on several threads that rarely meet.
//!
//! States fall into stages, and no step leads back to an earlier one (`sweep/stage.rs`). So a stage is explored once all
//! that lead to it are, and forgotten then: only its states need to be known while it is explored, and besides them those by
//! which later stages are entered. Stages that do not lead to each other are explored side by side, each by one thread.
//!
//! An entrance keeps the distance of each state from the start. Within a stage, states are taken in the order of their
//! distance, and all that lead there from outside are known by then. So each state is met at its true distance, as breadth
//! first, and once: number of states, steps and depth are the same as of any other exploration, with any number of threads.
//!
//! No way to a state is kept. If something is wrong, its distance says how far a search with ways has to go to show it.
//! Should a step lead back after all, the sweep is given up, and nothing is lost but time.

mod board;
mod stage;
mod visited;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::explore::{Options, stop_now};
use crate::parts::{Quad, Quarters};
use crate::report::{Observer, Progress, Verdict};
use crate::space::Space;
use board::Board;
use stage::Reader;
pub(crate) use stage::has_stages;
use worker::Worker;

/// How a sweep ended.
#[derive(Debug)]
pub(crate) enum Swept {
    /// With this verdict, and nothing wrong.
    Ended(Verdict, Progress),
    /// Something is wrong at this distance, and nothing nearer.
    Broken(u32),
    /// The stages of this model are none.
    Unfit,
}

/// What all threads of a sweep share.
struct Sweep {
    board: Board,
    quarters: Quarters,
    max_depth: Option<u32>,
    unique: AtomicU64,
    generated: AtomicU64,
    /// The greatest distance of a state.
    deepest: AtomicU32,
    /// How many states were not expanded because of the limit of depth.
    cut_short: AtomicU64,
    /// The distance of the nearest thing that is wrong.
    broken: AtomicU32,
    unfit: AtomicBool,
    stop: AtomicBool,
    /// The memory of what threads work with.
    bytes: AtomicUsize,
}

/// Nothing is wrong so far.
const NOTHING: u32 = u32::MAX;

impl Sweep {
    fn new(space: &Space, max_depth: Option<u32>) -> Self {
        Self {
            board: Board::new(),
            quarters: Quarters::new(space.layout.quarters()),
            max_depth,
            unique: AtomicU64::new(0),
            generated: AtomicU64::new(1),
            deepest: AtomicU32::new(0),
            cut_short: AtomicU64::new(0),
            broken: AtomicU32::new(NOTHING),
            unfit: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            bytes: AtomicUsize::new(0),
        }
    }

    /// The start is the entrance of the first stage.
    fn begin(&self, space: &mut Space) {
        let row = space.start();
        let mut reader = Reader::new(space);
        let mark = reader.mark(space, &row);
        let stage = self.board.number(reader.stage(mark));
        self.board.enter(stage, 0, vec![self.quarters.of(&row)]);
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.board.close();
    }

    fn progress(&self, space: &Space, waiting: usize, watch: &Stopwatch) -> Progress {
        let tables = self.quarters.bytes() + waiting * size_of::<Quad>() + self.bytes.load(Ordering::Relaxed);
        Progress {
            generated: self.generated.load(Ordering::Relaxed),
            unique: self.unique.load(Ordering::Relaxed),
            depth: self.deepest.load(Ordering::Relaxed),
            frontier: waiting as u64 + self.cut_short.load(Ordering::Relaxed),
            elapsed: watch.elapsed(),
            broken_at: None,
            bytes: (space.bytes() + tables) as u64,
        }
    }
}

/// Explores all states. Of the limits, that of states is not for a sweep.
pub(crate) fn sweep(space: &mut Space, options: &Options, watch: &mut Stopwatch, observer: &mut dyn Observer) -> Swept {
    let sweep = Sweep::new(space, options.max_depth);
    sweep.begin(space);
    let workers: Vec<Worker<'_>> = (0..options.threads).map(|_| Worker::new(&sweep, space.share())).collect();
    let mut most_bytes = 0;
    let (stopped, waiting) = std::thread::scope(|scope| {
        for worker in workers {
            scope.spawn(|| worker.work());
        }
        let mut stopped = None;
        loop {
            let (over, waiting) = sweep.board.look(MOMENT);
            if over {
                break (stopped, waiting);
            }
            let progress = sweep.progress(space, waiting, watch);
            most_bytes = most_bytes.max(progress.bytes);
            if let Err(verdict) = stop_now(options, progress.elapsed, progress.bytes) {
                stopped.get_or_insert(verdict);
                sweep.end();
            }
            if watch.report_due(progress.elapsed) {
                observer.progress(&progress);
            }
        }
    });
    let progress = sweep.progress(space, waiting, watch);
    // What was needed says more than what is left.
    let progress = Progress { bytes: most_bytes.max(progress.bytes), ..progress };
    let broken = sweep.broken.load(Ordering::Relaxed);
    match stopped {
        _ if sweep.unfit.load(Ordering::Relaxed) => Swept::Unfit,
        Some(verdict) => Swept::Ended(verdict, progress),
        None if broken != NOTHING => Swept::Broken(broken),
        None if sweep.cut_short.load(Ordering::Relaxed) > 0 => Swept::Ended(Verdict::DepthLimit, progress),
        None => Swept::Ended(Verdict::Holds, progress),
    }
}

/// So long after somebody wants the end, it comes.
const MOMENT: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
