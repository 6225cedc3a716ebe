//! From runs to what is told of them: per point and measure a mean with its interval, and paired comparisons.

mod compare;

use std::collections::{BTreeMap, BTreeSet};

use meshlock_statistics::{Estimate, percentile};
use serde::{Serialize, Serializer};

use crate::conduct::{Results, Run};
use crate::plan::{Plan, set_option};

pub use self::compare::Comparison;

/// The level of all intervals.
const LEVEL: f64 = 0.95;

/// The mean of samples with its interval; nothing if there are none.
pub(crate) fn estimate(samples: &[f64]) -> Option<Estimate> {
    (!samples.is_empty()).then(|| Estimate::of(samples, LEVEL))
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub experiment: String,
    pub code_version: String,
    /// Whether all runs are there.
    pub complete: bool,
    pub points: Vec<PointSummary>,
    pub comparisons: Vec<Comparison>,
    /// Runs that a broken rule ended.
    pub violations: Vec<Stopped>,
    /// Runs that a limit ended.
    pub storms: Vec<Stopped>,
    pub failures: Vec<NotRun>,
    /// What a user of the numbers should know.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointSummary {
    #[serde(serialize_with = "as_map")]
    pub measurement: Vec<(String, String)>,
    pub scenario_hash: String,
    pub runs: usize,
    /// How many of these a broken rule or a storm ended; they count for no mean.
    pub stopped: usize,
    /// How often rules broke, over all runs. More than zero is no surprise for a published text.
    pub broken: u64,
    /// Every measure that some run has.
    pub measures: BTreeMap<String, MeasureSummary>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasureSummary {
    /// Runs that have it.
    pub n: usize,
    pub mean: f64,
    pub deviation: f64,
    /// Half of the 95 % interval; infinite (in JSON `null`) for one run.
    pub half_width: f64,
    /// The same as a share of the mean.
    pub relative_half_width: f64,
    pub min: f64,
    pub p50: f64,
    pub max: f64,
}

/// A run that a broken rule or a limit ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stopped {
    #[serde(serialize_with = "as_map")]
    pub measurement: Vec<(String, String)>,
    pub replication: u32,
    pub seed: u64,
    /// The rule that broke last, and when it broke first, in simulated seconds. Not with a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_s: Option<f64>,
    pub words: String,
    /// How to see it again.
    pub settings: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotRun {
    #[serde(serialize_with = "as_map")]
    pub measurement: Vec<(String, String)>,
    pub replication: u32,
    pub seed: u64,
    pub why: String,
}

impl Summary {
    pub fn of(plan: &Plan, results: &Results) -> Self {
        let points: Vec<PointSummary> =
            (0..plan.points.len()).map(|place| PointSummary::of(plan, results, place)).collect();
        let mut summary = Self {
            experiment: plan.name.clone(),
            code_version: plan.code_version.clone(),
            complete: results.runs.len() == results.wanted,
            comparisons: compare::comparisons(plan, results),
            violations: results.broken().map(|run| Stopped::by_rule(plan, run)).collect(),
            storms: results
                .stopped()
                .filter_map(|run| Some(Stopped::of(plan, run, run.record.storm.clone()?)))
                .collect(),
            failures: results.failures.iter().map(|failure| NotRun::of(plan, failure)).collect(),
            warnings: Vec::new(),
            points,
        };
        summary.warnings = warnings(plan, results, &summary);
        summary
    }

    /// Why runs could not be run: each reason with the first run and how many more there are. A scenario that cannot be
    /// run cannot be run with any seed.
    pub fn reasons(&self) -> Vec<(&NotRun, usize)> {
        let mut reasons: Vec<(&NotRun, usize)> = Vec::new();
        for failure in &self.failures {
            match reasons.iter_mut().find(|(first, _)| first.why == failure.why) {
                Some((_, more)) => *more += 1,
                None => reasons.push((failure, 0)),
            }
        }
        reasons
    }

    pub fn measure_names(&self) -> BTreeSet<&str> {
        self.points.iter().flat_map(|point| point.measures.keys().map(String::as_str)).collect()
    }
}

impl PointSummary {
    fn of(plan: &Plan, results: &Results, place: usize) -> Self {
        let point = &plan.points[place];
        let runs = results.of_point(place);
        let names: BTreeSet<&String> = results.complete(place).flat_map(|run| run.record.measures.keys()).collect();
        let measures = names.into_iter().filter_map(|name| {
            let samples: Vec<f64> =
                results.complete(place).filter_map(|run| run.record.measures.get(name).copied()).collect();
            Some((name.clone(), MeasureSummary::of(&samples)?))
        });
        Self {
            measurement: point.labels.clone(),
            scenario_hash: point.scenario_hash.clone(),
            runs: runs.len(),
            stopped: runs.iter().filter(|run| run.record.stopped).count(),
            broken: runs.iter().flat_map(|run| &run.record.broken).map(|broken| broken.times).sum(),
            measures: measures.collect(),
        }
    }
}

impl MeasureSummary {
    fn of(samples: &[f64]) -> Option<Self> {
        let estimate = estimate(samples)?;
        Some(Self {
            n: estimate.samples,
            mean: estimate.mean,
            deviation: estimate.deviation,
            half_width: estimate.half_width,
            relative_half_width: estimate.relative_half_width(),
            min: percentile(samples, 0.0),
            p50: percentile(samples, 0.5),
            max: percentile(samples, 1.0),
        })
    }
}

impl Stopped {
    /// The command that shows it again.
    pub fn replay(&self, file: &str) -> String {
        let settings: String = self.settings.iter().map(|(key, value)| set_option(key, value)).collect();
        format!("meshlock sim {file} --seed {}{settings}", self.seed)
    }

    fn of(plan: &Plan, run: &Run, words: String) -> Self {
        let point = &plan.points[run.job.point];
        let (measurement, settings) = (point.labels.clone(), point.settings.clone());
        let (replication, seed) = (run.job.replication, run.record.seed);
        Self { measurement, replication, seed, rule: None, at_s: None, words, settings }
    }

    fn by_rule(plan: &Plan, run: &Run) -> Self {
        let last = run.record.broken.last();
        let rule = last.map_or("unknown", |broken| &broken.rule).to_owned();
        let words = last.map_or_else(String::new, |broken| broken.words.clone());
        Self { rule: Some(rule), at_s: Some(last.map_or(0.0, |broken| broken.at_s)), ..Self::of(plan, run, words) }
    }
}

impl NotRun {
    /// Where it was to run: `nodes=10 k=1 with seed 7`.
    pub fn place(&self) -> String {
        let labels: String = self.measurement.iter().map(|(axis, label)| format!("{axis}={label} ")).collect();
        format!("{labels}with seed {}", self.seed)
    }

    fn of(plan: &Plan, failure: &crate::conduct::Failure) -> Self {
        let (replication, why) = (failure.job.replication, failure.why.clone());
        let measurement = plan.points[failure.job.point].labels.clone();
        Self { measurement, replication, seed: plan.seed_of(replication), why }
    }
}

/// What a user of the numbers should know.
fn warnings(plan: &Plan, results: &Results, summary: &Summary) -> Vec<String> {
    let mut warnings = Vec::new();
    let (done, failed, all) = (results.runs.len(), results.failures.len(), results.wanted);
    if failed > 0 {
        warnings.push(format!("{failed} of {all} runs could not be run"));
    }
    if done + failed < all {
        warnings.push(format!("{done} of {all} runs are there: means and intervals are provisional"));
    }
    for (stopped, why) in [
        (summary.violations.len(), "ended by a broken rule"),
        (summary.storms.len(), "stopped by a storm (see [limits])"),
    ] {
        if stopped > 0 {
            let (were, runs) = if stopped == 1 { ("was", "1 run") } else { ("were", &*format!("{stopped} runs")) };
            warnings.push(format!("{runs} {were} {why} and left out of all means"));
        }
    }
    let names = summary.measure_names();
    for wanted in wanted_measures(plan).into_iter().filter(|name| !names.is_empty() && !names.contains(name.as_str())) {
        warnings.push(format!("no run has the measure `{wanted}`{}", near(&wanted, &names)));
    }
    if let Some(stop) = &plan.stop {
        let wide = summary.points.iter().filter(|point| {
            point.measures.get(&stop.measure).is_some_and(|measure| measure.relative_half_width > stop.half_width)
        });
        let wide = wide.count();
        if wide > 0 && done + failed == all {
            let (name, percent) = (&stop.measure, 100.0 * stop.half_width);
            let many = if wide == 1 { "1 point".to_owned() } else { format!("{wide} points") };
            warnings.push(format!(
                "the interval of `{name}` is still wider than {percent} % at {many} after {} replications",
                stop.most
            ));
        }
    }
    warnings
}

/// The measures that plots, comparisons and the stop rule name.
pub(crate) fn wanted_measures(plan: &Plan) -> Vec<String> {
    let plots = plan.plots.iter().map(|plot| &plot.y);
    let compared = plan.compare.iter().flat_map(|compare| &compare.measures);
    let stop = plan.stop.iter().map(|stop| &stop.measure);
    let mut wanted: Vec<String> = Vec::new();
    for name in plots.chain(compared).chain(stop) {
        if !wanted.contains(name) {
            wanted.push(name.clone());
        }
    }
    wanted
}

/// Names that may have been meant.
fn near(name: &str, names: &BTreeSet<&str>) -> String {
    let mut scored: Vec<(f64, &str)> = names
        .iter()
        .map(|other| (strsim::jaro_winkler(name, other), *other))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let listed: Vec<String> = scored.iter().take(3).map(|(_, other)| format!("`{other}`")).collect();
    if listed.is_empty() { String::new() } else { format!("; similar: {}", listed.join(", ")) }
}

/// Pairs as a JSON object, in their order.
pub(crate) fn as_map<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

#[cfg(test)]
mod tests;
