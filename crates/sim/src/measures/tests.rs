//! Small runs made by hand, with every measure known.

mod slow;

use meshlock_core::{Deadline, NodeId, Priority, RequestId, Session, Units, Urgency};
use meshlock_properties::Rule;

use super::{Measures, definition, measures};
use crate::distribution::Distribution;
use crate::outcome::{Broken, CrashesSeen, Declaration, Kind, NetworkSeen, Outage, Outcome, Request, Totals};
use crate::scenario::{Area, Class, MessageSize, Mobility, Network, Placement, Radio, Scenario, Shape, Warmup, Wired};
use crate::time::{Span, Time};

const SECOND: u64 = 1_000_000_000;

fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_seconds(seconds)
}

/// A request of one unit at priority 1 that is never answered.
fn asked(node: u32, seconds: f64) -> Request {
    Request {
        node: NodeId(node),
        request: RequestId(0),
        class: 0,
        units: Units(1),
        urgency: Urgency::Priority(Priority(1)),
        session: None,
        asked: at(seconds),
        granted: None,
        released: None,
        cancelled: None,
        sent: Totals::default(),
    }
}

impl Request {
    fn held(self, from: f64, to: f64) -> Self {
        Self { granted: Some(at(from)), released: Some(at(to)), ..self }
    }

    fn cancelled(self, seconds: f64) -> Self {
        Self { cancelled: Some(at(seconds)), ..self }
    }

    fn priority(self, priority: i32) -> Self {
        Self { urgency: Urgency::Priority(Priority(priority)), ..self }
    }

    fn due(self, seconds: f64) -> Self {
        Self { urgency: Urgency::Deadline(Deadline(at(seconds).0 / 1_000)), ..self }
    }

    fn units(self, units: u32) -> Self {
        Self { units: Units(units), ..self }
    }

    fn session(self, session: u64) -> Self {
        Self { session: Some(Session(session)), ..self }
    }

    fn class(self, class: u16) -> Self {
        Self { class, ..self }
    }
}

/// Four nodes on a line of wires that take up to half a second, holding 2 s; no warm-up.
fn scenario() -> Scenario {
    let think = Distribution::Constant(1.0);
    let mut scenario = Scenario::reference();
    scenario.warmup = Warmup::Fixed(Span::ZERO);
    let delay = Distribution::Uniform { low: 0.1, high: 0.5 };
    scenario.network = Network::Wired(Wired { message: MessageSize::Fixed(10), ..Wired::new(Shape::Line, delay) });
    scenario.traffic.classes = vec![Class::closed(4, think, Distribution::Constant(2.0))];
    scenario
}

/// Ten seconds of a quiet run.
fn outcome(capacity: u32, requests: Vec<Request>) -> Outcome {
    Outcome {
        seed: 1,
        nodes: 4,
        capacity,
        end: at(10.0),
        quiet: Some(at(11.0)),
        events: 77,
        trace_hash: 0,
        requests,
        kinds: Vec::new(),
        kinds_before: Vec::new(),
        acks: 0,
        network: NetworkSeen { diameter: 4, ..NetworkSeen::default() },
        broken: Vec::new(),
        stopped: false,
        storm: None,
        rejected: 3,
        crashes: None,
    }
}

fn kind(name: &'static str, messages: u64, frames: u64, bytes: u64) -> Kind {
    Kind { name, totals: Totals { messages, frames, bytes } }
}

#[track_caller]
fn expect(found: &Measures, expected: &[(&str, f64)]) {
    for (name, expected) in expected {
        let found = found.get(*name).unwrap_or_else(|| panic!("{name} is absent"));
        assert!((found - expected).abs() < 1e-9, "{name} is {found}, not {expected}");
        assert!(definition(name).is_some(), "{name} is not in the catalogue");
    }
}

#[track_caller]
fn expect_absent(found: &Measures, names: &[&str]) {
    for name in names {
        assert_eq!(found.get(*name), None, "{name}");
    }
}

/// Four waits of 0, 1, 2 and 3 s through one unit; one request that was given up, and one that still waits.
fn queue_of_one() -> Outcome {
    outcome(
        1,
        vec![
            asked(0, 0.0).held(0.0, 1.0),
            asked(1, 0.5).held(1.5, 2.0),
            asked(2, 1.0).held(3.0, 4.0),
            asked(1, 2.5).held(5.5, 6.0),
            asked(3, 6.0).cancelled(7.0),
            asked(3, 8.0),
        ],
    )
}

#[test]
fn waits_tell_of_all_requests() {
    let found = measures(&scenario(), &queue_of_one());
    expect(
        &found,
        &[
            ("warmup", 0.0),
            ("requests", 6.0),
            ("entries", 4.0),
            ("entries/s", 0.4),
            ("wait.mean", 1.5),
            ("wait.p50", 1.5),
            ("wait.p95", 2.85),
            ("wait.p99", 2.97),
            ("wait.max", 3.0),
            ("wait.max/mean", 2.0),
            ("cancelled", 1.0),
            ("unserved", 1.0),
            ("stuck", 1.0),
            ("wait.censored-mean", (6.0 + 1.0 + 2.0) / 6.0),
            ("load", 6.0 * 2.0 / 10.0),
            ("events", 77.0),
            ("rejected", 3.0),
            ("violations", 0.0),
        ],
    );
    expect_absent(&found, &["wait.all.mean", "wait.priority-1.mean", "deadline.missed", "sessions.concurrency"]);
}

#[test]
fn units_and_hand_overs_of_a_queue_of_one() {
    let found = measures(&scenario(), &queue_of_one());
    // Inside 3 s of 10. Free while a request waits: 1 to 1.5, 2 to 3, 4 to 5.5, 6 to 7, 8 to 10.
    expect(
        &found,
        &[
            ("units.used", 0.3),
            ("units.idle-while-fitting", 0.6),
            ("units.idle-while-front-fits", 0.6),
            ("concurrency.mean", 1.0),
            ("concurrency.mean-all-time", 0.3),
            ("concurrency.max", 1.0),
            // The release at 6 is not waited for: the request of that moment came with it.
            ("sync-delay.mean", 1.0),
            ("sync-delay.p50", 1.0),
            ("sync-delay.p95", 1.45),
        ],
    );
}

#[test]
fn a_hand_over_without_a_waiting_request_is_none() {
    let requests = vec![
        asked(0, 0.0).held(0.0, 1.0),
        asked(1, 0.5).cancelled(2.0),
        asked(2, 3.0).held(4.0, 5.0),
        asked(3, 4.5).held(5.0, 5.0), // in and out at once
        asked(1, 4.75).held(7.0, 8.0),
    ];
    let found = measures(&scenario(), &outcome(1, requests));
    expect(&found, &[("sync-delay.mean", 1.0), ("sync-delay.p95", 1.9), ("units.used", 0.3)]);
}

#[test]
fn a_fixed_warm_up_leaves_out_requests_entries_and_messages() {
    let mut scenario = scenario();
    scenario.warmup = Warmup::Fixed(Span::from_seconds(2.0));
    let mut run = queue_of_one();
    run.kinds_before = vec![kind("token", 2, 2, 20)];
    run.kinds = vec![kind("ask", 8, 4, 400), kind("token", 6, 10, 120)];
    run.acks = 12;
    let found = measures(&scenario, &run);
    expect(
        &found,
        &[
            ("warmup", 2.0),
            ("requests", 3.0),
            ("entries", 2.0),
            ("entries/s", 0.25),
            ("wait.mean", 3.0),
            ("messages/entry", 6.0),
            ("frames/entry", 6.0),
            ("bytes/entry", 250.0),
            ("messages.ask/entry", 4.0),
            ("frames.ask/entry", 2.0),
            ("bytes.ask/entry", 200.0),
            ("messages.token/entry", 2.0),
            ("frames.token/entry", 4.0),
            ("bytes.token/entry", 50.0),
            ("acks/entry", 3.0),
            ("units.used", 1.5 / 8.0),
            ("load", 3.0 * 2.0 / 8.0),
            ("fairness.jain", 0.5), // nodes 1 and 2 entered once, 0 and 3 never
        ],
    );
}

#[test]
fn a_warm_up_is_found_on_the_waits() {
    let mut scenario = scenario();
    scenario.warmup = Warmup::Mser5;
    // Ten requests that wait long, then forty that wait 10 or 30 ms; each costs three messages.
    let mut requests: Vec<Request> = (0..50)
        .map(|i: u32| {
            let granted = 0.1 * f64::from(i + 2);
            let wait = if i < 10 { 0.1 } else { 0.01 + 0.02 * f64::from(i % 2) };
            let sent = Totals { messages: u64::from(3 * i), frames: u64::from(2 * i), bytes: u64::from(10 * i) };
            Request { sent, ..asked(i % 4, granted - wait).held(granted, granted + 0.01) }
        })
        .collect();
    requests.sort_by_key(|request| request.asked);
    let mut run = outcome(1, requests);
    run.kinds = vec![kind("token", 150, 100, 500)];
    let found = measures(&scenario, &run);
    expect(
        &found,
        &[
            ("warmup", 1.2),
            ("warmup.reliable", 1.0),
            ("entries", 40.0),
            ("requests", 39.0), // the first of the forty was asked just before
            ("messages/entry", 3.0),
            ("frames/entry", 2.0),
            ("bytes/entry", 10.0),
            ("messages.token/entry", 3.0),
        ],
    );
    expect(&measures(&scenario, &queue_of_one()), &[("warmup", 0.0), ("warmup.reliable", 0.0), ("entries", 4.0)]);
}

#[test]
fn classes_and_priorities_are_told_apart() {
    let mut scenario = scenario();
    let mut second = scenario.traffic.classes[0].clone();
    scenario.traffic.classes[0].name = "taxi".to_owned();
    second.name = "ambulance".to_owned();
    second.holding = Distribution::Constant(1.0);
    scenario.traffic.classes.push(second);
    let run = outcome(
        1,
        vec![
            asked(0, 0.0).held(1.0, 1.5),
            asked(1, 1.0).held(4.0, 4.5),
            asked(2, 2.0).held(2.5, 3.5).class(1).priority(-7),
        ],
    );
    expect(
        &measures(&scenario, &run),
        &[
            ("wait.taxi.mean", 2.0),
            ("wait.taxi.p95", 2.9),
            ("wait.taxi.max", 3.0),
            ("wait.ambulance.mean", 0.5),
            ("wait.ambulance.max", 0.5),
            ("wait.priority-1.mean", 2.0),
            ("wait.priority-1.p95", 2.9),
            ("wait.priority--7.mean", 0.5),
            ("load", 0.5),
        ],
    );
    let many: Vec<Request> = (0..21).map(|i| asked(0, 0.0).held(1.0, 2.0).priority(i)).collect();
    let found = measures(&scenario, &outcome(30, many[..20].to_vec()));
    expect(&found, &[("wait.priority-19.p95", 1.0)]);
    expect_absent(&measures(&scenario, &outcome(30, many)), &["wait.priority-19.p95"]);
}

#[test]
fn inversions_by_three_definitions() {
    // News takes 4 hops of 0.5 s. Capacity 2.
    let requests = vec![
        asked(0, 0.0).held(0.0, 6.0),                      // no request waits
        asked(1, 1.0).held(8.0, 9.0).priority(9).units(2), // urgent, and does not fit
        asked(2, 1.5).held(2.5, 4.0),                      // passes it after 1.5 s: not settled, not fitting
        asked(3, 3.0).held(4.0, 5.0).priority(5),          // passes it after 3 s: settled, not fitting
        asked(2, 6.5).held(7.0, 7.5).priority(2),          // passes it, and it would have fitted
        asked(3, 8.0).held(9.5, 9.75).priority(3),
        asked(0, 9.5).priority(8), // asked at that very moment: not passed
    ];
    let mut run = outcome(2, requests);
    run.broken = [Rule::GrantOrder, Rule::Queues]
        .map(|rule| Broken { rule, times: 3, at: at(1.0), node: None, words: String::new() })
        .to_vec();
    let found = measures(&scenario(), &run);
    expect(
        &found,
        &[
            ("entries", 6.0),
            ("inversions.any/entry", 3.0 / 6.0),
            ("inversions.settled/entry", 2.0 / 6.0),
            ("inversions.fitting/entry", 1.0 / 6.0),
            ("inversions.known", 3.0 / 6.0),
            ("violations", 6.0),
            // 1.5 to 2.5: a small one fits beside the first, but is not the front. 6 to 7 and 7.5 to 8: the front, alone.
            // 9 to 10: the last two, one after the other.
            ("units.idle-while-fitting", (1.0 + 1.0 + 0.5 + 1.0) / 10.0),
            ("units.idle-while-front-fits", (1.0 + 0.5 + 1.0) / 10.0),
            ("overtakes.max", 3.0),
        ],
    );
}

#[test]
fn news_takes_the_time_of_radio_hops() {
    let mut scenario = scenario();
    let radio = Radio {
        bandwidth: 8_000.0,
        latency: Span::from_seconds(0.05),
        message: MessageSize::Encoded { header: 8 },
        ..Radio::report(Area { width: 1.0, height: 1.0 }, Mobility::Static(Placement::Random))
    };
    scenario.network = Network::Radio(radio);
    let mut run = outcome(1, vec![asked(0, 0.0).priority(2), asked(1, 0.0).held(0.8, 1.0)]);
    // Frames of 150 bytes on average: 0.15 s + 0.05 s a hop, and 4 hops are exactly the 0.8 s it waited.
    run.kinds = vec![kind("ask", 9, 3, 300), kind("token", 1, 1, 300)];
    expect(&measures(&scenario, &run), &[("inversions.settled/entry", 0.0), ("inversions.any/entry", 1.0)]);
    run.network.diameter = 3;
    expect(&measures(&scenario, &run), &[("inversions.settled/entry", 1.0)]);
}

#[test]
fn unbounded_delays_count_three_times_their_mean() {
    let mut scenario = scenario();
    let Network::Wired(wired) = &mut scenario.network else { panic!("wired") };
    wired.delay = Distribution::Exponential { mean: 0.1 };
    let run = |waited| outcome(1, vec![asked(0, 0.0).priority(2), asked(1, 0.0).held(waited, 9.0)]);
    expect(&measures(&scenario, &run(1.2)), &[("inversions.settled/entry", 0.0)]);
    expect(&measures(&scenario, &run(1.3)), &[("inversions.settled/entry", 1.0)]);
}

#[test]
fn deadlines_are_missed_by_whoever_waits_beyond_them() {
    let requests = vec![
        asked(0, 0.0).held(1.0, 1.5).due(1.0),    // just in time
        asked(1, 0.0).held(2.0, 2.5).due(1.5),    // late
        asked(2, 0.0).cancelled(3.0).due(2.9),    // gave up too late
        asked(3, 0.0).cancelled(3.0).due(3.5),    // gave up in time: not counted
        asked(0, 5.0).due(9.0),                   // still waits, too late
        asked(1, 5.0).due(10.5),                  // still waits, not decided
        asked(2, 6.0).held(10.2, 10.4).due(10.1), // granted in the drain: not decided at the end
    ];
    let found = measures(&scenario(), &outcome(1, requests));
    // The grant at 1 s passes no earlier deadline; the one at 2 s none either.
    expect(&found, &[("deadline.missed", 3.0 / 4.0), ("inversions.any/entry", 0.0), ("stuck", 2.0), ("unserved", 3.0)]);
}

#[test]
fn sessions_switch_and_are_shared() {
    let requests = vec![
        asked(0, 0.0).held(0.0, 2.0).session(1),
        asked(1, 0.5).held(1.0, 3.0).session(1),
        asked(2, 0.5).held(4.0, 5.0).session(2).priority(3),
        asked(3, 0.5).held(4.5, 5.0), // in no session: no switch
        asked(0, 4.0).held(6.0, 7.0).session(1),
    ];
    let found = measures(&scenario(), &outcome(4, requests));
    expect(
        &found,
        &[
            ("sessions.switches/entry", 2.0 / 5.0),
            ("sessions.concurrency", (2.0 + 2.0 + 1.0 + 1.0) / 5.0),
            ("concurrency.max", 2.0),
            ("concurrency.mean", 6.5 / 5.0),
            // Session 2 is passed by node 1, but could not have entered beside session 1; node 3 always could.
            ("inversions.any/entry", 1.0 / 5.0),
            ("inversions.fitting/entry", 0.0),
            ("units.idle-while-fitting", (4.0 + 1.0) / 10.0),
            // Session 2 from 3 to 4, then node 3 until 4.5, and session 1 from 5 to 6.
            ("units.idle-while-front-fits", (1.0 + 0.5 + 1.0) / 10.0),
            ("sync-delay.mean", 1.0),
        ],
    );
}

#[test]
fn the_network_is_told_as_it_was_seen() {
    let mut run = outcome(1, Vec::new());
    run.network = NetworkSeen {
        mean_degree: 3.5,
        connected: 0.75,
        parts: 1.5,
        mean_hops: 2.25,
        diameter: 6,
        link_changes: 40,
        lost: 5,
    };
    let found = measures(&scenario(), &run);
    expect(
        &found,
        &[
            ("network.degree", 3.5),
            ("network.connected", 0.75),
            ("network.parts", 1.5),
            ("network.hops", 2.25),
            ("network.diameter", 6.0),
            ("network.link-changes/s", 4.0),
            ("network.lost/s", 0.5),
            ("entries", 0.0),
            ("requests", 0.0),
            ("load", 0.0),
        ],
    );
    expect_absent(&found, &["wait.mean", "messages/entry", "fairness.jain", "overtakes.max", "concurrency.mean"]);
}

#[test]
fn who_asked_in_the_warm_up_and_is_never_served_counts_as_unserved() {
    let mut scenario = scenario();
    scenario.warmup = Warmup::Fixed(Span::from_seconds(4.0));
    let found = measures(&scenario, &outcome(1, vec![asked(1, 1.0)]));
    expect(&found, &[("unserved", 1.0), ("stuck", 1.0), ("requests", 1.0), ("wait.censored-mean", 9.0)]);
}

#[test]
fn a_run_that_ends_in_its_warm_up_has_no_shares() {
    let mut scenario = scenario();
    scenario.warmup = Warmup::Fixed(Span::from_seconds(20.0));
    let mut run = queue_of_one();
    run.stopped = true;
    let found = measures(&scenario, &run);
    expect(&found, &[("entries", 0.0), ("requests", 0.0), ("warmup", 20.0)]);
    expect_absent(&found, &["entries/s", "units.used", "wait.mean", "load", "stuck"]);
}

#[test]
fn crashes_are_told_of_the_window_only() {
    let mut scenario = scenario();
    scenario.warmup = Warmup::Fixed(Span::from_seconds(2.0));
    let outage = |start: f64, end: Option<f64>| Outage { start: at(start), end: end.map(at) };
    let mut run = outcome(1, vec![asked(0, 3.0).held(4.0, 5.0), asked(1, 3.0).held(6.0, 7.0)]);
    assert_eq!(measures(&scenario, &run).get("crashes"), None);
    run.crashes = Some(CrashesSeen {
        crashed: vec![at(1.0), at(3.0), at(8.0)],
        facts: vec![at(1.5), at(4.0)],
        declared: vec![Declaration { at: at(4.0), node: NodeId(1), wrongly: true }],
        remade: vec![at(4.0)],
        cut_short: vec![at(3.5)],
        refused: vec![at(0.5), at(3.0)],
        outages: vec![outage(1.0, Some(2.5)), outage(3.0, Some(4.0)), outage(8.0, None)],
    });
    run.kinds = vec![kind("census", 10, 8, 80), kind("report", 40, 12, 400), kind("token", 5, 5, 50)];
    run.kinds_before = vec![kind("report", 20, 10, 200)];
    let found = measures(&scenario, &run);
    for (name, value) in [
        ("crashes", 2.0),
        ("repairs", 1.0),
        ("tokens.remade", 1.0),
        ("cut-short", 1.0),
        ("cut-short/entry", 0.5),
        ("refused", 1.0),
        ("declared", 1.0),
        ("declared.wrongly", 1.0),
        ("outages", 2.0),
        ("outage.mean", 1.5),
        ("outage.max", 2.0),
        // Half a second of the first, all of the second, and the third until the end.
        ("outage.share", 3.5 / 8.0),
        ("messages/repair", 30.0),
        ("frames/repair", 10.0),
        ("bytes/repair", 280.0),
    ] {
        assert_eq!(found.get(name), Some(&value), "{name}");
        assert!(definition(name).is_some(), "{name}");
    }
}
