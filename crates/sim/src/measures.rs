//! From the outcome of a run to named numbers.
//!
//! Everything is computed after the run from its [`Outcome`], by sweeps over its requests: a new measure needs no new
//! run, and no measure can disturb one. The [`CATALOGUE`] has every name with its unit and meaning; `docs/measures.md`
//! explains them. A measure that is not defined for a run (a mean of nothing, a share of no time) is absent, so every
//! number is finite.

mod catalogue;
mod costs;
mod crashes;
mod crowd;
mod overtakes;
mod sweep;
mod waits;
mod window;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use meshlock_core::{NodeId, Urgency};
use meshlock_properties::Rule;
use meshlock_statistics::{jain, percentile_of_sorted};

pub use catalogue::{CATALOGUE, Definition, definition};

use crate::outcome::{Outcome, Request};
use crate::scenario::Scenario;
use crate::time::Time;
use sweep::Sweep;
use window::Window;

/// Named numbers of one run, such as `wait.mean` in seconds or `frames/entry`.
pub type Measures = BTreeMap<String, f64>;

/// All measures of a run, after removal of the scenario's warm-up.
pub fn measures(scenario: &Scenario, outcome: &Outcome) -> Measures {
    let window = Window::of(scenario, outcome);
    let mut sheet = Sheet::default();
    sheet.put("warmup", window.start.seconds());
    if let Some(reliable) = window.reliable {
        sheet.put("warmup.reliable", f64::from(u8::from(reliable)));
    }
    let entries = outcome.entries(&window);
    sheet.put("entries", entries as f64);
    sheet.put("entries/s", entries as f64 / window.seconds());
    waits::tell(scenario, outcome, &window, &mut sheet);
    costs::tell(outcome, &window, &mut sheet);
    crashes::tell(outcome, &window, &mut sheet);
    Sweep::new(scenario, outcome, &window).tell(&mut sheet);
    fairness(outcome, &window, &mut sheet);
    whole_run(scenario, outcome, &window, &mut sheet);
    sheet.0
}

/// Where measures are written to. What is no finite number is not defined, and left out.
#[derive(Default)]
struct Sheet(Measures);

impl Sheet {
    fn put(&mut self, name: impl Into<String>, value: f64) {
        if value.is_finite() {
            // The sum of nothing is minus zero: written as zero.
            self.0.insert(name.into(), value + 0.0);
        }
    }

    /// Those of `mean`, `p50`, `p95`, `p99` and `max` that are named, of seconds, as `name.mean`.
    fn put_spread(&mut self, name: &str, mut values: Vec<f64>, what: &[&str]) {
        values.sort_unstable_by(f64::total_cmp);
        for suffix in what {
            let percent = suffix.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
            let value = match (*suffix, percent) {
                ("mean", _) => values.iter().sum::<f64>() / values.len() as f64,
                (_, percent) => percentile_of_sorted(&values, percent.map_or(1.0, |percent| percent / 100.0)),
            };
            self.put(format!("{name}.{suffix}"), value);
        }
    }
}

impl Outcome {
    /// How many grants there are in a window.
    fn entries(&self, window: &Window) -> usize {
        self.requests.iter().filter_map(|request| request.granted).filter(|granted| window.has(*granted)).count()
    }
}

impl Request {
    /// When it stopped to wait; [`Time::NEVER`] if it did not.
    fn wait_end(&self) -> Time {
        let granted = self.granted.unwrap_or(Time::NEVER);
        granted.min(self.cancelled.unwrap_or(Time::NEVER))
    }

    /// Higher is more urgent.
    fn urgency_rank(&self) -> i64 {
        match self.urgency {
            Urgency::Priority(priority) => priority.0.into(),
            Urgency::Deadline(deadline) => -i64::try_from(deadline.0).unwrap_or(i64::MAX),
        }
    }
}

fn fairness(outcome: &Outcome, window: &Window, sheet: &mut Sheet) {
    let mut by_node: BTreeMap<NodeId, f64> = BTreeMap::new();
    for request in &outcome.requests {
        let entered = request.granted.is_some_and(|granted| window.has(granted));
        *by_node.entry(request.node).or_default() += f64::from(u8::from(entered));
    }
    let shares: Vec<f64> = by_node.into_values().collect();
    sheet.put("fairness.jain", jain(&shares));
    if let Some(most) = overtakes::most(&outcome.requests, window) {
        sheet.put("overtakes.max", most as f64);
    }
}

/// What is told of the run and its network as a whole, warm-up included; but for the load.
fn whole_run(scenario: &Scenario, outcome: &Outcome, window: &Window, sheet: &mut Sheet) {
    let times = |counts: &dyn Fn(Rule) -> bool| {
        outcome.broken.iter().filter(|broken| counts(broken.rule)).map(|broken| broken.times).sum::<u64>() as f64
    };
    let all = Window { start: Time::ZERO, ..*window };
    sheet.put("inversions.known", times(&|rule| rule == Rule::GrantOrder) / outcome.entries(&all) as f64);
    sheet.put("violations", times(&|_| true));
    sheet.put("rejected", outcome.rejected as f64);
    sheet.put("events", outcome.events as f64);

    let seen = &outcome.network;
    sheet.put("network.degree", seen.mean_degree);
    sheet.put("network.connected", seen.connected);
    sheet.put("network.parts", seen.parts);
    sheet.put("network.hops", seen.mean_hops);
    sheet.put("network.diameter", f64::from(seen.diameter));
    sheet.put("network.link-changes/s", seen.link_changes as f64 / all.seconds());
    sheet.put("network.lost/s", seen.lost as f64 / all.seconds());

    let holding = |request: &Request| {
        scenario.traffic.classes.get(usize::from(request.class)).map_or(f64::NAN, |class| class.holding.mean())
    };
    let measured = outcome.requests.iter().filter(|request| window.has(request.asked));
    let offered: f64 = measured.map(|request| f64::from(request.units.0) * holding(request)).sum();
    sheet.put("load", offered / f64::from(outcome.capacity) / window.seconds());
}
