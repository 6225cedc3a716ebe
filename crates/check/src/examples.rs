//! Shortest runs to situations that help to understand a model: a first grant, two inside together, a token that is lost.
//!
//! They are recognised from views and steps only, so they mean the same for all protocols; those that make no sense for
//! a model are left out.

mod situation;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::action::Action;
use crate::clock::Stopwatch;
use crate::report::Progress;
use crate::space::{Applied, Space};
use crate::spec::{Spec, SpecError};
use crate::store::Store;
use situation::Edge;

pub use situation::Situation;

/// How long to search.
#[derive(Clone, Debug)]
pub struct ExampleLimits {
    /// The most different states.
    pub states: u64,
    /// The longest time.
    pub time: Duration,
    /// Set from outside to stop.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Remove messages that their receiver is certain to ignore.
    pub reduce: bool,
}

impl Default for ExampleLimits {
    fn default() -> Self {
        Self { states: 300_000, time: Duration::from_secs(20), cancel: None, reduce: true }
    }
}

/// Hears of a search while it runs.
pub trait ExampleObserver {
    /// A situation can be reached by this run, and by no shorter one.
    fn found(&mut self, situation: Situation, run: &[Action]);

    /// How far the search has come, now and then and at the end.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExampleEnd {
    pub progress: Progress,
    /// Every state was looked at: what was not found cannot be reached.
    pub complete: bool,
}

/// Searches breadth first for the situations that make sense for a model, until all are found or a limit is reached.
pub fn search(
    spec: &Spec,
    limits: &ExampleLimits,
    observer: &mut dyn ExampleObserver,
) -> Result<ExampleEnd, SpecError> {
    let model = spec.model()?;
    let canonical = model.workload.endless;
    let mut space = Space::new(model, limits.reduce, canonical)?;
    let start = space.start();
    let mut store = Store::new(space.layout.width());
    store.insert(&start, 0, Action::Expire { node: 0 });
    let (missing, watch) = (Situation::of(spec), Stopwatch::start());
    let mut run = Run { limits, observer, watch, space, store, missing, at: 0, depth: 0 };
    let complete = run.breadth_first();
    Ok(ExampleEnd { progress: run.tell(), complete })
}

struct Run<'a> {
    limits: &'a ExampleLimits,
    observer: &'a mut dyn ExampleObserver,
    watch: Stopwatch,
    space: Space,
    store: Store,
    missing: Vec<Situation>,
    /// The state that is looked at.
    at: u32,
    depth: u32,
}

impl Run<'_> {
    /// Whether everything was looked at.
    fn breadth_first(&mut self) -> bool {
        let mut level_end = 1;
        let mut actions = Vec::new();
        let mut row = self.store.row(0).to_vec();
        let mut next = row.clone();
        while (self.at as usize) < self.store.len() {
            if self.missing.is_empty() || self.is_over() {
                return false;
            }
            if self.at as usize == level_end {
                self.depth += 1;
                level_end = self.store.len();
            }
            row.copy_from_slice(self.store.row(self.at));
            actions.clear();
            self.space.enabled(&row, &mut actions);
            for action in &actions {
                // A caller's mistake is no step.
                let Ok(Applied::Made { granted, .. }) = self.space.apply(&row, *action, &mut next) else { continue };
                self.look(&Edge { before: &row, action: *action, after: &next, granted });
                self.store.insert(&next, self.at, *action);
            }
            self.at += 1;
        }
        true
    }

    /// Tells of the situations that this step leads to for the first time.
    fn look(&mut self, edge: &Edge<'_>) {
        let Self { space, missing, observer, store, at, .. } = self;
        missing.retain(|situation| {
            let seen = situation.is_seen(space, edge);
            if seen {
                let mut run = store.path(*at);
                run.push(edge.action);
                observer.found(*situation, &run);
            }
            !seen
        });
    }

    fn is_over(&mut self) -> bool {
        if self.store.len() as u64 >= self.limits.states {
            return true;
        }
        if !self.at.is_multiple_of(1024) {
            return false;
        }
        let elapsed = self.watch.elapsed();
        if self.watch.report_due(elapsed) {
            self.tell();
        }
        let cancelled = self.limits.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        cancelled || elapsed >= self.limits.time
    }

    fn tell(&mut self) -> Progress {
        let unique = self.store.len() as u64;
        let progress = Progress {
            generated: unique,
            unique,
            depth: self.depth,
            frontier: unique.saturating_sub(self.at.into()),
            elapsed: self.watch.elapsed(),
            bytes: (self.space.bytes() + self.store.bytes()) as u64,
        };
        self.observer.progress(&progress);
        progress
    }
}

#[cfg(test)]
mod tests;
