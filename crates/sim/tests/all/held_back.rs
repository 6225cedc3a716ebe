//! Messages that nobody waits for share a frame: in their order, not for longer than the scenario says, and lost with their
//! link.

use std::collections::{BTreeMap, VecDeque};

use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol};
use meshlock_protocols::{Message, Node};
use meshlock_sim::build::world;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::edit::Edits;
use meshlock_sim::measures::{Measures, measures};
use meshlock_sim::observe::Observer;
use meshlock_sim::outcome::{Outcome, Totals};
use meshlock_sim::run::{drive, run};
use meshlock_sim::scenario::{
    Area, Arrivals, Changes, Class, MessageSize, Mobility, Name, Network, Over, Placement, ProtocolChoice, Radio,
    Scenario, ScriptedChange, Shape, Text, Traffic, Warmup, Wired,
};
use meshlock_sim::time::{Span, Time};

fn seconds(seconds: f64) -> Span {
    Span::from_seconds(seconds)
}

/// When what arrived where, and what was lost. Every message must be the next of those that are on its link.
#[derive(Default)]
struct Witness {
    arrived: Vec<(Time, u32, &'static str)>,
    lost: Vec<(Time, &'static str)>,
    on_links: BTreeMap<(u32, u32), VecDeque<Message>>,
}

impl Witness {
    fn send(&mut self, from: u32, to: u32, message: &Message) {
        self.on_links.entry((from, to)).or_default().push_back(message.clone());
    }

    fn next(&mut self, from: NodeId, to: NodeId, message: &Message) {
        let next = self.on_links.get_mut(&(from.0, to.0)).and_then(VecDeque::pop_front);
        assert_eq!(next.as_ref(), Some(message), "from {from} to {to}");
    }
}

impl Observer for Witness {
    fn handled(&mut self, now: Time, node: &Node, event: Event<Message>, effects: Result<&[Effect<Message>], Misuse>) {
        let at = node.id();
        if let Event::Receive { from, message } = &event {
            self.next(*from, at, message);
            self.arrived.push((now, at.0, Node::kind(message)));
        }
        for effect in effects.unwrap_or_default() {
            match effect {
                Effect::Send { to, message } => self.send(at.0, to.0, message),
                Effect::Multicast { to, message } => to.iter().for_each(|to| self.send(at.0, to.0, message)),
                Effect::Broadcast { message } => {
                    node.view().neighbours.iter().for_each(|to| self.send(at.0, to.0, message));
                }
                Effect::Granted { .. } | Effect::Arm { .. } | Effect::Reject { .. } => {}
            }
        }
    }

    fn lost(&mut self, now: Time, from: NodeId, to: NodeId, message: &Message) {
        self.next(from, to, message);
        self.lost.push((now, Node::kind(message)));
    }
}

/// Nodes 1 and perhaps 0 ask once, 1 at one second; a message takes 0.1 s, a critical section 0.5 s.
fn pair(hold_back: Option<Span>, zero_asks_at: Option<f64>) -> Scenario {
    let asks = |node: u32, at: f64| Class {
        nodes: vec![node],
        arrivals: Arrivals::Burst { at: seconds(at), requests: 1 },
        ..Class::closed(2, Distribution::Constant(0.0), Distribution::Constant(0.5))
    };
    let classes = zero_asks_at.map(|at| asks(0, at)).into_iter().chain([asks(1, 1.0)]).collect();
    Scenario {
        nodes: 2,
        duration: seconds(10.0),
        warmup: Warmup::Fixed(Span::ZERO),
        network: Network::Wired(Wired { hold_back, ..Wired::new(Shape::Line, Distribution::Constant(0.1)) }),
        traffic: Traffic { classes },
        ..Scenario::reference()
    }
}

fn seen(scenario: &Scenario) -> (Outcome, Witness) {
    let mut witness = Witness::default();
    let world = world(scenario, 1).expect("these scenarios can be run");
    let outcome = drive(world, scenario, &Edits::default(), &mut (), &mut witness).expect("there are no edits");
    (outcome, witness)
}

fn arrivals(witness: &Witness, kind: &str) -> Vec<f64> {
    witness.arrived.iter().filter(|(_, _, k)| *k == kind).map(|(at, ..)| at.seconds()).collect()
}

fn wires(scenario: &mut Scenario) -> &mut Wired {
    let Network::Wired(wired) = &mut scenario.network else { panic!("a wired network") };
    wired
}

#[test]
fn a_confirmation_goes_by_itself_in_the_end() {
    for (hold_back, here) in [(None, 1.3), (Some(0.0), 1.3), (Some(0.25), 1.55), (Some(3.0), 4.3)] {
        let (outcome, witness) = seen(&pair(hold_back.map(seconds), None));
        // Asked at 1.0 s; the token comes at 1.2 s.
        assert_eq!(outcome.requests[0].wait(), Some(seconds(0.2)));
        assert_eq!(arrivals(&witness, "here"), [here], "{hold_back:?}");
    }
}

#[test]
fn a_confirmation_goes_with_the_next_message_and_before_it() {
    // Node 0 asks at 1.25 s, and node 1 gives the token back at 1.7 s.
    let (outcome, witness) = seen(&pair(Some(seconds(3.0)), Some(1.25)));
    let at_zero: Vec<_> = witness.arrived.iter().filter(|(_, node, _)| *node == 0).collect();
    let last: Vec<_> = at_zero.iter().rev().take(2).rev().map(|(at, _, kind)| (at.seconds(), *kind)).collect();
    assert_eq!(last, [(1.8, "here"), (1.8, "token")]);
    // Node 0 confirms it when its own time is over, though the alarm for an earlier one was set.
    assert_eq!(arrivals(&witness, "here"), [1.8, 4.9]);
    let alone = seen(&pair(None, Some(1.25))).0;
    let [together, alone] = [outcome, alone].map(|outcome| Totals::of(&outcome.kinds));
    assert_eq!((together.messages, together.bytes), (alone.messages, alone.bytes), "nothing more or less is said");
    assert_eq!(together.frames + 1, alone.frames);
}

#[test]
fn what_is_held_back_is_lost_with_its_link_or_delivered_with_what_is_on_it() {
    let cut = ScriptedChange { at: seconds(1.4), a: 0, b: 1, up: false };
    for gentle in [false, true] {
        let mut scenario = pair(Some(seconds(3.0)), None);
        (wires(&mut scenario).gentle, wires(&mut scenario).changes.script) = (gentle, vec![cut]);
        let (outcome, witness) = seen(&scenario);
        let (lost, here) = if gentle { (vec![], vec![1.4]) } else { (vec![(cut.at, "here")], vec![]) };
        let lost: Vec<_> = lost.into_iter().map(|(at, kind)| (Time::ZERO + at, kind)).collect();
        assert_eq!((&witness.lost, arrivals(&witness, "here")), (&lost, here));
        assert_eq!(outcome.network.lost, lost.len() as u64);
    }
}

#[test]
fn a_link_that_comes_back_starts_with_nothing_held_back() {
    let change = |at, up| ScriptedChange { at: seconds(at), a: 0, b: 1, up };
    let mut scenario = pair(Some(seconds(3.0)), None);
    wires(&mut scenario).changes.script = vec![change(1.4, false), change(1.5, true)];
    let (outcome, witness) = seen(&scenario);
    assert_eq!(witness.lost, [(Time::ZERO + seconds(1.4), "here")]);
    // Node 0 has asked what became of the token, and node 1 says so.
    assert!(arrivals(&witness, "here").is_empty());
    assert!(outcome.broken.is_empty() && outcome.quiet.is_some(), "{:?}", outcome.broken);
}

fn twelve(name: Name, text: Text) -> Scenario {
    let wired = Wired {
        message: MessageSize::Encoded { header: 8 },
        changes: Changes { every: Some(seconds(20.0)), keep_connected: true, script: Vec::new() },
        gentle: text != Text::Repaired,
        ..Wired::new(Shape::Random { connectivity: 0.3 }, Distribution::Uniform { low: 0.05, high: 0.15 })
    };
    let mut class =
        Class::closed(12, Distribution::Exponential { mean: 10.0 }, Distribution::Exponential { mean: 1.0 });
    class.units = Distribution::Uniform { low: 1.0, high: 3.0 };
    Scenario {
        nodes: 12,
        duration: seconds(500.0),
        warmup: Warmup::Fixed(Span::ZERO),
        drain: seconds(500.0),
        protocol: ProtocolChoice { name, text, capacity: 3, ..ProtocolChoice::default() },
        network: Network::Wired(wired),
        traffic: Traffic { classes: vec![class] },
        ..Scenario::reference()
    }
}

fn on_air() -> Scenario {
    let area = Area { width: 300.0, height: 300.0 };
    let mobility = Mobility::Linear { speed: Distribution::Uniform { low: 1.0, high: 20.0 } };
    let radio = Radio { error: 0.1, retries: 2, ..Radio::report(area, mobility) };
    let think = Distribution::Uniform { low: 0.0, high: 0.5 };
    Scenario {
        nodes: 20,
        duration: seconds(5.0),
        warmup: Warmup::Fixed(Span::ZERO),
        network: Network::Radio(radio),
        traffic: Traffic { classes: vec![Class::closed(20, think, Distribution::Constant(0.01))] },
        ..Scenario::reference()
    }
}

fn with(scenario: &Scenario, bound: Option<Span>) -> Scenario {
    let mut scenario = scenario.clone();
    match &mut scenario.network {
        Network::Wired(wired) => wired.hold_back = bound,
        Network::Radio(radio) => radio.hold_back = bound,
    }
    scenario
}

#[test]
fn links_keep_the_order_of_messages_and_rules_hold_with_every_bound() {
    let printed = Text::with_repairs(&["p1", "p2"]);
    for scenario in [twelve(Name::ReverseLink, Text::Repaired), twelve(Name::ReverseLink, printed), on_air()] {
        let mut shares = Vec::new();
        for bound in [None, Some(0.0), Some(0.5), Some(50.0)].map(|bound| bound.map(seconds)) {
            let scenario = with(&scenario, bound);
            let (outcome, _) = seen(&scenario);
            let numbers: Measures = measures(&scenario, &outcome);
            // The printed text has its own faults, whatever is held back.
            if scenario.protocol.text == Text::Repaired {
                let faults = (numbers["violations"], numbers["stuck"]);
                assert_eq!(faults, (0.0, 0.0), "{bound:?}: {:?}", outcome.broken);
            }
            shares.push(numbers["frames/entry"] / numbers["messages/entry"]);
        }
        // What happens is not the same with each bound, but far from it.
        let [alone, together, short, long] = shares[..] else { panic!("four bounds") };
        assert!(together < alone && short < together && long < short, "{shares:?}");
    }
}

#[test]
fn where_the_scenario_does_not_say_so_every_message_is_a_frame() {
    let scenario = twelve(Name::ReverseLink, Text::Repaired);
    let numbers = measures(&scenario, &seen(&scenario).0);
    assert_eq!(numbers["frames/entry"], numbers["messages/entry"]);
}

/// Protocols that know no message that can wait, and messages that are routed.
#[test]
fn protocols_without_confirmations_run_as_before_but_for_what_one_event_sends() {
    for (name, over) in [(Name::Raymond, Over::Routing), (Name::Lamport, Over::Links), (Name::Flood, Over::Links)] {
        let mut scenario = on_air();
        (scenario.protocol.name, scenario.protocol.over) = (name, over);
        if name == Name::Lamport {
            scenario.network = Network::Wired(Wired::new(Shape::Complete, Distribution::Constant(0.001)));
        }
        let [alone, held] =
            [None, Some(seconds(1.0))].map(|bound| run(&with(&scenario, bound), 1, &mut ()).expect("can be run"));
        assert_eq!(alone.trace_hash, held.trace_hash, "{}", name.name());
    }
}

#[test]
fn a_frame_on_the_air_is_as_long_as_all_that_is_in_it() {
    let mut scenario = pair(None, Some(1.25));
    let mobility = Mobility::Static(Placement::At(vec![(0.0, 0.0), (10.0, 0.0)]));
    let radio = Radio::report(Area { width: 100.0, height: 100.0 }, mobility);
    scenario.network = Network::Radio(Radio { hold_back: Some(seconds(3.0)), ..radio });
    let (_, witness) = seen(&scenario);
    let token = witness.arrived.iter().rfind(|(.., kind)| *kind == "token").expect("it comes back");
    let release = 1.5 + 2.0 * 0.0019;
    // Twice 200 bytes at 1 Mb/s are 3.2 ms, and 0.3 ms of latency.
    assert_eq!(token.0, Time::ZERO + seconds(release + 0.0032 + 0.0003));
}
