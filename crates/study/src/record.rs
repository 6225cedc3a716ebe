//! What is kept of a run on disk: one small JSON file that explains itself.

use std::collections::BTreeMap;

use meshlock_sim::measures::Measures;
use serde::{Deserialize, Serialize};

use crate::plan::{Plan, Point};
use crate::subject::{BrokenRule, Finished};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    pub format: u32,
    /// The study it was first run for.
    pub experiment: String,
    /// The axes and labels of its point there.
    pub measurement: BTreeMap<String, String>,
    /// From 0.
    pub replication: u32,
    /// What its random numbers started from.
    pub seed: u64,
    pub scenario_hash: String,
    pub code_version: String,
    /// How long it took, in real seconds.
    pub wall_s: f64,
    /// It ended before its time: by a storm if there is one, else by a broken rule.
    pub stopped: bool,
    /// The limit that was exceeded, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storm: Option<String>,
    pub broken: Vec<BrokenRule>,
    pub measures: Measures,
}

/// The layout of run files.
pub const FORMAT: u32 = 1;

impl RunRecord {
    /// Of a run that has just finished.
    pub fn new(plan: &Plan, point: &Point, replication: u32, wall_s: f64, finished: Finished) -> Self {
        let Finished { mut measures, broken, stopped, storm } = finished;
        // JSON has no word for what is not finite.
        measures.retain(|_, value| value.is_finite());
        Self {
            format: FORMAT,
            experiment: plan.name.clone(),
            measurement: point.labels.iter().cloned().collect(),
            replication,
            seed: plan.seed_of(replication),
            scenario_hash: point.scenario_hash.clone(),
            code_version: plan.code_version.clone(),
            wall_s,
            stopped,
            storm,
            broken,
            measures,
        }
    }

    /// Whether it is the run that its name promises.
    pub(crate) fn is(&self, plan: &Plan, point: &Point, replication: u32) -> bool {
        self.seed == plan.seed_of(replication)
            && self.scenario_hash == point.scenario_hash
            && self.code_version == plan.code_version
    }
}
