//! Live runs with edits, most of them played without a thread and without a clock.

mod scripts;

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use meshlock_core::NodeId;

use super::player::{Next, Player};
use super::{Abilities, Ending, Live, Start, wall_clock};
use crate::build::world;
use crate::distribution::Distribution;
use crate::edit::{Change, EditError, Edits, file};
use crate::random::{Purpose, Stream, Streams};
use crate::record::{About, Recorder, run_traced};
use crate::run::{Course, run_edited};
use crate::scenario::{
    Area, Changes, Class, MessageSize, Mobility, Name, Network, Over, ProtocolChoice, Radio, Scenario, Shape, Text,
    Traffic, Warmup, Wired,
};
use crate::time::{Span, Time};

const AREA: Area = Area { width: 300.0, height: 300.0 };

fn seconds(seconds: f64) -> Span {
    Span::from_seconds(seconds)
}

pub(super) fn protocol(name: Name, over: Over) -> ProtocolChoice {
    ProtocolChoice { name, over, ..ProtocolChoice::default() }
}

fn scenario(protocol: ProtocolChoice, network: Network, nodes: u32) -> Scenario {
    let think = Distribution::Uniform { low: 0.0, high: 0.5 };
    let mut class = Class::closed(nodes, think, Distribution::Constant(0.01));
    if protocol.name == Name::Group {
        class.session = Some(Distribution::Uniform { low: 1.0, high: 2.0 });
    }
    Scenario {
        name: "played".to_owned(),
        nodes,
        duration: seconds(3.0),
        warmup: Warmup::Fixed(Span::ZERO),
        protocol,
        network,
        traffic: Traffic { classes: vec![class] },
        ..Scenario::reference()
    }
}

pub(super) fn radio(protocol: ProtocolChoice) -> Scenario {
    let speed = Distribution::Uniform { low: 1.0, high: 40.0 };
    let leg = Distribution::Uniform { low: 0.1, high: 1.0 };
    let mobility = Mobility::Walk { speed, leg, turn: 2.0 };
    scenario(protocol, Network::Radio(Radio::report(AREA, mobility)), 12)
}

pub(super) fn wired(protocol: ProtocolChoice, shape: Shape, every: Option<f64>) -> Scenario {
    let wired = Wired {
        message: MessageSize::Encoded { header: 8 },
        changes: Changes { every: every.map(seconds), keep_connected: true, script: Vec::new() },
        ..Wired::new(shape, Distribution::Uniform { low: 0.001, high: 0.004 })
    };
    scenario(protocol, Network::Wired(wired), 8)
}

fn all() -> Vec<Scenario> {
    let printed = ProtocolChoice { text: Text::PRINTED, ..protocol(Name::ReverseLink, Over::Links) };
    let three = ProtocolChoice { capacity: 3, ..protocol(Name::ReverseLink, Over::Links) };
    let random = || Shape::Random { connectivity: 0.4 };
    vec![
        radio(protocol(Name::ReverseLink, Over::Links)),
        radio(protocol(Name::Flood, Over::Links)),
        radio(protocol(Name::Group, Over::Relay)),
        radio(three),
        wired(protocol(Name::ReverseLink, Over::Links), random(), Some(0.5)),
        wired(protocol(Name::Flood, Over::Links), Shape::Ring, None),
        wired(protocol(Name::Group, Over::Routing), random(), None),
        wired(protocol(Name::NaimiTrehel, Over::Routing), random(), None),
        wired(protocol(Name::Central, Over::Links), Shape::Complete, None),
        wired(printed, random(), Some(1.0)),
    ]
}

#[derive(Clone, Default)]
pub(super) struct Sink(Rc<RefCell<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    fn text(&self) -> String {
        String::from_utf8(self.0.take()).unwrap()
    }
}

pub(super) trait Hand {
    fn play(&mut self, player: &mut Player);
}

pub(super) fn play(scenario: &Scenario, seed: u64, earlier: Edits, hand: &mut dyn Hand) -> (Ending, String) {
    let sink = Sink::default();
    let world = world(scenario, seed).unwrap();
    let about = About { views: true, ..About::default() };
    let recorder = Recorder::begin(Box::new(sink.clone()), &world, scenario, seed, &about);
    let course = Course::new(world, scenario);
    let mut player = Player::new(course, recorder, scenario.clone(), earlier.edits);
    hand.play(&mut player);
    let ending = player.finish();
    assert!(ending.written.is_ok(), "{:?}", ending.written);
    (ending, sink.text())
}

/// Does anything at any moment, also what cannot be done.
struct Anything {
    stream: Stream,
    done: usize,
    refused: usize,
}

impl Anything {
    fn new(seed: u64) -> Self {
        Self { stream: Streams::new(seed).stream(Purpose::Topology, 99), done: 0, refused: 0 }
    }

    fn change(&mut self) -> Change {
        let stream = &mut self.stream;
        let mut node = || NodeId(stream.below(15) as u32);
        let (one, other) = (node(), node());
        let mut place = || [stream.between(-5.0, 310.0), stream.between(0.0, 300.0)];
        let to = place();
        match stream.below(12) {
            0 | 1 => Change::Move { node: one, to },
            2 | 3 => Change::Link { between: (one, other), up: false },
            4 | 5 => Change::Link { between: (one, other), up: true },
            6 => Change::Add { at: stream.happens(0.7).then_some(to) },
            7 => Change::Remove { node: one },
            8 => Change::Range { metres: stream.between(-1.0, 200.0) },
            9 => Change::Pace { factor: [0.0, 0.3, 1.0, 2.0, 7.5, -1.0, f64::NAN][stream.below(7) as usize] },
            10 => {
                let (units, priority) = (stream.below(3) as u32, stream.below(4) as i32);
                Change::Request { node: one, units, priority, session: stream.happens(0.5).then_some(1) }
            }
            _ => Change::Release { node: one, request: 1 + stream.below(8) },
        }
    }
}

impl Hand for Anything {
    fn play(&mut self, player: &mut Player) {
        let mut clock = Duration::ZERO;
        for _ in 0..40 {
            let speed = [0.01, 0.5, 1.0, 3.0][self.stream.below(4) as usize];
            player.set_speed(speed, clock).unwrap();
            let playing = player.play(clock).is_ok();
            clock += Duration::from_micros(self.stream.below(150_000));
            while player.tick(clock) == Next::Now {}
            player.pause();
            if self.stream.happens(0.3) {
                player.step(self.stream.below(5) as u32).unwrap();
            }
            for _ in 0..self.stream.below(4) {
                let change = self.change();
                match player.edit(&change) {
                    Ok(done) => {
                        assert!(playing, "nothing can be done after the end");
                        assert_eq!(done.node.is_some(), matches!(change, Change::Add { .. }));
                        assert_eq!(done.request.is_some(), matches!(change, Change::Request { .. }));
                        self.done += 1;
                    }
                    Err(EditError(words)) => {
                        assert!(!words.is_empty());
                        self.refused += 1;
                    }
                }
            }
        }
    }
}

/// All lines but the first, whose views of the source differ in nothing that happened.
fn records(trace: &str) -> &str {
    trace.split_once('\n').unwrap().1
}

#[test]
fn whatever_somebody_does_the_run_replays_exactly_and_breaks_no_rule() {
    let (mut done, mut refused) = (0, 0);
    for (number, scenario) in all().iter().enumerate() {
        for seed in 0..10_u64 {
            let mut hand = Anything::new(seed * 100 + number as u64);
            let (ending, trace) = play(scenario, seed, Edits::default(), &mut hand);
            (done, refused) = (done + hand.done, refused + hand.refused);
            let name = scenario.protocol.name.name();
            if scenario.protocol.text == Text::Repaired {
                assert_eq!(ending.outcome.broken, [], "{name} {number}, seed {seed}: {:#?}", ending.edits);
            }
            // The way through the file is part of it.
            let header = file::Header { version: 1, scenario: "x".to_owned(), settings: Vec::new(), seed };
            let mut text = Vec::new();
            file::write(&mut text, &header, &ending.edits).unwrap();
            let (_, edits) = file::read(text.as_slice()).unwrap();
            assert_eq!(edits, ending.edits);
            let about = About { views: true, ..About::default() };
            let mut again = Vec::new();
            let traced = run_traced(scenario, seed, &edits, &mut (), &mut again, &about).unwrap();
            assert_eq!(traced.outcome, ending.outcome, "{name} {number}, seed {seed}");
            assert_eq!(records(&String::from_utf8(again).unwrap()), records(&trace), "{name} {number}, seed {seed}");
            // Without its end the run goes on until it is quiet, and more rules can speak.
            let whole = run_edited(scenario, seed, &Edits { end: None, ..edits }, &mut ()).unwrap();
            if scenario.protocol.text == Text::Repaired {
                assert_eq!(whole.broken, [], "{name} {number}, seed {seed}: {:#?}", ending.edits);
            }
        }
    }
    assert!(done > 1_000 && refused > 500, "{done} done, {refused} refused");
}

/// Looks at all places and links while anything is done.
struct Places {
    checked: [u32; 2],
}

impl Hand for Places {
    /// After any edit, links are up exactly between nodes in range without a barrier.
    fn play(&mut self, player: &mut Player) {
        let mut anything = Anything::new(8);
        let mut barriers = std::collections::BTreeSet::new();
        let mut clock = Duration::ZERO;
        player.play(clock).unwrap();
        for _ in 0..600 {
            clock += Duration::from_millis(anything.stream.below(20));
            while player.tick(clock) == Next::Now {}
            let change = anything.change();
            if player.edit(&change).is_ok()
                && let Change::Link { between: (a, b), up } = change
            {
                let pair = (a.min(b), a.max(b));
                assert!(if up { barriers.remove(&pair) } else { barriers.insert(pair) });
            }
            let world = player.world();
            let range = player.state().range.unwrap();
            for (a, b) in (0..world.nodes().len() as u32).flat_map(|b| (0..b).map(move |a| (a, b))) {
                let legs = [a, b].map(|node| world.leg(NodeId(node)).unwrap());
                let [one, other] = legs.map(|leg| leg.position(world.now()));
                let apart = (one - other).length();
                let present = legs.iter().all(|leg| leg.present);
                if (apart - range).abs() > 1e-5 {
                    let linked = present && apart < range && !barriers.contains(&(NodeId(a), NodeId(b)));
                    assert_eq!(world.links().is_up(a, b), linked, "{a} and {b} are {apart} m apart, range {range}");
                    self.checked[usize::from(linked)] += 1;
                }
            }
        }
    }
}

#[test]
fn links_follow_places_range_pace_and_barriers() {
    let mut places = Places { checked: [0; 2] };
    let mut scenario = radio(protocol(Name::Flood, Over::Links));
    scenario.traffic.classes.clear();
    play(&scenario, 4, Edits::default(), &mut places);
    assert!(places.checked.iter().all(|count| *count > 1_000), "{:?}", places.checked);
}

#[test]
fn it_goes_as_fast_as_told_and_stands_still_when_told() {
    struct Speeds;
    impl Hand for Speeds {
        fn play(&mut self, player: &mut Player) {
            let second = |n: f64| Duration::from_secs_f64(n);
            let now = |player: &Player| player.state().now.seconds();
            assert_eq!((player.tick(second(5.0)), now(player)), (Next::Asked, 0.0), "it begins paused");
            assert!(player.set_speed(0.0, second(5.0)).is_err() && player.set_speed(f64::NAN, second(5.0)).is_err());
            player.play(second(5.0)).unwrap();
            assert!(player.step(1).is_err());
            while player.tick(second(5.2)) == Next::Now {}
            assert_eq!(now(player), 0.2);
            player.set_speed(0.5, second(5.2)).unwrap();
            while player.tick(second(5.4)) == Next::Now {}
            assert_eq!(now(player), 0.3);
            player.pause();
            assert_eq!((player.tick(second(9.0)), now(player)), (Next::Asked, 0.3));
            let events = player.world().events();
            player.step(3).unwrap();
            assert!(player.world().events() >= events + 3 && now(player) > 0.3);
            player.set_speed(10_000.0, second(9.0)).unwrap();
            player.play(second(9.0)).unwrap();
            // It cannot keep up: it does what it can, a little at a time.
            assert_eq!(player.tick(second(10.0)), Next::Now);
            assert!(now(player) < 3.0);
            player.set_speed(100.0, second(10.0)).unwrap();
            while player.tick(second(10.05)) == Next::Now {}
            assert!(now(player) > 3.0 && player.state().over, "time goes on after the end");
        }
    }
    let (ending, _) = play(&radio(protocol(Name::ReverseLink, Over::Links)), 1, Edits::default(), &mut Speeds);
    assert_eq!(ending.outcome.end, Time(3_000_000_000));
    assert!(ending.outcome.requests.iter().all(|request| request.asked < Time(3_000_000_000)));
}

#[test]
fn a_thread_plays_and_answers() {
    use std::sync::mpsc::channel;
    let (changed, changes) = channel();
    let start = |scenario: Scenario| Start {
        scenario,
        seed: 1,
        about: About { views: true, ..About::default() },
        output: Box::new(io::sink()),
        earlier: Edits::default(),
        clock: wall_clock(),
        on_change: std::sync::Arc::new({
            let changed = changed.clone();
            move || {
                let _ = changed.send(());
            }
        }),
    };
    let live = Live::start(start(radio(protocol(Name::ReverseLink, Over::Links)))).unwrap();
    assert_eq!(live.abilities(), Abilities { air: true, links: true, join: true, leave: true });
    assert!(live.state().paused && live.state().range == Some(120.0));
    live.set_speed(10_000.0).unwrap();
    live.play().unwrap();
    while !live.state().over {
        changes.recv().unwrap();
    }
    live.pause().unwrap();
    let done = live.edit(Change::Add { at: Some([1.0, 2.0]) }).unwrap();
    assert_eq!(done.node, Some(NodeId(12)));
    assert!(live.edit(Change::Add { at: None }).is_err());
    assert_eq!(live.edits().unwrap().edits.len(), 1);
    let ending = live.finish().unwrap();
    assert_eq!((ending.edits.edits.len(), ending.outcome.nodes), (1, 13));
    assert!(live.play().is_err() && live.finish().is_none());
    // Dropped while it plays: it ends.
    let dropped = Live::start(start(radio(protocol(Name::Flood, Over::Links)))).unwrap();
    dropped.play().unwrap();
    drop(dropped);
    let mut wrong = radio(protocol(Name::ReverseLink, Over::Routing));
    wrong.nodes = 3;
    assert!(Live::start(start(wrong)).unwrap_err().to_string().contains("sends to neighbours only"));
}
