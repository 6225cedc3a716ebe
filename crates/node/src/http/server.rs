//! Listens, counts clients, ends in bounded time.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::patience::{Answering, Busy, Limits, Patient};
use super::routes::{App, routes, stopped};
use super::socket::{self, SocketFile};
use super::{HttpConfig, guard};
use crate::hub::Hub;

/// How long answers that are under way may still take when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// The largest header that is read; also the most that is read ahead of what is needed.
const LARGEST_HEADER: usize = 32 * 1_024;

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
        let app = App { hub, stop: stop.clone(), removals: config.removals, limits: config.limits };
        let ports = |router| Port { router, limits: config.limits, clients: config.max_clients, stop: stop.clone() };
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

    /// Ends: nobody new is let in, whoever waits is told how things are, streams end. Takes a few seconds at most.
    pub async fn stop(mut self) {
        // The file goes first, so that nobody comes in vain.
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

/// What a listener needs to know.
struct Port {
    router: Router,
    limits: Limits,
    clients: usize,
    stop: watch::Receiver<bool>,
}

/// Where clients come from.
trait Listener: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn accept(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Listener for UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn accept(&self) -> io::Result<Self::Stream> {
        Self::accept(self).await.map(|(stream, _)| stream)
    }
}

impl Listener for TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept(&self) -> io::Result<Self::Stream> {
        let (stream, _) = Self::accept(self).await?;
        // Answers are small and somebody waits for each: none is held back to be sent with the next.
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

async fn serve<L: Listener>(listener: L, port: Port) {
    let places = Arc::new(Semaphore::new(port.clients));
    let mut clients = JoinSet::new();
    let stop = stopped(port.stop.clone());
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            Some(_) = clients.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(stream) => match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => {
                    let client = converse(stream, port.router.clone(), port.limits, port.stop.clone());
                    clients.spawn(async move {
                        client.await;
                        drop(place);
                    });
                }
                Err(_) => refuse(stream).await,
            },
            Err(error) => {
                // Mostly too many open files: others have to go before it can get better.
                tracing::warn!("a client cannot be accepted: {error}");
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    let all_gone = async { while clients.join_next().await.is_some() {} };
    // Whoever is still here then is cut off, because the set is dropped.
    let _ = timeout(LAST_WORDS, all_gone).await;
}

/// Tells one client too many, if it can be told without waiting.
async fn refuse(mut stream: impl AsyncWrite + Unpin) {
    const FULL: &str = concat!(
        r#"{"reason":"unavailable","message":"this node has as many clients as it can serve; "#,
        r#"close connections that are not used"}"#
    );
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{FULL}", FULL.len());
    let _ = timeout(Duration::from_millis(10), stream.write_all(answer.as_bytes())).await;
}

/// Answers one client until it goes.
async fn converse<S>(stream: S, router: Router, limits: Limits, stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let busy = Busy::default();
    let io = TokioIo::new(Patient::new(stream, limits, busy.clone()));
    let service = service_fn(move |request: Request<Incoming>| {
        let until_answered = busy.begin();
        let answer = tower_service::Service::call(&mut router.clone(), request.map(Body::new));
        async move {
            let answer = answer.await?;
            Ok::<_, Infallible>(answer.map(|body| Answering { body, _busy: until_answered }))
        }
    });
    let mut builder = http1::Builder::new();
    builder.max_buf_size(LARGEST_HEADER).header_read_timeout(None);
    let connection = builder.serve_connection(io, service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // A client that goes away or sends nonsense is its own business.
        tracing::debug!("a client's connection ended: {error}");
    }
}
