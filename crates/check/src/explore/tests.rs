use meshlock_core::{Demand, NodeId, Units, reverse_link};
use meshlock_properties::{Rule, RuleSet};

use super::*;
use crate::model::{Medium, Work, Workload};
use crate::report::Silent;
use crate::testing::{DeskBug, desk, explore, explore_with, repeating_desk};
use crate::topology::Topology;

fn depth_first() -> Options {
    Options { search: Search::DepthFirst, ..Options::default() }
}

/// The broken rule and the number of steps that show it.
fn broken(outcome: &Outcome) -> Option<(Option<Rule>, usize)> {
    let broken = outcome.violation.as_ref()?;
    Some((broken.finding.rule(), broken.counterexample.steps.len()))
}

#[test]
fn a_right_desk_holds_and_every_state_of_it_is_seen() {
    // Of the first: at rest, asked, key on its way, inside, key on its way back, done. Of the second: each of two not
    // yet asking, just asking or done (9), or one with the key (3) while the other does one of these or queues (4),
    // twice.
    let table = [(2, 1, 6, 5), (3, 1, 9 + 2 * 3 * 4, 10), (3, 2, 123, 20), (4, 2, 1238, 30)];
    for (nodes, requests, unique, depth) in table {
        let outcome = explore(desk(nodes, requests, DeskBug::None));
        assert_eq!(outcome.verdict, Verdict::Holds, "{:?}", outcome.finding());
        let seen = (outcome.progress.unique, outcome.progress.depth);
        assert_eq!(seen, (unique, depth), "{nodes} nodes, {requests} requests");
    }
}

#[test]
fn every_broken_desk_is_found_by_the_shortest_run() {
    let table = [
        (DeskBug::TwoKeys, Rule::OneToken, 2),    // asked, handed out
        (DeskBug::Forgets, Rule::NobodyWaits, 7), // both ask, one is served, the other is left waiting
    ];
    for (bug, rule, steps) in table {
        let outcome = explore(desk(3, 1, bug));
        assert_eq!(outcome.verdict, Verdict::Violated);
        assert_eq!(broken(&outcome), Some((Some(rule), steps)), "{bug:?}");
    }
}

#[test]
fn two_keys_also_break_exclusion_later_on() {
    let mut model = desk(3, 1, DeskBug::TwoKeys);
    model.rules = [Rule::Exclusion].into_iter().collect();
    assert_eq!(broken(&explore(model)), Some((Some(Rule::Exclusion), 6)));
}

#[test]
fn all_ways_to_search_agree() {
    let bugs = [DeskBug::None, DeskBug::TwoKeys, DeskBug::Forgets, DeskBug::SendsAstray, DeskBug::Rejects];
    for bug in bugs {
        let plain = explore(desk(3, 2, bug));
        let ways = [
            depth_first(),
            Options { reduce: false, ..Options::default() },
            Options { canonical: Some(true), ..Options::default() },
            Options { canonical: Some(true), ..depth_first() },
        ];
        for options in ways {
            let other = explore_with(desk(3, 2, bug), options.clone());
            assert_eq!(other.verdict, plain.verdict, "{bug:?} {options:?}");
            let rules = [&other, &plain].map(|outcome| outcome.finding().and_then(Finding::rule));
            assert_eq!(rules[0], rules[1], "{bug:?} {options:?}");
            if options.search == Search::DepthFirst && bug == DeskBug::None && options.canonical.is_none() {
                assert_eq!(other.progress.unique, plain.progress.unique);
            }
        }
    }
}

#[test]
fn leaving_stale_messages_out_makes_fewer_states_and_the_same_verdict() {
    let repeating = || {
        let mut model = repeating_desk(3, 1);
        model.budgets.early_timers = 2;
        model
    };
    let all = explore_with(repeating(), Options { reduce: false, ..Options::default() });
    let fewer = explore(repeating());
    assert_eq!((all.verdict, fewer.verdict), (Verdict::Holds, Verdict::Holds));
    assert!(fewer.progress.unique < all.progress.unique, "{} {}", fewer.progress.unique, all.progress.unique);
}

#[test]
fn endless_requests_have_finitely_many_states() {
    let mut model = desk(3, 1, DeskBug::None);
    model.workload = model.workload.endless();
    let outcome = explore(model);
    assert_eq!((outcome.verdict, outcome.progress.unique), (Verdict::Holds, 196));
}

#[test]
fn a_lost_message_is_fatal_unless_somebody_asks_again() {
    let mut model = desk(2, 1, DeskBug::None);
    model.budgets.losses = 1;
    assert_eq!(broken(&explore(model)), Some((Some(Rule::NobodyWaits), 2)));

    let mut model = repeating_desk(2, 1);
    model.budgets.losses = 1;
    model.budgets.early_timers = 1;
    assert_eq!(explore(model).verdict, Verdict::Holds);
}

#[test]
fn a_timer_that_mends_nothing_does_not_go_on_for_ever() {
    let mut model = repeating_desk(2, 1);
    model.budgets.losses = 3;
    model.timers.rounds = Some(0);
    let outcome = explore(model);
    assert_eq!(broken(&outcome), Some((Some(Rule::NobodyWaits), 2)), "without rounds timers repair nothing");
}

#[test]
fn a_desk_works_where_everyone_reaches_everyone_and_without_order() {
    let mut model = desk(3, 2, DeskBug::None);
    model.medium = Medium::AnyToAny;
    let ordered = explore(model.clone());
    assert_eq!((ordered.verdict, ordered.progress.unique), (Verdict::Holds, 123));
    model.fifo = false;
    let unordered = explore(model);
    assert_eq!((unordered.verdict, unordered.progress.unique), (Verdict::Holds, 141));
}

#[test]
fn what_a_node_calls_a_mistake_is_not_tried() {
    let mut model = desk(2, 1, DeskBug::None);
    let mistakes = vec![Demand::units(0, 0), Demand::units(2, 0), Demand::units(1, 0)];
    model.workload = model.workload.with(1, Work::any(1, mistakes)).with(0, Work::any(1, vec![Demand::units(1, 0)]));
    assert_eq!(explore(model).progress.unique, 6);
}

#[test]
fn a_message_to_nowhere_is_found_and_shown() {
    let outcome = explore(desk(3, 2, DeskBug::SendsAstray));
    assert_eq!(outcome.verdict, Verdict::Violated);
    let broken = outcome.violation.unwrap();
    assert_eq!(broken.finding.to_string(), "node 0 sends Key to node 9, to which it has no link");
    assert_eq!(
        broken.counterexample.to_string(),
        "   1  node 1 asks for 1 unit, priority 0 (request 1.1)
        -> Ask [node: 1, request: 1] to 0
        node 1: waits for [1]
   2  node 0 gets Ask [node: 1, request: 1] from 1
        -> Key [node: 1, request: 1, uses: 0] to 9
        node 0: has no token
"
    );
}

#[test]
fn a_rejected_message_is_a_finding_unless_it_is_allowed() {
    let outcome = explore(desk(2, 1, DeskBug::Rejects));
    let finding = outcome.finding().unwrap().to_string();
    assert_eq!(finding, "node 0 rejects a message from node 1: a message about an unknown node");
    let mut model = desk(2, 1, DeskBug::Rejects);
    model.allow_rejects = true;
    model.rules = RuleSet::NONE;
    assert_eq!(explore(model).verdict, Verdict::Holds);
}

#[test]
fn a_channel_that_overflows_shows_that_messages_do_not_end() {
    let mut model = repeating_desk(2, 1);
    model.budgets.early_timers = 9;
    model.max_channel = 4;
    assert_eq!(broken(&explore(model)), Some((Some(Rule::MessagesEnd), 5)));
}

#[test]
fn where_requests_are_endless_a_full_channel_makes_the_sender_wait() {
    let mut model = repeating_desk(2, 1);
    model.workload = model.workload.endless();
    model.budgets.early_timers = 9;
    model.max_channel = 2;
    assert_eq!(explore(model.clone()).verdict, Verdict::Holds);
    model.wait_when_full = Some(false);
    assert_eq!(broken(&explore(model)), Some((Some(Rule::MessagesEnd), 3)));
}

#[test]
fn limits_end_a_search_without_a_verdict() {
    let model = || desk(4, 2, DeskBug::None);
    let limited = |options| explore_with(model(), options).verdict;
    assert_eq!(limited(Options { max_states: Some(100), ..Options::default() }), Verdict::StateLimit);
    assert_eq!(limited(Options { max_depth: Some(5), ..Options::default() }), Verdict::DepthLimit);
    assert_eq!(limited(Options { max_depth: Some(5), ..depth_first() }), Verdict::DepthLimit);
    assert_eq!(limited(Options { max_time: Some(Duration::ZERO), ..Options::default() }), Verdict::TimeLimit);
    assert_eq!(limited(Options { max_bytes: Some(1), ..Options::default() }), Verdict::MemoryLimit);
    let cancel = Some(Arc::new(AtomicBool::new(true)));
    assert_eq!(limited(Options { cancel, ..Options::default() }), Verdict::Cancelled);
    assert_eq!(limited(Options { max_depth: Some(31), max_states: Some(2000), ..Options::default() }), Verdict::Holds);
}

#[test]
fn a_stored_state_of_three_nodes_takes_less_than_200_bytes() {
    let config = |id| reverse_link::Config { capacity: Units(2), ..reverse_link::Config::mutex(NodeId(id), id == 0) };
    let nodes = (0..3).map(|id| reverse_link::Node::new(config(id)));
    let mut model = Model::settled(nodes, Topology::line(3), Vec::new()).unwrap();
    model.workload = Workload::same(3, 2, vec![Demand::units(1, 0)]);
    model.rules = RuleSet::NONE;
    let options = Options { graph: true, max_states: Some(200_000), ..Options::default() };
    let progress = explore_with(model, options).progress;
    assert!(progress.unique >= 200_000, "{progress:?}");
    assert!(progress.bytes_per_state() < 200.0, "{}", progress.bytes_per_state());
}

#[test]
fn a_model_whose_parts_do_not_fit_is_refused() {
    let mut model = desk(3, 1, DeskBug::None);
    model.nodes.swap(1, 2);
    let error = Explorer::new(model).run(&mut Silent).unwrap_err();
    assert_eq!(error.to_string(), "the node in place 1 has id 2; ids must be 0, 1, 2, ... in order");

    let mut model = desk(3, 1, DeskBug::None);
    model.nodes.pop();
    let error = Explorer::new(model).run(&mut Silent).unwrap_err();
    assert_eq!(error.to_string(), "2 nodes do not fit the topology star:3");

    let mut model = desk(2, 1, DeskBug::None);
    model.changeable = Some(vec!["0-5".parse().unwrap()]);
    assert_eq!(Explorer::new(model).run(&mut Silent).unwrap_err().to_string(), "there is no link 0-5 in this network");
}

/// Everything that is found, with the run.
fn told(outcome: &Outcome) -> String {
    let Progress { generated, unique, depth, frontier, .. } = outcome.progress;
    let run = outcome.violation.as_ref().map(|broken| format!("{}\n{}", broken.finding, broken.counterexample));
    format!("{:?} {generated} {unique} {depth} {frontier} {run:?}", outcome.verdict)
}

/// With levels large enough for several threads.
fn wide_desk(bug: DeskBug) -> Model {
    desk(6, 2, bug)
}

#[test]
fn threads_change_nothing_that_is_found() {
    for bug in [DeskBug::None, DeskBug::TwoKeys, DeskBug::Forgets, DeskBug::SendsAstray, DeskBug::Rejects] {
        for (most, depth) in [(None, None), (Some(5_000), None), (Some(7_777), None), (None, Some(12))] {
            let limited = |options| Options { max_states: most, max_depth: depth, ..options };
            let expected = explore_with(wide_desk(bug), limited(Options::default()));
            for threads in [2, 5] {
                let outcome = explore_with(wide_desk(bug), limited(Options { threads, ..Options::default() }));
                assert_eq!(told(&outcome), told(&expected), "{bug:?} {most:?} {depth:?} {threads}");
            }
        }
    }
}

#[test]
fn several_threads_end_at_limits_too() {
    let limited = |options| explore_with(wide_desk(DeskBug::None), Options { threads: 2, ..options }).verdict;
    assert_eq!(limited(Options { max_time: Some(Duration::ZERO), ..Options::default() }), Verdict::TimeLimit);
    assert_eq!(limited(Options { max_bytes: Some(300_000), ..Options::default() }), Verdict::MemoryLimit);
    let cancel = Some(Arc::new(AtomicBool::new(true)));
    assert_eq!(limited(Options { cancel, ..Options::default() }), Verdict::Cancelled);
}
