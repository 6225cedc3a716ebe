//! Signals, and programs that die or are stopped.

use std::time::Duration;

use meshlock_api::{Expiry, State};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::world::World;
use crate::process::until;

#[test]
fn signals_are_passed_on_to_the_command() {
    let world = World::new();
    let (usr1, usr2) = ((Signal::USR1, "USR1"), (Signal::USR2, "USR2"));
    for (signal, name) in [(Signal::TERM, "TERM"), (Signal::INT, "INT"), (Signal::HUP, "HUP"), usr1, usr2] {
        let script = format!("trap 'echo got {name}; exit 3' {name}; echo ready; while :; do sleep 0.02; done");
        let mut running = world.start(&["lock", "dock", "sh", "-c", &script]);
        assert_eq!(running.line(), "ready");
        running.send(signal);
        let ran = running.end();
        assert_eq!((ran.code, ran.out.trim()), (Some(3), format!("got {name}").as_str()), "{}", ran.err);
        assert!(world.requests().is_empty(), "given back");
    }
}

#[test]
fn a_signal_reaches_all_that_the_command_started() {
    let world = World::new();
    let script = "(trap 'echo inner; exit' TERM; echo ready; while :; do sleep 0.02; done) & wait; wait";
    let mut running = world.start(&["lock", "dock", "sh", "-c", script]);
    assert_eq!(running.line(), "ready");
    running.send(Signal::TERM);
    let ran = running.end();
    assert_eq!((ran.code, ran.out.trim()), (Some(143), "inner"));
}

#[test]
fn a_signal_while_waiting_leaves_the_queue() {
    let world = World::new();
    world.taken_by("other", "dock");
    for (signal, code, command) in [(Signal::INT, 130, "lock"), (Signal::TERM, 143, "acquire")] {
        let running = world.start(&[command, "dock"]);
        world.until(State::Queued, 1);
        running.send(signal);
        assert_eq!(running.end().code, Some(code));
        world.until(State::Queued, 0);
    }
}

#[test]
fn what_was_ignored_from_the_start_stays_ignored() {
    let world = World::new();
    let binary = crate::PROGRAM;
    let script = format!("trap '' HUP; {binary} lock dock sh -c 'kill -HUP $$; kill -HUP $PPID; echo survived'");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).env("MESHLOCK_SOCKET", &world.socket).env_remove("MESHLOCK_URL");
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"survived\n"[..]));
}

#[test]
fn a_killed_holder_leaves_the_lock_to_its_command() {
    let world = World::new();
    let mut running = world.start(&["lock", "dock", "--lease", "100ms", "sh", "-c", "echo $$; exec sleep 1000"]);
    let command: i32 = running.line().parse().unwrap();
    let id = world.requests()[0].id.clone();
    let next = world.start(&["lock", "dock", "echo", "mine"]);
    world.until(State::Queued, 1);
    running.send(Signal::KILL);
    assert_eq!(running.end_alone(), None);
    std::thread::sleep(Duration::from_millis(500)); // several leases
    assert_eq!(world.hub.look(&id).unwrap().state, State::Granted, "the command runs");
    kill_process(Pid::from_raw(command).unwrap(), Signal::KILL).unwrap();
    assert_eq!(next.end().out, "mine\n");
    let ended = world.hub.look(&id).unwrap();
    assert_eq!((ended.state, ended.expiry), (State::Expired, Some(Expiry::Disconnect)));
}

#[test]
fn what_the_command_started_keeps_the_lock_of_a_killed_holder_too() {
    let world = World::new();
    let script = "sleep 1000 & echo $!; exec sleep 1001";
    let mut running = world.start(&["lock", "dock", "--lease", "1h", "sh", "-c", script]);
    let inner: i32 = running.line().parse().unwrap();
    let id = world.requests()[0].id.clone();
    // The whole process group of the command but its child.
    let group = kill_and_find_group(running, inner);
    until("the command is gone", || test_kill_process(group).is_err());
    assert_eq!(world.hub.look(&id).unwrap().state, State::Granted);
    kill_process(Pid::from_raw(inner).unwrap(), Signal::KILL).unwrap();
    until("the lock is free", || world.hub.look(&id).unwrap().state == State::Expired);
}

/// Kills the holder and its command, and returns the command's process.
fn kill_and_find_group(running: crate::process::Running, inner: i32) -> Pid {
    let status = std::fs::read_to_string(format!("/proc/{inner}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
    let parent = Pid::from_raw(parent).unwrap();
    running.send(Signal::KILL);
    assert_eq!(running.end_alone(), None);
    kill_process(parent, Signal::KILL).unwrap();
    parent
}

#[test]
fn a_command_that_does_not_inherit_the_connection_does_not_keep_the_lock() {
    let world = World::new();
    let words = ["lock", "dock", "--close", "--lease", "1h", "sh", "-c", "echo $$; exec sleep 1000"];
    let mut running = world.start(&words);
    let command: i32 = running.line().parse().unwrap();
    running.send(Signal::KILL);
    assert_eq!(running.end_alone(), None);
    assert_eq!(world.run(&["lock", "dock", "echo", "mine"]).out, "mine\n", "at once: its lease is an hour");
    kill_process(Pid::from_raw(command).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_command_under_a_lock_ends_the_lock_whatever_it_leaves_behind() {
    let world = World::new();
    let mut running = world.start(&["lock", "dock", "sh", "-c", "sleep 1000 & echo $!"]);
    let left: i32 = running.line().parse().unwrap();
    until("given back", || world.requests().is_empty());
    kill_process(Pid::from_raw(left).unwrap(), Signal::KILL).unwrap();
    assert_eq!(running.end().code, Some(0));
}

#[test]
fn a_killed_waiter_does_not_stand_in_the_way_of_the_next() {
    let world = World::new();
    world.taken_by("holder", "dock");
    // Leases are so long that they explain nothing.
    let killed = world.start(&["lock", "dock", "-p", "9", "--lease", "1h", "--", "echo", "killed"]);
    world.until(State::Queued, 1);
    let next = world.start(&["lock", "dock", "--lease", "1h", "--", "echo", "next"]);
    world.until(State::Queued, 2);
    killed.send(Signal::KILL);
    assert_eq!(killed.end().code, None);
    world.hub.release("holder").unwrap();
    assert_eq!(next.end().out, "next\n");
}

#[test]
fn a_stopped_holder_loses_to_a_larger_fence_and_learns_of_it() {
    let world = World::new();
    let script = "trap 'echo bye; exit 0' TERM; echo $MESHLOCK_FENCE; while :; do sleep 0.02; done";
    let mut running = world.start(&["lock", "dock", "--lease", "300ms", "sh", "-c", script]);
    let old: u64 = running.line().parse().unwrap();
    running.send(Signal::STOP);
    let next = world.run(&["lock", "dock", "sh", "-c", "echo $MESHLOCK_FENCE"]);
    let new: u64 = next.out.trim().parse().unwrap();
    assert!(new > old);
    running.send(Signal::CONT);
    let ran = running.end();
    assert_eq!((ran.code, ran.out.trim()), (Some(123), "bye"), "{}", ran.err);
}
