//! The protocols of meshlock as pure state machines: events in, effects out.
//!
//! Nothing in this crate does I/O, reads a clock, starts a thread, draws a random number or depends on a hash order.
//! The same types run in the checker, in the simulator and on a network, so what was explored is what is deployed.
//!
//! | module | what it is |
//! |---|---|
//! | [`vocabulary`] | nodes, requests, demands, grants, ranks: the words all protocols share |
//! | [`protocol`] | the one trait, its events and effects, and the two kinds of mistakes |
//! | [`view`] | what a property, a trace or a viewer may see of a node |
//! | [`counters`] | how the checker keeps growing numbers from making its space infinite |
//! | [`repairs`] | which defects of a printed text are repaired |
//! | [`reverse_link`] | Jiang: prioritized h-out-of-k over a reverse-link graph; `published` and the default |
//! | [`flood`] | the PSAR report: Suzuki-Kasami by flooding; `published` and `repaired` |
//! | [`group`] | Swaroop and Singh: prioritized group mutual exclusion; `published` and `repaired` |
//! | [`relay`] | any-to-any messages over neighbour links |
//! | [`baselines`] | the classics to compare with, each as its authors meant it: central, Raymond, and so on |
//!
//! The `published` variants follow the printed pseudo-code to the letter and are wrong in known ways (see
//! `docs/errata.md`). They are here to be studied, never to be run on a network.

#![no_std]
extern crate alloc;

pub mod baselines;
pub mod counters;
pub mod flood;
pub mod group;
pub mod planted;
pub mod protocol;
pub mod relay;
pub mod repairs;
pub mod reverse_link;
pub mod view;
pub mod vocabulary;

pub use planted::Planted;
pub use protocol::{Delay, Effect, Event, Misuse, Protocol, Rejection, Timer};
pub use view::View;
pub use vocabulary::{
    Aging, Deadline, Demand, Fence, Grant, GrantId, NodeId, Order, Priority, Rank, RequestId, Session, Units, Urgency,
};
