//! What a study needs to know of a simulator: how to vary a scenario, and how to run it.
//!
//! Two small traits, so that the machinery of studies can be tested with runs that take no time.

use std::collections::BTreeMap;

use meshlock_sim::measures::{Measures, measures};
use meshlock_sim::outcome::Broken;
use meshlock_sim::run::{Progress, run};
use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::Document;
use serde::{Deserialize, Serialize};

/// A key of a scenario file and the value it is set to, in TOML.
pub type Setting = (String, String);

/// A scenario that can be varied.
pub trait Subject {
    /// The value of a key once these are set, in TOML, if it has one.
    fn value(&self, settings: &[Setting], key: &str) -> Result<Option<String>, String>;

    /// The scenario once these are set, and its canonical text.
    fn resolve(&self, settings: &[Setting]) -> Result<(Scenario, String), String>;
}

pub trait Runner: Sync {
    /// Runs a scenario to its end. An error means that it cannot be run at all.
    fn run(&self, scenario: &Scenario, seed: u64, progress: &mut dyn Progress) -> Result<Finished, String>;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finished {
    /// Its numbers. What is not finite is not kept.
    pub measures: Measures,
    pub broken: Vec<BrokenRule>,
    /// The run ended before its time: by a storm if there is one, else by a broken rule.
    pub stopped: bool,
    /// The limit that was exceeded, in words.
    pub storm: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenRule {
    pub rule: String,
    pub times: u64,
    /// When first, in simulated seconds.
    pub at_s: f64,
    pub node: Option<u32>,
    pub words: String,
}

impl From<&Broken> for BrokenRule {
    fn from(broken: &Broken) -> Self {
        Self {
            rule: broken.rule.name().to_owned(),
            times: broken.times,
            at_s: broken.at.seconds(),
            node: broken.node.map(|node| node.0),
            words: broken.words.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Runner for Simulator {
    fn run(&self, scenario: &Scenario, seed: u64, progress: &mut dyn Progress) -> Result<Finished, String> {
        let outcome = run(scenario, seed, progress).map_err(|error| error.to_string())?;
        let broken = outcome.broken.iter().map(BrokenRule::from);
        let mut measures: BTreeMap<String, f64> = measures(scenario, &outcome);
        measures.retain(|_, value| value.is_finite());
        let storm = outcome.storm.map(|storm| storm.to_string());
        Ok(Finished { measures, broken: broken.collect(), stopped: outcome.stopped, storm })
    }
}

impl Subject for Document {
    fn value(&self, settings: &[Setting], key: &str) -> Result<Option<String>, String> {
        Ok(with(self, settings)?.get(key))
    }

    fn resolve(&self, settings: &[Setting]) -> Result<(Scenario, String), String> {
        let document = with(self, settings)?;
        let scenario = document.resolve().map_err(|error| error.to_string())?;
        Ok((scenario, document.canonical()))
    }
}

fn with(document: &Document, settings: &[Setting]) -> Result<Document, String> {
    let mut document = document.clone();
    for (key, value) in settings {
        document.set(key, value).map_err(|error| error.to_string())?;
    }
    Ok(document)
}
