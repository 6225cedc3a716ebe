//! What a member keeps for recovery. No journal: only facts that grow, and few of them.
//!
//! | file | what it is | written |
//! |---|---|---|
//! | `state/census` | who came and who is gone | when it grows, before the node acts on it |
//! | `state/catalogue` | the resources it has heard of | when a node has started, and when many have changed |
//! | `state/catalogue-changes` | those that have changed since | when definitions are heard; several at a time |
//! | `state/voter` | a voter's disk id and its record | before every answer that promises something |
//! | `state/first-list` | the first list of voters, at the founder | when the mesh gets voters |
//!
//! A directory of an older version has none of them: then there is no census, and [`first_census`] makes one. A file that
//! is there and cannot be read is an error. A node that took it for empty would forget who is gone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use meshlock_api::{Definition, Kind as ResourceKind, Order, Protocol};
use meshlock_core::NodeId;
use meshlock_core::recovery::Census;
use meshlock_core::recovery::voters::{DiskId, List};
use ring::rand::{SecureRandom, SystemRandom};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::damaged;
use super::sealed::Kind;
use super::state::{Current, Run};
use super::{Charter, Identity, Incarnation, MeshError, durable};
use crate::wire::{Entry, Number};

const CENSUS: Kind = Kind { word: "census", format: 1 };
const CATALOGUE: Kind = Kind { word: "catalogue", format: 4 };
const CHANGES: Kind = Kind { word: "changes of the catalogue", format: 1 };
/// Before there were changes beside it.
const THIRD_CATALOGUE: Kind = Kind { word: "catalogue", format: 3 };
/// Before resources had a policy.
const SECOND_CATALOGUE: Kind = Kind { word: "catalogue", format: 2 };
/// Before units had names.
const FIRST_CATALOGUE: Kind = Kind { word: "catalogue", format: 1 };
const VOTER: Kind = Kind { word: "voter", format: 1 };
const FIRST_LIST: Kind = Kind { word: "first list", format: 1 };

/// So many changes are kept beside a catalogue, however small it is.
const LEAST_CHANGES: usize = 64;

/// A resource that has changed, by its number; `None` if it is gone.
pub type Change = (Number, Option<Entry>);

/// The recovery files of a member that runs. Methods block on the disk; what is `Ok` is durable.
#[derive(Debug)]
pub struct Keep {
    dir: PathBuf,
    current: Arc<Mutex<Current>>,
    /// What is durable, so that nothing is written twice; `None` if that is not known.
    durable_census: Option<Census>,
    durable_catalogue: Option<Base>,
    /// The greatest number of a file with a catalogue that was ever written; `None` if that was not looked up yet.
    last_catalogue: Option<u64>,
    disk: Option<DiskId>,
}

impl Keep {
    /// The files of a member that runs. The run makes sure that no other process writes them.
    pub fn of(run: &Run) -> Self {
        let (dir, current) = (run.dir().to_owned(), run.current());
        Self { dir, current, durable_census: None, durable_catalogue: None, last_catalogue: None, disk: None }
    }

    /// Who came and who is gone. `None` in the directory of an older version or of a member that never ran.
    pub fn census(&self) -> Result<Option<Census>, MeshError> {
        let path = self.path("census");
        let Some(census) = read::<Census>(CENSUS, &path)? else {
            // The catalogue is never written before there is a census.
            return if self.path("catalogue").exists() { Err(MeshError::StateLost { path }) } else { Ok(None) };
        };
        if !census.is_possible() {
            return Err(damaged(&path, "a count in it is out of range"));
        }
        Ok(Some(census))
    }

    /// Keeps a census. The node must not act on it, nor say it, before this is `Ok`.
    pub fn save_census(&mut self, census: &Census) -> Result<(), MeshError> {
        if self.durable_census.as_ref() == Some(census) {
            return Ok(());
        }
        self.durable_census = None;
        CENSUS.write(&self.path("census"), &encode(census)?)?;
        self.durable_census = Some(census.clone());
        Ok(())
    }

    /// The resources this member has heard of; empty if none were kept.
    pub fn catalogue(&self) -> Result<Vec<Entry>, MeshError> {
        self.numbered_catalogue().map(|(_, entries)| entries)
    }

    /// The same, with the number of its file.
    fn numbered_catalogue(&self) -> Result<(u64, Vec<Entry>), MeshError> {
        match read::<(u64, Vec<Entry>)>(CATALOGUE, &self.path("catalogue")) {
            Err(MeshError::OtherFormat { .. }) => Ok((0, self.former_catalogue()?)),
            known => {
                let (number, entries) = known?.unwrap_or_default();
                let changes = read::<(u64, Vec<Change>)>(CHANGES, &self.path("catalogue-changes"))?;
                // Those of a former file are in this one.
                let changes = changes.filter(|(of, _)| *of == number).map(|(_, changes)| changes);
                Ok((number, changed(entries, changes.unwrap_or_default())))
            }
        }
    }

    fn former_catalogue(&self) -> Result<Vec<Entry>, MeshError> {
        let path = self.path("catalogue");
        match read(THIRD_CATALOGUE, &path) {
            Err(MeshError::OtherFormat { .. }) => {}
            known => return Ok(known?.unwrap_or_default()),
        }
        match read::<Vec<SecondEntry>>(SECOND_CATALOGUE, &path) {
            Err(MeshError::OtherFormat { .. }) => {}
            known => return Ok(known?.unwrap_or_default().into_iter().map(SecondEntry::complete).collect()),
        }
        let first: Vec<FirstEntry> = read(FIRST_CATALOGUE, &path)?.unwrap_or_default();
        Ok(first.into_iter().map(FirstEntry::complete).collect())
    }

    /// Keeps a whole catalogue. There must be a census before.
    pub fn save_catalogue(&mut self, entries: &[Entry]) -> Result<(), MeshError> {
        self.durable_catalogue = None;
        let last = match self.last_catalogue {
            Some(last) => last,
            None => self.numbered_catalogue()?.0,
        };
        // After a write that failed, nobody knows which file is there: the next one is of another number than both.
        let number = last + 1;
        self.last_catalogue = Some(number);
        CATALOGUE.write(&self.path("catalogue"), &encode(&(number, entries))?)?;
        self.durable_catalogue = Some(Base { number, entries: entries.len(), changes: BTreeMap::new() });
        Ok(())
    }

    /// Keeps what has changed in it. It costs one write however many entries are new, so a caller may collect some first.
    ///
    /// All changes since the whole was written are in one file, so that each of them costs the more the more there are; and
    /// the whole is written anew when they are about as many as the root of all entries. So of 100,000 resources, a change
    /// costs as much as 450, not as all.
    pub fn save_changes(&mut self, changes: Vec<Change>) -> Result<(), MeshError> {
        let Some(mut base) = self.durable_catalogue.take() else {
            let known = self.catalogue()?;
            return self.save_catalogue(&changed(known, changes));
        };
        if changes.is_empty() {
            self.durable_catalogue = Some(base);
            return Ok(());
        }
        base.changes.extend(changes);
        if base.has_many_changes() {
            let known = self.catalogue()?;
            return self.save_catalogue(&changed(known, base.changes));
        }
        let said: Vec<(Number, Option<&Entry>)> =
            base.changes.iter().map(|(number, entry)| (*number, entry.as_ref())).collect();
        CHANGES.write(&self.path("catalogue-changes"), &encode(&(base.number, said))?)?;
        self.durable_catalogue = Some(base);
        Ok(())
    }

    /// A voter's disk id and its record, if this member has ever been made one.
    pub fn voter(&self) -> Result<Option<(DiskId, Vec<u8>)>, MeshError> {
        read_voter(&self.dir)
    }

    /// Keeps a voter's record. The first time it draws the disk id. A voter must not answer before this is `Ok`.
    pub fn save_voter(&mut self, record: &[u8]) -> Result<DiskId, MeshError> {
        let disk = match self.disk {
            Some(disk) => disk,
            None => match read_voter(&self.dir)? {
                Some((disk, _)) => disk,
                None => draw()?,
            },
        };
        write_voter(&self.dir, disk, record)?;
        self.disk = Some(disk);
        Ok(disk)
    }

    /// The first list of voters, at the founder.
    pub fn first_list(&self) -> Result<Option<List>, MeshError> {
        read_first_list(&self.dir)
    }

    /// Begins anew at run time: the next incarnation of this member, durably. After an error it is not known which
    /// incarnation is on the disk; the node may try again, and must neither speak nor save state before it succeeds.
    pub fn next_incarnation(&mut self) -> Result<Incarnation, MeshError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.advance(&self.dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        state_file(&self.dir, name)
    }
}

/// What is durable of the catalogue.
#[derive(Debug)]
struct Base {
    /// Of the file with the whole. Changes name it, so that those of a former file are told apart.
    number: u64,
    /// How many entries the whole has.
    entries: usize,
    changes: BTreeMap<Number, Option<Entry>>,
}

impl Base {
    fn has_many_changes(&self) -> bool {
        let changes = self.changes.len();
        changes > LEAST_CHANGES && changes.saturating_mul(changes) > self.entries.saturating_mul(2)
    }
}

/// A catalogue after some changes.
fn changed(entries: Vec<Entry>, changes: impl IntoIterator<Item = Change>) -> Vec<Entry> {
    let mut known: BTreeMap<Number, Entry> = entries.into_iter().map(|entry| (entry.number, entry)).collect();
    for (number, entry) in changes {
        match entry {
            Some(entry) => known.insert(number, entry),
            None => known.remove(&number),
        };
    }
    known.into_values().collect()
}

/// The census of a member that has none: itself, and every number that was given out before its own, or before the mesh
/// was given its charter. All of them count as living until a fact says otherwise; a member that counted fewer could take
/// itself for the whole mesh.
pub fn first_census(identity: &Identity, charter: Option<&Charter>, incarnation: Incarnation) -> Census {
    let given_out = charter.map_or(0, Charter::given_out).max(u32::from(identity.member.0));
    let others = invited(given_out);
    others.merged(&Census::living_fact(identity.member.node(incarnation)))
}

/// Members with the numbers below this one, as living: what is known of them by their invitations alone.
pub(super) fn invited(given_out: u32) -> Census {
    let members = 0..=u16::MAX;
    Census::of_living(members.take_while(|member| u32::from(*member) < given_out).map(|member| NodeId::of(member, 0)))
}

/// Makes a member a voter: draws its disk id, if it has none.
pub(super) fn prepare_voter(dir: &Path) -> Result<DiskId, MeshError> {
    if let Some((disk, _)) = read_voter(dir)? {
        return Ok(disk);
    }
    let disk = draw()?;
    write_voter(dir, disk, &[])?;
    Ok(disk)
}

/// The first list of voters, if this directory founded them.
pub(super) fn read_first_list(dir: &Path) -> Result<Option<List>, MeshError> {
    read(FIRST_LIST, &state_file(dir, "first-list"))
}

/// Keeps the first list of voters.
pub(super) fn write_first_list(dir: &Path, list: &List) -> Result<(), MeshError> {
    FIRST_LIST.write(&state_file(dir, "first-list"), &encode(list)?)
}

/// Takes away what belongs to no member any more.
pub(super) fn clear(dir: &Path) -> Result<(), MeshError> {
    // The census last: without it, whatever else is there counts as lost state.
    for name in ["catalogue-changes", "catalogue", "voter", "first-list", "voters-known", "voters-proposed", "census"] {
        durable::remove(&state_file(dir, name))?;
    }
    Ok(())
}

fn read_voter(dir: &Path) -> Result<Option<(DiskId, Vec<u8>)>, MeshError> {
    let path = state_file(dir, "voter");
    let Some(content) = VOTER.read(&path)? else { return Ok(None) };
    let (disk, record) = content.split_first_chunk().ok_or_else(|| damaged(&path, "it has no disk id"))?;
    Ok(Some((DiskId(u64::from_be_bytes(*disk)), record.to_vec())))
}

fn write_voter(dir: &Path, disk: DiskId, record: &[u8]) -> Result<(), MeshError> {
    // In one file: whoever loses the record loses the id with it, and is another voter.
    VOTER.write(&state_file(dir, "voter"), &[&disk.0.to_be_bytes()[..], record].concat())
}

fn draw() -> Result<DiskId, MeshError> {
    let mut id = [0; 8];
    SystemRandom::new().fill(&mut id).map_err(|_| MeshError::Keys("no random numbers".to_owned()))?;
    Ok(DiskId(u64::from_be_bytes(id)))
}

pub(super) fn state_file(dir: &Path, name: &str) -> PathBuf {
    dir.join("state").join(name)
}

fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, MeshError> {
    postcard::to_stdvec(value).map_err(|error| MeshError::Keys(error.to_string()))
}

fn read<T: DeserializeOwned>(kind: Kind, path: &Path) -> Result<Option<T>, MeshError> {
    let Some(content) = kind.read(path)? else { return Ok(None) };
    match postcard::take_from_bytes(&content) {
        Ok((value, [])) => Ok(Some(value)),
        Ok(_) | Err(_) => Err(damaged(path, "its content makes no sense")),
    }
}

/// An entry as [`SECOND_CATALOGUE`] has it.
#[derive(Deserialize)]
struct SecondEntry(Number, String, (FirstDefinition, Vec<String>), u64, NodeId);

/// An entry as [`FIRST_CATALOGUE`] has it.
#[derive(Deserialize)]
struct FirstEntry(Number, String, FirstDefinition, u64, NodeId);

#[derive(Deserialize)]
struct FirstDefinition(ResourceKind, u32, Protocol, Order, u32, u64);

impl SecondEntry {
    fn complete(self) -> Entry {
        let Self(number, name, (definition, slots), version, home) = self;
        let definition = Definition { slots, ..definition.complete() };
        Entry { number, name, definition, version, home }
    }
}

impl FirstEntry {
    fn complete(self) -> Entry {
        let Self(number, name, definition, version, home) = self;
        Entry { number, name, definition: definition.complete(), version, home }
    }
}

impl FirstDefinition {
    fn complete(self) -> Definition {
        let Self(kind, capacity, protocol, order, joins, lease_ms) = self;
        Definition { kind, capacity, protocol, order, joins, lease_ms, ..Definition::default() }
    }
}

#[cfg(test)]
#[path = "keep/tests.rs"]
mod tests;
