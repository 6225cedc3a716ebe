//! The arguments of `meshlock mesh`, in the order of its help.

use std::path::PathBuf;

use meshlock_node::config;

use super::help;

/// Who takes part: found a mesh, invite nodes, join, list, remove.
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
    pub(super) command: Command,
    /// The mesh directory [default: $MESHLOCK_DIR, or /etc/meshlock if it has a mesh, or ~/.config/meshlock].
    #[arg(long, value_name = "DIR", global = true)]
    pub(super) dir: Option<PathBuf>,
    /// One JSON document on standard output, and nothing else.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    Init(Init),
    Invite(Invite),
    Join(Join),
    Members(Members),
    Remove(Remove),
    Resources(Resources),
}

/// Found a mesh; this node is its first member and keeps the key that admits others.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::INIT, after_help = help::MORE)]
pub(super) struct Init {
    /// The name of the mesh: 1 to 63 of a-z, 0-9 and -.
    #[arg(value_name = "NAME")]
    pub(super) name: String,
    /// The name of this node [default: that of this host].
    #[arg(long, value_name = "NAME")]
    pub(super) node: Option<String>,
    /// Move a mesh that is there already aside.
    #[arg(long)]
    pub(super) force: bool,
}

/// Admit a node: writes one line that it joins with. The line is a secret.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::INVITE, after_help = help::MORE)]
pub(super) struct Invite {
    /// The name of the new node: 1 to 63 of a-z, 0-9 and -.
    #[arg(value_name = "NAME")]
    pub(super) name: String,
    /// Where it finds a member, if beacons do not reach it; may be given several times.
    #[arg(long, value_name = "HOST:PORT", value_parser = peer)]
    pub(super) peer: Vec<String>,
}

/// Take up an invitation: this node becomes a member.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::JOIN, after_help = help::MORE)]
pub(super) struct Join {
    /// The line that `meshlock mesh invite` wrote; - reads it from standard input, where no other user can see it.
    #[arg(value_name = "INVITATION")]
    pub(super) invitation: String,
    /// Move a mesh that is there already aside.
    #[arg(long)]
    pub(super) force: bool,
}

/// List the members: all of them at the founder, itself and those removed elsewhere.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::MEMBERS, after_help = help::MORE)]
pub(super) struct Members {}

/// Remove a member for ever. Its name can be given to another one; its number cannot.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::REMOVE, after_help = help::MORE)]
pub(super) struct Remove {
    /// The name of the member.
    #[arg(value_name = "NAME")]
    pub(super) name: String,
}

/// List the resources that meshlock.toml declares.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help::RESOURCES, after_help = help::MORE)]
pub(super) struct Resources {}

fn peer(text: &str) -> Result<String, String> {
    config::check_peer(text).map(|()| text.to_owned())
}
