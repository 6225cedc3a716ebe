//! The commands that ask a node, run from the outside against a node in this process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod codes;
mod losses;
mod others;
mod signals;
#[path = "../terminal/mod.rs"]
mod terminal;
mod world;
