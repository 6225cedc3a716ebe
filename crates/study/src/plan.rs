//! From the `[study]` part of a file to the points that are run: axes crossed, zipped and sieved.

mod quantity;
mod sieve;

use meshlock_report::shell::quoted;
use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::{Axis, Compare, PlotSpec, Stop, StudySpec};

use crate::identity::{run_hash, scenario_hash};
use crate::subject::{Setting, Subject};

pub use self::quantity::{Quantity, quantity};

/// A study, ready to be run.
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
    /// Replications of each point, at least.
    pub repeat: u32,
    /// The seed of replication 0; replication r of every point has this plus r.
    pub seed: u64,
    /// Whether and how long replications are added.
    pub stop: Option<Stop>,
    pub plots: Vec<PlotSpec>,
    /// Paired comparisons.
    pub compare: Vec<Compare>,
    pub code_version: String,
}

/// An axis with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its name in tables: the key it sets.
    pub name: String,
    /// Its values, in the order of the file.
    pub values: Vec<Step>,
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name in tables.
    pub label: String,
    /// The keys it sets.
    pub settings: Vec<Setting>,
}

/// One combination of values.
#[derive(Clone, Debug)]
pub struct Point {
    /// The name of each axis and the label of its value.
    pub labels: Vec<(String, String)>,
    /// The keys it sets.
    pub settings: Vec<Setting>,
    pub scenario: Scenario,
    /// Everything that decides a run apart from the seed.
    pub canonical: String,
    /// The name of the scenario.
    pub scenario_hash: String,
}

/// Why a study cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// An axis that is zipped, plotted or compared does not exist.
    #[error("{place} names the axis `{name}`, but the axes are: {known}")]
    UnknownAxis { place: String, name: String, known: String },
    /// An axis without values makes a study without points.
    #[error("the axis `{0}` has no values")]
    EmptyAxis(String),
    /// Two axes or values of the same name cannot be told apart in tables.
    #[error("{0} is given twice")]
    Twice(String),
    /// Axes that go together step by step need the same number of steps.
    #[error("axes that are zipped need the same number of values: {0}")]
    UnequalZip(String),
    /// An axis can go together with one set of others only.
    #[error("the axis `{0}` is zipped twice")]
    ZippedTwice(String),
    #[error("compare along `{axis}`: `{baseline}` is not one of its values: {known}")]
    UnknownBaseline { axis: String, baseline: String, known: String },
    #[error("the constraint `{constraint}`: {why}")]
    Constraint { constraint: String, why: String },
    #[error("no point of the study meets its constraints")]
    NothingLeft,
    #[error("`repeat` is 0: nothing would be run")]
    NoRepetitions,
    #[error("at {point}: {why}")]
    Point { point: String, why: String },
}

impl Plan {
    /// Expands a study.
    pub fn of(name: &str, spec: &StudySpec, subject: &dyn Subject, code_version: &str) -> Result<Self, PlanError> {
        if spec.repeat == 0 {
            return Err(PlanError::NoRepetitions);
        }
        let axes: Vec<Dimension> = spec.axes.iter().map(Dimension::of).collect();
        check_axes(&axes)?;
        let mut points = Vec::new();
        for combination in combinations(&axes, &groups(&axes, &spec.zip)?) {
            if let Some(point) = point(&axes, &combination, spec, subject)? {
                points.push(point);
            }
        }
        if points.is_empty() {
            return Err(PlanError::NothingLeft);
        }
        let plan = Self {
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
        };
        plan.check_names()?;
        Ok(plan)
    }

    /// The seed of a replication: the same for every point, so that points differ by what was varied and not by luck.
    pub fn seed_of(&self, replication: u32) -> u64 {
        self.seed.wrapping_add(replication.into())
    }

    /// The name of a run.
    pub fn run_hash(&self, point: &Point, replication: u32) -> String {
        run_hash(&self.code_version, self.seed_of(replication), &point.canonical)
    }

    /// The most replications a point can get.
    pub fn most(&self) -> u32 {
        self.stop.as_ref().map_or(self.repeat, |stop| stop.most.max(self.repeat))
    }

    /// The axis of this name.
    pub fn axis(&self, name: &str) -> Option<&Dimension> {
        self.axes.iter().find(|axis| axis.name == name)
    }

    /// An axis and those that go together with it.
    pub fn zipped_with(&self, axis: &str) -> Vec<String> {
        let together = self.zip.iter().find(|names| names.iter().any(|name| name == axis));
        together.cloned().unwrap_or_else(|| vec![axis.to_owned()])
    }

    /// Everything that plots and comparisons name must exist.
    fn check_names(&self) -> Result<(), PlanError> {
        for plot in &self.plots {
            for name in std::iter::once(&plot.x).chain(&plot.lines) {
                known(&self.axes, name, &format!("the plot `{}`", plot.title))?;
            }
        }
        for compare in &self.compare {
            let axis = known(&self.axes, &compare.axis, "a comparison")?;
            let baseline = label(&compare.baseline);
            if !axis.values.iter().any(|value| value.label == baseline) {
                let known = axis.values.iter().map(|value| value.label.as_str()).collect::<Vec<_>>().join(", ");
                return Err(PlanError::UnknownBaseline { axis: axis.name.clone(), baseline, known });
            }
        }
        Ok(())
    }
}

impl Dimension {
    fn of(axis: &Axis) -> Self {
        let step = |value: &String| Step { label: label(value), settings: vec![(axis.key.clone(), value.clone())] };
        Self { name: axis.key.clone(), values: axis.values.iter().map(step).collect() }
    }
}

impl Point {
    /// The label on an axis.
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

fn check_axes(axes: &[Dimension]) -> Result<(), PlanError> {
    for (place, axis) in axes.iter().enumerate() {
        if axis.values.is_empty() {
            return Err(PlanError::EmptyAxis(axis.name.clone()));
        }
        if axes[..place].iter().any(|earlier| earlier.name == axis.name) {
            return Err(PlanError::Twice(format!("the axis `{}`", axis.name)));
        }
        for (at, value) in axis.values.iter().enumerate() {
            if axis.values[..at].iter().any(|earlier| earlier.label == value.label) {
                return Err(PlanError::Twice(format!("the value `{}` of the axis `{}`", value.label, axis.name)));
            }
        }
    }
    Ok(())
}

fn known<'a>(axes: &'a [Dimension], name: &str, place: &str) -> Result<&'a Dimension, PlanError> {
    axes.iter().find(|axis| axis.name == name).ok_or_else(|| {
        let known = match axes {
            [] => "none".to_owned(),
            axes => axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", "),
        };
        PlanError::UnknownAxis { place: place.to_owned(), name: name.to_owned(), known }
    })
}

/// Axes that advance together, by their places; an axis that is not zipped is alone. In the order of their first axis.
fn groups(axes: &[Dimension], zip: &[Vec<String>]) -> Result<Vec<Vec<usize>>, PlanError> {
    let mut group_of: Vec<Option<usize>> = vec![None; axes.len()];
    for (number, names) in zip.iter().enumerate() {
        let mut lengths = Vec::new();
        for name in names {
            let axis = known(axes, name, "zip")?;
            lengths.push((&axis.name, axis.values.len()));
            for (other, slot) in axes.iter().zip(&mut group_of) {
                if other.name == axis.name && slot.replace(number).is_some() {
                    return Err(PlanError::ZippedTwice(axis.name.clone()));
                }
            }
        }
        if lengths.windows(2).any(|pair| pair[0].1 != pair[1].1) {
            let list = lengths.iter().map(|(name, length)| format!("`{name}` has {length}"));
            return Err(PlanError::UnequalZip(list.collect::<Vec<_>>().join(", ")));
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in 0..axes.len() {
        let same = |group: &Vec<usize>| group_of[place].is_some() && group_of[group[0]] == group_of[place];
        match groups.iter_mut().find(|group| same(group)) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    Ok(groups)
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
