//! The arguments of `meshlock up`, in the order of its help.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use meshlock_api::duration;

use crate::mesh::Mode;

const LONG_ABOUT: &str = "\
Start a whole mesh of real nodes on this machine, to try everything.

Every node has its own keys, links and client socket, as on a machine of its own; only the process is shared. The links \
are real (QUIC on the loopback interface); --topology or --scenario decides which of them are up. A page in the browser \
shows everything live. There you can request and release locks, cut links, add, remove, kill and restart nodes, and with \
--scenario drag them around. Everyone who can reach the page can do that, so other machines need a token (token-file of [api] in \
--config). Ctrl-C stops everything and removes all files.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock up
      five nodes in a ring; open the page that it names, or try the commands that it prints
  meshlock up --demo --open
      with busy clients, shown in the browser
  meshlock up --nodes 12 --topology line
      twelve nodes in a line
  meshlock up --topology grid:3x4
      twelve nodes in a grid
  meshlock up --scenario scenarios/charging-docks.toml --demo
      links come and go as robots move through a hall; drag them on the page (needs meshlock-lab)
  meshlock up --record run.jsonl
      record every event and check the rules; replay it with `meshlock trace audit run.docks.jsonl`

\x1b[1;4mExit codes:\x1b[0m
    0  stopped by Ctrl-C
    2  wrong arguments, or a node could not start
  130  stopped immediately by a second Ctrl-C";

/// Start a whole mesh of real nodes on this machine, to try everything.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples.")]
pub struct Args {
    /// How many nodes [default: 5, or as many as the topology has].
    #[arg(long, value_name = "N", conflicts_with = "scenario", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub(crate) nodes: Option<u16>,
    /// How they are linked: line, ring, star, complete, or grid:ROWSxCOLUMNS [default: ring; line below 3 nodes].
    #[arg(long, value_name = "SHAPE", conflicts_with = "scenario")]
    pub(crate) topology: Option<String>,
    /// Move the nodes as a scenario file says: links go up and down on the real nodes (needs meshlock-lab).
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// The seed of the scenario [default: what the file says].
    #[arg(long, value_name = "N", requires = "scenario")]
    pub seed: Option<u64>,
    /// Keep clients busy: robots at every node that use the resources of the mesh, and wait for each other.
    #[arg(long)]
    pub(crate) demo: bool,
    /// Resources and times from a configuration file [default: docks, gate, map and room].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How the mesh recovers after a crash [default: voters].
    #[arg(long, value_name = "MODE")]
    pub(crate) recovery: Option<Mode>,
    /// How long a node may act without the voters; the repair of a crash takes a little longer [default: 3s; 10s with more
    /// than 20 nodes].
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) standing: Option<Duration>,
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

    /// Record the whole mesh and check the rules: run.jsonl becomes run.NAME.jsonl for each resource.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) record: Option<PathBuf>,
    /// Log level on standard error: error, warn, info, debug, trace.
    #[arg(long, value_name = "LEVEL", default_value = "warn", help_heading = "Output")]
    pub(crate) log: String,
    /// One JSON line on standard output when the mesh is up.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
