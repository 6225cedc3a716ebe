//! `authority.toml`: the authority's key and all members it admitted, in the founder's directory only.

use meshlock_core::recovery::voters::{List, Voter};
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PKCS_ED25519};
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde::{Deserialize, Serialize};

use super::authority::{Authority, Issued};
use super::charter::{Recovery, Terms};
use super::durable::{self, Readers};
use super::error::{damaged, file};
use super::identity::{from_pem, to_pem};
use super::{Charter, Member, MeshError, Removal, keep};

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    charter: Option<Terms>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone: Option<u32>,
}

/// How a member leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It may still run, and is not let in any more.
    Removed,
    /// It has stopped and will not run again; a person vouches for that.
    Gone,
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
            .map(|row| Issued { member: Member(row.number), name: row.name, removed: row.removed, gone: row.gone })
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
            charter: read.charter,
            key: key.map_err(|error| damaged(&path, format!("its key cannot be used: {error}")))?,
        })
    }

    /// Writes `authority.toml` durably, for its owner only.
    pub fn store(&self, dir: &Path) -> Result<(), MeshError> {
        let path = dir.join(AUTHORITY_FILE);
        let row = |issued: &Issued| Row {
            number: issued.member.0,
            name: issued.name.clone(),
            removed: issued.removed,
            gone: issued.gone,
        };
        let written = File {
            mesh: self.mesh.clone(),
            secret: STANDARD.encode(self.secret),
            next: self.next,
            certificate: to_pem("CERTIFICATE", &self.certificate),
            key: to_pem("PRIVATE KEY", self.key.serialized_der()),
            charter: self.charter.clone(),
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
        Self::remove_as(dir, own, name, None, Departure::Removed)
    }

    /// The same, or because the member is gone. Of several members that had the name, the last is meant, or the one with
    /// this number.
    pub fn remove_as(
        dir: &Path,
        own: Option<Member>,
        name: &str,
        number: Option<u16>,
        departure: Departure,
    ) -> Result<Removal, MeshError> {
        Self::change(dir, |authority| {
            let given_out = authority.next;
            let named =
                |issued: &&mut Issued| issued.name == name && number.is_none_or(|number| issued.member.0 == number);
            let Some(found) = authority.issued.iter_mut().rev().find(named) else {
                return Err(MeshError::NoSuchMember(match number.filter(|_| authority.has_name(name)) {
                    Some(number) => {
                        format!("{name:?} never had the number {number}; `meshlock mesh members` lists all")
                    }
                    None => authority.unknown(name),
                }));
            };
            let member = found.member;
            if own == Some(member) {
                return Err(MeshError::NoSuchMember(format!(
                    "{name:?} is this node, and the removal would have to spread from here; to end the mesh, stop \
                        all nodes"
                )));
            }
            found.removed = true;
            // Again for one that was removed already: its file may have been lost. It is the same statement then.
            let removal = match departure {
                Departure::Removed => Removal::sign(authority, member)?,
                Departure::Gone => {
                    let given_out = *found.gone.get_or_insert(given_out);
                    Removal::sign_gone(authority, member, given_out)?
                }
            };
            removal.store(dir)?;
            Ok(removal)
        })
    }

    /// Decides how the mesh recovers from now on: signs a charter, and keeps it where the node of this directory finds
    /// it when it starts.
    pub fn decide_recovery(dir: &Path, recovery: Recovery, standing: Option<Duration>) -> Result<Charter, MeshError> {
        let charter = Self::change(dir, |authority| {
            let terms = Terms::changed(authority.charter.as_ref(), recovery, standing, authority.next)?;
            let charter = Charter::sign(authority, &terms)?;
            authority.charter = Some(terms);
            Ok(charter)
        })?;
        // After its number is taken: no number stands for two charters. Repeated, the command signs the same again.
        charter.store(dir)?;
        Ok(charter)
    }

    /// Makes the member of a directory the first voter of the mesh, if there is none.
    pub(super) fn first_voter(&self, dir: &Path, member: Member) -> Result<(), MeshError> {
        if keep::read_first_list(dir)?.is_some() {
            return Ok(());
        }
        let disk = keep::prepare_voter(dir)?;
        keep::write_first_list(dir, &List::founding([Voter { member: member.0, disk }]))
    }

    /// The name of a member.
    pub fn name_of(&self, member: Member) -> Option<String> {
        self.issued.iter().rev().find(|issued| issued.member == member).map(|issued| issued.name.clone())
    }

    /// The number of the member of this name that was not removed.
    pub fn number_of(&self, name: &str) -> Option<Member> {
        self.issued.iter().rev().find(|issued| issued.name == name && !issued.removed).map(|issued| issued.member)
    }

    /// The last member that had this name, or the one of them with this number; removed or not.
    pub fn last_named(&self, name: &str, number: Option<u16>) -> Option<Member> {
        let is_meant = |issued: &&Issued| issued.name == name && number.is_none_or(|number| issued.member.0 == number);
        self.issued.iter().rev().find(is_meant).map(|issued| issued.member)
    }

    /// How many numbers of members were given out.
    pub const fn given_out(&self) -> u32 {
        self.next
    }

    /// Whether it was admitted and not removed.
    pub fn is_member(&self, member: Member) -> bool {
        self.issued.iter().any(|issued| issued.member == member && !issued.removed)
    }

    fn has_name(&self, name: &str) -> bool {
        self.issued.iter().any(|issued| issued.name == name)
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
# Only `invite`, `remove` and `recovery` of `meshlock mesh` need it; keep a copy in a safe place.

";

#[cfg(test)]
mod tests {
    use super::super::faults::FailingDisk;
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
        let remove = |name| Authority::remove(dir, Some(ann.member), name);
        let removal = remove("robot-1").unwrap();
        assert_eq!(removal.member(), Member(1));
        assert!(Authority::load(dir).unwrap().issued[1].removed);
        assert_eq!(remove("robot-1").unwrap(), removal, "the same bytes again");
        let error = remove("robot-2").expect_err("unknown").to_string();
        assert!(error.contains("did you mean \"robot-1\"?"), "{error}");
        let error = remove("ann").expect_err("itself").to_string();
        assert!(error.contains("this node"), "{error}");
    }

    #[test]
    fn who_is_gone_is_noted_once_and_may_be_named_by_number() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let (mut authority, ann) = found("hall");
        authority.admit("bob").unwrap();
        authority.store(dir).unwrap();
        let gone = |number| Authority::remove_as(dir, Some(ann.member), "bob", number, Departure::Gone);
        Authority::remove(dir, Some(ann.member), "bob").unwrap();
        Authority::change(dir, |authority| authority.admit("bob")).unwrap();
        let removal = gone(Some(1)).unwrap();
        assert!(removal.is_gone() && removal.member() == Member(1), "not the one that lives");
        assert_eq!(removal.facts().unwrap().living().count(), 2, "ann and the other bob");
        Authority::change(dir, |authority| authority.admit("cy")).unwrap();
        assert_eq!(gone(Some(1)).unwrap(), removal, "the same bytes again");
        let issued = Authority::load(dir).unwrap().issued;
        assert_eq!(issued.iter().map(|issued| issued.gone).collect::<Vec<_>>(), [None, Some(3), None, None]);
        assert!(gone(Some(3)).expect_err("cy").to_string().contains("never had the number 3"));
        assert_eq!(gone(None).unwrap().member(), Member(2));
    }

    #[test]
    fn an_authority_of_an_older_version_is_read_and_can_decide() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let (mut authority, ann) = found("hall");
        authority.admit("bob").unwrap();
        authority.store(dir).unwrap();
        let text = std::fs::read_to_string(dir.join(AUTHORITY_FILE)).unwrap();
        assert!(!text.contains("charter") && !text.contains("gone"), "as an older version writes it");
        assert_eq!(Authority::load(dir).unwrap().charter().unwrap(), None);
        let error = Authority::decide_recovery(dir, Recovery::Voters, None).expect_err("too late").to_string();
        assert!(error.contains("from the founding"), "{error}");
        let charter = Authority::decide_recovery(dir, Recovery::Restart, None).unwrap();
        assert_eq!((charter.recovery(), charter.given_out(), charter.number()), (Recovery::Restart, 2, 1));
        assert_eq!(Authority::decide_recovery(dir, Recovery::Restart, None).unwrap(), charter);
        assert_eq!(Authority::load(dir).unwrap().charter().unwrap(), Some(charter.clone()));
        ann.store(dir).unwrap();
        assert_eq!(Charter::load(dir, &ann).unwrap(), Some(charter));
    }

    #[test]
    fn a_decision_that_failed_at_any_step_can_be_repeated() {
        for step in 0.. {
            let place = tempfile::tempdir().unwrap();
            let dir = place.path();
            let (authority, ann) = found("hall");
            authority.store(dir).unwrap();
            ann.store(dir).unwrap();
            let disk = FailingDisk::from(dir, step);
            let first = Authority::decide_recovery(dir, Recovery::Restart, None);
            let failed = disk.failed();
            drop(disk);
            assert_eq!(first.is_err(), failed > 0, "step {step}");
            let charter = Authority::decide_recovery(dir, Recovery::Restart, None).unwrap();
            assert_eq!(charter.number(), 1, "step {step}");
            assert_eq!(Charter::load(dir, &ann).unwrap(), Some(charter));
            if failed == 0 {
                assert!(step > 12, "only {step} steps");
                return;
            }
        }
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
