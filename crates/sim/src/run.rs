//! From a scenario and a seed to an outcome.

use meshlock_properties::RuleSet;

use crate::build::world;
use crate::edit::{Edit, Edits};
use crate::observe::Observer;
use crate::outcome::Outcome;
use crate::scenario::{ProtocolChoice, Scenario};
use crate::time::Time;
use crate::watch::promised;
use crate::world::{Measured, World};

/// Why a scenario cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RunError(pub String);

/// What a caller may see and do while a run goes on.
pub trait Progress {
    /// Called every few thousand events. Returning false ends the run as if its time were over.
    fn report(&mut self, now: Time, events: u64) -> bool;
}

impl Progress for () {
    fn report(&mut self, _now: Time, _events: u64) -> bool {
        true
    }
}

/// Events between two reports of progress.
const REPORT_EVERY: u64 = 4_096;

pub fn run(scenario: &Scenario, seed: u64, progress: &mut dyn Progress) -> Result<Outcome, RunError> {
    run_edited(scenario, seed, &Edits::default(), progress)
}

/// Runs a scenario with edits. An edit that cannot be made is an error.
pub fn run_edited(
    scenario: &Scenario,
    seed: u64,
    edits: &Edits,
    progress: &mut dyn Progress,
) -> Result<Outcome, RunError> {
    drive(world(scenario, seed)?, scenario, edits, progress, &mut ())
}

/// The rules that are watched in every run of a protocol.
pub fn watched(choice: &ProtocolChoice) -> RuleSet {
    promised(choice)
}

/// Lets a world run: first until clients stop asking, then until all requests are served, then until it is quiet. If the
/// user ended the run, it ends there; otherwise grants held by hand are given back when clients stop asking, or after the
/// last edit if that is later.
pub fn drive(
    world: World,
    scenario: &Scenario,
    edits: &Edits,
    progress: &mut dyn Progress,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    let mut course = Course::new(world, scenario);
    let mut complete = true;
    for (number, Edit { at, change }) in (1..).zip(&edits.edits) {
        complete = complete && course.go_on(*at, progress, observer);
        if !complete || course.world.has_stopped() {
            break;
        }
        let refused = |error| RunError(format!("edit {number} ({} at {at}) cannot be done: {error}", change.name()));
        course.world.apply(change, observer).map_err(refused)?;
    }
    if let Some(end) = edits.end {
        if complete {
            course.go_on(end, progress, observer);
        }
        return Ok(course.outcome(&scenario.protocol));
    }
    complete = complete && course.go_on(course.end.max(course.world.now()), progress, observer);
    course.world.hands_off(observer);
    Ok(conclude(course, complete, scenario, progress, observer))
}

/// After clients have stopped asking.
fn conclude(
    mut course: Course,
    complete: bool,
    scenario: &Scenario,
    progress: &mut dyn Progress,
    observer: &mut dyn Observer,
) -> Outcome {
    let mut measured = course.take_measured();
    let mut world = course.world;
    if complete && !world.has_stopped() {
        // Nodes move on, so that a partitioned network can come together for requests that wait.
        let until = world.now().max(course.end) + scenario.drain;
        go_on(&mut world, until, progress, observer, |world| world.none_waits() && world.none_is_expected());
        world.freeze(observer);
        let patience = world.now() + scenario.drain;
        go_on(&mut world, patience, progress, observer, World::is_quiet);
        let quiet = world.is_quiet();
        measured.quiet = quiet.then_some(world.now());
        world.look_at_rules(quiet);
    }
    world.outcome(measured, &scenario.protocol)
}

/// A world on its way, and what was measured when clients stopped asking.
pub(crate) struct Course {
    pub(crate) world: World,
    pub(crate) end: Time,
    measured: Option<Measured>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// Everything until the moment has happened, and it is that moment now.
    There,
    More,
    /// A broken rule or a limit has ended the run.
    Stopped,
}

impl Course {
    pub(crate) fn new(world: World, scenario: &Scenario) -> Self {
        Self { world, end: Time::ZERO + scenario.duration, measured: None }
    }

    /// Takes at most so many steps towards a moment.
    pub(crate) fn advance(&mut self, until: Time, most: usize, observer: &mut dyn Observer) -> Advance {
        for _ in 0..most {
            let bound = if self.measured.is_none() { until.min(self.end) } else { until };
            if self.world.next_at().is_some_and(|at| at <= bound) {
                if !self.world.step(observer) {
                    return Advance::Stopped;
                }
                continue;
            }
            self.world.wait_until(bound);
            if self.measured.is_none() && bound == self.end {
                self.measured = Some(self.world.measure());
            } else {
                return if self.world.has_stopped() { Advance::Stopped } else { Advance::There };
            }
        }
        Advance::More
    }

    /// Goes on until a moment. False if the caller wants to end.
    fn go_on(&mut self, until: Time, progress: &mut dyn Progress, observer: &mut dyn Observer) -> bool {
        while self.advance(until, REPORT_EVERY as usize, observer) == Advance::More {
            if !progress.report(self.world.now(), self.world.events()) {
                return false;
            }
        }
        true
    }

    fn take_measured(&mut self) -> Measured {
        self.measured.take().unwrap_or_else(|| self.world.measure())
    }

    /// What it leaves behind if it ends now.
    pub(crate) fn outcome(&mut self, choice: &ProtocolChoice) -> Outcome {
        let measured = self.take_measured();
        self.world.outcome(measured, choice)
    }
}

/// Steps until a moment, or until it is enough. False if the caller wants to end.
fn go_on(
    world: &mut World,
    until: Time,
    progress: &mut dyn Progress,
    observer: &mut dyn Observer,
    enough: impl Fn(&World) -> bool,
) -> bool {
    let mut reported = world.events();
    while world.next_at().is_some_and(|at| at <= until) && !enough(world) {
        if !world.step(observer) {
            return true;
        }
        if world.events() - reported >= REPORT_EVERY {
            reported = world.events();
            if !progress.report(world.now(), reported) {
                return false;
            }
        }
    }
    if !enough(world) {
        world.wait_until(until);
    }
    true
}
