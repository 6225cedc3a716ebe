//! What the authority decided for the whole mesh: how it recovers from crashes.
//!
//! A charter is signed and numbered. It comes with the invitation, and members tell each other of a newer one. A mesh that
//! was founded before there were charters has none: it recovers nothing, until `meshlock mesh recovery` gives it one.
//!
//! Of the settings that a charter has, `standing` counts for a mesh with voters only. There it cannot be changed: a voter
//! that waits by the old time would declare gone a node that acts by the new one.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use meshlock_core::recovery::Census;
use serde::{Deserialize, Serialize};

use super::durable::{self, Readers};
use super::error::{damaged, file};
use super::signed::Statement;
use super::{Authority, Identity, MeshError, keep, name, voters};
use crate::config::Time;

/// How a mesh recovers what a crash took with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Not at all: what was in a node that crashed is lost.
    None,
    /// When the node is started again, or when an operator says that it is gone for good.
    Restart,
    /// By themselves: a majority of voters declares gone who is silent.
    #[default]
    Voters,
}

impl Recovery {
    /// The word in files and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Restart => "restart",
            Self::Voters => "voters",
        }
    }
}

/// What is wished for a mesh that is founded; what is not said follows from defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Founding {
    /// How it recovers. Default: voters.
    pub recovery: Option<Recovery>,
    /// How long a node may act after it last asked the voters. Default: 10 s, or more if links need it.
    pub standing: Option<Duration>,
    /// Who votes, by name. Default: the founder, and with it the first two members that join.
    pub voters: Option<Vec<String>>,
}

/// What a charter says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Terms {
    pub(super) number: u32,
    pub(super) recovery: Recovery,
    pub(super) standing_ms: u64,
    pub(super) voters: Vec<String>,
    /// How many numbers for members were given out when it was signed.
    pub(super) given_out: u32,
}

const STANDING: Duration = Duration::from_secs(10);
const SHORTEST_STANDING: Duration = Duration::from_secs(2);
const LONGEST_STANDING: Duration = Duration::from_secs(600);

/// A link must be able to fail and come back within a standing, or every lost link would stop a node.
const LOSSES: u32 = 3;

impl Founding {
    /// With the standing said, if the founder's links need more than the default.
    #[must_use]
    pub fn for_links(&self, loss_after: Duration) -> Self {
        let needed = loss_after.saturating_mul(LOSSES);
        Self { standing: self.standing.or((needed > STANDING).then_some(needed)), ..self.clone() }
    }

    /// Everything that is wrong, each with its key and its fix. `loss_after` is that of the founder's links.
    pub fn check(&self, loss_after: Duration) -> Vec<String> {
        let mut problems = Vec::new();
        let has_voters = self.recovery.unwrap_or_default() == Recovery::Voters;
        let standing = self.for_links(loss_after).standing.unwrap_or(STANDING);
        if !(SHORTEST_STANDING..=LONGEST_STANDING).contains(&standing) {
            let (from, to) = (Time(SHORTEST_STANDING), Time(LONGEST_STANDING));
            problems.push(format!("mesh.standing: {} is out of range: give {from} to {to}", Time(standing)));
        } else if has_voters && let Err(words) = check_loss_after(standing, loss_after) {
            problems.push(format!("mesh.standing: {words}"));
        }
        let Some(voters) = &self.voters else { return problems };
        if !has_voters {
            let recovery = self.recovery.unwrap_or_default().word();
            problems
                .push(format!("mesh.voters: with recovery = \"{recovery}\" nobody votes; leave one of the two out"));
        }
        if !voters::COUNTS.contains(&voters.len()) {
            problems.push(format!("mesh.voters: {} voters are named; name 1, 3 or 5", voters.len()));
        }
        let mut seen = BTreeSet::new();
        for voter in voters {
            if let Err(error) = name::check("member", voter) {
                problems.push(format!("mesh.voters: {error}"));
            } else if !seen.insert(voter) {
                problems.push(format!("mesh.voters: {voter:?} is named twice"));
            }
        }
        problems
    }

    /// The first charter of a mesh that has given out so many numbers.
    pub(super) fn terms(&self, given_out: u32) -> Terms {
        let mut voters = self.voters.clone().unwrap_or_default();
        voters.sort();
        Terms {
            number: 1,
            recovery: self.recovery.unwrap_or_default(),
            standing_ms: milliseconds(self.standing.unwrap_or(STANDING)),
            voters,
            given_out,
        }
    }
}

impl Terms {
    /// The terms after these, or after none. Fails for a change that members cannot make one by one while they run.
    pub(super) fn changed(
        before: Option<&Self>,
        recovery: Recovery,
        standing: Option<Duration>,
        given_out: u32,
    ) -> Result<Self, MeshError> {
        let refuse = |words: String| Err(MeshError::Charter(words));
        let now = before.map_or(Recovery::None, |before| before.recovery);
        let had = before.map(|before| Duration::from_millis(before.standing_ms));
        if recovery < now {
            let (from, to) = (now.word(), recovery.word());
            return refuse(format!(
                "a mesh with recovery {from} cannot go back to {to}: members that have not heard of it yet would still \
                 rely on the others; found a new mesh"
            ));
        }
        if recovery == Recovery::Voters && now != Recovery::Voters {
            return refuse(
                "voters must be there from the founding: a member that has not heard of them yet would go on beside those \
                 that vote; found a new mesh with `meshlock mesh init`, or take `restart`"
                    .to_owned(),
            );
        }
        let changes_standing = standing.is_some() && standing != had;
        if now == Recovery::Voters && changes_standing {
            return refuse(
                "the standing of a mesh with voters cannot be changed: one that has not heard of it yet would act by the \
                 old time; found a new mesh"
                    .to_owned(),
            );
        }
        let founding = Founding { recovery: Some(recovery), standing: standing.or(had), voters: None };
        // Each node holds its own links against it when it starts.
        if let Some(problem) = founding.check(Duration::ZERO).into_iter().next() {
            return refuse(problem);
        }
        let number = before.map_or(0, |before| before.number);
        let number = number.checked_add(1).ok_or_else(|| CHARTER.wrong("its number is the greatest"))?;
        let voters = before.map(|before| before.voters.clone()).unwrap_or_default();
        let next = Self { voters, ..founding.terms(given_out) };
        match before {
            // Nothing to decide: the same terms, signed again.
            Some(before) if before.says_the_same(&next) => Ok(before.clone()),
            Some(_) | None => Ok(Self { number, ..next }),
        }
    }

    /// Whether nothing but numbers would change.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        let said = |terms: &Self| (terms.recovery, terms.standing_ms, terms.voters.clone());
        said(self) == said(other)
    }

    fn check(&self) -> Result<(), MeshError> {
        let voters = (!self.voters.is_empty()).then(|| self.voters.clone());
        let standing = Some(Duration::from_millis(self.standing_ms));
        let founding = Founding { recovery: Some(self.recovery), standing, voters };
        // Links are each node's own matter.
        match founding.check(Duration::ZERO).into_iter().next() {
            Some(problem) => Err(CHARTER.wrong(problem)),
            None if self.given_out > u32::from(u16::MAX) + 1 => Err(CHARTER.wrong("it has too many members")),
            None => Ok(()),
        }
    }
}

/// Fails if links may be silent for so long that a node would lose its standing by one loss.
fn check_loss_after(standing: Duration, loss_after: Duration) -> Result<(), String> {
    if loss_after.saturating_mul(LOSSES) <= standing {
        return Ok(());
    }
    // Down to what a file can say.
    let most = Time(Duration::from_millis(milliseconds(standing / LOSSES)));
    let (standing, loss_after) = (Time(standing), Time(loss_after));
    Err(format!(
        "a standing of {standing} is less than {LOSSES} times loss-after, {loss_after}; give every node at most \
         loss-after = \"{most}\" in [node], or the mesh a longer standing"
    ))
}

/// What the authority decided for the whole mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charter {
    terms: Terms,
    bytes: Vec<u8>,
}

const CHARTER: Statement = Statement { word: "charter", format: 1 };

impl Charter {
    pub(super) fn sign(authority: &Authority, terms: &Terms) -> Result<Self, MeshError> {
        terms.check()?;
        Ok(Self { terms: terms.clone(), bytes: CHARTER.sign(authority, terms)? })
    }

    /// One that the authority would sign, whatever it has decided before.
    #[cfg(test)]
    pub(crate) fn numbered(authority: &Authority, number: u32, recovery: Recovery) -> Self {
        let founding = Founding { recovery: Some(recovery), ..Founding::default() };
        let terms = Terms { number, ..founding.terms(1) };
        Self { bytes: CHARTER.sign(authority, &terms).unwrap(), terms }
    }

    /// Reads a charter, from wherever it came, and believes it only if this mesh's authority signed it.
    pub fn verify(bytes: &[u8], identity: &Identity) -> Result<Self, MeshError> {
        let terms: Terms = CHARTER.open(bytes, identity)?;
        terms.check()?;
        Ok(Self { terms, bytes: bytes.to_vec() })
    }

    /// To be passed on.
    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether this one is to be obeyed, and `other` no more. Of two with one number, which only a copied authority can
    /// make, all members choose the same.
    pub fn newer_than(&self, other: &Self) -> bool {
        (self.terms.number, &self.bytes) > (other.terms.number, &other.bytes)
    }

    /// Fails if members cannot go over from `before` to this one while others still run by `before`. The authority signs no
    /// such charter, unless somebody changed its files.
    pub fn may_follow(&self, before: Option<&Self>) -> Result<(), MeshError> {
        let before = before.map(|before| &before.terms);
        Terms::changed(before, self.recovery(), Some(self.standing()), self.given_out()).map(drop)
    }

    /// Its number, which grows with each change.
    pub fn number(&self) -> u32 {
        self.terms.number
    }

    /// How the mesh recovers.
    pub fn recovery(&self) -> Recovery {
        self.terms.recovery
    }

    /// How long a node may act after it last asked the voters.
    pub fn standing(&self) -> Duration {
        Duration::from_millis(self.terms.standing_ms)
    }

    /// Who is wished to vote, by name; empty if nobody was named.
    pub fn voters(&self) -> &[String] {
        &self.terms.voters
    }

    /// How many numbers for members were given out when it was signed.
    pub fn given_out(&self) -> u32 {
        self.terms.given_out
    }

    /// All members of that time, as living: a census must count them until it knows better.
    pub fn invited(&self) -> Census {
        keep::invited(self.terms.given_out)
    }

    /// What in a node's own configuration does not go with the charter, each with its fix: links that may be silent for
    /// too long, which the node must not start with, and then wishes for a founding that is over, which are only told.
    pub fn check_node(&self, loss_after: Duration, wished: &Founding) -> (Result<(), String>, Vec<String>) {
        let links = match self.recovery() {
            Recovery::Voters => {
                check_loss_after(self.standing(), loss_after).map_err(|words| format!("node.loss-after: {words}"))
            }
            Recovery::None | Recovery::Restart => Ok(()),
        };
        let mut told = Vec::new();
        let has = self.recovery();
        if let Some(wants) = wished.recovery.filter(|wants| *wants != has) {
            told.push(format!(
                "mesh.recovery: the file says \"{}\", but the mesh has \"{}\"; change it for all members with `meshlock \
                 mesh recovery`",
                wants.word(),
                has.word()
            ));
        }
        if let Some(wants) = wished.standing.filter(|wants| *wants != self.standing()) {
            let (wants, has) = (Time(wants), Time(self.standing()));
            told.push(format!("mesh.standing: the file says \"{wants}\", but the mesh has \"{has}\""));
        }
        (links, told)
    }

    /// Keeps it, durably. A file for each number, so that a command and a running node can do this side by side. Older
    /// ones are taken away.
    pub fn store(&self, dir: &Path) -> Result<(), MeshError> {
        durable::write(&path(dir, self.terms.number), &self.bytes, Readers::Owner)?;
        for older in list(dir)?.range(..self.terms.number) {
            durable::remove(&path(dir, *older))?;
        }
        Ok(())
    }

    /// The newest charter of a mesh directory. None in a mesh that was founded before there were charters.
    pub fn load(dir: &Path, identity: &Identity) -> Result<Option<Self>, MeshError> {
        // One that was taken away meanwhile has made room for a newer one.
        for _ in 0..MOST_TRIES {
            let Some(newest) = list(dir)?.last().copied() else { return Ok(None) };
            let path = path(dir, newest);
            let Some(bytes) = durable::read(&path)? else { continue };
            let charter = Self::verify(&bytes, identity).map_err(|error| damaged(&path, error.to_string()))?;
            return Ok(Some(charter));
        }
        Err(damaged(&directory(dir), "its files come and go"))
    }

    /// The number of the newest charter that a directory has. It is cheap: a running node can do it every few seconds to
    /// see what `meshlock mesh recovery` has put there.
    pub fn newest_number(dir: &Path) -> Result<Option<u32>, MeshError> {
        Ok(list(dir)?.last().copied())
    }
}

const MOST_TRIES: usize = 10;

/// Takes away what belongs to no member any more.
pub(super) fn clear(dir: &Path) -> Result<(), MeshError> {
    list(dir)?.into_iter().try_for_each(|number| durable::remove(&path(dir, number)))
}

fn list(dir: &Path) -> Result<BTreeSet<u32>, MeshError> {
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
        found.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(found)
}

fn directory(dir: &Path) -> PathBuf {
    dir.join("state").join("charters")
}

fn path(dir: &Path, number: u32) -> PathBuf {
    directory(dir).join(number.to_string())
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "charter/tests.rs"]
mod tests;
