//! S4-1 to S4-4: how many messages an entry takes, by role, and how many are asked.

use meshlock_core::NodeId;
use meshlock_report::table::Cell;
use meshlock_sim::scenario::{Class, Scenario, Text};
use meshlock_statistics::Estimate;

use super::ledger::{Ledger, Role, watched, watched_often};
use super::radio;
use super::setting::{all_but, busy, chart, count, estimate, group, point, printed, series, table, unless, words};
use crate::claim::{Evidence, Finding, Verdict};
use crate::lab::Lab;

/// The texts that are counted, each with its name.
fn texts() -> [(&'static str, Text); 3] {
    [("as printed", printed()), ("printed, G8 alone left", all_but(&["g8"])), ("repaired", Text::Repaired)]
}

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
    let seconds = lab.choose(20.0, 40.0, 100.0);
    let seeds = lab.choose(5, 10, 30);
    let (mut rows, mut found) = (Vec::new(), [(0, 0); 3]);
    let mut reached = true;
    for &nodes in sizes {
        let limit = u64::from(nodes) + extra;
        for (place, (name, text)) in texts().into_iter().enumerate() {
            let scenario = group(text, nodes, seconds, vec![busy(nodes, 2, 0.1, 0.05)]);
            let ledgers: Vec<Ledger> = watched_often(&scenario, seeds).into_iter().map(|(_, ledger)| ledger).collect();
            let most = ledgers.iter().filter_map(|ledger| ledger.costliest(role)).max();
            let entries: usize = ledgers.iter().map(|ledger| ledger.of(role).count()).sum();
            let over = ledgers.iter().flat_map(|ledger| ledger.of(role)).filter(|entry| entry.messages > limit).count();
            let means: Vec<f64> = ledgers.iter().filter_map(|ledger| mean_cost(ledger, role)).collect();
            found[place].0 += over;
            found[place].1 += entries;
            // Ours asks everybody, so that it always takes the most there is; request sets may be smaller.
            reached &= name != "repaired" || most == Some(limit);
            rows.push(vec![
                count(nodes),
                words(name),
                count(entries),
                estimate(Estimate::of(&means, 0.95)),
                most.map_or(Cell::Empty, count),
                count(limit),
            ]);
        }
    }
    let [(printed_over, printed_entries), (sets_over, sets_entries), (ours_over, ours_entries)] = found;
    let name = if role == Role::Captain { "captain" } else { "follower" };
    let bound = if extra == 0 { "n" } else { "n + 1" };
    let measured = format!(
        "more than {bound} messages: repaired {ours_over} of {ours_entries} {name} entries (the most is exactly \
         {bound} at every n{}), with request sets {sets_over} of {sets_entries}, as printed {printed_over} of \
         {printed_entries}",
        unless(reached)
    );
    let holds = printed_over == 0;
    let columns = ["n", "text:", "entries", "mean messages", "most", "claimed"];
    Finding {
        measured,
        verdict: if holds { Verdict::Holds } else { Verdict::HoldsRepaired },
        as_expected: sets_over + ours_over == 0 && reached && ours_entries > 0 && sets_entries > 0,
        evidence: vec![
            Evidence::Table(format!("Messages per {name} entry, two sessions, all busy"), table(&columns, rows)),
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
    let mut rows = Vec::new();
    let mut run = |name: &str, text: Text, node: u32| {
        let (outcome, ledger) = watched(&group(text, nodes, seconds, vec![hot(node)]), 1);
        let entries = ledger.entries.len();
        let free = ledger.entries.iter().filter(|entry| entry.messages == 0).count();
        let asked = outcome.requests.len();
        rows.push(vec![words(name), count(node), count(asked), count(entries), count(free)]);
        (asked, entries, free)
    };
    let (_, first, first_free) = run("repaired", Text::Repaired, 0);
    let (_, other, other_free) = run("repaired", Text::Repaired, 4);
    let (printed_asked, printed_entries, _) = run("as printed", printed(), 0);
    let (_, mended, mended_free) = run("printed, all repaired", all_but(&[]), 0);
    let measured = format!(
        "a lone process enters without a message {first_free} of {first} times if it starts with the token, \
         {other_free} of {other} if it has to fetch it once; as printed it enters {printed_entries} of \
         {printed_asked} times{}",
        if printed_entries < printed_asked { " and then waits for ever (G2)" } else { "" }
    );
    Finding {
        measured,
        verdict: Verdict::HoldsRepaired,
        as_expected: first > 10
            && first_free == first
            && other_free + 1 == other
            && mended_free == mended
            && printed_entries == 1
            && printed_asked == 2,
        evidence: vec![Evidence::Table(
            "One process asks, nine do not".to_owned(),
            table(&["text:", "process", "asked", "entries", "without a message"], rows),
        )],
    }
}

/// S4-4.
pub(super) fn request_sets(lab: &Lab) -> Finding {
    let nodes = 16;
    let (seconds, seeds) = (lab.choose(20.0, 60.0, 300.0), lab.choose(4, 10, 30));
    let thinks: &[f64] = lab.choose(&[0.1, 10.0], &[0.1, 1.0, 10.0], &[0.1, 0.3, 1.0, 3.0, 10.0, 30.0]);
    // Light load needs time for as many entries.
    let scenario = |active: u32, think: f64| -> Scenario {
        let class = Class { nodes: (0..active).collect(), ..busy(nodes, 4, think, 0.05) };
        group(all_but(&["g8"]), nodes, seconds * think.max(1.0), vec![class])
    };
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    let (mut largest, mut stuck, mut asked) = (0, 0, 0);
    let mut at_light_load = [f64::NAN; 2];
    for (place, active) in [nodes, 2].into_iter().enumerate() {
        let mut points = Vec::new();
        for &think in thinks {
            let runs = watched_often(&scenario(active, think), seeds);
            let late = |ledger: &Ledger| mean_asked(ledger, active);
            let sizes: Vec<f64> = runs.iter().filter_map(|(_, ledger)| late(ledger)).collect();
            let size = Estimate::of(&sizes, 0.95);
            let most = runs.iter().flat_map(|(_, ledger)| &ledger.entries).map(|entry| entry.requests).max();
            let lost = runs.iter().flat_map(|(outcome, _)| &outcome.requests).filter(|r| r.granted.is_none()).count();
            let made: usize = runs.iter().map(|(outcome, _)| outcome.requests.len()).sum();
            (largest, stuck, asked) = (largest.max(most.unwrap_or(0)), stuck + lost, asked + made);
            at_light_load[place] = size.mean;
            points.push(point(think, size));
            rows.push(vec![
                count(active),
                Cell::Number(think),
                estimate(size),
                most.map_or(Cell::Empty, count),
                count(made),
                count(lost),
            ]);
        }
        lines.push(series(format!("{active} of {nodes} ask"), points));
    }
    let others = u64::from(nodes) - 1;
    let [everywhere, localised] = at_light_load;
    let saved = 100.0 * (1.0 - everywhere / others as f64);
    let measured = format!(
        "asked per entry, n = {nodes}: at most {largest}; at light load {everywhere:.2} if all ask now and then \
         ({saved:.0} % less than n - 1), {localised:.2} if only two do; {stuck} of {asked} requests were never served"
    );
    Finding {
        measured,
        verdict: Verdict::HoldsRepaired,
        as_expected: largest <= others && saved > 25.0 && localised <= 2.0,
        evidence: vec![
            Evidence::Table(
                "Size of the request set used, printed text with all repairs but G8's".to_owned(),
                table(
                    &["processes that ask", "think (s)", "asked per entry", "most", "requests", "never served"],
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

/// How many were asked per entry, once everybody that asks has been in: the first sets are full by definition.
fn mean_asked(ledger: &Ledger, active: u32) -> Option<f64> {
    let warm = (0..active).map(|node| ledger.entries.iter().position(|entry| entry.node == NodeId(node)));
    let warm = warm.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    let late = ledger.entries.get(warm + 1..)?;
    let sum: u64 = late.iter().map(|entry| entry.requests).sum();
    (!late.is_empty()).then(|| sum as f64 / late.len() as f64)
}
