//! The arguments of `meshlock node`, in the order of its help.

use std::path::PathBuf;
use std::time::Duration;

use meshlock_node::config::{LogFormat, Settings, Time};
use meshlock_node::links::Transport;

const LONG_ABOUT: &str = "\
Run a node: take part in a mesh and serve clients on this machine.

Without configuration it founds a mesh with itself as the only member and serves clients on a Unix socket. Members of a \
mesh discover each other on the local network; elsewhere give --peer. Flags override the environment (MESHLOCK_...), \
which overrides meshlock.toml, which overrides the defaults; docs/configuration.md lists all settings.

Ctrl-C or SIGTERM stops it cleanly: clients are notified, tokens are handed to neighbours, the rest is saved for the \
next start. A second signal stops it immediately; it then restarts as a new node, and what it held is lost to the mesh.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock node
      alone, or with the members of its mesh that are found on the local network
  meshlock node --peer 10.0.0.7:7411
      dial a node that beacons do not reach
  meshlock node --loss-after 300ms --log debug
      detect lost links quickly, log more
  meshlock node --dir /etc/meshlock --check-config
      validate the configuration
  meshlock node --tcp 127.0.0.1:7480 --token-file api-token
      serve clients over TCP as well, with the bearer token in the file
  meshlock node --record run.jsonl
      record every event and check the rules on the way
  meshlock node --view
      show what this node sees in the browser, read-only, at http://127.0.0.1:8460
  meshlock node --view 0.0.0.0:8460 --token-file api-token
      the same for other machines, with the bearer token in the file; not encrypted

\x1b[1;4mExit codes:\x1b[0m
    0  stopped cleanly
    2  wrong configuration, or the node could not start
   77  the node was removed from its mesh; it needs a new invitation
  130  stopped immediately by a second Ctrl-C";

/// Run a node: take part in a mesh and serve clients on this machine.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples.")]
pub struct Args {
    /// The configuration file [default: meshlock.toml in the mesh directory].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The mesh directory, with the membership and the state [default: see docs/configuration.md].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Validate the configuration and exit.
    #[arg(long)]
    pub(crate) check_config: bool,

    /// Where other nodes reach this one [default: port 7411 of all addresses].
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Other nodes")]
    listen: Option<String>,
    /// Another node to dial; repeatable.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Other nodes")]
    peer: Vec<String>,
    /// Do not look for nodes on the local network.
    #[arg(long, help_heading = "Other nodes")]
    no_discovery: bool,
    /// After how much silence a link counts as lost [default: 2.5s].
    #[arg(long, value_name = "TIME", value_parser = meshlock_api::duration::parse, help_heading = "Other nodes")]
    loss_after: Option<Duration>,
    /// Transport of links; the same on all nodes [default: quic].
    #[arg(long, value_enum, help_heading = "Other nodes")]
    transport: Option<Carrier>,

    /// The Unix socket for clients [default: see docs/configuration.md].
    #[arg(long, value_name = "PATH", help_heading = "Clients")]
    socket: Option<PathBuf>,
    /// A group that may also use the socket.
    #[arg(long, value_name = "GROUP", help_heading = "Clients")]
    socket_group: Option<String>,
    /// Also serve clients on this address; needs --token-file.
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Clients")]
    tcp: Option<String>,
    /// The file with the bearer token for clients over TCP; created if it does not exist.
    #[arg(long, value_name = "FILE", help_heading = "Clients")]
    token_file: Option<PathBuf>,

    /// Serve a page that shows what this node sees; beyond this machine only with --token-file [address, if none is
    /// given: 127.0.0.1:8460].
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = crate::view::USUAL,
          help_heading = "Viewer")]
    view: Option<String>,

    /// Log level: error, warn, info, debug, trace [default: info].
    #[arg(long, value_name = "LEVEL", help_heading = "Output")]
    log: Option<String>,
    /// Log one JSON object per line.
    #[arg(long, help_heading = "Output")]
    log_json: bool,
    /// Record every event of every resource and check the rules: run.jsonl becomes run.NAME.jsonl for each.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) record: Option<PathBuf>,
    /// One JSON line on standard output when the node is ready.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What carries links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Carrier {
    /// Short delays on lossy networks; survives a change of address.
    Quic,
    /// TCP with TLS, for quiet wired clusters.
    Tcp,
}

impl From<Carrier> for Transport {
    fn from(carrier: Carrier) -> Self {
        match carrier {
            Carrier::Quic => Self::Quic,
            Carrier::Tcp => Self::Tcp,
        }
    }
}

impl Args {
    /// What the flags say.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let mut settings = Settings::default();
        settings.node.dir.clone_from(&self.dir);
        settings.node.listen.clone_from(&self.listen);
        settings.node.peers = (!self.peer.is_empty()).then(|| self.peer.clone());
        settings.node.discovery = self.no_discovery.then_some(false);
        settings.node.loss_after = self.loss_after.map(Time);
        settings.node.transport = self.transport.map(Transport::from);
        settings.node.log.clone_from(&self.log);
        settings.node.log_format = self.log_json.then_some(LogFormat::Json);
        settings.api.socket.clone_from(&self.socket);
        settings.api.socket_group.clone_from(&self.socket_group);
        settings.api.tcp.clone_from(&self.tcp);
        settings.api.token_file.clone_from(&self.token_file);
        settings.api.view.clone_from(&self.view);
        Ok(settings)
    }
}
