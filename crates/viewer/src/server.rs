//! Serves the page and what it asks for.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use meshlock_serve::{Limits, Port, serve};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::guard::guarded;
use crate::routes::routes;
use crate::source::Source;

/// How many connections are served at a time; a browser makes six. For one more, the one that was silent for longest is
/// closed.
const MOST_CONNECTIONS: usize = 256;

/// Where the page is served, and for whom.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Beyond loopback only with a token.
    pub address: SocketAddr,
    /// If another program has the port, take any.
    pub any_port: bool,
    /// Who does not know it gets nothing.
    pub token: Option<String>,
}

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "{0} can be reached from other machines, so the viewer needs a token there: give a file with one \
         (`--token-file`, or `token-file` in [api]), or serve it on 127.0.0.1"
    )]
    NeedsToken(SocketAddr),
    #[error("cannot serve the viewer on {address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
}

/// A running server of the page; ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
    /// The task would end if it were gone.
    _stopping: watch::Sender<bool>,
}

impl Server {
    /// Begins to serve a source, on the runtime of the caller.
    pub async fn start(serving: Serving, source: Arc<dyn Source>) -> Result<Self, ServeError> {
        let Serving { address, any_port, token } = serving;
        let token = token.filter(|token| !token.is_empty());
        if token.is_none() && !address.ip().is_loopback() {
            return Err(ServeError::NeedsToken(address));
        }
        let failed = |error| ServeError::Listen { address, error };
        let listener = match TcpListener::bind(address).await {
            Err(error) if any_port && error.kind() == io::ErrorKind::AddrInUse => {
                TcpListener::bind(SocketAddr::new(address.ip(), 0)).await.map_err(failed)?
            }
            other => other.map_err(failed)?,
        };
        let address = listener.local_addr().map_err(failed)?;
        let router = guarded(routes(source), token, &new_instance());
        let (stopping, stop) = watch::channel(false);
        let port = Port { router, limits: Limits::default(), most: MOST_CONNECTIONS, stop };
        let task = tokio::spawn(serve(listener, port));
        Ok(Self { address, task, _stopping: stopping })
    }

    /// Where it really listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What tells this server from one that had its address before: what a page has heard of that one is not true of this.
fn new_instance() -> String {
    // The only source of chance in the standard library. Nothing secret comes from it.
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
