//! One exploration of one described model.

pub(crate) mod causes;
pub(crate) mod trace;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use meshlock_properties::Rule;

use crate::action::Action;
use crate::explore::{Explorer, Options, Search};
use crate::finding::Finding;
use crate::model::{Model, ModelError};
use crate::report::{Broken, Observer, Progress, Verdict};
use crate::spec::{Spec, SpecError};
use crate::walk::{WalkCounts, WalkOptions, Walker};

/// How a model is searched.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// Every state.
    Explore {
        search: Search,
        /// Also search the graph for endless messages and starvation.
        graph: bool,
        /// Renumber counters; `None`: only if requests are endless.
        canonical: Option<bool>,
    },
    /// Fair random runs.
    Walk {
        /// The seed of the first.
        seed: u64,
        walks: u64,
        steps: u64,
    },
}

impl Way {
    /// Every state, nearest first, and the graph.
    pub const GRAPH: Self = Self::Explore { search: Search::BreadthFirst, graph: true, canonical: None };
    /// Every state, nearest first.
    pub const STATES: Self = Self::Explore { search: Search::BreadthFirst, graph: false, canonical: None };
}

/// When to stop early, and whether to reduce.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most different states.
    pub states: Option<u64>,
    /// The most steps from the start.
    pub depth: Option<u32>,
    /// The longest time.
    pub time: Option<Duration>,
    /// The most memory.
    pub bytes: Option<u64>,
    /// Set from outside to stop.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Remove messages that their receiver is certain to ignore.
    pub reduce: bool,
    /// How many threads explore; see [`Options::threads`].
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { states: None, depth: None, time: None, bytes: None, cancel: None, reduce: true, threads: 1 }
    }
}

/// A model and the way to look at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub spec: Spec,
    pub way: Way,
}

#[derive(Clone, Debug)]
pub struct Report {
    pub progress: Progress,
    /// What happened on the way, if it was walked.
    pub walked: Option<WalkCounts>,
    pub verdict: Verdict,
    pub broken: Option<Shown>,
}

/// Something wrong, shown.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The broken rule, if it is one.
    pub rule: Option<Rule>,
    pub what: String,
    pub steps: usize,
    /// If the run is infinite: how many of the last steps repeat.
    pub cycle: Option<usize>,
    /// The seed of the walk that found it.
    pub seed: Option<u64>,
    /// The run as numbered text.
    pub text: String,
    /// What the world did, step by step.
    pub run: Vec<Action>,
    /// The run in the trace format.
    pub trace: String,
}

impl Trial {
    /// Runs it. `replay` is the command that does the same, for the trace.
    pub fn run(&self, limits: &Limits, replay: &str, observer: &mut dyn Observer) -> Result<Report, SpecError> {
        Ok(self.run_model(self.spec.model()?, limits, replay, observer)?)
    }

    /// Runs it on a model that was made of its description and changed since: the tests of planted bugs need this.
    #[doc(hidden)]
    pub fn run_model(
        &self,
        model: Model,
        limits: &Limits,
        replay: &str,
        observer: &mut dyn Observer,
    ) -> Result<Report, ModelError> {
        match self.way {
            Way::Explore { search, graph, canonical } => {
                let options = Options {
                    search,
                    reduce: limits.reduce,
                    canonical,
                    graph,
                    threads: limits.threads,
                    small: Options::default().small,
                    max_states: limits.states,
                    max_depth: limits.depth,
                    max_time: limits.time,
                    max_bytes: limits.bytes,
                    cancel: limits.cancel.clone(),
                };
                let outcome = Explorer::new(model).options(options).run(observer)?;
                let broken = outcome.violation.map(|broken| self.show(&broken, None, replay));
                Ok(Report { progress: outcome.progress, walked: None, verdict: outcome.verdict, broken })
            }
            Way::Walk { seed, walks, steps } => {
                let options = WalkOptions {
                    seed,
                    walks,
                    steps,
                    reduce: limits.reduce,
                    max_time: limits.time,
                    cancel: limits.cancel.clone(),
                    ..WalkOptions::default()
                };
                let outcome = Walker::new(model).options(options).run(observer)?;
                let seed = outcome.seed;
                let broken = outcome.violation.map(|broken| self.show(&broken, seed, replay));
                Ok(Report {
                    progress: outcome.progress,
                    walked: Some(outcome.counts),
                    verdict: outcome.verdict,
                    broken,
                })
            }
        }
    }

    fn show(&self, broken: &Broken, seed: Option<u64>, replay: &str) -> Shown {
        let Broken { finding, counterexample } = broken;
        let steps = counterexample.steps.len();
        Shown {
            rule: finding.rule(),
            what: Finding::to_string(finding),
            steps,
            cycle: counterexample.cycle_from.map(|from| steps - from),
            seed,
            text: counterexample.to_string(),
            run: counterexample.steps.iter().map(|step| step.action).collect(),
            trace: trace::write(&self.spec, broken, seed, replay),
        }
    }
}
