//! The arguments of `meshlock node`, in the order of its help.

use std::path::PathBuf;
use std::time::Duration;

use meshlock_node::config::{LogFormat, Settings, Time};
use meshlock_node::links::Transport;

use super::help::{EXAMPLES, LONG_ABOUT};

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
    /// Only say whether the configuration is right.
    #[arg(long)]
    pub(crate) check_config: bool,

    /// Where other nodes reach this one [default: port 7411 of all addresses].
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Other nodes")]
    listen: Option<String>,
    /// Another node to connect to, as HOST:PORT; may be given several times.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Other nodes")]
    peer: Vec<String>,
    /// Do not look for nodes on the local network.
    #[arg(long, help_heading = "Other nodes")]
    no_discovery: bool,
    /// How long a neighbour may be silent before its link counts as lost [default: 2.5s].
    #[arg(long, value_name = "TIME", value_parser = meshlock_api::duration::parse, help_heading = "Other nodes")]
    loss_after: Option<Duration>,
    /// What carries links; the same on all nodes [default: quic].
    #[arg(long, value_enum, help_heading = "Other nodes")]
    transport: Option<Carrier>,

    /// The Unix socket for clients [default: see docs/configuration.md].
    #[arg(long, value_name = "PATH", help_heading = "Clients")]
    socket: Option<PathBuf>,
    /// A group that may use the socket as well.
    #[arg(long, value_name = "GROUP", help_heading = "Clients")]
    socket_group: Option<String>,
    /// Serve clients on this address too; needs --token-file.
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Clients")]
    tcp: Option<String>,
    /// The file with the word that clients over TCP must present; made if it does not exist.
    #[arg(long, value_name = "FILE", help_heading = "Clients")]
    token_file: Option<PathBuf>,

    /// Serve a page that shows what this node sees; beyond this machine only with --token-file [address, if none is
    /// given: 127.0.0.1:8460].
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = crate::view::USUAL,
          help_heading = "Viewer")]
    view: Option<String>,

    /// What is logged: error, warn, info, debug, trace [default: info].
    #[arg(long, value_name = "LEVEL", help_heading = "Output")]
    log: Option<String>,
    /// One JSON object for each line of the log.
    #[arg(long, help_heading = "Output")]
    log_json: bool,
    /// Record every event of every resource, watched by the rules: run.jsonl becomes run.NAME.jsonl for each.
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
