//! `--json`: the same results for programs. Fields are only ever added.

use meshlock_check::suite::{Entry, Expected};
use meshlock_check::{Search, Spec, Text, Way};
use meshlock_properties::Rule;
use serde::Serialize;

use super::job::{Done, Judgement};

pub(super) use meshlock_cli::output::json as print;

#[derive(Debug, Serialize)]
pub(super) struct Model<'a> {
    name: &'a str,
    #[serde(flatten)]
    what: What<'a>,
    /// `holds`, `violated`, `state limit`, `depth limit`, `time limit`, `memory limit` or `cancelled`.
    verdict: &'static str,
    /// Without a standard model nothing is expected.
    expected: Option<ExpectedJson>,
    /// Unknown if a limit or Ctrl-C ended the run.
    as_expected: Option<bool>,
    rule: Option<&'static str>,
    broken: Option<&'a str>,
    /// Steps to the broken rule.
    steps: Option<usize>,
    /// The same where Ctrl-C ended the search for the run that breaks it.
    broken_at: Option<u32>,
    /// How many of the last steps repeat forever.
    cycle: Option<usize>,
    /// The seed of the walk that breaks the rule.
    seed: Option<u64>,
    numbers: NumbersJson,
    seconds: f64,
    trace: Option<&'a str>,
    replay: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct What<'a> {
    protocol: &'static str,
    variant: &'static str,
    repairs: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    readings: &'a [String],
    topology: String,
    search: &'static str,
    graph: bool,
}

#[derive(Debug, Serialize)]
struct ExpectedJson {
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grants: Option<u64>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum NumbersJson {
    Explored { states: u64, unique: u64, depth: u32, frontier: u64, bytes: u64, unique_per_second: f64 },
    Walked { walks: u64, steps: u64, deliveries: u64, grants: u64, link_changes: u64 },
}

impl<'a> What<'a> {
    fn of(spec: &'a Spec, way: &Way) -> Self {
        let (variant, repairs) = match &spec.text {
            Text::Repaired => ("repaired", &[][..]),
            Text::Published { repairs } => ("published", repairs.as_slice()),
        };
        let (search, graph) = match way {
            Way::Explore { search: Search::BreadthFirst, graph, .. } => ("breadth-first", *graph),
            Way::Explore { search: Search::DepthFirst, graph, .. } => ("depth-first", *graph),
            Way::Walk { .. } => ("walk", false),
        };
        let (readings, topology) = (spec.readings.as_slice(), spec.topology.to_string());
        Self { protocol: spec.subject.name(), variant, repairs, readings, topology, search, graph }
    }
}

impl<'a> From<&'a Done> for Model<'a> {
    fn from(done: &'a Done) -> Self {
        let broken = done.report.broken.as_ref();
        let progress = done.report.progress;
        let numbers = match done.report.walked {
            None => NumbersJson::Explored {
                states: progress.generated,
                unique: progress.unique,
                depth: progress.depth,
                frontier: progress.frontier,
                bytes: progress.bytes,
                unique_per_second: progress.rate(),
            },
            Some(counts) => NumbersJson::Walked {
                walks: counts.walks,
                steps: counts.steps,
                deliveries: counts.deliveries,
                grants: counts.grants,
                link_changes: counts.link_changes,
            },
        };
        Self {
            name: &done.job.name,
            what: What::of(&done.job.trial.spec, &done.job.trial.way),
            verdict: done.report.verdict.name(),
            expected: done.job.entry.as_ref().map(|entry| (&entry.expected).into()),
            as_expected: match done.judgement {
                Judgement::AsExpected => Some(true),
                Judgement::Surprise => Some(false),
                Judgement::Holds | Judgement::Broken | Judgement::CutShort | Judgement::Cancelled => None,
            },
            rule: broken.and_then(|shown| shown.rule).map(Rule::name),
            broken: broken.map(|shown| shown.what.as_str()),
            steps: broken.map(|shown| shown.steps),
            broken_at: progress.broken_at,
            cycle: broken.and_then(|shown| shown.cycle),
            seed: broken.and_then(|shown| shown.seed),
            numbers,
            seconds: progress.elapsed.as_secs_f64(),
            trace: done.trace.as_deref(),
            replay: done.replay.as_deref(),
        }
    }
}

impl From<&Expected> for ExpectedJson {
    fn from(expected: &Expected) -> Self {
        let holds = Self { verdict: "holds", rule: None, steps: None, unique: None, grants: None };
        match expected {
            Expected::Holds { unique } => Self { unique: Some(*unique), ..holds },
            Expected::Walks { grants } => Self { grants: Some(*grants), ..holds },
            Expected::Breaks { rule, steps } => {
                Self { verdict: "violated", rule: Some(rule.name()), steps: Some(*steps), ..holds }
            }
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Listed<'a> {
    name: &'a str,
    about: &'a str,
    #[serde(flatten)]
    what: What<'a>,
    expected: ExpectedJson,
}

impl<'a> From<&'a Entry> for Listed<'a> {
    fn from(entry: &'a Entry) -> Self {
        let what = What::of(&entry.trial.spec, &entry.trial.way);
        Self { name: entry.name, about: entry.about, what, expected: (&entry.expected).into() }
    }
}
