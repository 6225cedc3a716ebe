//! All integration tests of this crate in one program: each program is linked with everything.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crashes;
mod engine;
mod held_back;
mod import_traces;
mod recording;
mod scenario_files;
