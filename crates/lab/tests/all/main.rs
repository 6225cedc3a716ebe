//! `meshlock-lab` from the outside.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bench;
mod check;
mod names;
#[allow(dead_code, reason = "shared with the tests of meshlock")]
#[path = "../../../cli/tests/all/process.rs"]
mod process;
mod reproduce;
mod sim;
mod study;
mod trace;
mod up;
mod words;

const PROGRAM: &str = env!("CARGO_BIN_EXE_meshlock-lab");
