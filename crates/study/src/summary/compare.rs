//! Paired comparisons: every value of an axis with its baseline, everything else being equal.
//!
//! Replication r of both has the same seed, so that they saw the same requests and the same movement as far as the
//! scenario allows; differences within pairs vary less than the means do.

use std::collections::BTreeMap;

use meshlock_sim::scenario::file::Compare;
use meshlock_statistics::{holm, paired};
use serde::Serialize;

use crate::conduct::Results;
use crate::plan::{Plan, label};

/// One value of an axis compared with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub axis: String,
    pub value: String,
    pub baseline: String,
    /// The other axes and labels, which are the same for both.
    #[serde(serialize_with = "super::as_map")]
    pub others: Vec<(String, String)>,
    pub measure: String,
    /// How many replications both have.
    pub pairs: usize,
    pub mean: f64,
    pub baseline_mean: f64,
    /// The mean of the differences, value minus baseline.
    pub difference: f64,
    /// Half of its 95 % interval; infinite (in JSON `null`) for one pair.
    pub half_width: f64,
    /// The two-sided p value of the paired t test.
    pub p: f64,
    /// The same, adjusted by Holm's method for all comparisons of the same `compare` entry.
    pub p_holm: f64,
    /// The mean of the value divided by that of the baseline; not finite (in JSON `null`) if the latter is zero.
    pub ratio: f64,
}

pub(super) fn comparisons(plan: &Plan, results: &Results) -> Vec<Comparison> {
    plan.compare.iter().flat_map(|compare| family(plan, results, compare)).collect()
}

/// Those of one entry, whose p values are adjusted together.
fn family(plan: &Plan, results: &Results, compare: &Compare) -> Vec<Comparison> {
    let baseline = label(&compare.baseline);
    let together = plan.zipped_with(&compare.axis);
    let others = |place: usize| -> Vec<(String, String)> {
        plan.points[place].labels.iter().filter(|(axis, _)| !together.contains(axis)).cloned().collect()
    };
    let mut family = Vec::new();
    for (place, point) in plan.points.iter().enumerate() {
        let Some(value) = point.label(&compare.axis).filter(|value| *value != baseline) else { continue };
        let is_base = |other: &usize| {
            plan.points[*other].label(&compare.axis) == Some(baseline.as_str()) && others(*other) == others(place)
        };
        let Some(base) = (0..plan.points.len()).find(is_base) else { continue };
        for measure in &compare.measures {
            let (ours, theirs) = pairs(results, place, base, measure);
            let Some(compared) = paired(&ours, &theirs, super::LEVEL).filter(|_| !ours.is_empty()) else { continue };
            let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
            family.push(Comparison {
                axis: compare.axis.clone(),
                value: value.to_owned(),
                baseline: baseline.clone(),
                others: others(place),
                measure: measure.clone(),
                pairs: ours.len(),
                mean: mean(&ours),
                baseline_mean: mean(&theirs),
                difference: compared.difference.mean,
                half_width: compared.difference.half_width,
                p: compared.p,
                p_holm: compared.p,
                ratio: mean(&ours) / mean(&theirs),
            });
        }
    }
    let p_values: Vec<f64> = family.iter().map(|comparison| comparison.p).collect();
    for (comparison, adjusted) in family.iter_mut().zip(holm(&p_values)) {
        comparison.p_holm = adjusted;
    }
    family
}

/// The samples of two points from replications that both have.
fn pairs(results: &Results, place: usize, base: usize, measure: &str) -> (Vec<f64>, Vec<f64>) {
    let of = |place: usize| -> BTreeMap<u32, f64> {
        let sample = |run: &crate::conduct::Run| Some((run.job.replication, *run.record.measures.get(measure)?));
        results.complete(place).filter_map(sample).collect()
    };
    let theirs = of(base);
    of(place).into_iter().filter_map(|(replication, ours)| Some((ours, *theirs.get(&replication)?))).unzip()
}
