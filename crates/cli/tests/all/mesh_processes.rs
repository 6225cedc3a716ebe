//! The real program end to end: a process for every node and for every client, linked over the loopback.

use std::fs;

use rustix::process::Signal;

use crate::process::until;
use crate::world::{World, full, line, ring};

const RESOURCES: &str = r#"
[resources.gate]
[resources.docks]
capacity = 3
[resources.map]
kind = "readers-writer"
[resources.room]
kind = "sessions"
"#;

/// Reads, waits for a moment in which others could come between, and writes.
const INCREMENT: &str = "n=$(cat counter); sleep 0.01; echo $((n + 1)) > counter";

const ROUNDS: usize = 3;
const CLIENTS: usize = 2;

/// Several clients at all nodes at once; none may overwrite what another has written.
fn everybody_counts(world: &World, nodes: usize) {
    fs::write(world.place().join("counter"), "0\n").unwrap();
    std::thread::scope(|scope| {
        for node in (0..nodes * CLIENTS).map(|client| client % nodes) {
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let ran = world.run(node, &["lock", "counter", "-w", "60s", "--", "sh", "-c", INCREMENT]);
                    // The first one is told that it made the lock.
                    let told = ran.err.lines().filter(|line| !line.contains("counter is new")).count();
                    assert_eq!((ran.code, told), (Some(0), 0), "at node {node}: {}", ran.err);
                }
            });
        }
    });
    assert_eq!(
        fs::read_to_string(world.place().join("counter")).unwrap().trim(),
        (nodes * CLIENTS * ROUNDS).to_string()
    );
}

/// Stops these nodes, puts what they recorded of a resource together, and runs it again.
pub(crate) fn recordings_are_right(world: &mut World, nodes: &[usize], resource: &str) {
    for node in nodes {
        world.stop(*node);
    }
    let mut parts: Vec<String> = Vec::new();
    for node in nodes {
        let files = fs::read_dir(world.dir(*node)).unwrap().map(|file| file.unwrap().path());
        let of_resource = |file: &std::path::PathBuf| file.to_string_lossy().ends_with(&format!(".{resource}.jsonl"));
        parts.extend(files.filter(of_resource).map(|file| file.to_str().unwrap().to_owned()));
    }
    assert!(parts.len() >= nodes.len(), "everybody took part and recorded it: {parts:?}");
    let all: Vec<&str> =
        ["trace", "merge", "-o", "all.jsonl"].into_iter().chain(parts.iter().map(String::as_str)).collect();
    let merged = world.run(0, &all);
    assert_eq!(merged.code, Some(0), "{}", merged.err);
    assert!(merged.out.contains("in exact order"), "{}", merged.out);
    let audited = world.run(0, &["trace", "audit", "all.jsonl"]);
    assert_eq!(audited.code, Some(0), "{}{}", audited.out, audited.err);
}

#[test]
fn nobody_overwrites_anybody_in_a_line() {
    let mut world = World::start(5, line(5), RESOURCES);
    everybody_counts(&world, 5);
    recordings_are_right(&mut world, &[0, 1, 2, 3, 4], "counter");
}

#[test]
fn nobody_overwrites_anybody_in_a_ring() {
    let mut world = World::start(5, ring(5), RESOURCES);
    everybody_counts(&world, 5);
    recordings_are_right(&mut world, &[0, 1, 2, 3, 4], "counter");
}

#[test]
fn nobody_overwrites_anybody_in_a_full_mesh() {
    let mut world = World::start(5, full(5), RESOURCES);
    everybody_counts(&world, 5);
    recordings_are_right(&mut world, &[0, 1, 2, 3, 4], "counter");
}

#[test]
fn every_kind_of_lock_works_from_end_to_end() {
    let mut world = World::start(5, line(5), RESOURCES);
    the_urgent_go_first(&world);
    units_are_shared(&world);
    sessions_go_together(&world);
    readers_go_together(&world);
    waiting_can_be_ended(&world);
    recordings_are_right(&mut world, &[0, 1, 2, 3, 4], "gate");
}

/// The holder is at one end; who asked first at the other end is not first.
fn the_urgent_go_first(world: &World) {
    let mut holder = world.go(0, &["lock", "gate"]);
    assert!(holder.line().starts_with("gate granted"));
    let note = |who: &str| format!("echo {who} >> order");
    let low = world.go(4, &["lock", "-p", "1", "gate", "-c", &note("low")]);
    world.until_counts(2, "gate", 1, 1);
    let high = world.go(3, &["lock", "-p", "9", "gate", "-c", &note("high")]);
    world.until_counts(2, "gate", 1, 2);
    assert_eq!(holder.end_by(Signal::TERM).code, Some(0));
    assert_eq!((high.end().code, low.end().code), (Some(0), Some(0)));
    assert_eq!(fs::read_to_string(world.place().join("order")).unwrap(), "high\nlow\n");
}

fn units_are_shared(world: &World) {
    let mut two = world.go(0, &["lock", "--units", "2", "docks"]);
    assert!(two.line().starts_with("docks granted"));
    assert_eq!(world.run(4, &["lock", "-w", "30s", "docks", "--", "echo", "third"]).out, "third\n");
    let three = world.go(4, &["lock", "--units", "3", "docks", "--", "echo", "all"]);
    world.until_counts(0, "docks", 1, 1);
    assert_eq!(two.end_by(Signal::TERM).code, Some(0));
    let ran = three.end();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "all\n"));
}

fn sessions_go_together(world: &World) {
    let mut red = world.go(1, &["lock", "--session", "red", "room"]);
    assert!(red.line().starts_with("room granted"));
    let mut also_red = world.go(3, &["lock", "--session", "red", "room"]);
    assert!(also_red.line().starts_with("room granted"));
    let blue = world.go(4, &["lock", "--session", "blue", "room", "--", "echo", "blue"]);
    world.until_counts(0, "room", 2, 1);
    assert_eq!((red.end_by(Signal::TERM).code, also_red.end_by(Signal::TERM).code), (Some(0), Some(0)));
    assert_eq!(blue.end().out, "blue\n");
}

fn readers_go_together(world: &World) {
    let mut first = world.go(0, &["lock", "-s", "map"]);
    assert!(first.line().starts_with("map granted"));
    let mut second = world.go(4, &["lock", "-s", "map"]);
    assert!(second.line().starts_with("map granted"));
    let writer = world.go(2, &["lock", "-x", "map", "--", "echo", "written"]);
    world.until_counts(1, "map", 2, 1);
    assert_eq!((first.end_by(Signal::TERM).code, second.end_by(Signal::TERM).code), (Some(0), Some(0)));
    assert_eq!(writer.end().out, "written\n");
}

/// By Ctrl-C and by a timeout, far from the holder.
fn waiting_can_be_ended(world: &World) {
    let mut holder = world.go(0, &["lock", "gate"]);
    assert!(holder.line().starts_with("gate granted"));
    let waiting = world.go(4, &["lock", "gate", "--", "true"]);
    world.until_counts(0, "gate", 1, 1);
    waiting.send(Signal::INT);
    assert_eq!(waiting.end().code, Some(130));
    world.until_counts(0, "gate", 1, 0);
    assert_eq!(world.run(4, &["lock", "-w", "100ms", "gate", "--", "true"]).code, Some(124));
    world.until_counts(0, "gate", 1, 0);
    assert_eq!(holder.end_by(Signal::TERM).code, Some(0));
}

/// Writes its fence and a word to a file, unless a larger fence was there before.
const GUARDED_WRITE: &str = r#"
read seen _ < guarded
if [ "$MESHLOCK_FENCE" -ge "$seen" ]; then echo "$MESHLOCK_FENCE $word" > guarded; echo "$MESHLOCK_FENCE written"
else echo "$MESHLOCK_FENCE refused"; fi"#;

#[test]
fn clients_that_die_or_sleep_lose_what_they_held() {
    let mut world = World::start(5, line(5), RESOURCES);

    let mut killed = world.go(0, &["lock", "--lease", "1s", "gate"]);
    assert!(killed.line().starts_with("gate granted"));
    killed.send(Signal::KILL);
    assert_eq!(killed.end().code, None);
    assert_eq!(world.run(4, &["lock", "-w", "30s", "gate", "--", "echo", "next"]).out, "next\n");

    fs::write(world.place().join("guarded"), "0 nothing\n").unwrap();
    // It does not outlive the test, should that end here.
    let sleeper = format!(
        "word=old; echo ready; while [ ! -e go ] && [ -e {place} ]; do sleep 0.02; done; {GUARDED_WRITE}",
        place = world.place().join("guarded").display(),
    );
    let mut stopped = world.go(1, &["lock", "--lease", "1s", "--on-loss", "continue", "gate", "-c", &sleeper]);
    assert_eq!(stopped.line(), "ready");
    stopped.send(Signal::STOP);
    let next = world.run(3, &["lock", "-w", "30s", "gate", "-c", &format!("word=new; {GUARDED_WRITE}")]);
    let new_fence: u64 = next.out.strip_suffix(" written\n").unwrap().parse().unwrap();
    fs::write(world.place().join("go"), "").unwrap();
    let late = stopped.line();
    let old_fence: u64 = late.strip_suffix(" refused").unwrap().parse().unwrap();
    assert!(old_fence < new_fence, "{old_fence} was before {new_fence}");
    stopped.send(Signal::CONT);
    assert_eq!(stopped.end().code, Some(123), "and it hears that it was lost");
    assert_eq!(fs::read_to_string(world.place().join("guarded")).unwrap(), format!("{new_fence} new\n"));
    recordings_are_right(&mut world, &[0, 1, 2, 3, 4], "gate");
}

#[test]
fn nodes_that_stop_pass_their_tokens_and_come_back() {
    let mut world = World::start(5, ring(5), RESOURCES);
    everybody_counts(&world, 5);
    // The token comes here and stays, because nobody else asks.
    assert_eq!(world.run(2, &["lock", "counter", "--", "true"]).code, Some(0));
    let token_at = |world: &World, node| {
        let status = world.status(node, Some("counter"));
        status.resources.into_iter().find_map(|found| found.token_at)
    };
    assert_eq!(token_at(&world, 0).as_deref(), Some("node2"));
    world.stop(2);
    let log = world.log(2);
    let passed = log.lines().find(|line| line.contains("tokens passed to neighbours")).unwrap_or_default();
    assert!(passed.contains("counter"), "{log}");
    for node in [0, 1, 3, 4] {
        let ran = world.run(node, &["lock", "counter", "-w", "30s", "--", "sh", "-c", INCREMENT]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "at node {node}");
    }

    world.begin(2);
    world.until_linked();
    for node in [2, 0, 2] {
        let ran = world.run(node, &["lock", "counter", "-w", "30s", "--", "sh", "-c", INCREMENT]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "at node {node}");
    }
    until("the token is where it was used last", || token_at(&world, 4).as_deref() == Some("node2"));
    assert_eq!(
        fs::read_to_string(world.place().join("counter")).unwrap().trim(),
        (5 * CLIENTS * ROUNDS + 7).to_string()
    );
    // Two lives of one node cannot be in one merged trace; what it said is checked by those who heard it.
    recordings_are_right(&mut world, &[0, 1, 3, 4], "counter");
}

#[test]
fn a_node_that_stops_lets_nobody_in_while_the_command_of_its_client_runs() {
    let mut world = World::start(2, line(2), RESOURCES);
    // It waits for less than the command takes to be killed, so it has to keep the grant.
    world.stop_within(1, "100ms");
    let script = "trap '' TERM; echo $$; while :; do sleep 0.02; done";
    let mut holder = world.go(1, &["lock", "gate", "--kill-after", "1s", "--", "sh", "-c", script]);
    let command = holder.line();
    let look = format!("kill -0 {command} 2>/dev/null && echo together || echo alone");
    let next = world.go(0, &["lock", "gate", "--lease", "10m", "-c", &look]);
    world.until_counts(0, "gate", 1, 1);
    world.stop(1);
    assert!(world.log(1).contains("gate is held on by request"), "{}", world.log(1));
    assert_eq!(holder.end().code, Some(123), "its command was killed");
    world.begin(1);
    world.until_linked();
    // The client could not say that it stopped; now somebody does, or the lease would end.
    let status = world.status(1, Some("gate"));
    let held = &status.resources[0].holders[0];
    assert_eq!((held.node.as_str(), status.resources[0].waiters.len()), ("node1", 1));
    assert_eq!(world.run(1, &["release", &held.id]).code, Some(0));
    assert_eq!(next.end().out, "alone\n");
}

#[test]
fn a_removed_node_passes_its_tokens_on_and_ends_and_does_not_start_again() {
    let mut world = World::start(3, full(3), "[resources.gate]");
    let mut holder = world.go(1, &["lock", "gate"]);
    assert!(holder.line().starts_with("gate granted"));
    let waiter = world.go(0, &["lock", "-w", "60s", "gate", "--", "echo", "mine"]);
    world.until_counts(2, "gate", 1, 1);
    world.mesh(world.dir(0), &["remove", "node1"]);
    let ran = waiter.end();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "mine\n"), "{}", ran.err);
    drop(holder);
    assert_eq!(world.ended(1), Some(77), "{}", world.log(1));
    let words = "error: this node was removed from mesh \"hall\". To let the machine take part again, run `meshlock mesh \
                 invite node1` on the founder's machine and `meshlock mesh join --force INVITATION` here";
    assert!(world.log(1).contains(words), "{}", world.log(1));
    for _ in 0..2 {
        let again = world.fails_to_start(1);
        assert_eq!(again.code, Some(77), "{}", again.err);
        assert!(again.err.contains(words), "{}", again.err);
    }
    // What the words say works.
    let invited = world.mesh(world.dir(0), &["invite", "node1"]);
    world.mesh(world.dir(1), &["join", "--force", invited["invitation"].as_str().unwrap()]);
    world.begin(1);
    world.until_linked();
    assert_eq!(world.run(1, &["lock", "-w", "60s", "gate", "--", "echo", "back"]).out, "back\n");
}
