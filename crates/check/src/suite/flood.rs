//! Suzuki-Kasami by flooding: the defects F1 to F9 of the printed text, and the repaired protocol.

use meshlock_core::Demand;
use meshlock_properties::{Rule, RuleSet};
use meshlock_protocols::printed::flood::Defect;
use meshlock_protocols::repairs::Defect as _;
use meshlock_protocols::{Name, Text};

use super::{Entry, WALK_CHANNEL, network};
use crate::model::{Budgets, Failing, Workload};
use crate::spec::Spec;
use crate::topology::parse_links;

/// Each defect with all the others repaired.
pub(super) fn published() -> Vec<Entry> {
    let waits = Rule::NobodyWaits;
    let f8 = Spec { keep_connected: true, ..moving(without(&[], "line:3", 1, waits), "0-2", 2, Failing::Gentle) };
    let f9 = with_losses(without(&[], "pair", 1, waits), 1, 0);
    let f1 = Spec { max_channel: 4, ..without(&["f1"], "line:3", 1, Rule::MessagesEnd) };
    vec![
        Entry::breaks("flood/f1", "relays have no memory: floods never end", f1, Rule::MessagesEnd, 9),
        Entry::breaks("flood/f2", "a release blocks all stations", without(&["f2"], "pair", 1, waits), waits, 4),
        Entry::breaks(
            "flood/f3",
            "every copy of a flooded token is accepted",
            without(&["f3"], "triangle", 1, Rule::Exclusion),
            Rule::Exclusion,
            13,
        ),
        Entry::breaks("flood/f4", "two transfers look the same", without(&["f4"], "line:3", 2, waits), waits, 18),
        Entry::breaks("flood/f5", "requests are queued twice", without(&["f5"], "triangle", 1, waits), waits, 14),
        Entry::breaks(
            "flood/f5-list",
            "the same if TokenL is read as a list",
            without(&["f5"], "triangle", 1, waits).read_as(&["token-list"]),
            waits,
            15,
        ),
        Entry::breaks(
            "flood/f6",
            "a request is dropped between arrival and entry",
            without(&["f6", "f7"], "pair", 1, waits),
            waits,
            7,
        ),
        Entry::breaks(
            "flood/f7",
            "a request that crosses the token is lost",
            without(&["f7"], "line:3", 1, waits),
            waits,
            8,
        ),
        Entry::breaks("flood/f8", "a station that moves misses a flood", f8, waits, 4),
        Entry::breaks("flood/f9", "a message is lost", f9, waits, 2),
    ]
}

pub(super) fn repaired() -> Vec<Entry> {
    let plain = |topology, requests| asking(flood(topology), requests);
    let lossy = |topology, requests, losses, early| with_losses(plain(topology, requests), losses, early);
    let moved = |down, changes, failing| moving(plain("line:3", 1), down, changes, failing);
    let mut cancelled = lossy("line:3", 1, 1, 0);
    cancelled.budgets.cancels = 1;
    let stopped = |spec: Spec, stops, leaves| with_stops(spec, stops, leaves);
    let mut walk = moving(lossy("grid:3x4", u32::MAX, 1, 1), "0-11", 1, Failing::Harsh);
    walk.budgets.cancels = 1;
    walk.max_channel = WALK_CHANNEL;
    vec![
        Entry::holds("flood/line-3", "three requests each", plain("line:3", 3), 527_219),
        Entry::holds("flood/triangle", "two requests each, on every path", plain("triangle", 2), 91_218),
        Entry::holds("flood/line-4", "one request each", plain("line:4", 1), 44_148),
        Entry::holds("flood/square", "one request each on a ring", plain("square", 1), 560_358),
        Entry::holds("flood/pair-lossy", "3 messages lost, 2 timers early", lossy("pair", 2, 3, 2), 176_716),
        Entry::holds("flood/line-3-lossy", "2 messages lost, 1 timer early", lossy("line:3", 1, 2, 1), 366_854),
        Entry::holds("flood/triangle-lossy", "1 message lost, 1 timer early", lossy("triangle", 1, 1, 1), 156_559),
        Entry::holds("flood/line-3-cancel", "a request cancelled, a message lost", cancelled, 29_865),
        Entry::holds("flood/line-3-moving", "2 link changes, nothing lost", moved("0-2", 2, Failing::Gentle), 146_299),
        Entry::holds("flood/line-3-harsh", "2 link changes with losses", moved("0-2", 2, Failing::Harsh), 396_467),
        Entry::holds(
            "flood/triangle-unordered",
            "links that do not keep the order",
            Spec { fifo: false, ..plain("triangle", 1) },
            3_603,
        ),
        Entry::holds(
            "flood/pair-stops",
            "nodes stop and start again, twice in all",
            stopped(plain("pair", 2), 2, 0),
            102_756,
        ),
        Entry::holds(
            "flood/line-3-stop",
            "a node stops, is away, and goes on with what it saved",
            stopped(plain("line:3", 1), 1, 0),
            95_474,
        ),
        Entry::holds(
            "flood/pair-leave",
            "nodes leave, stop and come back; a request is cancelled",
            Spec { budgets: Budgets { cancels: 1, ..stopped(plain("pair", 2), 1, 2).budgets }, ..plain("pair", 2) },
            144_019,
        ),
        Entry::holds("flood/line-3-leave", "one of three leaves", stopped(plain("line:3", 1), 0, 1), 2_488),
        Entry::holds("flood/line-3-endless", "endless requests", plain("line:3", 1).endless(0), 1_466_439),
        Entry::walks("flood/walk-grid-12", "12 nodes, losses, harsh link changes", walk, 100, 1500, 1_780),
    ]
}

fn flood(topology: &str) -> Spec {
    Spec::new(Name::Flood, Text::Repaired, network(topology))
}

/// The printed text with all repairs but these, watching one rule.
fn without(missing: &[&str], topology: &str, requests: u32, rule: Rule) -> Spec {
    let all = Defect::ALL.iter().map(|defect| defect.name());
    let repairs: Vec<_> = all.filter(|repair| !missing.contains(repair)).collect();
    let spec = Spec::new(Name::Flood, Text::with_repairs(&repairs), network(topology));
    asking(Spec { rules: Some(RuleSet::NONE.with(rule)), ..spec }, requests)
}

fn asking(spec: Spec, requests: u32) -> Spec {
    Spec { workload: Workload::same(spec.topology.len(), requests, vec![Demand::units(1, 0)]), ..spec }
}

fn with_losses(mut spec: Spec, losses: u32, early_timers: u32) -> Spec {
    spec.budgets.losses = losses;
    spec.budgets.early_timers = early_timers;
    spec
}

/// So many nodes stop and start again, and so many leave.
fn with_stops(mut spec: Spec, stops: u32, leaves: u32) -> Spec {
    spec.budgets.stops = stops;
    spec.budgets.leaves = leaves;
    spec
}

/// Links change, and these more may come up.
fn moving(mut spec: Spec, more: &str, changes: u32, failing: Failing) -> Spec {
    spec.down = parse_links(more).expect("the links of the suite are written right");
    spec.budgets.link_changes = changes;
    spec.failing = failing;
    spec
}
