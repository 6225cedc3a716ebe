//! Links over TCP with TLS, for quiet wired networks.
//!
//! TCP notices the death of a process at once but not a silent network, so signs of life are sent as empty frames, and
//! reading watches that something comes within the limit.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use socket2::{Protocol, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::frames::{FrameReader, FrameWriter};
use super::tls::Tls;
use super::transport::{Carrier, Channel, Failure, Knock, bind, canonical};

/// Connections that the system keeps before they are looked at.
const BACKLOG: i32 = 64;

/// A pause after the system could not give a connection, for lack of descriptors or memory.
const BREATH: Duration = Duration::from_millis(100);

pub(super) struct TcpEndpoint {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    connector: TlsConnector,
    name: ServerName<'static>,
    loss_after: Duration,
}

impl TcpEndpoint {
    pub(super) fn open(listen: SocketAddr, tls: Tls, loss_after: Duration) -> io::Result<Self> {
        let socket = bind(listen, Type::STREAM, Protocol::TCP)?;
        socket.listen(BACKLOG)?;
        Ok(Self {
            listener: TcpListener::from_std(socket.into())?,
            name: tls.server_name().map_err(io::Error::other)?,
            acceptor: TlsAcceptor::from(tls.server),
            connector: TlsConnector::from(tls.client),
            loss_after,
        })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub(super) async fn connect(&self, address: SocketAddr) -> Result<Channel, Failure> {
        let stream = TcpStream::connect(address).await.map_err(|error| Failure::harmless(error.to_string()))?;
        let stream = ready(stream)?;
        let stream = self.connector.connect(self.name.clone(), stream).await.map_err(failed)?;
        let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first).cloned();
        self.channel(stream, certificate, address)
    }

    pub(super) async fn knock(&self) -> Option<Knock> {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => return Some(Knock::Tcp(stream, address)),
                Err(error) => {
                    tracing::warn!(%error, "cannot take connections");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    }

    pub(super) async fn accept(&self, stream: TcpStream, address: SocketAddr) -> Result<Channel, Failure> {
        let stream = self.acceptor.accept(ready(stream)?).await.map_err(failed)?;
        let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first).cloned();
        self.channel(stream, certificate, address)
    }

    fn channel<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Sync + 'static>(
        &self,
        stream: S,
        certificate: Option<CertificateDer<'static>>,
        address: SocketAddr,
    ) -> Result<Channel, Failure> {
        let (source, sink) = tokio::io::split(stream);
        Ok(Channel {
            certificate: certificate.ok_or_else(|| Failure::suspicious("no certificate"))?.into_owned(),
            address: canonical(address),
            reader: FrameReader::new(Box::new(source), Some(self.loss_after)),
            writer: FrameWriter::new(Box::new(sink)),
            carrier: Carrier::Tcp { keep_alive: self.loss_after / 4 },
        })
    }
}

/// Small frames go out at once.
fn ready(stream: TcpStream) -> Result<TcpStream, Failure> {
    stream.set_nodelay(true).map_err(|error| Failure::harmless(error.to_string()))?;
    Ok(stream)
}

fn failed(error: io::Error) -> Failure {
    let by_tls = error.get_ref().is_some_and(|cause| cause.is::<rustls::Error>());
    if by_tls {
        Failure::suspicious(format!("no member of this mesh: {error}"))
    } else {
        Failure::harmless(error.to_string())
    }
}
