//! Voters call for the rounds of all nodes: what that costs, and that nothing depends on it.

use super::mesh::Mesh;
use crate::wire::{Frame, decode};

fn ring(nodes: usize) -> Vec<(usize, usize)> {
    (0..nodes).map(|node| (node, (node + 1) % nodes)).collect()
}

fn grid(rows: usize, columns: usize) -> Vec<(usize, usize)> {
    let across = (0..rows * columns).filter(|node| node % columns > 0).map(|node| (node - 1, node));
    across.chain((columns..rows * columns).map(|node| (node - columns, node))).collect()
}

/// Voters have grown to three, and every node has been answered a few times.
fn at_rest(nodes: usize, links: &[(usize, usize)]) -> Mesh {
    let mut mesh = Mesh::voting_with_links(nodes as u32, links);
    mesh.run_ms(20_000);
    assert_all_grant(&mesh);
    assert_eq!(mesh.net.machines[nodes - 1].voters_known().expect("voters").list.voters().len(), 3);
    mesh
}

fn assert_all_grant(mesh: &Mesh) {
    for (node, machine) in mesh.net.machines.iter().enumerate() {
        assert_eq!(machine.suspended(), None, "n{node}");
        assert_eq!(
            machine.census().expect("voters").counts().filter(|(_, count)| count % 2 == 0).count(),
            0,
            "n{node}"
        );
    }
}

/// How many frames arrive in a standing, for each link.
fn frames_for_each_link(mesh: &mut Mesh, links: usize) -> f64 {
    let before = mesh.net.arrived;
    mesh.run_ms(10_000);
    (mesh.net.arrived - before) as f64 / links as f64
}

/// The first of three voters calls six times in a standing. Each call crosses every link, at most once in each direction;
/// rounds come back over some of them, and then the answers of three voters. The other voters are told on their way.
const MOST_FOR_EACH_LINK: f64 = 6.0 * (2.0 + 1.0 + 3.0) + 4.0;

#[test]
fn what_a_link_carries_does_not_grow_with_the_mesh() {
    for (nodes, links) in [(10, ring(10)), (100, ring(100)), (12, grid(3, 4)), (100, grid(10, 10))] {
        let mut mesh = at_rest(nodes, &links);
        let frames = frames_for_each_link(&mut mesh, links.len());
        assert!(frames < MOST_FOR_EACH_LINK, "{frames} with {nodes} nodes and {} links", links.len());
        assert_all_grant(&mesh);
    }
}

/// Which nodes call.
fn callers(mesh: &Mesh) -> Vec<usize> {
    let calls = |node: &usize| mesh.net.machines[*node].voting().is_some_and(|voting| voting.calls());
    (0..mesh.net.machines.len()).filter(|node| !mesh.dead.contains(node)).filter(calls).collect()
}

/// The other voters hear everybody through it, in every round.
#[test]
fn one_voter_calls_for_all() {
    for links in [ring(12), grid(3, 4), vec![(5, 0), (5, 1), (5, 2), (5, 3), (5, 4)]] {
        let nodes = 1 + links.iter().map(|(one, other)| one.max(other)).max().expect("links");
        let mut mesh = at_rest(nodes, &links);
        for _ in 0..30 {
            mesh.run_ms(700);
            // Between the call and the rounds that it brings another looks as if it were to call.
            mesh.net.settle();
            assert_eq!(callers(&mesh), [0]);
            for voter in 0..3 {
                let voting = mesh.net.machines[voter].voting().expect("voters");
                let now = mesh.net.now.time();
                for (node, since) in voting.silent_since() {
                    assert!(now.0 - since.0 < 10_000 / 6 + 300, "{voter} has not heard {node:?}");
                }
            }
        }
        assert_all_grant(&mesh);
    }
}

#[test]
fn another_voter_calls_when_the_first_is_gone() {
    let mut mesh = at_rest(12, &grid(3, 4));
    mesh.kill(0);
    mesh.run_ms(3_000);
    assert_eq!(callers(&mesh), [1]);
    mesh.run_ms(12_000);
    assert_eq!(callers(&mesh), [1]);
    for node in 1..12 {
        let machine = &mesh.net.machines[node];
        assert_eq!(machine.suspended(), None, "n{node}");
        let gone: Vec<_> = machine.census().expect("voters").counts().filter(|(_, count)| count % 2 == 0).collect();
        assert_eq!(gone.len(), 1, "n{node}");
    }
    mesh.restart(0);
    mesh.run_ms(20_000);
    assert_eq!(callers(&mesh), [0]);
}

/// Of three voters two are left then, and both have to know the same rounds of the third, also when it dies soon after
/// another came back, and several voters call.
#[test]
fn whoever_is_killed_is_declared_gone_in_time() {
    for links in [ring(3), ring(5)] {
        let nodes = links.len();
        let mut mesh = at_rest(nodes, &links);
        for turn in 0..60 {
            let victim = turn % 3;
            mesh.run_ms(1_000 + turn as u64 * 337 % 4_000);
            let dead = mesh.net.machines[victim].settings().id;
            mesh.kill(victim);
            mesh.run_ms(10_400 + 500);
            for node in (0..nodes).filter(|node| *node != victim) {
                let census = mesh.net.machines[node].census().expect("voters");
                assert!(census.is_gone(dead), "turn {turn}: n{victim} is killed, as n{node} sees it");
            }
            mesh.restart(victim);
        }
    }
}

#[test]
fn with_a_voter_gone_the_next_death_is_declared_in_time() {
    for first in 0..3 {
        // All are linked with all, so those who are left are, too.
        let links: Vec<(usize, usize)> = (0..6).flat_map(|one| (0..one).map(move |other| (other, one))).collect();
        let mut mesh = at_rest(6, &links);
        mesh.run_ms(700);
        mesh.kill(first);
        mesh.run_ms(12_345);
        for victim in [5, 3] {
            let dead = mesh.net.machines[victim].settings().id;
            mesh.kill(victim);
            mesh.run_ms(10_400 + 500);
            for node in (0..6).filter(|node| !mesh.dead.contains(node)) {
                let census = mesh.net.machines[node].census().expect("voters");
                assert!(census.is_gone(dead), "n{victim} is killed after n{first}, as n{node} sees it");
            }
        }
    }
}

/// A node of the version before does not know what voters are told, and lets it be.
#[test]
fn voters_that_are_not_told_call_themselves() {
    let told: fn((usize, usize), &[u8]) -> bool =
        |_, frame| matches!(decode(frame), Ok(Frame::Called(called)) if called.number >> 63 == 1);
    let answered: fn((usize, usize), &[u8]) -> bool = |_, frame| matches!(decode(frame), Ok(Frame::Answered(answered)) if answered.caller.member() != answered.voter.member);
    for (loses, others_call) in [(told, true), (answered, false)] {
        let mut mesh = at_rest(12, &grid(3, 4));
        mesh.net.loses = loses;
        for _ in 0..30 {
            mesh.run_ms(1_000);
            assert_all_grant(&mesh);
        }
        assert_eq!(callers(&mesh) == [0, 1, 2], others_call);
    }
}

/// One of the voters is of the version before: it calls, tells nothing and does not understand what it is told.
#[test]
fn beside_a_voter_that_does_not_tell_all_call() {
    fn former(ends: (usize, usize), frame: &[u8]) -> bool {
        let is_told = matches!(decode(frame), Ok(Frame::Called(called)) if called.number >> 63 == 1);
        is_told && (ends.0 == 1 || ends.1 == 1)
    }
    let mut mesh = Mesh::voting_with_links(3, &ring(3));
    mesh.net.loses = former;
    mesh.run_ms(20_000);
    for turn in 0..20 {
        mesh.run_ms(10_000 + turn * 337 % 4_000);
        assert_eq!(callers(&mesh), [0, 1, 2]);
        let dead = mesh.net.machines[2].settings().id;
        mesh.kill(2);
        mesh.run_ms(10_400 + 500);
        assert!((0..2).all(|node| mesh.net.machines[node].census().expect("voters").is_gone(dead)), "turn {turn}");
        mesh.restart(2);
    }
}

#[test]
fn a_link_more_is_no_reason_to_tell_all_rounds() {
    let mut mesh = at_rest(40, &ring(40));
    let before = mesh.net.arrived;
    mesh.net.link(0, 20);
    mesh.net.link(10, 30);
    let greetings: usize = [(0, 20), (20, 0), (10, 30), (30, 10)].map(|ends| mesh.net.on_wire(ends)).iter().sum();
    mesh.net.settle();
    let passed_on = mesh.net.arrived - before - greetings;
    // That is less than two words for everybody, where there are 40 rounds and 120 answers.
    assert!(passed_on < 80, "{passed_on}");
}

/// Whether voters' answers, or the rounds that they call for, are lost: others tell their rounds to all.
#[test]
fn nobody_depends_on_the_way_of_a_call() {
    let called: fn((usize, usize), &[u8]) -> bool = |_, frame| matches!(decode(frame), Ok(Frame::Called(_)));
    let answered: fn((usize, usize), &[u8]) -> bool = |_, frame| matches!(decode(frame), Ok(Frame::Answered(_)));
    for loses in [called, answered] {
        let mut mesh = at_rest(12, &grid(3, 4));
        mesh.net.loses = loses;
        for _ in 0..30 {
            mesh.run_ms(1_000);
            assert_all_grant(&mesh);
        }
    }
}

/// A neighbour that takes everything and says nothing costs itself its standing, and nobody else.
#[test]
fn a_neighbour_that_stands_still_keeps_nobody_waiting() {
    let mut mesh = at_rest(12, &grid(3, 4));
    mesh.net.loses = |(from, _), _| from == 5;
    for _ in 0..8 {
        mesh.run_ms(1_000);
        assert_all_grant(&mesh);
    }
    mesh.run_ms(11_000);
    let others = (0..12).filter(|node| *node != 5);
    for node in others {
        let machine = &mesh.net.machines[node];
        assert_eq!(machine.suspended(), None, "n{node}");
        assert!(machine.census().expect("voters").is_gone(meshlock_core::NodeId(5)), "n{node}");
    }
}

/// A call that is lost with a link is made good by the next one, whichever way that goes.
#[test]
fn links_that_break_and_come_back_cost_no_standing() {
    let links = grid(3, 4);
    let mut mesh = at_rest(12, &links);
    for turn in 0..40 {
        let (one, other) = links[turn * 7 % links.len()];
        mesh.net.cut(one, other);
        mesh.run_ms(400);
        mesh.net.link(one, other);
        mesh.run_ms(300);
        assert_all_grant(&mesh);
    }
}

/// A process that stood still, with all its nodes or a voter alone, takes nobody for gone.
#[test]
fn a_voter_that_stood_still_hears_others_before_it_judges_them() {
    let mut mesh = at_rest(6, &ring(6));
    mesh.net.now = mesh.net.now.plus_ms(30_000);
    mesh.run_ms(2_000);
    assert_all_grant(&mesh);
}

/// All start at the same time: a voter puts them on record together, and nobody writes a census for each of them.
#[test]
fn those_who_come_together_are_put_on_record_together() {
    let writes = [10, 60].map(|nodes| {
        let mesh = at_rest(nodes, &ring(nodes));
        (0..nodes).map(|node| mesh.writes(node)).max().unwrap_or(0)
    });
    assert!(writes.iter().all(|writes| *writes <= 20), "{writes:?}");
}
