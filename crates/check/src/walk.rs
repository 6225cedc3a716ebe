//! Random walks: one long fair run after the other, on networks too large to explore.
//!
//! A walk goes on for a number of steps with requests, changes of links and losses at given rates. Then faults end:
//! links that were up at the start come back, there are no new requests, and the run goes on until nothing is in flight.
//! By then all requests must have been served. Every obligatory action has a chance at every step, so runs are fair.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use meshlock_core::NodeId;
use meshlock_properties::{Rule, Violation};

use crate::action::Action;
use crate::clock::Stopwatch;
use crate::counterexample::Counterexample;
use crate::environment::LinkState;
use crate::finding::Finding;
use crate::intern::next_id;
use crate::model::{MOST_IN_CHANNEL, Model, ModelError};
use crate::random::Random;
use crate::report::{Broken, Observer, Progress, Verdict};
use crate::space::{Applied, Space};

#[derive(Clone, Debug)]
pub struct WalkOptions {
    /// The seed of the first walk; the next ones have the numbers after it.
    pub seed: u64,
    pub walks: u64,
    /// Steps of each walk before faults end.
    pub steps: u64,
    /// Steps after that within which all must become quiet.
    pub ending: u64,
    /// How often each kind of action is taken.
    pub rates: Rates,
    /// Remove messages that their receiver is certain to ignore.
    pub reduce: bool,
    /// The longest time for all walks.
    pub max_time: Option<Duration>,
    /// Set it from outside to end with what there is.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            walks: 100,
            steps: 2_000,
            ending: 100_000,
            rates: Rates::default(),
            reduce: true,
            max_time: None,
            cancel: None,
        }
    }
}

/// The weight of each action that is possible.
///
/// In a walk the budgets of a model say what may happen, not how often: faults whose budget is zero never happen,
/// others happen at their rate. Likewise a node that may make a request may make any number of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Of a delivery, at a channel of the fastest kind. Each walk draws channels that are 4 and 16 times slower.
    pub deliver: u32,
    /// Of an end of a link noticing that it was cut.
    pub notice: u32,
    pub release: u32,
    /// Of a timer while nothing else is in flight.
    pub expire: u32,
    /// Of a timer that runs out early.
    pub expire_early: u32,
    pub request: u32,
    /// Of giving up a request.
    pub cancel: u32,
    /// Of changing the urgency of a request.
    pub reprioritize: u32,
    /// Of cutting or forming a link.
    pub link_change: u32,
    /// Of losing a message.
    pub lose: u32,
    /// Of a crash, and of what else happens to members.
    pub crash: u32,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            deliver: 160,
            notice: 80,
            release: 80,
            expire: 80,
            expire_early: 1,
            request: 20,
            cancel: 4,
            reprioritize: 4,
            link_change: 1,
            lose: 1,
            crash: 1,
        }
    }
}

impl Rates {
    /// The weight of an action; one that must happen in the end always has a chance.
    fn of(&self, action: Action) -> u32 {
        match action {
            Action::Deliver { .. } => self.deliver.max(1),
            Action::Notice { .. } => self.notice.max(1),
            Action::Release { .. } => self.release.max(1),
            Action::Expire { .. } => self.expire.max(1),
            Action::ExpireEarly { .. } => self.expire_early,
            Action::Request { .. } => self.request,
            Action::Cancel { .. } => self.cancel,
            Action::Reprioritize { .. } => self.reprioritize,
            Action::Cut { .. } | Action::Form { .. } => self.link_change,
            Action::Lose { .. } => self.lose,
            Action::Learn { .. } | Action::Start { .. } => self.notice.max(1),
            Action::Resize { .. } | Action::Leave { .. } | Action::Stop { .. } => self.link_change,
            Action::Member { incident, .. } if incident.is_obligatory() => self.notice.max(1),
            Action::Member { .. } => self.crash,
        }
    }
}

#[derive(Clone, Debug)]
pub struct WalkOutcome {
    /// Every step counts as a state.
    pub progress: Progress,
    pub counts: WalkCounts,
    /// Why it ended; [`Verdict::Holds`] if all walks ended well.
    pub verdict: Verdict,
    /// What was wrong, and the walk that shows it.
    pub violation: Option<Broken>,
    /// The seed of that walk: one walk from this seed shows it again.
    pub seed: Option<u64>,
}

/// What happened in all walks together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkCounts {
    /// Walks that ended well.
    pub walks: u64,
    pub steps: u64,
    /// Messages delivered.
    pub deliveries: u64,
    /// Steps in which a node was granted something.
    pub grants: u64,
    /// Links cut and formed.
    pub link_changes: u64,
}

pub struct Walker {
    model: Model,
    options: WalkOptions,
}

enum Stop {
    Broken(Finding),
    Early(Verdict),
}

impl From<Finding> for Stop {
    fn from(finding: Finding) -> Self {
        Self::Broken(finding)
    }
}

impl Walker {
    /// Walks through this model with default options.
    pub fn new(model: Model) -> Self {
        Self { model, options: WalkOptions::default() }
    }

    #[must_use]
    pub fn options(mut self, options: WalkOptions) -> Self {
        self.options = options;
        self
    }

    /// Walks until all walks are done, something is wrong, or a limit is reached.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<WalkOutcome, ModelError> {
        let rates = self.options.rates;
        let endless = |budget: &mut u32, rate: u32| *budget = if *budget > 0 && rate > 0 { u32::MAX } else { 0 };
        let budgets = &mut self.model.budgets;
        endless(&mut budgets.cancels, rates.cancel);
        endless(&mut budgets.reprioritisations, rates.reprioritize);
        endless(&mut budgets.link_changes, rates.link_change);
        endless(&mut budgets.losses, rates.lose);
        endless(&mut budgets.stops, rates.link_change);
        endless(&mut budgets.early_timers, rates.expire_early);
        let members = &mut budgets.members;
        for budget in [&mut members.crashes, &mut members.fences, &mut members.declarations, &mut members.returns] {
            endless(budget, rates.crash);
        }
        self.model.workload.endless = true;
        // Slow channels become long on fair runs too; only a channel without end is a finding.
        self.model.max_channel = MOST_IN_CHANNEL;
        self.model.wait_when_full = Some(false);
        let (walks, first) = (self.options.walks, self.options.seed);
        let model = self.model;
        let mut run = Run {
            options: self.options,
            counts: WalkCounts::default(),
            longest: 0,
            watch: Stopwatch::start(),
            observer,
        };
        for seed in (0..walks).map(|walk| first.wrapping_add(walk)) {
            let mut path = Vec::new();
            let space = Space::new(model.clone(), run.options.reduce, false)?;
            let (verdict, violation) = match run.walk(space, seed, &mut path) {
                Ok(()) => {
                    run.counts.walks += 1;
                    continue;
                }
                Err(Stop::Early(verdict)) => (verdict, None),
                Err(Stop::Broken(finding)) => {
                    let space = Space::new(model, run.options.reduce, false)?;
                    let counterexample = Counterexample::replay(&space, &path, None);
                    (Verdict::Violated, Some(Broken { finding, counterexample }))
                }
            };
            let seed = violation.is_some().then_some(seed);
            return Ok(WalkOutcome { progress: run.progress(), counts: run.counts, verdict, violation, seed });
        }
        let (progress, counts) = (run.progress(), run.counts);
        Ok(WalkOutcome { progress, counts, verdict: Verdict::Holds, violation: None, seed: None })
    }
}

struct Run<'a> {
    options: WalkOptions,
    counts: WalkCounts,
    longest: u64,
    watch: Stopwatch,
    observer: &'a mut dyn Observer,
}

impl Run<'_> {
    fn walk(&mut self, mut space: Space, seed: u64, path: &mut Vec<Action>) -> Result<(), Stop> {
        let mut random = Random::new(seed);
        let slowness: Vec<u32> = space.layout.channels.iter().map(|_| 1 << (2 * random.below(3))).collect();
        let mut row = space.start();
        let mut next = row.clone();
        let mut actions = Vec::new();
        space.check(&row)?;
        for step in 0..self.options.steps.saturating_add(self.options.ending) {
            self.longest = self.longest.max(step);
            if step.is_multiple_of(256) {
                self.pause()?;
                if space.model.fifo && space.local.sizes()[2] > MOST_LOCAL_STEPS {
                    (space, row) = space.moved_to_fresh_tables(&row);
                }
            }
            let ending = step >= self.options.steps;
            actions.clear();
            space.enabled(&row, &mut actions);
            if ending {
                actions.retain(|action| action.is_obligatory());
                mend(&space, &row, &mut actions);
                if space.is_quiet(&row) && actions.is_empty() {
                    return everyone_is_served(&space, &row);
                }
            }
            let weight = |action: &Action| match (action, ending) {
                (Action::Deliver { channel, .. }, false) => {
                    u64::from((self.options.rates.of(*action) / slowness[usize::from(*channel)]).max(1))
                }
                (Action::Form { .. }, true) => 1,
                (action, _) => u64::from(self.options.rates.of(*action)),
            };
            let total: u64 = actions.iter().map(weight).sum();
            let mut left = random.below(total);
            let chosen = actions.iter().find(|action| match left.checked_sub(weight(action)) {
                Some(rest) => {
                    left = rest;
                    false
                }
                None => true,
            });
            let Some(&action) = chosen else {
                continue; // nothing to do but to wait for the end
            };
            path.push(action);
            let Applied::Made { granted, .. } = space.apply(&row, action, &mut next)? else {
                path.pop();
                continue;
            };
            self.count(action, granted);
            space.check(&next)?;
            std::mem::swap(&mut row, &mut next);
        }
        let what = format!("still not quiet {} steps after the last request and the last trouble", self.options.ending);
        Err(Finding::endless(None, what).into())
    }

    fn count(&mut self, action: Action, granted: u64) {
        self.counts.steps += 1;
        self.counts.grants += u64::from(granted.count_ones());
        self.counts.deliveries += u64::from(matches!(action, Action::Deliver { .. }));
        self.counts.link_changes += u64::from(matches!(action, Action::Cut { .. } | Action::Form { .. }));
    }

    fn pause(&mut self) -> Result<(), Stop> {
        let elapsed = self.watch.elapsed();
        if self.options.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Stop::Early(Verdict::Cancelled));
        }
        if self.options.max_time.is_some_and(|most| elapsed >= most) {
            return Err(Stop::Early(Verdict::TimeLimit));
        }
        if self.watch.report_due(elapsed) {
            let progress = self.progress();
            self.observer.progress(&progress);
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        Progress {
            generated: self.counts.steps,
            unique: self.counts.steps,
            depth: u32::try_from(self.longest).unwrap_or(u32::MAX),
            frontier: self.options.walks - self.counts.walks,
            elapsed: self.watch.elapsed(),
            broken_at: None,
            bytes: 0,
        }
    }
}

/// Adds the links that were up at the start and are down.
fn mend(space: &Space, row: &[u32], actions: &mut Vec<Action>) {
    let links = &space.environment(row).links;
    for (place, link) in space.layout.links.iter().enumerate() {
        let members = &space.environment(row).members;
        let is_there = (0..2).all(|end| members.is_there(link.end(end).0 as usize));
        if link.lasting && is_there && links[place] == LinkState::Down {
            actions.extend(u16::try_from(place).ok().map(|link| Action::Form { link }));
        }
    }
}

fn everyone_is_served(space: &Space, row: &[u32]) -> Result<(), Stop> {
    for (place, id) in row.iter().take(space.layout.nodes).enumerate() {
        if !space.takes_part(row, place) {
            continue;
        }
        if let Some(waiting) = space.local.view(*id).waiting.first() {
            let node = NodeId(next_id(place));
            let what = format!("request {node}.{} still waits at the end", waiting.request);
            return Err(Finding::Rule(Violation { rule: Rule::NobodyWaits, node: Some(node), what }).into());
        }
    }
    Ok(())
}

/// When tables are larger than this, a walk goes on with fresh ones.
const MOST_LOCAL_STEPS: usize = 50_000;

#[cfg(test)]
mod tests;
