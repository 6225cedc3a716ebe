//! The way over a socket: HTTP, one question at a time on a connection, and a few connections kept open.
//!
//! A call takes a connection out of the pool and puts it back after the answer, so a long poll never stands in
//! the way of another question. A future that is dropped takes its connection with it; the node sees that and stops
//! waiting.

mod calls;
mod events;

use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::address::Address;
use crate::error::Error;
use crate::stream::Streams;
use crate::trust;

pub(crate) use self::calls::PATIENCE;
pub(crate) use self::events::Stream;

/// How many connections are kept open while idle.
const MOST_IDLE: usize = 8;
/// The largest answer that is read.
const LARGEST_ANSWER: usize = 64 << 20;

type Sender = SendRequest<Full<Bytes>>;

/// A node at the other end of a socket.
#[derive(Debug)]
pub(crate) struct Http {
    address: Address,
    token: Option<String>,
    idle: Mutex<Vec<Sender>>,
    /// Where requests are made: over HTTP only if the node has no streams.
    pub(crate) streams: Streams,
    /// The name of the mesh, if the node told it.
    pub(crate) mesh: OnceLock<String>,
}

/// A connection on which nothing was said yet.
pub(crate) enum Raw {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A question.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Bytes,
}

impl Http {
    pub(crate) fn new(address: Address, token: Option<String>) -> Self {
        Self { address, token, idle: Mutex::new(Vec::new()), streams: Streams::default(), mesh: OnceLock::new() }
    }

    pub(crate) fn place(&self) -> String {
        self.address.to_string()
    }

    /// Asks, and reads the whole answer, at most for so long.
    pub(crate) async fn call(&self, question: &Question, patience: Duration) -> Result<(StatusCode, Bytes), Error> {
        let asked = async {
            let (sender, response) = self.send(question).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), LARGEST_ANSWER).collect().await;
            let body = body.map_err(|error| self.silent(error))?.to_bytes();
            self.put_back(sender);
            Ok((status, body))
        };
        timeout(patience, asked).await.map_err(|_| self.waited(patience))?
    }

    /// Asks, and returns with the head of the answer. Every question can be asked twice: requests have an id, and all
    /// else says how things shall be. So a connection that was closed while it was idle costs nothing but another try.
    async fn send(&self, question: &Question) -> Result<(Sender, Response<Incoming>), Error> {
        while let Some(mut sender) = self.take_idle() {
            if sender.ready().await.is_ok()
                && let Ok(response) = sender.send_request(self.request(question)?).await
            {
                return Ok((sender, response));
            }
        }
        let mut sender = self.connect().await?;
        let response = sender.send_request(self.request(question)?).await.map_err(|error| self.silent(error))?;
        Ok((sender, response))
    }

    fn take_idle(&self) -> Option<Sender> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put_back(&self, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE && !sender.is_closed() {
            idle.push(sender);
        }
    }

    fn request(&self, question: &Question) -> Result<Request<Full<Bytes>>, Error> {
        let mut builder = Request::builder()
            .method(question.method.clone())
            .uri(&question.path)
            .header(header::HOST, self.address.host());
        if !question.body.is_empty() {
            builder = builder.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(token) = &self.token {
            builder = builder.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let wrong = |error: hyper::http::Error| Error::Address(format!("this cannot be asked: {error}"));
        builder.body(Full::new(question.body.clone())).map_err(wrong)
    }

    async fn connect(&self) -> Result<Sender, Error> {
        match self.raw().await? {
            Raw::Unix(stream) => self.shake(stream).await,
            Raw::Tcp(stream) => self.shake(stream).await,
        }
    }

    /// A new connection.
    pub(crate) async fn raw(&self) -> Result<Raw, Error> {
        let no_node = |cause: io::Error| match (&self.address, cause.kind()) {
            (Address::Socket(_), io::ErrorKind::PermissionDenied) => Error::Forbidden { place: self.place() },
            _ => Error::NoNode { place: self.place(), cause },
        };
        match &self.address {
            Address::Socket(path) => {
                trust::check(path)?;
                Ok(Raw::Unix(UnixStream::connect(path).await.map_err(no_node)?))
            }
            Address::Tcp(host) => {
                let stream = TcpStream::connect(host).await.map_err(no_node)?;
                stream.set_nodelay(true).map_err(no_node)?;
                Ok(Raw::Tcp(stream))
            }
        }
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    pub(crate) fn host(&self) -> &str {
        self.address.host()
    }

    /// No answer came in this time.
    pub(crate) fn waited(&self, patience: Duration) -> Error {
        self.silent(format!("waited {}", meshlock_api::duration::display(patience)))
    }

    async fn shake<S>(&self, stream: S) -> Result<Sender, Error>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| self.silent(error))?;
        // It ends with the sender; its errors come out of the sender too.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }

    pub(crate) fn silent(&self, cause: impl ToString) -> Error {
        Error::Silent { place: self.place(), cause: cause.to_string() }
    }
}
