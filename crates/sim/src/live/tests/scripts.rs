//! Live runs with a script of edits.

use std::time::Duration;

use meshlock_core::NodeId;

use super::super::Ending;
use super::super::player::{Next, Player};
use super::{Hand, play, protocol, radio, wired};
use crate::distribution::Distribution;
use crate::edit::{Change, EditError, Edits};
use crate::run::run_edited;
use crate::scenario::{Area, Mobility, Name, Network, Over, Radio, Scenario, Shape};
use crate::time::Time;

/// Does one thing after the other, each when the one before has had some time.
struct Script<'a> {
    changes: &'a [(f64, Change)],
    said: Vec<String>,
}

impl Hand for Script<'_> {
    fn play(&mut self, player: &mut Player) {
        player.play(Duration::ZERO).unwrap();
        for (at, change) in self.changes {
            while player.tick(Duration::from_secs_f64(*at)) == Next::Now {}
            self.said.push(match player.edit(change) {
                Ok(done) => done.note.unwrap_or_else(|| format!("{:?} {:?}", done.node, done.request)),
                Err(EditError(words)) => words,
            });
        }
    }
}

/// Plays a script: what was answered, how it ended, and the trace.
fn scripted(scenario: &Scenario, changes: &[(f64, Change)]) -> (Vec<String>, Ending, String) {
    let mut script = Script { changes, said: Vec::new() };
    let (ending, trace) = play(scenario, 1, Edits::default(), &mut script);
    (script.said, ending, trace)
}

fn line(nodes: u32) -> Scenario {
    let mut scenario = wired(protocol(Name::ReverseLink, Over::Links), Shape::Line, None);
    scenario.nodes = nodes;
    scenario.traffic.classes.clear();
    scenario
}

#[test]
fn a_node_leaves_in_order_and_takes_nothing_along() {
    let ask = |node| Change::Request { node: NodeId(node), units: 1, priority: 1, session: None };
    let (said, ending, trace) = scripted(
        &line(3),
        &[
            (0.1, ask(0)),
            (0.2, ask(0)),
            (0.3, ask(1)),
            // It holds the token and a grant, and one more request waits.
            (0.4, Change::Remove { node: NodeId(0) }),
            (0.5, ask(0)),
            (0.6, Change::Release { node: NodeId(1), request: 1 }),
            (0.7, ask(2)),
            (0.8, ask(2)),
        ],
    );
    assert_eq!(ending.outcome.broken, []);
    assert_eq!(said[4], "node 0 has left", "{said:?}");
    let [first, second, third, fourth, _] = ending.outcome.requests.as_slice() else { panic!("{said:?}") };
    assert_eq!((first.released, second.cancelled), (Some(Time(400_000_000)), Some(Time(400_000_000))));
    assert!(third.granted.is_some() && fourth.granted.is_some(), "the token has stayed");
    assert!(trace.contains("\"move\":{\"node\":0,\"position\":[0.0,0.0],\"gone\":true}"), "{trace}");
    assert!(trace.contains("\"event\":\"leave\""), "{trace}");
}

#[test]
fn a_node_that_cannot_leave_in_order_goes_after_a_while() {
    // Node 0 has the token and no neighbour to give it to.
    let cut = Change::Link { between: (NodeId(0), NodeId(1)), up: false };
    let (_, ending, trace) = scripted(
        &line(2),
        &[(0.1, cut.clone()), (0.2, Change::Remove { node: NodeId(0) }), (4.0, cut), (9.0, Change::Add { at: None })],
    );
    assert_eq!(ending.outcome.broken, []);
    assert!(trace.contains("{\"time_ns\":5200000000,\"move\":{\"node\":0"), "{trace}");
}

#[test]
fn a_node_that_comes_takes_part() {
    let node = NodeId(2);
    let link = |up| Change::Link { between: (NodeId(0), node), up };
    let ask = Change::Request { node, units: 1, priority: 1, session: None };
    let (said, ending, trace) = scripted(
        &line(2),
        &[
            (0.1, ask.clone()),
            (0.2, Change::Add { at: Some([1.0, 1.0]) }),
            (0.3, link(true)),
            (0.4, link(true)),
            (0.5, ask),
            (0.9, Change::Release { node, request: 1 }),
            (1.0, Change::Release { node, request: 1 }),
            (1.1, Change::Move { node, to: [1.0, 1.0] }),
            (1.2, link(false)),
        ],
    );
    assert_eq!(
        said,
        [
            "there is no node 2: the last one is 1",
            "Some(NodeId(2)) None",
            "None None",
            "nodes 0 and 2 are linked already",
            "None Some(1)",
            "None None",
            "node 2 has no request 1 that waits or is granted",
            "nodes on wires have no places: change their links instead",
            "None None",
        ]
    );
    assert_eq!(ending.outcome.requests[0].released, Some(Time(900_000_000)));
    assert!(trace.contains("\"join\":{\"id\":2,\"name\":\"n2\""), "{trace}");
    assert_eq!((ending.outcome.nodes, ending.edits.edits.len()), (3, 5));
}

#[test]
fn who_cannot_come_or_go_is_told_why() {
    let raymond = wired(protocol(Name::Raymond, Over::Links), Shape::Complete, None);
    let between = (NodeId(0), NodeId(1));
    let (said, _, _) = scripted(
        &raymond,
        &[
            (0.1, Change::Add { at: None }),
            (0.1, Change::Remove { node: NodeId(1) }),
            (0.1, Change::Link { between, up: false }),
            (0.1, Change::Range { metres: 5.0 }),
            (0.1, Change::Request { node: NodeId(1), units: 0, priority: 1, session: None }),
            (0.1, Change::Request { node: NodeId(1), units: 1, priority: 1, session: Some(1) }),
        ],
    );
    for (said, words) in said.iter().zip([
        "raymond has a fixed set of members while it runs",
        "cut the links of node 1 instead",
        "any node reaches any other",
        "no radio on wires",
        "at least one unit",
        "no sessions",
    ]) {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn no_node_moves_at_pace_zero_and_all_move_faster_at_pace_two() {
    let far = Change::Link { between: (NodeId(0), NodeId(1)), up: true };
    let pace = |factor| Change::Pace { factor };
    let mut scenario = radio(protocol(Name::ReverseLink, Over::Links));
    scenario.traffic.classes.clear();
    let mobility = Mobility::Linear { speed: Distribution::Constant(10.0) };
    scenario.network = Network::Radio(Radio::report(Area { width: 1e4, height: 1e4 }, mobility));
    let (_, _, trace) = scripted(&scenario, &[(1.0, pace(0.0)), (2.0, pace(2.0)), (2.5, pace(1.0)), (2.6, far)]);
    let places = |at: &str| -> Vec<[f64; 2]> {
        let lines = trace.lines().filter(|line| line.contains(&format!("\"time_ns\":{at},\"move\"")));
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let place = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            [0, 1].map(|axis| number(&line["move"]["position"][axis]))
        };
        lines.map(place).collect()
    };
    let all = ["0", "1000000000", "2000000000", "2500000000"].map(places);
    assert!(all.iter().all(|places| places.len() == 12), "{all:?}");
    for (node, moved) in (0..12).flat_map(|node| [(node, 10.0), (node, 0.0), (node, 10.0)].into_iter().enumerate()).map(
        |(leg, (node, metres))| {
            let [x, y] = [0, 1].map(|axis| all[leg + 1][node][axis] - all[leg][node][axis]);
            (node, ((x * x + y * y).sqrt(), metres))
        },
    ) {
        // A node that bounces off the border is elsewhere, but in an area so wide hardly any does.
        assert!((moved.0 - moved.1).abs() < 1e-6, "node {node} moved {} m and not {}", moved.0, moved.1);
    }
}

#[test]
fn earlier_edits_are_made_again_when_their_time_has_come() {
    let ask = |node| Change::Request { node: NodeId(node), units: 1, priority: 1, session: None };
    let (_, first, trace) =
        scripted(&line(3), &[(0.1, ask(2)), (0.7, Change::Release { node: NodeId(2), request: 1 })]);
    let mut script = Script { changes: &[(0.3, ask(1)), (1.0, ask(0))], said: Vec::new() };
    let (second, _) = play(&line(3), 1, first.edits.clone(), &mut script);
    let times: Vec<u64> = second.edits.edits.iter().map(|edit| edit.at.0 / 100_000_000).collect();
    assert_eq!((times, second.dropped.len()), (vec![1, 3, 7, 10], 0));
    let mut nothing = Script { changes: &[(0.7, ask(9))], said: Vec::new() };
    let (third, again) = play(&line(3), 1, first.edits.clone(), &mut nothing);
    assert_eq!((third.edits, again), (first.edits, trace));
    // What cannot be made again is told.
    let gone = [(0.2, Change::Release { node: NodeId(2), request: 1 }), (1.0, ask(2))];
    let mut script = Script { changes: &gone, said: Vec::new() };
    let (fourth, _) = play(&line(3), 1, second.edits, &mut script);
    assert_eq!(fourth.dropped.len(), 1, "{:?}", fourth.dropped);
}

#[test]
fn an_edit_that_cannot_be_made_ends_a_replay_with_its_number() {
    let (_, mut ending, _) = scripted(&line(3), &[(0.1, Change::Remove { node: NodeId(2) })]);
    let again = ending.edits.edits[0].clone();
    ending.edits.edits.push(again);
    let error = run_edited(&line(3), 1, &ending.edits, &mut ()).unwrap_err().to_string();
    assert_eq!(error, "edit 2 (remove at 0.100000000 s) cannot be done: node 2 is about to leave");
}
