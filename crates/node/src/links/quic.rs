//! Links over QUIC: one connection, one stream that the dialer opens.
//!
//! QUIC itself is the failure detector: it sends a sign of life when nothing arrived for about a third of the limit, and
//! gives up a connection on which nothing arrived for the whole of it. When the dialing end changes its address the connection moves along.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, ConnectionId, ConnectionIdGenerator, EndpointConfig,
    IdleTimeout, ServerConfig, TransportConfig, VarInt,
};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::CertificateDer;
use socket2::{Protocol, Type};
use tokio::time::timeout;

use super::frames::{FrameReader, FrameWriter, readable, shortened};
use super::tls::Tls;
use super::transport::{CLOSE_LIMIT, Carrier, Channel, Failure, Knock, bind, canonical, said_by_the_other_end, silent};
use super::udp::AskingOnce;

/// What a round trip is thought to take before the first was measured: a lost first packet is repeated after three.
const FIRST_ROUND_TRIP: Duration = Duration::from_millis(30);

/// How long an acknowledgement may be held back. That is short, to keep the tail short on lossy links: the sender knows
/// early what is missing. A packet that comes out of order is acknowledged at once in any case.
const ACKNOWLEDGEMENT_DELAY: Duration = Duration::from_millis(1);

/// How many packets may go without an acknowledgement within that time. One for each packet costs as many packets and
/// wake-ups as the frames themselves.
const UNACKNOWLEDGED: VarInt = VarInt::from_u32(9);

/// The part of the limit for silent neighbours after which a sign of life is sent. A lost one is repeated by QUIC, each time
/// after twice as long: with this, as often within the limit as with a quarter of it. With the usual settings one is enough
/// between two calls of voters, where a quarter takes two.
const KEEP_ALIVE: f64 = 0.35;

/// Connections that wait to be looked at; more are refused unseen.
const MOST_KNOCKS: usize = 64;

/// What may arrive on a connection before it is looked at, and on all of them together, in bytes.
const MOST_UNSEEN: (u64, u64) = (16 << 10, 512 << 10);

/// The length of the numbers by which packets find their connection.
const CONNECTION_ID_LENGTH: usize = 8;

/// A socket for all connections of a node.
pub(super) struct QuicEndpoint {
    endpoint: quinn::Endpoint,
    client: ClientConfig,
    name: String,
}

impl QuicEndpoint {
    pub(super) fn open(listen: SocketAddr, tls: Tls, reset_seed: &[u8], loss_after: Duration) -> io::Result<Self> {
        let transport = Arc::new(transport(loss_after)?);
        let client = QuicClientConfig::try_from(tls.client).map_err(io::Error::other)?;
        let mut client = ClientConfig::new(Arc::new(client));
        client.transport_config(Arc::clone(&transport));

        let server = QuicServerConfig::try_from(tls.server).map_err(io::Error::other)?;
        let mut server = ServerConfig::with_crypto(Arc::new(server));
        server
            .transport_config(transport)
            .migration(true)
            .max_incoming(MOST_KNOCKS)
            .incoming_buffer_size(MOST_UNSEEN.0)
            .incoming_buffer_size_total(MOST_UNSEEN.1);

        // The same key in every life of this node: when it is started again, packets for its former life are answered
        // by resets that its neighbours recognise, and they need not wait until the old link times out.
        let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, reset_seed)));
        config.cid_generator(|| Box::new(RandomIds(SystemRandom::new())));

        let socket = bind(listen, Type::DGRAM, Protocol::UDP)?;
        let endpoint = quinn::Endpoint::new(config, Some(server), socket.into(), Arc::new(AskingOnce))?;
        Ok(Self { endpoint, client, name: tls.name })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    pub(super) async fn connect(&self, address: SocketAddr) -> Result<Channel, Failure> {
        let connecting = self.endpoint.connect_with(self.client.clone(), address, &self.name);
        let connection = connecting.map_err(|error| Failure::harmless(error.to_string()))?;
        let connection = connection.await.map_err(|error| words(&error))?;
        let stream = connection.open_bi().await.map_err(|error| words(&error))?;
        channel(connection, stream)
    }

    pub(super) async fn knock(&self) -> Option<Knock> {
        self.endpoint.accept().await.map(|incoming| Knock::Quic(Box::new(incoming)))
    }

    pub(super) async fn accept(&self, incoming: quinn::Incoming) -> Result<Channel, Failure> {
        let connecting = incoming.accept().map_err(|error| words(&error))?;
        let connection = connecting.await.map_err(|error| words(&error))?;
        let stream = connection.accept_bi().await.map_err(|error| words(&error))?;
        channel(connection, stream)
    }

    pub(super) async fn close(&self) {
        self.endpoint.close(VarInt::from_u32(0), b"stopped");
        let _ = timeout(CLOSE_LIMIT, self.endpoint.wait_idle()).await;
    }
}

fn transport(loss_after: Duration) -> io::Result<TransportConfig> {
    let mut acknowledgements = AckFrequencyConfig::default();
    acknowledgements
        .ack_eliciting_threshold(UNACKNOWLEDGED)
        .reordering_threshold(VarInt::from_u32(1))
        .max_ack_delay(Some(ACKNOWLEDGEMENT_DELAY));
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .keep_alive_interval(Some(loss_after.mul_f64(KEEP_ALIVE)))
        .max_idle_timeout(Some(IdleTimeout::try_from(loss_after).map_err(io::Error::other)?))
        .initial_rtt(FIRST_ROUND_TRIP)
        .ack_frequency_config(Some(acknowledgements));
    Ok(transport)
}

fn channel(
    connection: Connection,
    (send, receive): (quinn::SendStream, quinn::RecvStream),
) -> Result<Channel, Failure> {
    let chain = connection.peer_identity().and_then(|any| any.downcast::<Vec<CertificateDer<'static>>>().ok());
    let certificate = chain.and_then(|chain| chain.into_iter().next());
    Ok(Channel {
        certificate: certificate.ok_or_else(|| Failure::suspicious("no certificate"))?,
        address: canonical(connection.remote_address()),
        reader: FrameReader::new(Box::new(receive), None),
        writer: FrameWriter::new(Box::new(send)),
        carrier: Carrier::Quic(connection),
    })
}

/// Closes at once and says why; what was not yet sent is lost.
pub(super) fn close(connection: &Connection, reason: &str) {
    connection.close(VarInt::from_u32(0), shortened(reason, 255).as_bytes());
}

/// Why a connection ended, in words.
pub(super) fn words(error: &ConnectionError) -> Failure {
    match error {
        ConnectionError::ApplicationClosed(close) => Failure::harmless(said_by_the_other_end(&readable(&close.reason))),
        ConnectionError::TimedOut => Failure::harmless(silent(None)),
        ConnectionError::Reset => Failure::harmless("lost: the other end was started again"),
        ConnectionError::LocallyClosed => Failure::harmless("closed"),
        ConnectionError::ConnectionClosed(close) => {
            Failure::suspicious(format!("refused by the other end: {}", readable(close.to_string().as_bytes())))
        }
        ConnectionError::TransportError(error) => Failure::suspicious(format!("no member of this mesh: {error}")),
        ConnectionError::VersionMismatch | ConnectionError::CidsExhausted => Failure::suspicious(error.to_string()),
    }
}

/// Connection ids that cannot be guessed.
struct RandomIds(SystemRandom);

impl ConnectionIdGenerator for RandomIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [0; CONNECTION_ID_LENGTH];
        if self.0.fill(&mut bytes).is_err() {
            // Without the system's randomness no handshake succeeds either; the numbers need only differ.
            fastrand::fill(&mut bytes);
        }
        ConnectionId::new(&bytes)
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID_LENGTH
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}
