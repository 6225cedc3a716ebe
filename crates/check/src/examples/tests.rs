//! Situations are chosen for a model, found by shortest runs, and can be stepped to.

use super::*;
use crate::stepper::Stepper;
use crate::suite;
use crate::trial::Trial;

#[derive(Default)]
struct Found(Vec<(Situation, Vec<Action>)>);

impl ExampleObserver for Found {
    fn found(&mut self, situation: Situation, run: &[Action]) {
        self.0.push((situation, run.to_vec()));
    }
}

fn model(name: &str) -> Trial {
    suite::named(name).unwrap().trial
}

fn found(trial: &Trial, limits: &ExampleLimits) -> (Vec<(Situation, Vec<Action>)>, ExampleEnd) {
    let mut found = Found::default();
    let end = search(&trial.spec, limits, &mut found).unwrap();
    (found.0, end)
}

#[test]
fn what_makes_no_sense_for_a_model_is_left_out() {
    let of = |name: &str| Situation::of(&model(name).spec);
    let one_unit = of("reverse-link/p1");
    assert!(!one_unit.contains(&Situation::Together) && !one_unit.contains(&Situation::MessageLost), "{one_unit:?}");
    let harsh = of("reverse-link/p13");
    assert!(harsh.contains(&Situation::TokenLost) && harsh.contains(&Situation::Apart), "{harsh:?}");
    let group = of("group/g3");
    assert!(group.contains(&Situation::AnotherSession) && !group.contains(&Situation::AllInUse), "{group:?}");
    for entry in suite::standard() {
        let all = Situation::of(&entry.trial.spec);
        // Where no request is made there is nothing to look at but the repair itself.
        let least = if entry.trial.spec.workload.nodes.iter().any(|work| work.count > 0) { 2 } else { 0 };
        assert!((least..=11).contains(&all.len()), "{}: {all:?}", entry.name);
    }
}

#[test]
fn examples_are_found_and_can_be_stepped_to() {
    let mut seen = std::collections::BTreeSet::new();
    for name in ["reverse-link/p13", "reverse-link/p5", "flood/f9", "group/g3", "reverse-link/line-3-units"] {
        let trial = model(name);
        let limits = ExampleLimits { states: 20_000, ..ExampleLimits::default() };
        let (found, _) = found(&trial, &limits);
        assert!(found.len() > 2, "{name}: {found:?}");
        let mut stepper = Stepper::new(&trial, true, "").unwrap();
        for (situation, run) in found {
            let path = stepper.path(&run).unwrap_or_else(|error| panic!("{name} {}: {error}", situation.name()));
            assert!(stepper.at(&path).is_ok());
            seen.insert(situation);
        }
    }
    assert!(seen.len() > 6, "{seen:?}");
}

#[test]
fn a_first_grant_is_near() {
    let (found, end) = found(&model("reverse-link/p3"), &ExampleLimits::default());
    let granted = found.iter().find(|(situation, _)| *situation == Situation::Granted).unwrap();
    assert_eq!(granted.1.len(), 1, "the holder asks");
    assert!(end.progress.unique > 1);
}

#[test]
fn a_search_ends_at_its_limit_and_when_it_is_told_to() {
    let trial = model("reverse-link/line-3-units");
    let (_, end) = found(&trial, &ExampleLimits { states: 50, ..ExampleLimits::default() });
    assert!(!end.complete && end.progress.unique < 200, "{end:?}");
    let cancel = Some(Arc::new(AtomicBool::new(true)));
    let (found, end) = found(&trial, &ExampleLimits { cancel, ..ExampleLimits::default() });
    assert!(found.is_empty() && !end.complete);
}

#[test]
fn names_and_words_are_all_different() {
    let table = Situation::TABLE;
    let names: std::collections::BTreeSet<_> = table.map(|(situation, ..)| situation.name()).into();
    let words: std::collections::BTreeSet<_> = table.map(|(situation, ..)| situation.words()).into();
    assert_eq!((names.len(), words.len()), (table.len(), table.len()));
    assert!(table.iter().enumerate().all(|(place, (situation, ..))| *situation as usize == place));
}
