//! Members of a mesh that crash, with a resource of `flood`, or of `group` over the relay.
//!
//! Both repeat themselves by timers, so a message of theirs may also be lost. On a pair and on a triangle the relay
//! reaches every member directly, so these are also the models of members that can all reach each other.

use meshlock_core::Demand;
use meshlock_protocols::{Name, Text};

use super::{Entry, network};
use crate::members::MemberBudgets;
use crate::model::{Work, Workload};
use crate::spec::{Recovery, Spec};

pub(super) fn entries() -> Vec<Entry> {
    [flood(), group()].into_iter().flatten().collect()
}

const ONE: Demand = Demand::units(1, 0);
const X: Demand = Demand::session(1, 1);
const Y: Demand = Demand::session(2, 1);

const NONE: MemberBudgets =
    MemberBudgets { crashes: 0, only: None, returns: 0, removals: 0, fences: 0, declarations: 0, joins: 0 };
const CRASH: MemberBudgets = MemberBudgets { crashes: 1, ..NONE };
const TWO_CRASHES: MemberBudgets = MemberBudgets { crashes: 2, ..NONE };
const REMOVAL: MemberBudgets = MemberBudgets { crashes: 1, removals: 1, ..NONE };
/// A member loses its standing, and may be declared gone while it still passes messages on.
const FENCE: MemberBudgets = MemberBudgets { fences: 1, declarations: 1, ..NONE };

/// What each member asks for, in this order.
fn members(name: Name, topology: &str, budgets: MemberBudgets, asked: &[&[Demand]]) -> Spec {
    let spec = Spec::new(name, Text::Repaired, network(topology));
    let mut workload = Workload::none(spec.topology.len());
    for (node, demands) in asked.iter().enumerate().filter(|(_, demands)| !demands.is_empty()) {
        workload = workload.with(node, Work::in_order(demands.to_vec()));
    }
    let recovery = if budgets.declarations > 0 { Recovery::Voters } else { Recovery::Restart };
    let mut spec = Spec { workload, recovery, repeats: true, ..spec };
    spec.budgets.members = budgets;
    spec
}

fn flooding(topology: &str, budgets: MemberBudgets, counts: &[usize]) -> Spec {
    let asked: Vec<Vec<Demand>> = counts.iter().map(|count| vec![ONE; *count]).collect();
    let asked: Vec<&[Demand]> = asked.iter().map(Vec::as_slice).collect();
    members(Name::Flood, topology, budgets, &asked)
}

fn grouped(topology: &str, budgets: MemberBudgets, asked: &[&[Demand]]) -> Spec {
    members(Name::GroupOverRelay, topology, budgets, asked)
}

/// Every member makes `count` requests, each time any of the demands.
fn asking(spec: Spec, count: u32, demands: &[Demand]) -> Spec {
    Spec { workload: Workload::same(spec.topology.len(), count, demands.to_vec()), ..spec }
}

/// Only this member crashes.
const fn only(member: u8, budgets: MemberBudgets) -> MemberBudgets {
    MemberBudgets { only: Some(member), ..budgets }
}

fn lossy(mut spec: Spec, losses: u32, early_timers: u32) -> Spec {
    spec.budgets.losses = losses;
    spec.budgets.early_timers = early_timers;
    spec
}

fn flood() -> Vec<Entry> {
    vec![
        Entry::holds("recovery-flood/pair", "one of two crashes and returns", flooding("pair", CRASH, &[1, 2]), 0),
        Entry::holds("recovery-flood/pair-twice", "two crashes", flooding("pair", TWO_CRASHES, &[1, 1]), 0),
        Entry::holds("recovery-flood/pair-removed", "removed", flooding("pair", REMOVAL, &[1, 2]), 0),
        Entry::holds("recovery-flood/pair-fenced", "declared", flooding("pair", FENCE, &[1, 1]), 0),
        Entry::holds("recovery-flood/pair-lossy", "loss", lossy(flooding("pair", CRASH, &[1, 1]), 1, 1), 0),
        Entry::holds("recovery-flood/line-3", "line", flooding("line:3", CRASH, &[0, 0, 1]), 0),
        Entry::holds("recovery-flood/line-3-two", "line", flooding("line:3", CRASH, &[1, 0, 1]), 0),
        Entry::holds("recovery-flood/line-3-queue", "queue", flooding("line:3", only(2, CRASH), &[1, 1, 1]), 0),
        Entry::holds(
            "recovery-flood/line-3-lossy",
            "queue",
            lossy(flooding("line:3", only(2, CRASH), &[0, 1, 1]), 1, 0),
            0,
        ),
        Entry::holds("recovery-flood/triangle", "tri", flooding("triangle", CRASH, &[0, 0, 1]), 0),
        Entry::holds("recovery-flood/triangle-removed", "tri", flooding("triangle", only(0, REMOVAL), &[0, 0, 1]), 0),
        Entry::holds("recovery-flood/line-3-fenced", "line", flooding("line:3", FENCE, &[0, 0, 1]), 0),
        Entry::holds("recovery-flood/triangle-fenced", "tri", flooding("triangle", FENCE, &[0, 0, 1]), 0),
    ]
}

fn group() -> Vec<Entry> {
    vec![
        Entry::holds("recovery-group/pair", "one of two crashes", grouped("pair", CRASH, &[&[X], &[X, Y]]), 0),
        Entry::holds("recovery-group/pair-twice", "two crashes", grouped("pair", TWO_CRASHES, &[&[X], &[X]]), 0),
        Entry::holds("recovery-group/pair-removed", "removed", grouped("pair", REMOVAL, &[&[X], &[X, Y]]), 0),
        Entry::holds("recovery-group/pair-fenced", "declared", grouped("pair", FENCE, &[&[X], &[Y]]), 0),
        Entry::holds("recovery-group/pair-lossy", "loss", lossy(grouped("pair", CRASH, &[&[X], &[Y]]), 1, 1), 0),
        Entry::holds("recovery-group/pair-sessions", "any", asking(grouped("pair", CRASH, &[]), 2, &[X, Y]), 0),
        Entry::holds("recovery-group/line-3-given", "line", grouped("line:3", only(2, CRASH), &[&[], &[X], &[Y]]), 0),
        Entry::holds(
            "recovery-group/star-captain",
            "line",
            grouped("star:3", only(1, REMOVAL), &[&[Y, Y], &[X], &[X]]),
            0,
        ),
        Entry::holds("recovery-group/line-3", "line", grouped("line:3", CRASH, &[&[], &[], &[X]]), 0),
        Entry::holds("recovery-group/line-3-two", "line", grouped("line:3", CRASH, &[&[X], &[], &[X]]), 0),
        Entry::holds("recovery-group/triangle", "tri", grouped("triangle", CRASH, &[&[], &[], &[X]]), 0),
        Entry::holds("recovery-group/line-3-fenced", "line", grouped("line:3", FENCE, &[&[], &[], &[X]]), 0),
    ]
}
