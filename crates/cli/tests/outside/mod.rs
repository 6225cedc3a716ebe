//! Runs the program from the outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// An empty directory of its own for each test of a command.
pub(crate) fn place(command: &str, test: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(command).join(test);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

/// Runs a command line in a directory.
pub(crate) fn run(place: &Path, command: &str, line: &str) -> Ran {
    let words = std::iter::once(command).chain(line.split_whitespace());
    let output = Command::new(env!("CARGO_BIN_EXE_meshlock")).args(words).current_dir(place).output().unwrap();
    let Output { status, stdout, stderr } = output;
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code(), out: text(stdout), err: text(stderr) }
}
