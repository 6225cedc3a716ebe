//! From the `[study]` part of a file to the points that are run: axes crossed, zipped and sieved.

mod quantity;
mod sieve;

use meshlock_report::shell::quoted;
use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::{Axis, Compare, PlotSpec, Stop, StudySpec};

use crate::identity::{run_hash, scenario_hash};
use crate::subject::{Setting, Subject};

pub use self::quantity::{Quantity, quantity};

#[derive(Clone, Debug)]
pub struct Plan {
    /// The name of the file without its ending: the `experiment` of all results.
    pub name: String,
    /// What varies, in the order of the file.
    pub axes: Vec<Dimension>,
    /// Sets of axes that go together.
    pub zip: Vec<Vec<String>>,
    /// Every combination that is run; the last axis varies fastest.
    pub points: Vec<Point>,
    pub repeat: u32,
    /// The seed of replication 0; replication r of every point has this plus r.
    pub seed: u64,
    /// Whether and how long replications are added.
    pub stop: Option<Stop>,
    pub plots: Vec<PlotSpec>,
    pub compare: Vec<Compare>,
    pub code_version: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its name in tables: the key it sets.
    pub name: String,
    /// Its values, in the order of the file.
    pub values: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name in tables.
    pub label: String,
    pub settings: Vec<Setting>,
}

#[derive(Clone, Debug)]
pub struct Point {
    /// The name of each axis and the label of its value.
    pub labels: Vec<(String, String)>,
    pub settings: Vec<Setting>,
    pub scenario: Scenario,
    /// Everything that decides a run apart from the seed.
    pub canonical: String,
    pub scenario_hash: String,
}

/// Why a study cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Two values of the same name, such as `1` and `"1"`, cannot be told apart in tables.
    #[error("the value `{value}` of the axis `{axis}` is given twice")]
    Twice { axis: String, value: String },
    #[error("the constraint `{constraint}`: {why}")]
    Constraint { constraint: String, why: String },
    #[error("no point of the study meets its constraints")]
    NothingLeft,
    #[error("at {point}: {why}")]
    Point { point: String, why: String },
}

impl Plan {
    /// Expands a study; that what it names exists and zipped axes fit was checked where its file was read.
    pub fn of(name: &str, spec: &StudySpec, subject: &dyn Subject, code_version: &str) -> Result<Self, PlanError> {
        let axes: Vec<Dimension> = spec.axes.iter().map(Dimension::of).collect();
        check_labels(&axes)?;
        let mut points = Vec::new();
        for combination in combinations(&axes, &groups(&axes, &spec.zip)) {
            if let Some(point) = point(&axes, &combination, spec, subject)? {
                points.push(point);
            }
        }
        if points.is_empty() {
            return Err(PlanError::NothingLeft);
        }
        Ok(Self {
            name: name.to_owned(),
            axes,
            zip: spec.zip.clone(),
            points,
            repeat: spec.repeat,
            seed: spec.seed,
            stop: spec.stop.clone(),
            plots: spec.plots.clone(),
            compare: spec.compare.clone(),
            code_version: code_version.to_owned(),
        })
    }

    /// The seed of a replication: the same for every point, so that points differ by what was varied and not by luck.
    pub fn seed_of(&self, replication: u32) -> u64 {
        self.seed.wrapping_add(replication.into())
    }

    pub fn run_hash(&self, point: &Point, replication: u32) -> String {
        run_hash(&self.code_version, self.seed_of(replication), &point.canonical)
    }

    /// The most replications a point can get.
    pub fn most(&self) -> u32 {
        self.stop.as_ref().map_or(self.repeat, |stop| stop.most.max(self.repeat))
    }

    pub fn axis(&self, name: &str) -> Option<&Dimension> {
        self.axes.iter().find(|axis| axis.name == name)
    }

    /// An axis and those that go together with it.
    pub fn zipped_with(&self, axis: &str) -> Vec<String> {
        let together = self.zip.iter().find(|names| names.iter().any(|name| name == axis));
        together.cloned().unwrap_or_else(|| vec![axis.to_owned()])
    }
}

impl Dimension {
    fn of(axis: &Axis) -> Self {
        let step = |value: &String| Step { label: label(value), settings: vec![(axis.key.clone(), value.clone())] };
        Self { name: axis.key.clone(), values: axis.values.iter().map(step).collect() }
    }
}

impl Point {
    pub fn label(&self, axis: &str) -> Option<&str> {
        self.labels.iter().find(|(name, _)| name == axis).map(|(_, label)| label.as_str())
    }

    /// `nodes=10 speed=5`; a study without axes has one point without a name.
    pub fn name(&self) -> String {
        name_of(&self.labels)
    }
}

/// What is shown of a TOML value: a text without its quotes.
pub fn label(value: &str) -> String {
    let inner = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value).to_owned()
}

/// The option that sets a key on the command line, with a space before it.
pub fn set_option(key: &str, value: &str) -> String {
    format!(" --set {}", quoted(&format!("{key}={}", label(value))))
}

fn name_of(labels: &[(String, String)]) -> String {
    if labels.is_empty() {
        return "the only point".to_owned();
    }
    labels.iter().map(|(axis, label)| format!("{axis}={label}")).collect::<Vec<_>>().join(" ")
}

fn check_labels(axes: &[Dimension]) -> Result<(), PlanError> {
    for axis in axes {
        for (at, Step { label, .. }) in axis.values.iter().enumerate() {
            if axis.values[..at].iter().any(|earlier| earlier.label == *label) {
                return Err(PlanError::Twice { axis: axis.name.clone(), value: label.clone() });
            }
        }
    }
    Ok(())
}

/// Axes that advance together, by their places; an axis that is not zipped is alone. In the order of their first axis.
fn groups(axes: &[Dimension], zip: &[Vec<String>]) -> Vec<Vec<usize>> {
    let set_of = |place: usize| zip.iter().position(|names| names.contains(&axes[place].name));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in 0..axes.len() {
        let same = |group: &Vec<usize>| set_of(place).is_some() && set_of(group[0]) == set_of(place);
        match groups.iter_mut().find(|group| same(group)) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

/// For every point: which value each axis takes.
fn combinations(axes: &[Dimension], groups: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![0; axes.len()]];
    for group in groups {
        let steps = axes[group[0]].values.len();
        let mut longer = Vec::with_capacity(all.len() * steps);
        for combination in &all {
            for step in 0..steps {
                let mut next = combination.clone();
                group.iter().for_each(|&axis| next[axis] = step);
                longer.push(next);
            }
        }
        all = longer;
    }
    all
}

/// The point of a combination, unless a constraint leaves it out.
fn point(
    axes: &[Dimension],
    combination: &[usize],
    spec: &StudySpec,
    subject: &dyn Subject,
) -> Result<Option<Point>, PlanError> {
    let steps = || axes.iter().zip(combination).map(|(axis, &step)| (axis, &axis.values[step]));
    let labels: Vec<(String, String)> = steps().map(|(axis, step)| (axis.name.clone(), step.label.clone())).collect();
    let settings: Vec<Setting> = steps().flat_map(|(_, step)| step.settings.clone()).collect();
    let wrong = |why| PlanError::Point { point: name_of(&labels), why };
    for constraint in &spec.constraints {
        let value = |key: &str| subject.value(&settings, key).map_err(wrong);
        if !sieve::holds(constraint, &labels, value)? {
            return Ok(None);
        }
    }
    let (scenario, canonical) = subject.resolve(&settings).map_err(wrong)?;
    let scenario_hash = scenario_hash(&canonical);
    Ok(Some(Point { labels, settings, scenario, canonical, scenario_hash }))
}

#[cfg(test)]
mod tests;
