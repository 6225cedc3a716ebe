//! `meshlock mesh`: who takes part. Works on the files of a mesh directory; no node needs to run.

mod args;
mod help;
mod list;
mod member;

use std::path::PathBuf;

use meshlock_node::mesh::directory;

use self::args::Command;
use crate::exit::Exit;

pub(crate) use self::args::Args;

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let at = Place { dir: args.dir.clone().unwrap_or_else(directory::find), json: args.json };
    match &args.command {
        Command::Init(init) => member::init(&at, init)?,
        Command::Invite(invite) => member::invite(&at, invite)?,
        Command::Join(join) => member::join(&at, join)?,
        Command::Remove(remove) => member::remove(&at, remove)?,
        Command::Members(_) => list::members(&at)?,
        Command::Resources(_) => list::resources(&at)?,
    }
    Ok(Exit::Fine)
}

/// Where the files are, and for whom the answer is.
struct Place {
    dir: PathBuf,
    json: bool,
}
