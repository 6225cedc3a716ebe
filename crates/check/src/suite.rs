//! The standard models with their expected verdicts: what `meshlock check` runs without arguments.
//!
//! A model of a published text must break the named rule after the named number of steps; a model of a repaired one
//! must hold, with exactly the named number of different states: a checker that finds nothing may have looked at nothing.

mod words;

use meshlock_properties::Rule;

use crate::report::{Observer, Verdict};
use crate::spec::SpecError;
use crate::trial::{Limits, Report, Trial};

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
    let files = [
        include_str!("suite/printed.models"),
        include_str!("suite/reverse_link.models"),
        include_str!("suite/recovery.models"),
        include_str!("suite/flood_group.models"),
        include_str!("suite/baselines.models"),
    ];
    files.into_iter().flat_map(words::entries).collect()
}

/// The standard model of this name.
pub fn named(name: &str) -> Option<Entry> {
    standard().into_iter().find(|entry| entry.name == name)
}
