//! `meshlock` from the outside.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod lab;
mod lock;
mod mesh;
mod mesh_processes;
mod namespaces;
mod operators;
#[allow(dead_code, reason = "shared with the tests of meshlock-lab")]
mod process;
mod recovery;
mod small;
mod world;

const PROGRAM: &str = env!("CARGO_BIN_EXE_meshlock");
