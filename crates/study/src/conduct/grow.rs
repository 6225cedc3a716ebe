//! Replications are added to points whose interval is still too wide.
//!
//! How many are added depends only on the numbers so far, so that the same study grows in the same way on any number of
//! cores, and after any number of interruptions.

use std::collections::BTreeMap;

use meshlock_sim::scenario::file::Stop;

use crate::plan::Plan;
use crate::record::RunRecord;
use crate::shard::Shard;
use crate::summary::estimate;

/// How many replications of a point there should be, now that so many are known.
pub(super) fn grow(plan: &Plan, records: &BTreeMap<String, RunRecord>, place: usize, count: u32, shard: Shard) -> u32 {
    let Some(stop) = plan.stop.as_ref().filter(|_| shard.has(plan, place, 0)) else { return count };
    let point = &plan.points[place];
    let runs = (0..count).filter_map(|replication| records.get(&plan.run_hash(point, replication)));
    let samples: Vec<f64> =
        runs.filter(|run| !run.stopped).filter_map(|run| run.measures.get(&stop.measure).copied()).collect();
    next(stop, &samples, count)
}

/// How many replications there should be now.
fn next(stop: &Stop, samples: &[f64], count: u32) -> u32 {
    // What was never measured, more runs will not measure either.
    let Some(estimate) = estimate(samples) else { return count };
    let relative = estimate.relative_half_width();
    if relative <= stop.half_width || count >= stop.most {
        return count;
    }
    // A half width shrinks with the root of the number of samples: this is how many would do if the deviation is right.
    // It is not known well at first, so that a step is never more than a doubling.
    let needed = f64::from(count) * (relative / stop.half_width).powi(2);
    let most = count.saturating_mul(2).min(stop.most);
    (needed.ceil() as u32).clamp(count + 1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(half_width: f64, most: u32) -> Stop {
        Stop { measure: "wait.mean".to_owned(), half_width, most }
    }

    #[test]
    fn an_interval_that_is_narrow_enough_ends_it() {
        assert_eq!(next(&stop(0.1, 100), &[10.0, 10.1, 9.9, 10.0], 4), 4);
        assert_eq!(next(&stop(0.1, 100), &[0.0, 0.0, 0.0], 3), 3, "what is always zero is known");
    }

    #[test]
    fn a_wide_interval_asks_for_more_but_never_more_than_twice_as_many() {
        let wide = [10.0, 30.0, 20.0, 10.0];
        assert_eq!(next(&stop(0.01, 100), &wide, 4), 8);
        assert_eq!(next(&stop(0.01, 7), &wide, 4), 7);
        assert_eq!(next(&stop(0.01, 4), &wide, 4), 4);
        let nearly = [10.0, 11.0, 10.5, 9.5];
        let once = next(&stop(0.09, 100), &nearly, 4);
        assert!((5..8).contains(&once), "{once}");
    }

    #[test]
    fn one_sample_is_never_enough_and_none_is_given_up() {
        assert_eq!(next(&stop(0.1, 100), &[10.0], 1), 2);
        assert_eq!(next(&stop(0.1, 100), &[], 5), 5);
    }
}
