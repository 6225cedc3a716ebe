//! The seam between links and what carries them: connect, accept, frames both ways, close with a reason.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::time::timeout;

use super::frames::{FrameReader, FrameWriter, ReadEnd};
use super::tls::Tls;
use super::{LONGEST_FRAME, Transport, quic, tcp};

/// How long strangers may take to become neighbours: handshake and hello together.
pub(super) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);

/// How long the last words may take.
pub(super) const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// Why there is no connection.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    /// The other end is none of us, or does not believe that we are: an operator should look at it.
    pub(super) suspicious: bool,
    /// It stays so until an operator acts: what was said last must go out, and there is no hurry to try
    /// again.
    pub(super) lasting: bool,
}

impl Failure {
    pub(super) fn harmless(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), suspicious: false, lasting: false }
    }

    pub(super) fn suspicious(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), suspicious: true, lasting: false }
    }

    pub(super) fn lasting(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), suspicious: true, lasting: true }
    }
}

/// An authenticated connection.
pub(super) struct Channel {
    /// Of the other end, given by the mesh's authority.
    pub(super) certificate: CertificateDer<'static>,
    pub(super) address: SocketAddr,
    pub(super) reader: FrameReader,
    pub(super) writer: FrameWriter,
    pub(super) carrier: Carrier,
}

/// What lies below the frames.
pub(super) enum Carrier {
    /// Watches the other end itself and closes with a reason.
    Quic(quinn::Connection),
    /// Needs signs of life this often, and reasons in frames.
    Tcp { keep_alive: Duration },
}

impl Carrier {
    /// How often a sign of life must be sent in frames.
    pub(super) fn keep_alive(&self) -> Option<Duration> {
        match self {
            Self::Quic(_) => None,
            Self::Tcp { keep_alive } => Some(*keep_alive),
        }
    }

    /// Why no more frames come, in words.
    pub(super) fn explain(&self, end: ReadEnd) -> String {
        match end {
            ReadEnd::TooLong(length) => format!("a frame of {length} bytes, but {LONGEST_FRAME} is the limit"),
            ReadEnd::Goodbye(reason) => said_by_the_other_end(&reason),
            ReadEnd::Silent(limit) => silent(Some(limit)),
            ReadEnd::Finished => "closed by the other end".to_owned(),
            ReadEnd::Broken(error) => self.explain_broken(&error),
        }
    }

    /// The same for a stream that broke.
    pub(super) fn explain_broken(&self, error: &io::Error) -> String {
        match self {
            Self::Quic(connection) => connection.close_reason().map(|error| quic::words(&error).reason),
            Self::Tcp { .. } => None,
        }
        .unwrap_or_else(|| format!("the connection broke: {error}"))
    }
}

/// The reason as the one end tells it to the other.
pub(super) fn said_by_the_other_end(reason: &str) -> String {
    format!("closed by the other end: {reason}")
}

/// The reason of a lost link.
pub(super) fn silent(limit: Option<Duration>) -> String {
    match limit {
        Some(limit) => format!("lost: nothing was heard for {limit:?}"),
        None => "lost: nothing was heard for too long".to_owned(),
    }
}

impl Channel {
    /// Ends the connection and tells the other end why. What was written before goes out first if `flush`.
    pub(super) async fn close(mut self, reason: &str, flush: bool) {
        match self.carrier {
            Carrier::Quic(connection) => {
                if flush && self.writer.finish().await.is_ok() {
                    // The other end closes when it has read everything.
                    let _ = timeout(CLOSE_LIMIT, connection.closed()).await;
                }
                quic::close(&connection, reason);
            }
            Carrier::Tcp { .. } => {
                let last_words = async {
                    self.writer.goodbye(reason).await?;
                    self.writer.finish().await?;
                    // A socket closed with bytes unread would take the goodbye back.
                    self.reader.drain().await;
                    Ok::<_, io::Error>(())
                };
                let _ = timeout(CLOSE_LIMIT, last_words).await;
            }
        }
    }
}

/// Where connections come from and go out.
pub(super) enum Endpoint {
    Quic(quic::QuicEndpoint),
    Tcp(tcp::TcpEndpoint),
}

/// A connection attempt.
pub(super) enum Knock {
    Quic(Box<quinn::Incoming>),
    Tcp(tokio::net::TcpStream, SocketAddr),
}

impl Knock {
    /// Who says so. Not proven.
    pub(super) fn address(&self) -> SocketAddr {
        canonical(match self {
            Self::Quic(incoming) => incoming.remote_address(),
            Self::Tcp(_, address) => *address,
        })
    }

    /// Makes the other end prove that it is where it says it is. `None` if it has to come back for that.
    pub(super) fn proven(self) -> Option<Self> {
        match self {
            Self::Quic(incoming) if !incoming.remote_address_validated() => {
                // It cannot fail: an address that is not validated may be asked to try again.
                let _ = incoming.retry();
                None
            }
            known @ (Self::Quic(_) | Self::Tcp(..)) => Some(known),
        }
    }

    /// Does not answer at all.
    pub(super) fn ignore(self) {
        match self {
            Self::Quic(incoming) => incoming.ignore(),
            Self::Tcp(..) => {}
        }
    }
}

impl Endpoint {
    /// Listens.
    pub(super) fn open(
        transport: Transport,
        listen: SocketAddr,
        tls: Tls,
        reset_seed: &[u8],
        loss_after: Duration,
    ) -> io::Result<Self> {
        match transport {
            Transport::Quic => quic::QuicEndpoint::open(listen, tls, reset_seed, loss_after).map(Self::Quic),
            Transport::Tcp => tcp::TcpEndpoint::open(listen, tls, loss_after).map(Self::Tcp),
        }
    }

    /// Where it listens.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Quic(endpoint) => endpoint.address(),
            Self::Tcp(endpoint) => endpoint.address(),
        }
    }

    /// Connects and authenticates.
    pub(super) async fn connect(&self, address: SocketAddr) -> Result<Channel, Failure> {
        let connected = async {
            match self {
                Self::Quic(endpoint) => endpoint.connect(address).await,
                Self::Tcp(endpoint) => endpoint.connect(address).await,
            }
        };
        timeout(HANDSHAKE_LIMIT, connected).await.unwrap_or_else(|_| Err(too_slow()))
    }

    /// Waits for a connection attempt. `None` when closed.
    pub(super) async fn knock(&self) -> Option<Knock> {
        match self {
            Self::Quic(endpoint) => endpoint.knock().await,
            Self::Tcp(endpoint) => endpoint.knock().await,
        }
    }

    /// Accepts a peer that proves to be a member.
    pub(super) async fn accept(&self, knock: Knock) -> Result<Channel, Failure> {
        let accepted = async {
            match (self, knock) {
                (Self::Quic(endpoint), Knock::Quic(incoming)) => endpoint.accept(*incoming).await,
                (Self::Tcp(endpoint), Knock::Tcp(stream, address)) => endpoint.accept(stream, address).await,
                (Self::Quic(_), Knock::Tcp(..)) | (Self::Tcp(_), Knock::Quic(_)) => {
                    Err(Failure::harmless("another transport"))
                }
            }
        };
        timeout(HANDSHAKE_LIMIT, accepted).await.unwrap_or_else(|_| Err(too_slow()))
    }

    /// Ends everything and waits a little until the last words are out.
    pub(super) async fn close(&self) {
        match self {
            Self::Quic(endpoint) => endpoint.close().await,
            Self::Tcp(_) => {}
        }
    }
}

fn too_slow() -> Failure {
    Failure::harmless(format!("no handshake within {HANDSHAKE_LIMIT:?}"))
}

/// An IPv4 address as such, however the system wrapped it.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        // A scope says through which interface a local address is reached; it must not get lost.
        SocketAddr::V6(six) if six.ip().to_ipv4_mapped().is_none() => address,
        SocketAddr::V6(_) | SocketAddr::V4(_) => SocketAddr::new(address.ip().to_canonical(), address.port()),
    }
}

/// A bound socket that also serves IPv4 when it listens on all of IPv6.
pub(super) fn bind(listen: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(listen), kind, Some(protocol))?;
    if listen.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    if kind == Type::STREAM {
        // A node that is started again shortly after its end gets its port back.
        socket.set_reuse_address(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&listen.into())?;
    Ok(socket)
}
