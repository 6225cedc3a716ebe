//! The runs of each point, in rounds: when all of one are known, the point is grown, and what is missing then is the next.
//!
//! Points do not wait for each other. How many replications a point gets depends on its own numbers alone, so this
//! changes no result.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{Job, Known, grow};
use crate::plan::Plan;
use crate::shard::Shard;
use crate::store::Store;

pub(super) struct Rounds<'a> {
    plan: &'a Plan,
    store: &'a Store,
    shard: Shard,
    pub(super) known: Known,
    /// Run files that were no use, and why.
    pub(super) corrupt: Vec<(PathBuf, String)>,
    /// By point.
    replications: Vec<u32>,
    /// By point: the names of runs that its round is waiting for.
    awaited: Vec<BTreeSet<String>>,
    /// Names of runs that were given out. Two points may be the same scenario: it is run once.
    given: BTreeSet<String>,
    /// Points by the hash of their scenario.
    twins: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        store: &'a Store,
        shard: Shard,
        known: Known,
        corrupt: Vec<(PathBuf, String)>,
    ) -> Self {
        let points = plan.points.len();
        let replications = vec![plan.repeat; points];
        let awaited = vec![BTreeSet::new(); points];
        let mut twins: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, point) in plan.points.iter().enumerate() {
            twins.entry(point.scenario_hash.as_str()).or_default().push(place);
        }
        Self { plan, store, shard, known, corrupt, replications, awaited, given: BTreeSet::new(), twins }
    }

    /// Begins a round of a point that waits for nothing: what has to be run for it. Nothing if it is complete, or if all
    /// of it was given out for another point.
    pub(super) fn begin(&mut self, point: usize) -> Vec<Job> {
        let mut first = 0;
        loop {
            let wanted: Vec<Job> = self.of_point(point, first).collect();
            for job in &wanted {
                self.known.forget_if_false(self.plan, job, self.store, &mut self.corrupt);
            }
            let missing = self.known.missing(&wanted);
            if !missing.is_empty() {
                self.awaited[point].extend(missing.iter().map(|job| job.hash.clone()));
                return missing.into_iter().filter(|job| self.given.insert(job.hash.clone())).collect();
            }
            first = self.replications[point];
            let grown = grow::grow(self.plan, &self.known.records, point, first, self.shard);
            if grown == first {
                return Vec::new();
            }
            self.replications[point] = grown;
        }
    }

    /// A run is known now: what has to be run because of it.
    pub(super) fn finished(&mut self, job: &Job) -> Vec<Job> {
        let mut next = Vec::new();
        let twins = self.twins.get(self.plan.points[job.point].scenario_hash.as_str()).cloned().unwrap_or_default();
        for point in twins {
            if self.awaited[point].remove(&job.hash) && self.awaited[point].is_empty() {
                next.extend(self.begin(point));
            }
        }
        next
    }

    /// Every run that is wanted here, by point and replication.
    pub(super) fn wanted(&self) -> Vec<Job> {
        (0..self.replications.len()).flat_map(|point| self.of_point(point, 0)).collect()
    }

    fn of_point(&self, point: usize, first: u32) -> impl Iterator<Item = Job> {
        let (plan, shard) = (self.plan, self.shard);
        let mine = (first..self.replications[point]).filter(move |&replication| shard.has(plan, point, replication));
        mine.map(move |replication| {
            let hash = plan.run_hash(&plan.points[point], replication);
            Job { point, replication, hash }
        })
    }
}
