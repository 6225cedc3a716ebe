use meshlock_core::{Effect, NodeId, reverse_link};
use meshlock_properties::{Rule, RuleSet};

use crate::explore::Options;
use crate::model::Model;
use crate::report::{Outcome, Verdict};
use crate::testing::{DeskBug, desk, echo, explore_with};
use crate::topology::Topology;

fn search(model: Model) -> Outcome {
    explore_with(model, Options { graph: true, ..Options::default() })
}

fn endless(nodes: u32, bug: DeskBug) -> Model {
    let mut model = desk(nodes, 1, bug);
    model.workload = model.workload.endless();
    model
}

#[test]
fn a_desk_that_serves_in_order_starves_nobody() {
    let outcome = search(endless(4, DeskBug::None));
    assert_eq!((outcome.verdict, outcome.progress.unique), (Verdict::Holds, 2064));
}

#[test]
fn a_desk_that_prefers_low_numbers_starves_the_highest() {
    let outcome = search(endless(4, DeskBug::PrefersLow));
    let broken = outcome.violation.unwrap();
    assert_eq!((broken.finding.rule(), broken.finding.node()), (Some(Rule::Starvation), Some(NodeId(3))));

    let run = &broken.counterexample;
    let from = run.cycle_from.unwrap();
    let granted_to = |node: u32| {
        let moves = run.steps[from..].iter().flat_map(|step| &step.moves);
        let grants = moves.filter(|made| made.effects.iter().any(|effect| matches!(effect, Effect::Granted { .. })));
        grants.filter(|made| made.node == NodeId(node)).count()
    };
    assert!(granted_to(1) > 0 && granted_to(2) > 0 && granted_to(3) == 0);
    assert!(run.to_string().contains("-- from here on the steps repeat forever --"));
}

#[test]
fn two_customers_are_too_few_to_starve_one() {
    // A node that gives the key back has to ask again behind the other.
    assert_eq!(search(endless(3, DeskBug::PrefersLow)).verdict, Verdict::Holds);
}

#[test]
fn who_has_to_wait_for_a_full_channel_is_not_starved_by_a_fair_run() {
    // With room for two messages, the token for node 0 does not fit behind two notices to it. If that excused the
    // delivery of its request from happening, nodes 1 and 2 could pass the token to and fro forever.
    let config = |id| reverse_link::Config::mutex(NodeId(id), id == 0);
    let nodes = (0..3).map(|id| reverse_link::Node::new(config(id)));
    let mut model = Model::settled(nodes, Topology::line(3), Vec::new()).unwrap();
    model.workload = model.workload.endless();
    model.max_channel = 2;
    model.rules = RuleSet::NONE.with(Rule::Starvation).with(Rule::MessagesEnd);
    assert_eq!(search(model).verdict, Verdict::Holds);
}

#[test]
fn without_the_rule_starvation_is_not_searched() {
    let mut model = endless(4, DeskBug::PrefersLow);
    model.rules = model.rules.without(Rule::Starvation);
    assert_eq!(search(model).verdict, Verdict::Holds);
}

#[test]
fn a_desk_that_is_asked_again_at_once_chatters_for_ever() {
    let outcome = search(desk(3, 1, DeskBug::Chatters));
    let broken = outcome.violation.unwrap();
    assert_eq!(broken.finding.rule(), Some(Rule::MessagesEnd));
    let run = broken.counterexample;
    let cycle = &run.steps[run.cycle_from.unwrap()..];
    assert_eq!(cycle.len(), 2, "Later, and Ask again: {run}");
    assert!(cycle.iter().all(|step| step.moves[0].effects.len() == 1));
}

fn game(says_stop: bool) -> Outcome {
    let mut model = echo(says_stop);
    model.rules = RuleSet::NONE.with(Rule::MessagesEnd);
    search(model)
}

#[test]
fn a_game_that_ends_once_every_message_is_delivered_is_no_endless_game() {
    assert_eq!(game(true).verdict, Verdict::Holds);
}

#[test]
fn a_game_that_nobody_stops_is_endless() {
    let broken = game(false).violation.unwrap();
    assert_eq!(broken.finding.rule(), Some(Rule::MessagesEnd));
    assert_eq!(broken.counterexample.cycle_from, Some(2), "asked, and the word to stop swallowed");
}
