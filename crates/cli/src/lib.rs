//! The commands of `meshlock`, and what its programs have in common: `meshlock` itself, and `meshlock-lab`, which has
//! these commands and more.
//!
//! This file parses, hands over to a command and turns its end into an exit code; each command has a module.

mod acquire;
mod audit;
mod doctor;
pub mod exit;
pub mod generate;
pub mod lab;
mod lock;
mod mesh;
mod node;
mod node_options;
pub mod output;
mod resource;
mod revoke;
pub mod signals;
mod status;
pub mod status_line;
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

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::Exit;
use crate::style::styled;

pub use crate::node::{Carrier, start_log};
pub use crate::node_options::block_on;

/// Locks without a lock server: every node of a network takes part, and no node is special.
#[derive(Debug, Parser)]
#[command(name = "meshlock", version, propagate_version = true, after_help = AFTER)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER: &str = "\x1b[1;4mLaboratory\x1b[0m (run by meshlock-lab):
  check      Explore the protocols exhaustively on small networks
  sim        Simulate one run of a scenario
  study      Simulate many runs, and report on them
  reproduce  Measure what the papers claim
  bench      Measure and torment a mesh on this machine

\x1b[1;4mExamples:\x1b[0m
  meshlock up                          a whole mesh on this machine, to try everything
  meshlock node                        run a node
  meshlock lock dock-3 -- ./unload     hold dock-3 while ./unload runs
  meshlock status                      who holds what and who waits
  meshlock doctor                      what is wrong, and what to do
  meshlock view TRACE                  look at a trace in the browser
  meshlock trace audit FILE            replay a recorded trace and compare
  meshlock check reverse-link/p1       explore one of the standard models
  meshlock sim                         one simulated run of the reference scenario
  meshlock bench lock                  how fast locks are on this machine";

/// What a machine in the field needs.
#[derive(Debug, Subcommand)]
pub enum Command {
    Up(up::Args),
    Node(Box<node::Args>),
    Mesh(mesh::Args),
    Lock(Box<lock::Args>),
    Acquire(Box<acquire::AcquireArgs>),
    Release(acquire::ReleaseArgs),
    Renew(acquire::RenewArgs),
    Status(status::Args),
    Watch(watch::Args),
    Top(top::Args),
    Resource(resource::Args),
    Revoke(revoke::Args),
    Audit(audit::Args),
    Doctor(doctor::Args),
    View(view::Args),
    Trace(trace::Args),
    Completions(generate::Completions),
    Man(generate::Man),
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
            Self::Status(args) => status::run(args),
            Self::Watch(args) => watch::run(args),
            Self::Top(args) => top::run(args),
            Self::Resource(args) => resource::run(args),
            Self::Revoke(args) => revoke::run(args),
            Self::Audit(args) => audit::run(args),
            Self::Doctor(args) => doctor::run(args),
            Self::Mesh(args) => mesh::run(args),
            Self::View(args) => view::run(args),
            Self::Trace(args) => trace::run(args),
            Self::Completions(args) => generate::completions(args, &mut definition()),
            Self::Man(args) => generate::man(args, definition()),
        }
    }
}

/// The program `meshlock`.
pub fn main() -> ExitCode {
    finish(run)
}

fn run(words: &[OsString]) -> anyhow::Result<Exit> {
    if lab::is_meant(words) {
        return lab::run();
    }
    let matches = parse(definition(), words);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match cli.command {
        Some(command) => command.run(),
        None => {
            definition().print_help()?;
            Ok(Exit::Fine)
        }
    }
}

/// All commands. Those of the laboratory are known by name only, for suggestions after a typo.
fn definition() -> clap::Command {
    Cli::command().subcommands(lab::COMMANDS.map(|name| clap::Command::new(name).hide(true)))
}

/// Runs a whole program, given the words of its command line: tells an error and turns the end into an exit code.
pub fn finish(run: impl FnOnce(&[OsString]) -> anyhow::Result<Exit>) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match run(&words) {
        Ok(exit) => exit.into(),
        // The reader of our output has seen enough.
        Err(error) if is_broken_pipe(&error) => Exit::PipeClosed.into(),
        Err(error) => {
            anstream::eprintln!("{} {}", styled(style::ERROR, "error:"), text::with_causes(&error));
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
    use meshlock_node::config::{NodeConfig, Settings};

    use super::*;

    #[test]
    fn the_arguments_are_defined_without_contradiction() {
        definition().debug_assert();
    }

    #[test]
    fn a_node_that_stops_waits_until_a_command_that_does_not_stop_is_killed() {
        let cli = Cli::try_parse_from(["meshlock", "lock", "dock", "true"]).expect("as in the examples");
        let Some(Command::Lock(lock)) = cli.command else { panic!("another command") };
        let node = NodeConfig::resolve(Settings::default(), std::path::Path::new("mesh")).expect("all defaults");
        assert!(lock.kill_after * 3 / 2 < node.stop_within, "{:?} and {:?}", lock.kill_after, node.stop_within);
    }
}
