//! Who is let in: both ends of a link need a certificate of the mesh's authority, by TLS 1.3.
//!
//! All members' certificates have one name in common that only members know, and a node shows its certificate only to
//! those who ask for that name. A stranger who knocks gets a bare refusal: neither a name nor a key nor the mesh's
//! authority.

use std::sync::Arc;

use ring::hmac;
use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig, version};

use crate::mesh::{Identity, Member};

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
        let (member, name) = read(&identity.certificate)?;
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
        let name = server_name(&identity.secret);

        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&version::TLS13])?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(chain, identity.key.clone_key())?;
        // A resumed session would save a signature, and would outlive a removal.
        client.resumption = Resumption::disabled();

        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .clear_root_hint_subjects()
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        let mut server = ServerConfig::builder_with_provider(provider)
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

/// Shows the certificate to those who ask for the mesh's name, and to nobody else.
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

// The two functions below say how certificates are named. They belong to the mesh's certificates: once that module has
// them (`mesh::certificate`), use its own and delete these.

/// The name that all certificates of a mesh have in common; only who knows the secret knows it.
pub fn server_name(secret: &[u8; 32]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), b"server name");
    let hex: String = tag.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{hex}.mesh")
}

/// The member that a certificate is of, and its name. Says nothing about who made the certificate.
pub fn read(certificate: &CertificateDer<'_>) -> Result<(Member, String), String> {
    let parsed = webpki::EndEntityCert::try_from(certificate).map_err(|error| format!("no certificate: {error}"))?;
    let mut members = parsed.valid_dns_names().filter_map(|name| {
        let (number, name) = name.strip_prefix('m')?.strip_suffix(".member")?.split_once('.')?;
        Some((Member(number.parse().ok()?), name.to_owned()))
    });
    match (members.next(), members.next()) {
        (Some(member), None) => Ok(member),
        (None, _) => Err("a certificate that names no member".to_owned()),
        (Some(_), Some(_)) => Err("a certificate that names two members".to_owned()),
    }
}
