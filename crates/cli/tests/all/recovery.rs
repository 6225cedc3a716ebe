//! Processes of nodes are killed with locks in hand, and the others go on.

use crate::process::until;
use crate::world::{World, full};

/// A standing as short as links of 500 ms allow with room to spare on a busy machine.
const VOTERS: &[&str] = &["--standing", "3s"];
const RESTART: &[&str] = &["--recovery", "restart"];

const TELL_FENCE: &[&str] = &["lock", "dock", "--", "sh", "-c", "echo $MESHLOCK_FENCE"];

/// Three nodes, of which the second has the lock and the third waits for it.
fn contended(flags: &[&str]) -> (World, crate::process::Running, crate::process::Running) {
    let world = World::start_with(3, full(3), "", flags);
    let holder = world.go(1, &["lock", "dock", "--lease", "2s", "--", "sleep", "600"]);
    world.until_counts(0, "dock", 1, 0);
    let waiter = world.go(2, TELL_FENCE);
    world.until_counts(0, "dock", 1, 1);
    (world, holder, waiter)
}

fn fence(out: &str) -> u64 {
    out.trim().parse().unwrap_or_else(|_| panic!("no fence: {out:?}"))
}

#[test]
fn voters_declare_a_killed_holder_gone_and_the_waiter_is_served() {
    let (mut world, holder, waiter) = contended(VOTERS);
    world.kill(1);
    let served = waiter.end();
    assert_eq!(served.code, Some(0), "{}", served.err);
    assert!(fence(&served.out) > 1);
    assert!(!holder.end().err.is_empty(), "its client was told that it has lost the lock");
    let recovery = world.status(0, None).recovery.expect("it recovers");
    assert_eq!((recovery.gone, recovery.voters.len()), (vec!["node1".to_owned()], 3));
    // It comes back as another node, and takes part.
    world.begin(1);
    let again = world.run(1, TELL_FENCE);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(fence(&again.out) > fence(&served.out));
}

#[test]
fn without_voters_a_killed_holder_is_waited_for() {
    let (mut world, _holder, waiter) = contended(RESTART);
    world.kill(1);
    until("it is told whom the repair waits for, or nothing is known yet", || {
        world.status(2, None).missing.iter().any(|missing| missing.name == "node1")
    });
    world.begin(1);
    let served = waiter.end();
    assert_eq!(served.code, Some(0), "{}", served.err);
    assert!(fence(&served.out) > 1);
}

#[test]
fn who_never_comes_back_is_removed_by_a_person() {
    let (mut world, _holder, waiter) = contended(RESTART);
    world.kill(1);
    world.mesh(world.dir(0), &["remove", "node1", "--gone"]);
    let served = waiter.end();
    assert_eq!(served.code, Some(0), "{}", served.err);
    assert!(fence(&served.out) > 1);
}

#[test]
fn a_power_failure_of_all_loses_no_lock() {
    let (mut world, _holder, waiter) = contended(VOTERS);
    for node in 0..3 {
        world.kill(node);
    }
    drop(waiter);
    for node in 0..3 {
        world.begin(node);
    }
    let served = world.run(2, TELL_FENCE);
    assert_eq!(served.code, Some(0), "{}", served.err);
    assert!(fence(&served.out) > 1);
}

#[test]
fn voters_are_shown_and_changed() {
    let world = World::start_with(4, full(4), "", VOTERS);
    let voters = || world.mesh(world.dir(0), &["voters"])["voters"].as_array().unwrap().len();
    until("three vote", || voters() == 3);
    let shown = world.mesh(world.dir(0), &["voters"]);
    let ready: Vec<String> = serde_json::from_value(shown["ready"].clone()).unwrap();
    let mut wanted: Vec<String> = serde_json::from_value(shown["voters"].clone()).unwrap();
    assert_eq!((ready.len(), wanted.len()), (1, 3), "{shown}");
    let former = std::mem::replace(&mut wanted[2], ready[0].clone());
    let words: Vec<&str> = std::iter::once("voters").chain(wanted.iter().map(String::as_str)).collect();
    world.mesh(world.dir(0), &words);
    until("others vote", || {
        let now = world.status(3, None).recovery.unwrap().voters;
        now.contains(&ready[0]) && !now.contains(&former)
    });
    assert_eq!(world.run(3, TELL_FENCE).code, Some(0));
}

#[test]
fn a_voter_that_is_removed_is_replaced_first() {
    let mut world = World::start_with(4, full(4), "", VOTERS);
    let voters = |world: &World| -> Vec<String> {
        serde_json::from_value(world.mesh(world.dir(0), &["voters"])["voters"].clone()).unwrap()
    };
    let could = |world: &World| world.mesh(world.dir(0), &["voters"])["ready"].as_array().unwrap().len();
    until("three vote, and the fourth could", || voters(&world).len() == 3 && could(&world) == 1);
    let lost = (1..4).find(|node| voters(&world).contains(&format!("node{node}"))).unwrap();
    let spare = (1..4).find(|node| !voters(&world).contains(&format!("node{node}"))).unwrap();
    world.kill(lost);
    let removed = world.mesh(world.dir(0), &["remove", &format!("node{lost}"), "--gone"]);
    let now = voters(&world);
    assert_eq!((now.len(), now.contains(&format!("node{lost}"))), (3, false), "{removed}");
    assert!(now.contains(&format!("node{spare}")), "{removed}");
    assert_eq!(removed["voters"].as_array().map(Vec::len), Some(3), "{removed}");
    // Had the removed one stayed on the list, the loss of another voter would be the end of a majority.
    let other = (1..4).find(|node| *node != lost && *node != spare).unwrap();
    world.kill(other);
    let served = world.run(spare, TELL_FENCE);
    assert_eq!(served.code, Some(0), "{}", served.err);
    // Of two members one votes.
    world.begin(other);
    until("it is back", || world.status(0, None).nodes.len() == 3);
    world.mesh(world.dir(0), &["remove", &format!("node{other}")]);
    assert_eq!(voters(&world), ["node0"]);
    assert_eq!(world.run(spare, TELL_FENCE).code, Some(0));
}

#[test]
fn a_voter_is_not_removed_where_voters_cannot_change() {
    let mut world = World::start_with(3, full(3), "", VOTERS);
    until("three vote", || world.mesh(world.dir(0), &["voters"])["voters"].as_array().unwrap().len() == 3);
    world.kill(0);
    let refused = world.refused_mesh(world.dir(0), &["remove", "node1"]);
    assert!(refused.contains("node1 votes") && refused.contains("start the node of this directory"), "{refused}");
    assert!(refused.contains("meshlock mesh voters node0"), "{refused}");
    let members = world.mesh(world.dir(0), &["members"]);
    let is_removed = |member: &serde_json::Value| member["removed"] == true;
    assert!(!members["members"].as_array().unwrap().iter().any(is_removed), "{members}");
    world.begin(0);
    assert_eq!(world.run(1, TELL_FENCE).code, Some(0), "it is a member as before");
}

#[test]
fn a_majority_of_voters_that_is_lost_is_replaced_by_force() {
    let mut world = World::start_with(5, full(5), "", VOTERS);
    let shown = |world: &World| world.mesh(world.dir(0), &["voters"]);
    until("three vote, and two others could", || {
        let shown = shown(&world);
        (shown["voters"].as_array().unwrap().len(), shown["ready"].as_array().unwrap().len()) == (3, 2)
    });
    let voters: Vec<String> = serde_json::from_value(shown(&world)["voters"].clone()).unwrap();
    let lost: Vec<usize> = (1..5).filter(|node| voters.contains(&format!("node{node}"))).collect();
    assert_eq!(lost.len(), 2, "the founder votes: {voters:?}");
    let left: Vec<usize> = (0..5).filter(|node| !lost.contains(node)).collect();
    let first = fence(&world.run(lost[0], TELL_FENCE).out);
    for node in &lost {
        world.kill(*node);
    }
    until("nobody is served", || {
        left.iter().all(|node| world.status(*node, None).recovery.unwrap().suspended.is_some())
    });
    let names = lost.iter().map(|node| format!("node{node}")).collect::<Vec<_>>().join(",");
    let command = ["voters", "--force", "--lost", &names];
    let refused = world.refused_mesh(world.dir(0), &command);
    assert!(refused.contains("--yes") && refused.contains("never run again"), "{refused}");
    let done = world.mesh(world.dir(0), &[&command[..], &["--yes"]].concat());
    assert_eq!((done["voters"].as_array().unwrap().len(), done["removed"].as_array().unwrap().len()), (3, 2), "{done}");
    let mut last = first;
    for node in &left {
        let served = world.run(*node, TELL_FENCE);
        assert_eq!(served.code, Some(0), "{}", served.err);
        assert!(fence(&served.out) > last, "{} after {last}", fence(&served.out));
        last = fence(&served.out);
    }
    // Repeated, it says that there is nothing to do; and one of the new voters may be lost.
    let again = world.mesh(world.dir(0), &[&command[..], &["--yes"]].concat());
    assert_eq!(again["voters"], done["voters"], "{again}");
    world.kill(left[2]);
    let served = world.run(left[1], TELL_FENCE);
    assert_eq!(served.code, Some(0), "{}", served.err);
    assert!(fence(&served.out) > last);
}
