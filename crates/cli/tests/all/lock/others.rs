//! `acquire`, `release`, `renew`, `status`, `watch`, `top` and `resource`.

use meshlock_api::{Event, MeshStatus, RequestInfo, ResourceInfo, State};
use rustix::process::Signal;

use super::world::World;
use crate::process::until;

#[test]
fn what_is_acquired_stays_until_it_is_released() {
    let world = World::new();
    world.run(&["resource", "make", "dock"]);
    let ran = world.run(&["acquire", "dock", "--lease", "5m"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let id = ran.out.trim();
    assert_eq!(world.hub.look(id).unwrap().state, State::Granted);
    assert_eq!(world.run(&["acquire", "dock", "--try"]).code, Some(124));
    assert_eq!(world.run(&["acquire", "dock", "-w", "20ms", "-E", "1"]).code, Some(1));
    let renewed = world.run(&["renew", id, "--lease", "2m"]);
    assert_eq!((renewed.code, renewed.out.starts_with("GRANTED for another ")), (Some(0), true), "{}", renewed.out);
    assert_eq!(world.hub.look(id).unwrap().lease_ms, 120_000);
    for _ in 0..2 {
        assert_eq!(world.run(&["release", id]).code, Some(0));
    }
    assert!(world.requests().is_empty());
}

#[test]
fn what_was_lost_cannot_be_released_or_renewed() {
    let world = World::new();
    let info: RequestInfo = serde_json::from_str(&world.run(&["acquire", "dock", "--json"]).out).unwrap();
    world.revoke();
    for command in ["release", "renew"] {
        let ran = world.run(&[command, &info.id]);
        assert_eq!(ran.code, Some(123));
        assert!(ran.err.contains("the crane needs it"), "{}", ran.err);
        assert_eq!(world.run(&[command, "nobody"]).code, Some(125));
    }
    let ran = world.run(&["release", "--json", &info.id]);
    let ended: RequestInfo = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, ended.state), (Some(123), State::Revoked));
    assert_eq!(world.run(&["acquire", "dock", "--socket", "missing"]).code, Some(125));
}

#[test]
fn the_status_shows_holders_and_waiters_in_order() {
    let world = World::new();
    assert!(world.run(&["status"]).out.contains("no resources yet"));
    assert_eq!(world.run(&["acquire", "dock", "--owner", "ann", "--lease", "5m"]).code, Some(0));
    let waiting = [("1", "bob"), ("7", "cy")];
    let waiting = waiting.map(|(priority, owner)| world.start(&["lock", "dock", "-p", priority, "--owner", owner]));
    world.until(State::Queued, 2);
    let ran = world.run(&["status", "dock"]);
    let at = |owner| ran.out.find(&format!(" {owner} ")).unwrap();
    assert!(at("ann") < at("cy") && at("cy") < at("bob"), "{}", ran.out);
    let status: MeshStatus = serde_json::from_str(&world.run(&["status", "--local", "--json"]).out).unwrap();
    assert_eq!((status.resources[0].holders.len(), status.resources[0].waiters.len()), (1, 2));
    let unknown = world.run(&["status", "nothing"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("nothing"), "{}", unknown.err);
    for running in waiting {
        running.send(Signal::TERM);
        assert_eq!(running.end().code, Some(143));
    }
}

#[test]
fn resources_are_made_changed_and_listed() {
    let world = World::new();
    assert_eq!(world.run(&["resource", "make", "gpu", "--capacity", "3"]).code, Some(0));
    let ran = world.run(&["resource", "make", "gpu", "--capacity", "4"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("defined otherwise"), "{}", ran.err);
    assert_eq!(world.run(&["resource", "set", "gpu", "--capacity", "5", "--lease", "1m"]).code, Some(0));
    assert_eq!(world.run(&["resource", "set", "gpu"]).code, Some(2));
    assert_eq!(world.run(&["resource", "make", "press", "--by-deadline"]).code, Some(0));
    let all: Vec<ResourceInfo> = serde_json::from_str(&world.run(&["resource", "list", "--json"]).out).unwrap();
    assert_eq!((all[0].definition.capacity, all[0].definition.lease_ms), (5, 60_000));
    assert!(world.run(&["resource", "list"]).out.contains("deadline"));
    let late = ["lock", "press", "--deadline", "2030-01-01T00:00:00+01:00", "echo", "pressed"];
    assert_eq!(world.run(&late).out, "pressed\n");
}

#[test]
fn events_are_lines() {
    let world = World::new();
    for json in [true, false] {
        let mut running = world.start(if json { &["watch", "dock", "--json"] } else { &["watch", "dock"] });
        let (sender, lines) = std::sync::mpsc::channel();
        let pid = running.pid();
        let reader = std::thread::spawn(move || {
            sender.send(running.line()).unwrap();
            running
        });
        // It listens some time after it was started, so something happens until it sees it.
        let mut line = None;
        until("an event was told", || {
            world.run(&["lock", "dock", "true"]);
            line = lines.try_recv().ok();
            line.is_some()
        });
        let line = line.unwrap();
        assert!(if json { serde_json::from_str::<Event>(&line).is_ok() } else { line.contains("dock: ") }, "{line}");
        rustix::process::kill_process(pid, Signal::INT).unwrap();
        assert_eq!(reader.join().unwrap().end().code, Some(130));
    }
}

#[test]
fn top_needs_a_terminal() {
    let world = World::new();
    let ran = world.run(&["top"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("meshlock status"), "{}", ran.err);
}
