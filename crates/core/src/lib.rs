//! The protocols of meshlock as pure state machines: events in, effects out.
//!
//! Nothing in this crate does I/O, reads a clock, starts a thread, draws a random number or depends on a hash order.
//! The same types run in the checker, in the simulator and on a network, so what was explored is what is deployed.
//!
//! | module | what it is |
//! |---|---|
//! | [`vocabulary`] | nodes, requests, demands, grants, ranks: the words all protocols share |
//! | [`slots`] | the numbers of units |
//! | [`protocol`] | the one trait, its events and effects, and the two kinds of mistakes |
//! | [`among`] | several protocols behind one type |
//! | [`view`] | what a property, a trace or a viewer may see of a node |
//! | [`counters`] | how the checker keeps growing numbers from making its space infinite |
//! | [`reverse_link`] | Jiang: prioritized h-out-of-k over a reverse-link graph |
//! | [`flood`] | the PSAR report: Suzuki-Kasami by flooding |
//! | [`group`] | Swaroop and Singh: prioritized group mutual exclusion |
//! | [`relay`] | any-to-any messages over neighbour links |
//! | [`recovery`] | who is gone, what is lost with them, and how it is made anew |
//!
//! The printed texts and the classics to compare with are in the crate `meshlock-protocols`: no node can run them.

#![no_std]
#![warn(missing_docs)]
extern crate alloc;

pub mod among;
pub mod counters;
pub mod flood;
pub mod group;
#[doc(hidden)]
pub mod planted;
pub mod protocol;
pub mod recovery;
pub mod relay;
pub mod reverse_link;
pub mod slots;
mod sorted;
pub mod view;
pub mod vocabulary;

pub use protocol::{Delay, Effect, Event, Misuse, Protocol, Rejection, Timer};
pub use slots::Slots;
pub use view::View;
pub use vocabulary::{
    Aging, Deadline, Demand, Fence, Grant, GrantId, NodeId, Order, Priority, Rank, RequestId, Session, Units, Urgency,
};
