use super::*;
use crate::testing::{Desk, DeskBug, explore, explore_with};

#[test]
fn a_right_desk_holds_and_every_state_of_it_is_seen() {
    let table = [(2, 1, 6), (3, 2, 123), (4, 2, 1238)];
    for (nodes, requests, unique) in table {
        let outcome = explore(Desk::model(nodes, requests, DeskBug::None));
        assert_eq!(outcome.verdict, Verdict::Holds);
        assert_eq!(outcome.progress.unique, unique, "{nodes} nodes, {requests} requests");
    }
}

#[test]
fn depth_first_sees_the_same_states() {
    let options = Options { search: Search::DepthFirst, ..Options::default() };
    let outcome = explore_with(Desk::model(4, 2, DeskBug::None), options);
    assert_eq!((outcome.verdict, outcome.progress.unique), (Verdict::Holds, 1238));
}

#[test]
fn a_message_to_nowhere_is_found_after_two_steps() {
    let outcome = explore(Desk::model(3, 2, DeskBug::SendsAstray));
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
    let outcome = explore(Desk::model(2, 1, DeskBug::Rejects));
    let finding = outcome.finding().unwrap().to_string();
    assert_eq!(finding, "node 0 rejects a message from node 1: a message about an unknown node");
    let mut model = Desk::model(2, 1, DeskBug::Rejects);
    model.allow_rejects = true;
    model.rules = meshlock_properties::RuleSet::NONE;
    assert_eq!(explore(model).verdict, Verdict::Holds);
}
