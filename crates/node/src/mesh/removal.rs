//! A statement of the mesh's authority that a node is no longer a member.
//!
//! It is signed, so that any node may pass it on and none can forge one; it names the mesh, so that it is worth
//! nothing in another; and it says nothing else, so that the same removal is the same bytes everywhere.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ring::signature::{ED25519, UnparsedPublicKey};
use rustls::pki_types::CertificateDer;
use serde::{Deserialize, Serialize};

use super::durable::{self, Readers};
use super::error::file;
use super::{Authority, Identity, Member, MeshError};

/// A node is no longer a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    member: Member,
    bytes: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Signed {
    mesh: [u8; 32],
    member: Member,
    signature: Vec<u8>,
}

impl Removal {
    /// Signs it with the authority's key.
    pub fn sign(authority: &Authority, member: Member) -> Result<Self, MeshError> {
        let mesh = authority.fingerprint();
        let signature = authority.sign(&statement(&mesh, member))?;
        let signed = Signed { mesh, member, signature };
        let bytes = postcard::to_stdvec(&signed).map_err(|error| MeshError::Keys(error.to_string()))?;
        Ok(Self { member, bytes })
    }

    /// Reads a removal, from wherever it came, and believes it only if this mesh's authority signed it.
    pub fn verify(bytes: &[u8], identity: &Identity) -> Result<Self, MeshError> {
        let signed = match postcard::take_from_bytes::<Signed>(bytes) {
            Ok((signed, [])) => signed,
            Ok(_) | Err(_) => return Err(MeshError::Removal("it is damaged")),
        };
        if signed.mesh != identity.fingerprint() {
            return Err(MeshError::Removal("it names another mesh"));
        }
        let key = public_key(&identity.authority).ok_or(MeshError::Removal("this mesh's authority has no key"))?;
        UnparsedPublicKey::new(&ED25519, key)
            .verify(&statement(&signed.mesh, signed.member), &signed.signature)
            .map_err(|_| MeshError::Removal("the signature is not the authority's"))?;
        Ok(Self { member: signed.member, bytes: bytes.to_vec() })
    }

    /// Whom bytes name that may be a removal. Nothing is verified.
    pub(crate) fn names(bytes: &[u8]) -> Option<Member> {
        postcard::from_bytes::<Signed>(bytes).ok().map(|signed| signed.member)
    }

    /// Who is removed.
    pub const fn member(&self) -> Member {
        self.member
    }

    /// To be passed on.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Keeps it, durably. A file for each member, so that a command and a running node can do this side by side.
    pub fn store(&self, dir: &Path) -> Result<(), MeshError> {
        durable::write(&Self::path(dir, self.member), &self.bytes, Readers::Owner)
    }

    /// Keeps many, durably. After an error none of them counts as kept.
    pub(crate) fn store_all(dir: &Path, removals: &[Self]) -> Result<(), MeshError> {
        for removal in removals {
            durable::write_unnamed(&Self::path(dir, removal.member), &removal.bytes, Readers::Owner)?;
        }
        durable::sync_directory(&directory(dir))
    }

    /// The file that keeps it in a mesh directory.
    pub fn path(dir: &Path, member: Member) -> PathBuf {
        directory(dir).join(member.0.to_string())
    }
}

/// The removals that a directory keeps, and what is wrong with files that are none.
#[derive(Debug, Default)]
pub struct Kept {
    /// In the order of their numbers.
    pub removals: Vec<Removal>,
    /// What could not be believed, for the log. It was left alone.
    pub refused: Vec<MeshError>,
}

impl Kept {
    /// Reads all removals of a mesh directory.
    pub fn load(dir: &Path, identity: &Identity) -> Result<Self, MeshError> {
        let mut kept = Self::default();
        for member in Self::list(dir)? {
            match Self::read(dir, member, identity) {
                Ok(removal) => kept.removals.extend(removal),
                Err(error @ MeshError::Damaged { .. }) => kept.refused.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(kept)
    }

    /// Whose removals a mesh directory keeps, by the names of its files. It is cheap: a running node does it every few
    /// seconds to see what `meshlock mesh remove` has put there.
    pub(crate) fn list(dir: &Path) -> Result<BTreeSet<Member>, MeshError> {
        let directory = directory(dir);
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(file("read", &directory)(error)),
        };
        let mut found = BTreeSet::new();
        for entry in entries {
            let name = entry.map_err(file("read", &directory))?.file_name();
            // Others are being written at this moment, or were when the power went.
            found.extend(name.to_str().and_then(|name| name.parse().ok()).map(Member));
        }
        Ok(found)
    }

    /// Reads one of them, if it is there.
    pub(crate) fn read(dir: &Path, member: Member, identity: &Identity) -> Result<Option<Removal>, MeshError> {
        let path = Removal::path(dir, member);
        let Some(bytes) = durable::read(&path)? else { return Ok(None) };
        let removal = Removal::verify(&bytes, identity);
        removal.map(Some).map_err(|error| super::error::damaged(&path, error.to_string()))
    }

    /// Who is removed.
    pub fn members(&self) -> BTreeSet<Member> {
        self.removals.iter().map(Removal::member).collect()
    }
}

fn directory(dir: &Path) -> PathBuf {
    dir.join("state").join("removals")
}

/// What is signed. It begins with words that no certificate begins with, since the same key signs those.
fn statement(mesh: &[u8; 32], member: Member) -> Vec<u8> {
    let words = b"meshlock removal 1\0";
    words.iter().chain(mesh).chain(&member.0.to_be_bytes()).copied().collect()
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
    use super::super::testing::{found, member_of};
    use super::*;

    #[test]
    fn a_removal_is_believed_by_every_member() {
        let (mut authority, _) = found("hall");
        let bob = member_of(&mut authority, "bob");
        let removal = Removal::sign(&authority, Member(7)).unwrap();
        assert_eq!(Removal::verify(removal.bytes(), &bob).unwrap(), removal);
        assert_eq!(removal.member(), Member(7));
    }

    #[test]
    fn another_mesh_of_the_same_name_cannot_remove_anybody() {
        let (_, ann) = found("hall");
        let (other, _) = found("hall");
        let foreign = Removal::sign(&other, Member(1)).unwrap();
        let error = Removal::verify(foreign.bytes(), &ann).expect_err("another mesh").to_string();
        assert!(error.contains("another mesh"), "{error}");
        // The same, with our mesh written over theirs.
        let forged = [ann.fingerprint().as_slice(), &foreign.bytes()[32..]].concat();
        let error = Removal::verify(&forged, &ann).expect_err("forged").to_string();
        assert!(error.contains("not the authority's"), "{error}");
    }

    #[test]
    fn no_changed_byte_is_believed() {
        let (authority, ann) = found("hall");
        let whole = Removal::sign(&authority, Member(300)).unwrap().bytes;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(Removal::verify(&bytes, &ann).is_err(), "byte {at}");
            assert!(Removal::verify(&whole[..at], &ann).is_err(), "cut at {at}");
        }
        assert!(Removal::verify(&[whole, vec![0]].concat(), &ann).is_err());
    }

    #[test]
    fn removals_are_kept_and_rubbish_beside_them_is_told() {
        let (authority, ann) = found("hall");
        let place = tempfile::tempdir().unwrap();
        assert!(Kept::load(place.path(), &ann).unwrap().removals.is_empty());
        for number in [9, 4, 9] {
            Removal::sign(&authority, Member(number)).unwrap().store(place.path()).unwrap();
        }
        fs::write(directory(place.path()).join("5"), b"rubbish").unwrap();
        fs::write(directory(place.path()).join("6.new"), b"half").unwrap();
        let kept = Kept::load(place.path(), &ann).unwrap();
        assert_eq!(kept.members(), [Member(4), Member(9)].into());
        assert_eq!(kept.refused.len(), 1, "{:?}", kept.refused);
    }
}
