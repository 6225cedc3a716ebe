//! One model to run, and what came of it beside what was expected.

use meshlock_check::suite::{Entry, Expected};
use meshlock_check::{Limits, Observer, Report, Trial, Verdict, Way};

use super::replay;
use meshlock_cli::text::{count, several};

#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) trial: Trial,
    /// The standard model it is.
    pub(super) entry: Option<Entry>,
    /// Whether the expected numbers can be expected: not if reduction is off, or if walks were chosen.
    pub(super) exact: bool,
    /// The command that does the same.
    pub(super) command: String,
}

#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) job: Job,
    pub(super) report: Report,
    /// How that compares with what was expected.
    pub(super) judgement: Judgement,
    /// The command that leads to the same finding.
    pub(super) replay: Option<String>,
    pub(super) trace: Option<String>,
    pub(super) trace_error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    AsExpected,
    Surprise,
    /// Nothing was expected; all rules hold.
    Holds,
    /// Nothing was expected; a rule is broken.
    Broken,
    /// A limit ended the search.
    CutShort,
    /// Ctrl-C ended the search.
    Cancelled,
}

impl Job {
    /// Runs it. Only if `for_trace`, a walk that breaks a rule is walked again, so that its trace knows its own seed.
    pub(super) fn run(self, limits: &Limits, observer: &mut dyn Observer, for_trace: bool) -> anyhow::Result<Done> {
        let mut report = self.trial.run(limits, &self.command, observer)?;
        let mut replay = report.broken.is_some().then(|| self.command.clone());
        let seed = report.broken.as_ref().and_then(|shown| shown.seed);
        if let (Way::Walk { steps, .. }, Some(seed)) = (&self.trial.way, seed) {
            let command = replay::one_walk(&self.command, seed);
            if for_trace {
                let way = Way::Walk { seed, walks: 1, steps: *steps };
                let again = Trial { spec: self.trial.spec.clone(), way }.run(limits, &command, observer)?;
                report.broken = again.broken.or(report.broken);
            }
            replay = Some(command);
        }
        let judgement = self.judge(&report);
        Ok(Done { job: self, report, judgement, replay, trace: None, trace_error: None })
    }

    fn judge(&self, report: &Report) -> Judgement {
        let as_expected = |entry: &Entry| {
            if self.exact { entry.is_met_by(report) } else { has_verdict(&entry.expected, report) }
        };
        match (report.verdict, &self.entry) {
            (Verdict::Cancelled, _) => Judgement::Cancelled,
            (Verdict::StateLimit | Verdict::DepthLimit | Verdict::TimeLimit | Verdict::MemoryLimit, _) => {
                Judgement::CutShort
            }
            (Verdict::Holds | Verdict::Violated, Some(entry)) if as_expected(entry) => Judgement::AsExpected,
            (Verdict::Holds | Verdict::Violated, Some(_)) => Judgement::Surprise,
            (Verdict::Holds, None) => Judgement::Holds,
            (Verdict::Violated, None) => Judgement::Broken,
        }
    }
}

/// Whether the verdict is the expected one, whatever the numbers.
fn has_verdict(expected: &Expected, report: &Report) -> bool {
    match (expected, &report.broken) {
        (Expected::Holds { .. } | Expected::Walks { .. }, None) => report.verdict == Verdict::Holds,
        (Expected::Breaks { rule, .. }, Some(shown)) => shown.rule == Some(*rule),
        (Expected::Holds { .. } | Expected::Walks { .. }, Some(_)) | (Expected::Breaks { .. }, None) => false,
    }
}

impl Done {
    pub(super) fn found(&self) -> String {
        match (&self.report.broken, self.report.verdict) {
            (Some(shown), _) => {
                let steps = several(shown.steps as u64, "step");
                match shown.rule {
                    Some(rule) => format!("breaks {rule} in {steps}"),
                    None => format!("breaks the protocol in {steps}"),
                }
            }
            (None, Verdict::Holds | Verdict::Violated) => "holds".to_owned(),
            (None, Verdict::Cancelled) => "stopped by Ctrl-C".to_owned(),
            (None, Verdict::StateLimit | Verdict::DepthLimit | Verdict::TimeLimit | Verdict::MemoryLimit) => {
                format!("stopped by the {}", self.report.verdict)
            }
        }
    }

    /// The same with the number that is compared with the expected one.
    pub(super) fn found_exactly(&self) -> String {
        let Report { progress, walked, broken, .. } = &self.report;
        match (broken, walked) {
            (None, None) => format!("{} with {}", self.found(), several(progress.unique, "different state")),
            (None, Some(counts)) => format!("{} with {}", self.found(), several(counts.grants, "grant")),
            (Some(_), _) => self.found(),
        }
    }
}

pub(super) fn expected_text(expected: &Expected) -> String {
    match expected {
        Expected::Holds { unique } => format!("holds with {}", several(*unique, "different state")),
        Expected::Breaks { rule, steps } => format!("breaks {rule} in {} steps", count(*steps as u64)),
        Expected::Walks { grants } => format!("holds with {}", several(*grants, "grant")),
    }
}
