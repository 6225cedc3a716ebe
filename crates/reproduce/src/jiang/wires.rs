//! J-11: networks that do not move, in order and out of order.

use meshlock_properties::Rule;
use meshlock_report::table::Cell;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::scenario::Shape;
use meshlock_statistics::{Estimate, proportion};

use super::after::breaks;
use super::setup::{PUT_BACK, Variant, With, twelve};
use super::show::{mean, note, table, words};
use super::size;
use crate::claim::{Finding, Verdict};
use crate::lab::{Lab, Sample};

/// Whether somebody was not served, or a rule ended the run.
fn fails(sample: &Sample) -> bool {
    sample.outcome.stopped || sample.measures.get("stuck").is_none_or(|stuck| *stuck > 0.0)
}

/// J-11.
pub(super) fn wired_networks(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let base = || twelve(5.0, duration).units(3, 1, 3);
    let shapes = [
        ("line", Shape::Line),
        ("ring", Shape::Ring),
        ("star", Shape::Star),
        ("grid", Shape::Grid),
        ("tree", Shape::Tree { arity: 2 }),
        ("complete", Shape::Complete),
    ];
    let texts: [Variant; 3] = [
        ("printed", |base| base.published(&[])),
        ("lost requests put back", |base| base.published(PUT_BACK)),
        ("repaired", |base| base),
    ];
    let mut rows = Vec::new();
    let (mut printed_in_order, mut failures_in_order, mut mended) = (0, 0, 0);
    for (name, shape) in shapes {
        for (text, make) in texts {
            let samples = lab.replicate(&make(base().links(|wired| wired.shape = shape.clone())), seeds);
            let failed = samples.0.iter().filter(|sample| fails(sample)).count();
            if text == "printed" {
                printed_in_order += failed;
            } else {
                failures_in_order += failed;
                mended += samples.0.len();
            }
            rows.push(vec![
                words(format!("{name}, {text}")),
                mean(samples.estimate("wait.mean")),
                mean(samples.estimate("messages/entry")),
                Cell::Number(failed as f64),
            ]);
        }
    }
    let mut reordered = Vec::new();
    let mut failing = Vec::new();
    let mut unsafe_runs = 0.0;
    let delays = [
        ("U[.05, .15]", Distribution::Uniform { low: 0.05, high: 0.15 }),
        ("exp(.1)", Distribution::Exponential { mean: 0.1 }),
    ];
    for (delay_name, delay) in delays {
        for (text, make) in texts {
            let scenario = make(base().links(|wired| (wired.fifo, wired.delay) = (false, delay.clone())));
            let samples = lab.replicate(&scenario, seeds);
            let failed = samples.0.iter().filter(|sample| fails(sample)).count() as u64;
            let share = proportion(failed, seeds, 0.95);
            unsafe_runs += samples.sum(|sample| f64::from(u8::from(breaks(sample, Rule::Exclusion) > 0.0)));
            let unserved: Vec<f64> = samples
                .0
                .iter()
                .map(|sample| sample.outcome.requests.iter().filter(|request| request.granted.is_none()).count() as f64)
                .collect();
            let mut rules: Vec<&str> =
                samples.0.iter().flat_map(|sample| &sample.outcome.broken).map(|broken| broken.rule.name()).collect();
            rules.sort_unstable();
            rules.dedup();
            reordered.push(vec![
                words(format!("delay {delay_name}, {text}")),
                words(format!("{failed} of {seeds} ({:.0} to {:.0} %)", 100.0 * share.low, 100.0 * share.high)),
                mean(Estimate::of(&unserved, 0.95)),
                mean(samples.estimate("entries/s")),
                words(rules.join(", ")),
            ]);
            failing.push((text, share.share));
        }
    }
    let share = |text: &str| {
        let all: Vec<f64> = failing.iter().filter(|(name, _)| *name == text).map(|(_, share)| *share).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let (printed, ours) = (share("lost requests put back"), share("repaired"));
    Finding {
        measured: format!(
            "six fixed networks, in order: {printed_in_order} of {} runs fail as printed, {failures_in_order} of \
             {mended} with p1 and p2 or repaired; out of order {:.0} % with p1 and p2 and {:.0} % of the \
             repaired fail",
            mended / 2,
            100.0 * printed,
            100.0 * ours
        ),
        verdict: match (failures_in_order, printed_in_order) {
            (0, 0) => Verdict::Holds,
            (0, _) => Verdict::HoldsRepaired,
            _ => Verdict::Wrong,
        },
        as_expected: failures_in_order == 0 && printed_in_order > 0 && printed > 0.5 && ours > 0.0,
        evidence: vec![
            table(
                "Fixed networks of twelve nodes, messages in order, k = 3, h 1..3",
                &["run", "mean wait", "messages per entry", "runs that fail"],
                rows,
            ),
            table(
                "The same on a random graph whose links do not keep the order",
                &["run", "runs that fail", "requests never served", "entries per unit", "rules that break"],
                reordered,
            ),
            note(format!(
                "A run fails if somebody is never served or a rule ends it. The paper says that wired systems \
                 may drop its assumptions 3 and 4; 3 is the order of messages, and it cannot be dropped: without \
                 it requests are lost in both texts, ours included, which is built for links that keep the \
                 order. More than k units were in use in {unsafe_runs} runs."
            )),
        ],
    }
}
