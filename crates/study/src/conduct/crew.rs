//! Threads that take the next run each time they have finished one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use meshlock_sim::run::Progress;
use meshlock_sim::time::Time;

use super::queue::Queue;
use super::{Job, Orders};
use crate::plan::Plan;
use crate::record::RunRecord;
use crate::store::StoreError;
use crate::subject::Runner;

/// How far a study has come. Replications are added in rounds.
#[derive(Clone, Debug)]
pub struct Status<'a> {
    /// Runs that are finished, with those of earlier times.
    pub done: usize,
    /// Runs that are wanted, as far as is known.
    pub all: usize,
    pub executed: usize,
    /// Of how many that were missing when it began.
    pub missing: usize,
    pub simulated: f64,
    /// What runs now, the oldest first.
    pub running: &'a [Job],
}

pub trait StudyObserver {
    /// Called several times a second, and after every run.
    fn look(&mut self, plan: &Plan, status: &Status<'_>);
}

impl StudyObserver for () {
    fn look(&mut self, _plan: &Plan, _status: &Status<'_>) {}
}

/// Takes in the result of a run, and says which runs are missing because of it.
type Keep<'a> = dyn FnMut(&Job, Result<RunRecord, String>) -> Result<Vec<Job>, StoreError> + 'a;

/// Who runs what is missing.
pub(super) struct Crew<'a> {
    pub(super) plan: &'a Plan,
    pub(super) runner: &'a dyn Runner,
    pub(super) orders: &'a Orders<'a>,
    /// How many runs are finished from earlier times.
    pub(super) already: usize,
}

struct Shared {
    queue: Mutex<Queue>,
    /// Rings when there is more to do, or nothing any more.
    bell: Condvar,
    /// Simulated nanoseconds.
    simulated: AtomicU64,
    /// Set if results cannot be kept: there is no use in going on.
    give_up: AtomicBool,
}

impl Crew<'_> {
    /// Runs all of these and what follows from their results, or what can be done until the study is ended. Results are
    /// kept by this thread, beside those that run.
    pub(super) fn work(
        &self,
        queue: Queue,
        observer: &mut dyn StudyObserver,
        keep: &mut Keep<'_>,
    ) -> Result<(), StoreError> {
        let threads = self.orders.jobs.clamp(1, self.most_at_once(&queue));
        let queue = Mutex::new(queue);
        let shared =
            Shared { queue, bell: Condvar::new(), simulated: AtomicU64::new(0), give_up: AtomicBool::new(false) };
        let (sender, receiver) = channel();
        let mut executed = 0;
        let mut look = |executed: usize, shared: &Shared| {
            let (running, missing) = {
                let queue = lock(&shared.queue);
                (queue.running().to_vec(), queue.all())
            };
            let simulated = Time(shared.simulated.load(Ordering::Relaxed)).seconds();
            let (done, all) = (self.already + executed, self.already + missing);
            observer.look(self.plan, &Status { done, all, executed, missing, simulated, running: &running });
        };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (shared, sender) = (&shared, sender.clone());
                scope.spawn(move || self.take_turns(shared, &sender));
            }
            // The receiver must see the end when the last thread has gone.
            drop(sender);
            loop {
                match receiver.recv_timeout(BETWEEN_LOOKS) {
                    Ok((job, result)) => {
                        executed += 1;
                        let took = result.as_ref().ok().map(|record: &RunRecord| record.wall_s);
                        let more = keep(&job, result);
                        if more.is_err() {
                            shared.give_up.store(true, Ordering::Relaxed);
                        }
                        lock(&shared.queue).finished(&job, took, more.as_ref().map_or(&[], Vec::as_slice));
                        shared.bell.notify_all();
                        more?;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
                look(executed, &shared);
            }
        })
    }

    /// Threads beyond this could have nothing to do, however the study grows.
    fn most_at_once(&self, queue: &Queue) -> usize {
        let grown = self.plan.stop.as_ref().map_or(0, |stop| stop.most as usize * self.plan.points.len());
        queue.all().max(grown).max(1)
    }

    fn take_turns(&self, shared: &Shared, sender: &Sender<(Job, Result<RunRecord, String>)>) {
        let _alarm = Alarm(shared);
        while let Some(job) = self.next(shared) {
            let result = self.run(&job, shared);
            lock(&shared.queue).stopped(&job);
            // The receiver is gone if the study was abandoned.
            let Some(result) = result else { return };
            if sender.send((job, result)).is_err() {
                return;
            }
        }
    }

    /// The next run, as soon as there is one; `None` when there will be none.
    fn next(&self, shared: &Shared) -> Option<Job> {
        let mut queue = lock(&shared.queue);
        loop {
            if self.ends(shared) || queue.is_over() {
                return None;
            }
            if let Some(job) = queue.take() {
                return Some(job);
            }
            // What is awaited may be cancelled as well, and nobody rings for that.
            queue = shared.bell.wait_timeout(queue, BETWEEN_LOOKS).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Nothing if the study was ended meanwhile: half a run is no run.
    fn run(&self, job: &Job, shared: &Shared) -> Option<Result<RunRecord, String>> {
        let point = &self.plan.points[job.point];
        let start = Instant::now();
        let mut eye = Eye { crew: self, shared, seen: 0, ended: false };
        let finished = self.runner.run(&point.scenario, self.plan.seed_of(job.replication), &mut eye);
        let wall = start.elapsed().as_secs_f64();
        if eye.ended {
            return None;
        }
        Some(finished.map(|finished| RunRecord::new(self.plan, point, job.replication, wall, finished)))
    }

    fn ends(&self, shared: &Shared) -> bool {
        self.orders.cancel.load(Ordering::Relaxed) || shared.give_up.load(Ordering::Relaxed)
    }
}

/// A run that panics is never finished: the others must not wait for what follows from it.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up.store(true, Ordering::Relaxed);
        }
    }
}

struct Eye<'a> {
    crew: &'a Crew<'a>,
    shared: &'a Shared,
    /// Nanoseconds of this run that were counted.
    seen: u64,
    ended: bool,
}

impl Progress for Eye<'_> {
    fn report(&mut self, now: Time, _events: u64) -> bool {
        self.shared.simulated.fetch_add(now.0.saturating_sub(self.seen), Ordering::Relaxed);
        self.seen = self.seen.max(now.0);
        self.ended |= self.crew.ends(self.shared);
        !self.ended
    }
}

/// Nothing of the queue is half done when a thread panics.
fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
