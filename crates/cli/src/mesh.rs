//! `meshlock mesh`: who takes part. Works on the files of a mesh directory; no node needs to run.

mod force;
mod help;
mod list;
mod member;
mod recover;
mod voters;

use std::path::PathBuf;
use std::time::Duration;

use meshlock_api::duration;
use meshlock_node::config;
use meshlock_node::mesh::directory;

use crate::exit::Exit;

/// Who takes part, and how the mesh recovers: found a mesh, invite nodes, join, list, remove.
#[derive(Debug, clap::Args)]
#[command(
    long_about = help::LONG_ABOUT,
    after_long_help = help::EXAMPLES,
    after_help = help::MORE,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    /// The mesh directory [default: $MESHLOCK_DIR, or /etc/meshlock if it has a mesh, or ~/.config/meshlock].
    #[arg(long, value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    /// One JSON document on standard output, and nothing else.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Init(Init),
    Invite(Invite),
    Join(Join),
    Members(Members),
    Recovery(Recovery),
    Remove(Remove),
    Resources(Resources),
    Voters(Voters),
}

/// Found a mesh; this node is its first member and keeps the key that admits others.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::INIT, after_help = help::MORE)]
struct Init {
    /// The name of the mesh: 1 to 63 of a-z, 0-9 and -.
    #[arg(value_name = "NAME")]
    name: String,
    /// The name of this node [default: that of this host].
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// How the mesh recovers after a crash [default: voters].
    #[arg(long, value_name = "MODE")]
    recovery: Option<Mode>,
    /// With voters: how long a node may act after it last asked them; 2s to 10m [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    standing: Option<Duration>,
    /// Who votes: 1, 3 or 5 names [default: this node, and with it the first two that join].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    voters: Option<Vec<String>>,
    /// Move an existing mesh aside.
    #[arg(long)]
    force: bool,
}

/// How a mesh recovers what a crash took with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// By itself: a majority of voters declares gone who is silent.
    Voters,
    /// When the node is started again, or removed with --gone.
    Restart,
    /// Not at all.
    None,
}

/// Admit a node: prints the line with which it joins. The line is a secret.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::INVITE, after_help = help::MORE)]
struct Invite {
    /// The name of the new node: 1 to 63 of a-z, 0-9 and -.
    #[arg(value_name = "NAME")]
    name: String,
    /// The address of a member, for a node that beacons do not reach; repeatable.
    #[arg(long, value_name = "HOST:PORT", value_parser = peer)]
    peer: Vec<String>,
    /// Write the line into this new file, which only you can read, instead of printing it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Accept an invitation: this node becomes a member.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::JOIN, after_help = help::MORE)]
struct Join {
    /// The line that `meshlock mesh invite` wrote, or a file with it; - reads it from standard input.
    #[arg(value_name = "INVITATION")]
    invitation: String,
    /// Move an existing mesh aside.
    #[arg(long)]
    force: bool,
}

/// List the members: all of them at the founder, itself and those removed elsewhere.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::MEMBERS, after_help = help::MORE)]
struct Members {}

/// Show how the mesh recovers after a crash, or decide it for a mesh that does not.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::RECOVERY, after_help = help::MORE)]
struct Recovery {
    /// From now on, for all members; only at the founder.
    #[arg(value_name = "MODE")]
    mode: Option<Mode>,
    /// With voters: how long a node may act after it last asked them; 2s to 10m [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = duration::parse, requires = "mode")]
    standing: Option<Duration>,
}

/// Remove a member permanently. Its name can be reused; its number cannot.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::REMOVE, after_help = help::MORE)]
struct Remove {
    /// The name of the member.
    #[arg(value_name = "NAME")]
    name: String,
    /// You vouch that it has stopped and will never run again: what it held is made anew.
    #[arg(long)]
    gone: bool,
    /// Which one, if several members had this name one after the other [default: the last].
    #[arg(long, value_name = "NUMBER")]
    number: Option<u16>,
}

/// Show who votes on who is gone, or let others vote.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::VOTERS, after_help = help::MORE)]
struct Voters {
    /// 1, 3 or 5 members that vote from now on; only at the founder, whose node must run.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// A majority of the voters is lost for good: others vote without their agreement.
    #[arg(long)]
    force: bool,
    /// Members that have stopped for good and will never run again; they are removed.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', requires = "force")]
    lost: Vec<String>,
    /// Do not ask; for scripts.
    #[arg(long, requires = "force")]
    yes: bool,
}

/// List the resources that meshlock.toml declares.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::RESOURCES, after_help = help::MORE)]
struct Resources {}

fn peer(text: &str) -> Result<String, String> {
    config::check_peer(text).map(|()| text.to_owned())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let at = Place { dir: args.dir.clone().unwrap_or_else(directory::find), json: args.json };
    match &args.command {
        Command::Init(init) => member::init(&at, init)?,
        Command::Invite(invite) => member::invite(&at, invite)?,
        Command::Join(join) => member::join(&at, join)?,
        Command::Recovery(recovery) => recover::recovery(&at, recovery)?,
        Command::Remove(remove) => member::remove(&at, remove)?,
        Command::Members(_) => list::members(&at)?,
        Command::Resources(_) => list::resources(&at)?,
        Command::Voters(voters) => voters::voters(&at, voters)?,
    }
    Ok(Exit::Fine)
}

/// Where the files are, and for whom the answer is.
struct Place {
    dir: PathBuf,
    json: bool,
}
