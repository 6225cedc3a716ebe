use std::fs;

use meshlock_sim::run::Progress;
use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::{Stop, StudySpec};

use super::*;
use crate::subject::Finished;
use crate::testing::{Fake, axis, conducted, place, plan, spec};

fn numbers(results: &Results) -> Vec<(usize, u32, u64, f64)> {
    let row = |run: &Run| (run.job.point, run.job.replication, run.record.seed, run.record.measures["wait.mean"]);
    results.runs.iter().map(row).collect()
}

#[test]
fn everything_is_run_once_and_ordered_by_point_and_replication() {
    let fake = Fake::default();
    let results = conducted(&plan(&spec()), &place("once"), &fake, 2, Shard::WHOLE);
    assert_eq!(results.executed, 12);
    let places: Vec<(usize, u32)> = results.runs.iter().map(|run| (run.job.point, run.job.replication)).collect();
    let expected: Vec<(usize, u32)> = (0..4).flat_map(|point| (0..3).map(move |r| (point, r))).collect();
    assert_eq!(places, expected);
    let seeds: Vec<u64> = results.runs.iter().map(|run| run.record.seed).collect();
    assert_eq!(seeds, [100, 101, 102].repeat(4));
}

/// Whatever the number of threads, with and without replications that follow from results.
#[test]
fn every_run_is_run_exactly_once_on_any_number_of_threads() {
    let wide = Stop { measure: "wait.mean".to_owned(), half_width: 0.05, most: 40 };
    for stop in [None, Some(wide)] {
        let mut several = spec();
        several.axes = vec![axis("nodes", &["5", "10", "20", "40", "80"]), axis("k", &["1", "2", "3"])];
        let plan = plan(&StudySpec { stop, ..several });
        let mut first = None;
        for threads in [1, 2, 3, 8, 64] {
            let fake = Fake::default();
            let results = conducted(&plan, &place(&format!("threads-{threads}")), &fake, threads, Shard::WHOLE);
            let ran = fake.sorted();
            assert!(ran.windows(2).all(|pair| pair[0] != pair[1]), "twice on {threads} threads: {ran:?}");
            assert_eq!((ran.len(), results.runs.len(), results.wanted), (results.executed, ran.len(), ran.len()));
            let expected = first.get_or_insert_with(|| (ran.clone(), numbers(&results)));
            assert_eq!((ran, numbers(&results)), *expected, "{threads} threads");
        }
    }
}

/// A point that grows shares all its runs with one that is the same.
#[test]
fn points_that_are_the_same_grow_together() {
    let stop = Stop { measure: "wait.mean".to_owned(), half_width: 0.05, most: 40 };
    let mut twice = plan(&StudySpec { stop: Some(stop), ..spec() });
    twice.points.push(twice.points[0].clone());
    for threads in [1, 8] {
        let fake = Fake::default();
        let results = conducted(&twice, &place(&format!("twins-{threads}")), &fake, threads, Shard::WHOLE);
        assert_eq!(results.of_point(0).len(), results.of_point(4).len());
        assert_eq!(results.runs.len(), results.executed + results.of_point(4).len());
        assert_eq!(fake.sorted().len(), results.executed);
    }
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn a_run_that_panics_ends_the_study_and_leaves_nobody_waiting() {
    struct Panics;
    impl Runner for Panics {
        fn run(&self, _: &Scenario, _: u64, _: &mut dyn Progress) -> Result<Finished, String> {
            panic!("a bug of the simulator")
        }
    }
    let plan = plan(&spec());
    let place = place("panics");
    let store = Store::open(&place, &plan, crate::store::Begin::GoOn).unwrap();
    let orders = Orders { jobs: 4, shard: Shard::WHOLE, cancel: &crate::testing::NEVER };
    let _ = conduct(&plan, &store, &Panics, &orders, &mut ());
}

#[test]
fn only_missing_runs_are_run() {
    let place = place("resume");
    let plan = plan(&spec());
    let first = conducted(&plan, &place, &Fake::default(), 2, Shard::WHOLE);
    for run in [&first.runs[1], &first.runs[7]] {
        fs::remove_file(place.join("runs").join(format!("{}.json", run.job.hash))).unwrap();
    }
    let fake = Fake::default();
    let second = conducted(&plan, &place, &fake, 2, Shard::WHOLE);
    assert_eq!(fake.sorted(), [(10, 1, 101), (20, 1, 101)]);
    assert_eq!((second.executed, numbers(&second)), (2, numbers(&first)));
}

#[test]
fn a_study_grows_by_axes_and_replications() {
    let place = place("grows");
    conducted(&plan(&spec()), &place, &Fake::default(), 1, Shard::WHOLE);
    let mut larger = spec();
    larger.axes[0] = axis("nodes", &["10", "20", "30"]);
    larger.repeat = 4;
    let fake = Fake::default();
    let results = conducted(&plan(&larger), &place, &fake, 1, Shard::WHOLE);
    let ran = fake.sorted();
    assert_eq!(ran.len(), 4 + 2 * 4, "one more of four points, four of two new ones: {ran:?}");
    assert_eq!((results.runs.len(), results.unused), (24, 0));
    let smaller = conducted(&plan(&spec()), &place, &Fake::default(), 1, Shard::WHOLE);
    assert_eq!((smaller.executed, smaller.runs.len(), smaller.unused), (0, 12, 12));
}

#[test]
fn shares_together_are_the_whole() {
    for stop in [None, Some(Stop { measure: "wait.mean".to_owned(), half_width: 0.05, most: 40 })] {
        let plan = plan(&StudySpec { stop, ..spec() });
        let whole_place = place("whole");
        let whole = conducted(&plan, &whole_place, &Fake::default(), 2, Shard::WHOLE);
        let shared_place = place("shared");
        let mut ran = Vec::new();
        for shard in ["1/3", "2/3", "3/3"] {
            let fake = Fake::default();
            let results = conducted(&plan, &shared_place, &fake, 1, shard.parse().unwrap());
            assert_eq!(results.executed, fake.sorted().len());
            assert!(results.executed > 0 && results.executed < whole.executed, "{shard}");
            ran.extend(fake.sorted());
        }
        assert_eq!(ran.len(), whole.executed, "no run is done twice");
        let fake = Fake::default();
        let merged = conducted(&plan, &shared_place, &fake, 1, Shard::WHOLE);
        assert_eq!((fake.sorted().len(), numbers(&merged)), (0, numbers(&whole)));
    }
}

#[test]
fn a_corrupt_file_is_reported_and_run_again() {
    let place = place("corrupt");
    let plan = plan(&spec());
    let first = conducted(&plan, &place, &Fake::default(), 1, Shard::WHOLE);
    let file = |run: &Run| place.join("runs").join(format!("{}.json", run.job.hash));
    // Cut off, and one run under the name of another.
    let text = fs::read_to_string(file(&first.runs[0])).unwrap();
    fs::write(file(&first.runs[0]), &text[..text.len() / 2]).unwrap();
    fs::copy(file(&first.runs[3]), file(&first.runs[4])).unwrap();
    let fake = Fake::default();
    let second = conducted(&plan, &place, &fake, 1, Shard::WHOLE);
    assert_eq!(fake.sorted(), [(10, 1, 100), (10, 2, 101)]);
    let reported: Vec<&PathBuf> = second.corrupt.iter().map(|(path, _)| path).collect();
    assert_eq!(reported, [&file(&first.runs[0]), &file(&first.runs[4])]);
    assert!(second.corrupt[0].1.contains("EOF"), "{:?}", second.corrupt);
    assert_eq!(numbers(&second), numbers(&first));
    assert!(conducted(&plan, &place, &Fake::default(), 1, Shard::WHOLE).corrupt.is_empty());
}

#[test]
fn replications_are_added_until_the_interval_is_narrow() {
    let stop = Stop { measure: "wait.mean".to_owned(), half_width: 0.05, most: 60 };
    let plan = plan(&StudySpec { stop: Some(stop), ..spec() });
    let one = conducted(&plan, &place("grow-1"), &Fake::default(), 1, Shard::WHOLE);
    let many = conducted(&plan, &place("grow-8"), &Fake::default(), 8, Shard::WHOLE);
    assert_eq!(numbers(&one), numbers(&many), "the number of threads decides nothing");
    for point in 0..4 {
        let samples: Vec<f64> = one.complete(point).map(|run| run.record.measures["wait.mean"]).collect();
        assert!(samples.len() > 3 && samples.len() < 60, "{}", samples.len());
        let estimate = crate::summary::estimate(&samples).unwrap();
        assert!(estimate.relative_half_width() <= 0.05, "{estimate:?}");
    }
}

#[test]
fn replications_are_not_added_beyond_the_most() {
    let stop = Stop { measure: "wait.mean".to_owned(), half_width: 1e-9, most: 7 };
    let plan = plan(&StudySpec { stop: Some(stop), ..spec() });
    let results = conducted(&plan, &place("most"), &Fake::default(), 2, Shard::WHOLE);
    assert_eq!(results.runs.len(), 4 * 7);
}

#[test]
fn a_broken_rule_is_kept_and_the_others_go_on() {
    let fake = Fake { breaks_at: Some(20), ..Fake::default() };
    let results = conducted(&plan(&spec()), &place("broken"), &fake, 2, Shard::WHOLE);
    assert_eq!((results.runs.len(), results.stopped().count()), (12, 6));
    assert_eq!(results.stopped().next().unwrap().record.broken[0].rule, "exclusion");
    assert_eq!((results.complete(0).count(), results.complete(2).count()), (3, 0));
}

#[test]
fn a_run_that_cannot_be_run_is_told_and_the_others_go_on() {
    let place = place("refused");
    let fake = Fake { refuses: Some(10), ..Fake::default() };
    let results = conducted(&plan(&spec()), &place, &fake, 2, Shard::WHOLE);
    assert_eq!((results.runs.len(), results.failures.len()), (6, 6));
    assert_eq!(results.failures[0].why, "too many nodes for the area");
    // It is tried again the next time.
    assert_eq!(conducted(&plan(&spec()), &place, &Fake::default(), 1, Shard::WHOLE).executed, 6);
}

#[test]
fn an_interrupted_study_keeps_what_is_finished_and_goes_on() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    let place = place("interrupted");
    let fake = Fake { interrupts: Some((5, &FLAG)), ..Fake::default() };
    let first = conducted(&plan(&spec()), &place, &fake, 1, Shard::WHOLE);
    assert!(first.interrupted);
    assert_eq!(first.runs.len(), 4, "the fifth was told to end and does not count");
    let fake = Fake::default();
    let second = conducted(&plan(&spec()), &place, &fake, 1, Shard::WHOLE);
    assert_eq!((fake.sorted().len(), second.runs.len(), second.interrupted), (8, 12, false));
}

#[test]
fn points_that_are_the_same_scenario_share_their_runs() {
    let mut same = spec();
    same.axes = vec![axis("nodes", &["10", "20"]), axis("speed", &["\"5mps\""])];
    let mut twice = plan(&same);
    twice.points.push(twice.points[0].clone());
    let fake = Fake::default();
    let results = conducted(&twice, &place("same"), &fake, 2, Shard::WHOLE);
    assert_eq!((fake.sorted().len(), results.runs.len()), (6, 9));
}
