use meshlock_sim::scenario::file::{Compare, PlotSpec, Stop, StudySpec};

use super::*;
use crate::shard::Shard;
use crate::testing::{Fake, conducted, place, plan, spec};

fn compare(axis: &str, baseline: &str, measures: &[&str]) -> Compare {
    let measures = measures.iter().map(|name| (*name).to_owned()).collect();
    Compare { axis: axis.to_owned(), baseline: baseline.to_owned(), measures }
}

#[test]
fn a_point_is_told_by_mean_interval_and_spread() {
    let plan = plan(&spec());
    let results = conducted(&plan, &place("summary"), &Fake::default(), 1, Shard::WHOLE);
    let summary = Summary::of(&plan, &results);
    assert!(summary.complete && summary.warnings.is_empty(), "{:?}", summary.warnings);
    let wait = summary.points[0].measures["wait.mean"];
    let samples: Vec<f64> = results.complete(0).map(|run| run.record.measures["wait.mean"]).collect();
    assert_eq!(wait.n, 3);
    assert!((wait.mean - samples.iter().sum::<f64>() / 3.0).abs() < 1e-12);
    assert!(wait.min <= wait.p50 && wait.p50 <= wait.max && wait.min < wait.max);
    // Student's t for 95 % and two degrees of freedom.
    assert!((wait.half_width - 4.302_652_7 * wait.deviation / 3f64.sqrt()).abs() < 1e-6);
    assert_eq!(summary.points[0].measures["stuck"].half_width, 0.0);
}

#[test]
fn comparisons_are_paired_by_replication_and_adjusted() {
    let compare = vec![compare("k", "1", &["wait.mean", "entries"])];
    let plan = plan(&StudySpec { compare, ..spec() });
    let results = conducted(&plan, &place("compare"), &Fake::default(), 1, Shard::WHOLE);
    let summary = Summary::of(&plan, &results);
    let told: Vec<(&str, &str, &str)> = summary
        .comparisons
        .iter()
        .map(|one| (one.others[0].1.as_str(), one.value.as_str(), one.measure.as_str()))
        .collect();
    assert_eq!(
        told,
        [("10", "2", "wait.mean"), ("10", "2", "entries"), ("20", "2", "wait.mean"), ("20", "2", "entries")]
    );
    let wait = &summary.comparisons[0];
    assert!((wait.ratio - 0.5).abs() < 1e-9 && (wait.difference + wait.mean).abs() < 1e-9, "{wait:?}");
    assert!(wait.p < 0.05 && wait.p_holm > wait.p, "{wait:?}");
    let same = &summary.comparisons[1];
    assert_eq!((same.difference, same.p, same.p_holm), (0.0, 1.0, 1.0));
}

#[test]
fn runs_that_broke_a_rule_count_for_no_mean_and_are_told() {
    let plan = plan(&spec());
    let fake = Fake { breaks_at: Some(20), ..Fake::default() };
    let summary = Summary::of(&plan, &conducted(&plan, &place("left-out"), &fake, 1, Shard::WHOLE));
    assert_eq!((summary.points[2].runs, summary.points[2].stopped, summary.points[2].broken), (3, 3, 3));
    assert!(summary.points[2].measures.is_empty());
    assert_eq!(summary.warnings, ["6 runs were ended by a broken rule and left out of all means"]);
    let first = &summary.violations[0];
    assert_eq!((first.rule.as_deref(), first.at_s, first.seed), (Some("exclusion"), Some(1.5), 100));
}

#[test]
fn runs_that_a_storm_stopped_count_for_no_mean_and_are_told() {
    let plan = plan(&spec());
    let fake = Fake { storms_at: Some(20), ..Fake::default() };
    let summary = Summary::of(&plan, &conducted(&plan, &place("storms"), &fake, 1, Shard::WHOLE));
    assert_eq!((summary.points[2].runs, summary.points[2].stopped, summary.points[2].broken), (3, 3, 0));
    assert!(summary.points[2].measures.is_empty() && summary.violations.is_empty());
    assert_eq!(summary.warnings, ["6 runs were stopped by a storm (see [limits]) and left out of all means"]);
    let first = &summary.storms[0];
    assert_eq!((first.words.as_str(), first.seed), ("storm at 1s: too many events", 100));
}

#[test]
fn runs_that_cannot_be_run_are_told() {
    let plan = plan(&spec());
    let fake = Fake { refuses: Some(10), ..Fake::default() };
    let summary = Summary::of(&plan, &conducted(&plan, &place("refused-summary"), &fake, 1, Shard::WHOLE));
    assert!(!summary.complete);
    assert_eq!(summary.warnings, ["6 of 12 runs could not be run"]);
    assert_eq!((summary.failures.len(), summary.failures[4].seed), (6, 101));
    let reasons: Vec<(String, usize)> = summary.reasons().iter().map(|(first, more)| (first.place(), *more)).collect();
    assert_eq!(reasons, [("nodes=10 k=1 with seed 100".to_owned(), 5)]);
}

#[test]
fn a_measure_that_does_not_exist_is_told_with_similar_ones() {
    let plot = PlotSpec {
        title: "T".to_owned(),
        x: "nodes".to_owned(),
        y: "wait.maen".to_owned(),
        lines: None,
        log_x: false,
        log_y: false,
    };
    let plan = plan(&StudySpec { plots: vec![plot], ..spec() });
    let summary = Summary::of(&plan, &conducted(&plan, &place("unknown"), &Fake::default(), 1, Shard::WHOLE));
    assert_eq!(summary.warnings, ["no run has the measure `wait.maen`; similar: `wait.mean`"]);
}

#[test]
fn an_interval_that_stays_wide_is_told() {
    let stop = Stop { measure: "wait.mean".to_owned(), half_width: 0.001, most: 5 };
    let plan = plan(&StudySpec { stop: Some(stop), ..spec() });
    let summary = Summary::of(&plan, &conducted(&plan, &place("wide"), &Fake::default(), 1, Shard::WHOLE));
    let told = "the interval of `wait.mean` is still wider than 0.1 % at 4 points after 5 replications";
    assert_eq!(summary.warnings, [told]);
}

#[test]
fn json_keeps_the_order_of_axes() {
    let plan = plan(&spec());
    let summary = Summary::of(&plan, &conducted(&plan, &place("json"), &Fake::default(), 1, Shard::WHOLE));
    let text = serde_json::to_string(&summary).unwrap();
    assert!(text.contains(r#""measurement":{"nodes":"10","k":"1"}"#), "{text}");
}
