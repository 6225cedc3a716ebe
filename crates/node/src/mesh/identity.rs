//! What makes a node a member: its number, its name, its key and certificate, and the mesh's secret.

use std::fmt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use meshlock_core::NodeId;
use ring::digest;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};

use super::durable::{self, Readers};
use super::error::damaged;
use super::{MeshError, certificate, name, secret};

/// The number of a member in its mesh. The founder is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member(pub u16);

/// How often a member was started without having been stopped cleanly before. To the protocols each is another node,
/// because it has forgotten what it promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub u16);

impl Member {
    /// The node that the protocols see.
    pub fn node(self, incarnation: Incarnation) -> NodeId {
        NodeId(u32::from(incarnation.0) << 16 | u32::from(self.0))
    }

    /// The member behind a node of the protocols.
    pub fn of(node: NodeId) -> Self {
        Self((node.0 & 0xffff) as u16)
    }
}

/// What makes a node a member. Secret: anyone who has it can act as this member.
pub struct Identity {
    /// The name of the mesh.
    pub mesh: String,
    /// Who this is.
    pub member: Member,
    /// Its name, unique in the mesh.
    pub name: String,
    /// The certificate that the mesh's authority gave it. It says number and name.
    pub certificate: CertificateDer<'static>,
    /// The key of the certificate.
    pub key: PrivateKeyDer<'static>,
    /// The certificate of the authority: a node with one of its certificates is a member, unless it was removed.
    pub authority: CertificateDer<'static>,
    /// Known to members only. Beacons are signed with it.
    pub secret: [u8; 32],
}

impl fmt::Debug for Identity {
    /// Without what is secret: this may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mesh, member, name, .. } = self;
        f.debug_struct("Identity")
            .field("mesh", mesh)
            .field("member", member)
            .field("name", name)
            .finish_non_exhaustive()
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self {
            mesh: self.mesh.clone(),
            member: self.member,
            name: self.name.clone(),
            certificate: self.certificate.clone(),
            key: self.key.clone_key(),
            authority: self.authority.clone(),
            secret: self.secret,
        }
    }
}

/// `member.toml`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mesh: String,
    number: u16,
    name: String,
    secret: String,
    certificate: String,
    key: String,
    authority: String,
}

/// The file in a mesh directory that makes its node a member.
pub const MEMBER_FILE: &str = "member.toml";

impl Identity {
    /// Which mesh this is, beyond its name: the SHA-256 of the authority's certificate.
    pub fn fingerprint(&self) -> [u8; 32] {
        fingerprint(&self.authority)
    }

    /// Reads `member.toml` of a mesh directory.
    pub fn load(dir: &Path) -> Result<Self, MeshError> {
        let path = dir.join(MEMBER_FILE);
        secret::check(&path)?;
        let bytes = durable::read(&path)?.ok_or_else(|| MeshError::NoMember { dir: dir.to_owned() })?;
        let text = String::from_utf8(bytes).map_err(|_| damaged(&path, "it is no text"))?;
        let file: File = toml::from_str(&text).map_err(|error| damaged(&path, error.message()))?;
        let secret = STANDARD.decode(&file.secret).ok().and_then(|bytes| bytes.try_into().ok());
        let identity = Self {
            mesh: file.mesh,
            member: Member(file.number),
            name: file.name,
            certificate: from_pem(&path, "CERTIFICATE", &file.certificate)?.into(),
            key: PrivatePkcs8KeyDer::from(from_pem(&path, "PRIVATE KEY", &file.key)?).into(),
            authority: from_pem(&path, "CERTIFICATE", &file.authority)?.into(),
            secret: secret.ok_or_else(|| damaged(&path, "its secret is not 32 bytes in base64"))?,
        };
        identity.check().map_err(|error| damaged(&path, error.to_string()))?;
        Ok(identity)
    }

    /// Writes `member.toml` durably, for its owner only.
    pub fn store(&self, dir: &Path) -> Result<(), MeshError> {
        let path = dir.join(MEMBER_FILE);
        let file = File {
            mesh: self.mesh.clone(),
            number: self.member.0,
            name: self.name.clone(),
            secret: STANDARD.encode(self.secret),
            certificate: to_pem("CERTIFICATE", &self.certificate),
            key: to_pem("PRIVATE KEY", self.key.secret_der()),
            authority: to_pem("CERTIFICATE", &self.authority),
        };
        let text = toml::to_string(&file).map_err(|error| damaged(&path, error.to_string()))?;
        durable::write(&path, format!("{HEADING}{text}").as_bytes(), Readers::Owner)
    }

    /// Whether it says the same everywhere.
    pub(super) fn check(&self) -> Result<(), MeshError> {
        name::check("mesh", &self.mesh)?;
        name::check("member", &self.name)?;
        let (member, name) = certificate::read(&self.certificate)?;
        if (member, name.as_str()) == (self.member, self.name.as_str()) {
            certificate::verify(&self.certificate, &self.authority, &self.key)?;
            return certificate::check_secret(&self.certificate, &self.secret);
        }
        let (own, own_name) = (self.member.0, &self.name);
        Err(MeshError::Certificate(format!("it is that of {name} ({}), not of {own_name} ({own})", member.0)))
    }
}

/// Whether a directory has a membership.
pub fn is_member(dir: &Path) -> bool {
    dir.join(MEMBER_FILE).exists()
}

/// Which mesh an authority's certificate stands for.
pub(super) fn fingerprint(authority: &CertificateDer<'_>) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest::digest(&digest::SHA256, authority).as_ref());
    out
}

/// Bytes in the form that other tools read.
pub(super) fn to_pem(tag: &str, bytes: &[u8]) -> String {
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(tag, bytes), config)
}

/// Bytes from that form.
pub(super) fn from_pem(path: &Path, tag: &str, text: &str) -> Result<Vec<u8>, MeshError> {
    let parsed = pem::parse(text).map_err(|error| damaged(path, format!("a {tag} in it cannot be read: {error}")))?;
    if parsed.tag() == tag {
        return Ok(parsed.into_contents());
    }
    Err(damaged(path, format!("it has a {} where a {tag} should be", parsed.tag())))
}

const HEADING: &str = "\
# What makes this node a member of its mesh. Secret: anyone with this file can act as this member.
# Never copy it to a second node; invite that one with `meshlock mesh invite`.

";
