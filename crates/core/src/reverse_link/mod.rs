//! Prioritized h-out-of-k over a reverse-link graph (Jiang), and what we run instead of the printed text.
//!
//! One token per resource. Every node has a [`Height`]; links point from the higher node to the lower, and the holder
//! is the lowest, so that a claim sent downwards finds the token. It leaves its way behind in the queues, and the
//! token comes back along it to the most urgent claim. When a link fails and a node has no way down, it turns its
//! links round.
//!
//! ```text
//!      ask        ask                       ask behind
//!   c -----> b -----> a (token)      a -----------------> b      token and ask travel as one message;
//!   c  <----  b  <---- a             token(ledger, pass)         b passes it on to c and asks c for a
//! ```
//!
//! Differences from the paper, each because a shorter rule was found to fail (`docs/errata.md`):
//! one queue, one outstanding ask, and every event ends in the same `settle`; the token carries a ledger instead of a
//! count, so that a release is idempotent; releases are kept until confirmed; a token transfer is numbered and a copy
//! is kept until it has arrived; a node looks for the token before it turns links, so that a part of the network
//! without the token falls silent; the token moves only to where it can be used; grants have fences; requests may
//! belong to sessions; the capacity can change; a node can leave in order. It runs in partitions, and on links that lose
//! what is in flight when they fail.
//!
//! `rules.rs` lists the rules by name, `settle.rs` has their bodies, `node.rs` the state and the events.

#![cfg_attr(feature = "mutants", allow(unused_imports, reason = "`bug.rs` shadows the methods of `Rules`"))]

mod application;
#[cfg(feature = "mutants")]
mod bug;
mod capacity;
mod custody;
mod height;
mod message;
mod news;
mod node;
mod peers;
mod questions;
mod queue;
mod recovery;
mod rules;
mod settle;
mod token;
mod traits;

#[cfg(feature = "mutants")]
pub use bug::Bug;
pub use capacity::Capacity;
pub use height::Height;
pub use message::{Body, Message};
pub use node::{Config, Node};
pub use peers::MOST_UNCONFIRMED;
pub use questions::{About, Inquiry, News};
pub use queue::Claim;
pub use recovery::Picture;
pub use token::{Loan, MOST_LOANS, Owed, Token};
