//! Threads that take the next run each time they have finished one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use meshlock_sim::run::Progress;
use meshlock_sim::time::Time;

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

type Keep<'a> = dyn FnMut(&Job, Result<RunRecord, String>) -> Result<(), StoreError> + 'a;

/// Who runs what is missing.
pub(super) struct Crew<'a> {
    pub(super) plan: &'a Plan,
    pub(super) runner: &'a dyn Runner,
    pub(super) orders: &'a Orders<'a>,
    /// How many runs are wanted in all.
    pub(super) all: usize,
}

#[derive(Default)]
struct Shared {
    /// The place of the next run in the list.
    next: AtomicUsize,
    /// Simulated nanoseconds.
    simulated: AtomicU64,
    running: Mutex<Vec<Job>>,
    /// Set if results cannot be kept: there is no use in going on.
    give_up: AtomicBool,
}

impl Crew<'_> {
    /// Runs all of these, or what can be done until the study is ended.
    pub(super) fn work(
        &self,
        jobs: &[Job],
        observer: &mut dyn StudyObserver,
        keep: &mut Keep<'_>,
    ) -> Result<(), StoreError> {
        let shared = Shared::default();
        let (sender, receiver) = channel();
        let threads = self.orders.jobs.clamp(1, jobs.len().max(1));
        let already = self.all - jobs.len();
        let mut executed = 0;
        let mut look = |executed: usize, shared: &Shared| {
            let running = shared.running.lock().map(|running| running.clone()).unwrap_or_default();
            let simulated = Time(shared.simulated.load(Ordering::Relaxed)).seconds();
            let (done, missing) = (already + executed, jobs.len());
            let status = Status { done, all: self.all, executed, missing, simulated, running: &running };
            observer.look(self.plan, &status);
        };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (shared, sender) = (&shared, sender.clone());
                scope.spawn(move || self.take_turns(jobs, shared, &sender));
            }
            // The receiver must see the end when the last thread has gone.
            drop(sender);
            loop {
                match receiver.recv_timeout(BETWEEN_LOOKS) {
                    Ok((place, result)) => {
                        executed += 1;
                        if let Err(error) = keep(&jobs[place], result) {
                            shared.give_up.store(true, Ordering::Relaxed);
                            return Err(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
                look(executed, &shared);
            }
        })
    }

    fn take_turns(&self, jobs: &[Job], shared: &Shared, sender: &Sender<(usize, Result<RunRecord, String>)>) {
        while !self.ends(shared) {
            let place = shared.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(place) else { return };
            if let Ok(mut running) = shared.running.lock() {
                running.push(job.clone());
            }
            let result = self.run(job, shared);
            if let Ok(mut running) = shared.running.lock() {
                running.retain(|other| other != job);
            }
            // The receiver is gone if the study was abandoned.
            let Some(result) = result else { return };
            if sender.send((place, result)).is_err() {
                return;
            }
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

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
