//! Somebody who speaks QUIC and TLS, knows more or less, and keeps to no rule of ours.

use std::net::SocketAddr;
use std::sync::Arc;

use meshlock_node::mesh::Identity;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme, version};

use super::soon;

/// Believes everybody, so that only the other end can refuse.
#[derive(Debug)]
struct Gullible;

impl ServerCertVerifier for Gullible {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Knocks with this identity, or without any, and asks for this name.
pub(crate) async fn knock(
    identity: Option<&Identity>,
    server_name: &str,
    address: SocketAddr,
) -> Result<(quinn::Endpoint, quinn::Connection), quinn::ConnectionError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Gullible));
    let config = match identity {
        Some(identity) => {
            builder.with_client_auth_cert(vec![identity.certificate.clone()], identity.key.clone_key()).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).unwrap()));
    let any: SocketAddr = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse().unwrap();
    let endpoint = quinn::Endpoint::client(any).unwrap();
    let connection = soon("a handshake", endpoint.connect_with(config, address, server_name).unwrap()).await?;
    Ok((endpoint, connection))
}

/// Says this on the stream of a link, and waits until the other end closes; why.
pub(crate) async fn say(connection: &quinn::Connection, bytes: &[u8]) -> String {
    if let Ok((mut send, _receive)) = connection.open_bi().await {
        // The answer is the reason of the close, which may come in the middle of this.
        let _ = send.write_all(bytes).await;
        return soon("the end of the connection", connection.closed()).await.to_string();
    }
    soon("the end of the connection", connection.closed()).await.to_string()
}
