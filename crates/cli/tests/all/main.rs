//! `meshlock` from the outside.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod install_guide;
mod lab;
mod lock;
mod mesh;
mod mesh_processes;
mod namespaces;
#[allow(dead_code, reason = "shared with the tests of the links, which do more with it")]
#[path = "../../../node/tests/namespaces/world.rs"]
mod network;
mod operators;
#[allow(dead_code, reason = "shared with the tests of meshlock-lab")]
mod process;
mod recovery;
mod several;
mod small;
mod world;

const PROGRAM: &str = env!("CARGO_BIN_EXE_meshlock");
