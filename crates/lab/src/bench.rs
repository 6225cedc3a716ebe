//! `meshlock bench`: what a mesh on this machine achieves, and what it stands.

mod guard;
mod kills;
mod lock;
mod processes;
mod scale;
mod torment;
mod vitals;
mod wire;

use meshlock_cli::exit::Exit;

/// Measure and torment a mesh on this machine.
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Lock(lock::Args),
    Scale(scale::Args),
    Kills(kills::Args),
    Guard(guard::Args),
    Torment(torment::Args),
    #[command(hide = true)]
    GuardClient(guard::ClientArgs),
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Lock(args) => lock::run(args),
        Command::Scale(args) => scale::run(args),
        Command::Kills(args) => kills::run(args),
        Command::Guard(args) => guard::run(args),
        Command::Torment(args) => torment::run(args),
        Command::GuardClient(args) => guard::run_client(args),
    }
}
