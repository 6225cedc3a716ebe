//! The defects p1 to p14 of the printed reverse-link text. `docs/errata.md` tells each of them.

use meshlock_core::Demand;
use meshlock_properties::{Rule, RuleSet};
use meshlock_protocols::{Name, Text};

use super::{Entry, Expected, network};
use crate::explore::Search;
use crate::model::{Failing, Work, Workload};
use crate::spec::Spec;
use crate::topology::Link;
use crate::trial::Way;

pub(super) fn entries() -> Vec<Entry> {
    let waits = Rule::NobodyWaits;
    vec![
        Entry::breaks("reverse-link/p1", "a waiting holder gives the token away and forgets itself", p1(), waits, 20),
        Entry::breaks("reverse-link/p2", "the same when a priority is raised (p1 repaired)", p2(), waits, 40),
        Entry::breaks("reverse-link/p3", "free units stay idle while the holder is inside", p3(), Rule::NoIdleUnits, 3),
        Entry::breaks("reverse-link/p4", "a more urgent local request is not reported", p4(), Rule::MostUrgentKnown, 5),
        Entry::breaks("reverse-link/p5", "a raised priority travels one hop", p5(), Rule::MostUrgentKnown, 7),
        Entry::breaks("reverse-link/p6", "an update goes to the wrong neighbour", p6(), Rule::MostUrgentKnown, 11),
        Entry::breaks("reverse-link/p7", "`next` is overwritten by a release (p1, p2 repaired)", p7(), waits, 37),
        Entry::breaks("reverse-link/p8", "a neighbour is queued twice", p8(), Rule::Queues, 9),
        Entry::breaks("reverse-link/p9", "a ghost: a claim without a requester (p8 repaired)", p9(), Rule::Queues, 10),
        Entry::breaks("reverse-link/p10", "aging is not reported", p10(), Rule::Queues, 13),
        Entry::breaks("reverse-link/p11-stuck", "no neighbour has spoken yet: a request is lost", p11(&[]), waits, 5),
        Entry::breaks("reverse-link/p11-leak", "the same: units are lost", p11_leak(), Rule::Conservation, 18),
        Entry::new(
            "reverse-link/p12",
            "a part without the token turns its links forever",
            p12(),
            Way::Explore { search: Search::BreadthFirst, graph: true, canonical: Some(true) },
            Expected::Breaks { rule: Rule::MessagesEnd, steps: 6 },
        ),
        Entry::holds_everywhere(
            "reverse-link/printed-triangle",
            "the text as printed on a triangle, two changes: units are never given twice",
            changing(printed("triangle", &[], Rule::Exclusion), 2),
            78_743,
        ),
        Entry::holds_everywhere(
            "reverse-link/printed-triangle-value",
            "the same if REQUEST 7 goes by what the front of Q looks like",
            changing(printed("triangle", &[], Rule::Exclusion), 2).read_as(&["front-by-value"]),
            81_406,
        ),
        Entry::holds_everywhere(
            "reverse-link/printed-triangle-priority",
            "the same if it goes by the priority alone",
            changing(printed("triangle", &[], Rule::Exclusion), 2).read_as(&["front-by-priority"]),
            97_420,
        ),
        Entry::holds_everywhere(
            "reverse-link/printed-triangle-section-3",
            "the same if a REQUEST is ignored while receivedLINK is false",
            changing(printed("triangle", &[], Rule::Exclusion), 2).read_as(&["section-3"]),
            78_350,
        ),
        Entry::holds_everywhere(
            "reverse-link/printed-updates",
            "the text as printed with UPDATEs that reach a waiting holder",
            Spec {
                workload: priorities(&[None, Some(7), Some(5), Some(3), Some(9)]),
                ..printed("edges:0-1,1-2,2-3,2-4", &[], Rule::Exclusion)
            },
            45_655,
        ),
        Entry::breaks("reverse-link/p13", "the token is lost with a link", harsh("line:2", waits), waits, 5),
        Entry::breaks(
            "reverse-link/p14",
            "units are lost with a link",
            harsh("line:3", Rule::Conservation),
            Rule::Conservation,
            7,
        ),
    ]
}

/// The printed text with some repairs, one request per node, watching one rule. The paper's assumptions hold.
fn printed(topology: &str, repairs: &[&str], rule: Rule) -> Spec {
    Spec {
        keep_connected: true,
        rules: Some(RuleSet::NONE.with(rule)),
        ..Spec::new(Name::ReverseLink, Text::with_repairs(repairs), network(topology))
    }
}

/// One request at each node, with this priority; `None` is no request.
fn priorities(priorities: &[Option<i32>]) -> Workload {
    let mut workload = Workload::none(priorities.len());
    for (node, priority) in priorities.iter().enumerate() {
        if let Some(priority) = priority {
            workload = workload.with(node, Work::in_order(vec![Demand::units(1, *priority)]));
        }
    }
    workload
}

fn p1() -> Spec {
    printed("line:3", &[], Rule::NobodyWaits)
}

fn p2() -> Spec {
    let workload = priorities(&[None, Some(9), Some(3), Some(2), Some(5)]);
    Spec { workload, ..printed("line:5", &["p1"], Rule::NobodyWaits) }
}

fn p3() -> Spec {
    Spec { capacity: 2, ..printed("line:2", &[], Rule::NoIdleUnits) }
}

fn p4() -> Spec {
    Spec { workload: priorities(&[Some(1), Some(5), Some(1)]), ..printed("line:3", &[], Rule::MostUrgentKnown) }
}

fn p5() -> Spec {
    let workload = priorities(&[Some(1), None, Some(1), Some(5)]);
    Spec { workload, ..printed("line:4", &[], Rule::MostUrgentKnown) }
}

fn p6() -> Spec {
    let workload = priorities(&[None, Some(1), Some(1), Some(5)]);
    Spec { workload, ..printed("kite", &[], Rule::MostUrgentKnown) }
}

/// With so many link changes.
fn changing(mut spec: Spec, changes: u32) -> Spec {
    spec.budgets.link_changes = changes;
    spec
}

fn p7() -> Spec {
    changing(printed("kite", &["p1", "p2"], Rule::NobodyWaits), 1)
}

fn p8() -> Spec {
    changing(printed("triangle", &[], Rule::Queues), 1)
}

fn p9() -> Spec {
    changing(printed("triangle", &["p8"], Rule::Queues), 1)
}

fn p10() -> Spec {
    Spec { capacity: 2, epsilon: 1, ..printed("line:3", &[], Rule::Queues) }
}

/// Node 0 and node 2 are about to meet.
fn p11(repairs: &[&str]) -> Spec {
    let down = Link::between(0, 2).into_iter().collect();
    changing(Spec { down, ..printed("line:3", repairs, Rule::NobodyWaits) }, 2)
}

fn p11_leak() -> Spec {
    Spec { rules: Some(RuleSet::NONE.with(Rule::Conservation)), ..p11(&["p1"]) }
}

fn p12() -> Spec {
    let changeable = Some(Link::between(0, 1).into_iter().collect());
    let spec = printed("line:3", &[], Rule::MessagesEnd);
    changing(Spec { changeable, keep_connected: false, workload: Workload::none(3), ..spec }, 1)
}

fn harsh(topology: &str, rule: Rule) -> Spec {
    changing(Spec { keep_connected: false, failing: Failing::Harsh, ..printed(topology, &[], rule) }, 1)
}
