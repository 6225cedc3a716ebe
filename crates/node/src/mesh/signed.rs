//! Statements that the mesh's authority signs: any member may pass them on, none can forge one, and in another mesh they
//! are worth nothing.

use ring::signature::{ED25519, UnparsedPublicKey};
use rustls::pki_types::CertificateDer;
use serde::{Deserialize, Serialize};

use super::{Authority, Identity, MeshError};

/// What a statement is about. The word and the format are signed with it, so none passes for another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statement {
    /// For people and for the signature.
    pub(super) word: &'static str,
    pub(super) format: u32,
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    format: u32,
    mesh: [u8; 32],
    content: Vec<u8>,
    signature: Vec<u8>,
}

impl Statement {
    /// Signs content, ready to be passed on.
    pub(super) fn sign<T: Serialize>(self, authority: &Authority, content: &T) -> Result<Vec<u8>, MeshError> {
        let written = |value: Result<Vec<u8>, postcard::Error>| value.map_err(|error| self.wrong(error.to_string()));
        let (mesh, content) = (authority.fingerprint(), written(postcard::to_stdvec(content))?);
        let signature = authority.sign(&self.words(&mesh, &content))?;
        written(postcard::to_stdvec(&Envelope { format: self.format, mesh, content, signature }))
    }

    /// What a statement says, from wherever it came, if this mesh's authority signed it.
    pub(super) fn open<T: for<'a> Deserialize<'a>>(self, bytes: &[u8], identity: &Identity) -> Result<T, MeshError> {
        let envelope = self.envelope(bytes)?;
        if envelope.mesh != identity.fingerprint() {
            return Err(self.wrong("it names another mesh"));
        }
        if !is_signed(identity, &self.words(&envelope.mesh, &envelope.content), &envelope.signature) {
            return Err(self.wrong("the signature is not the authority's"));
        }
        self.content(&envelope)
    }

    /// What a statement says that was verified before, when it was kept. Nothing is verified.
    pub(super) fn read<T: for<'a> Deserialize<'a>>(self, bytes: &[u8]) -> Result<T, MeshError> {
        self.content(&self.envelope(bytes)?)
    }

    fn envelope(self, bytes: &[u8]) -> Result<Envelope, MeshError> {
        match postcard::take_from_bytes::<Envelope>(bytes) {
            Ok((envelope, [])) if envelope.format == self.format => Ok(envelope),
            Ok((envelope, [])) => {
                let (theirs, ours) = (envelope.format, self.format);
                Err(self.wrong(format!("it has format {theirs}, but this version knows {ours}; run the same meshlock")))
            }
            Ok(_) | Err(_) => Err(self.wrong("it is damaged")),
        }
    }

    fn content<T: for<'a> Deserialize<'a>>(self, envelope: &Envelope) -> Result<T, MeshError> {
        match postcard::take_from_bytes(&envelope.content) {
            Ok((content, [])) => Ok(content),
            Ok(_) | Err(_) => Err(self.wrong("its content makes no sense")),
        }
    }

    /// What is signed. It begins with words that no certificate begins with, since the same key signs those.
    fn words(self, mesh: &[u8; 32], content: &[u8]) -> Vec<u8> {
        [format!("meshlock {} {}\0", self.word, self.format).as_bytes(), mesh, content].concat()
    }

    pub(super) fn wrong(self, why: impl Into<String>) -> MeshError {
        MeshError::Statement { what: self.word, why: why.into() }
    }
}

/// Whether the authority of this member's mesh signed these bytes.
pub(super) fn is_signed(identity: &Identity, bytes: &[u8], signature: &[u8]) -> bool {
    let key = public_key(&identity.authority);
    key.is_some_and(|key| UnparsedPublicKey::new(&ED25519, key).verify(bytes, signature).is_ok())
}

/// The Ed25519 key in a certificate.
fn public_key(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let anchor = webpki::anchor_from_trusted_cert(certificate).ok()?;
    let key = anchor.subject_public_key_info.as_ref().strip_prefix(ED25519_KEY_INFO)?;
    (key.len() == 32).then(|| key.to_vec())
}

/// What stands before the 32 bytes of an Ed25519 key in a certificate (RFC 8410).
const ED25519_KEY_INFO: &[u8] = &[0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    const ONE: Statement = Statement { word: "thing", format: 1 };

    #[test]
    fn no_changed_byte_is_believed() {
        let (authority, ann) = found("hall");
        let whole = ONE.sign(&authority, &300_u32).unwrap();
        assert_eq!(ONE.open::<u32>(&whole, &ann).unwrap(), 300);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(ONE.open::<u32>(&bytes, &ann).is_err(), "byte {at}");
            assert!(ONE.open::<u32>(&whole[..at], &ann).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn no_statement_passes_for_another() {
        let ((authority, ann), (other, stranger)) = (found("hall"), found("hall"));
        let whole = ONE.sign(&authority, &1_u32).unwrap();
        let why = |error: MeshError| error.to_string();
        assert!(why(ONE.open::<u32>(&whole, &stranger).expect_err("stranger")).contains("another mesh"));
        let word = Statement { word: "other", ..ONE };
        assert!(why(word.open::<u32>(&whole, &ann).expect_err("word")).contains("not the authority's"));
        let newer = Statement { format: 2, ..ONE }.sign(&authority, &1_u32).unwrap();
        assert!(why(ONE.open::<u32>(&newer, &ann).expect_err("newer")).contains("format 2"));
        let foreign = ONE.sign(&other, &1_u32).unwrap();
        // The same, with our mesh written over theirs.
        let forged = [&foreign[..1], &ann.fingerprint(), &foreign[33..]].concat();
        assert!(why(ONE.open::<u32>(&forged, &ann).expect_err("forged")).contains("not the authority's"));
    }
}
