//! Group mutual exclusion: the defects G1 to G10 of the printed text, and the repaired protocol.

use meshlock_core::group::readers_writer;
use meshlock_core::{Demand, NodeId};
use meshlock_properties::{Rule, RuleSet};
use meshlock_protocols::printed::group::Defect;
use meshlock_protocols::repairs::Defect as _;
use meshlock_protocols::{Name, Text};

use super::{Entry, WALK_CHANNEL, network};
use crate::model::{Failing, Work, Workload};
use crate::spec::Spec;

const X: Demand = Demand::session(1, 1);
const Y: Demand = Demand::session(2, 1);

/// Each defect with all the others repaired.
pub(super) fn published() -> Vec<Entry> {
    let waits = Rule::NobodyWaits;
    let urgent = [X, Y, Demand::session(1, 2), Demand::session(2, 2)];
    let g10 = asking(without(&["g10", "g8"], 3, 1, Rule::Queues), 1, &urgent);
    vec![
        Entry::breaks(
            "group/g1",
            "a process that gives an idle token away goes on as holder",
            without(&["g1"], 2, 1, Rule::OneSession),
            Rule::OneSession,
            4,
        ),
        Entry::breaks("group/g2", "an idle captain blocks all processes", without(&["g2"], 2, 1, waits), waits, 4),
        Entry::breaks(
            "group/g3",
            "an idle token keeps its old session",
            without(&["g3"], 2, 2, Rule::OneSession),
            Rule::OneSession,
            13,
        ),
        Entry::breaks(
            "group/g4",
            "a request is queued twice and served twice",
            without(&["g4"], 3, 1, Rule::UnwantedGrant),
            Rule::UnwantedGrant,
            14,
        ),
        Entry::breaks("group/g5", "a complete runs ahead of the token", without(&["g5"], 3, 2, waits), waits, 14),
        Entry::breaks("group/g6", "a request runs ahead of the token", without(&["g6"], 3, 1, waits), waits, 8),
        Entry::breaks(
            "group/g7",
            "a request is served a second time by the next holder",
            without(&["g6", "g7"], 3, 1, Rule::UnwantedGrant),
            Rule::UnwantedGrant,
            11,
        ),
        Entry::breaks(
            "group/g8",
            "two drop out of each other's request sets",
            without(&["g8"], 3, 2, waits),
            waits,
            20,
        ),
        Entry::breaks("group/g9", "states N and R are exchanged", without(&["g9"], 2, 1, Rule::Roles), Rule::Roles, 4),
        Entry::breaks("group/g10", "a request sent back has lost its priority", g10, Rule::Queues, 11),
    ]
}

pub(super) fn repaired() -> Vec<Entry> {
    let plain = |n, requests| asking(group(Name::Group, &format!("complete:{n}")), requests, &[X, Y]);
    let lossy = |spec: Spec, losses, early| with_losses(spec, losses, early);
    let relayed = |topology| Spec { repeats: true, ..asking(group(Name::GroupOverRelay, topology), 1, &[X, Y]) };
    let urgent = [X, Demand::session(1, 3), Y, Demand::session(2, 2)];
    let mut three_endless = plain(3, 1).endless(0);
    for (work, session) in three_endless.workload.nodes.iter_mut().zip([X, Y, X]) {
        work.demands = vec![session];
    }
    let mut urgent_endless = Spec { levels: 2, ..plain(3, 1).endless(0) };
    let demands = [Demand::session(1, 2), Demand::session(2, 1), Demand::session(3, 2)];
    for (work, demand) in urgent_endless.workload.nodes.iter_mut().zip(demands) {
        work.demands = vec![demand];
    }
    let mut thoughts = plain(2, 2);
    thoughts.budgets.cancels = 2;
    let mut cancelled = lossy(plain(3, 1), 1, 0);
    cancelled.budgets.cancels = 1;
    let stopped = |mut spec: Spec, stops, leaves| {
        spec.budgets.stops = stops;
        spec.budgets.leaves = leaves;
        Spec { repeats: true, ..spec }
    };
    let mut broken_link = relayed("line:3");
    broken_link.budgets.link_changes = 1;
    broken_link.workload.nodes[0] = Work::any(0, Vec::new());
    broken_link.failing = Failing::Harsh;
    let mut walk = lossy(asking(group(Name::Group, "complete:12"), u32::MAX, &urgent), 1, 1);
    walk.budgets.cancels = 1;
    walk.max_channel = WALK_CHANNEL;
    let mut walk_relay = asking(relayed("grid:3x4"), u32::MAX, &urgent);
    walk_relay.budgets.link_changes = 1;
    walk_relay.failing = Failing::Harsh;
    walk_relay.max_channel = WALK_CHANNEL;
    vec![
        Entry::holds("group/two", "two processes, four requests each", plain(2, 4), 67_153),
        Entry::holds("group/two-urgent", "two sessions, three levels", asking(plain(2, 2), 2, &urgent), 5_993),
        Entry::holds_everywhere("group/three", "three processes, two requests each", plain(3, 2), 2_042_163),
        Entry::holds_everywhere("group/four", "four processes, one request each", plain(4, 1), 2_823_229),
        Entry::holds(
            "group/unordered",
            "channels that do not keep the order",
            Spec { fifo: false, ..plain(3, 1) },
            9_933,
        ),
        Entry::holds("group/second-thoughts", "two requests cancelled", thoughts, 8_638),
        Entry::holds("group/two-lossy", "2 messages lost, 1 timer early", lossy(plain(2, 2), 2, 1), 120_855),
        Entry::holds("group/three-lossy", "1 message lost, 1 timer early", lossy(plain(3, 1), 1, 1), 1_325_135),
        Entry::holds("group/three-lossy-cancel", "1 message lost, 1 request cancelled", cancelled, 554_359),
        Entry::holds("group/readers-writer", "two readers and writers", readers_and_writers(2, 3), 7_341),
        Entry::holds_everywhere(
            "group/readers-writer-3",
            "three readers and writers",
            readers_and_writers(3, 1),
            5_885,
        ),
        Entry::holds("group/two-endless", "endless requests", plain(2, 1).endless(2), 6_215),
        Entry::holds("group/three-endless", "the same by three patient ones", three_endless, 81_207),
        Entry::holds("group/urgent-endless", "two urgent sessions and a third one, endless", urgent_endless, 46_595),
        Entry::holds("group/two-stop", "a process stops and starts again", stopped(plain(2, 2), 1, 0), 21_880),
        Entry::holds(
            "group/two-stops",
            "the same twice: with what is lost on the way",
            stopped(plain(2, 1), 2, 0),
            2_510,
        ),
        Entry::holds("group/two-leave", "processes leave, stop and come back", stopped(plain(2, 1), 1, 2), 2_985),
        Entry::holds("group/three-leave", "one of three leaves", stopped(plain(3, 1), 0, 1), 31_032),
        Entry::holds("group-over-relay/line-3", "three in a line", relayed("line:3"), 7_927),
        Entry::holds(
            "group-over-relay/pair-stop",
            "a node stops, is away, and goes on with what it saved",
            stopped(asking(group(Name::GroupOverRelay, "pair"), 2, &[X]), 1, 0),
            22_017,
        ),
        Entry::holds_everywhere("group-over-relay/line-3-harsh", "the same, and links fail", broken_link, 6_569),
        Entry::walks("group/walk-12", "12 processes, losses", walk, 100, 2000, 3_561),
        Entry::walks("group-over-relay/walk-grid-12", "12 on a grid, links fail", walk_relay, 50, 1500, 1_190),
    ]
}

fn group(subject: Name, topology: &str) -> Spec {
    Spec::new(subject, Text::Repaired, network(topology))
}

/// The printed text with all repairs but these, watching one rule, on two sessions.
fn without(missing: &[&str], n: u32, requests: u32, rule: Rule) -> Spec {
    let all = Defect::ALL.iter().map(|defect| defect.name());
    let repairs: Vec<_> = all.filter(|repair| !missing.contains(repair)).collect();
    let spec = Spec::new(Name::Group, Text::with_repairs(&repairs), network(&format!("complete:{n}")));
    asking(Spec { rules: Some(RuleSet::NONE.with(rule)), ..spec }, requests, &[X, Y])
}

fn asking(spec: Spec, requests: u32, demands: &[Demand]) -> Spec {
    Spec { workload: Workload::same(spec.topology.len(), requests, demands.to_vec()), ..spec }
}

fn with_losses(mut spec: Spec, losses: u32, early_timers: u32) -> Spec {
    spec.budgets.losses = losses;
    spec.budgets.early_timers = early_timers;
    spec.repeats = true;
    spec
}

/// Every node reads or writes.
fn readers_and_writers(n: u32, requests: u32) -> Spec {
    let spec = group(Name::Group, &format!("complete:{n}"));
    let mut workload = Workload::none(spec.topology.len());
    for node in 0..n {
        let demands = vec![readers_writer::write(NodeId(node), 1), readers_writer::read(1)];
        workload = workload.with(node as usize, Work::any(requests, demands));
    }
    Spec { workload, ..spec }
}
