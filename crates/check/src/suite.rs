//! The standard models with their expected verdicts: what `meshlock check` runs without arguments.
//!
//! A model of a published text must break the named rule after the named number of steps; a model of a repaired one
//! must hold, with exactly the named number of different states: a checker that finds nothing may have looked at nothing.

mod backfill;
mod baselines;
mod flood;
mod group;
mod numbered;
mod recovery;
mod recovery_flood_group;
mod reverse_link;
mod reverse_link_published;

use meshlock_properties::Rule;

use crate::report::{Observer, Verdict};
use crate::spec::{Spec, SpecError};
use crate::trial::{Limits, Report, Trial, Way};

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name, `protocol/model`.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// The model and the way to look at it.
    pub trial: Trial,
    pub expected: Expected,
}

/// The expected result of a standard model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// All rules hold in all states.
    Holds {
        /// How many different states there are.
        unique: u64,
    },
    /// A rule is broken.
    Breaks {
        rule: Rule,
        /// After how many steps, at the earliest.
        steps: usize,
    },
    /// All walks end well.
    Walks { grants: u64 },
}

impl Entry {
    const fn new(name: &'static str, about: &'static str, spec: Spec, way: Way, expected: Expected) -> Self {
        Self { name, about, trial: Trial { spec, way }, expected }
    }

    /// A model that holds, graph and all.
    const fn holds(name: &'static str, about: &'static str, spec: Spec, unique: u64) -> Self {
        Self::new(name, about, spec, Way::GRAPH, Expected::Holds { unique })
    }

    /// A larger model that holds; the graph is not kept.
    const fn holds_everywhere(name: &'static str, about: &'static str, spec: Spec, unique: u64) -> Self {
        Self::new(name, about, spec, Way::STATES, Expected::Holds { unique })
    }

    /// A model that breaks a rule.
    const fn breaks(name: &'static str, about: &'static str, spec: Spec, rule: Rule, steps: usize) -> Self {
        Self::new(name, about, spec, Way::STATES, Expected::Breaks { rule, steps })
    }

    /// Random walks that end well.
    const fn walks(name: &'static str, about: &'static str, spec: Spec, walks: u64, steps: u64, grants: u64) -> Self {
        Self::new(name, about, spec, Way::Walk { seed: 1, walks, steps }, Expected::Walks { grants })
    }

    pub fn run(&self, limits: &Limits, observer: &mut dyn Observer) -> Result<Report, SpecError> {
        self.trial.run(limits, &format!("meshlock check {}", self.name), observer)
    }

    /// Whether a report is as expected.
    pub fn is_met_by(&self, report: &Report) -> bool {
        match (self.expected, &report.broken) {
            (Expected::Holds { unique }, None) => report.verdict == Verdict::Holds && report.progress.unique == unique,
            (Expected::Breaks { rule, steps }, Some(shown)) => shown.rule == Some(rule) && shown.steps == steps,
            (Expected::Walks { grants }, None) => {
                report.verdict == Verdict::Holds && report.walked.is_some_and(|counts| counts.grants == grants)
            }
            (Expected::Holds { .. } | Expected::Walks { .. }, Some(_)) | (Expected::Breaks { .. }, None) => false,
        }
    }
}

/// All standard models, in the order in which they are shown.
pub fn standard() -> Vec<Entry> {
    [reverse_link_published::entries(), flood::published(), group::published()]
        .into_iter()
        .chain([
            reverse_link::entries(),
            numbered::entries(),
            backfill::entries(),
            recovery::entries(),
            recovery_flood_group::entries(),
            flood::repaired(),
            group::repaired(),
            baselines::entries(),
        ])
        .flatten()
        .collect()
}

/// The standard model of this name.
pub fn named(name: &str) -> Option<Entry> {
    standard().into_iter().find(|entry| entry.name == name)
}

/// Walks draw channels of very different speed; a slow one may hold many messages without anything being wrong.
const WALK_CHANNEL: usize = 255;

/// A network that is written right.
fn network(text: &str) -> crate::Topology {
    text.parse().expect("the networks of the suite are written right")
}
