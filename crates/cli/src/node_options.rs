//! Which node a command talks to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use meshlock::{Client, Error};

use crate::style::{self, styled};

/// Which node. The one of this machine, if nothing is said.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Node")]
pub(crate) struct NodeOptions {
    /// The node's Unix socket [default: MESHLOCK_SOCKET, or the usual place].
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// The node's address: http://host:port or unix:/path [default: MESHLOCK_URL].
    #[arg(long, value_name = "URL", conflicts_with = "socket")]
    pub(crate) url: Option<String>,
    /// A file with the bearer token that the node wants on TCP [default: MESHLOCK_TOKEN_FILE].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

impl NodeOptions {
    pub(crate) async fn connect(&self) -> anyhow::Result<Client> {
        self.connect_within(None).await
    }

    /// Finds the node, which may take so long to answer.
    pub(crate) async fn connect_within(&self, patience: Option<Duration>) -> anyhow::Result<Client> {
        let mut builder = Client::builder();
        if let Some(patience) = patience {
            builder = builder.patience(patience);
        }
        if let Some(path) = &self.socket {
            builder = builder.socket(path);
        }
        if let Some(url) = &self.url {
            builder = builder.url(url);
        }
        if let Some(file) = &self.token_file {
            warn_if_exposed(file);
            let token = std::fs::read_to_string(file);
            builder = builder.token(token.with_context(|| format!("cannot read {}", file.display()))?.trim());
        }
        builder.connect().await.map_err(|error| {
            let is_elsewhere = matches!(error, Error::NoNode { .. } | Error::Untrusted { .. });
            if is_elsewhere { anyhow!("{error}, or use --socket or --url") } else { error.into() }
        })
    }
}

/// The token gives full control of the node. A node refuses such a file; here it is only used.
fn warn_if_exposed(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o007 != 0) {
        let warning = styled(style::PARTIAL, "warning:");
        anstream::eprintln!("{warning} every user of this machine can read {0}: `chmod o= {0}`", file.display());
    }
}

/// Runs a command that waits for answers.
pub fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot set up sockets and timers")?.block_on(future)
}
