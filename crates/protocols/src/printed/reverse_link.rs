//! The printed reverse-link algorithm, line by line, to be studied and never to be run on a network.
//!
//! Source: J.-R. Jiang, "Prioritized h-out of-k Resource Allocation for Mobile Ad Hoc Networks and Distributed
//! Systems", appendix. Names and line numbers are the paper's. It forgets requests, ignores priorities and loses units
//! in known ways (p1 to p14 of `docs/errata.md`); [`Repairs`] mends some of them one by one, because a defect can hide
//! behind another.
//!
//! Where the text can be read in two ways, we read it so (`docs/errata.md` has the reasons; [`Readings`] are others):
//!
//! | text | reading |
//! |---|---|
//! | enqueue inserts "at the rear", yet a front node is the most urgent | by priority, ties by arrival |
//! | `wait until t >= h` inside an atomic handler | the handler ends; [`Node`] remembers that it waits, and a RELEASE that brings enough units resumes at line 11 |
//! | the token is "preempted" from a waiting holder | the wait ends and nothing is put back, as printed (p1) |
//! | `sendTokenToFrontOfQ` | `giveTokenToFrontOfQ` |
//! | `giveTokenToFrontOfQ` with Q empty | nothing happens (no such state is known) |
//! | the minimum over an empty N, in `raiseHeight` and the `forward` procedures | nothing happens, nothing is sent (p11) |
//! | `(j, S) > (i, R)` | S > R, where R is what the application asked with, never aged |
//! | REQUEST 7 "at the front of Q" | the entry that line 2 has made is the first |
//! | UPDATE 2 "rearrange" | by priority; among equals each keeps its place |
//! | UPDATE 3-7 | only if line 1 holds; lines 3 and 6 are two conditions, so that both can apply |
//! | UPDATE 7 with Q empty | nothing happens; it cannot be, since j has moved past an entry that is still there |
//! | `htVector[next]` while `next` is the node itself | not above the own height |
//! | `delete(Q, j)` with several entries for j | all of them; UPDATE changes the first |
//!
//! The paper knows one request per node at a time and neither cancellation nor a change of priority by the application.

mod message;
mod network;
mod node;
mod procedures;
mod protocol;
mod readings;
mod repairs;

#[cfg(test)]
mod tests;

pub use message::{Body, Message};
pub use network::network;
pub use node::{Node, State};
pub use readings::{Reading, Readings};
pub use repairs::{Defect, Repairs};

use meshlock_core::vocabulary::Units;

/// What all nodes of a network agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Config {
    /// The paper's k.
    pub capacity: Units,
    /// The paper's epsilon: what `aging` adds to the priority of every queued request. Zero switches aging off.
    pub epsilon: u32,
    pub repairs: Repairs,
}

impl Config {
    /// The text as printed, with k units and no aging.
    pub const fn printed(k: u32) -> Self {
        Self { capacity: Units(k), epsilon: 0, repairs: Repairs::NONE }
    }

    /// The same with aging by `epsilon`.
    #[must_use]
    pub const fn aging(self, epsilon: u32) -> Self {
        Self { epsilon, ..self }
    }

    /// The same with one more defect repaired.
    #[must_use]
    pub fn repaired(self, defect: Defect) -> Self {
        Self { repairs: self.repairs.with(defect), ..self }
    }
}
