use meshlock_core::Demand;

use super::*;
use crate::model::{Failing, Workload};
use crate::report::Silent;
use crate::testing::{DeskBug, desk, hello};
use crate::topology::Topology;
use meshlock_protocols::toys::Hello;

fn walk(model: Model, seed: u64, walks: u64) -> WalkOutcome {
    let options = WalkOptions { seed, walks, steps: 1_000, ..WalkOptions::default() };
    Walker::new(model).options(options).run(&mut Silent).unwrap()
}

#[test]
fn a_right_desk_serves_everyone_of_twelve() {
    let outcome = walk(desk(12, 1, DeskBug::None), 1, 20);
    assert_eq!(outcome.verdict, Verdict::Holds, "{:?}", outcome.violation.map(|broken| broken.finding));
    assert_eq!((outcome.counts.walks, outcome.counts.link_changes), (20, 0));
    assert!(outcome.counts.grants > 1_000, "{:?}", outcome.counts);
}

#[test]
fn the_same_seed_is_the_same_walk() {
    let [one, other] = [5, 5].map(|seed| walk(desk(12, 1, DeskBug::None), seed, 3).counts);
    assert_eq!(one, other);
    assert_ne!(one, walk(desk(12, 1, DeskBug::None), 6, 3).counts);
}

#[test]
fn a_forgetful_desk_is_found_and_its_seed_shows_it_again() {
    let found = walk(desk(12, 1, DeskBug::Forgets), 40, 20);
    let again = walk(desk(12, 1, DeskBug::Forgets), found.seed.unwrap(), 1);
    let [found, again] = [found, again].map(|outcome| outcome.violation.unwrap());
    assert_eq!(found.finding.rule(), Some(Rule::NobodyWaits));
    assert_eq!(found.finding, again.finding);
    assert_eq!(found.counterexample.to_string(), again.counterexample.to_string());
}

#[test]
fn who_is_left_waiting_at_the_end_is_found_also_without_the_rule() {
    let mut model = desk(12, 1, DeskBug::Forgets);
    model.rules = model.rules.without(Rule::NobodyWaits);
    let broken = walk(model, 1, 20).violation.unwrap();
    assert!(broken.finding.to_string().ends_with("still waits at the end"), "{}", broken.finding);
}

#[test]
fn nodes_that_chatter_never_become_quiet() {
    let mut model = desk(12, 1, DeskBug::Chatters);
    model.workload = Workload::same(12, 1, vec![Demand::units(1, 0)]);
    // The holder of the key always gives it back, so the others are served between two words.
    assert_eq!(walk(model, 1, 5).verdict, Verdict::Holds);

    let endless = Model::new(Hello::endless(2), Topology::line(2));
    let mut model = Model { workload: Workload::none(2), down: vec!["0-1".parse().unwrap()], ..endless };
    model.budgets.link_changes = 1;
    let options = WalkOptions { steps: 100, ending: 500, ..WalkOptions::default() };
    let broken = Walker::new(model).options(options).run(&mut Silent).unwrap().violation.unwrap();
    assert_eq!(broken.finding.rule(), Some(Rule::MessagesEnd));
}

#[test]
fn links_change_and_are_mended_at_the_end() {
    for failing in [Failing::Gentle, Failing::Harsh] {
        let mut model = hello("grid:3x4".parse().unwrap());
        model.failing = failing;
        model.budgets.link_changes = 1;
        let outcome = walk(model, 1, 10);
        assert_eq!(outcome.verdict, Verdict::Holds);
        assert!(outcome.counts.link_changes > 100, "{:?}", outcome.counts);
    }
}

#[test]
fn a_walk_goes_on_in_fresh_tables_as_before() {
    let options = WalkOptions { walks: 1, steps: 60_000, ..WalkOptions::default() };
    let outcome = Walker::new(desk(12, 1, DeskBug::None)).options(options).run(&mut Silent).unwrap();
    assert_eq!(outcome.verdict, Verdict::Holds, "{:?}", outcome.violation.map(|broken| broken.finding));
}
