//! How a mesh recovers from crashes: who is gone, what is lost with them, and how it is made anew.
//!
//! | module | what it is |
//! |---|---|
//! | [`census`] | who came and who is gone: one count for each member that only grows |
//! | [`row`] | what one node knows of one resource at the moment its census grows |
//! | [`keeper`] | one node's census, the reports of all others, and the decision of the heir |
//! | [`voters`] | who says that a node is gone which does not come back, and who may decide |
//!
//! `docs/recovery.md` explains the rules and what breaks without each of them. In short: facts about who is gone merge by
//! maximum, so no order has to be agreed on. On every link the census goes ahead of everything else; so the reports of
//! all living members *of one and the same census* are a consistent cut, and show for certain whether a token is alive.
//! If it is not, the heir makes it anew, once. A token at a living node is never stopped, moved or renumbered.

#![cfg_attr(feature = "mutants", allow(unused_imports, reason = "`bug.rs` shadows the methods of `Rules`"))]

#[cfg(feature = "mutants")]
mod bug;
pub mod census;
pub mod keeper;
pub mod row;
mod shared;
#[cfg(test)]
pub(crate) mod stage;
pub mod voters;

#[cfg(feature = "mutants")]
pub use bug::Bug;
pub use census::{Census, Member};
pub use keeper::{Keeper, Report, Resource};
pub use row::{Picture, Remake, Row};
