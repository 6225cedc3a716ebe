//! Members of a mesh that crash: tokens and units come back, and nothing is given twice. The protocol of their resource
//! is the repaired reverse-link.

use meshlock_core::Demand;
use meshlock_protocols::{Name, Text};

use super::{Entry, WALK_CHANNEL, network};
use crate::members::MemberBudgets;
use crate::model::{Failing, Work, Workload};
use crate::spec::{Recovery, Spec};
use crate::topology::Link;

pub(super) fn entries() -> Vec<Entry> {
    [returning(), removed(), declared(), joining(), leaving(), resuming(), walks()].into_iter().flatten().collect()
}

const ONE: Demand = Demand::units(1, 0);

const NONE: MemberBudgets =
    MemberBudgets { crashes: 0, only: None, returns: 0, removals: 0, fences: 0, declarations: 0, joins: 0 };
const CRASH: MemberBudgets = MemberBudgets { crashes: 1, ..NONE };
const TWO_CRASHES: MemberBudgets = MemberBudgets { crashes: 2, ..NONE };
const REMOVAL: MemberBudgets = MemberBudgets { crashes: 1, removals: 1, ..NONE };

/// More raises than a few crashes and link changes can cause: a node that gets there turns links without end.
const MOST_RAISES: i64 = 60;

fn members(topology: &str, members: MemberBudgets) -> Spec {
    let spec = Spec::new(Name::ReverseLink, Text::Repaired, network(topology));
    let mut spec = Spec { max_level: Some(MOST_RAISES), recovery: Recovery::Restart, ..spec };
    spec.budgets.members = members;
    spec
}

/// Two members that make two requests each.
fn pair(budgets: MemberBudgets) -> Spec {
    asking(members("line:2", budgets), 2, &[ONE])
}

/// Every member makes `count` requests, each time any of the demands.
fn asking(spec: Spec, count: u32, demands: &[Demand]) -> Spec {
    Spec { workload: Workload::same(spec.topology.len(), count, demands.to_vec()), ..spec }
}

/// Members make this many requests, in the order of their numbers.
fn asked(spec: Spec, counts: &[usize]) -> Spec {
    let none = Workload::none(spec.topology.len());
    let with = |work: Workload, (node, count): (usize, &usize)| match count {
        0 => work,
        _ => work.with(node, Work::in_order(vec![ONE; *count])),
    };
    let workload = counts.iter().enumerate().fold(none, with);
    Spec { workload, ..spec }
}

fn units(spec: Spec, capacity: u32) -> Spec {
    Spec { capacity, ..spec }
}

fn voters(spec: Spec) -> Spec {
    Spec { recovery: Recovery::Voters, ..spec }
}

/// Links fail with what is on them.
fn harsh(mut spec: Spec, changes: u32) -> Spec {
    spec.budgets.link_changes = changes;
    spec.failing = Failing::Harsh;
    spec
}

/// Only the link between members 0 and 1 fails.
fn harsh_between_first(spec: Spec, changes: u32) -> Spec {
    Spec { changeable: Link::between(0, 1).map(|link| vec![link]), ..harsh(spec, changes) }
}

fn left(mut spec: Spec, leaves: u32, returns: u32) -> Spec {
    spec.budgets.leaves = leaves;
    spec.budgets.members.returns = returns;
    spec
}

fn stopped(mut spec: Spec, stops: u32) -> Spec {
    spec.budgets.stops = stops;
    spec
}

/// Who crashed comes back.
fn returning() -> Vec<Entry> {
    let thrice = MemberBudgets { crashes: 3, ..NONE };
    vec![
        Entry::holds("recovery/pair", "one of two crashes and returns, two requests each", pair(CRASH), 7_613),
        Entry::holds(
            "recovery/pair-twice",
            "two crashes, also of the heir during a repair",
            pair(TWO_CRASHES),
            108_656,
        ),
        Entry::holds(
            "recovery/pair-thrice",
            "three crashes, one request each",
            asking(members("line:2", thrice), 1, &[ONE]),
            99_162,
        ),
        Entry::holds(
            "recovery/pair-units",
            "1 or 2 of 2 units, two crashes",
            asking(units(members("line:2", TWO_CRASHES), 2), 2, &[ONE, Demand::units(2, 1)]),
            458_419,
        ),
        Entry::holds("recovery/pair-cut", "a crash, and the link fails and comes back", harsh(pair(CRASH), 2), 149_771),
        Entry::holds(
            "recovery/pair-stop",
            "one crashes, one stops and goes on with what it saved",
            stopped(pair(CRASH), 1),
            171_258,
        ),
        Entry::holds(
            "recovery/pair-two-resources",
            "two resources, one crash: all rows are pictured at once",
            Spec { resources: 2, ..pair(CRASH) },
            82_301,
        ),
        Entry::holds(
            "recovery/line-3-two-resources",
            "the same on a line",
            Spec { resources: 2, ..asked(members("line:3", CRASH), &[0, 0, 1]) },
            584_479,
        ),
        Entry::holds("recovery/line-3", "one of three crashes", asked(members("line:3", CRASH), &[0, 1, 1]), 258_625),
        Entry::holds(
            "recovery/line-3-units",
            "2 units: a release is lost with the one that had it in custody",
            asked(units(members("line:3", CRASH), 2), &[1, 0, 1]),
            508_577,
        ),
        Entry::holds(
            "recovery/line-3-cut",
            "a crash, and a link fails",
            harsh(asked(members("line:3", CRASH), &[0, 0, 1]), 1),
            352_190,
        ),
        Entry::holds(
            "recovery/triangle",
            "a crash on a triangle",
            asked(members("triangle", CRASH), &[0, 1, 0]),
            936_350,
        ),
        Entry::holds(
            "recovery/square-bystander",
            "a neighbour of the token's holder crashes on a ring: heights mend themselves",
            asked(members("square", MemberBudgets { only: Some(1), ..CRASH }), &[0, 0, 0, 0]),
            79_375,
        ),
        Entry::holds(
            "recovery/square-opposite",
            "the member opposite of the holder crashes on a ring",
            asked(members("square", MemberBudgets { only: Some(2), ..CRASH }), &[0, 0, 0, 0]),
            82_895,
        ),
        Entry::holds_everywhere(
            "recovery/triangle-cut",
            "the token's link fails and its receiver crashes after it promised to refuse it",
            harsh_between_first(asked(members("triangle", MemberBudgets { only: Some(1), ..CRASH }), &[0, 1, 0]), 1),
            3_414_380,
        ),
    ]
}

/// Who crashed is removed for good.
fn removed() -> Vec<Entry> {
    let two = MemberBudgets { crashes: 2, removals: 1, ..NONE };
    vec![
        Entry::holds("recovery/pair-removed", "one of two crashes, and may be removed", pair(REMOVAL), 8_099),
        Entry::holds(
            "recovery/pair-removed-later",
            "a crash and a return, then another crash, and a removal: every decision begins above all before",
            asked(members("line:2", MemberBudgets { crashes: 2, removals: 1, ..NONE }), &[0, 1]),
            2_620,
        ),
        Entry::holds_everywhere(
            "recovery/triangle-removed",
            "a member of a triangle crashes, and may be removed",
            asked(members("triangle", REMOVAL), &[0, 0, 1]),
            1_222_722,
        ),
        Entry::holds(
            "recovery/line-3-promise",
            "the token is refused on a link that failed, while another member is removed",
            harsh_between_first(asked(members("line:3", MemberBudgets { only: Some(2), ..REMOVAL }), &[0, 1, 0]), 2),
            88_940,
        ),
        Entry::holds_everywhere(
            "recovery/star-3-removed",
            "two crashes and a removal: reports of the census before arrive late",
            asked(members("star:3", two), &[0, 2, 0]),
            3_026_688,
        ),
    ]
}

/// Who crashed or lost its standing is declared gone by voters.
fn declared() -> Vec<Entry> {
    let crashed = MemberBudgets { crashes: 1, declarations: 1, ..NONE };
    let fenced = MemberBudgets { fences: 1, declarations: 1, ..NONE };
    let line = |budgets| asked(voters(members("line:3", budgets)), &[0, 0, 1]);
    vec![
        Entry::holds("recovery/pair-declared", "who crashed may be declared gone", voters(pair(crashed)), 28_594),
        Entry::holds(
            "recovery/pair-fenced",
            "a member loses its standing, and may be declared gone while it runs",
            voters(pair(fenced)),
            60_817,
        ),
        Entry::holds("recovery/line-3-declared", "the same on a line, after a crash", line(crashed), 140_531),
        Entry::holds("recovery/line-3-fenced", "the same on a line, of a member that runs", line(fenced), 211_974),
    ]
}

/// Members join.
fn joining() -> Vec<Entry> {
    let joined = MemberBudgets { joins: 1, ..NONE };
    let crash = MemberBudgets { joins: 1, ..CRASH };
    let removal = MemberBudgets { joins: 1, ..REMOVAL };
    vec![
        Entry::holds("recovery/pair-join", "a second member joins", pair(joined), 620),
        Entry::holds(
            "recovery/line-3-join",
            "a third member joins",
            asked(members("line:3", joined), &[0, 1, 1]),
            2_774,
        ),
        Entry::holds(
            "recovery/line-3-join-crash",
            "a third member joins, and one crashes",
            asked(members("line:3", crash), &[0, 0, 1]),
            40_696,
        ),
        Entry::holds(
            "recovery/star-3-join-removed",
            "who joined through a member that is removed is not overlooked",
            asked(members("star:3", removal), &[0, 0, 1]),
            35_789,
        ),
    ]
}

/// Members leave with a goodbye.
fn leaving() -> Vec<Entry> {
    vec![
        Entry::holds(
            "recovery/pair-leave",
            "one leaves and may come back, one crashes",
            left(pair(CRASH), 1, 1),
            136_442,
        ),
        Entry::holds_everywhere(
            "recovery/star-3-goodbye",
            "who left comes back through a member that is removed, and is not overlooked",
            left(asked(members("star:3", REMOVAL), &[0, 0, 1]), 1, 1),
            3_088_375,
        ),
    ]
}

/// Members stop in order and go on with what they saved, unless they were declared gone meanwhile.
fn resuming() -> Vec<Entry> {
    let crashed = MemberBudgets { crashes: 1, declarations: 1, ..NONE };
    let declared = MemberBudgets { declarations: 1, ..NONE };
    let line = |budgets| asked(voters(members("line:3", budgets)), &[0, 0, 1]);
    vec![
        Entry::holds(
            "recovery/pair-stop-declared",
            "one crashes, one stops and goes on if it was not declared gone meanwhile",
            stopped(asked(voters(members("line:2", crashed)), &[1, 1]), 1),
            607_300,
        ),
        Entry::holds(
            "recovery/pair-stops-declared",
            "two stops, and one is declared gone",
            stopped(asked(voters(members("line:2", declared)), &[1, 1]), 2),
            197_097,
        ),
        Entry::holds_everywhere(
            "recovery/line-3-stop-declared",
            "one of three stops and may be declared gone meanwhile",
            stopped(line(declared), 1),
            2_029_955,
        ),
    ]
}

fn walks() -> Vec<Entry> {
    // A walk has crashes and link changes without end, and each may ask for a raise.
    let walking = |topology, k, budgets| {
        let spec = Spec { capacity: k, max_channel: WALK_CHANNEL, max_level: None, ..members(topology, budgets) };
        asking(spec, u32::MAX, &[ONE])
    };
    let troubled = MemberBudgets { crashes: 1, removals: 1, joins: 1, ..NONE };
    let declared = MemberBudgets { crashes: 1, returns: 1, fences: 1, declarations: 1, ..NONE };
    vec![
        Entry::walks(
            "recovery/walk-kite",
            "4 members crash and return, 3 units",
            walking("kite", 3, CRASH),
            300,
            2000,
            34_037,
        ),
        Entry::walks(
            "recovery/walk-grid-6",
            "6 members crash, one is removed, one joins; links fail",
            harsh(walking("grid:2x3", 2, troubled), 1),
            100,
            2000,
            4_019,
        ),
        Entry::walks(
            "recovery/walk-voters-6",
            "6 members crash, lose their standing, are declared gone and come back",
            voters(walking("grid:2x3", 2, declared)),
            100,
            2000,
            5_070,
        ),
        Entry::walks(
            "recovery/walk-grid-20",
            "20 members crash, one is removed, one joins; links fail",
            harsh(walking("grid:4x5", 3, troubled), 1),
            30,
            2000,
            692,
        ),
    ]
}
