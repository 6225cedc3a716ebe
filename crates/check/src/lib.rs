//! Explores the node types of `meshlock-core` on small networks: every interleaving, or long random walks.
//!
//! A [`Model`] says which nodes there are, how they are connected and what the world around them may do. An
//! [`Explorer`] visits every state of it and reports the first broken rule with a shortest [`Counterexample`].
//!
//! | module | what it is |
//! |---|---|
//! | [`topology`] | the shapes of small networks, and how they are written |
//! | [`model`] | nodes, network, workload and budgets: what is explored |
//! | [`action`] | what the world may do next |
//! | [`members`] | crashes, restarts, removals, declarations: what happens to members that recover |
//! | [`finding`] | what can be wrong |
//! | [`counterexample`] | a run that shows what is wrong, step by step, and as text |
//! | [`examples`] | shortest runs to situations that help to understand a model |
//! | [`explore`] | breadth first and depth first |
//! | [`stepper`] | one step at a time, along a path that the caller chooses |
//! | [`plain`] | breadth first over any values, for what runs beside the protocols |
//! | [`bundles`] | several resources, all or none, explored that way |
//! | [`voters`] | voters, standing and lists, explored that way |
//! | [`walk`] | seeded random walks on larger networks |
//! | [`report`] | progress, outcome and verdict |
//!
//! Inside, a state is a short row of numbers: every node state, channel content, environment and history is stored
//! once (`intern.rs`) and known by its number. `handle` is pure, so a step of one node is computed once
//! and then looked up. That makes an exact set of visited states affordable.

pub mod action;
mod bits;
pub mod bundles;
mod canonical;
mod clock;
mod components;
pub mod counterexample;
mod enabled;
mod environment;
pub mod examples;
pub mod explore;
pub mod finding;
mod graph;
mod intern;
mod layout;
mod liveness;
mod local;
pub mod members;
pub mod model;
mod parallel;
mod parts;
pub mod plain;
mod random;
mod render;
pub mod report;
mod space;
pub mod spec;
pub mod stepper;
mod store;
pub mod suite;
mod sweep;
pub mod topology;
pub mod trial;
pub mod voters;
pub mod walk;
mod watch;

#[cfg(test)]
mod testing;

pub use action::Action;
pub use counterexample::Counterexample;
pub use examples::{ExampleLimits, Situation};
pub use explore::{Explorer, Options, Search};
pub use finding::Finding;
pub use members::{Careless, Incident, MemberBudgets};
pub use meshlock_protocols::{Name, Text};
pub use model::{Budgets, Failing, Medium, Model, ModelError, Pick, Timers, Work, Workload};
pub use report::{Broken, Observer, Outcome, Progress, Silent, Verdict};
pub use spec::{Recovery, Spec, SpecError};
pub use stepper::{StepError, Stepper};
pub use topology::{Link, Topology};
pub use trial::{Limits, Report, Shown, Trial, Way};
pub use walk::{Rates, WalkCounts, WalkOptions, WalkOutcome, Walker};
