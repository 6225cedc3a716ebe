//! A scenario that can be varied and run without a simulator, and directories for tests.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use meshlock_sim::run::Progress;
use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::{Axis, StudySpec};
use meshlock_sim::time::Time;

use crate::conduct::{Orders, Results, conduct};
use crate::plan::Plan;
use crate::shard::Shard;
use crate::store::{Begin, Store};
use crate::subject::{BrokenRule, Finished, Runner, Setting, Subject};

/// Has the keys `nodes`, `k` and `speed`, and refuses all others.
pub(crate) struct Toy;

impl Subject for Toy {
    fn value(&self, settings: &[Setting], key: &str) -> Result<Option<String>, String> {
        let values = values(settings)?;
        Ok(values.get(key).cloned())
    }

    fn resolve(&self, settings: &[Setting]) -> Result<(Scenario, String), String> {
        let values = values(settings)?;
        let number = |key: &str| values[key].parse::<u32>().map_err(|_| format!("`{key}` is no number"));
        let mut scenario = Scenario::reference();
        scenario.nodes = number("nodes")?;
        scenario.protocol.capacity = number("k")?;
        let canonical = values.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        Ok((scenario, canonical))
    }
}

fn values(settings: &[Setting]) -> Result<BTreeMap<String, String>, String> {
    let defaults = [("nodes", "10"), ("k", "1"), ("speed", "\"5mps\"")];
    let mut values: BTreeMap<String, String> =
        defaults.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    for (key, value) in settings {
        *values.get_mut(key).ok_or_else(|| format!("there is no key `{key}`"))? = value.clone();
    }
    Ok(values)
}

/// Runs in no time, and remembers what it ran.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) ran: Mutex<Vec<(u32, u32, u64)>>,
    /// Runs of this many nodes break a rule.
    pub(crate) breaks_at: Option<u32>,
    /// Runs of this many nodes end in a storm.
    pub(crate) storms_at: Option<u32>,
    /// Runs of this many nodes cannot be run.
    pub(crate) refuses: Option<u32>,
    /// Sets the flag when so many runs were started, as Ctrl-C does.
    pub(crate) interrupts: Option<(usize, &'static AtomicBool)>,
}

impl Runner for Fake {
    fn run(&self, scenario: &Scenario, seed: u64, progress: &mut dyn Progress) -> Result<Finished, String> {
        let (nodes, k) = (scenario.nodes, scenario.protocol.capacity);
        let started = {
            let mut ran = self.ran.lock().unwrap();
            ran.push((nodes, k, seed));
            ran.len()
        };
        if let Some((_, flag)) = self.interrupts.filter(|(after, _)| started >= *after) {
            flag.store(true, Ordering::Relaxed);
        }
        progress.report(Time(1_000_000_000), 1);
        if self.refuses == Some(nodes) {
            return Err("too many nodes for the area".to_owned());
        }
        // Noise that two points with the same seed share.
        let noise = ((seed * 7919) % 101) as f64 / 101.0 - 0.5;
        let wait = f64::from(nodes) / f64::from(k) * (1.0 + 0.4 * noise) / 3.0;
        let breaks = self.breaks_at == Some(nodes);
        let storm = (self.storms_at == Some(nodes)).then(|| "storm at 1s: too many events".to_owned());
        let broken = BrokenRule {
            rule: "exclusion".to_owned(),
            times: 1,
            at_s: 1.5,
            node: Some(3),
            words: "two are inside".to_owned(),
        };
        let measures = [("wait.mean", wait), ("stuck", 0.0), ("entries", 1000.0), ("never", f64::NAN)];
        let measures = measures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let broken = if breaks { vec![broken] } else { Vec::new() };
        Ok(Finished { measures, broken, stopped: breaks || storm.is_some(), storm })
    }
}

impl Fake {
    pub(crate) fn sorted(&self) -> Vec<(u32, u32, u64)> {
        let mut ran = self.ran.lock().unwrap().clone();
        ran.sort_unstable();
        ran
    }
}

pub(crate) fn axis(key: &str, values: &[&str]) -> Axis {
    Axis { key: key.to_owned(), values: values.iter().map(|value| (*value).to_owned()).collect() }
}

/// 2 x 2 points, 3 replications.
pub(crate) fn spec() -> StudySpec {
    let axes = vec![axis("nodes", &["10", "20"]), axis("k", &["1", "2"])];
    StudySpec { axes, repeat: 3, seed: 100, ..StudySpec::default() }
}

pub(crate) fn plan(spec: &StudySpec) -> Plan {
    Plan::of("toy", spec, &Toy, "1.0.0+test").unwrap()
}

/// A directory that is not there yet, and goes away with the test.
pub(crate) struct Place(PathBuf);

pub(crate) fn place(name: &str) -> Place {
    let place = std::env::temp_dir().join(format!("meshlock-study-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    Place(place)
}

impl Deref for Place {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

pub(crate) fn conducted(plan: &Plan, place: &Path, fake: &Fake, jobs: usize, shard: Shard) -> Results {
    let store = Store::open(place, plan, Begin::GoOn).unwrap();
    let cancel = fake.interrupts.map_or(&NEVER, |(_, flag)| flag);
    conduct(plan, &store, fake, &Orders { jobs, shard, cancel }, &mut ()).unwrap()
}
