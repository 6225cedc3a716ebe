//! Runs scenarios, in parallel.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use meshlock_properties::Rule;
use meshlock_sim::measures::{Measures, measures};
use meshlock_sim::outcome::{Outcome, Request};
use meshlock_sim::run::{Progress, run};
use meshlock_sim::scenario::Scenario;
use meshlock_sim::time::Time;
use meshlock_statistics::{Estimate, Median};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// As little as shows the point: for tests.
    Test,
    /// Three minutes on two cores.
    Quick,
    /// Half an hour on two cores.
    Full,
}

pub struct Lab {
    effort: Effort,
    jobs: usize,
    /// Told of every run; returning false ends all of them early.
    on_run: Box<dyn Fn() -> bool + Sync>,
}

#[derive(Clone, Debug)]
pub struct Sample {
    pub outcome: Outcome,
    pub measures: Measures,
}

/// Several runs of one scenario with different seeds.
#[derive(Clone, Debug)]
pub struct Samples(pub Vec<Sample>);

impl Lab {
    /// A lab with so many threads.
    pub fn new(effort: Effort, jobs: usize, on_run: impl Fn() -> bool + Sync + 'static) -> Self {
        Self { effort, jobs: jobs.max(1), on_run: Box::new(on_run) }
    }

    /// One of three values, by effort.
    pub fn choose<T>(&self, test: T, quick: T, full: T) -> T {
        match self.effort {
            Effort::Test => test,
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }

    /// Runs a scenario with seeds 1 to `seeds`.
    ///
    /// # Panics
    ///
    /// If the scenario cannot be run: claims make only scenarios that can.
    pub fn replicate(&self, scenario: &Scenario, seeds: u64) -> Samples {
        let next = AtomicUsize::new(0);
        let slots: Vec<Mutex<Option<Sample>>> = (0..seeds).map(|_| Mutex::new(None)).collect();
        let work = || loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = slots.get(place) else { return };
            let sample = self.sample(scenario, place as u64 + 1);
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(sample);
        };
        std::thread::scope(|scope| (0..self.jobs.min(slots.len())).for_each(|_| drop(scope.spawn(work))));
        let take = |slot: Mutex<Option<Sample>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        Samples(slots.into_iter().filter_map(take).collect())
    }

    fn sample(&self, scenario: &Scenario, seed: u64) -> Sample {
        let mut progress = Asked(&self.on_run);
        let outcome = run(scenario, seed, &mut progress).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
        let measures = measures(scenario, &outcome);
        Sample { outcome, measures }
    }
}

struct Asked<'a>(&'a (dyn Fn() -> bool + Sync));

impl Progress for Asked<'_> {
    fn report(&mut self, _now: Time, _events: u64) -> bool {
        (self.0)()
    }
}

impl Sample {
    /// A measure; `NaN` if this run has none.
    pub fn get(&self, measure: &str) -> f64 {
        self.measures.get(measure).copied().unwrap_or(f64::NAN)
    }

    /// A measure; 0 if this run has none.
    pub fn or_zero(&self, measure: &str) -> f64 {
        self.measures.get(measure).copied().unwrap_or(0.0)
    }

    pub fn broken(&self, rule: Rule) -> f64 {
        let times = self.outcome.broken.iter().filter(|broken| broken.rule == rule).map(|broken| broken.times);
        times.sum::<u64>() as f64
    }

    /// The requests that were served, also in the drain.
    pub fn granted(&self) -> impl Iterator<Item = &Request> {
        self.outcome.requests.iter().filter(|request| request.granted.is_some())
    }
}

impl Samples {
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.0.iter().map(|sample| &sample.outcome)
    }

    /// One measure of all runs; runs without it are left out.
    pub fn values(&self, measure: &str) -> Vec<f64> {
        self.0.iter().filter_map(|sample| sample.measures.get(measure).copied()).collect()
    }

    /// The mean of a measure with its 95 % interval.
    pub fn estimate(&self, measure: &str) -> Estimate {
        Estimate::of(&self.values(measure), 0.95)
    }

    /// The mean of a number of every run; runs without it are left out.
    pub fn estimate_of(&self, of: impl Fn(&Sample) -> f64) -> Estimate {
        Estimate::of(&self.finite(of), 0.95)
    }

    /// The median of a number of every run: for counts, most of which are small.
    pub fn median_of(&self, of: impl Fn(&Sample) -> f64) -> Median {
        Median::of(&self.finite(of), 0.95)
    }

    fn finite(&self, of: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.0.iter().map(of).filter(|value| value.is_finite()).collect()
    }

    /// A sum over all runs, such as of violations.
    pub fn sum(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        self.0.iter().map(of).sum()
    }

    /// The sum of a measure; a run without it counts as 0.
    pub fn total(&self, measure: &str) -> f64 {
        self.values(measure).iter().sum()
    }

    pub fn granted(&self) -> u64 {
        self.0.iter().map(|sample| sample.granted().count() as u64).sum()
    }

    /// The greatest sum of `weight` over all requests inside at one moment of any run.
    pub fn peak(&self, weight: impl Fn(&Request) -> i64) -> i64 {
        self.0.iter().map(|sample| peak(sample, &weight)).max().unwrap_or(0)
    }
}

fn peak(sample: &Sample, weight: &dyn Fn(&Request) -> i64) -> i64 {
    let enter = sample.granted().filter_map(|request| Some((request.granted?, weight(request))));
    let leave = sample.granted().filter_map(|request| Some((request.released?, -weight(request))));
    let mut steps: Vec<(Time, i64)> = enter.chain(leave).collect();
    // Leaving makes room for an entry at the same moment.
    steps.sort_unstable();
    let inside = steps.iter().scan(0, |inside, (_, step)| {
        *inside += step;
        Some(*inside)
    });
    inside.max().unwrap_or(0).max(0)
}
