//! The commands that ask a node, run from the outside against a node in this process.

mod bundles;
mod codes;
mod losses;
mod nesting;
mod others;
mod signals;
pub(crate) mod world;
