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
use crate::parts::Recent;
use crate::report::Progress;
use crate::space::{Applied, Space};
use crate::spec::{Spec, SpecError};
use crate::store::{State, Store};
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
    let mut store = Store::new(space.layout.halves());
    let start = store.insert_start(&start);
    let (missing, watch) = (Situation::of(spec), Stopwatch::start());
    let mut run = Run { limits, observer, watch, space, store, missing, looked_at: 0, depth: 0, frontier: 1 };
    let complete = run.breadth_first(start);
    Ok(ExampleEnd { progress: run.tell(), complete })
}

struct Run<'a> {
    limits: &'a ExampleLimits,
    observer: &'a mut dyn ExampleObserver,
    watch: Stopwatch,
    space: Space,
    store: Store,
    missing: Vec<Situation>,
    looked_at: u64,
    depth: u32,
    frontier: u64,
}

impl Run<'_> {
    /// Whether everything was looked at.
    fn breadth_first(&mut self, start: State) -> bool {
        let mut actions = Vec::new();
        let mut row = vec![0; self.store.width()];
        let mut next = row.clone();
        let mut level = vec![start];
        while !level.is_empty() {
            let mut found = Vec::new();
            for (done, at) in level.iter().enumerate() {
                self.frontier = (level.len() - done + found.len()) as u64;
                if self.missing.is_empty() || self.is_over() {
                    return false;
                }
                self.store.read(at.pair, &mut row);
                actions.clear();
                self.space.enabled(&row, &mut actions);
                for action in &actions {
                    // A caller's mistake is no step.
                    let Ok(Applied::Made { granted, .. }) = self.space.apply(&row, *action, &mut next) else {
                        continue;
                    };
                    self.look(at.id, &Edge { before: &row, action: *action, after: &next, granted });
                    let pair = self.store.pair(&next, (&row, at.pair), &mut Recent::nothing());
                    let (state, new) = self.store.insert(pair, at.id, *action);
                    found.extend(new.then_some(state));
                }
                self.looked_at += 1;
            }
            self.frontier = found.len() as u64;
            self.depth += u32::from(!found.is_empty());
            level = found;
        }
        true
    }

    /// Tells of the situations that this step leads to for the first time.
    fn look(&mut self, at: u32, edge: &Edge<'_>) {
        let Self { space, missing, observer, store, .. } = self;
        missing.retain(|situation| {
            let seen = situation.is_seen(space, edge);
            if seen {
                let mut run = store.path(at);
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
        if !self.looked_at.is_multiple_of(1024) {
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
            frontier: self.frontier,
            elapsed: self.watch.elapsed(),
            broken_at: None,
            bytes: (self.space.bytes() + self.store.bytes()) as u64,
        };
        self.observer.progress(&progress);
        progress
    }
}

#[cfg(test)]
mod tests;
