//! Whatever arrives on a link, a node does not panic, keeps what its clients hold, and says what was wrong.
//!
//! Bytes are arbitrary, or frames of a recorded run (`tests/corpus/frames.txt`) that were damaged. Every run is the
//! same; `MESHLOCK_FUZZ_CASES` makes it longer, and `MESHLOCK_WRITE=1` writes the corpus anew.

mod mutate;
mod net;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use meshlock_api::{NewRequest, NewResource, ResourceChange, State};
use meshlock_core::NodeId;
use meshlock_node::links::{LONGEST_FRAME, fuzz};
use meshlock_node::machine::{Machine, Now, Ticket, render_metrics};
use meshlock_node::mesh::Member;
use meshlock_node::wire::{self, Frame};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use mutate::{Mutation, bytes, lie, mutated, mutation, number};
use net::{NAMES, Net, request, settings};

/// The node under test, between the two others.
const HERE: usize = 1;

fn cases(usual: u32) -> u32 {
    let asked = std::env::var("MESHLOCK_FUZZ_CASES").ok();
    asked.map_or(usual, |text| text.parse().expect("MESHLOCK_FUZZ_CASES is a number of cases"))
}

/// The same cases in every run; a failure is made small and printed.
fn check<S: Strategy>(usual: u32, strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases: cases(usual), failure_persistence: None, ..Config::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    TestRunner::new_with_rng(config, random).run(&strategy, test).unwrap_or_else(|failure| panic!("{failure}"));
}

/// Frames that a real run sends, one of each.
fn corpus() -> &'static [Vec<u8>] {
    static CORPUS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex");
        let lines = include_str!("../corpus/frames.txt").lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.as_bytes().chunks(2).map(byte).collect()).collect()
    })
}

/// Nonsense, or a frame with some damage, or a whole one that comes at the wrong time.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let taken = || any::<Index>().prop_map(|index| index.get(corpus()).clone());
    let damaged = (taken(), taken(), vec(mutation(), 1..4))
        .prop_map(|(frame, other, mutations): (_, _, Vec<Mutation>)| mutated(frame, &other, &mutations));
    let lies = (taken(), any::<Index>(), number()).prop_map(|(frame, at, number)| lie(&frame, &at, &number));
    prop_oneof![1 => bytes(), 2 => taken(), 4 => damaged, 5 => lies]
}

#[test]
fn the_corpus_is_that_of_a_run_of_this_version() {
    let mut frames = BTreeSet::new();
    for seed in 0..4 {
        frames.extend(Net::run(seed, 400).heard);
    }
    // The shortest of each kind are enough, and easier to read when one of them fails.
    let mut kinds: std::collections::BTreeMap<Vec<u8>, Vec<Vec<u8>>> = Default::default();
    for frame in frames {
        kinds.entry(kind(&frame)).or_default().push(frame);
    }
    let text: String = kinds
        .into_values()
        .flat_map(|mut frames| {
            frames.sort_by_key(|frame| (frame.len(), frame.clone()));
            let step = frames.len().div_ceil(12);
            frames.into_iter().step_by(step.max(1)).collect::<Vec<_>>()
        })
        .map(|frame| frame.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n")
        .collect();
    let text = format!("# Frames of a run on a network in memory; see tests/wire_fuzz.\n{text}");
    if std::env::var_os("MESHLOCK_WRITE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/frames.txt");
        std::fs::write(path, text).expect("can be written");
        return;
    }
    assert_eq!(
        text,
        include_str!("../corpus/frames.txt"),
        "if frames have changed, count up wire::VERSION; then write it anew with MESHLOCK_WRITE=1"
    );
    assert!(corpus().len() > 50, "{} frames are too few", corpus().len());
    for frame in corpus() {
        wire::decode::<Frame>(frame).expect("a frame");
    }
}

/// What sort of frame it is: the frame, the protocol and the message, as far as they have numbers of their own.
fn kind(frame: &[u8]) -> Vec<u8> {
    match wire::decode::<Frame>(frame).expect("a frame") {
        // The resource in between is left out.
        Frame::Protocol { .. } => {
            frame.iter().copied().skip(1).enumerate().filter(|(at, _)| *at != 1).map(|(_, b)| b).take(3).collect()
        }
        Frame::Catalogue(_)
        | Frame::Query(_)
        | Frame::Report(_)
        | Frame::Done { .. }
        | Frame::Removals(_)
        | Frame::Census(_)
        | Frame::Repair(_)
        | Frame::Words(_)
        | Frame::Piece { .. }
        | Frame::Called(_)
        | Frame::Answered(_) => frame.iter().copied().skip(1).take(1).collect(),
    }
}

#[test]
fn any_bytes_are_a_frame_or_an_error_and_no_frame_is_larger_than_its_bytes() {
    check(20_000, frame(), |bytes| {
        match wire::decode::<Frame>(&bytes) {
            // So whoever sends little cannot make us keep much.
            Ok(frame) => prop_assert!(wire::encode(&frame).len() <= bytes.len()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
        Ok(())
    });
}

#[test]
fn lengths_that_are_not_true_make_nobody_reserve_memory_for_them() {
    // A list of 2^32 - 1 of whatever, in each kind of frame that begins with a list.
    for kind in 0..=u8::MAX {
        for inner in [&[][..], &[1], &[1, 0xff, 0xff, 0xff, 0xff, 0x0f]] {
            let claim = [&[wire::VERSION, kind][..], inner, &[0xff, 0xff, 0xff, 0xff, 0x0f]].concat();
            let _ = wire::decode::<Frame>(&claim);
        }
    }
    // The most that was ever in use; where the system does not tell, the loop above had to be enough.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    assert!(peak.is_none_or(|kilobytes: u64| kilobytes < 1 << 20), "{peak:?} kB were in use");
}

#[test]
fn hellos_are_understood_or_refused_with_a_reason() {
    let hello = meshlock_node::links::Hello { node: NodeId(0x0002_0007), run: 9, installation: 3 }.encode();
    let damaged =
        (bytes(), vec(mutation(), 0..4)).prop_map(move |(other, mutations)| mutated(hello.clone(), &other, &mutations));
    check(5_000, (prop_oneof![bytes(), damaged], any::<u16>()), |(bytes, member)| {
        for member in [Member(member), Member(7)] {
            match fuzz::hello(&bytes, member) {
                Ok(hello) => prop_assert_eq!(Member::of(hello.node), member),
                Err(reason) => prop_assert!(!reason.is_empty()),
            }
        }
        Ok(())
    });
}

#[test]
fn beacons_are_those_of_members_or_nothing() {
    let secret = [3; 32];
    let sealed = fuzz::seal(&secret, Member(5), 7_411).expect("sealed");
    let original = sealed.clone();
    let damaged = (bytes(), vec(mutation(), 0..3))
        .prop_map(move |(other, mutations)| mutated(sealed.clone(), &other, &mutations));
    check(5_000, prop_oneof![bytes(), damaged], |bytes| {
        let expected = (bytes == original).then_some((Member(5), 7_411));
        prop_assert_eq!(fuzz::beacon(&secret, &bytes), expected);
        Ok(())
    });
}

#[test]
fn a_stream_of_anything_ends_with_whole_frames_or_a_reason() {
    check(
        2_000,
        (vec(prop_oneof![bytes(), frame().prop_map(fuzz::framed)], 0..4), any::<bool>()),
        |(parts, watched)| {
            let stream = parts.concat();
            let (frames, reason) = fuzz::frames(stream.clone(), watched).expect("a runtime");
            prop_assert!(frames.iter().all(|frame| frame.len() <= LONGEST_FRAME));
            prop_assert!(frames.iter().map(|frame| frame.len() + 4).sum::<usize>() <= stream.len());
            prop_assert!(!reason.is_empty());
            Ok(())
        },
    );
}

/// What happens to the node under test.
#[derive(Clone, Debug)]
enum Deed {
    /// From the one neighbour or the other.
    Hear(bool, Vec<u8>),
    Ask(u8),
    Release(Index),
    Pass(u64),
    Relink(bool),
    Question,
    /// Under the registry's lock, if it is here.
    Make(u8),
    Change(u32),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        12 => (any::<bool>(), frame()).prop_map(|(from, frame)| Deed::Hear(from, frame)),
        3 => any::<u8>().prop_map(Deed::Ask),
        1 => any::<Index>().prop_map(Deed::Release),
        1 => (0_u64..1_500).prop_map(Deed::Pass),
        1 => any::<bool>().prop_map(Deed::Relink),
        1 => Just(Deed::Question),
        1 => any::<u8>().prop_map(Deed::Make),
        1 => (2_u32..9).prop_map(Deed::Change),
    ]
}

#[test]
fn a_node_survives_neighbours_that_say_anything() {
    check(1_500, (0_u64..8, 0_usize..120, vec(deed(), 1..16)), |(seed, steps, deeds)| {
        let mut net = Net::run(seed, steps);
        let mut victim = Victim { now: net.now, machine: net.machines.swap_remove(HERE), held: Vec::new() };
        victim.hold();
        for deed in deeds {
            victim.suffer(deed)?;
        }
        victim.end()
    });
}

struct Victim {
    machine: Machine,
    now: Now,
    held: Vec<Ticket>,
}

impl Victim {
    /// Clients of this node hold what they can get.
    fn hold(&mut self) {
        for name in 0..NAMES.len() {
            self.ask(name);
        }
        self.note_grants();
    }

    fn ask(&mut self, name: usize) {
        let wanted = NewRequest { lease_ms: Some(86_400_000), ..request(name, 1) };
        let _ = self.machine.ask(self.now, wanted);
    }

    fn note_grants(&mut self) {
        for info in self.machine.request_infos(self.now) {
            let ticket = self.machine.find(&info.id).expect("it is known");
            if info.state == State::Granted && !self.held.contains(&ticket) {
                self.held.push(ticket);
            }
        }
    }

    fn suffer(&mut self, deed: Deed) -> Result<(), TestCaseError> {
        match deed {
            Deed::Hear(from, bytes) => {
                let from = if from { 0 } else { 2 };
                if let Err(reason) = self.machine.receive(self.now, NodeId(from), &bytes) {
                    prop_assert!(!reason.is_empty());
                    self.machine.link_down(self.now, NodeId(from), &reason);
                    self.machine.link_up(self.now, &net::peer(from)).expect("no disk");
                }
            }
            Deed::Ask(name) => self.ask(usize::from(name) % NAMES.len()),
            Deed::Release(index) if !self.held.is_empty() => {
                let ticket = self.held.swap_remove(index.index(self.held.len()));
                self.machine.release(self.now, ticket);
            }
            Deed::Release(_) => {}
            Deed::Pass(ms) => {
                self.now = self.now.plus_ms(ms);
                self.machine.wake(self.now);
            }
            Deed::Relink(which) => {
                self.machine.link_up(self.now, &net::peer(if which { 0 } else { 2 })).expect("no disk");
            }
            Deed::Question => {
                let number = self.machine.begin_query(None).expect("all resources");
                self.machine.end_query(self.now, number, None);
            }
            Deed::Make(number) => {
                let _ = self.machine.define(self.now, &format!("new-{number}"), &NewResource::default());
            }
            Deed::Change(capacity) => {
                let change = ResourceChange { capacity: Some(capacity), ..ResourceChange::default() };
                let _ = self.machine.change(self.now, "gpus", change);
            }
        }
        self.machine.take_notes();
        self.machine.take_removals();
        let sent = self.machine.take_outbox();
        prop_assert!(sent.len() < 1_000, "{} frames because of one", sent.len());
        for post in sent {
            prop_assert!(wire::decode::<Frame>(&post.frame).is_ok(), "we send what others understand");
        }
        for ticket in &self.held {
            let info = self.machine.look(self.now, *ticket).expect("known");
            // Members trust each other: one that says falsely that a resource was removed is believed.
            let removed = info.state == State::Revoked && info.reason.as_deref() == Some("its resource was removed");
            prop_assert!(info.state == State::Granted || removed, "{:?}", info);
        }
        self.note_grants();
        Ok(())
    }

    /// Everything that looks at the node still works, and it can be stopped and started again.
    fn end(mut self) -> Result<(), TestCaseError> {
        prop_assert!(render_metrics(&self.machine, self.now).contains("meshlock_build_info"));
        self.machine.resource_infos();
        self.machine.stop(self.now);
        let saved = self.machine.save();
        if let Err(error) = Machine::resume(settings(HERE as u32), &saved) {
            prop_assert!(!error.to_string().is_empty());
        }
        Ok(())
    }
}
