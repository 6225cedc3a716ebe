//! The states of a model one by one: the path to a state, and what may happen next.
//!
//! A path is a list of numbers: at each state, the place of the next step in the list of possible ones. Its order is
//! fixed, so a path always means the same for the same model.

mod known;

use meshlock_core::NodeId;
use meshlock_trace::{Header, Record};

use crate::action::Action;
use crate::finding::Finding;
use crate::spec::SpecError;
use crate::trial::{Trial, Way};
use known::Known;

/// Steps through one model. Visited states are cached, so that one step further is quick.
pub struct Stepper(Known);

/// One state of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The way there, as a trace: its header ...
    pub header: Header,
    /// ... and its records.
    pub records: Vec<Record>,
    /// What may happen next, in the order of the numbers of a path.
    pub next: Vec<Choice>,
    pub broken: Option<Wrong>,
    /// Nothing is in flight.
    pub quiet: bool,
}

/// Something that may happen next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub action: Action,
    pub label: String,
    /// At which node, if at one.
    pub node: Option<u32>,
    /// The rule that it breaks at once.
    pub breaks: Option<&'static str>,
}

/// Something wrong in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The rule, or `protocol` for what no rule needs to say.
    pub rule: &'static str,
    pub words: &'static str,
    pub what: String,
    /// Where it shows, if at one node.
    pub node: Option<NodeId>,
}

impl Wrong {
    pub fn of(finding: &Finding) -> Self {
        let (rule, words) = (finding.rule_name(), finding.rule_words());
        Self { rule, words, what: finding.to_string(), node: finding.node() }
    }
}

/// Why a path leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// A number that is too large.
    #[error(
        "step {step} of this path is not possible: it is number {number}, but {}; go back to step {before}",
        possible(*.choices), before = .step - 1
    )]
    NoSuchStep {
        /// Counted from 1.
        step: usize,
        number: u32,
        /// How many things may happen there.
        choices: usize,
    },
    #[error("step {step} of this run is not possible: {action:?}")]
    NoSuchAction {
        /// Counted from 1.
        step: usize,
        action: Action,
    },
    #[error("a path of {0} steps is too long: at most {MOST_STEPS} are followed")]
    TooLong(usize),
}

fn possible(choices: usize) -> String {
    match choices {
        0 => "nothing can happen there".to_owned(),
        1 => "only number 0 can happen there".to_owned(),
        more => format!("the numbers there are 0 to {}", more - 1),
    }
}

/// The longest path that is followed.
pub const MOST_STEPS: usize = 10_000;

impl Stepper {
    /// At the start of the model of a trial. `replay` is the command for it. With `reduce`, messages that their receiver
    /// is certain to ignore are removed, as in the search whose paths are to be followed.
    pub fn new(trial: &Trial, reduce: bool, replay: &str) -> Result<Self, SpecError> {
        let spec = &trial.spec;
        let renumbers = match trial.way {
            Way::Explore { canonical, .. } => canonical.unwrap_or(spec.workload.endless),
            Way::Walk { .. } => false,
        };
        // Original numbers are easier to read. Without order in channels a place depends on the content of messages, so
        // there the numbers of the search are kept.
        let canonical = renumbers && !spec.fifo;
        Ok(Self(Known::new(spec, spec.model()?, reduce, canonical, replay)?))
    }

    /// The state at the end of a path.
    pub fn at(&mut self, path: &[u32]) -> Result<Place, StepError> {
        self.0.at(path)
    }

    /// The path of a run.
    pub fn path(&mut self, run: &[Action]) -> Result<Vec<u32>, StepError> {
        self.0.path(run)
    }
}

impl std::fmt::Debug for Stepper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Stepper").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
