//! Commands that another program runs: `meshlock-lab`, which has the checker, the simulator and the benches.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::exit::Exit;

/// The commands that only `meshlock-lab` has.
pub const COMMANDS: [&str; 5] = ["check", "sim", "study", "reproduce", "bench"];

const PROGRAM: &str = "meshlock-lab";

/// Whether a command line, from its program on, is a matter of `meshlock-lab`.
pub fn is_meant(words: &[OsString]) -> bool {
    let is = |place: usize, name: &str| words.get(place).is_some_and(|word| word == name);
    COMMANDS.iter().any(|name| is(1, name) || (is(1, "help") && is(2, name)))
}

/// Becomes `meshlock-lab` with the arguments of this process, so that signals, terminal and exit code are the same. Only
/// returns if that is impossible.
pub fn run() -> anyhow::Result<Exit> {
    let own = env::current_exe().context("cannot find the place of this program")?;
    let beside = own.with_file_name(PROGRAM);
    let path = env::var_os("PATH").unwrap_or_default();
    let places = [beside].into_iter().chain(env::split_paths(&path).map(|place| place.join(PROGRAM)));
    let Some(lab) = first_program(places) else {
        bail!(
            "this command belongs to {PROGRAM}, which is neither beside {} nor on PATH: build it with `cargo build \
             --release -p {PROGRAM}`, or install it with `cargo install --path crates/lab`",
            own.display()
        );
    };
    let error = Command::new(&lab).args(env::args_os().skip(1)).exec();
    Err(error).with_context(|| format!("cannot run {}", lab.display()))
}

fn first_program(mut places: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    places.find(|place| is_program(place))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
