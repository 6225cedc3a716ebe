//! The two searches behind the page: one for broken rules, one for examples. Both end early when nobody looks any more.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::Context;
use meshlock_check::examples::{self, ExampleObserver};
use meshlock_check::{Action, ExampleLimits, Limits, Observer, Progress, Situation, Stepper, Trial, Verdict};
use tokio::sync::watch;

use super::{locked, properties};
use crate::check::job::Job;

/// What both have found so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// How far the search for broken rules has come.
    pub(super) progress: Progress,
    /// How it ended.
    pub(super) verdict: Option<Verdict>,
    /// What it found.
    pub(super) broken: Option<Found>,
    /// Why it could not be made.
    pub(super) failed: Option<String>,
    /// Examples, with their paths.
    pub(super) examples: BTreeMap<Situation, Vec<u32>>,
    /// How the search for examples ended.
    pub(super) examples_end: Option<ExamplesEnd>,
}

/// A run that is wrong.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The broken rule, or `protocol`.
    pub(super) rule: &'static str,
    /// What it says.
    pub(super) words: &'static str,
    /// What was seen.
    pub(super) what: String,
    /// How many steps lead there.
    pub(super) steps: usize,
    /// From which step on, counted from 1, it repeats forever.
    pub(super) repeats_from: Option<usize>,
    /// The path, unless it cannot be stepped.
    pub(super) path: Option<Vec<u32>>,
}

/// How a search for examples ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExamplesEnd {
    /// Every state was looked at.
    pub(super) complete: bool,
    /// How many were.
    pub(super) states: u64,
}

/// Searches that run; they end when this is dropped.
pub(super) struct Searches {
    shared: Arc<Shared>,
    cancel: Arc<AtomicBool>,
}

struct Shared {
    known: Mutex<Known>,
    changes: watch::Sender<u64>,
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut locked(&self.known));
        self.changes.send_modify(|count| *count += 1);
    }
}

impl Searches {
    pub(super) fn start(
        job: &Job,
        limits: Limits,
        examples: ExampleLimits,
        stepper: &Arc<Mutex<Stepper>>,
    ) -> anyhow::Result<Self> {
        let shared = Arc::new(Shared { known: Mutex::default(), changes: watch::Sender::new(0) });
        let cancel = Arc::new(AtomicBool::new(false));
        let limits = Limits { cancel: Some(Arc::clone(&cancel)), ..limits };
        let examples = ExampleLimits { cancel: Some(Arc::clone(&cancel)), ..examples };
        let seeker = Seeker { trial: job.trial.clone(), stepper: Arc::clone(stepper), shared: Arc::clone(&shared) };
        let (mut second, name, command) = (seeker.clone(), job.name.clone(), job.command.clone());
        let start = |thread: &str, work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(thread.to_owned()).spawn(work).context("cannot start a thread to search")
        };
        start("search", Box::new(move || seeker.rules(&limits, &name, &command)))?;
        start("examples", Box::new(move || second.examples(&examples)))?;
        Ok(Self { shared, cancel })
    }

    /// What is known now.
    pub(super) fn known(&self) -> Known {
        locked(&self.shared.known).clone()
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }
}

impl Drop for Searches {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

#[derive(Clone)]
struct Seeker {
    trial: Trial,
    stepper: Arc<Mutex<Stepper>>,
    shared: Arc<Shared>,
}

impl Seeker {
    /// Searches for a broken rule, and says on standard error what came of it.
    fn rules(mut self, limits: &Limits, name: &str, command: &str) {
        let trial = self.trial.clone();
        let report = trial.run(limits, command, &mut self);
        let found = report.as_ref().ok().and_then(|report| report.broken.as_ref()).map(|shown| Found {
            rule: shown.rule.map_or(meshlock_check::finding::PROTOCOL, |rule| rule.name()),
            words: shown.rule.map_or(meshlock_check::finding::PROTOCOL_WORDS, |rule| rule.words()),
            what: shown.what.clone(),
            steps: shown.steps,
            repeats_from: shown.cycle.map(|repeated| shown.steps - repeated + 1),
            path: locked(&self.stepper).path(&shown.run).ok(),
        });
        self.shared.change(|known| match report {
            Ok(report) => {
                known.progress = report.progress;
                known.verdict = Some(report.verdict);
                known.broken = found;
            }
            Err(error) => {
                known.verdict = Some(Verdict::Cancelled);
                known.failed = Some(error.to_string());
            }
        });
        if !limits.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            let verdict = properties::verdict(&trial, &locked(&self.shared.known));
            anstream::eprintln!("{name} {verdict}");
        }
    }

    fn examples(&mut self, limits: &ExampleLimits) {
        let spec = self.trial.spec.clone();
        let end = examples::search(&spec, limits, self);
        // A model that cannot be searched is told of by the other search.
        let end = end.map(|end| ExamplesEnd { complete: end.complete, states: end.progress.unique });
        let end = end.unwrap_or(ExamplesEnd { complete: false, states: 0 });
        self.shared.change(|known| known.examples_end = Some(end));
    }
}

impl Observer for Seeker {
    fn progress(&mut self, progress: &Progress) {
        self.shared.change(|known| known.progress = *progress);
    }
}

impl ExampleObserver for Seeker {
    fn found(&mut self, situation: Situation, run: &[Action]) {
        let path = locked(&self.stepper).path(run);
        if let Ok(path) = path {
            self.shared.change(|known| {
                known.examples.insert(situation, path);
            });
        }
    }
}
