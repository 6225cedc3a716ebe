//! From a scenario and a seed to an outcome.

use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::time::Time;

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

/// Runs a scenario to its end.
pub fn run(scenario: &Scenario, seed: u64, progress: &mut dyn Progress) -> Result<Outcome, RunError> {
    let _ = (scenario, seed, progress);
    Err(RunError("not yet".to_owned()))
}
