//! Serves the page and what it asks for.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::guard::guarded;
use crate::routes::routes;
use crate::source::Source;

/// How many connections are served at a time; a browser makes six.
const MOST_CONNECTIONS: usize = 256;
/// How long a browser may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(20);

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
        "{0} can be reached from other machines, so the viewer needs a token there: give a file with one \
         (`--token-file`, or `token-file` in [api]), or serve it on 127.0.0.1"
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
    task: JoinHandle<()>,
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
        let task = tokio::spawn(serve(listener, guarded(routes(source), token)));
        Ok(Self { address, task })
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

async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => {
                let answers = converse(stream, router.clone());
                connections.spawn(async move {
                    answers.await;
                    drop(place);
                });
            }
            // Mostly too many open files: others have to go before it can get better.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn converse(stream: TcpStream, router: Router) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = tower_service::Service::call(&mut router.clone(), request.map(Body::new));
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    // A browser that goes away is its own business.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
