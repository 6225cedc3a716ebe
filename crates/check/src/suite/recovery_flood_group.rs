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
        Entry::holds("recovery-flood/pair", "one of two crashes and returns", flooding("pair", CRASH, &[1, 2]), 4_943),
        Entry::holds(
            "recovery-flood/pair-twice",
            "two crashes, also of the heir during a repair",
            flooding("pair", TWO_CRASHES, &[1, 1]),
            33_313,
        ),
        Entry::holds(
            "recovery-flood/pair-removed",
            "one of two crashes, and may be removed",
            flooding("pair", REMOVAL, &[1, 2]),
            5_331,
        ),
        Entry::holds(
            "recovery-flood/pair-fenced",
            "a member may be declared gone while it runs",
            flooding("pair", FENCE, &[1, 1]),
            17_308,
        ),
        Entry::holds(
            "recovery-flood/pair-lossy",
            "a crash, 1 message lost, 1 timer early",
            lossy(flooding("pair", CRASH, &[1, 1]), 1, 1),
            27_921,
        ),
        Entry::holds(
            "recovery-flood/line-3",
            "one of three crashes, and the token takes two hops",
            flooding("line:3", CRASH, &[0, 0, 1]),
            3_634,
        ),
        Entry::holds(
            "recovery-flood/line-3-two",
            "the same with two who ask",
            flooding("line:3", CRASH, &[1, 0, 1]),
            27_528,
        ),
        Entry::holds(
            "recovery-flood/line-3-queue",
            "one crashes that is in the queue of the token",
            flooding("line:3", only(2, CRASH), &[1, 1, 1]),
            119_153,
        ),
        Entry::holds(
            "recovery-flood/line-3-lossy",
            "a giver does not see that its token arrived and went on",
            lossy(flooding("line:3", only(2, CRASH), &[0, 1, 1]), 1, 0),
            43_607,
        ),
        Entry::holds(
            "recovery-flood/line-3-fenced",
            "who is declared gone still passes messages on",
            flooding("line:3", FENCE, &[0, 0, 1]),
            28_800,
        ),
        Entry::holds(
            "recovery-flood/triangle",
            "a crash on a triangle: the census overtakes the token",
            flooding("triangle", CRASH, &[0, 0, 1]),
            102_841,
        ),
        Entry::holds(
            "recovery-flood/triangle-removed",
            "the giver is removed, and its token comes over a living hop",
            flooding("triangle", only(0, REMOVAL), &[0, 0, 1]),
            40_550,
        ),
        Entry::holds(
            "recovery-flood/triangle-fenced",
            "one of a triangle may be declared gone while it runs",
            flooding("triangle", FENCE, &[0, 0, 1]),
            465_087,
        ),
        Entry::holds(
            "recovery-flood/line-3-twice",
            "two crashes of three members",
            flooding("line:3", TWO_CRASHES, &[0, 0, 1]),
            144_427,
        ),
        Entry::holds(
            "recovery-flood/triangle-lossy",
            "a crash on a triangle, 1 message lost",
            lossy(flooding("triangle", CRASH, &[0, 0, 1]), 1, 0),
            252_896,
        ),
    ]
}

fn group() -> Vec<Entry> {
    vec![
        Entry::holds(
            "recovery-group/pair",
            "one of two crashes and returns",
            grouped("pair", CRASH, &[&[X], &[X, Y]]),
            8_823,
        ),
        Entry::holds(
            "recovery-group/pair-twice",
            "two crashes, also of the heir during a repair",
            grouped("pair", TWO_CRASHES, &[&[X], &[X]]),
            49_055,
        ),
        Entry::holds(
            "recovery-group/pair-removed",
            "one of two crashes, and may be removed",
            grouped("pair", REMOVAL, &[&[X], &[X, Y]]),
            9_467,
        ),
        Entry::holds(
            "recovery-group/pair-fenced",
            "a member may be declared gone while it runs",
            grouped("pair", FENCE, &[&[X], &[Y]]),
            27_942,
        ),
        Entry::holds(
            "recovery-group/pair-lossy",
            "a crash, 1 message lost, 1 timer early",
            lossy(grouped("pair", CRASH, &[&[X], &[Y]]), 1, 1),
            64_774,
        ),
        Entry::holds(
            "recovery-group/pair-sessions",
            "a session goes on without its captain, and one more joins",
            asking(grouped("pair", CRASH, &[]), 2, &[X, Y]),
            250_344,
        ),
        Entry::holds(
            "recovery-group/line-3",
            "one of three crashes, over the relay",
            grouped("line:3", CRASH, &[&[], &[], &[X]]),
            4_293,
        ),
        Entry::holds(
            "recovery-group/line-3-two",
            "the same with two who attend one session",
            grouped("line:3", CRASH, &[&[X], &[], &[X]]),
            59_594,
        ),
        Entry::holds(
            "recovery-group/line-3-given",
            "the first giver has a copy of a token that arrived and went on",
            grouped("line:3", only(2, CRASH), &[&[], &[X], &[Y]]),
            18_229,
        ),
        Entry::holds(
            "recovery-group/line-3-fenced",
            "who is declared gone still passes messages on",
            grouped("line:3", FENCE, &[&[], &[], &[X]]),
            37_474,
        ),
        Entry::holds(
            "recovery-group/star-captain",
            "a captain is removed before its followers have started",
            grouped("star:3", only(1, REMOVAL), &[&[Y, Y], &[X], &[X]]),
            828_376,
        ),
        Entry::holds(
            "recovery-group/triangle",
            "a crash on a triangle: the census overtakes the token",
            grouped("triangle", CRASH, &[&[], &[], &[X]]),
            140_562,
        ),
        Entry::holds(
            "recovery-group/line-3-twice",
            "two crashes of three members",
            grouped("line:3", TWO_CRASHES, &[&[], &[], &[X]]),
            175_915,
        ),
        Entry::holds(
            "recovery-group/triangle-lossy",
            "a crash on a triangle, 1 message lost",
            lossy(grouped("triangle", CRASH, &[&[], &[], &[X]]), 1, 0),
            434_424,
        ),
    ]
}
