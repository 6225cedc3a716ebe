//! `meshlock bench`: measurements on this machine.

mod lock;

use crate::exit::Exit;

/// Measure on this machine, beside what the machine itself could do.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Lock(lock::Args),
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.what {
        What::Lock(args) => lock::run(args),
    }
}
