//! A statement of the mesh's authority that a node is no longer a member.
//!
//! It is signed, so that any node may pass it on and none can forge one; it names the mesh, so that it is worth
//! nothing in another; and it says nothing else, so that the same removal is the same bytes everywhere.
//!
//! There are two kinds. A plain removal closes links. With *gone* a person vouches that the member has stopped and will
//! not run again, so what was in it can be made anew. That is a fact for the census, and it names all members invited by
//! then: somebody may have come through the removed one, and no other has heard of them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use meshlock_core::recovery::Census;
use serde::{Deserialize, Serialize};

use super::durable::{self, Readers};
use super::error::file;
use super::signed::{Statement, is_signed};
use super::{Authority, Identity, Member, MeshError, keep};

/// A node is no longer a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    member: Member,
    /// If it is gone: how many numbers for members were given out by then.
    gone: Option<u32>,
    bytes: Vec<u8>,
}

/// Whose removal, and whether it says that the member is gone. Each is a file of its own.
pub(crate) type RemovalKey = (Member, bool);

#[derive(Serialize, Deserialize)]
struct Signed {
    mesh: [u8; 32],
    member: Member,
    signature: Vec<u8>,
}

/// What is signed about a member that is gone.
#[derive(Serialize, Deserialize)]
struct Gone {
    member: Member,
    given_out: u32,
}

const GONE: Statement = Statement { word: "removal of who is gone", format: 1 };

/// Bytes of a [`Signed`] begin with a hash, so these tell the two kinds apart.
const GONE_MARK: &[u8] = b"meshlock gone\0";

impl Removal {
    /// Signs it with the authority's key.
    pub fn sign(authority: &Authority, member: Member) -> Result<Self, MeshError> {
        let mesh = authority.fingerprint();
        let signature = authority.sign(&statement(&mesh, member))?;
        let signed = Signed { mesh, member, signature };
        let bytes = postcard::to_stdvec(&signed).map_err(|error| MeshError::Keys(error.to_string()))?;
        Ok(Self { member, gone: None, bytes })
    }

    /// Signs that a member has stopped and will not run again, in a mesh that has given out so many numbers.
    pub fn sign_gone(authority: &Authority, member: Member, given_out: u32) -> Result<Self, MeshError> {
        let signed = GONE.sign(authority, &Gone { member, given_out })?;
        Ok(Self { member, gone: Some(given_out), bytes: [GONE_MARK, &signed].concat() })
    }

    /// Reads a removal, from wherever it came, and believes it only if this mesh's authority signed it.
    pub fn verify(bytes: &[u8], identity: &Identity) -> Result<Self, MeshError> {
        if let Some(signed) = bytes.strip_prefix(GONE_MARK) {
            let Gone { member, given_out } = GONE.open(signed, identity)?;
            if given_out > u32::from(u16::MAX) + 1 {
                return Err(MeshError::Removal("it names more members than there can be"));
            }
            return Ok(Self { member, gone: Some(given_out), bytes: bytes.to_vec() });
        }
        let signed = match postcard::take_from_bytes::<Signed>(bytes) {
            Ok((signed, [])) => signed,
            Ok(_) | Err(_) => return Err(MeshError::Removal("it is damaged")),
        };
        if signed.mesh != identity.fingerprint() {
            return Err(MeshError::Removal("it names another mesh"));
        }
        if !is_signed(identity, &statement(&signed.mesh, signed.member), &signed.signature) {
            return Err(MeshError::Removal("the signature is not the authority's"));
        }
        Ok(Self { member: signed.member, gone: None, bytes: bytes.to_vec() })
    }

    /// Whom bytes name that may be a removal, and whether as gone. Nothing is verified.
    pub(crate) fn names(bytes: &[u8]) -> Option<RemovalKey> {
        match bytes.strip_prefix(GONE_MARK) {
            Some(signed) => GONE.read::<Gone>(signed).ok().map(|gone| (gone.member, true)),
            None => postcard::from_bytes::<Signed>(bytes).ok().map(|signed| (signed.member, false)),
        }
    }

    /// Whether a person vouches that the member has stopped and will not run again.
    pub const fn is_gone(&self) -> bool {
        self.gone.is_some()
    }

    /// What it says to a census: who is removed, and who was invited by then. Nothing if the member may still run.
    pub fn facts(&self) -> Option<Census> {
        self.gone.map(|given_out| keep::invited(given_out).merged(&Census::removed_fact(self.member.0)))
    }

    pub(crate) const fn key(&self) -> RemovalKey {
        (self.member, self.is_gone())
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
        durable::write(&self.path(dir), &self.bytes, Readers::Owner)
    }

    /// Keeps many, durably. After an error none of them counts as kept.
    pub(crate) fn store_all(dir: &Path, removals: &[Self]) -> Result<(), MeshError> {
        for removal in removals {
            durable::write_unnamed(&removal.path(dir), &removal.bytes, Readers::Owner)?;
        }
        durable::sync_directory(&directory(dir))
    }

    /// The file that keeps it in a mesh directory.
    pub fn path(&self, dir: &Path) -> PathBuf {
        path(dir, self.key())
    }
}

/// What the removed member is told, and what can be done.
pub fn removed_words(mesh: &str, name: &str) -> String {
    format!(
        "this node was removed from mesh {mesh:?}. To let the machine take part again, run `meshlock mesh invite {name}` on \
         the founder's machine and `meshlock mesh join --force INVITATION` here, and start the node again"
    )
}

/// The removals that a directory keeps, and what is wrong with files that are none.
#[derive(Debug, Default)]
pub struct Kept {
    /// In the order of their numbers; of a member that was removed and is gone, both.
    pub removals: Vec<Removal>,
    /// What could not be believed, for the log. It was left alone.
    pub refused: Vec<MeshError>,
}

impl Kept {
    /// Reads all removals of a mesh directory.
    pub fn load(dir: &Path, identity: &Identity) -> Result<Self, MeshError> {
        let mut kept = Self::default();
        for key in Self::list(dir)? {
            match Self::read(dir, key, identity) {
                Ok(removal) => kept.removals.extend(removal),
                Err(error @ MeshError::Damaged { .. }) => kept.refused.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(kept)
    }

    /// Whose removals a mesh directory keeps, by the names of its files. It is cheap: a running node does it every few
    /// seconds to see what `meshlock mesh remove` has put there.
    pub(crate) fn list(dir: &Path) -> Result<BTreeSet<RemovalKey>, MeshError> {
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
            found.extend(name.to_str().and_then(|name| {
                let (number, is_gone) = name.strip_suffix(GONE_SUFFIX).map_or((name, false), |number| (number, true));
                number.parse().ok().map(|number| (Member(number), is_gone))
            }));
        }
        Ok(found)
    }

    /// Reads one of them, if it is there.
    pub(crate) fn read(dir: &Path, key: RemovalKey, identity: &Identity) -> Result<Option<Removal>, MeshError> {
        let path = path(dir, key);
        let Some(bytes) = durable::read(&path)? else { return Ok(None) };
        let removal = Removal::verify(&bytes, identity);
        removal.map(Some).map_err(|error| super::error::damaged(&path, error.to_string()))
    }

    /// Who is removed.
    pub fn members(&self) -> BTreeSet<Member> {
        self.removals.iter().map(Removal::member).collect()
    }

    /// What they say to a census, together.
    pub fn facts(&self) -> Census {
        let facts = self.removals.iter().filter_map(Removal::facts);
        facts.fold(Census::default(), |all, fact| all.merged(&fact))
    }
}

const GONE_SUFFIX: &str = ".gone";

fn path(dir: &Path, (member, is_gone): RemovalKey) -> PathBuf {
    directory(dir).join(format!("{}{}", member.0, if is_gone { GONE_SUFFIX } else { "" }))
}

fn directory(dir: &Path) -> PathBuf {
    dir.join("state").join("removals")
}

/// What is signed. It begins with words that no certificate begins with, since the same key signs those.
fn statement(mesh: &[u8; 32], member: Member) -> Vec<u8> {
    let words = b"meshlock removal 1\0";
    words.iter().chain(mesh).chain(&member.0.to_be_bytes()).copied().collect()
}

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

    #[test]
    fn who_is_gone_is_told_with_all_that_were_invited() {
        let (authority, ann) = found("hall");
        let removal = Removal::sign_gone(&authority, Member(1), 4).unwrap();
        assert_eq!(Removal::verify(removal.bytes(), &ann).unwrap(), removal);
        assert_eq!(Removal::names(removal.bytes()), Some((Member(1), true)));
        let start = [b"meshlock gone\0\x01".as_slice(), &ann.fingerprint(), &[2, 1, 4, 64]].concat();
        assert!(removal.bytes().starts_with(&start), "the bytes are what they were");
        let facts = removal.facts().unwrap();
        assert!(facts.is_removed(1));
        assert_eq!(facts.living().map(|node| node.member()).collect::<Vec<_>>(), [0, 2, 3]);
        let plain = Removal::sign(&authority, Member(1)).unwrap();
        assert_eq!((plain.is_gone(), plain.facts()), (false, None), "it may still run");
        let (_, stranger) = found("hall");
        assert!(Removal::verify(removal.bytes(), &stranger).is_err());
        let mut changed = removal.bytes().to_vec();
        for at in 0..changed.len() {
            changed[at] ^= 1;
            assert!(Removal::verify(&changed, &ann).is_err(), "byte {at}");
            changed[at] ^= 1;
        }
    }

    /// Statements of older versions still count: these bytes were signed by one.
    #[test]
    fn the_bytes_of_a_plain_removal_are_what_they_were() {
        let (authority, ann) = found("hall");
        let removal = Removal::sign(&authority, Member(300)).unwrap();
        let mesh = ann.fingerprint();
        let words = [b"meshlock removal 1\0".as_slice(), &mesh, &[1, 44]].concat();
        let signature = authority.sign(&words).unwrap();
        assert_eq!(removal.bytes(), [mesh.as_slice(), &[0xac, 0x02, 64], &signature].concat());
    }

    #[test]
    fn both_kinds_are_kept_side_by_side() {
        let (authority, ann) = found("hall");
        let place = tempfile::tempdir().unwrap();
        Removal::sign(&authority, Member(4)).unwrap().store(place.path()).unwrap();
        Removal::sign_gone(&authority, Member(4), 6).unwrap().store(place.path()).unwrap();
        let kept = Kept::load(place.path(), &ann).unwrap();
        assert_eq!(kept.removals.iter().map(Removal::key).collect::<Vec<_>>(), [(Member(4), false), (Member(4), true)]);
        assert_eq!(kept.members(), [Member(4)].into());
        assert!(kept.facts().is_removed(4) && kept.facts().count(5) == 1);
    }
}
