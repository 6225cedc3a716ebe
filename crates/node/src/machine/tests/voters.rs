//! Voters change by an operator's wish, whatever happens to those who were told.

use meshlock_core::recovery::voters::{List, Voter};

use super::super::Machine;
use super::mesh::Mesh;
use super::wants;
use crate::mesh::Member;

/// A list that follows the one in force at a node, of these members. Every disk here permits it.
fn list(mesh: &Mesh, at: usize, members: &[u16]) -> List {
    let known = mesh.net.machines[at].voters_known().expect("voters");
    let disk = |member: &u16| *known.ready.iter().find(|voter| voter.member == *member).expect("it could vote");
    let mut list = List::successor(known.list.id(), members.iter().map(disk).collect::<Vec<Voter>>());
    list.permission = b"signed".to_vec();
    list
}

fn voters(machine: &Machine) -> Vec<u16> {
    machine.voters_known().expect("voters").list.voters().iter().map(|voter| voter.member).collect()
}

fn propose(mesh: &mut Mesh, at: usize, list: &List) -> Result<(), String> {
    let now = mesh.net.now;
    let told = mesh.net.machines[at].propose_voters(now, list.clone());
    mesh.net.collect(at);
    told
}

/// What an operator proposes through a node that says nothing yet, because clients of its former run may hold on, is not
/// lost: the node is told again until the voters have changed.
#[test]
fn what_is_proposed_to_a_silent_node_is_told_when_it_may_speak() {
    let mut mesh = Mesh::voting(4);
    let wanted = list(&mesh, 0, &[0, 1, 3]);
    mesh.kill(0);
    mesh.kill(2);
    mesh.restart_silent(0, 5_000);
    propose(&mut mesh, 0, &wanted).unwrap();
    mesh.run_ms(4_000);
    assert_eq!(voters(&mesh.net.machines[1]), [0, 1, 2], "it says nothing");
    mesh.run_ms(2_000);
    propose(&mut mesh, 0, &wanted).unwrap();
    mesh.run_ms(1_000);
    for node in [0, 1, 3] {
        assert_eq!(voters(&mesh.net.machines[node]), [0, 1, 3], "n{node}");
    }
}

/// The same with a removal.
#[test]
fn a_silent_node_says_that_a_removal_was_not_told() {
    let mut mesh = Mesh::voting(4);
    let removed = [Member(3)].into();
    mesh.kill(0);
    mesh.kill(3);
    mesh.restart_silent(0, 5_000);
    let now = mesh.net.now;
    assert_eq!(mesh.net.machines[0].remove_members(now, &removed, &Default::default()), Ok(false));
    mesh.run_ms(6_000);
    let now = mesh.net.now;
    assert_eq!(mesh.net.machines[0].remove_members(now, &removed, &Default::default()), Ok(true));
    mesh.run_ms(15_000);
    assert!(mesh.net.machines[1].census().unwrap().is_removed(3));
}

/// A node that does not vote itself is told of other voters while it is out of reach, and is killed: nobody knows of it.
#[test]
fn what_is_proposed_is_told_again_after_a_crash() {
    let mut mesh = Mesh::voting(5);
    let others = list(&mesh, 0, &[1, 2, 3]);
    propose(&mut mesh, 0, &others).unwrap();
    mesh.run_ms(1_000);
    let wanted = list(&mesh, 0, &[1, 3, 4]);
    for other in 1..5 {
        mesh.net.cut(0, other);
    }
    propose(&mut mesh, 0, &wanted).unwrap();
    mesh.kill(0);
    mesh.restart(0);
    mesh.run_ms(2_000);
    assert_eq!(voters(&mesh.net.machines[1]), [1, 2, 3], "nobody has heard of it");
    propose(&mut mesh, 0, &wanted).unwrap();
    mesh.run_ms(2_000);
    assert_eq!(voters(&mesh.net.machines[3]), [1, 3, 4]);
}

/// Each voter agrees to one list only. If one of three is dead, and one agreed to each of two lists, none of these will ever
/// have a majority, and whoever has agreed serves nobody any more.
#[test]
fn no_second_list_is_proposed_while_voters_may_have_agreed_to_a_first() {
    let mut mesh = Mesh::voting(5);
    let (first, second) = (list(&mesh, 0, &[0, 1, 3]), list(&mesh, 0, &[0, 1, 4]));
    mesh.kill(2);
    for other in [0, 3, 4] {
        mesh.net.cut(1, other);
    }
    propose(&mut mesh, 0, &first).unwrap();
    mesh.run_ms(100);
    let known = mesh.net.machines[3].voters_known().unwrap();
    assert_eq!(known.proposed.len(), 1);
    assert_eq!((&known.proposed[0].list, &known.proposed[0].missing), (&first, &vec![1, 2]));
    let missing = known.what_is_missing(&first, |member| format!("n{}", member.0));
    assert_eq!(missing, "n1, n2 did not agree yet");
    let refused = propose(&mut mesh, 0, &second).expect_err("votes would split");
    assert!(refused.contains("proposed before"), "{refused}");
    assert_eq!(propose(&mut mesh, 0, &first), Ok(()), "the same again");
    for other in [0, 3, 4] {
        mesh.net.link(1, other);
    }
    mesh.run_ms(15_000);
    mesh.tend();
    mesh.run_ms(2_000);
    for node in [0, 1, 3, 4] {
        assert_eq!(voters(&mesh.net.machines[node]), [0, 1, 3], "n{node}");
        let ticket = mesh.net.ask(node, wants("dock"));
        mesh.run_ms(1_000);
        assert_eq!(mesh.state(node, ticket), meshlock_api::State::Granted, "n{node}");
        mesh.net.release(node, ticket);
    }
    assert!(propose(&mut mesh, 0, &second).is_err(), "it was signed for other voters");
}

/// A voter that cannot write agrees to nothing, and says so when it can again.
#[test]
fn a_voter_with_a_full_disk_agrees_when_it_can_write() {
    let mut mesh = Mesh::voting(4);
    let wanted = list(&mesh, 0, &[0, 1, 3]);
    mesh.kill(2);
    mesh.set_full(1, true);
    propose(&mut mesh, 0, &wanted).unwrap();
    mesh.run_ms(3_000);
    assert_eq!(mesh.net.machines[0].voters_known().unwrap().proposed[0].missing, [1, 2]);
    mesh.set_full(1, false);
    mesh.run_ms(3_000);
    assert_eq!(voters(&mesh.net.machines[3]), [0, 1, 3]);
}
