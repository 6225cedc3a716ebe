//! Reverse-link members that crash: the token and units come back, and nothing is given twice.

use meshlock_core::Demand;
use meshlock_protocols::{Name, Text};

use super::{Entry, network};
use crate::members::MemberBudgets;
use crate::model::Workload;
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

const CRASH: MemberBudgets =
    MemberBudgets { crashes: 1, returns: 0, removals: 0, fences: 0, declarations: 0, joins: 0 };

fn returning() -> Vec<Entry> {
    vec![
        Entry::holds("recovery/pair", "a member crashes and returns", asking(members("line:2", CRASH), 1, &[ONE]), 0),
        Entry::holds("recovery/line-3", "a member crashes and returns", members("line:3", CRASH), 0),
    ]
}
