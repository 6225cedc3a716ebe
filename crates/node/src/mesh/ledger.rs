//! `authority.toml`: the authority's key and all members it admitted, in the founder's directory only.

use std::fs::OpenOptions;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PKCS_ED25519};
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde::{Deserialize, Serialize};

use super::authority::{Authority, Issued};
use super::durable::{self, Readers};
use super::error::{damaged, file};
use super::identity::{from_pem, to_pem};
use super::{Member, MeshError, Removal};

/// The file in the founder's mesh directory that has the authority's key.
pub const AUTHORITY_FILE: &str = "authority.toml";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mesh: String,
    secret: String,
    /// The number of the next member.
    next: u32,
    certificate: String,
    key: String,
    #[serde(default)]
    members: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    number: u16,
    name: String,
    #[serde(default)]
    removed: bool,
}

impl Authority {
    /// Reads `authority.toml` of a mesh directory.
    pub fn load(dir: &Path) -> Result<Self, MeshError> {
        let path = dir.join(AUTHORITY_FILE);
        super::secret::check(&path)?;
        let Some(bytes) = durable::read(&path)? else {
            let dir = dir.to_owned();
            let member = super::is_member(&dir);
            return Err(if member { MeshError::NoAuthority { dir } } else { MeshError::NoMember { dir } });
        };
        let text = String::from_utf8(bytes).map_err(|_| damaged(&path, "it is no text"))?;
        let read: File = toml::from_str(&text).map_err(|error| damaged(&path, error.message()))?;
        let secret = STANDARD.decode(&read.secret).ok().and_then(|bytes| bytes.try_into().ok());
        let key = PrivatePkcs8KeyDer::from(from_pem(&path, "PRIVATE KEY", &read.key)?);
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ED25519);
        let issued: Vec<Issued> = read
            .members
            .into_iter()
            .map(|row| Issued { member: Member(row.number), name: row.name, removed: row.removed })
            .collect();
        if issued.iter().any(|issued| u32::from(issued.member.0) >= read.next) {
            return Err(damaged(&path, "`next` is not above the numbers of all members"));
        }
        Ok(Self {
            mesh: read.mesh,
            certificate: from_pem(&path, "CERTIFICATE", &read.certificate)?.into(),
            secret: secret.ok_or_else(|| damaged(&path, "its secret is not 32 bytes in base64"))?,
            issued,
            next: read.next,
            key: key.map_err(|error| damaged(&path, format!("its key cannot be used: {error}")))?,
        })
    }

    /// Writes `authority.toml` durably, for its owner only.
    pub fn store(&self, dir: &Path) -> Result<(), MeshError> {
        let path = dir.join(AUTHORITY_FILE);
        let row = |issued: &Issued| Row { number: issued.member.0, name: issued.name.clone(), removed: issued.removed };
        let written = File {
            mesh: self.mesh.clone(),
            secret: STANDARD.encode(self.secret),
            next: self.next,
            certificate: to_pem("CERTIFICATE", &self.certificate),
            key: to_pem("PRIVATE KEY", self.key.serialized_der()),
            members: self.issued.iter().map(row).collect(),
        };
        let text = toml::to_string(&written).map_err(|error| damaged(&path, error.to_string()))?;
        durable::write(&path, format!("{HEADING}{text}").as_bytes(), Readers::Owner)
    }

    /// Changes the authority of a directory. Two commands at once do it one after the other, and the change is durable
    /// before anybody sees its result.
    pub fn change<T>(dir: &Path, change: impl FnOnce(&mut Self) -> Result<T, MeshError>) -> Result<T, MeshError> {
        let path = dir.join(AUTHORITY_FILE);
        // A directory without authority gets no lock file either.
        Self::load(dir)?;
        // Beside the file, which is replaced as a whole when it changes.
        let beside = path.with_extension("lock");
        let lock = OpenOptions::new().create(true).append(true).open(&beside).map_err(file("open", &beside))?;
        lock.lock().map_err(file("lock", &beside))?;
        let mut authority = Self::load(dir)?;
        let result = change(&mut authority)?;
        authority.store(dir)?;
        Ok(result)
    }

    /// Removes a member by name, which must not be this node itself: signs the removal, keeps it where the node of
    /// this directory finds it, and notes it.
    pub fn remove(dir: &Path, own: Option<Member>, name: &str) -> Result<Removal, MeshError> {
        Self::change(dir, |authority| {
            let Some(found) = authority.issued.iter_mut().rev().find(|issued| issued.name == name) else {
                return Err(MeshError::NoSuchMember(authority.unknown(name)));
            };
            let member = found.member;
            if own == Some(member) {
                return Err(MeshError::NoSuchMember(format!(
                    "{name:?} is this node, and the removal would have to spread from here; to end the mesh, stop \
                        all nodes"
                )));
            }
            found.removed = true;
            // Again for one that was removed already: its file may have been lost.
            let removal = Removal::sign(authority, member)?;
            removal.store(dir)?;
            Ok(removal)
        })
    }

    fn unknown(&self, name: &str) -> String {
        let near = self.issued.iter().map(|issued| issued.name.as_str());
        let near = near.max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)));
        let near = near.filter(|near| strsim::jaro(near, name) > 0.7);
        let hint = near.map(|near| format!("did you mean {near:?}? ")).unwrap_or_default();
        format!("the mesh {:?} has no member {name:?}; {hint}`meshlock mesh members` lists them", self.mesh)
    }
}

const HEADING: &str = "\
# The authority of this mesh: anyone with this file can make members and remove them. Secret.
# Only the commands `meshlock mesh invite` and `meshlock mesh remove` need it; keep a copy in a safe place.

";

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn the_authority_comes_back_as_it_was_and_goes_on() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let (authority, ann) = found("hall");
        authority.store(dir).unwrap();
        let bob = Authority::change(dir, |authority| authority.admit("bob")).unwrap();
        let again = Authority::load(dir).unwrap();
        assert_eq!((again.mesh.as_str(), again.issued.len(), again.next), ("hall", 2, 2));
        assert_eq!((again.fingerprint(), bob.fingerprint()), (ann.fingerprint(), ann.fingerprint()));
        assert_eq!((bob.member, bob.secret), (Member(1), ann.secret));
    }

    #[test]
    fn a_change_that_fails_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        found("hall").0.store(place.path()).unwrap();
        let result: Result<(), MeshError> = Authority::change(place.path(), |authority| {
            authority.admit("bob")?;
            Err(MeshError::Name("no".into()))
        });
        assert!(result.is_err());
        assert_eq!(Authority::load(place.path()).unwrap().issued.len(), 1);
    }

    #[test]
    fn removal_by_name_is_noted_and_kept() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let (mut authority, ann) = found("hall");
        authority.admit("robot-1").unwrap();
        authority.store(dir).unwrap();
        let removal = Authority::remove(dir, Some(ann.member), "robot-1").unwrap();
        assert_eq!(removal.member(), Member(1));
        assert!(Authority::load(dir).unwrap().issued[1].removed);
        assert_eq!(Authority::remove(dir, Some(ann.member), "robot-1").unwrap(), removal, "the same bytes again");
        let error = Authority::remove(dir, Some(ann.member), "robot-2").expect_err("unknown").to_string();
        assert!(error.contains("did you mean \"robot-1\"?"), "{error}");
        let error = Authority::remove(dir, Some(ann.member), "ann").expect_err("itself").to_string();
        assert!(error.contains("this node"), "{error}");
    }

    #[test]
    fn numbers_that_contradict_each_other_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let (mut authority, _) = found("hall");
        authority.next = 0;
        authority.store(place.path()).unwrap();
        assert!(matches!(Authority::load(place.path()), Err(MeshError::Damaged { .. })));
    }

    #[test]
    fn only_the_founder_has_an_authority() {
        let place = tempfile::tempdir().unwrap();
        assert!(matches!(Authority::load(place.path()), Err(MeshError::NoMember { .. })));
        found("hall").1.store(place.path()).unwrap();
        assert!(matches!(Authority::load(place.path()), Err(MeshError::NoAuthority { .. })));
    }
}
