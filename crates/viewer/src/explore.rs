//! The states of a model, as a checker shows them: a way there, what may happen next, and what is promised.

use meshlock_trace::{Header, Record};
use serde::Serialize;

use crate::source::Refusal;

/// The states of a model.
pub trait Explore: Send + Sync {
    /// The model, what it promises, and how far the search has come.
    fn overview(&self) -> Overview;

    /// The state at the end of a path: at each step, which of the possible actions happens.
    fn at(&self, path: &[u32]) -> Result<Place, Refusal>;
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    pub model: String,
    pub command: String,
    /// What is promised, and what can be reached.
    pub properties: Vec<Property>,
    pub search: Search,
}

/// How far a search has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Search {
    /// Different states so far.
    pub states: u64,
    /// Steps from the start so far.
    pub depth: u32,
    pub done: bool,
    /// How, in words.
    pub verdict: String,
}

/// Something that is always so, or sometimes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Property {
    /// The name of the rule or situation.
    pub name: String,
    /// One sentence about it.
    pub words: String,
    pub kind: PropertyKind,
    /// What is known about it.
    pub state: PropertyState,
    /// A shortest path that shows it.
    pub path: Option<Vec<u32>>,
}

/// Always or sometimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PropertyKind {
    /// It must hold everywhere; a path is a counterexample.
    Always,
    /// It can be reached; a path is an example.
    Sometimes,
}

/// What is known about a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PropertyState {
    /// Nothing yet.
    Searching,
    /// It holds in all states that were searched.
    Holds,
    Broken,
    /// It can be reached.
    Found,
    /// It was not reached.
    NotFound,
    /// It is not promised here.
    NotWatched,
}

#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// The way there.
    pub path: Vec<u32>,
    /// The way there as a trace: its header ...
    pub header: Header,
    /// ... and its records.
    pub records: Vec<Record>,
    /// What may happen next, in the order of the numbers of a path.
    pub next: Vec<Next>,
    /// What is wrong here.
    pub broken: Option<BrokenRule>,
    /// Nothing is under way.
    pub quiet: bool,
}

/// Something that may happen next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Next {
    /// The step, as the page lists it.
    pub label: String,
    /// Where it happens.
    pub node: Option<u32>,
    /// It would break this rule.
    pub breaks: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenRule {
    pub rule: String,
    /// What it says.
    pub words: String,
    /// What was seen.
    pub what: String,
}
