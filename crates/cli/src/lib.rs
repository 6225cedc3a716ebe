//! The commands of `meshlock`, and what its programs have in common: `meshlock` itself, and `meshlock-lab`, which has
//! these commands and more.
//!
//! This file parses, hands over to a command and turns its end into an exit code; each command has a module.

mod acquire;
pub mod exit;
mod holders;
pub mod lab;
mod lock;
mod mesh;
mod node;
mod node_options;
pub mod output;
mod resource;
pub mod signals;
pub mod status;
pub mod style;
pub mod text;
mod top;
mod trace;
pub mod up;
pub mod view;
mod waiting;
mod watch;
mod wish;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::Subcommand;

use crate::exit::Exit;
use crate::style::styled;

pub use crate::node::{Carrier, log};
pub use crate::node_options::block_on;

/// What a machine in the field needs.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "a command is described by its arguments, for its help")]
pub enum Command {
    Up(up::Args),
    Node(Box<node::Args>),
    Mesh(mesh::Args),
    Lock(Box<lock::Args>),
    Acquire(Box<acquire::AcquireArgs>),
    Release(acquire::ReleaseArgs),
    Renew(acquire::RenewArgs),
    Status(holders::Args),
    Watch(watch::Args),
    Top(top::Args),
    Resource(resource::Args),
    View(view::Args),
    Trace(trace::Args),
}

impl Command {
    /// Runs it. A mesh whose nodes move is a matter of `meshlock-lab`.
    pub fn run(&self) -> anyhow::Result<Exit> {
        match self {
            Self::Up(args) if args.scenario.is_some() => lab::run(),
            Self::Up(args) => up::run(args, None),
            Self::Node(args) => node::run(args),
            Self::Lock(args) => Ok(lock::run(args)),
            Self::Acquire(args) => Ok(acquire::acquire(args)),
            Self::Release(args) => Ok(acquire::release(args)),
            Self::Renew(args) => Ok(acquire::renew(args)),
            Self::Status(args) => holders::run(args),
            Self::Watch(args) => watch::run(args),
            Self::Top(args) => top::run(args),
            Self::Resource(args) => resource::run(args),
            Self::Mesh(args) => mesh::run(args),
            Self::View(args) => view::run(args),
            Self::Trace(args) => trace::run(args),
        }
    }
}

/// Runs a whole program, given the words of its command line: tells an error and turns the end into an exit code.
pub fn finish(run: impl FnOnce(&[OsString]) -> anyhow::Result<Exit>) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match run(&words) {
        Ok(exit) => exit.into(),
        // Whoever reads our output has seen enough.
        Err(error) if is_broken_pipe(&error) => Exit::PipeClosed.into(),
        Err(error) => {
            anstream::eprintln!("{} {error:#}", styled(style::ERROR, "error:"));
            Exit::Failed.into()
        }
    }
}

/// Parses a command line, or ends with help or an error. Commands that pass on the exit code of another program must not
/// be mistaken for it.
pub fn parse(definition: clap::Command, words: &[OsString]) -> clap::ArgMatches {
    definition.try_get_matches_from(words).unwrap_or_else(|error| {
        let wraps = ["lock", "acquire", "release", "renew"];
        if error.use_stderr() && words.get(1).is_some_and(|word| wraps.iter().any(|it| word == it)) {
            // A terminal that cannot be written to is no reason for another code.
            let _ = error.print();
            std::process::exit(lock::FAILED.into());
        }
        error.exit()
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_pipe = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_pipe)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use meshlock_node::config::{NodeConfig, Settings};

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(subcommand)]
        command: Command,
    }

    #[test]
    fn a_node_that_stops_waits_until_a_command_that_does_not_stop_is_killed() {
        let cli = Cli::try_parse_from(["meshlock", "lock", "dock", "true"]).expect("as in the examples");
        let Command::Lock(lock) = cli.command else { panic!("another command") };
        let node = NodeConfig::resolve(Settings::default(), std::path::Path::new("mesh")).expect("all defaults");
        assert!(lock.kill_after * 3 / 2 < node.stop_within, "{:?} and {:?}", lock.kill_after, node.stop_within);
    }
}
