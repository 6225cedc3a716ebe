//! S4-14: never two sessions at once.

use meshlock_properties::Rule;
use meshlock_sim::scenario::Text;
use meshlock_statistics::proportion;

use super::setting::{all_but, busy, count, group, printed, table, words};
use crate::claim::{Evidence, Finding, Verdict};
use crate::lab::{Lab, Sample, Samples};

/// S4-14.
pub(super) fn one_session(lab: &Lab) -> Finding {
    let nodes = 6;
    let (seconds, seeds) = (lab.choose(10.0, 30.0, 100.0), lab.choose(20, 100, 1_000));
    let mut rows = Vec::new();
    let mut run = |name: &str, text: Text| {
        let scenario = group(text, nodes, seconds, vec![busy(nodes, 3, 0.3, 0.05)]);
        let Samples(samples) = lab.replicate(&scenario, seeds);
        let breaks = |sample: &&Sample| sample.outcome.broken.iter().any(|broken| broken.rule == Rule::OneSession);
        let broken = samples.iter().filter(breaks).count() as u64;
        let others = samples.iter().filter(|sample| !sample.outcome.broken.is_empty()).count();
        let entries = samples.iter().flat_map(|s| &s.outcome.requests).filter(|r| r.granted.is_some()).count();
        let first = samples.iter().flat_map(|sample| &sample.outcome.broken).find(|b| b.rule == Rule::OneSession);
        let story =
            first.map_or_else(String::new, |first| format!("after {:.2} s: {}", first.at.seconds(), first.words));
        rows.push(vec![words(name), count(samples.len()), count(entries), count(broken), count(others), words(story)]);
        (broken, others)
    };
    let (printed_broken, _) = run("as printed", printed());
    let (g1_broken, _) = run("printed, G1 alone left", all_but(&["g1"]));
    let (g3_broken, _) = run("printed, G3 alone left", all_but(&["g3"]));
    let (mended_broken, _) = run("printed, all repaired", all_but(&[]));
    let (ours_broken, ours_any) = run("repaired", Text::Repaired);
    let never = proportion(ours_broken, seeds, 0.95);
    let measured = format!(
        "runs with two sessions at once: as printed {printed_broken} of {seeds}, with G1 alone left {g1_broken}, with \
         G3 alone left {g3_broken}, all repaired {mended_broken}, repaired {ours_broken} (95 % interval 0 to {:.1} %)",
        100.0 * never.high
    );
    Finding {
        measured,
        verdict: Verdict::HoldsRepaired,
        as_expected: printed_broken > 0 && g1_broken > 0 && mended_broken == 0 && ours_broken == 0 && ours_any == 0,
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
