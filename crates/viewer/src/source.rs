//! What is looked at, and what one may do there.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use meshlock_core::NodeId;
use meshlock_trace::Position;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::explore::Explore;
use crate::tape::Tape;

/// What the page looks at: a file, a simulation, a mesh or a model.
pub trait Source: Send + Sync + 'static {
    /// What it is, and what one may do here.
    fn about(&self) -> About;

    /// What can be seen, in the order of [`About::tapes`]. A tape keeps its place for good.
    fn tapes(&self) -> Vec<Arc<Tape>>;

    /// Changes whenever [`Self::about`], [`Self::tapes`], [`Self::playing`] or [`Self::condition`] may have changed. Tapes tell of their own
    /// growth.
    fn changes(&self) -> watch::Receiver<u64>;

    /// How a live simulation goes.
    fn playing(&self) -> Option<Playing> {
        None
    }

    /// How nodes are that recover from crashes, beyond what tapes tell. Asked often: it must be at hand.
    fn condition(&self) -> Condition {
        Condition::default()
    }

    /// Carries out an action. A source that cannot says why, and what would help.
    fn act(&self, action: Action) -> Acting<'_> {
        let _ = action;
        Box::pin(async { Err(Refusal::new("nothing can be done here: this is a recording")) })
    }

    /// The states of a model, where a model is looked at.
    fn explore(&self) -> Option<&dyn Explore> {
        None
    }
}

/// What comes of an action.
pub type Acting<'a> = Pin<Box<dyn Future<Output = Result<Done, Refusal>> + Send + 'a>>;

/// What a source is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct About {
    /// Of the program.
    pub version: String,
    pub source: Kind,
    /// A file, a scenario, a mesh, a model.
    pub title: String,
    /// One for each resource; one in all for other sources; none for a check.
    pub tapes: Vec<TapeName>,
    /// What one may do here: the names of [`Action`]s.
    pub can: Vec<&'static str>,
    /// What else should be known.
    pub notes: Vec<String>,
}

/// The kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A file.
    Trace,
    /// A simulation that runs.
    Sim,
    /// Nodes that are up.
    Mesh,
    /// A model.
    Check,
}

/// The name of a tape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TapeName {
    /// The resource, where there are several.
    pub name: String,
}

/// How a live simulation goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Playing {
    pub paused: bool,
    /// Simulated seconds per second.
    pub speed: f64,
    /// Where it is, in nanoseconds.
    pub now: u64,
    /// The scenario is over.
    pub over: bool,
    /// Metres, where there is a radio.
    pub range: Option<f64>,
    /// How many times as fast as the scenario says nodes move.
    pub pace: f64,
    /// The command that runs this again, with everything that was done.
    pub replay: Option<String>,
}

/// How the nodes of a live mesh are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// Nodes that grant nothing now, and why.
    pub suspended: Vec<(NodeId, String)>,
    pub repair: Option<Repair>,
}

/// A repair after a crash that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// Who makes lost tokens anew when all reports are there.
    pub heir: Option<NodeId>,
    /// Whose reports are missing, the first of them.
    pub missing: Vec<NodeId>,
    /// Nothing is missing but the word of the voters.
    pub asks_voters: bool,
}

/// An action that a user wants.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Action {
    /// Time goes on.
    Play,
    /// Time stands still.
    Pause,
    /// So many events, while paused.
    Step { events: u32 },
    /// Simulated seconds per second.
    Speed { factor: f64 },
    /// A node is put somewhere else, and stays there.
    Move { node: NodeId, to: Position },
    /// A link is cut or restored.
    Link {
        between: (NodeId, NodeId),
        /// Whether it is to be there.
        up: bool,
    },
    /// A node comes.
    Add {
        /// Where, in a network with places.
        at: Option<Position>,
    },
    /// A node goes.
    Remove { node: NodeId },
    /// A node crashes: no goodbye.
    Kill { node: NodeId },
    /// A node that crashed is started again.
    Restart { node: NodeId },
    /// The range of the radio.
    Range { metres: f64 },
    /// How fast nodes move.
    Pace {
        /// How many times as fast as the scenario says.
        factor: f64,
    },
    /// A client asks for the resource of a tape.
    Request { tape: usize, node: NodeId, units: u32, priority: i32, session: Option<u64> },
    /// A client gives back a grant, or gives up a request that waits.
    Release { tape: usize, node: NodeId, request: u64 },
}

/// What came of an action: the node that was added, the request that was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Done {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
}

/// Why something cannot be done, and what would help, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl Refusal {
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}
