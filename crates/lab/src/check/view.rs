//! `meshlock check --view`: the states of a model in the browser, one step at a time.

mod properties;
mod search;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::bail;
use meshlock_check::{ExampleLimits, Limits, Stepper, Way};
use meshlock_core::NodeId;
use meshlock_trace::{At, End, Record, Violation, What};
use meshlock_viewer::explore::{BrokenRule, Search};
use meshlock_viewer::source::Kind;
use meshlock_viewer::{About, Explore, Next, Overview, Place, Refusal, Source, Tape};
use tokio::sync::watch;

use self::search::Searches;
use super::job::Job;
use super::single;
use meshlock_cli::exit::Exit;
use meshlock_cli::signals::Signals;

/// Steps through the one model of these jobs until Ctrl-C.
pub(super) fn run(jobs: Vec<Job>, limits: Limits, address: SocketAddr, open: bool) -> anyhow::Result<Exit> {
    let job = match <[Job; 1]>::try_from(jobs) {
        Ok([job]) => job,
        Err(jobs) => bail!(
            "--view steps through one model, but these are {}: name one, for instance `meshlock check reverse-link/p1 \
             --view`; `meshlock check --list` shows all",
            jobs.len()
        ),
    };
    single::announce(&mut anstream::stderr().lock(), &job)?;
    let model = Arc::new(Model::start(job, limits)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let source: Arc<dyn Source> = Arc::<Model>::clone(&model);
        let _server = meshlock_cli::view::serve(source, address, None, open).await?;
        signals.end().await;
        Ok(Exit::Fine)
    })
}

/// A model that is looked at.
struct Model {
    job: Job,
    stepper: Arc<Mutex<Stepper>>,
    searches: Searches,
    notes: Vec<String>,
}

impl Model {
    /// Begins to search it.
    fn start(mut job: Job, mut limits: Limits) -> anyhow::Result<Self> {
        let mut notes = Vec::new();
        let examples = ExampleLimits { reduce: limits.reduce, ..ExampleLimits::default() };
        if matches!(job.trial.way, Way::Walk { .. }) {
            job.trial.way = Way::STATES;
            limits.states.get_or_insert(examples.states);
            notes.push("this model is too large to see all of it: only the states near the start are searched".into());
        }
        let stepper = Stepper::new(&job.trial, limits.reduce, &job.command)?;
        let stepper = Arc::new(Mutex::new(stepper));
        let searches = Searches::start(&job, limits, examples, &stepper)?;
        Ok(Self { job, stepper, searches, notes })
    }
}

impl Source for Model {
    fn about(&self) -> About {
        About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source: Kind::Check,
            title: self.job.name.clone(),
            tapes: Vec::new(),
            can: Vec::new(),
            notes: self.notes.clone(),
        }
    }

    fn tapes(&self) -> Vec<Arc<Tape>> {
        Vec::new()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.searches.changes()
    }

    fn explore(&self) -> Option<&dyn Explore> {
        Some(self)
    }
}

impl Explore for Model {
    fn overview(&self) -> Overview {
        let known = self.searches.known();
        let about = self.job.entry.as_ref().map(|entry| format!(": {}", entry.about)).unwrap_or_default();
        Overview {
            model: format!("{}{about}", self.job.name),
            command: self.job.command.clone(),
            properties: properties::of(&self.job.trial, &known),
            search: Search {
                states: known.progress.unique,
                depth: known.progress.depth,
                done: known.verdict.is_some(),
                verdict: properties::verdict(&self.job.trial, &known),
            },
        }
    }

    fn at(&self, path: &[u32]) -> Result<Place, Refusal> {
        let place = locked(&self.stepper).at(path).map_err(|error| Refusal::new(error.to_string()))?;
        let shows_at = place.broken.as_ref().and_then(|wrong| wrong.node);
        let here = place.broken.map(|wrong| BrokenRule {
            rule: wrong.rule.to_owned(),
            words: wrong.words.to_owned(),
            what: wrong.what,
        });
        let next = place.next.into_iter().map(|choice| Next {
            label: choice.label,
            node: choice.node,
            breaks: choice.breaks.map(str::to_owned),
        });
        // A run that goes on forever is wrong as a whole; that is said at its end.
        let broken = here.or_else(|| properties::broken_at(&self.searches.known(), path));
        let mut records = place.records;
        // The way there is a trace like any other counterexample, and ends as one.
        records.extend(broken.as_ref().map(|broken| ended(broken, shows_at, path.len())));
        let (header, quiet) = (place.header, place.quiet);
        Ok(Place { path: path.to_vec(), header, records, next: next.collect(), broken, quiet })
    }
}

/// The last record of a way to a broken rule.
fn ended(broken: &BrokenRule, node: Option<NodeId>, steps: usize) -> Record {
    let violation = Violation { rule: broken.rule.clone(), node, what: broken.what.clone() };
    Record { at: At::Step(steps as u64), what: What::End(End { violation: Some(violation), ..End::default() }) }
}

/// What is behind a lock. A thread that panicked while it had it left something sound: nothing is half done there.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
