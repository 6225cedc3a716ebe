//! S4-1 to S4-4: how many messages an entry takes, by role, and how many are asked.

use meshlock_core::NodeId;
use meshlock_report::table::Cell;
use meshlock_sim::scenario::{Class, Scenario, Text};
use meshlock_statistics::Estimate;

use super::ledger::{Entry, Ledger, Role, watched};
use super::radio;
use super::setting::{busy, group, three_texts};
use crate::prelude::*;
use crate::scenarios::{G, REPAIRED, Variant, all_but, with};
use crate::verdict;

fn texts() -> [Variant; 3] {
    [with(&[]), all_but(&G, &["g8"]), REPAIRED]
}

pub(super) const OVER: &str = "entries that cost more than claimed";
pub(super) const ENTRIES: &str = "entries";
pub(super) const COSTLY: &str = "entries of the holder that cost a message";
pub(super) const NOT_ENTERED: &str = "requests of the holder that never entered";
pub(super) const BEYOND: &str = "largest request set beyond n - 1";
pub(super) const ASKED: &str = "asked by one that lacks the token if two of 16 ask seldom, by n - 1";

/// S4-1.
pub(super) fn captain(lab: &Lab) -> Finding {
    let mut finding = by_role(lab, Role::Captain, 0);
    finding.evidence.extend(radio::costs(lab));
    finding
}

/// S4-2.
pub(super) fn follower(lab: &Lab) -> Finding {
    by_role(lab, Role::Follower, 1)
}

/// The costliest entry in a role never takes more than n and `extra` messages, and does take so many.
fn by_role(lab: &Lab, role: Role, extra: u64) -> Finding {
    let sizes: &[u32] = lab.choose(&[4, 16], &[4, 8, 16], &[4, 8, 16, 32]);
    let seconds = lab.choose(20.0, 40.0, 60.0);
    let seeds = lab.choose(5, 10, 20);
    let (mut rows, mut columns, mut reached) = (Vec::new(), Vec::new(), true);
    for &nodes in sizes {
        let limit = u64::from(nodes) + extra;
        for (label, text) in texts() {
            let scenario = group(text, nodes, seconds, vec![busy(nodes, 2, 0.1, 0.05)]);
            let (ledgers, outcomes): (Vec<Ledger>, Vec<_>) = watched(&scenario, seeds).into_iter().unzip();
            let most = ledgers.iter().filter_map(|ledger| ledger.costliest(role)).max();
            let entries: usize = ledgers.iter().map(|ledger| ledger.of(role).count()).sum();
            let over = ledgers.iter().flat_map(|ledger| ledger.of(role)).filter(|entry| entry.messages > limit).count();
            let means: Vec<f64> = ledgers.iter().filter_map(|ledger| mean_cost(ledger, role)).collect();
            let column = Column::of(&mut columns, &label, Runs::of(&outcomes));
            column.add(OVER, over as f64);
            column.add(ENTRIES, entries as f64);
            // Ours always asks all others; request sets may be smaller.
            reached &= label != verdict::Text::Repaired || most == Some(limit);
            rows.push(vec![
                count(nodes),
                words(&label),
                count(entries),
                mean(Estimate::of(&means, 0.95)),
                most.map_or(Cell::Empty, count),
                count(limit),
            ]);
        }
    }
    let name = if role == Role::Captain { "captain" } else { "follower" };
    let bound = if extra == 0 { "n" } else { "n + 1" };
    let told = told(&columns, |column| format!("{} of {}", column.value(OVER), column.value(ENTRIES)));
    let columns_shown = "n | text | entries | mean messages | most | claimed";
    Finding {
        columns,
        measured: format!("{name} entries with more than {bound} messages: {told}"),
        checks: vec![check(format!("repaired, the most is exactly {bound} at every n"), reached)],
        evidence: vec![
            table(format!("Messages per {name} entry, two sessions, all busy"), columns_shown, rows),
            note(
                "As printed the protocol soon stops (S4-3, S4-14), so few entries are seen, and with two tokens about \
                 (G1) some of them cost more. G8 alone left keeps the request sets of the paper and lets it run.",
            ),
        ],
    }
}

fn mean_cost(ledger: &Ledger, role: Role) -> Option<f64> {
    let (sum, entries) = ledger.of(role).fold((0, 0_u32), |(sum, entries), entry| (sum + entry.messages, entries + 1));
    (entries > 0).then(|| sum as f64 / f64::from(entries))
}

/// S4-3.
pub(super) fn best(lab: &Lab) -> Finding {
    let nodes = 10;
    let seconds = lab.choose(5.0, 30.0, 120.0);
    let hot = |node: u32| Class { nodes: vec![node], ..busy(nodes, 3, 0.05, 0.05) };
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    let mut fetched_once = true;
    for (label, text) in three_texts() {
        // It starts with the token, or has to fetch it once.
        for node in [0, 4] {
            let run = watched(&group(text.clone(), nodes, seconds, vec![hot(node)]), 1);
            let (ledger, outcome) = &run[0];
            let entries = ledger.entries.len();
            let free = ledger.entries.iter().filter(|entry| entry.messages == 0).count();
            let asked = outcome.requests.len();
            rows.push(vec![words(&label), count(node), count(asked), count(entries), count(free)]);
            let column = Column::of(&mut columns, &label, Runs::of([outcome]));
            if node == 0 {
                column.add(COSTLY, (entries - free) as f64);
                column.add(NOT_ENTERED, (asked - entries) as f64);
                column.add(ENTRIES, entries as f64);
            } else if label == verdict::Text::Repaired {
                fetched_once = free + 1 == entries;
            }
        }
    }
    let told = told(&columns, |column| {
        let [costly, lost, entries] = [COSTLY, NOT_ENTERED, ENTRIES].map(|name| column.value(name));
        format!("{} of {}", entries - costly, entries + lost)
    });
    Finding {
        columns,
        measured: format!("requests of a lone holder that enter without a message: {told}"),
        checks: vec![check("repaired, one that has to fetch the token pays once", fetched_once)],
        evidence: vec![table(
            "One process asks, nine do not",
            "text | process | asked | entries | without a message",
            rows,
        )],
    }
}

/// S4-4.
pub(super) fn request_sets(lab: &Lab) -> Finding {
    let nodes = 16;
    let (seconds, seeds) = (lab.choose(20.0, 60.0, 120.0), lab.choose(4_u64, 10, 20));
    let thinks: &[f64] = lab.choose(&[0.1, 10.0], &[0.1, 1.0, 10.0], &[0.1, 0.3, 1.0, 3.0, 10.0, 30.0]);
    // Light load needs time for as many entries.
    let scenario = |text: Text, active: u32, think: f64| -> Scenario {
        let class = Class { nodes: (0..active).collect(), ..busy(nodes, 4, think, 0.05) };
        group(text, nodes, seconds * think.max(1.0), vec![class])
    };
    let others = u64::from(nodes) - 1;
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    let mut columns: Vec<Column> = Vec::new();
    let (mut stuck, mut asked) = (0, 0);
    let mut at_light_load = [f64::NAN; 2];
    for (label, text) in texts() {
        let has_sets = matches!(label, verdict::Text::With(_));
        let mut column = Column::new(label.clone(), Runs::default(), Vec::new());
        let mut largest = 0;
        for (place, active) in [nodes, 2].into_iter().enumerate() {
            let mut points = Vec::new();
            // The others need no curve: as printed it soon stops, and ours asks all others.
            let light = thinks.len() - 1;
            for &think in if has_sets { thinks } else { &thinks[light..] } {
                let seeds = if has_sets { seeds } else { seeds.div_ceil(3) };
                let runs = watched(&scenario(text.clone(), active, think), seeds);
                let size_of = |is_kind: fn(&Entry) -> bool| {
                    let sizes = runs.iter().filter_map(|(ledger, _)| mean_asked(ledger, active, is_kind));
                    Estimate::of(&sizes.collect::<Vec<_>>(), 0.95)
                };
                let size = size_of(|_| true);
                let most = runs.iter().flat_map(|(ledger, _)| &ledger.entries).map(|entry| entry.requests).max();
                let requests = || runs.iter().flat_map(|(_, outcome)| &outcome.requests);
                let (made, lost) = (requests().count(), requests().filter(|r| r.granted.is_none()).count());
                column.runs = column.runs.and(Runs::of(runs.iter().map(|(_, outcome)| outcome)));
                largest = largest.max(most.unwrap_or(0));
                if active == 2 && think == thinks[light] {
                    // Of processes that had to ask: the holder of the token sends no request in any text.
                    let asking = size_of(|entry| entry.requests > 0);
                    column.facts.push(Fact::mean(ASKED, asking.converted(|asked| asked / others as f64)));
                }
                if has_sets {
                    (stuck, asked) = (stuck + lost, asked + made);
                    at_light_load[place] = size.mean;
                }
                points.push(point(think, size));
                rows.push(vec![
                    words(&label),
                    count(active),
                    number(think),
                    mean(size),
                    most.map_or(Cell::Empty, count),
                    count(made),
                    count(lost),
                ]);
            }
            if has_sets {
                lines.push(line(format!("{active} of {nodes} ask"), points));
            }
        }
        column.facts.push(Fact::count(BEYOND, largest.saturating_sub(others)));
        columns.push(column);
    }
    let [everywhere, localised] = at_light_load;
    let saved = 100.0 * (1.0 - everywhere / others as f64);
    Finding {
        columns,
        measured: format!(
            "with all repairs but G8's, asked per entry, n = {nodes}: at light load {everywhere:.2} if all ask now and \
             then ({saved:.0} % less than n - 1), {localised:.2} if only two do; {stuck} of {asked} requests were \
             never served"
        ),
        checks: vec![
            check("with request sets, at least a quarter less at light load", saved > 25.0),
            check("and at most 2 if only two ask", localised <= 2.0),
        ],
        evidence: vec![
            table(
                "Size of the request set used",
                "text | processes that ask | think (s) | asked per entry | most | requests | never served",
                rows,
            ),
            captioned(
                "The more they think, the fewer they ask.",
                "Whom to ask",
                scale("mean time to think", "s"),
                scale("asked per entry", ""),
                lines,
            ),
            note(
                "Two sets can come to lack each other (G8), and who is missing is not served. The repaired protocol \
                 asks everybody: n - 1 per entry of one that lacks the token.",
            ),
        ],
    }
}

/// How many were asked per entry of a kind, once all that ask have been in: the first sets are full by definition.
fn mean_asked(ledger: &Ledger, active: u32, is_kind: impl Fn(&Entry) -> bool) -> Option<f64> {
    let warm = (0..active).map(|node| ledger.entries.iter().position(|entry| entry.node == NodeId(node)));
    let warm = warm.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    let late: Vec<&Entry> = ledger.entries.get(warm + 1..)?.iter().filter(|entry| is_kind(entry)).collect();
    let sum: u64 = late.iter().map(|entry| entry.requests).sum();
    (!late.is_empty()).then(|| sum as f64 / late.len() as f64)
}
