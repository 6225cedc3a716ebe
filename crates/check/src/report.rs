//! What an exploration tells while it runs and when it ends.

use std::fmt;
use std::time::Duration;

use crate::counterexample::Counterexample;
use crate::finding::Finding;

/// Hears of an exploration while it runs.
pub trait Observer {
    /// Called at least every second.
    fn progress(&mut self, progress: &Progress);
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Progress) {}
}

impl<F: FnMut(&Progress)> Observer for F {
    fn progress(&mut self, progress: &Progress) {
        self(progress);
    }
}

/// How far an exploration has come. Random walks count every step as a state, and the walks to come as frontier.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// States generated, counting each as often as it was reached.
    pub generated: u64,
    /// Different states.
    pub unique: u64,
    /// Steps from the start to the states being looked at.
    pub depth: u32,
    /// Different states still to be looked at.
    pub frontier: u64,
    pub elapsed: Duration,
    /// So many steps from the start something is wrong, which is known, but not yet by which run.
    pub broken_at: Option<u32>,
    /// Memory of all tables; when a search that forgets states is at its end, the most there was.
    pub bytes: u64,
}

impl Progress {
    /// Different states per second so far.
    pub fn rate(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.unique as f64 / seconds } else { 0.0 }
    }

    pub fn bytes_per_state(&self) -> f64 {
        self.bytes as f64 / (self.unique.max(1)) as f64
    }
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub progress: Progress,
    pub verdict: Verdict,
    /// What was wrong, with a run that shows it.
    pub violation: Option<Broken>,
    /// How many different node states, messages and local steps there were.
    pub parts: [usize; 3],
}

impl Outcome {
    /// Whether every state within the model's budgets was looked at (and none was wrong).
    pub fn is_complete(&self) -> bool {
        self.verdict == Verdict::Holds
    }

    pub fn finding(&self) -> Option<&Finding> {
        self.violation.as_ref().map(|broken| &broken.finding)
    }
}

/// A finding and a run that leads to it.
#[derive(Clone, Debug)]
pub struct Broken {
    pub finding: Finding,
    /// How it comes about; the shortest way if the search was breadth first.
    pub counterexample: Counterexample,
}

/// Why an exploration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every state was looked at; all rules hold.
    Holds,
    /// A rule is broken.
    Violated,
    /// The limit of states was reached; no rule was broken up to there.
    StateLimit,
    /// The limit of depth was reached; no rule was broken up to there.
    DepthLimit,
    /// The limit of time was reached; no rule was broken up to there.
    TimeLimit,
    /// The limit of memory was reached; no rule was broken up to there.
    MemoryLimit,
    /// The user ended it; no rule was broken up to there.
    Cancelled,
}

impl Verdict {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::StateLimit => "state limit",
            Self::DepthLimit => "depth limit",
            Self::TimeLimit => "time limit",
            Self::MemoryLimit => "memory limit",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
