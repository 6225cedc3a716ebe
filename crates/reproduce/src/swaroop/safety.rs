//! S4-14: never two sessions at once.

use meshlock_properties::Rule;
use meshlock_statistics::proportion;

use super::setting::{busy, group};
use crate::prelude::*;
use crate::scenarios::{G, REPAIRED, all_but, mended, with};

pub(super) const TWO_SESSIONS: &str = "runs with two sessions at once";
pub(super) const ENTRIES: &str = "entries";
const ANY: &str = "runs with any broken rule";

/// S4-14.
pub(super) fn one_session(lab: &Lab) -> Finding {
    let nodes = 6;
    let (seconds, seeds) = (lab.choose(10.0, 30.0, 50.0), lab.choose(20, 100, 500));
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for (label, text) in [with(&[]), all_but(&G, &["g1"]), all_but(&G, &["g3"]), mended(&G), REPAIRED] {
        let scenario = group(text, nodes, seconds, vec![busy(nodes, 3, 0.3, 0.05)]);
        let samples = lab.replicate(&scenario, seeds);
        let broken = samples.0.iter().filter(|sample| sample.broken(Rule::OneSession) > 0.0).count();
        let others = samples.outcomes().filter(|outcome| !outcome.broken.is_empty()).count();
        let entries = samples.granted();
        let first = samples.outcomes().flat_map(|outcome| &outcome.broken).find(|b| b.rule == Rule::OneSession);
        let story =
            first.map_or_else(String::new, |first| format!("after {:.2} s: {}", first.at.seconds(), first.words));
        rows.push(vec![
            words(&label),
            count(samples.0.len()),
            count(entries),
            count(broken),
            count(others),
            words(story),
        ]);
        let facts = vec![Fact::count(TWO_SESSIONS, broken), Fact::count(ENTRIES, entries), Fact::count(ANY, others)];
        columns.push(Column::new(label, &samples, facts));
    }
    let told = told(&columns, |column| column.value(TWO_SESSIONS).to_string());
    let never = proportion(columns[4].value(TWO_SESSIONS) as u64, seeds, 0.95);
    let any = columns[4].value(ANY);
    Finding {
        columns,
        measured: format!(
            "of {seeds} runs each, with two sessions at once: {told} (95 % interval 0 to {:.1} %)",
            100.0 * never.high
        ),
        checks: vec![check("repaired, no rule breaks", any == 0.0)],
        evidence: vec![
            table(
                "Random load, six processes, three sessions",
                "text | runs | entries | two sessions | any broken rule | first",
                rows,
            ),
            note(
                "G1 (in some lists G4): who is idle and gives the token away goes on as if it had it. The checker \
                 explores all orders of events for few processes (docs/checking.md); this is a sample for more.",
            ),
        ],
    }
}
