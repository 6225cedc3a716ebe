//! Semaphores in which smaller requests may pass a front that waits for units, at most so often.

use meshlock_core::{Aging, Demand, Order};
use meshlock_protocols::{Name, Text};

use super::{Entry, network};
use crate::members::MemberBudgets;
use crate::model::{Failing, Work, Workload};
use crate::spec::{Recovery, Spec};

const ONE: Demand = Demand::units(1, 0);
const BOTH: Demand = Demand::units(2, 0);

/// More raises than a few crashes and link changes can cause.
const MOST_RAISES: i64 = 60;

/// Two units, of which one request at a time may pass a front.
fn backfilled(topology: &str, count: u32, demands: &[Demand]) -> Spec {
    let spec = Spec::new(Name::ReverseLink, Text::Repaired, network(topology));
    let workload = Workload::same(spec.topology.len(), count, demands.to_vec());
    Spec { capacity: 2, passes: 1, workload, max_level: Some(MOST_RAISES), ..spec }
}

/// Requests without end: node 0 asks for both units, the others for one, at equal priorities.
fn endless(topology: &str, outstanding: u32, bound: u32) -> Spec {
    let mut spec = Spec { overtaking_bound: bound, ..backfilled(topology, 1, &[ONE]) }.endless(0);
    spec.workload.outstanding = outstanding;
    spec.workload.nodes[0] = Work::in_order(vec![BOTH]);
    spec
}

/// As [`endless`], with a more urgent request for both units: every grant past it counts, wherever it is.
/// With a bound of one, a node that lets one pass stops by its own count, and one lost on the way would not show.
fn urgent(topology: &str) -> Spec {
    let mut spec = Spec { passes: 2, ..endless(topology, 1, u32::MAX) };
    spec.workload.nodes[0] = Work::in_order(vec![Demand::units(2, 1)]);
    spec
}

/// Three units, of which two requests may pass a front: only then one that was passed may still pass another.
fn three(topology: &str, count: u32) -> Spec {
    let demands = [ONE, Demand::units(2, 1), Demand::units(3, 2)];
    Spec { capacity: 3, passes: 2, ..backfilled(topology, count, &demands) }
}

fn passed_passes() -> Spec {
    let (some, all) = (Demand::units(2, 1), Demand::units(3, 2));
    let mut spec = three("line:2", 3);
    spec.workload.outstanding = 3;
    spec.workload.nodes = vec![Work::in_order(vec![some, all, ONE]), Work::in_order(vec![some, ONE])];
    spec
}

pub(super) fn entries() -> Vec<Entry> {
    let mixed = [ONE, Demand::units(2, 1)];
    let harsh = |mut spec: Spec| {
        spec.budgets.link_changes = 1;
        spec.failing = Failing::Harsh;
        spec
    };
    let aging = |spec: Spec| Spec { order: Order::Priority { aging: Aging(1) }, ..spec };
    let crashing = |mut spec: Spec| {
        spec.budgets.members = MemberBudgets { crashes: 1, ..MemberBudgets::default() };
        Spec { recovery: Recovery::Restart, ..spec }
    };
    let cancelled = |mut spec: Spec| {
        spec.budgets.cancels = 1;
        spec
    };
    vec![
        Entry::holds("backfill/line-3", "1 or 2 of 2 units, two priorities", backfilled("line:3", 1, &mixed), 4_493),
        Entry::holds(
            "backfill/line-2-cancel",
            "1 or 2 of 2 units, two requests each, one is cancelled",
            cancelled(backfilled("line:2", 2, &mixed)),
            3_154,
        ),
        Entry::holds("backfill/line-3-aging", "and requests age", aging(backfilled("line:3", 1, &mixed)), 8_263),
        Entry::holds("backfill/line-3-harsh", "and links fail", harsh(backfilled("line:3", 1, &[ONE, BOTH])), 112_773),
        Entry::holds("backfill/pair-crash", "and a crash", crashing(backfilled("line:2", 2, &[ONE, BOTH])), 35_937),
        Entry::holds(
            "backfill/line-2-endless",
            "requests for one unit forever beside one for both: it is passed so often and no more",
            endless("line:2", 2, 3),
            817,
        ),
        Entry::holds("backfill/line-3-endless", "the same from two nodes", endless("line:3", 1, 3), 4_394),
        Entry::holds("backfill/line-3-urgent", "two may pass a more urgent one for both", urgent("line:3"), 4_776),
        Entry::holds("backfill/star-3-urgent", "the one for both is in the middle", urgent("star:3"), 5_859),
        Entry::holds(
            "backfill/line-3-three",
            "1, 2 or 3 of 3 units, the more the more urgent",
            three("line:3", 1),
            15_173,
        ),
        Entry::holds("backfill/line-2-three", "what was passed passes a more urgent one", passed_passes(), 1_545),
    ]
}
