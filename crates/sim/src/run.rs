//! From a scenario and a seed to an outcome.

use meshlock_core::Protocol;
use meshlock_properties::RuleSet;
use serde::Serialize;

use crate::build::{Visitor, with_world};
use crate::observe::Observer;
use crate::outcome::Outcome;
use crate::scenario::{ProtocolChoice, Scenario};
use crate::time::Time;
use crate::watch::promised;
use crate::world::World;

/// Why a scenario cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RunError(pub String);

/// What a caller may see and do while a run goes on.
pub trait Progress {
    /// Called every few thousand events. Returning false ends the run as if its time were over.
    fn report(&mut self, now: Time, events: u64) -> bool;
}

/// Nobody looks.
impl Progress for () {
    fn report(&mut self, _now: Time, _events: u64) -> bool {
        true
    }
}

/// Events between two reports of progress.
const REPORT_EVERY: u64 = 4_096;

/// Runs a scenario to its end.
pub fn run(scenario: &Scenario, seed: u64, progress: &mut dyn Progress) -> Result<Outcome, RunError> {
    with_world(scenario, seed, Drive { scenario, progress })
}

/// The rules that are watched in every run of a protocol.
pub fn watched(choice: &ProtocolChoice) -> RuleSet {
    promised(choice)
}

struct Drive<'a> {
    scenario: &'a Scenario,
    progress: &'a mut dyn Progress,
}

impl Visitor for Drive<'_> {
    type Output = Outcome;

    fn visit<P>(self, world: World<P>) -> Outcome
    where
        P: Protocol,
        P::Message: Serialize,
    {
        drive(world, self.scenario, self.progress, &mut ())
    }
}

/// Lets a world run: first until clients stop asking, then until everybody is served, then until nothing is under way.
pub fn drive<P, O>(mut world: World<P>, scenario: &Scenario, progress: &mut dyn Progress, observer: &mut O) -> Outcome
where
    P: Protocol,
    P::Message: Serialize,
    O: Observer<P>,
{
    let end = Time::ZERO + scenario.duration;
    let complete = go_on(&mut world, end, progress, observer, |_| false);
    let mut measured = world.measure();
    if complete && !world.has_stopped() {
        // Nodes move on, so that a network that is in parts can come together for those who wait.
        go_on(&mut world, end + scenario.drain, progress, observer, World::nobody_waits);
        world.freeze(observer);
        let patience = world.now() + scenario.drain;
        go_on(&mut world, patience, progress, observer, World::is_quiet);
        let quiet = world.is_quiet();
        measured.quiet = quiet.then_some(world.now());
        world.look_at_rules(quiet);
    }
    world.outcome(measured, &scenario.protocol)
}

/// Steps until a moment, or until it is enough. False if the caller wants to end.
fn go_on<P, O>(
    world: &mut World<P>,
    until: Time,
    progress: &mut dyn Progress,
    observer: &mut O,
    enough: impl Fn(&World<P>) -> bool,
) -> bool
where
    P: Protocol,
    P::Message: Serialize,
    O: Observer<P>,
{
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
