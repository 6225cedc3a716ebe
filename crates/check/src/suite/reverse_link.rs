//! The repaired reverse-link protocol: units, priorities, sessions, aging, on links that fail and in partitions.

use meshlock_core::{Aging, Demand, Order, Priority, Units, Urgency};

use super::{Entry, Expected, WALK_CHANNEL, network};
use meshlock_properties::Rule;
use meshlock_protocols::{Name, Text};

use crate::explore::Search;
use crate::model::{Failing, Work, Workload};
use crate::spec::Spec;
use crate::trial::Way;

pub(super) fn entries() -> Vec<Entry> {
    [still(), changing(), resized(), leaving(), stopping(), sessions(), endless(), walks()]
        .into_iter()
        .flatten()
        .collect()
}

fn repaired(topology: &str) -> Spec {
    Spec { max_level: Some(MOST_RAISES), ..Spec::new(Name::ReverseLink, Text::Repaired, network(topology)) }
}

/// Every node makes `count` requests, each time any of the demands.
fn asking(spec: Spec, count: u32, demands: &[Demand]) -> Spec {
    Spec { workload: Workload::same(spec.topology.len(), count, demands.to_vec()), ..spec }
}

fn with_changes(mut spec: Spec, changes: u32, failing: Failing) -> Spec {
    spec.budgets.link_changes = changes;
    spec.failing = failing;
    spec
}

/// More raises than a few link changes can cause: a node that gets there turns links without end.
const MOST_RAISES: i64 = 60;

fn with_second_thoughts(mut spec: Spec, cancels: u32, reprioritisations: u32) -> Spec {
    spec.budgets.cancels = cancels;
    spec.budgets.reprioritisations = reprioritisations;
    spec.budgets.urgencies = vec![Urgency::Priority(Priority(-1)), Urgency::Priority(Priority(9))];
    spec
}

const ONE: Demand = Demand::units(1, 0);

fn still() -> Vec<Entry> {
    let mutex = |topology, count| asking(repaired(topology), count, &[ONE]);
    let units = |topology, k, count, demands| asking(Spec { capacity: k, ..repaired(topology) }, count, demands);
    let two_local = |spec: Spec| Spec { workload: Workload { outstanding: 2, ..spec.workload }, ..spec };
    vec![
        Entry::holds("reverse-link/line-3", "mutex, two requests each", mutex("line:3", 2), 9_968),
        Entry::holds("reverse-link/square", "mutex on a ring", mutex("square", 1), 31_330),
        Entry::holds("reverse-link/kite", "mutex on a triangle with a tail", mutex("kite", 1), 36_655),
        Entry::new(
            "reverse-link/triangle-rounds",
            "two priorities, two requests each, with renumbered counters: the token follows no stale claim",
            asking(repaired("triangle"), 2, &[ONE, Demand::units(1, 1)]),
            Way::Explore { search: Search::BreadthFirst, graph: true, canonical: Some(true) },
            Expected::Holds { unique: 1_135_823 },
        ),
        Entry::holds("reverse-link/star-5", "mutex on a star", mutex("star:5", 1), 66_864),
        Entry::holds(
            "reverse-link/line-2-second-thoughts",
            "1 and 3 of 3 units, several requests at a node, cancelled and changed in both directions",
            with_second_thoughts(two_local(units("line:2", 3, 2, &[ONE, Demand::units(3, 1)])), 1, 1),
            186_708,
        ),
        Entry::holds(
            "reverse-link/line-3-second-thoughts",
            "2 units, a request cancelled, another changed",
            with_second_thoughts(units("line:3", 2, 1, &[ONE, Demand::units(2, 1)]), 1, 1),
            152_592,
        ),
        Entry::holds_everywhere(
            "reverse-link/line-3-units",
            "1 or 2 of 2 units, two priorities, two requests each",
            units("line:3", 2, 2, &[ONE, Demand::units(2, 1)]),
            905_577,
        ),
        Entry::holds(
            "reverse-link/square-units",
            "1 or 2 of 2 units on a ring",
            units("square", 2, 1, &[ONE, Demand::units(2, 1)]),
            1_733_532,
        ),
    ]
}

fn changing() -> Vec<Entry> {
    let harsh = |topology, changes| with_changes(repaired(topology), changes, Failing::Harsh);
    let asked_by = |spec: Spec, nodes: &[usize]| {
        let none = Workload::none(spec.topology.len());
        let workload = nodes.iter().fold(none, |work, node| work.with(*node, Work::in_order(vec![ONE])));
        Spec { workload, ..spec }
    };
    vec![
        Entry::holds("reverse-link/line-3-harsh", "links fail with what is on them", harsh("line:3", 2), 103_435),
        Entry::holds_everywhere("reverse-link/line-3-split", "cut apart and joined again", harsh("line:3", 3), 779_679),
        Entry::holds("reverse-link/triangle-harsh", "one change on a triangle", harsh("triangle", 1), 88_787),
        Entry::holds("reverse-link/line-4-harsh", "one change on a longer line", harsh("line:4", 1), 607_621),
        Entry::holds(
            "reverse-link/triangle-gentle",
            "two changes under the paper's assumptions, 2 units",
            asked_by(
                Spec { capacity: 2, keep_connected: true, ..with_changes(repaired("triangle"), 2, Failing::Gentle) },
                &[1, 2],
            ),
            39_756,
        ),
        Entry::holds_everywhere(
            "reverse-link/triangle-harsh-2",
            "two changes on a triangle, two requesters",
            asked_by(harsh("triangle", 2), &[1, 2]),
            166_395,
        ),
        Entry::holds_everywhere(
            "reverse-link/kite-harsh",
            "one change on a kite, two requesters",
            asked_by(harsh("kite", 1), &[1, 3]),
            41_907,
        ),
        Entry::holds_everywhere(
            "reverse-link/square-harsh",
            "one change on a ring, two requesters",
            asked_by(harsh("square", 1), &[0, 2]),
            23_407,
        ),
    ]
}

/// The resource is defined anew while it is used.
fn resized() -> Vec<Entry> {
    let defined = |topology, first, then: &[u32], changes| {
        let mut spec = with_changes(Spec { capacity: first, ..repaired(topology) }, changes, Failing::Harsh);
        spec.budgets.capacities = then.iter().copied().map(Units).collect();
        spec
    };
    let one_or_two = [ONE, Demand::units(2, 1)];
    vec![
        Entry::holds(
            "reverse-link/line-2-raised",
            "1 unit becomes 2, and nodes that know it may ask for both; links fail",
            asking(defined("line:2", 1, &[2], 1), 2, &one_or_two),
            20_324,
        ),
        Entry::holds(
            "reverse-link/line-3-lowered",
            "2 units become 1 while they are used; links fail",
            defined("line:3", 2, &[1], 1),
            578_024,
        ),
        Entry::holds(
            "reverse-link/triangle-lowered",
            "2 units become 1 on a triangle",
            defined("triangle", 2, &[1], 0),
            144_166,
        ),
        Entry::holds(
            "reverse-link/line-2-resized",
            "1 unit becomes 3 and then 2: no node goes back to an older definition; links fail",
            asking(defined("line:2", 1, &[3, 2], 1), 2, &[ONE]),
            48_900,
        ),
        Entry::holds(
            "reverse-link/line-2-lowered-below",
            "2 units become 1 while a request waits for both, and its node cancels it; links fail",
            asking(defined("line:2", 2, &[1], 1), 2, &one_or_two),
            39_644,
        ),
        Entry::holds(
            "reverse-link/line-3-lowered-below",
            "the same on a longer line, where claims for both units travel",
            asking(defined("line:3", 2, &[1], 0), 1, &one_or_two),
            61_277,
        ),
        Entry::holds(
            "reverse-link/line-2-resized-left-cancelled",
            "2 units become 1, a request is cancelled, a node leaves, one stops and starts again",
            with_all(asking(defined("line:2", 2, &[1], 0), 1, &one_or_two)),
            79_985,
        ),
    ]
}

/// One request is cancelled, one node leaves, one stops and starts again.
fn with_all(mut spec: Spec) -> Spec {
    spec.budgets.cancels = 1;
    spec.budgets.leaves = 1;
    spec.budgets.stops = 1;
    spec
}

/// Nodes stop in order, are away, and go on with what they saved.
fn stopping() -> Vec<Entry> {
    let stopped = |spec: Spec, stops, leaves| {
        let mut spec = spec;
        spec.budgets.stops = stops;
        spec.budgets.leaves = leaves;
        spec
    };
    vec![
        Entry::holds(
            "reverse-link/line-2-stops",
            "nodes stop and start again, twice in all",
            stopped(asking(repaired("line:2"), 2, &[ONE]), 2, 0),
            20_606,
        ),
        Entry::holds(
            "reverse-link/line-3-stop",
            "a node stops, is away, and goes on with what it saved",
            stopped(repaired("line:3"), 1, 0),
            112_508,
        ),
        Entry::holds(
            "reverse-link/line-2-leave-stop",
            "a node leaves, stops and comes back; 2 units",
            stopped(asking(Spec { capacity: 2, ..repaired("line:2") }, 1, &[ONE, Demand::units(2, 1)]), 1, 1),
            5_797,
        ),
    ]
}

/// Nodes leave in order.
fn leaving() -> Vec<Entry> {
    let left = |topology, leaves, changes| {
        let mut spec = with_changes(repaired(topology), changes, Failing::Harsh);
        spec.budgets.leaves = leaves;
        spec
    };
    vec![
        Entry::holds("reverse-link/line-3-leave", "one of three leaves; links fail", left("line:3", 1, 1), 49_932),
        Entry::holds("reverse-link/triangle-leave", "up to two of three leave", left("triangle", 2, 0), 71_355),
        Entry::holds(
            "reverse-link/line-3-leave-all",
            "all three may leave, one after the other",
            left("line:3", 3, 0),
            8_404,
        ),
    ]
}

fn sessions() -> Vec<Entry> {
    let two = [Demand::session(1, 0), Demand::session(2, 0)];
    let meeting = |topology, joins| asking(Spec { capacity: 3, joins, ..repaired(topology) }, 1, &two);
    vec![
        Entry::holds(
            "reverse-link/line-3-sessions",
            "two sessions, no request passes the front",
            meeting("line:3", 0),
            11_803,
        ),
        Entry::holds(
            "reverse-link/line-4-joins",
            "two sessions, one may join past the front",
            meeting("line:4", 1),
            2_629_173,
        ),
        Entry::holds(
            "reverse-link/line-3-sessions-harsh",
            "two sessions, one may join, and links fail",
            with_changes(meeting("line:3", 1), 2, Failing::Harsh),
            3_252_332,
        ),
    ]
}

/// Requests without end: starvation shows as a cycle.
fn endless() -> Vec<Entry> {
    let two = [Demand::units(1, 0), Demand::units(1, 1)];
    let strict = || asking(repaired("line:3"), 1, &two);
    let aged = |aging| Spec { order: Order::Priority { aging: Aging(aging) }, ..strict() };
    let mut joining = Spec { capacity: 3, joins: 1, ..repaired("line:2") }.endless(0);
    joining.workload.outstanding = 2;
    for (work, session) in joining.workload.nodes.iter_mut().zip([1, 2]) {
        *work = Work::in_order(vec![Demand::session(session, 0)]);
    }
    vec![
        Entry::holds("reverse-link/line-3-endless", "equal priorities, endless", repaired("line:3").endless(1), 11_218),
        Entry::new(
            "reverse-link/line-3-strict-endless",
            "two strict priorities forever: the less urgent one starves, as it must",
            strict().endless(0),
            Way::GRAPH,
            Expected::Breaks { rule: Rule::Starvation, steps: 30 },
        ),
        Entry::holds(
            "reverse-link/line-3-aging-endless",
            "two priorities forever, with aging: no request starves, and overtaking is bounded",
            Spec { overtaking_bound: 4, ..aged(1).endless(0) },
            96_989,
        ),
        Entry::holds(
            "reverse-link/line-2-joins-endless",
            "two sessions forever, each always joined past the front: the cap lets the other in",
            joining,
            777,
        ),
    ]
}

fn walks() -> Vec<Entry> {
    // A walk has link changes without end, and each may ask for a raise; that messages end is seen at its end.
    let repaired = |topology| Spec { max_level: None, ..repaired(topology) };
    let mixed = [Demand::units(1, 0), Demand::units(2, 1), Demand::units(3, 5)];
    let busy = |topology| {
        let spec = Spec { capacity: 3, max_channel: WALK_CHANNEL, ..repaired(topology) };
        asking(spec, u32::MAX, &mixed)
    };
    let grid = with_second_thoughts(with_changes(busy("grid:3x4"), 1, Failing::Harsh), 1, 1);
    let small = asking(Spec { capacity: 5, max_channel: WALK_CHANNEL, ..repaired("grid:2x3") }, u32::MAX, &[ONE]);
    let small = with_changes(small, 1, Failing::Harsh);
    vec![
        Entry::walks(
            "reverse-link/walk-grid-6",
            "6 nodes, 5 units, releases on failing links",
            small,
            1500,
            1500,
            159_244,
        ),
        Entry::walks("reverse-link/walk-grid-12", "12 nodes, 3 units, harsh link changes", grid, 400, 2000, 12_468),
        Entry::walks("reverse-link/walk-line-12", "12 nodes in a line, no trouble", busy("line:12"), 40, 2000, 6_046),
    ]
}
