//! S4-14: never two sessions at once.

use meshlock_properties::Rule;
use meshlock_sim::scenario::Text;
use meshlock_statistics::proportion;

use super::setting::{all_but, busy, count, group, mended, mended_but, printed, table, words};
use crate::claim::{Evidence, Finding, check};
use crate::lab::{Lab, Sample};
use crate::verdict::{self, Column, Fact};

/// Names of numbers.
pub(super) const TWO_SESSIONS: &str = "runs with two sessions at once";
pub(super) const ENTRIES: &str = "entries";

/// S4-14.
pub(super) fn one_session(lab: &Lab) -> Finding {
    let nodes = 6;
    let (seconds, seeds) = (lab.choose(10.0, 30.0, 50.0), lab.choose(20, 100, 500));
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    let texts = [
        (verdict::Text::Printed, printed()),
        (mended_but("g1"), all_but(&["g1"])),
        (mended_but("g3"), all_but(&["g3"])),
        (mended(), all_but(&[])),
        (verdict::Text::Repaired, Text::Repaired),
    ];
    for (label, text) in texts {
        let scenario = group(text, nodes, seconds, vec![busy(nodes, 3, 0.3, 0.05)]);
        let samples = lab.replicate(&scenario, seeds);
        let all = || samples.0.iter();
        let breaks = |sample: &&Sample| sample.outcome.broken.iter().any(|broken| broken.rule == Rule::OneSession);
        let broken = all().filter(breaks).count() as u64;
        let others = all().filter(|sample| !sample.outcome.broken.is_empty()).count();
        let entries = all().flat_map(|s| &s.outcome.requests).filter(|r| r.granted.is_some()).count();
        let first = all().flat_map(|sample| &sample.outcome.broken).find(|b| b.rule == Rule::OneSession);
        let story =
            first.map_or_else(String::new, |first| format!("after {:.2} s: {}", first.at.seconds(), first.words));
        rows.push(vec![
            words(label.to_string()),
            count(samples.0.len()),
            count(entries),
            count(broken),
            count(others),
            words(story),
        ]);
        let facts = vec![
            Fact::count(TWO_SESSIONS, broken),
            Fact::count(ENTRIES, entries as u64),
            Fact::count("runs with any broken rule", others as u64),
        ];
        columns.push(Column::new(label, &samples, facts));
    }
    let told: Vec<String> = columns.iter().map(|column| format!("{} {}", column.text, column.facts[0].value)).collect();
    let never = proportion(columns[4].facts[0].value as u64, seeds, 0.95);
    let any = columns[4].facts[2].value;
    Finding {
        columns,
        measured: format!(
            "of {seeds} runs each, with two sessions at once: {} (95 % interval 0 to {:.1} %)",
            told.join(", "),
            100.0 * never.high
        ),
        checks: vec![check("repaired, no rule breaks", any == 0.0)],
        evidence: vec![
            Evidence::Table(
                "Random load, six processes, three sessions".to_owned(),
                table(&["text:", "runs", "entries", "two sessions", "any broken rule", "first:"], rows),
            ),
            Evidence::Note(
                "G1 (in some lists G4): who is idle and gives the token away goes on as if it had it. The checker \
                 explores all orders of events for few processes (docs/checking.md); this is a sample for more."
                    .to_owned(),
            ),
        ],
    }
}
