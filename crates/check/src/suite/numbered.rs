//! Semaphores whose grants say which units they have: with resizes, crashes, sessions, on links that fail.
//!
//! Which units a grant gets decides nothing else, so the other models of reverse-link and of recovery leave numbers out:
//! they would have more states and show no more.

use meshlock_core::Demand;
use meshlock_protocols::{Name, Text};

use super::{Entry, WALK_CHANNEL, network};
use crate::members::MemberBudgets;
use crate::model::{Failing, Workload};
use crate::spec::{Recovery, Spec};

const ONE: Demand = Demand::units(1, 0);
const ONE_OR_TWO: [Demand; 2] = [ONE, Demand::units(2, 1)];

/// More raises than a few crashes and link changes can cause.
const MOST_RAISES: i64 = 60;

fn numbered(topology: &str, capacity: u32, count: u32, demands: &[Demand]) -> Spec {
    let spec = Spec::new(Name::ReverseLink, Text::Repaired, network(topology));
    let workload = Workload::same(spec.topology.len(), count, demands.to_vec());
    Spec { capacity, numbered: true, workload, max_level: Some(MOST_RAISES), ..spec }
}

fn harsh(mut spec: Spec, changes: u32) -> Spec {
    spec.budgets.link_changes = changes;
    spec.failing = Failing::Harsh;
    spec
}

fn resized(mut spec: Spec, capacities: &[u32]) -> Spec {
    spec.budgets.capacities = capacities.iter().map(|units| meshlock_core::Units(*units)).collect();
    spec
}

fn crashing(mut spec: Spec, crashes: u32) -> Spec {
    spec.budgets.members = MemberBudgets { crashes, ..MemberBudgets::default() };
    Spec { recovery: Recovery::Restart, ..spec }
}

pub(super) fn entries() -> Vec<Entry> {
    let two_at_once = |mut spec: Spec| {
        spec.workload.outstanding = 2;
        spec
    };
    let stopped = |mut spec: Spec| {
        spec.budgets.stops = 1;
        spec
    };
    let meeting = [Demand::session(1, 0), Demand::session(2, 0)];
    vec![
        Entry::holds(
            "numbered/line-2",
            "1 or 2 of 3 units, several requests at a node, given back in any order",
            two_at_once(numbered("line:2", 3, 2, &ONE_OR_TWO)),
            14_968,
        ),
        Entry::holds("numbered/line-3", "1 or 2 of 2 units", numbered("line:3", 2, 1, &ONE_OR_TWO), 4_474),
        Entry::holds(
            "numbered/line-3-harsh",
            "2 units, and the token is on a link that fails",
            harsh(numbered("line:3", 2, 1, &[ONE]), 1),
            59_786,
        ),
        Entry::holds(
            "numbered/line-2-lowered",
            "3 units become 2: the third is given out no more; links fail",
            harsh(resized(two_at_once(numbered("line:2", 3, 2, &[ONE])), &[2]), 1),
            257_440,
        ),
        Entry::holds(
            "numbered/line-2-resized",
            "2 units become 1 and then 3",
            resized(two_at_once(numbered("line:2", 2, 2, &[ONE])), &[1, 3]),
            49_981,
        ),
        Entry::holds(
            "numbered/triangle-lowered",
            "2 units become 1 on a triangle",
            resized(numbered("triangle", 2, 1, &[ONE]), &[1]),
            169_710,
        ),
        Entry::holds(
            "numbered/line-3-sessions",
            "two sessions of 3 units, one may join past the front",
            Spec { joins: 1, ..numbered("line:3", 3, 1, &meeting) },
            12_433,
        ),
        Entry::holds(
            "numbered/line-2-stop",
            "a node stops, is away, and goes on with what it saved",
            stopped(numbered("line:2", 2, 2, &[ONE])),
            12_788,
        ),
        Entry::holds(
            "numbered/pair-crash",
            "1 or 2 of 3 units, a crash: the new ledger says which are in use",
            crashing(two_at_once(numbered("line:2", 3, 2, &ONE_OR_TWO)), 1),
            533_543,
        ),
        Entry::walks(
            "numbered/walk-grid-6",
            "6 nodes, 5 units, 1 to 3 at a time, links fail",
            harsh(
                Spec {
                    max_level: None,
                    max_channel: WALK_CHANNEL,
                    ..numbered("grid:2x3", 5, u32::MAX, &[ONE, Demand::units(2, 1), Demand::units(3, 5)])
                },
                1,
            ),
            300,
            1500,
            36_704,
        ),
        Entry::walks(
            "numbered/walk-line-3-crash",
            "3 members, 3 units, 1 or 2 at a time, and crashes",
            crashing(
                Spec { max_level: None, max_channel: WALK_CHANNEL, ..numbered("line:3", 3, u32::MAX, &ONE_OR_TWO) },
                2,
            ),
            300,
            1500,
            58_208,
        ),
    ]
}
