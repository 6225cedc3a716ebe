//! The command line of meshlock: one binary with all commands.
//!
//! This file parses, hands over to a command and turns its end into an exit code; each command has a module.

mod acquire;
mod bench;
mod check;
mod document;
mod exit;
mod holders;
mod interrupt;
mod lock;
mod mesh;
mod node;
mod node_options;
mod output;
mod reproduce;
mod resource;
mod signals;
mod sim;
mod status;
mod study;
mod style;
mod text;
mod top;
mod trace;
mod up;
mod view;
mod waiting;
mod watch;
mod wish;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::Exit;
use crate::style::styled;

/// Locks without a lock server: every node of a network takes part, and no node is special.
#[derive(Debug, Parser)]
#[command(name = "meshlock", version, propagate_version = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
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
    Check(Box<check::Args>),
    Sim(sim::Args),
    Study(study::Args),
    Reproduce(reproduce::Args),
    View(view::Args),
    Trace(trace::Args),
    Bench(bench::Args),
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock up                          a whole mesh on this machine, to try everything
  meshlock node                        run a node
  meshlock lock dock-3 -- ./unload     hold dock-3 while ./unload runs
  meshlock status                      who holds what and who waits
  meshlock check                       run all standard models
  meshlock check reverse-link/p1       look at one of them
  meshlock check --help                build your own
  meshlock sim                         one simulated run of the reference scenario
  meshlock study FILE                  many simulated runs, with a report
  meshlock reproduce                   what the papers claim, beside our measurement
  meshlock view TRACE                  look at a trace in the browser
  meshlock trace audit FILE            run a recorded trace again, and compare
  meshlock bench lock                  how fast locks are on this machine";

fn main() -> ExitCode {
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

fn run(words: &[OsString]) -> anyhow::Result<Exit> {
    let matches = Cli::command().try_get_matches_from(words).unwrap_or_else(|error| misused(&error, words));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match (cli.command, matches.subcommand()) {
        (Some(Command::Check(args)), Some((name, matches))) => {
            let definition = Cli::command();
            let given = definition.find_subcommand(name).map(|command| check::Given::of(command, matches));
            let words: Vec<String> = words.iter().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
            check::run(*args, &given.unwrap_or_default(), &words)
        }
        (Some(Command::Up(args)), _) => up::run(&args),
        (Some(Command::Node(args)), _) => node::run(&args),
        (Some(Command::Lock(args)), _) => Ok(lock::run(&args)),
        (Some(Command::Acquire(args)), _) => Ok(acquire::acquire(&args)),
        (Some(Command::Release(args)), _) => Ok(acquire::release(&args)),
        (Some(Command::Renew(args)), _) => Ok(acquire::renew(&args)),
        (Some(Command::Status(args)), _) => holders::run(&args),
        (Some(Command::Watch(args)), _) => watch::run(&args),
        (Some(Command::Top(args)), _) => top::run(&args),
        (Some(Command::Resource(args)), _) => resource::run(&args),
        (Some(Command::Sim(args)), _) => sim::run(&args),
        (Some(Command::Study(args)), _) => study::run(&args),
        (Some(Command::Reproduce(args)), _) => reproduce::run(&args),
        (Some(Command::Mesh(args)), _) => mesh::run(&args),
        (Some(Command::View(args)), _) => view::run(&args),
        (Some(Command::Trace(args)), _) => trace::run(&args),
        (Some(Command::Bench(args)), _) => bench::run(&args),
        (None, _) | (_, None) => {
            Cli::command().print_help()?;
            Ok(Exit::Fine)
        }
    }
}

/// Wrong arguments. Commands that pass on the code of another program must not be taken for it.
fn misused(error: &clap::Error, words: &[OsString]) -> ! {
    let wraps = words.get(1).is_some_and(|word| ["lock", "acquire", "release", "renew"].iter().any(|it| word == it));
    if wraps && error.use_stderr() {
        // A terminal that cannot be written to is no reason for another code.
        let _ = error.print();
        std::process::exit(lock::FAILED.into());
    }
    error.exit()
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_pipe = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_pipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_defined_without_contradiction() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_node_that_stops_waits_until_a_command_that_does_not_stop_is_killed() {
        use meshlock_node::config::{NodeConfig, Settings};
        let cli = Cli::try_parse_from(["meshlock", "lock", "dock", "true"]).expect("as in the examples");
        let Some(Command::Lock(lock)) = cli.command else { panic!("another command") };
        let node = NodeConfig::resolve(Settings::default(), std::path::Path::new("mesh")).expect("all defaults");
        assert!(lock.kill_after * 3 / 2 < node.stop_within, "{:?} and {:?}", lock.kill_after, node.stop_within);
    }
}
