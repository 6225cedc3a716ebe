//! The arguments of `meshlock up`, in the order of its help.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::help::{EXAMPLES, LONG_ABOUT};

/// Start a whole mesh of real nodes on this machine, to try everything.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples.")]
pub struct Args {
    /// How many nodes.
    #[arg(long, value_name = "N", default_value_t = 5, conflicts_with = "scenario",
          value_parser = clap::value_parser!(u16).range(1..=200))]
    pub(crate) nodes: u16,
    /// How they are linked: line, ring, star, complete, or grid:ROWSxCOLUMNS.
    #[arg(long, value_name = "SHAPE", default_value = "ring", conflicts_with = "scenario")]
    pub(crate) topology: String,
    /// Move the nodes as a scenario file says: links go up and down on the real nodes (needs meshlock-lab).
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// The seed of the scenario [default: what the file says].
    #[arg(long, value_name = "N", requires = "scenario")]
    pub seed: Option<u64>,
    /// Keep clients busy: robots that share three charging docks, a gate, a map and a room.
    #[arg(long)]
    pub(crate) demo: bool,
    /// Resources and times from a configuration file [default: docks, gate, map and room].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Keep the nodes' files here [default: a temporary directory, removed at the end].
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Serve the page that shows the mesh here; beyond this machine only with a token [default: 127.0.0.1:8460].
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Viewer")]
    pub(crate) view: Option<SocketAddr>,
    /// Serve no page.
    #[arg(long, conflicts_with_all = ["view", "open"], help_heading = "Viewer")]
    pub(crate) no_view: bool,
    /// Open the page in a browser.
    #[arg(long, help_heading = "Viewer")]
    pub(crate) open: bool,

    /// Record the whole mesh, watched by the rules: run.jsonl becomes run.NAME.jsonl for each resource.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) record: Option<PathBuf>,
    /// What is logged on standard error: error, warn, info, debug, trace.
    #[arg(long, value_name = "LEVEL", default_value = "warn", help_heading = "Output")]
    pub(crate) log: String,
    /// One JSON line on standard output when the mesh is up.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
