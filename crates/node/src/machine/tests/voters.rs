//! Voters change by an operator's wish, whatever happens to those who were told.

use meshlock_api::State;
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
        assert_eq!(mesh.state(node, ticket), State::Granted, "n{node}");
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

/// A list that is forced: these go on, and those of them that follow vote.
fn forced(mesh: &Mesh, at: usize, voters: &[u16], members: &[u16]) -> List {
    let known = mesh.net.machines[at].voters_known().expect("voters");
    let disk = |member: &u16| *known.ready.iter().find(|voter| voter.member == *member).expect("it could vote");
    let parent = known.proposed.iter().map(|proposed| proposed.list.id()).max().unwrap_or(known.list.id());
    let mut list = List::forced(parent, voters.iter().map(disk), members.iter().copied(), 5);
    list.permission = b"signed".to_vec();
    list
}

#[test]
fn a_forced_list_serves_again_when_a_majority_of_voters_is_lost() {
    let mut mesh = Mesh::voting(5);
    let held = mesh.net.ask(1, wants("dock"));
    mesh.run_ms(100);
    let fence = mesh.fence(1, held);
    let alive = mesh.net.ask(3, wants("crane"));
    mesh.run_ms(100);
    assert_eq!(mesh.state(3, alive), State::Granted);
    let waits = mesh.net.ask(4, wants("dock"));
    mesh.kill(1);
    mesh.kill(2);
    mesh.run_ms(15_000);
    mesh.net.machines[4].renew(mesh.net.now, waits, None).unwrap();
    for node in [0, 3, 4] {
        assert!(mesh.net.machines[node].suspended().is_some(), "n{node}");
    }
    assert_eq!(mesh.state(4, waits), State::Queued);
    // One that goes on is out of reach: nobody may go on without it.
    mesh.net.cut(0, 4);
    mesh.net.cut(3, 4);
    let list = forced(&mesh, 0, &[0, 3, 4], &[0, 3, 4]);
    propose(&mut mesh, 0, &list).unwrap();
    mesh.run_ms(15_000);
    mesh.net.machines[4].renew(mesh.net.now, waits, None).unwrap();
    let why = mesh.net.machines[3].suspended().expect("it waits").to_owned();
    assert!(why.contains("wait until n4 gave up"), "{why}");
    mesh.net.link(0, 4);
    mesh.run_ms(2_000);
    for node in [0, 3, 4] {
        assert_eq!(voters(&mesh.net.machines[node]), [0, 3, 4], "n{node}");
        assert_eq!(mesh.net.machines[node].suspended(), None, "n{node}");
    }
    assert_eq!(mesh.state(4, waits), State::Queued, "who was left out may act until its standing ends");
    mesh.run_ms(11_000);
    assert_eq!(mesh.state(4, waits), State::Granted);
    assert!(mesh.fence(4, waits) > fence);
    assert!(mesh.net.machines[3].census().unwrap().is_removed(1));
    // Who was left out and runs after all serves nobody, and changes nothing.
    mesh.restart(1);
    let late = mesh.net.ask(1, wants("dock"));
    mesh.run_ms(15_000);
    assert_eq!(mesh.state(1, late), State::Queued);
    mesh.net.release(4, waits);
    let next = mesh.net.ask(0, wants("dock"));
    mesh.run_ms(1_000);
    assert_eq!(mesh.state(0, next), State::Granted);
    // The new voters change as any others, and one of them may be lost.
    mesh.kill(3);
    mesh.run_ms(15_000);
    let again = mesh.net.ask(4, wants("crane"));
    mesh.run_ms(1_000);
    assert_eq!(mesh.state(4, again), State::Granted);
}

#[test]
fn a_forced_list_follows_another_that_waits_for_one_who_is_lost_too() {
    let mut mesh = Mesh::voting(5);
    mesh.kill(1);
    mesh.kill(2);
    mesh.kill(4);
    let first = forced(&mesh, 0, &[0, 3, 4], &[0, 3, 4]);
    propose(&mut mesh, 0, &first).unwrap();
    mesh.run_ms(15_000);
    assert!(mesh.net.machines[0].suspended().is_some());
    let second = forced(&mesh, 0, &[3], &[0, 3]);
    propose(&mut mesh, 0, &second).unwrap();
    mesh.run_ms(15_000);
    assert_eq!((voters(&mesh.net.machines[0]), voters(&mesh.net.machines[3])), (vec![3], vec![3]));
    assert!(propose(&mut mesh, 0, &first).is_err(), "it comes too late");
    // All that was given up is on disk.
    mesh.kill(0);
    mesh.kill(3);
    mesh.restart(3);
    mesh.restart(0);
    mesh.run_ms(2_000);
    for node in [0, 3] {
        let ticket = mesh.net.ask(node, wants("dock"));
        mesh.run_ms(2_000);
        assert_eq!(mesh.state(node, ticket), State::Granted, "n{node}");
        mesh.net.release(node, ticket);
    }
}

/// Votes that are split for good: one of three voters is dead, and each of the others agreed to another list.
#[test]
fn a_forced_list_ends_a_split_vote() {
    let mut mesh = Mesh::voting(5);
    let (first, second) = (list(&mesh, 0, &[0, 1, 3]), list(&mesh, 0, &[0, 1, 4]));
    mesh.kill(2);
    mesh.net.cut(0, 1);
    for (near, far) in [(0, 4), (1, 3), (3, 4)] {
        mesh.net.cut(near, far);
    }
    propose(&mut mesh, 0, &first).unwrap();
    propose(&mut mesh, 1, &second).unwrap();
    for (near, far) in [(0, 1), (0, 4), (1, 3), (3, 4)] {
        mesh.net.link(near, far);
    }
    mesh.run_ms(20_000);
    assert!([0, 1, 3, 4].iter().all(|node| mesh.net.machines[*node].suspended().is_some()), "nobody is served");
    let known = mesh.net.machines[0].voters_known().unwrap();
    let words = known.what_is_missing(&first, |member| format!("n{}", member.0));
    assert_eq!(words, "n1, n2 did not agree yet; n0, n1, n4 were proposed too, so voters may have agreed to them");
    let rescue = forced(&mesh, 0, &[0, 1, 3], &[0, 1, 3, 4]);
    propose(&mut mesh, 0, &rescue).unwrap();
    mesh.run_ms(15_000);
    for node in [0, 1, 3, 4] {
        let ticket = mesh.net.ask(node, wants("dock"));
        mesh.run_ms(1_000);
        assert_eq!(mesh.state(node, ticket), State::Granted, "n{node}");
        mesh.net.release(node, ticket);
    }
}

/// Nothing is given up before that is on disk.
#[test]
fn a_forced_list_waits_for_a_full_disk() {
    let mut mesh = Mesh::voting(5);
    mesh.kill(1);
    mesh.kill(2);
    mesh.set_full(4, true);
    let list = forced(&mesh, 0, &[0, 3, 4], &[0, 3, 4]);
    propose(&mut mesh, 0, &list).unwrap();
    mesh.run_ms(5_000);
    assert_eq!(mesh.net.machines[0].voters_known().unwrap().proposed[0].missing, [4]);
    mesh.set_full(4, false);
    mesh.run_ms(5_000);
    assert_eq!(voters(&mesh.net.machines[4]), [0, 3, 4]);
}
