//! Connections that stop to be HTTP: after an answer with status 101 the bare socket belongs to whoever gave that answer.
//!
//! It keeps its place among the connections of the listener, and tells by its [`Presence`] whether it may be closed for a
//! newcomer.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::Bytes;
use tokio::io::{AsyncRead, ReadBuf};
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
    /// To be read by one and written by others.
    pub fn into_split(self) -> (ReadHalf, WriteHalf) {
        match self {
            Self::Unix(stream) => {
                let (read, write) = stream.into_split();
                (ReadHalf::Unix(read), WriteHalf::Unix(write))
            }
            Self::Tcp(stream) => {
                let (read, write) = stream.into_split();
                (ReadHalf::Tcp(read), WriteHalf::Tcp(write))
            }
        }
    }
}

/// The half of a socket that is read.
#[derive(Debug)]
pub enum ReadHalf {
    /// Of a process on this machine.
    Unix(tokio::net::unix::OwnedReadHalf),
    /// Of a process anywhere.
    Tcp(tokio::net::tcp::OwnedReadHalf),
}

impl ReadHalf {
    /// Reads what is there. One call of the system: what fills less than the buffer was all.
    pub fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Unix(half) => Pin::new(half).poll_read(context, buffer),
            Self::Tcp(half) => Pin::new(half).poll_read(context, buffer),
        }
    }
}

/// The half of a socket that is written.
#[derive(Debug)]
pub enum WriteHalf {
    /// Of a process on this machine.
    Unix(tokio::net::unix::OwnedWriteHalf),
    /// Of a process anywhere.
    Tcp(tokio::net::tcp::OwnedWriteHalf),
}

impl WriteHalf {
    /// Waits until something can be written.
    pub async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Unix(half) => half.writable().await,
            Self::Tcp(half) => half.writable().await,
        }
    }

    /// Writes what the system takes. [`WouldBlock`](io::ErrorKind::WouldBlock) if it takes nothing. From any thread.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(half) => half.try_write(bytes),
            Self::Tcp(half) => half.try_write(bytes),
        }
    }
}

/// Whether a connection may be closed for a newcomer.
#[derive(Clone, Debug, Default)]
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
