use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::*;
use crate::explore::{End, Search, find_run};
use crate::model::Model;
use crate::report::{Outcome, Silent};
use crate::space::Applied;
use crate::suite::{self, Expected};
use crate::testing::{DeskBug, desk, explore_with};
use crate::trial::{Trial, Way};
use stage::{Mark, Stage};

/// Swept from the first state on.
fn swept(threads: usize) -> Options {
    Options { threads, small: 1, ..Options::default() }
}

/// Everything that is found, with the run.
fn told(outcome: &Outcome) -> String {
    let Progress { generated, unique, depth, frontier, .. } = outcome.progress;
    let run = outcome.violation.as_ref().map(|broken| format!("{}\n{}", broken.finding, broken.counterexample));
    format!("{:?} {generated} {unique} {depth} {frontier} {run:?}", outcome.verdict)
}

/// The standard models that are explored as they are, without renumbering: name and model.
fn standard(most: u64) -> impl Iterator<Item = (&'static str, Model)> {
    suite::standard().into_iter().filter_map(move |entry| {
        let Trial { spec, way } = &entry.trial;
        let plain =
            matches!(way, Way::Explore { search: Search::BreadthFirst, canonical, .. } if *canonical != Some(true));
        let small = match entry.expected {
            Expected::Holds { unique } => unique <= most,
            Expected::Breaks { .. } => true,
            Expected::Walks { .. } => false,
        };
        let model = spec.model().unwrap();
        (plain && small && has_stages(&model)).then_some((entry.name, model))
    })
}

#[test]
fn a_sweep_finds_what_breadth_first_finds() {
    let mut broken = 0;
    for (name, model) in standard(12_000) {
        // Some of the printed ones never end, once the search for endless runs is left out.
        let depth = Some(30);
        let expected = explore_with(model.clone(), Options { max_depth: depth, ..Options::default() });
        let found = explore_with(model, Options { max_depth: depth, ..swept(2) });
        assert_eq!(told(&found), told(&expected), "{name}");
        broken += usize::from(found.violation.is_some());
    }
    assert!(broken > 20, "{broken}");
}

#[test]
fn threads_change_nothing_that_a_sweep_finds() {
    let names =
        ["reverse-link/line-3-harsh", "reverse-link/triangle-harsh", "reverse-link/line-4-harsh", "flood/square"];
    for name in names {
        let model = || suite::named(name).unwrap().trial.spec.model().unwrap();
        let depth = Some(if name == "flood/square" { 12 } else { 25 });
        let limited = |options| Options { max_depth: depth, ..options };
        let expected = told(&explore_with(model(), limited(Options::default())));
        for threads in [2, 3, 5] {
            assert_eq!(told(&explore_with(model(), limited(swept(threads)))), expected, "{name} {threads}");
        }
    }
}

#[test]
fn what_is_wrong_is_found_by_the_same_run() {
    for bug in [DeskBug::None, DeskBug::TwoKeys, DeskBug::Forgets, DeskBug::SendsAstray, DeskBug::Rejects] {
        for depth in [None, Some(1), Some(2), Some(7), Some(8)] {
            let limited = |options| Options { max_depth: depth, ..options };
            let expected = explore_with(desk(5, 2, bug), limited(Options::default()));
            let found = explore_with(desk(5, 2, bug), limited(swept(3)));
            assert_eq!(told(&found), told(&expected), "{bug:?} {depth:?}");
        }
    }
}

/// Every state of a model, nearest first, up to so many: by stage how many there are. Steps must not lead back.
fn by_stage(name: &str, model: Model, most: usize) -> BTreeMap<String, usize> {
    let mut space = Space::new(model, true, false).unwrap();
    let mut reader = Reader::new(&space);
    let mut other = Reader::new(&space);
    let mut stages: Vec<(Mark, Stage)> = Vec::new();
    let start = space.start();
    let mut seen: BTreeMap<Box<[u32]>, Mark> = BTreeMap::new();
    let mut queue = VecDeque::from([start.clone()]);
    seen.insert(start.clone(), reader.mark(&space, &start));
    let mut next = vec![0; space.layout.width()];
    let mut actions = Vec::new();
    let mut leads = BTreeMap::new();
    while let Some(row) = queue.pop_front() {
        let here = seen[&row];
        actions.clear();
        space.enabled(&row, &mut actions);
        for action in &actions {
            let Ok(Applied::Made { .. }) = space.apply(&row, *action, &mut next) else { continue };
            let there = reader.mark(&space, &next);
            leads.entry((format!("{here:?}"), format!("{there:?}"))).or_insert((here, there, *action));
            if !seen.contains_key(&*next) && seen.len() < most {
                seen.insert(next.clone().into(), there);
                queue.push_back(next.clone().into());
            }
        }
    }
    for (here, there, action) in leads.values() {
        let (from, to) = (reader.stage(*here), reader.stage(*there));
        let rises = from == to || (from.leads_to(&to) && !to.leads_to(&from) && from.rank() < to.rank());
        assert!(rises, "{name}: {action:?} leads back\n{from:?}\n{to:?}");
        stages.push((*there, to));
    }
    let mut sizes = BTreeMap::new();
    for (row, mark) in seen.iter().rev() {
        // Whoever reads it, and whatever was read before: a stage is a function of the state.
        let again = other.mark(&space, row);
        assert_eq!(other.stage(again), reader.stage(*mark), "{name}");
        *sizes.entry(format!("{:?}", reader.stage(*mark))).or_insert(0) += 1;
    }
    sizes
}

#[test]
fn no_step_leads_back_to_an_earlier_stage() {
    let mut stages = 0;
    for (name, model) in standard(u64::MAX) {
        stages += by_stage(name, model, 3_000).len();
    }
    assert!(stages > 5_000, "{stages}");
}

#[test]
fn the_links_that_change_divide_the_states() {
    let model = suite::named("reverse-link/triangle-harsh").unwrap().trial.spec.model().unwrap();
    let all = explore_with(model.clone(), Options::default()).progress.unique;
    let before = {
        let mut model = model.clone();
        model.budgets.link_changes = 0;
        explore_with(model, Options::default()).progress.unique
    };
    let links = ["0-1", "0-2", "1-2"].map(|link| {
        let model = Model { changeable: Some(vec![link.parse().unwrap()]), ..model.clone() };
        explore_with(model, swept(2)).progress.unique - before
    });
    assert_eq!(before + links.iter().sum::<u64>(), all);
}

#[test]
fn a_sweep_ends_at_limits() {
    let limited = |options| explore_with(desk(6, 2, DeskBug::None), options).verdict;
    assert_eq!(limited(Options { max_bytes: Some(300_000), ..swept(2) }), Verdict::MemoryLimit);
    assert_eq!(limited(Options { max_time: Some(Duration::ZERO), ..swept(2) }), Verdict::TimeLimit);
    let cancel = Some(Arc::new(AtomicBool::new(true)));
    assert_eq!(limited(Options { cancel, ..swept(2) }), Verdict::Cancelled);
    assert_eq!(limited(Options { max_depth: Some(9), ..swept(2) }), Verdict::DepthLimit);
    assert_eq!(limited(Options { max_states: Some(700), ..swept(2) }), Verdict::StateLimit);
}

#[test]
fn an_ended_search_for_a_run_says_how_far_away_it_is() {
    let mut space = Space::new(desk(6, 2, DeskBug::None), true, false).unwrap();
    let cancel = Some(Arc::new(AtomicBool::new(true)));
    let options = Options { cancel, ..swept(2) };
    let (end, progress) = find_run(&mut space, 7, &options, &Stopwatch::start(), &mut Silent);
    assert!(matches!(end, End::Stopped(Verdict::Cancelled)));
    assert_eq!(progress.broken_at, Some(7));
}

/// A stage that is entered too late would be counted twice.
#[test]
#[should_panic(expected = "entered after it was explored")]
fn a_stage_is_entered_before_it_is_explored() {
    let space = Space::new(desk(3, 1, DeskBug::None), true, false).unwrap();
    let sweep = Sweep::new(&space, None);
    let mut space = space;
    sweep.begin(&mut space);
    assert!(matches!(sweep.board.take(), board::Next::Explore(0, _)));
    sweep.board.enter(0, 3, vec![[0; 4]]);
}
