//! Recordings for somebody who looks while it happens.

use std::fs;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use meshlock_api::{NewRequest, State};
use meshlock_trace::{Reader, Record, What};
use tempfile::tempdir;

use super::{Net, semaphore, wants};
use crate::record::{Files, Outlet, Place, Recorder};

/// What was written, by resource.
type Written = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Keeps traces in memory, but not that of the registry.
#[derive(Clone, Debug, Default)]
struct Memory {
    written: Written,
    /// Breaks after so many lines.
    patience: Option<usize>,
}

impl Memory {
    fn text(&self, resource: &str) -> String {
        let written = self.written.lock().expect("whole");
        let found = written.iter().find(|(name, _)| name == resource);
        found.map(|(_, bytes)| String::from_utf8(bytes.clone()).expect("text")).unwrap_or_default()
    }

    fn records(&self, resource: &str) -> (Vec<meshlock_trace::NodeInfo>, Vec<Record>) {
        let text = self.text(resource);
        let reader = Reader::new(text.as_bytes()).expect("a trace");
        let nodes = reader.header().nodes.clone();
        (nodes, reader.map(|record| record.expect("whole")).collect())
    }
}

impl Outlet for Memory {
    fn open(&mut self, resource: &str) -> io::Result<Option<Box<dyn Write + Send>>> {
        if resource.starts_with("meshlock:") {
            return Ok(None);
        }
        let mut written = self.written.lock().expect("whole");
        written.push((resource.to_owned(), Vec::new()));
        let place = written.len() - 1;
        Ok(Some(Box::new(Part { written: Arc::clone(&self.written), place, left: self.patience })))
    }

    fn name(&self, resource: &str) -> String {
        format!("memory of {resource}")
    }
}

struct Part {
    written: Written,
    place: usize,
    left: Option<usize>,
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        assert_eq!(bytes.last(), Some(&b'\n'), "whole lines");
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1).ok_or_else(|| io::Error::other("full"))?;
        }
        self.written.lock().expect("whole")[self.place].1.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn record(net: &mut Net, recorder: &Recorder) {
    for machine in &mut net.machines {
        machine.set_recorder(recorder.observer(machine.settings()));
    }
}

#[test]
fn what_goes_to_two_places_is_the_same_in_both() {
    let place = tempdir().expect("a directory");
    let files = Files::beside(&place.path().join("run.jsonl")).expect("it can be written");
    let memory = Memory::default();
    let recorder = Recorder::live(vec![Box::new(files), Box::new(memory.clone())]).expect("started");
    let mut net = Net::new(2);
    net.define(0, "gpus", semaphore(3));
    record(&mut net, &recorder);
    net.link(0, 1);
    net.settle();
    let ticket = net.ask(1, wants("gpus"));
    net.settle();
    assert_eq!(net.state(1, ticket), State::Granted);
    // Memory has it at once: nobody has flushed.
    assert!(memory.text("gpus").contains("granted"));
    recorder.finish().expect("written");
    let file = fs::read_to_string(place.path().join("run.gpus.jsonl")).expect("recorded");
    assert_eq!(memory.text("gpus"), file);
    assert!(place.path().join("run.meshlock%3Aregistry.jsonl").exists(), "each place chooses for itself");
    assert_eq!(memory.written.lock().expect("whole").len(), 1);
}

#[test]
fn one_place_that_fails_leaves_the_other_alone() {
    let (good, bad) = (Memory::default(), Memory { patience: Some(2), ..Memory::default() });
    let recorder = Recorder::live(vec![Box::new(bad.clone()), Box::new(good.clone())]).expect("started");
    let mut net = Net::new(1);
    net.define(0, "gpus", semaphore(3));
    record(&mut net, &recorder);
    for _ in 0..3 {
        let ticket = net.ask(0, wants("gpus"));
        net.release(0, ticket);
    }
    let notes = net.machines[0].take_notes();
    assert_eq!(notes.iter().filter(|note| note.contains("memory of gpus cannot be written")).count(), 1, "{notes:?}");
    recorder.finish().expect("it was told, and the other is whole");
    assert_eq!(bad.text("gpus").lines().count(), 2);
    assert!(good.text("gpus").lines().last().is_some_and(|line| line.contains("\"end\"")));
}

#[test]
fn a_live_trace_shows_everybody_from_the_beginning() {
    let memory = Memory::default();
    let recorder = Recorder::live(vec![Box::new(memory.clone())]).expect("started");
    let mut net = Net::new(3);
    net.define(0, "gpus", semaphore(3));
    record(&mut net, &recorder);
    // Nothing has happened, and nobody is linked.
    let (first, records) = memory.records("gpus");
    assert_eq!(first.len(), 1);
    assert!(first[0].view.as_ref().is_some_and(|view| view.token.is_some()), "the maker has the token");
    let joined = |record: &Record| match &record.what {
        What::Join(node) => Some(node.id.0),
        What::Event(_) | What::Link(_) | What::Move(_) | What::Lost(_) | What::End(_) => None,
    };
    assert_eq!(records.iter().filter_map(joined).collect::<Vec<_>>(), [1, 2]);
    net.link(0, 1);
    net.settle();
    let ticket = net.ask(1, NewRequest { units: Some(2), ..wants("gpus") });
    net.settle();
    assert_eq!(net.state(1, ticket), State::Granted);
    net.define(1, "room", semaphore(1));
    net.settle();
    recorder.finish().expect("written");
    for resource in ["gpus", "room"] {
        let audited = meshlock_audit::audit(memory.text(resource).as_bytes()).expect("readable");
        assert_eq!((audited.difference, audited.nodes), (None, 3), "{resource}");
    }
}

#[test]
fn nodes_are_where_they_were_told_to_be() {
    let memory = Memory::default();
    let recorder = Recorder::live(vec![Box::new(memory.clone())]).expect("started");
    let mut net = Net::new(2);
    net.define(0, "gpus", semaphore(3));
    let names: Vec<String> = net.machines.iter().map(|machine| machine.settings().name.clone()).collect();
    recorder.moved(&names[0], Place::at([1.0, 2.0]));
    recorder.moved(&names[1], Place { velocity: Some([3.0, 0.0]), ..Place::at([5.0, 5.0]) });
    record(&mut net, &recorder);
    recorder.moved(&names[0], Place { gone: true, ..Place::at([7.0, 7.0]) });
    recorder.moved("a stranger", Place::at([0.0, 0.0]));
    net.define(0, "belt", semaphore(1));
    net.ask(0, wants("belt"));
    recorder.finish().expect("written");

    let moves = |records: &[Record]| -> Vec<(u32, bool, bool)> {
        let what = |record: &Record| match &record.what {
            What::Move(moved) => Some((moved.node.0, moved.velocity.is_some(), moved.gone)),
            What::Event(_) | What::Link(_) | What::Join(_) | What::Lost(_) | What::End(_) => None,
        };
        records.iter().filter_map(what).collect()
    };
    let (first, records) = memory.records("gpus");
    assert_eq!(first[0].position, Some([1.0, 2.0]));
    assert_eq!(moves(&records), [(1, true, false), (0, false, true)], "the second one comes with its speed");
    let (first, records) = memory.records("belt");
    assert_eq!(first[0].position, Some([7.0, 7.0]));
    assert_eq!(moves(&records), [(0, false, true), (1, true, false)]);
}
