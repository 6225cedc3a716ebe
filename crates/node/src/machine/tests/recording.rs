//! What happened can be recorded, by one recorder for all nodes or by one for each, and run again.

use std::fs::{self, File};
use std::io::{BufReader, Cursor};
use std::path::Path;

use meshlock_api::{Kind, NewRequest, NewResource, Protocol, State, What as Told};
use meshlock_audit::{Audited, audit};
use meshlock_core::recovery::Census;
use meshlock_trace::{Reader, Record, What, merge};
use tempfile::{TempDir, tempdir};

use super::super::{Machine, Noticed, Now, Observer, Step};
use super::mesh::Mesh;
use super::{Net, semaphore, settings, wants};
use crate::record::Recorder;
use crate::wire::Entry;

const RESOURCES: [&str; 4] = ["gpus", "room", "belt", "hall"];

fn sessions(protocol: Protocol) -> NewResource {
    NewResource { kind: Some(Kind::Sessions), protocol: Some(protocol), ..NewResource::default() }
}

/// Three nodes in a line with a resource of every protocol.
fn some_life(net: &mut Net) {
    net.link(0, 1);
    net.link(1, 2);
    net.settle();
    net.define(0, "gpus", semaphore(3));
    net.define(1, "room", sessions(Protocol::ReverseLink));
    net.define(2, "belt", NewResource { protocol: Some(Protocol::Flood), ..NewResource::default() });
    net.define(0, "hall", sessions(Protocol::Group));
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..12 {
        let mut asked = Vec::new();
        for at in 0..3 {
            for name in RESOURCES {
                let mut request = NewRequest { lease_ms: Some(86_400_000), ..wants(name) };
                match name {
                    "gpus" => request.units = Some(random.u32(1..=3)),
                    "room" | "hall" => request.session = Some(format!("s{}", random.u32(0..2))),
                    _ => {}
                }
                asked.push((at, net.ask(at, request)));
            }
            while random.bool()
                && let Some(wire) = random.choice(net.busy_wires())
            {
                net.deliver(wire);
            }
        }
        if round % 3 == 1 {
            net.cut(1, 2);
            net.settle();
            net.link(if round == 4 { 0 } else { 1 }, 2);
        }
        if round == 7 {
            net.cut(0, 2);
            net.link(1, 2);
        }
        for _ in 0..40 {
            net.settle();
            net.pass_ms(1_000);
            for (at, ticket) in &asked {
                if net.state(*at, *ticket) == State::Granted {
                    net.release(*at, *ticket);
                }
            }
        }
        assert!(asked.iter().all(|(at, ticket)| net.state(*at, *ticket).is_over()), "round {round}: somebody waits");
    }
}

fn records(path: &Path) -> Vec<Record> {
    let reader = Reader::new(BufReader::new(File::open(path).expect("recorded"))).expect("a trace");
    reader.map(|record| record.expect("whole")).collect()
}

fn fine(what: &str, audited: &Audited) {
    assert_eq!(audited.difference, None, "{what}");
    assert_eq!((audited.skipped.as_slice(), audited.unchecked_messages, audited.ended), (&[][..], 0, true), "{what}");
    assert_eq!((audited.nodes, audited.events), (3, audited.replayed), "{what}");
    assert!(audited.messages > 20, "{what}: {audited:?}");
}

#[test]
fn one_recorder_for_all_nodes_tells_the_whole_story() {
    let place = tempdir().expect("a directory");
    let recorder = Recorder::new(&place.path().join("run.jsonl")).expect("it can be written");
    let mut net = Net::new(3);
    for machine in &mut net.machines {
        let observer = recorder.observer(machine.settings());
        machine.set_recorder(observer);
    }
    some_life(&mut net);
    recorder.finish().expect("written");
    for name in RESOURCES {
        let path = place.path().join(format!("run.{name}.jsonl"));
        fine(name, &audit(BufReader::new(File::open(&path).expect("recorded"))).expect("readable"));
        let all = records(&path);
        assert_eq!(all.iter().filter(|record| matches!(record.what, What::Join(_))).count(), 2);
        let links = all.iter().filter(|record| matches!(record.what, What::Link(_))).count();
        let said = |record: &&Record| {
            let What::Event(happening) = &record.what else { return false };
            matches!(happening.event, meshlock_core::Event::LinkUp { .. } | meshlock_core::Event::LinkDown { .. })
        };
        assert!(links * 2 <= all.iter().filter(said).count() + 1, "two ends, one record");
        let caused = |record: &Record| match &record.what {
            What::Event(happening) => {
                happening.cause.is_some() || !matches!(happening.event, meshlock_core::Event::Receive { .. })
            }
            What::Link(_) | What::Move(_) | What::Lost(_) | What::Join(_) | What::End(_) => true,
        };
        assert!(all.iter().all(caused), "every arrival names its sending");
    }
}

/// One recorder for each node, as in three processes.
fn apart(nodes: u32) -> (TempDir, Net, Vec<Recorder>) {
    let place = tempdir().expect("a directory");
    let mut net = Net::new(nodes);
    let mut recorders = Vec::new();
    for (number, machine) in net.machines.iter_mut().enumerate() {
        let recorder = Recorder::new(&place.path().join(format!("n{number}.jsonl"))).expect("it can be written");
        machine.set_recorder(recorder.observer(machine.settings()));
        recorders.push(recorder);
    }
    (place, net, recorders)
}

#[test]
fn recordings_of_several_processes_are_merged_into_one_story() {
    let (place, mut net, recorders) = apart(3);
    some_life(&mut net);
    for recorder in &recorders {
        recorder.finish().expect("written");
    }
    for name in RESOURCES {
        let input = |number: usize| {
            let path = place.path().join(format!("n{number}.{name}.jsonl"));
            (format!("n{number}"), BufReader::new(File::open(path).expect("recorded")))
        };
        let alone = audit(input(1).1).expect("readable");
        assert_eq!(alone.difference, None);
        assert!(alone.unchecked_messages > 0 && alone.messages == 0, "one node does not see what the others send");
        let mut merged = Vec::new();
        let told = merge((0..3).map(input).collect(), &mut merged).expect("they belong together");
        if cfg!(target_os = "linux") {
            assert!(told.exact && told.warnings.is_empty(), "{told:?}");
            fine(name, &audit(Cursor::new(merged)).expect("readable"));
        }
    }
}

/// Nodes crash with a token and with grants, and come back; one is declared gone while it lives, and begins anew.
fn some_crashes(mesh: &mut Mesh, restarted: impl Fn(&mut Mesh, usize)) {
    mesh.net.define(0, "gpus", semaphore(3));
    mesh.net.define(1, "room", sessions(Protocol::ReverseLink));
    mesh.net.define(2, "belt", NewResource { protocol: Some(Protocol::Flood), ..NewResource::default() });
    mesh.net.define(0, "hall", sessions(Protocol::Group));
    let request = |name: &str| {
        let session = ["room", "hall"].contains(&name).then(|| "s".to_owned());
        let units = (name == "gpus").then_some(2);
        NewRequest { lease_ms: Some(86_400_000), session, units, ..wants(name) }
    };
    for round in 0..4 {
        let (victim, other) = (1 + round % 2, 2 - round % 2);
        let held: Vec<_> = RESOURCES.iter().map(|name| mesh.net.ask(victim, request(name))).collect();
        mesh.net.settle();
        for ticket in &held {
            assert_eq!(mesh.state(victim, *ticket), State::Granted, "round {round}");
        }
        let waits: Vec<_> = RESOURCES.iter().map(|name| mesh.net.ask(other, request(name))).collect();
        mesh.net.settle();
        mesh.kill(victim);
        if round == 2 {
            let gone = mesh.net.machines[victim].settings.id;
            mesh.net.machines[0].learn_facts(mesh.net.now, &Census::gone_fact(gone)).expect("durable");
            mesh.net.collect(0);
            mesh.net.settle();
            // What is made now must have fences above all that was lost with those who knew it.
            let name = "later";
            mesh.net.define(other, name, NewResource::default());
            let ticket = mesh.net.ask(0, wants(name));
            mesh.net.settle();
            assert_eq!(mesh.state(0, ticket), State::Granted);
        }
        restarted(mesh, victim);
        mesh.restart(victim);
        for (name, ticket) in RESOURCES.iter().zip(waits) {
            for _ in 0..10 {
                mesh.run_ms(1_000);
            }
            assert_eq!(mesh.state(other, ticket), State::Granted, "round {round}: {name}");
            mesh.net.release(other, ticket);
        }
        mesh.net.settle();
    }
    let gone = mesh.net.machines[2].settings.id;
    let held = mesh.net.ask(2, request("gpus"));
    mesh.net.settle();
    mesh.net.cut(0, 2);
    mesh.net.cut(1, 2);
    mesh.net.machines[0].learn_facts(mesh.net.now, &Census::gone_fact(gone)).expect("durable");
    mesh.net.collect(0);
    mesh.net.settle();
    mesh.net.link(0, 2);
    mesh.net.settle();
    assert_eq!(mesh.state(2, held), State::Revoked);
    mesh.tend();
    mesh.net.settle();
    let again = mesh.net.ask(2, request("gpus"));
    mesh.net.settle();
    assert_eq!(mesh.state(2, again), State::Granted);
}

fn fine_after_crashes(what: &str, nodes: u64, audited: &Audited) {
    assert_eq!(audited.difference, None, "{what}");
    assert_eq!((audited.skipped.as_slice(), audited.unchecked_messages), (&[][..], 0), "{what}");
    assert_eq!((audited.nodes, audited.events), (nodes, audited.replayed), "{what}");
}

#[test]
fn crashes_and_repairs_are_recorded_and_run_again() {
    let place = tempdir().expect("a directory");
    let recorder = Recorder::new(&place.path().join("run.jsonl")).expect("it can be written");
    let mut mesh = Mesh::recorded(3, vec![recorder.clone(); 3]);
    some_crashes(&mut mesh, |mesh, node| {
        mesh.recorders[node].crashed(&mesh.net.machines[node].settings.name);
    });
    recorder.finish().expect("written");
    for name in RESOURCES.iter().chain(&["meshlock%3Aregistry", "later"]) {
        let path = place.path().join(format!("run.{name}.jsonl"));
        let audited = audit(BufReader::new(File::open(&path).expect("recorded"))).expect("readable");
        // Three members, four restarts, and one that began anew.
        fine_after_crashes(name, if *name == "later" { 5 } else { 8 }, &audited);
        let all = records(&path);
        let crashes =
            all.iter().filter(|record| matches!(&record.what, What::Move(it) if it.crashed && it.gone)).count();
        assert_eq!(crashes, if *name == "later" { 1 } else { 4 }, "{name}");
    }
    let all = records(&place.path().join("run.gpus.jsonl"));
    let remade = |record: &&Record| matches!(&record.what, What::Event(it) if matches!(it.event, meshlock_core::Event::Remake { .. }));
    assert!(all.iter().filter(remade).count() >= 5, "a lost token is made anew each time");
}

#[test]
fn recordings_of_processes_that_were_killed_are_merged_and_run_again() {
    let place = tempdir().expect("a directory");
    let new = |name: &str| Recorder::new(&place.path().join(name)).expect("it can be written");
    let first = (0..3).map(|node| new(&format!("n{node}.0.jsonl"))).collect();
    let mut mesh = Mesh::recorded(3, first);
    let runs = std::cell::RefCell::new([1; 3]);
    some_crashes(&mut mesh, |mesh, node| {
        // The file of the former process has no end.
        mesh.recorders[node].flush().expect("written");
        let run = &mut runs.borrow_mut()[node];
        mesh.recorders[node] = new(&format!("n{node}.{run}.jsonl"));
        *run += 1;
    });
    for recorder in &mesh.recorders {
        recorder.finish().expect("written");
    }
    for name in RESOURCES {
        let mut inputs = Vec::new();
        for (node, runs) in runs.borrow().iter().enumerate() {
            for run in 0..*runs {
                let path = place.path().join(format!("n{node}.{run}.{name}.jsonl"));
                inputs.push((format!("n{node}.{run}"), BufReader::new(File::open(path).expect("recorded"))));
            }
        }
        let mut merged = Vec::new();
        merge(inputs, &mut merged).expect("they belong together");
        let audited = audit(Cursor::new(merged)).expect("readable");
        assert_eq!((audited.difference, audited.skipped.as_slice()), (None, &[][..]), "{name}");
        assert_eq!((audited.nodes, audited.events), (8, audited.replayed), "{name}");
    }
}

#[test]
fn a_node_that_goes_on_is_recorded_but_not_run_again() {
    let place = tempdir().expect("a directory");
    let mut net = Net::new(1);
    net.define(0, "gpus", semaphore(3));
    let ticket = net.ask(0, wants("gpus"));
    net.release(0, ticket);
    let saved = net.machines[0].save();
    net.machines[0] = Machine::resume(settings(0), &saved).expect("saved");
    let recorder = Recorder::new(&place.path().join("run.trace.jsonl")).expect("it can be written");
    net.machines[0].set_recorder(recorder.observer(&settings(0)));
    net.ask(0, wants("gpus"));
    recorder.finish().expect("written");
    let file = File::open(place.path().join("run.gpus.trace.jsonl")).expect("recorded");
    let audited = audit(BufReader::new(file)).expect("readable");
    assert_eq!((audited.difference, audited.events, audited.replayed), (None, 1, 0));
    assert_eq!(audited.skipped[0].reason, "it went on from an earlier run");
}

#[test]
fn what_cannot_be_written_is_noted_once_and_stops_nobody() {
    let place = tempdir().expect("a directory");
    let recorder = Recorder::new(&place.path().join("run.jsonl")).expect("it can be written");
    fs::create_dir(place.path().join("run.gpus.jsonl")).expect("something is in the way");
    let mut net = Net::new(1);
    net.machines[0].set_recorder(recorder.observer(&settings(0)));
    net.define(0, "gpus", semaphore(3));
    for _ in 0..3 {
        let ticket = net.ask(0, wants("gpus"));
        assert_eq!(net.state(0, ticket), State::Granted);
        net.release(0, ticket);
        let _ = recorder.flush(); // so that it has turned out
    }
    let notes = net.machines[0].take_notes();
    assert_eq!(notes.iter().filter(|note| note.contains("run.gpus.jsonl cannot be written")).count(), 1, "{notes:?}");
    assert!(Recorder::new(&place.path().join("nowhere/run.jsonl")).is_err());
}

#[cfg(unix)]
#[test]
fn a_disk_that_stands_still_holds_no_node_up_and_the_end_is_not_lost() {
    let place = tempdir().expect("a directory");
    let path = place.path().join("run.gpus.jsonl");
    // Whoever opens this waits until somebody reads it.
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("run").success());
    let recorder = Recorder::new(&place.path().join("run.jsonl")).expect("it can be written");
    let mut net = Net::new(1);
    net.machines[0].set_recorder(recorder.observer(&settings(0)));
    net.define(0, "gpus", semaphore(3));
    for _ in 0..100 {
        let ticket = net.ask(0, wants("gpus"));
        assert_eq!(net.state(0, ticket), State::Granted);
        net.release(0, ticket);
    }
    let reader = std::thread::spawn(move || fs::read(path).expect("recorded"));
    recorder.finish().expect("written");
    let audited = audit(Cursor::new(reader.join().expect("read"))).expect("readable, to its end");
    assert_eq!((audited.difference, audited.replayed), (None, 200));
}

#[test]
fn what_fails_at_the_very_end_is_told() {
    let place = tempdir().expect("a directory");
    let recorder = Recorder::new(&place.path().join("run.jsonl")).expect("it can be written");
    fs::create_dir(place.path().join("run.gpus.jsonl")).expect("something is in the way");
    let mut net = Net::new(1);
    net.machines[0].set_recorder(recorder.observer(&settings(0)));
    net.define(0, "gpus", semaphore(3));
    net.ask(0, wants("gpus"));
    let error = recorder.finish().expect_err("it was not written").to_string();
    assert!(error.contains("run.gpus.jsonl"), "{error}");
}

/// Finds fault with everything.
#[derive(Debug)]
struct Grumbler;

impl Observer for Grumbler {
    fn begins(&mut self, _: &Entry, _: meshlock_core::View, _: bool) {}

    fn stepped(&mut self, step: &Step<'_>) -> Noticed {
        Noticed { broken: vec![format!("{} is no good", step.entry.name)], notes: vec![] }
    }
}

#[test]
fn a_broken_rule_is_told_at_once() {
    let mut net = Net::new(1);
    net.define(0, "gpus", semaphore(3));
    net.machines[0].set_recorder(Box::new(Grumbler));
    let last = net.machines[0].listen();
    net.now = Now(5);
    net.ask(0, wants("gpus"));
    let broken = Told::Broken { resource: "gpus".into(), what: "gpus is no good".into() };
    assert!(net.machines[0].events_after(last).iter().any(|event| event.what == broken));
    assert!(net.machines[0].take_notes().iter().any(|note| note.contains("please report it: gpus is no good")));
}
