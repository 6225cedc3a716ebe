//! Conducts a study: finds out which runs are missing, runs them on all cores, and adds replications where an interval
//! is still too wide.
//!
//! What is run depends on the study and on numbers that were measured, never on how many threads there are or which of
//! them was faster.

mod crew;
mod grow;
mod queue;
mod rounds;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::plan::Plan;
use crate::record::RunRecord;
use crate::shard::Shard;
use crate::store::{Store, StoreError};
use crate::subject::Runner;

pub use self::crew::{Status, StudyObserver};
use self::queue::Queue;
use self::rounds::Rounds;

#[derive(Clone, Copy, Debug)]
pub struct Orders<'a> {
    pub jobs: usize,
    pub shard: Shard,
    pub cancel: &'a AtomicBool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub point: usize,
    /// From 0.
    pub replication: u32,
    pub hash: String,
}

#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Finished runs of the plan, by point and replication. Runs of other shards are not among them.
    pub runs: Vec<Run>,
    pub failures: Vec<Failure>,
    /// Run files that were no use, and why.
    pub corrupt: Vec<(PathBuf, String)>,
    /// Run files of the directory that are no part of the study as it is now.
    pub unused: usize,
    pub executed: usize,
    /// How many are wanted of this shard, as far as is known.
    pub wanted: usize,
    pub interrupted: bool,
}

#[derive(Clone, Debug)]
pub struct Run {
    pub job: Job,
    pub record: RunRecord,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub job: Job,
    pub why: String,
}

pub fn conduct(
    plan: &Plan,
    store: &Store,
    runner: &dyn Runner,
    orders: &Orders<'_>,
    observer: &mut dyn StudyObserver,
) -> Result<Results, StoreError> {
    let found = store.load(plan)?;
    let before = found.records.len();
    let known = Known { records: found.records, failures: BTreeMap::new() };
    let mut rounds = Rounds::new(plan, store, orders.shard, known, found.corrupt);
    let missing: Vec<Job> = (0..plan.points.len()).flat_map(|point| rounds.begin(point)).collect();
    let already = rounds.wanted().len() - missing.len();
    let crew = crew::Crew { plan, runner, orders, already };
    let mut executed = 0;
    crew.work(Queue::new(plan, &missing), observer, &mut |job, result| {
        match result {
            Ok(record) => {
                executed += 1;
                store.keep(&job.hash, &record)?;
                rounds.known.records.insert(job.hash.clone(), record);
            }
            Err(why) => {
                rounds.known.failures.insert(job.hash.clone(), why);
            }
        }
        Ok(rounds.finished(job))
    })?;
    let wanted = rounds.wanted();
    let Rounds { known, corrupt, .. } = rounds;
    let interrupted = orders.cancel.load(Ordering::Relaxed) && !known.missing(&wanted).is_empty();
    let results = Results { corrupt, executed, interrupted, wanted: wanted.len(), ..Results::default() };
    Ok(known.into_results(wanted, before, results))
}

struct Known {
    records: BTreeMap<String, RunRecord>,
    failures: BTreeMap<String, String>,
}

impl Known {
    /// Those of which nothing is known yet. Two points may be the same scenario: it is run once.
    fn missing(&self, wanted: &[Job]) -> Vec<Job> {
        let mut seen = BTreeSet::new();
        let unknown = |job: &&Job| !self.records.contains_key(&job.hash) && !self.failures.contains_key(&job.hash);
        wanted.iter().filter(unknown).filter(|job| seen.insert(job.hash.as_str())).cloned().collect()
    }

    /// A file that is not the run its name promises is as good as none.
    fn forget_if_false(&mut self, plan: &Plan, job: &Job, store: &Store, corrupt: &mut Vec<(PathBuf, String)>) {
        let Some(record) = self.records.get(&job.hash) else { return };
        if !record.is(plan, &plan.points[job.point], job.replication) {
            let path = store.directory().join("runs").join(format!("{}.json", job.hash));
            corrupt.push((path, "it is not the run that its name promises".to_owned()));
            self.records.remove(&job.hash);
        }
    }

    fn into_results(mut self, wanted: Vec<Job>, before: usize, mut results: Results) -> Results {
        let mut used = BTreeSet::new();
        for job in wanted {
            if let Some(record) = self.records.get(&job.hash) {
                used.insert(job.hash.clone());
                // The file tells of the study it was first run for.
                let record = RunRecord { replication: job.replication, ..record.clone() };
                results.runs.push(Run { job, record });
            } else if let Some(why) = self.failures.remove(&job.hash) {
                results.failures.push(Failure { job, why });
            }
        }
        results.unused = self.records.keys().filter(|hash| !used.contains(*hash)).count().min(before);
        results
    }
}

impl Results {
    /// Runs that a broken rule ended before their time: the protocol is wrong, or we are.
    pub fn stopped(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.record.stopped)
    }

    /// Those of them that a broken rule ended.
    pub fn broken(&self) -> impl Iterator<Item = &Run> {
        self.stopped().filter(|run| run.record.storm.is_none())
    }

    pub fn of_point(&self, point: usize) -> &[Run] {
        let start = self.runs.partition_point(|run| run.job.point < point);
        let end = self.runs.partition_point(|run| run.job.point <= point);
        &self.runs[start..end]
    }

    /// Those of them that count for its means. What was ended before its time measures something else.
    pub fn complete(&self, point: usize) -> impl Iterator<Item = &Run> {
        self.of_point(point).iter().filter(|run| !run.record.stopped)
    }
}

#[cfg(test)]
mod tests;
