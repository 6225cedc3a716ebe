//! Connections that stop to be HTTP: after an answer with status 101 the bare socket belongs to whoever gave that answer.
//!
//! It keeps its place among the connections of the listener, and tells by its [`Presence`] whether it may be closed for a
//! newcomer.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use tokio::net::{TcpStream, UnixStream};

use crate::patience::Busy;

/// A bare socket.
#[derive(Debug)]
pub enum Socket {
    /// Of a process on this machine.
    Unix(UnixStream),
    /// Of a process anywhere.
    Tcp(TcpStream),
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        Self::Unix(stream)
    }
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        Self::Tcp(stream)
    }
}

impl Socket {
    /// Waits until there is something to read, or the end.
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.readable().await,
            Self::Tcp(stream) => stream.readable().await,
        }
    }

    /// Waits until something can be written.
    pub async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.writable().await,
            Self::Tcp(stream) => stream.writable().await,
        }
    }

    /// Reads what is there. [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing is.
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.try_read(buffer),
            Self::Tcp(stream) => stream.try_read(buffer),
        }
    }

    /// Writes what the system takes. [`WouldBlock`](io::ErrorKind::WouldBlock) if it takes nothing. From any thread.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.try_write(bytes),
            Self::Tcp(stream) => stream.try_write(bytes),
        }
    }
}

/// Whether a connection may be closed for a newcomer.
#[derive(Clone, Debug)]
pub struct Presence(Busy);

impl Presence {
    /// Something came from the peer. Whether it must not be closed from now on.
    pub fn heard(&self, is_busy: bool) {
        self.0.heard();
        self.0.set(is_busy);
    }

    /// Whether it must not be closed from now on.
    pub fn set_busy(&self, is_busy: bool) {
        self.0.set(is_busy);
    }
}

type Afterwards = Pin<Box<dyn Future<Output = ()> + Send>>;
type TakesOver = Box<dyn FnOnce(Taken) -> Afterwards + Send>;

/// A connection that is no longer HTTP.
#[derive(Debug)]
pub struct Taken {
    /// The socket.
    pub socket: Socket,
    /// What the peer has sent already.
    pub read: Bytes,
    /// Whether it may be closed.
    pub presence: Presence,
}

impl Taken {
    pub(crate) fn new(socket: Socket, read: Bytes, busy: Busy) -> Self {
        Self { socket, read, presence: Presence(busy) }
    }
}

/// The way to take a connection over. Every request has it among its extensions.
#[derive(Clone, Default)]
pub struct Takeover(Arc<Mutex<Option<TakesOver>>>);

impl Takeover {
    /// Does this with the bare socket as soon as the answer with status 101 is sent.
    pub fn then<F>(&self, afterwards: impl FnOnce(Taken) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(|taken| Box::pin(afterwards(taken))));
    }

    pub(crate) fn take(&self) -> Option<TakesOver> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl std::fmt::Debug for Takeover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Takeover")
    }
}
