//! The program `meshlock`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use meshlock_cli::exit::Exit;
use meshlock_cli::{Command, lab};

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
  meshlock view TRACE                  look at a trace in the browser
  meshlock trace audit FILE            replay a recorded trace and compare
  meshlock check reverse-link/p1       explore one of the standard models
  meshlock sim                         one simulated run of the reference scenario
  meshlock bench lock                  how fast locks are on this machine";

fn main() -> ExitCode {
    meshlock_cli::finish(run)
}

fn run(words: &[OsString]) -> anyhow::Result<Exit> {
    if lab::is_meant(words) {
        return lab::run();
    }
    let matches = meshlock_cli::parse(definition(), words);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match cli.command {
        Some(command) => command.run(),
        None => {
            definition().print_help()?;
            Ok(Exit::Fine)
        }
    }
}

/// All commands. Those of the laboratory are only known by name, for whoever mistypes them.
fn definition() -> clap::Command {
    Cli::command().subcommands(lab::COMMANDS.map(|name| clap::Command::new(name).hide(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_defined_without_contradiction() {
        definition().debug_assert();
    }

    #[test]
    fn every_command_of_the_laboratory_is_in_the_help() {
        for name in lab::COMMANDS {
            assert!(AFTER.contains(&format!("\n  {name} ")), "{name}");
        }
    }
}
