//! What a run must be: the same every time, exact in its times, and honest about what it loses.

use std::sync::Arc;

use meshlock_core::NodeId;
use meshlock_sim::build::world;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::geometry::{Leg, Point};
use meshlock_sim::measures::measures;
use meshlock_sim::outcome::{Limit, Outcome};
use meshlock_sim::run::run;
use meshlock_sim::scenario::{
    Area, Arrivals, Changes, Class, Limits, MessageSize, Mobility, Name, Network, Over, Placement, ProtocolChoice,
    Radio, Scenario, ScriptedChange, Shape, Text, Traffic, Warmup, Wired,
};
use meshlock_sim::time::{Span, Time};
use meshlock_sim::world::World;

const SIDE: Area = Area { width: 300.0, height: 300.0 };

fn seconds(seconds: f64) -> Span {
    Span::from_seconds(seconds)
}

fn protocol(name: Name, over: Over) -> ProtocolChoice {
    ProtocolChoice { name, over, ..ProtocolChoice::default() }
}

/// Twenty nodes that move, think for a quarter of a second on average and hold for 10 ms.
fn radio(protocol: ProtocolChoice) -> Scenario {
    let mobility = Mobility::Linear { speed: Distribution::Uniform { low: 1.0, high: 20.0 } };
    let think = Distribution::Uniform { low: 0.0, high: 0.5 };
    let mut class = Class::closed(20, think, Distribution::Constant(0.01));
    if protocol.name == Name::Group {
        class.session = Some(Distribution::Uniform { low: 1.0, high: 2.0 });
    }
    Scenario {
        name: "radio".to_owned(),
        nodes: 20,
        duration: seconds(5.0),
        warmup: Warmup::Fixed(seconds(1.0)),
        protocol,
        network: Network::Radio(Radio::report(SIDE, mobility)),
        traffic: Traffic { classes: vec![class] },
        ..Scenario::reference()
    }
}

fn wired(protocol: ProtocolChoice, shape: Shape) -> Scenario {
    let wired = Wired {
        message: MessageSize::Encoded { header: 8 },
        gentle: true,
        changes: Changes { every: Some(seconds(20.0)), keep_connected: true, script: Vec::new() },
        ..Wired::new(shape, Distribution::Uniform { low: 0.5, high: 1.5 })
    };
    let class = Class::closed(12, Distribution::Exponential { mean: 30.0 }, Distribution::Exponential { mean: 1.0 });
    Scenario {
        name: "wired".to_owned(),
        nodes: 12,
        duration: seconds(1_000.0),
        warmup: Warmup::Fixed(Span::ZERO),
        drain: seconds(1_000.0),
        protocol,
        network: Network::Wired(wired),
        traffic: Traffic { classes: vec![class] },
        ..Scenario::reference()
    }
}

fn holding_back(mut scenario: Scenario, most: f64) -> Scenario {
    let most = Some(seconds(most));
    match &mut scenario.network {
        Network::Radio(radio) => radio.hold_back = most,
        Network::Wired(wired) => wired.hold_back = most,
    }
    scenario
}

const RANDOM: Shape = Shape::Random { connectivity: 0.3 };

/// Runs of every kind, with the hash that each must have, on every machine and at every level of optimisation.
fn pinned() -> Vec<(Scenario, u64)> {
    let printed = |name| ProtocolChoice { text: Text::PRINTED, ..protocol(name, Over::Links) };
    vec![
        (radio(protocol(Name::ReverseLink, Over::Links)), 10_534_680_813_891_969_074),
        (radio(protocol(Name::Flood, Over::Links)), 4_118_028_825_352_902_653),
        (radio(protocol(Name::Group, Over::Relay)), 6_425_645_548_652_432_307),
        (radio(protocol(Name::NaimiTrehel, Over::Routing)), 16_754_857_570_688_609_670),
        (wired(protocol(Name::ReverseLink, Over::Links), RANDOM), 12_476_897_135_995_519_756),
        (wired(printed(Name::ReverseLink), RANDOM), 4_988_167_234_257_547_265),
        (wired(protocol(Name::Raymond, Over::Routing), RANDOM), 11_418_822_247_127_315_872),
        (holding_back(radio(protocol(Name::ReverseLink, Over::Links)), 0.01), 5_273_892_109_612_182_487),
        (holding_back(wired(protocol(Name::ReverseLink, Over::Links), RANDOM), 5.0), 11_794_951_312_229_703_385),
    ]
}

fn must_run(scenario: &Scenario, seed: u64) -> Outcome {
    run(scenario, seed, &mut ()).expect("these scenarios can be run")
}

#[test]
fn the_same_scenario_and_seed_give_the_same_run_everywhere() {
    let found: Vec<u64> = pinned().iter().map(|(scenario, _)| must_run(scenario, 1).trace_hash).collect();
    let expected: Vec<u64> = pinned().iter().map(|(_, hash)| *hash).collect();
    assert_eq!(found, expected, "if a protocol or the engine was changed on purpose, pin the new ones");
}

#[test]
fn runs_beside_each_other_do_not_touch_each_other() {
    let scenario = radio(protocol(Name::ReverseLink, Over::Links));
    let alone: Vec<Outcome> = (1..=4).map(|seed| must_run(&scenario, seed)).collect();
    let together: Vec<Outcome> = std::thread::scope(|scope| {
        let scenario = &scenario;
        let runs: Vec<_> = (1..=4).map(|seed| scope.spawn(move || must_run(scenario, seed))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
    assert_ne!(alone[0].trace_hash, alone[1].trace_hash);
}

#[test]
fn a_clone_of_a_world_goes_on_in_the_same_way() {
    let mut world = world(&radio(protocol(Name::ReverseLink, Over::Links)), 1).unwrap();
    (0..5_000).for_each(|_| assert!(world.step(&mut ())));
    let mut earlier = world.clone();
    let requests = |world: &World| format!("{} {:?}", world.events(), world.requests());
    let (now, then) = (world.now(), requests(&world));
    (0..5_000).for_each(|_| assert!(world.step(&mut ())));
    assert_ne!(requests(&world), then);
    assert_eq!((earlier.now(), requests(&earlier)), (now, then), "the clone stays behind");
    (0..5_000).for_each(|_| assert!(earlier.step(&mut ())));
    assert_eq!(requests(&earlier), requests(&world));
}

fn links_match_distances(mut world: World) {
    let mut seen = [0_u32; 2];
    while world.now() < Time::ZERO + seconds(4.9) {
        assert!(world.step(&mut ()));
        for (a, b) in (0..20).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let [one, other] = [a, b].map(|node| world.position(NodeId(node)).expect("on the air"));
            let apart = (one - other).length();
            // Within a micrometre rounding decides.
            if (apart - 120.0).abs() > 1e-6 {
                assert_eq!(world.links().is_up(a, b), apart < 120.0, "{a} and {b} are {apart} m apart");
                seen[usize::from(apart < 120.0)] += 1;
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 1_000), "{seen:?}");
}

#[test]
fn links_are_up_exactly_while_nodes_are_in_range() {
    let mobilities = [
        Mobility::Linear { speed: Distribution::Uniform { low: 1.0, high: 40.0 } },
        Mobility::Walk {
            speed: Distribution::Constant(30.0),
            leg: Distribution::Uniform { low: 0.05, high: 0.5 },
            turn: 2.0,
        },
        Mobility::Static(Placement::Random),
    ];
    for mobility in mobilities {
        let mut scenario = radio(protocol(Name::ReverseLink, Over::Links));
        scenario.network = Network::Radio(Radio::report(SIDE, mobility));
        links_match_distances(world(&scenario, 3).unwrap());
    }
}

/// Two nodes; node 1 asks once at one second, with what lies between them.
fn pair(network: Network) -> Scenario {
    let arrivals = Arrivals::Burst { at: seconds(1.0), requests: 1 };
    let class = Class {
        nodes: vec![1],
        arrivals,
        ..Class::closed(2, Distribution::Constant(0.0), Distribution::Constant(0.5))
    };
    Scenario {
        nodes: 2,
        network,
        traffic: Traffic { classes: vec![class] },
        ..radio(protocol(Name::ReverseLink, Over::Links))
    }
}

fn places(legs: [Vec<Leg>; 2]) -> Network {
    let mobility = Mobility::Trace { source: "test".to_owned(), legs: Arc::new(legs.into()) };
    Network::Radio(Radio::report(Area { width: 1_000.0, height: 10.0 }, mobility))
}

fn rest(x: f64) -> Vec<Leg> {
    vec![Leg::rest(Point::new(x, 5.0), Time::ZERO, Time::NEVER)]
}

#[test]
fn a_hop_takes_airtime_and_latency() {
    let outcome = must_run(&pair(places([rest(0.0), rest(100.0)])), 1);
    // 200 bytes at 1 Mb/s are 1.6 ms, and 0.3 ms of latency, for the claim and for the token.
    assert_eq!(outcome.requests[0].wait(), Some(Span(3_800_000)));
    assert_eq!(outcome.network.lost, 0);
}

/// A node that stands 119 m away and leaves at 10 m/s at one second and so many milliseconds: 0.1 s later it is gone;
/// it comes back after a second.
fn leaves_at(millis: u64) -> Vec<Leg> {
    let (leave, back) =
        (Time(1_000_000_000) + Span::from_millis(millis), Time(2_000_000_000) + Span::from_millis(millis));
    let at = Point::new(119.0, 5.0);
    let away = Leg { start: leave, end: back, from: at, velocity: Point::new(10.0, 0.0), present: true };
    vec![Leg::rest(at, Time::ZERO, leave), away, Leg::rest(at, back, Time::NEVER)]
}

#[test]
fn a_link_that_breaks_takes_with_it_what_is_on_the_air() {
    // Asked at 1.0 s, the claim lands 1.9 ms later and the token 1.9 ms after that; the link breaks at 1.003 s.
    let mut scenario = pair(places([rest(0.0), leaves_at(0)]));
    let Network::Radio(radio) = &mut scenario.network else { panic!("a radio network") };
    radio.range = 119.03;
    let lost = must_run(&scenario, 1);
    assert_eq!(lost.network.lost, 1);
    assert!(
        lost.requests[0].wait() > Some(seconds(1.0)),
        "served when the node is back: {:?}",
        lost.requests[0].wait()
    );
    let Network::Radio(radio) = &mut scenario.network else { panic!("a radio network") };
    radio.gentle = true;
    let gentle = must_run(&scenario, 1);
    assert_eq!(gentle.network.lost, 0);
    // Delivered when the link breaks, to the nanosecond.
    assert_eq!(gentle.requests[0].wait(), Some(Span(3_000_001)));
}

#[test]
fn a_node_that_is_absent_has_no_links() {
    let present = |present, start, end| Leg { present, ..Leg::rest(Point::new(50.0, 5.0), Time(start), Time(end)) };
    let appears = vec![present(false, 0, 2_000_000_000), present(true, 2_000_000_000, u64::MAX)];
    let outcome = must_run(&pair(places([rest(0.0), appears])), 1);
    let wait = outcome.requests[0].wait().unwrap();
    assert!(wait > seconds(1.0) && wait < seconds(1.1), "{wait}");
    assert!(outcome.network.connected > 0.98, "one node alone is connected: {:?}", outcome.network);
}

#[test]
fn errors_are_repaired_by_acknowledged_frames_and_cost_transmissions() {
    let mut scenario = radio(protocol(Name::ReverseLink, Over::Links));
    let clean = measures(&scenario, &must_run(&scenario, 1));
    let Network::Radio(radio) = &mut scenario.network else { panic!("a radio network") };
    radio.error = 0.2;
    let outcome = must_run(&scenario, 1);
    let noisy = measures(&scenario, &outcome);
    assert_eq!((noisy["violations"], noisy["stuck"]), (0.0, 0.0), "{:?}", outcome.broken);
    assert!(noisy["frames/entry"] > 1.2 * clean["frames/entry"], "{noisy:?}");
}

#[test]
fn a_link_that_gives_up_is_broken_and_found_again() {
    let mut scenario = radio(protocol(Name::ReverseLink, Over::Links));
    let Network::Radio(radio) = &mut scenario.network else { panic!("a radio network") };
    (radio.error, radio.retries) = (0.3, 1);
    let outcome = must_run(&scenario, 1);
    let numbers = measures(&scenario, &outcome);
    assert!(outcome.network.lost > 10, "{:?}", outcome.network);
    assert_eq!((numbers["violations"], numbers["stuck"]), (0.0, 0.0), "{:?}", outcome.broken);
}

#[test]
fn the_repaired_flood_survives_loss_and_the_printed_one_is_stuck() {
    let mut scenario = radio(protocol(Name::Flood, Over::Links));
    let Network::Radio(radio) = &mut scenario.network else { panic!("a radio network") };
    radio.error = 0.3;
    let repaired = measures(&scenario, &must_run(&scenario, 1));
    assert_eq!((repaired["violations"], repaired["stuck"]), (0.0, 0.0));
    scenario.protocol.text = Text::with_repairs(&["f1"]);
    let printed = measures(&scenario, &must_run(&scenario, 1));
    assert!(printed["stuck"] > 0.0, "{printed:?}");
}

#[test]
fn routed_messages_arrive_in_order_and_none_is_lost_while_links_change() {
    for name in [Name::Raymond, Name::Lamport, Name::NaimiTrehel, Name::Central] {
        let mut scenario = wired(protocol(name, Over::Routing), RANDOM);
        let Network::Wired(wired) = &mut scenario.network else { panic!("a wired network") };
        wired.changes = Changes { every: Some(seconds(2.0)), keep_connected: false, script: Vec::new() };
        let outcome = must_run(&scenario, 5);
        let numbers = measures(&scenario, &outcome);
        assert!(outcome.network.link_changes > 500);
        assert_eq!((numbers["violations"], numbers["stuck"]), (0.0, 0.0), "{}: {:?}", name.name(), outcome.broken);
    }
}

#[test]
fn scripted_changes_happen_when_they_say() {
    let mut scenario = wired(protocol(Name::ReverseLink, Over::Links), Shape::Links(vec![(0, 1)]));
    (scenario.nodes, scenario.traffic.classes[0].nodes) = (2, vec![1]);
    let Network::Wired(wired) = &mut scenario.network else { panic!("a wired network") };
    let change = |at, up| ScriptedChange { at: seconds(at), a: 0, b: 1, up };
    wired.changes =
        Changes { every: None, keep_connected: false, script: vec![change(100.0, false), change(600.0, true)] };
    let outcome = must_run(&scenario, 1);
    let cut = |time: Time| time > Time::ZERO + seconds(103.0) && time < Time::ZERO + seconds(600.0);
    // After the cut the token is on one side; the other side waits for the link.
    let waited = outcome.requests.iter().filter(|request| request.wait() > Some(seconds(100.0))).count();
    let granted = outcome.requests.iter().filter_map(|request| request.granted).filter(|time| cut(*time)).count();
    assert_eq!(outcome.network.link_changes, 2);
    assert!(waited <= 1 && (waited == 1) == (granted == 0), "{waited} waited for the link, {granted} entered without");
}

#[test]
fn no_protocol_beats_the_omniscient_one() {
    let bound = radio(protocol(Name::Omniscient, Over::Links));
    let wait = |scenario: &Scenario| measures(scenario, &must_run(scenario, 1))["wait.mean"];
    let best = wait(&bound);
    for (name, over) in [
        (Name::ReverseLink, Over::Links),
        (Name::Flood, Over::Links),
        (Name::Central, Over::Routing),
        (Name::SuzukiKasami, Over::Routing),
    ] {
        let other = wait(&radio(protocol(name, over)));
        assert!(other > best, "{}: {other} s against {best} s", name.name());
    }
}

/// As printed every node passes on every copy that it hears, so on wires there are more of them at every hop.
#[test]
fn a_literal_flood_on_wires_is_stopped_as_a_storm() {
    let flood = ProtocolChoice { text: Text::PRINTED, ..protocol(Name::Flood, Over::Links) };
    let mut scenario = wired(flood, Shape::Line);
    (scenario.nodes, scenario.traffic.classes[0].nodes) = (5, (0..5).collect());
    scenario.limits.in_flight = 10_000;
    let outcome = run(&scenario, 1, &mut ()).unwrap();
    let storm = outcome.storm.expect("it does not end by itself");
    assert!(outcome.stopped && storm.in_flight == 10_001 && storm.exceeded == Limit::InFlight(10_000), "{storm:?}");
    assert!(storm.to_string().starts_with("storm at "), "{storm}");
    assert_eq!(outcome.end, storm.at, "measured until then");
    assert_eq!(measures(&scenario, &outcome).get("stuck"), None, "unknown");
    scenario.protocol.text = Text::with_repairs(&["f1"]);
    assert_eq!(run(&scenario, 1, &mut ()).unwrap().storm, None, "with a memory it ends");
}

#[test]
fn the_last_event_within_the_limit_is_no_storm() {
    let scenario = radio(protocol(Name::ReverseLink, Over::Links));
    let whole = run(&scenario, 1, &mut ()).unwrap();
    assert_eq!(whole.storm, None);
    let with = |events: u64| {
        let limits = Limits { events, ..scenario.limits };
        run(&Scenario { limits, ..scenario.clone() }, 1, &mut ()).unwrap()
    };
    assert_eq!(with(whole.events), whole);
    let storm = with(whole.events - 1).storm.expect("one event too many");
    assert_eq!((storm.exceeded, storm.events), (Limit::Events(whole.events - 1), whole.events));
}
