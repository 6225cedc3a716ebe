//! S4-1 to S4-4: how many messages an entry takes, by role, and how many are asked.

use meshlock_core::NodeId;
use meshlock_report::table::Cell;
use meshlock_sim::scenario::{Class, Scenario, Text};
use meshlock_statistics::Estimate;

use super::ledger::{Entry, Ledger, Role, watched, watched_often};
use super::radio;
use super::setting::{
    all_but, busy, chart, count, estimate, group, mended_but, point, printed, series, table, three_texts, words,
};
use crate::claim::{Evidence, Finding, check};
use crate::lab::Lab;
use crate::verdict::{self, Column, Fact, Runs};

/// The texts that are counted.
fn texts() -> [(verdict::Text, Text); 3] {
    [
        (verdict::Text::Printed, printed()),
        (mended_but("g8"), all_but(&["g8"])),
        (verdict::Text::Repaired, Text::Repaired),
    ]
}

/// Names of numbers.
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
    let (mut rows, mut found) = (Vec::new(), [(0, 0); 3]);
    let mut columns = texts().map(|(label, _)| Column::new(label, Runs::default(), Vec::new()));
    let mut reached = true;
    for &nodes in sizes {
        let limit = u64::from(nodes) + extra;
        for (place, (label, text)) in texts().into_iter().enumerate() {
            let scenario = group(text, nodes, seconds, vec![busy(nodes, 2, 0.1, 0.05)]);
            let (outcomes, ledgers): (Vec<_>, Vec<Ledger>) = watched_often(&scenario, seeds).into_iter().unzip();
            columns[place].runs = columns[place].runs.and(Runs::of(&outcomes));
            let most = ledgers.iter().filter_map(|ledger| ledger.costliest(role)).max();
            let entries: usize = ledgers.iter().map(|ledger| ledger.of(role).count()).sum();
            let over = ledgers.iter().flat_map(|ledger| ledger.of(role)).filter(|entry| entry.messages > limit).count();
            let means: Vec<f64> = ledgers.iter().filter_map(|ledger| mean_cost(ledger, role)).collect();
            found[place].0 += over;
            found[place].1 += entries;
            // Ours asks everybody, so that it always takes the most there is; request sets may be smaller.
            reached &= label != verdict::Text::Repaired || most == Some(limit);
            rows.push(vec![
                count(nodes),
                words(label.to_string()),
                count(entries),
                estimate(Estimate::of(&means, 0.95)),
                most.map_or(Cell::Empty, count),
                count(limit),
            ]);
        }
    }
    for (column, (over, entries)) in columns.iter_mut().zip(found) {
        column.facts = vec![Fact::count(OVER, over as u64), Fact::count(ENTRIES, entries as u64)];
    }
    let name = if role == Role::Captain { "captain" } else { "follower" };
    let bound = if extra == 0 { "n" } else { "n + 1" };
    let told: Vec<String> = columns
        .iter()
        .zip(found)
        .map(|(column, (over, entries))| format!("{} {over} of {entries}", column.text))
        .collect();
    let columns_shown = ["n", "text:", "entries", "mean messages", "most", "claimed"];
    Finding {
        columns: columns.to_vec(),
        measured: format!("{name} entries with more than {bound} messages: {}", told.join(", ")),
        checks: vec![check(format!("repaired, the most is exactly {bound} at every n"), reached)],
        evidence: vec![
            Evidence::Table(format!("Messages per {name} entry, two sessions, all busy"), table(&columns_shown, rows)),
            Evidence::Note(
                "As printed the protocol soon stops (S4-3, S4-14), so few entries are seen, and with two tokens about \
                 (G1) some of them cost more. G8 alone left keeps the request sets of the paper and lets it run."
                    .to_owned(),
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
        let mut column = Column::new(label, Runs::default(), Vec::new());
        // It starts with the token, or has to fetch it once.
        for node in [0, 4] {
            let (outcome, ledger) = watched(&group(text.clone(), nodes, seconds, vec![hot(node)]), 1);
            let entries = ledger.entries.len();
            let free = ledger.entries.iter().filter(|entry| entry.messages == 0).count();
            let asked = outcome.requests.len();
            rows.push(vec![words(column.text.to_string()), count(node), count(asked), count(entries), count(free)]);
            column.runs = column.runs.and(Runs::of([&outcome]));
            if node == 0 {
                column.add(COSTLY, (entries - free) as f64);
                column.add(NOT_ENTERED, (asked - entries) as f64);
                column.add(ENTRIES, entries as f64);
            } else if column.text == verdict::Text::Repaired {
                fetched_once = free + 1 == entries;
            }
        }
        columns.push(column);
    }
    let told: Vec<String> = columns
        .iter()
        .map(|column| {
            let [costly, lost, entries] = [0, 1, 2].map(|place: usize| column.facts[place].value);
            format!("{} {} of {}", column.text, entries - costly, entries + lost)
        })
        .collect();
    Finding {
        columns,
        measured: format!("requests of a lone holder that enter without a message: {}", told.join(", ")),
        checks: vec![check("repaired, one that has to fetch the token pays once", fetched_once)],
        evidence: vec![Evidence::Table(
            "One process asks, nine do not".to_owned(),
            table(&["text:", "process", "asked", "entries", "without a message"], rows),
        )],
    }
}

/// S4-4.
pub(super) fn request_sets(lab: &Lab) -> Finding {
    let nodes = 16;
    let (seconds, seeds) = (lab.choose(20.0, 60.0, 120.0), lab.choose(4, 10, 20));
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
        let has_sets = label == mended_but("g8");
        let mut column = Column::new(label.clone(), Runs::default(), Vec::new());
        let mut largest = 0;
        for (place, active) in [nodes, 2].into_iter().enumerate() {
            let mut points = Vec::new();
            // The others need no curve: as printed it soon stops, and ours asks everybody.
            let light = thinks.len() - 1;
            for &think in if has_sets { thinks } else { &thinks[light..] } {
                let runs = watched_often(
                    &scenario(text.clone(), active, think),
                    if has_sets { seeds } else { seeds.div_ceil(3) },
                );
                let late = |ledger: &Ledger| mean_asked(ledger, active);
                let sizes: Vec<f64> = runs.iter().filter_map(|(_, ledger)| late(ledger)).collect();
                let size = Estimate::of(&sizes, 0.95);
                let most = runs.iter().flat_map(|(_, ledger)| &ledger.entries).map(|entry| entry.requests).max();
                let lost =
                    runs.iter().flat_map(|(outcome, _)| &outcome.requests).filter(|r| r.granted.is_none()).count();
                let made: usize = runs.iter().map(|(outcome, _)| outcome.requests.len()).sum();
                column.runs = column.runs.and(Runs::of(runs.iter().map(|(outcome, _)| outcome)));
                largest = largest.max(most.unwrap_or(0));
                if active == 2 && think == thinks[light] {
                    // Of those who had to ask: who has the token asks nobody in any text.
                    let asking: Vec<f64> = runs
                        .iter()
                        .filter_map(|(_, ledger)| mean_of(ledger, active, |entry| entry.requests > 0))
                        .collect();
                    let size = Estimate::of(&asking, 0.95);
                    let by_all = Estimate {
                        mean: size.mean / others as f64,
                        half_width: size.half_width / others as f64,
                        ..size
                    };
                    column.facts.push(Fact::mean(ASKED, by_all));
                }
                if has_sets {
                    (stuck, asked) = (stuck + lost, asked + made);
                    at_light_load[place] = size.mean;
                }
                points.push(point(think, size));
                rows.push(vec![
                    words(label.to_string()),
                    count(active),
                    Cell::Number(think),
                    estimate(size),
                    most.map_or(Cell::Empty, count),
                    count(made),
                    count(lost),
                ]);
            }
            if has_sets {
                lines.push(series(format!("{active} of {nodes} ask"), points));
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
            "with all repairs but G8's, asked per entry, n = {nodes}: at light load {everywhere:.2} if all ask now and then \
             ({saved:.0} % less than n - 1), {localised:.2} if only two do; {stuck} of {asked} requests were never served"
        ),
        checks: vec![
            check("with request sets, at least a quarter less at light load", saved > 25.0),
            check("and at most 2 if only two ask", localised <= 2.0),
        ],
        evidence: vec![
            Evidence::Table(
                "Size of the request set used".to_owned(),
                table(
                    &[
                        "text:",
                        "processes that ask",
                        "think (s)",
                        "asked per entry",
                        "most",
                        "requests",
                        "never served",
                    ],
                    rows,
                ),
            ),
            Evidence::Figure(
                "The more they think, the fewer they ask.".to_owned(),
                chart("Whom to ask", ("mean time to think", "s"), ("asked per entry", ""), lines),
            ),
            Evidence::Note(
                "Two sets can come to lack each other (G8), and who is missing is not served. The repaired protocol \
                 asks everybody: n - 1 per entry of one that lacks the token."
                    .to_owned(),
            ),
        ],
    }
}

/// How many were asked per entry.
fn mean_asked(ledger: &Ledger, active: u32) -> Option<f64> {
    mean_of(ledger, active, |_| true)
}

/// How many were asked per entry of a kind, once everybody that asks has been in: the first sets are full by definition.
fn mean_of(ledger: &Ledger, active: u32, is_kind: impl Fn(&Entry) -> bool) -> Option<f64> {
    let warm = (0..active).map(|node| ledger.entries.iter().position(|entry| entry.node == NodeId(node)));
    let warm = warm.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    let late: Vec<&Entry> = ledger.entries.get(warm + 1..)?.iter().filter(|entry| is_kind(entry)).collect();
    let sum: u64 = late.iter().map(|entry| entry.requests).sum();
    (!late.is_empty()).then(|| sum as f64 / late.len() as f64)
}
