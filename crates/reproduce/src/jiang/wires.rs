//! J-11a and J-11b: networks that do not move, in order and out of order.

use std::collections::BTreeSet;

use meshlock_properties::Rule;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::scenario::{Scenario, Shape};
use meshlock_statistics::proportion;

use super::setup::{With, in_texts, twelve};
use super::size;
use crate::prelude::*;

/// Whether a request was never served, or a violation ended the run.
fn fails(sample: &Sample) -> bool {
    sample.outcome.stopped || sample.measures.get("stuck").is_none_or(|stuck| *stuck > 0.0)
}

pub(super) const FAILING: &str = "runs that fail";

/// Twelve nodes at high load.
fn base(duration: f64) -> Scenario {
    twelve(5.0, duration).units(3, 1, 3)
}

/// J-11a.
pub(super) fn wired_networks(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let shapes = [
        ("line", Shape::Line),
        ("ring", Shape::Ring),
        ("star", Shape::Star),
        ("grid", Shape::Grid),
        ("tree", Shape::Tree { arity: 2 }),
        ("complete", Shape::Complete),
    ];
    let mut rows = Vec::new();
    let mut columns: Vec<Column> = Vec::new();
    for (name, shape) in shapes {
        for (text, scenario) in in_texts(&base(duration).links(|wired| wired.shape = shape.clone())) {
            let samples = lab.replicate(&scenario, seeds);
            let failed = samples.0.iter().filter(|sample| fails(sample)).count();
            rows.push(vec![
                words(format!("{name}, {text}")),
                mean(samples.estimate("wait.mean")),
                mean(samples.estimate("messages/entry")),
                count(failed),
            ]);
            Column::of(&mut columns, &text, &samples).add(FAILING, failed as f64);
        }
    }
    Finding {
        measured: format!("six fixed networks, in order; runs that fail: {}", failing(&columns)),
        columns,
        checks: Vec::new(),
        evidence: vec![table(
            "Fixed networks of twelve nodes, messages in order, k = 3, h 1..3",
            "run | mean wait | messages per entry | runs that fail",
            rows,
        )],
    }
}

fn failing(columns: &[Column]) -> String {
    told(columns, |column| format!("{} of {}", column.value(FAILING), column.runs.all))
}

/// J-11b.
pub(super) fn without_order(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let mut reordered = Vec::new();
    let mut columns: Vec<Column> = Vec::new();
    let mut unsafe_runs = 0.0;
    let delays = [
        ("U[.05, .15]", Distribution::Uniform { low: 0.05, high: 0.15 }),
        ("exp(.1)", Distribution::Exponential { mean: 0.1 }),
    ];
    for (delay_name, delay) in delays {
        let unordered = base(duration).links(|wired| (wired.fifo, wired.delay) = (false, delay.clone()));
        for (text, scenario) in in_texts(&unordered) {
            let samples = lab.replicate(&scenario, seeds);
            let failed = samples.0.iter().filter(|sample| fails(sample)).count() as u64;
            let share = proportion(failed, seeds, 0.95);
            unsafe_runs += samples.sum(|sample| f64::from(u8::from(sample.broken(Rule::Exclusion) > 0.0)));
            let unserved =
                samples.median_of(|sample| (sample.outcome.requests.len() - sample.granted().count()) as f64);
            let broken = samples.outcomes().flat_map(|outcome| &outcome.broken);
            let rules: BTreeSet<&str> = broken.map(|broken| broken.rule.name()).collect();
            reordered.push(vec![
                words(format!("delay {delay_name}, {text}")),
                words(format!("{failed} of {seeds} ({:.0} to {:.0} %)", 100.0 * share.low, 100.0 * share.high)),
                words(unserved),
                mean(samples.estimate("entries/s")),
                words(rules.into_iter().collect::<Vec<_>>().join(", ")),
            ]);
            Column::of(&mut columns, &text, &samples).add(FAILING, failed as f64);
        }
    }
    Finding {
        measured: format!("a random graph, out of order; runs that fail: {}", failing(&columns)),
        columns,
        checks: Vec::new(),
        evidence: vec![
            table(
                "Twelve nodes on a random graph whose links do not keep the order, k = 3, h 1..3",
                "run | runs that fail | requests never served | entries per unit | rules that break",
                reordered,
            ),
            note(format!(
                "A run fails if somebody is never served or a rule ends it. The paper says that wired systems may drop \
                 its assumptions 3 and 4; 3 is the order of messages, and it cannot be dropped: without it requests \
                 are lost in both texts, ours included, which is built for links that keep the order. More than k \
                 units were in use in {unsafe_runs} runs."
            )),
        ],
    }
}
