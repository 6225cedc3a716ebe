//! Reverse-link members that crash: the token and units come back, and nothing is given twice.

use meshlock_core::Demand;
use meshlock_protocols::{Name, Text};

use super::{Entry, network};
use crate::members::MemberBudgets;
use crate::model::{Failing, Work, Workload};
use crate::spec::{Recovery, Spec};

pub(super) fn entries() -> Vec<Entry> {
    [returning()].into_iter().flatten().collect()
}

const ONE: Demand = Demand::units(1, 0);

fn members(topology: &str, members: MemberBudgets) -> Spec {
    let spec = Spec::new(Name::ReverseLink, Text::Repaired, network(topology));
    let mut spec = Spec { max_level: Some(60), recovery: Recovery::Restart, ..spec };
    spec.budgets.members = members;
    spec
}

fn asking(spec: Spec, count: u32, demands: &[Demand]) -> Spec {
    Spec { workload: Workload::same(spec.topology.len(), count, demands.to_vec()), ..spec }
}

const NONE: MemberBudgets =
    MemberBudgets { crashes: 0, only: None, returns: 0, removals: 0, fences: 0, declarations: 0, joins: 0 };
const CRASH: MemberBudgets = MemberBudgets { crashes: 1, ..NONE };
const TWO_CRASHES: MemberBudgets = MemberBudgets { crashes: 2, ..NONE };
const REMOVAL: MemberBudgets = MemberBudgets { crashes: 1, removals: 1, ..NONE };

/// These members ask once each.
fn asked_by(spec: Spec, nodes: &[usize]) -> Spec {
    let none = Workload::none(spec.topology.len());
    let workload = nodes.iter().fold(none, |work, node| work.with(*node, Work::in_order(vec![ONE])));
    Spec { workload, ..spec }
}

fn voters(spec: Spec) -> Spec {
    Spec { recovery: Recovery::Voters, ..spec }
}

fn harsh(mut spec: Spec, changes: u32) -> Spec {
    spec.budgets.link_changes = changes;
    spec.failing = Failing::Harsh;
    spec
}

fn leaving(mut spec: Spec, leaves: u32, returns: u32) -> Spec {
    spec.budgets.leaves = leaves;
    spec.budgets.members.returns = returns;
    spec
}

fn returning() -> Vec<Entry> {
    let pair = |budgets| asking(members("line:2", budgets), 2, &[ONE]);
    let units = |spec: Spec| Spec { capacity: 2, ..spec };
    let declared = MemberBudgets { crashes: 1, declarations: 1, ..NONE };
    let fenced = MemberBudgets { fences: 1, declarations: 1, ..NONE };
    let joined = MemberBudgets { joins: 1, ..NONE };
    let h = |name, spec| Entry::holds(name, "", spec, 0);
    vec![
        h("recovery/pair", pair(CRASH)),
        h("recovery/pair-twice", pair(TWO_CRASHES)),
        h("recovery/pair-thrice", asking(members("line:2", MemberBudgets { crashes: 3, ..NONE }), 1, &[ONE])),
        h("recovery/pair-units", asking(units(members("line:2", TWO_CRASHES)), 2, &[ONE, Demand::units(2, 1)])),
        h("recovery/pair-removed", pair(REMOVAL)),
        h("recovery/pair-cut", harsh(pair(CRASH), 2)),
        h("recovery/line-3-a", asked_by(members("line:3", CRASH), &[1, 2])),
        h("recovery/line-3-b", asked_by(members("line:3", CRASH), &[0, 2])),
        h("recovery/line-3-c", asked_by(members("line:3", TWO_CRASHES), &[2])),
        h("recovery/line-3-d", asked_by(harsh(members("line:3", CRASH), 1), &[2])),
        h("recovery/line-3-e", asked_by(units(members("line:3", CRASH)), &[1, 2])),
        h("recovery/triangle-a", asked_by(members("triangle", CRASH), &[2])),
        h("recovery/triangle-b", asked_by(members("triangle", CRASH), &[1])),
        h("recovery/triangle-r", asked_by(members("triangle", REMOVAL), &[2])),
        h("recovery/triangle-2", asked_by(members("triangle", TWO_CRASHES), &[2])),
        h("recovery/triangle-12", asked_by(members("triangle", CRASH), &[1, 2])),
        h("recovery/v-pair-declared", voters(pair(declared))),
        h("recovery/v-pair-fenced", voters(pair(fenced))),
        h("recovery/v-line-declared", asked_by(voters(members("line:3", declared)), &[2])),
        h("recovery/v-line-fenced", asked_by(voters(members("line:3", fenced)), &[2])),
        h("recovery/v-triangle-fenced", asked_by(voters(members("triangle", fenced)), &[1])),
        h("recovery/join-pair", pair(joined)),
        h("recovery/join-line", asked_by(members("line:3", joined), &[1, 2])),
        h("recovery/join-crash", asked_by(members("line:3", MemberBudgets { crashes: 1, joins: 1, ..NONE }), &[2])),
        h("recovery/leave-pair", leaving(pair(CRASH), 1, 1)),
        h("recovery/leave-triangle", asked_by(leaving(members("triangle", CRASH), 1, 0), &[1])),
        h("recovery/x-units-02", asked_by(units(members("line:3", CRASH)), &[0, 2])),
        h(
            "recovery/x-units-022",
            Spec {
                capacity: 2,
                workload: Workload::none(3).with(0, Work::in_order(vec![ONE])).with(2, Work::in_order(vec![ONE, ONE])),
                ..members("line:3", CRASH)
            },
        ),
        h("recovery/x-goodbye", asked_by(leaving(members("star:3", REMOVAL), 1, 1), &[2])),
        h(
            "recovery/x-past",
            Spec {
                workload: Workload::none(3).with(1, Work::in_order(vec![ONE, ONE])),
                ..members("star:3", MemberBudgets { crashes: 2, removals: 1, ..NONE })
            },
        ),
        h(
            "recovery/x-cut-triangle",
            Spec {
                changeable: Some(vec![crate::Link::between(0, 1).unwrap()]),
                ..asked_by(harsh(members("triangle", MemberBudgets { only: Some(1), ..CRASH }), 1), &[1])
            },
        ),
        h(
            "recovery/x-cut-line",
            Spec {
                changeable: Some(vec![crate::Link::between(0, 1).unwrap()]),
                ..asked_by(harsh(members("line:3", MemberBudgets { only: Some(2), ..REMOVAL }), 2), &[1])
            },
        ),
        h("recovery/x-join-removed", asked_by(members("star:3", MemberBudgets { joins: 1, ..REMOVAL }), &[2])),
        h(
            "recovery/x-custody",
            Spec {
                capacity: 2,
                workload: Workload::none(3).with(1, Work::in_order(vec![ONE])).with(2, Work::in_order(vec![ONE, ONE])),
                ..members("triangle", MemberBudgets { only: Some(0), ..CRASH })
            },
        ),
    ]
}
