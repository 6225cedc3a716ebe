//! Several resources at once, and smaller requests that pass a large one: a process for each of three nodes, used from a
//! shell and from a program.

use std::fs;
use std::thread;
use std::time::Duration;

use meshlock::blocking::Client;
use meshlock::{Client as AsyncClient, Part};
use rustix::process::Signal;

use crate::mesh_processes::recordings_are_right;
use crate::world::{World, line};

/// Long enough for any machine; only reached when something is wrong.
const PATIENT: Duration = Duration::from_secs(60);

/// A program at a node.
fn program_at(world: &World, node: usize) -> Client {
    Client::connect_with(AsyncClient::builder().socket(world.dir(node).join("sock"))).unwrap()
}

#[test]
fn several_resources_are_had_together_or_not_at_all() {
    let mut world = World::start(3, line(3), "[resources.dock]\n[resources.lifts]\ncapacity = 3\n");
    let mut holder = world.go(0, &["lock", "lifts", "--units", "2", "--and", "dock"]);
    assert!(holder.line().starts_with("lifts + dock granted"));

    // A program at the other end waits for both; what it does not wait for yet is free for others.
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let all = [Part::of("lifts").units(3), Part::of("dock")];
            let guard = program_at(&world, 2).lock_all(all).timeout(PATIENT).acquire().unwrap();
            let slots = guard.part("lifts").unwrap().slots.clone();
            let fence = guard.part("dock").unwrap().fence;
            guard.release().unwrap();
            (slots, fence)
        });
        world.until_counts(1, "dock", 1, 1);
        assert_eq!(world.run(1, &["lock", "lifts", "-w", "60s", "--", "echo", "one"]).out, "one\n");
        let both = world.run(1, &["lock", "lifts", "--and", "dock", "--try", "--", "true"]);
        assert_eq!(both.code, Some(124), "{}", both.err);
        world.until_counts(1, "lifts", 1, 0);
        world.until_counts(1, "dock", 1, 1);
        assert_eq!(holder.end_by(Signal::TERM).code, Some(0));
        let (slots, fence) = waiting.join().unwrap();
        assert_eq!((slots.as_slice(), fence.is_some()), ([0, 1, 2].as_slice(), true));
    });

    // Lists in all orders, at all nodes at once: nobody waits for ever, nobody comes between.
    fs::write(world.place().join("counter"), "0\n").unwrap();
    thread::scope(|scope| {
        for (node, [first, second]) in
            [["dock", "lifts=3"], ["lifts=3", "dock"], ["dock", "lifts=2"]].iter().enumerate()
        {
            let (name, units) = first.split_once('=').unwrap_or((first, "1"));
            let world = &world;
            scope.spawn(move || {
                for _ in 0..3 {
                    let script = "n=$(cat counter); sleep 0.01; echo $((n + 1)) > counter";
                    let words = ["lock", name, "--units", units, "--and", second, "-w", "60s", "-c", script];
                    let ran = world.run(node, &words);
                    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "at node {node}");
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(world.place().join("counter")).unwrap(), "9\n");
    world.until_counts(0, "lifts", 0, 0);
    recordings_are_right(&mut world, &[0, 1, 2], "dock");
}

#[test]
fn smaller_requests_pass_a_large_one_where_the_policy_says_so_and_16_of_them_only() {
    let resources = "[resources.gpu]\ncapacity = 4\npolicy = \"backfill\"\n[resources.strict]\ncapacity = 4\n";
    let mut world = World::start(3, line(3), resources);
    let order = |name: &str| fs::read_to_string(world.place().join(format!("{name}.order"))).unwrap_or_default();
    let note = |name: &str, who: &str| format!("echo {who} >> {name}.order");

    for name in ["gpu", "strict"] {
        // In the middle of the line: a node behind the large request would not tell of smaller ones.
        let mut holder = world.go(1, &["lock", name, "--units", "3"]);
        assert!(holder.line().starts_with(&format!("{name} granted")));
        let front = world.go(2, &["lock", name, "--units", "4", "-p", "9", "-c", &note(name, "front")]);
        world.until_counts(1, name, 1, 1);
        if name == "gpu" {
            let small = world.run(0, &["lock", name, "-w", "60s", "-c", &note(name, "small")]);
            assert_eq!(small.code, Some(0), "{}", small.err);
            let program = program_at(&world, 0);
            for _ in 1..16 {
                program.lock(name).timeout(PATIENT).acquire().unwrap().release().unwrap();
            }
        }
        // It has to wait for the front: always, or because 16 have passed that one.
        let late = world.go(0, &["lock", name, "-c", &note(name, "late")]);
        world.until_counts(0, name, 1, 2);
        assert_eq!(holder.end_by(Signal::TERM).code, Some(0));
        assert_eq!((front.end().code, late.end().code), (Some(0), Some(0)));
    }
    assert_eq!((order("gpu").as_str(), order("strict").as_str()), ("small\nfront\nlate\n", "front\nlate\n"));
    recordings_are_right(&mut world, &[0, 1, 2], "gpu");
}
