//! What operators do: remove resources, take grants away, see who held what, find out what is wrong, change the
//! configuration of a node that runs.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::lock::world::World as Alone;
use crate::process::until;
use crate::world::{World, line};

#[test]
fn a_refused_lock_leaves_no_resource_behind() {
    let world = Alone::new();
    let refused = world.run(&["lock", "gpu", "--units", "2", "--", "true"]);
    assert_eq!(refused.code, Some(125));
    assert!(refused.err.contains("meshlock resource make gpu --capacity 2"), "{}", refused.err);
    let made = world.run(&["resource", "make", "gpu", "--capacity", "2"]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    assert_eq!(world.run(&["lock", "gpu", "--units", "2", "--", "true"]).code, Some(0));
}

#[test]
fn the_first_use_of_a_name_says_what_it_made() {
    let world = Alone::new();
    let first = world.run(&["lock", "map", "--shared", "--", "true"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert!(first.err.contains("map is new") && first.err.contains("readers-writer"), "{}", first.err);
    assert_eq!(world.run(&["lock", "map", "--shared", "--", "true"]).err, "", "it is not new any more");
}

#[test]
fn resources_are_removed_and_replaced() {
    let world = Alone::new();
    world.taken_by("other", "gpu");
    let refused = world.run(&["resource", "remove", "gpu"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("in use") && refused.err.contains("meshlock status gpu"), "{}", refused.err);
    world.hub.release("other").unwrap();
    let conflict = world.run(&["resource", "make", "gpu", "--capacity", "3"]);
    assert!(conflict.err.contains("capacity is 3 as wanted and 1 in this mesh"), "{}", conflict.err);
    let replaced = world.run(&["resource", "make", "gpu", "--capacity", "3", "--replace", "--json"]);
    assert!(replaced.out.contains("\"capacity\": 3"), "{}{}", replaced.out, replaced.err);
    let removed = world.run(&["resource", "remove", "gpu"]);
    assert_eq!((removed.code, removed.out.as_str()), (Some(0), "gpu is removed from the mesh\n"), "{}", removed.err);
    assert_eq!(world.run(&["resource", "list", "--json"]).out.trim(), "[]");
}

#[test]
fn a_grant_at_another_node_is_revoked_and_the_audit_there_says_by_whom() {
    let world = World::start(2, line(2), "");
    let holder = world.go(1, &["lock", "dock", "--kill-after", "1s", "--", "sleep", "600"]);
    world.until_counts(0, "dock", 1, 0);
    let id = world.status(0, None).resources[0].holders[0].id.clone();
    let revoked = world.run(0, &["revoke", &id, "--reason", "crane broken", "--json"]);
    assert_eq!(revoked.code, Some(0), "{}", revoked.err);
    assert!(
        revoked.out.contains("\"stopped\": true") && revoked.out.contains("\"node\": \"node1\""),
        "{}",
        revoked.out
    );
    let ended = holder.end();
    assert_eq!(ended.code, Some(123));
    assert!(ended.err.contains("crane broken"), "{}", ended.err);
    until("the audit is written", || world.run(1, &["audit", "dock"]).out.contains("has stopped"));
    let audit = world.run(1, &["audit", "dock"]);
    for part in
        ["dock: granted to sleep[", "dock: revoked by ", " at node node0, from sleep[", "crane broken", "REVOKED"]
    {
        assert!(audit.out.contains(part), "{part}: {}", audit.out);
    }
    let records: serde_json::Value = serde_json::from_str(&world.run(1, &["audit", "--json"]).out).unwrap();
    assert!(records.as_array().unwrap().iter().any(|record| record["what"] == "revoked" && record["at"] == "node0"));
    let over = world.run(0, &["revoke", &id]);
    assert!(over.code == Some(2) && over.err.contains("over already"), "{}", over.err);
    assert_eq!(world.run(0, &["revoke", "nosuch"]).code, Some(2));
    assert_eq!(world.run(0, &["lock", "dock", "--", "true"]).code, Some(0), "it is free");
}

#[test]
fn the_doctor_finds_what_is_wrong_and_says_what_to_do() {
    let mut world = World::start(2, line(2), "[resources.gpu]\ncapacity = 2\n");
    let dir = |world: &World, node| world.dir(node).to_str().unwrap().to_owned();
    let doctor = |world: &World, node: usize, words: &[&str]| {
        let socket = world.dir(node).join("sock");
        world
            .run(node, &[&["doctor", "--dir", &dir(world, node), "--socket", socket.to_str().unwrap()], words].concat())
    };
    let fine = doctor(&world, 0, &[]);
    assert_eq!(fine.code, Some(0), "{}{}", fine.out, fine.err);
    assert!(fine.out.contains("nothing is wrong"), "{}", fine.out);
    // A file that declares something else.
    world.stop(1);
    fs::write(world.dir(1).join("meshlock.toml"), "[resources.gpu]\ncapacity = 5\n").unwrap();
    world.begin(1);
    world.until_linked();
    until("the other node tells of the conflict", || doctor(&world, 0, &[]).out.contains("the file of node1 declares"));
    let there = doctor(&world, 1, &["--json"]);
    assert_eq!(there.code, Some(1));
    let found: serde_json::Value = serde_json::from_str(&there.out).unwrap();
    assert_eq!(found["fine"], false);
    let is_it =
        |one: &serde_json::Value| one["subject"] == "declarations" && one["fix"].as_str().unwrap().contains("SIGHUP");
    assert!(found["findings"].as_array().unwrap().iter().any(is_it), "{}", there.out);
    // A node that does not run.
    world.kill(1);
    until("the node is missed", || doctor(&world, 0, &[]).out.contains("node1 does not answer"));
    let dead = doctor(&world, 1, &[]);
    assert_eq!(dead.code, Some(1));
    assert!(dead.out.contains("meshlock node"), "{}", dead.out);
    fs::write(world.dir(1).join("meshlock.toml"), "[nod]\n").unwrap();
    let broken = doctor(&world, 1, &[]);
    assert!(broken.out.contains("configuration") && broken.out.contains("nod"), "{}", broken.out);
}

#[test]
fn a_node_reads_its_configuration_again_on_sighup() {
    let world = World::start(1, Vec::new(), "[resources.gpu]\ncapacity = 2\n");
    let file = world.dir(0).join("meshlock.toml");
    let hang_up = || kill_process(Pid::from_raw(world.pid(0)).unwrap(), Signal::HUP).unwrap();
    let logged = |text: &str| until(text, || world.log(0).contains(text));
    fs::write(&file, "[node]\nlog = \"debug\"\nloss-after = \"3s\"\nstop-within = \"1s\"\n[api]\nmax-clients = 7\n[resources.gpu]\ncapacity = 3\n[resources.dock]\n").unwrap();
    hang_up();
    logged("SIGHUP: the configuration was read again");
    let log = world.log(0);
    for part in [
        "node.log is debug from now on",
        "resources.dock: it is made now",
        "capacity is 3 in the file and 2 in the mesh",
        "api.max-clients differs, which needs a new start of the node",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    until("dock is made", || world.run(0, &["resource", "list"]).out.contains("dock"));
    let refused = world.run(0, &["lock", "gpu", "--", "true"]);
    assert!(refused.err.contains("capacity is 3 in the file"), "{}", refused.err);
    fs::write(&file, "[resources.gpu]\ncapacity = 2\n[resources.dock]\n").unwrap();
    hang_up();
    logged("resources.gpu: agrees with the mesh");
    assert_eq!(world.run(0, &["lock", "gpu", "--", "true"]).code, Some(0));
    fs::write(&file, "[resources.gpu]\ncapacity = none\n").unwrap();
    hang_up();
    logged("changes nothing");
    assert_eq!(world.run(0, &["lock", "gpu", "--", "true"]).code, Some(0), "it goes on as before");
}
