//! What happens when a lock is lost while its command runs.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::world::World;
use crate::process::until;

const LOOP: &str = "while :; do sleep 0.02; done";

#[test]
fn the_command_is_asked_to_stop() {
    let world = World::new();
    let script = format!("trap 'echo bye; exit 0' TERM; echo ready; {LOOP}");
    let mut running = world.start(&["lock", "dock", "sh", "-c", &script]);
    assert_eq!(running.line(), "ready");
    world.revoke();
    let ran = running.end();
    assert_eq!((ran.code, ran.out.trim()), (Some(123), "bye"));
    assert!(ran.err.contains("the crane needs it"), "{}", ran.err);
}

#[test]
fn a_command_that_does_not_stop_is_killed_with_all_it_started() {
    let world = World::new();
    let script = format!("trap '' TERM; (echo ready; {LOOP}) & {LOOP}");
    let mut running = world.start(&["lock", "dock", "--kill-after", "100ms", "sh", "-c", &script]);
    assert_eq!(running.line(), "ready");
    world.revoke();
    // Its end is seen only when nobody has its outputs any more.
    assert_eq!(running.end().code, Some(123));
}

#[test]
fn what_somebody_gave_back_is_lost_too() {
    let world = World::new();
    let mut running = world.start(&["lock", "dock", "sh", "-c", "echo $MESHLOCK_REQUEST; exec sleep 1000"]);
    let id = running.line();
    assert_eq!(world.run(&["release", &id]).code, Some(0));
    assert_eq!(running.end().code, Some(123));
}

#[test]
fn a_command_may_go_on_but_its_success_is_none() {
    for (own, code) in [(0, 123), (5, 5)] {
        let world = World::new();
        let script = format!("echo ready; while [ ! -e go ]; do sleep 0.02; done; echo done; exit {own}");
        let mut running = world.start(&["lock", "dock", "--on-loss", "continue", "sh", "-c", &script]);
        assert_eq!(running.line(), "ready");
        world.revoke();
        running.until_error("is lost");
        fs::write(world.place.join("go"), "").unwrap();
        let ran = running.end();
        assert_eq!((ran.code, ran.out.trim()), (Some(code), "done"));
    }
}

#[test]
fn another_command_may_run_beside_it() {
    let world = World::new();
    let beside = "run:echo \"$MESHLOCK_NAME $MESHLOCK_HELD $MESHLOCK_LOST\" > note; mv note go";
    let script = "echo ready; while [ ! -e go ]; do sleep 0.02; done; cat go";
    let mut running = world.start(&["lock", "dock", "--on-loss", beside, "sh", "-c", script]);
    assert_eq!(running.line(), "ready");
    world.revoke();
    let ran = running.end();
    assert_eq!((ran.code, ran.out.trim()), (Some(123), "dock 0 REVOKED: the crane needs it"), "{}", ran.err);
}

#[test]
fn without_a_command_the_loss_is_the_end() {
    let world = World::new();
    let mut running = world.start(&["lock", "dock"]);
    running.line();
    world.revoke();
    assert_eq!(running.end().code, Some(123));
}

#[test]
fn a_node_that_stops_hears_when_its_clients_have_stopped() {
    for command in [&["lock", "dock"][..], &["lock", "dock", "sh", "-c", "echo ready; exec sleep 1000"]] {
        let world = World::new();
        let mut running = world.start(command);
        running.line();
        world.hub.with(|machine, now| machine.stop(now));
        assert_eq!(running.end().code, Some(123));
        assert!(!world.hub.with(|machine, _| machine.anybody_lingers()), "{command:?}");
    }
}

#[test]
fn a_node_that_stops_waits_for_a_command_that_does_not_stop() {
    let world = World::new();
    let script = format!("trap '' TERM; echo $$; {LOOP}");
    let mut running = world.start(&["lock", "dock", "--kill-after", "300ms", "sh", "-c", &script]);
    let command = Pid::from_raw(running.line().parse().unwrap()).unwrap();
    world.hub.with(|machine, now| machine.stop(now));
    until("the node may give it to others", || {
        // In this order: a command that is there a moment later was there before, too.
        let is_free = !world.hub.with(|machine, _| machine.anybody_lingers());
        assert!(!is_free || test_kill_process(command).is_err(), "the command is still inside");
        is_free
    });
    assert_eq!(running.end().code, Some(123));
}

#[test]
fn a_node_that_stops_waits_for_the_command_of_a_holder_that_was_killed() {
    let world = World::new();
    let mut running = world.start(&["lock", "dock", "--lease", "100ms", "sh", "-c", "echo $$; exec sleep 1000"]);
    let command = Pid::from_raw(running.line().parse().unwrap()).unwrap();
    running.send(Signal::KILL);
    assert_eq!(running.end_alone(), None);
    world.hub.with(|machine, now| machine.stop(now));
    std::thread::sleep(Duration::from_millis(300)); // several leases
    assert!(world.hub.with(|machine, _| machine.anybody_lingers()));
    kill_process(command, Signal::KILL).unwrap();
    until("it is free", || !world.hub.with(|machine, _| machine.anybody_lingers()));
}
