//! The standard models come out as pinned: every defect is found, every repaired protocol holds, every number is as it
//! was. Also with and without reduction, and depth first: the same verdicts.

use meshlock_check::explore::Search;
use meshlock_check::suite::{self, Entry, Expected};
use meshlock_check::{Limits, Report, Silent, Way};

fn run(entry: &Entry, limits: &Limits) -> Report {
    entry.run(limits, &mut Silent).unwrap_or_else(|error| panic!("{}: {error}", entry.name))
}

/// A report in one line.
fn told(report: &Report) -> String {
    let broken = report.broken.as_ref().map(|shown| format!(": {} in {} steps", shown.what, shown.steps));
    let walked = report.walked.map(|counts| format!(", {} grants", counts.grants)).unwrap_or_default();
    format!("{}, {} states{walked}{}", report.verdict, report.progress.unique, broken.unwrap_or_default())
}

fn all_as_expected(wanted: impl Fn(&Entry) -> bool) {
    let entries: Vec<Entry> = suite::standard().into_iter().filter(wanted).collect();
    assert!(entries.len() > 4, "the filter of this test has lost its models");
    let surprises: Vec<String> = entries
        .iter()
        .map(|entry| (entry, run(entry, &Limits::default())))
        .filter(|(entry, report)| !entry.is_met_by(report))
        .map(|(entry, report)| format!("{}: {}; expected {:?}", entry.name, told(&report), entry.expected))
        .collect();
    assert!(surprises.is_empty(), "not as expected:\n{}", surprises.join("\n"));
}

fn is_broken(entry: &Entry) -> bool {
    matches!(entry.expected, Expected::Breaks { .. })
}

fn is_of(entry: &Entry, protocol: &str) -> bool {
    entry.name.starts_with(protocol) && !is_broken(entry)
}

#[test]
fn every_known_defect_is_found() {
    all_as_expected(is_broken);
}

#[test]
fn reverse_link_holds() {
    all_as_expected(|entry| is_of(entry, "reverse-link/"));
}

#[test]
fn numbered_units_hold() {
    all_as_expected(|entry| is_of(entry, "numbered"));
}

#[test]
fn backfill_holds() {
    all_as_expected(|entry| is_of(entry, "backfill"));
}

#[test]
fn recovery_holds() {
    all_as_expected(|entry| is_of(entry, "recovery/"));
}

#[test]
fn recovery_of_flood_and_group_holds() {
    all_as_expected(|entry| is_of(entry, "recovery-"));
}

#[test]
fn flood_holds() {
    all_as_expected(|entry| is_of(entry, "flood/"));
}

#[test]
fn group_holds() {
    all_as_expected(|entry| is_of(entry, "group"));
}

#[test]
fn baselines_hold() {
    all_as_expected(|entry| entry.trial.spec.subject.is_baseline() && !is_broken(entry));
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = suite::standard().iter().map(|entry| entry.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// Models small enough to be looked at several times.
fn small() -> impl Iterator<Item = Entry> {
    let is_small = |entry: &Entry| match entry.expected {
        Expected::Holds { unique } => unique < 60_000,
        Expected::Breaks { steps, .. } => steps < 30,
        Expected::Walks { .. } => false,
    };
    suite::standard().into_iter().filter(is_small)
}

#[test]
fn removing_what_will_be_ignored_changes_no_verdict() {
    let mut compared = 0;
    for entry in small() {
        let limits = Limits { reduce: false, states: Some(2_000_000), ..Limits::default() };
        let whole = run(&entry, &limits);
        if whole.broken.is_none() && whole.progress.unique >= 2_000_000 {
            continue; // too large without reduction: nothing to compare
        }
        let reduced = run(&entry, &Limits::default());
        let rule = |report: &Report| report.broken.as_ref().map(|shown| shown.rule);
        assert_eq!((whole.verdict, rule(&whole)), (reduced.verdict, rule(&reduced)), "{}", entry.name);
        assert!(whole.progress.unique >= reduced.progress.unique, "{}", entry.name);
        compared += 1;
    }
    assert!(compared > 30, "only {compared} models were compared");
}

#[test]
fn depth_first_sees_the_same_states() {
    let mut compared = 0;
    for mut entry in small().filter(|entry| matches!(entry.expected, Expected::Holds { .. })) {
        let Way::Explore { canonical, .. } = entry.trial.way else { continue };
        entry.trial.way = Way::Explore { search: Search::DepthFirst, graph: false, canonical };
        let report = run(&entry, &Limits::default());
        assert!(entry.is_met_by(&report), "{}: {}", entry.name, told(&report));
        compared += 1;
    }
    assert!(compared > 10, "only {compared} models were compared");
}

#[test]
fn threads_change_nothing_that_is_found() {
    let told = |entry: &Entry, threads| {
        let report = run(entry, &Limits { threads, ..Limits::default() });
        let run = report.broken.as_ref().map(|shown| shown.run.clone());
        let progress = report.progress;
        (told(&report), progress.generated, progress.depth, progress.frontier, run)
    };
    let mut compared = 0;
    // Where the graph is kept, one thread explores; it is left out here, so that there are two.
    for mut entry in small() {
        let Way::Explore { search, canonical, .. } = entry.trial.way else { continue };
        entry.trial.way = Way::Explore { search, graph: false, canonical };
        assert_eq!(told(&entry, 2), told(&entry, 1), "{}", entry.name);
        compared += 1;
    }
    assert!(compared > 100, "only {compared} models were compared");
}
