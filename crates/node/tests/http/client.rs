//! A node to talk to, and a client that does nothing behind one's back.

use std::path::PathBuf;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use meshlock_node::http::{HttpConfig, Server};
use meshlock_node::hub::Hub;
use meshlock_node::machine::{Machine, Settings};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;

pub(crate) const TOKEN: &str = "a-token-of-32-characters-or-more";

/// A node without neighbours that founded its mesh.
pub(crate) fn settings() -> Settings {
    Settings::founder("test", "n0")
}

/// A node that serves clients.
pub(crate) struct Node {
    pub(crate) hub: Arc<Hub>,
    pub(crate) server: Server,
    pub(crate) socket: PathBuf,
    _timer: Timer,
    _folder: TempDir,
}

struct Timer(JoinHandle<()>);

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Node {
    pub(crate) async fn start() -> Self {
        Self::with(settings(), |_| ()).await
    }

    pub(crate) async fn with_config(change: impl FnOnce(&mut HttpConfig)) -> Self {
        Self::with(settings(), change).await
    }

    /// A node with a socket and TCP.
    pub(crate) async fn with(settings: Settings, change: impl FnOnce(&mut HttpConfig)) -> Self {
        let folder = TempDir::new().expect("a folder");
        let socket = folder.path().join("node.sock");
        let mut config = HttpConfig {
            socket: Some(socket.clone()),
            tcp: Some(([127, 0, 0, 1], 0).into()),
            token: Some(TOKEN.into()),
            ..HttpConfig::default()
        };
        change(&mut config);
        let (hub, _) = Hub::new(Machine::new(settings));
        let timer = Timer(tokio::spawn(Arc::clone(&hub).keep_time()));
        let server = Server::start(config, Arc::clone(&hub)).await.expect("a server");
        Self { hub, server, socket, _timer: timer, _folder: folder }
    }

    pub(crate) async fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.socket).await.expect("the server listens")
    }

    pub(crate) async fn connect_tcp(&self) -> TcpStream {
        TcpStream::connect(self.server.tcp_address().expect("an address")).await.expect("the server listens")
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, "").await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, &body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PUT, path, &body.to_string()).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PATCH, path, &body.to_string()).await
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: &str) -> Reply {
        Reply::read(self.open(method, path, body).await).await
    }

    /// Sends a request and returns as soon as the header of the answer is there.
    pub(crate) async fn open(&self, method: Method, path: &str, body: &str) -> Response<Incoming> {
        exchange(self.connect().await, request(method, path, body)).await
    }

    /// Opens a stream of events.
    pub(crate) async fn watch(&self, path: &str) -> Events {
        let response = self.open(Method::GET, path, "").await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { body: response.into_body(), text: String::new() }
    }
}

pub(crate) fn request(method: Method, path: &str, body: &str) -> Request<Full<Bytes>> {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    Request::builder().method(method).uri(path).header("host", "localhost").body(body).expect("a request")
}

/// One request on a connection of its own.
pub(crate) async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Response<Incoming>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a connection");
    tokio::spawn(connection);
    sender.send_request(request).await.expect("an answer")
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: hyper::HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) async fn read(response: Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let text = String::from_utf8(body.to_vec()).expect("text");
        Self { status: head.status.as_u16(), headers: head.headers, text }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {:?}", self.text))
    }

    /// A field of the body as text.
    pub(crate) fn field(&self, name: &str) -> String {
        let body = self.json();
        body[name].as_str().map_or_else(|| body[name].to_string(), str::to_owned)
    }

    /// Checks the status and the state of a request.
    #[track_caller]
    pub(crate) fn is(&self, status: u16, state: &str) {
        assert_eq!((self.status, self.field("state").as_str()), (status, state), "{}", self.text);
    }

    /// Checks that this is a problem of this kind.
    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16, reason: &str) {
        assert_eq!((self.status, self.field("reason").as_str()), (status, reason), "{}", self.text);
        assert!(self.field("message").len() > 10, "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/json");
    }
}

/// A stream of events.
pub(crate) struct Events {
    body: Incoming,
    text: String,
}

impl Events {
    /// The lines of the next event, without comments; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = event.to_owned();
                self.text = rest.to_owned();
                if let Some(event) = Event::parse(&event) {
                    return Some(event);
                }
            }
            let frame = self.body.frame().await?.expect("a frame").into_data().expect("data");
            self.text += std::str::from_utf8(&frame).expect("text");
        }
    }
}

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl Event {
    fn parse(text: &str) -> Option<Self> {
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned);
        let data = serde_json::from_str(&field("data")?).expect("JSON");
        Some(Self { name: field("event"), id: field("id"), data })
    }
}
