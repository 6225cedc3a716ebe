//! The program `meshlock-lab`: explores, simulates, studies and torments, and does all that `meshlock` does.

mod bench;
mod check;
mod document;
mod interrupt;
mod movement;
mod reproduce;
mod sim;
mod study;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use meshlock_cli::exit::Exit;
use meshlock_cli::{generate, up};

/// The laboratory of meshlock: explore, simulate, study and torment its protocols. Has all commands of meshlock too.
#[derive(Debug, Parser)]
#[command(name = "meshlock-lab", version, propagate_version = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(Box<check::Args>),
    Sim(sim::Args),
    Study(study::Args),
    Reproduce(reproduce::Args),
    Bench(bench::Args),
    #[command(flatten)]
    Field(meshlock_cli::Command),
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock check                       run all standard models
  meshlock check reverse-link/p1       look at one of them
  meshlock check --help                build your own
  meshlock sim                         one simulated run of the reference scenario
  meshlock study FILE                  many simulated runs, with a report
  meshlock reproduce                   what the papers claim, beside our measurement
  meshlock up --scenario FILE          a mesh of real nodes that move about
  meshlock bench lock                  how fast locks are on this machine

Where `meshlock` and `meshlock-lab` lie in one directory or on PATH, it does not matter which one is typed.";

fn main() -> ExitCode {
    meshlock_cli::finish(run)
}

fn run(words: &[OsString]) -> anyhow::Result<Exit> {
    let matches = meshlock_cli::parse(Cli::command(), words);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match (cli.command, matches.subcommand()) {
        (Some(Command::Check(args)), Some((name, matches))) => {
            let definition = Cli::command();
            let given = definition.find_subcommand(name).map(|command| check::Given::of(command, matches));
            let words: Vec<String> = words.iter().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
            check::run(*args, &given.unwrap_or_default(), &words)
        }
        (Some(Command::Sim(args)), _) => sim::run(&args),
        (Some(Command::Study(args)), _) => study::run(&args),
        (Some(Command::Reproduce(args)), _) => reproduce::run(&args),
        (Some(Command::Bench(args)), _) => bench::run(&args),
        (Some(Command::Field(meshlock_cli::Command::Up(args))), _) => up::run(&args, movement::wanted(&args)?),
        // Of all commands that this program has.
        (Some(Command::Field(meshlock_cli::Command::Completions(args))), _) => {
            generate::completions(&args, &mut Cli::command())
        }
        (Some(Command::Field(meshlock_cli::Command::Man(args))), _) => generate::man(&args, Cli::command()),
        (Some(Command::Field(command)), _) => command.run(),
        (None, _) | (_, None) => {
            Cli::command().print_help()?;
            Ok(Exit::Fine)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_defined_without_contradiction() {
        Cli::command().debug_assert();
    }

    #[test]
    fn meshlock_knows_which_commands_are_only_here() {
        let all: Vec<String> = Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let field = meshlock_cli::Command::augment_subcommands(clap::Command::new("meshlock"));
        let only: Vec<&str> =
            all.iter().map(String::as_str).filter(|name| field.find_subcommand(name).is_none()).collect();
        assert_eq!(only, meshlock_cli::lab::COMMANDS);
    }
}
