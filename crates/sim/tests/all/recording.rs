//! A run that is recorded: what is in the trace, and that recording changes nothing.

use std::io::{self, Write};

use meshlock_core::{Delay, Effect, Event, NodeId, Protocol, Units, flood, reverse_link};
use meshlock_sim::edit::Edits;
use meshlock_sim::outcome::Outcome;
use meshlock_sim::record::{About, run_traced};
use meshlock_sim::run::run;
use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::Document;
use meshlock_trace::{At, Happening, Reader, Record, What};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Nodes move, links break, and some transmissions fail.
const RADIO: &str = "nodes = 12\nduration = \"3s\"\nwarmup = \"100ms\"\n[radio]\nrange = \"60m\"\nerror = 0.05\n\
    [area]\nsize = [\"120m\", \"120m\"]\n[mobility]\nmodel = \"linear\"\nspeed = \"uniform(10mps, 20mps)\"\n";
/// Links are given.
const WIRED: &str = "nodes = 5\nduration = \"2s\"\nwarmup = \"100ms\"\n[topology]\n";

fn scenario(text: &str, set: &[(&str, &str)]) -> Scenario {
    let mut document = Document::parse("test", text).unwrap();
    for (key, value) in set {
        document.set(key, value).unwrap();
    }
    document.resolve().unwrap()
}

fn recorded(scenario: &Scenario, views: bool) -> (Outcome, Vec<u8>) {
    let mut bytes = Vec::new();
    let about = About { views, replay: Some("again".to_owned()), ..About::default() };
    let traced = run_traced(scenario, 7, &Edits::default(), &mut (), &mut bytes, &about).unwrap();
    traced.written.unwrap();
    (traced.outcome, bytes)
}

fn records<M: DeserializeOwned>(bytes: &[u8]) -> Vec<Record<M>> {
    let mut reader = Reader::<_, M>::typed(bytes).unwrap();
    let records = reader.by_ref().map(Result::unwrap).collect();
    assert!(reader.has_ended());
    records
}

/// Scenarios in which messages travel in every way there is.
fn ways() -> Vec<(&'static str, Scenario)> {
    vec![
        ("radio", scenario(RADIO, &[])),
        ("radio, gentle", scenario(RADIO, &[("radio.gentle", "true")])),
        ("flooding", scenario(RADIO, &[("protocol.name", "flood")])),
        ("relay", scenario(RADIO, &[("protocol.name", "central"), ("protocol.over", "relay")])),
        ("routing", scenario(RADIO, &[("protocol.name", "suzuki-kasami"), ("protocol.over", "routing")])),
        ("direct", scenario(WIRED, &[("topology.shape", "complete"), ("protocol.name", "suzuki-kasami")])),
        ("wires", scenario(WIRED, &[("topology.shape", "ring"), ("topology.change_every", "200ms")])),
    ]
}

#[test]
fn recording_changes_nothing() {
    for (name, scenario) in ways() {
        let plain = run(&scenario, 7, &mut ()).unwrap();
        for views in [false, true] {
            assert_eq!(recorded(&scenario, views).0, plain, "{name}");
        }
    }
}

#[test]
fn a_trace_has_every_event_and_every_message_names_its_sending() {
    for (name, scenario) in ways() {
        let (outcome, bytes) = recorded(&scenario, false);
        let records: Vec<Record> = records(&bytes);
        let (mut events, mut received, mut lost) = (0, 0, 0);
        for record in &records {
            let (from, to, message, cause) = match &record.what {
                What::Event(Happening { node, event: Event::Receive { from, message }, cause, .. }) => {
                    (events, received) = (events + 1, received + 1);
                    (*from, *node, message, cause)
                }
                What::Event(Happening { event: Event::Expired { timer }, cause, node, .. }) => {
                    events += 1;
                    let arms =
                        |effect: &Effect<Value>| matches!(effect, Effect::Arm { timer: armed, .. } if armed == timer);
                    let armed = happening(&records, cause.unwrap());
                    assert!(armed.node == *node && armed.effects.iter().any(arms), "{name}");
                    continue;
                }
                What::Event(_) => {
                    events += 1;
                    continue;
                }
                What::Lost(message) => {
                    lost += 1;
                    (message.from, message.to, &message.message, &message.cause)
                }
                What::Link(_) | What::Move(_) | What::Join(_) | What::End(_) => continue,
            };
            let cause = cause.unwrap_or_else(|| panic!("{name}: {message} from {from} to {to} has no cause"));
            let sending = happening(&records, cause);
            assert!(sending.node == from && sending.effects.iter().any(|effect| sends(effect, to, message)), "{name}");
        }
        assert_eq!(events, outcome.events, "{name}");
        assert!(received > 0, "{name}");
        // Unacknowledged broadcasts are lost by errors.
        assert!(lost > 0 || name != "flooding", "{name}: nothing was lost");
    }
}

fn happening(records: &[Record], line: u64) -> &Happening {
    let What::Event(happening) = &records[line as usize - 2].what else { panic!("line {line} is no event") };
    happening
}

fn sends(effect: &Effect<Value>, receiver: NodeId, expected: &Value) -> bool {
    match effect {
        Effect::Send { to, message } => *to == receiver && message == expected,
        Effect::Multicast { to, message } => to.contains(&receiver) && message == expected,
        Effect::Broadcast { message } => message == expected,
        Effect::Granted { .. } | Effect::Arm { .. } | Effect::Reject { .. } => false,
    }
}

#[test]
fn events_replayed_into_fresh_nodes_give_the_same_effects_and_views() {
    let radio = scenario(RADIO, &[]);
    let node = |id| {
        reverse_link::Node::new(reverse_link::Config {
            id,
            starts_with_token: id == NodeId(0),
            capacity: Units(1),
            order: radio.protocol.order,
            joins: 0,
            passes: 0,
            numbered: false,
        })
    };
    replay(&radio, (0..12).map(NodeId).map(node).collect());
    let retry = Delay { least_ms: 300, most_ms: 500 };
    let mut flooding = scenario(RADIO, &[("protocol.name", "flood")]);
    flooding.protocol.retry = Some(retry);
    let node = |id| flood::Node::new(flood::Config { id, starts_with_token: id == NodeId(0), retry });
    replay(&flooding, (0..12).map(NodeId).map(node).collect());
}

fn replay<P>(scenario: &Scenario, mut nodes: Vec<P>)
where
    P: Protocol,
    P::Message: DeserializeOwned,
{
    let (outcome, bytes) = recorded(scenario, true);
    let header = Reader::new(bytes.as_slice()).unwrap().header().clone();
    for (info, node) in header.nodes.iter().zip(&nodes) {
        assert_eq!(info.view, Some(node.view()));
    }
    let mut replayed = 0;
    for record in records::<P::Message>(&bytes) {
        let What::Event(happening) = record.what else { continue };
        let node = &mut nodes[happening.node.0 as usize];
        let effects = node.handle(happening.event);
        assert_eq!(effects.as_ref().err().copied(), happening.misuse);
        assert_eq!(effects.unwrap_or_default(), happening.effects);
        assert_eq!(Some(node.view()), happening.view);
        replayed += 1;
    }
    assert_eq!(replayed, outcome.events);
    assert!(replayed > 500, "a run of {replayed} events shows little");
}

#[test]
fn the_header_and_the_end_say_what_was_run() {
    let (outcome, bytes) = recorded(&scenario(RADIO, &[]), false);
    let header = Reader::new(bytes.as_slice()).unwrap().header().clone();
    assert_eq!((header.protocol.as_str(), header.variant.as_str()), ("reverse-link", "repaired"));
    assert_eq!((header.seed, header.replay.as_deref()), (Some(7), Some("again")));
    assert_eq!(header.parameters["range_m"], 60.0);
    assert!(header.nodes.iter().all(|node| node.position.is_some() && node.view.is_none()));
    assert!(!header.links.is_empty());
    let records: Vec<Record> = records(&bytes);
    let first_moves = records.iter().take_while(|record| matches!(record.what, What::Move(_))).count();
    assert_eq!(first_moves, 12, "all nodes move from the start");
    let Some(Record { at: At::TimeNs(at), what: What::End(end) }) = records.last() else { panic!("no end") };
    assert_eq!(end.totals["trace_hash"], format!("{:016x}", outcome.trace_hash));
    assert_eq!(end.totals["events"], outcome.events);
    assert_eq!(end.violation, None);
    assert!(*at >= outcome.end.0);
}

#[test]
fn positions_follow_from_moves_and_links_from_positions() {
    let (_, bytes) = recorded(&scenario(RADIO, &[]), false);
    let header = Reader::new(bytes.as_slice()).unwrap().header().clone();
    let mut legs: Vec<(u64, [f64; 2], [f64; 2])> =
        header.nodes.iter().map(|node| (0, node.position.unwrap(), [0.0, 0.0])).collect();
    let mut changes = 0;
    for Record { at, what } in records::<Value>(&bytes) {
        let place = |(since, from, velocity): (u64, [f64; 2], [f64; 2])| {
            let seconds = (at.number() - since) as f64 / 1e9;
            [from[0] + velocity[0] * seconds, from[1] + velocity[1] * seconds]
        };
        match what {
            What::Move(moves) => {
                let (before, now) = (place(legs[moves.node.0 as usize]), moves.position);
                assert!((before[0] - now[0]).abs() + (before[1] - now[1]).abs() < 1e-3, "{before:?} {now:?}");
                legs[moves.node.0 as usize] = (at.number(), now, moves.velocity.unwrap_or_default());
            }
            What::Link(link) => {
                let (a, b) = (place(legs[link.between.0.0 as usize]), place(legs[link.between.1.0 as usize]));
                let apart = ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt();
                assert!((apart - 60.0).abs() < 1e-3, "a link changes at a distance of {apart} m");
                changes += 1;
            }
            What::Event(_) | What::Lost(_) | What::Join(_) | What::End(_) => {}
        }
    }
    assert!(changes > 10);
}

#[test]
fn a_broken_rule_stands_in_the_end() {
    let text = "nodes = 12\nduration = \"5s\"\nwarmup = \"100ms\"\n[protocol]\ntext = \"published\"\n[radio]\n\
        range = \"60m\"\n[area]\nsize = [\"120m\", \"120m\"]\n[mobility]\nmodel = \"linear\"\nspeed = \"20mps\"\n";
    let (outcome, bytes) = recorded(&scenario(text, &[]), false);
    let first = outcome.broken.first().expect("the printed text does not survive movement");
    let records: Vec<Record> = records(&bytes);
    let Some(What::End(end)) = records.last().map(|record| &record.what) else { panic!("no end") };
    let violation = end.violation.as_ref().unwrap();
    assert_eq!(violation.rule, first.rule.name());
    assert!(violation.what.contains(&first.words));
    assert_eq!(end.totals["broken"][first.rule.name()], first.times);
}

/// A disk that is full after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::other("disk full"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_run_goes_on_when_its_trace_cannot_be_written() {
    let scenario = scenario(RADIO, &[]);
    let plain = run(&scenario, 7, &mut ()).unwrap();
    for room in [0, 10_000] {
        let traced = run_traced(&scenario, 7, &Edits::default(), &mut (), Full(room), &About::default()).unwrap();
        assert_eq!(traced.outcome, plain);
        assert!(traced.written.unwrap_err().to_string().contains("disk full"));
    }
}
