//! Nodes that crash, and how the mesh recovers.

use crate::distribution::Distribution;
use crate::time::Span;

/// Which nodes crash when, when they return, and how the mesh recovers. All times are of a node that runs: one that is
/// down does not crash.
#[derive(Clone, Debug, PartialEq)]
pub struct Crashes {
    /// Crashes of each node per hour, at random times.
    pub per_hour: f64,
    /// From a random crash to the return, in seconds.
    pub back: Distribution,
    /// The share of random crashes after which the node never returns.
    pub never: f64,
    pub script: Vec<ScriptedCrash>,
    /// How long a client may hold on after its node last renewed its lease; it renews three times in that.
    pub lease: Span,
    /// What a node that returns believes the leases of its former clients to be. It must not be less than they are.
    pub believed_lease: Span,
    pub recovery: Recovery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedCrash {
    pub at: Span,
    pub node: u32,
    /// When it returns; `None`: never.
    pub back: Option<Span>,
}

/// What brings back that a node is gone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recovery {
    /// Nothing: who crashed stays away, with all that it had.
    None,
    /// Its return, which proves that its former self is gone; or an operator.
    Restart {
        /// How long after its crash an operator removes a node that never returns.
        removal: Span,
    },
    /// These, or its return.
    Voters(Voting),
}

/// Voters are the first nodes of the mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Voting {
    pub voters: u32,
    /// The standing T: how long a node may act after a majority of voters heard it.
    pub standing: Span,
    /// The wait W of a voter that hears nothing of a node. It must be longer than T on every clock.
    pub wait: Span,
    /// How far the rate of a clock may be from the true one: 0.001 is a second in a thousand.
    pub drift: f64,
}

impl Voting {
    /// With the wait that is safe for every drift up to [`Self::MOST_DRIFT`]: 1.02 T + 0.2 s.
    pub fn new(voters: u32, standing: Span, drift: f64) -> Self {
        let wait = Span::from_seconds(1.02 * standing.seconds() + 0.2);
        Self { voters, standing, wait, drift }
    }

    /// W must exceed T (1 + drift) / (1 - drift).
    pub const MOST_DRIFT: f64 = 0.009;

    pub fn majority(&self) -> usize {
        self.voters as usize / 2 + 1
    }
}
