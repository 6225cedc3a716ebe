//! Who is let in: both ends of a link need a certificate of the mesh's authority, by TLS 1.3.
//!
//! All members' certificates have one name in common that only members know, and a node shows its certificate only to
//! those who ask for that name. A stranger who knocks gets a bare refusal: neither a name nor a key nor the mesh's
//! authority.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig, version};

use crate::mesh::clock::Clock;
use crate::mesh::{Identity, certificate};

/// Both roles of a node in a handshake.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    pub(super) client: Arc<ClientConfig>,
    pub(super) server: Arc<ServerConfig>,
    /// What a client asks for.
    pub(super) name: String,
}

impl Tls {
    /// From what makes a node a member. The error says what is wrong with it.
    pub(super) fn of(identity: &Identity) -> Result<Self, String> {
        let (member, name) = certificate::read(&identity.certificate).map_err(|error| error.to_string())?;
        if (member, &name) != (identity.member, &identity.name) {
            return Err(format!(
                "its certificate is that of member {} ({name}), not of {} ({})",
                member.0, identity.member.0, identity.name
            ));
        }
        Self::unchecked(identity).map_err(|error| error.to_string())
    }

    fn unchecked(identity: &Identity) -> Result<Self, rustls::Error> {
        let provider = Arc::new(default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(identity.authority.clone())?;
        let roots = Arc::new(roots);
        let chain = vec![identity.certificate.clone()];
        let certified = CertifiedKey::from_der(chain.clone(), identity.key.clone_key(), &provider)?;
        let name = certificate::server_name(&identity.secret);

        let mut client = ClientConfig::builder_with_details(Arc::clone(&provider), Arc::new(Clock))
            .with_protocol_versions(&[&version::TLS13])?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(chain, identity.key.clone_key())?;
        // A resumed session would save a signature, and would outlive a removal.
        client.resumption = Resumption::disabled();

        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .clear_root_hint_subjects()
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        let mut server = ServerConfig::builder_with_details(provider, Arc::new(Clock))
            .with_protocol_versions(&[&version::TLS13])?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(ForThoseWhoKnow { name: name.clone(), certified: Arc::new(certified) }));
        server.send_tls13_tickets = 0;
        Ok(Self { client: Arc::new(client), server: Arc::new(server), name })
    }

    /// The name in the form that a TLS client takes.
    pub(super) fn server_name(&self) -> Result<ServerName<'static>, String> {
        ServerName::try_from(self.name.clone()).map_err(|error| error.to_string())
    }
}

/// Shows the certificate to those who ask for the mesh's name, and to no other peer.
#[derive(Debug)]
struct ForThoseWhoKnow {
    name: String,
    certified: Arc<CertifiedKey>,
}

impl ResolvesServerCert for ForThoseWhoKnow {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        (hello.server_name() == Some(self.name.as_str())).then(|| Arc::clone(&self.certified))
    }
}
