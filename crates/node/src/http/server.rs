//! Listens on the socket and on TCP, and ends in bounded time.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use meshlock_serve::{Port, serve};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::routes::{App, routes};
use super::socket::{self, SocketFile};
use super::{HttpConfig, guard};
use crate::hub::Hub;

/// Why the interface for clients could not be started.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Neither a socket nor an address.
    #[error("clients have no way in: configure a socket or a TCP address")]
    NowhereToListen,
    /// TCP without a token.
    #[error("clients over TCP need a token: set one, or serve the Unix socket only")]
    NoToken,
    /// A token that cannot stand in a header.
    #[error("the token must be visible ASCII without spaces")]
    BadToken,
    /// Another server has the socket.
    #[error("another node serves {0}: stop it first, or choose another socket")]
    InUse(PathBuf),
    /// The name belongs to something else.
    #[error("{0} is there and is no socket: remove it, or choose another name")]
    NoSocket(PathBuf),
    /// No such group on this machine.
    #[error("there is no group {0} on this machine")]
    UnknownGroup(String),
    /// The operating system refused something about the socket file.
    #[error("cannot {doing} the socket {path}: {error}")]
    Socket {
        /// The file.
        path: PathBuf,
        /// What was to be done.
        doing: &'static str,
        /// What the operating system says.
        error: io::Error,
    },
    /// The operating system refused the address.
    #[error("cannot listen on {address}: {error}")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// What the operating system says.
        error: io::Error,
    },
}

/// A running interface for clients. Ends when it is dropped, at once; [`stop`](Self::stop) ends it with care.
#[derive(Debug)]
pub struct Server {
    stopping: watch::Sender<bool>,
    listeners: Vec<Listening>,
    tcp: Option<SocketAddr>,
    file: Option<SocketFile>,
}

impl Server {
    /// Starts to serve clients of a node.
    pub async fn start(config: HttpConfig, hub: Arc<Hub>) -> Result<Self, HttpError> {
        let (stopping, stop) = watch::channel(false);
        let app =
            App { hub, stop: stop.clone(), removals: config.removals, limits: config.limits, audit: config.audit };
        let ports = |router| Port { router, limits: config.limits, most: config.max_clients, stop: stop.clone() };
        let mut server = Self { stopping, listeners: Vec::new(), tcp: None, file: None };
        if config.socket.is_none() && config.tcp.is_none() {
            return Err(HttpError::NowhereToListen);
        }
        if let Some(address) = config.tcp {
            let token = config.token.filter(|token| !token.is_empty()).ok_or(HttpError::NoToken)?;
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(HttpError::BadToken);
            }
            let failed = |error| HttpError::Tcp { address, error };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            server.tcp = Some(listener.local_addr().map_err(failed)?);
            let router = guard::guarded(routes(app.clone()), &token);
            server.listeners.push(Listening(tokio::spawn(serve(listener, ports(router)))));
        }
        if let Some(path) = &config.socket {
            let (listener, file) = socket::listen(path, config.socket_group.as_deref()).await?;
            server.file = Some(file);
            server.listeners.push(Listening(tokio::spawn(serve(listener, ports(routes(app))))));
        }
        Ok(server)
    }

    /// The address of TCP, with the port that was chosen if it was 0.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// Ends: no new client is let in, those who wait are told how things are, streams end. Takes a few seconds at most.
    pub async fn stop(mut self) {
        // The file goes first, so that no client comes in vain.
        drop(self.file.take());
        self.stopping.send_replace(true);
        for listening in &mut self.listeners {
            let _ = (&mut listening.0).await;
        }
    }
}

/// A task that ends with its owner.
#[derive(Debug)]
struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}
