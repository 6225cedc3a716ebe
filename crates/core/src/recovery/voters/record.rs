//! What a voter has on disk: where it stands in the chain of lists, who came, and whom it refused.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::super::census::{Census, Member};
use super::list::{DiskId, List};
use super::word::Word;
use crate::vocabulary::NodeId;

/// Drawn at random by each start of a node, to tell two processes apart that take themselves for one incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StartId(pub u64);

/// What all voters of a list know together: it moves along when the list changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Facts {
    /// Who came, who was ratified to be gone, who was removed.
    pub census: Census,
    /// By which start of its node an incarnation was registered. `None`: by two of them, so neither asks again.
    pub starts: BTreeMap<NodeId, Option<StartId>>,
    /// Never renewed: refused under this list or an earlier one.
    pub banned: BTreeSet<NodeId>,
    /// Members that are about to be removed: no incarnation of theirs is renewed or registered.
    pub barred: BTreeSet<Member>,
}

/// A voter's record. It is durable before the voter says anything because of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VoterRecord {
    /// Which disk this is.
    pub disk: DiskId,
    /// The list it has opened last, if any.
    pub list: Option<List>,
    /// The list for which it has closed that one. From then on it does nothing under it.
    pub successor: Option<List>,
    /// What it knows.
    pub facts: Facts,
    /// Refused under this list. All of them are banned too.
    pub refused: BTreeSet<NodeId>,
    /// The closings it opened with, and the lists they speak of. Others may need them for the same.
    pub opened_with: Vec<Word>,
}

impl Facts {
    /// Both together.
    pub fn merge(&mut self, other: &Self) {
        self.census = self.census.merged(&other.census);
        for (node, start) in &other.starts {
            self.starts.entry(*node).and_modify(|known| *known = known.filter(|_| known == start)).or_insert(*start);
        }
        self.banned.extend(&other.banned);
        self.barred.extend(&other.barred);
        self.tidy();
    }

    /// Drops what the census says anyway.
    pub fn tidy(&mut self) {
        let Self { census, starts, banned, barred } = self;
        starts.retain(|node, _| !census.is_gone(*node));
        banned.retain(|node| !census.is_gone(*node));
        barred.retain(|member| !census.is_removed(*member));
    }
}

impl VoterRecord {
    /// A new disk: it takes part as soon as a list with it can be opened.
    pub fn new(disk: DiskId) -> Self {
        let (facts, refused) = (Facts::default(), BTreeSet::new());
        Self { disk, list: None, successor: None, facts, refused, opened_with: Vec::new() }
    }

    /// The record of a founding voter.
    pub fn founding(disk: DiskId, list: List) -> Self {
        Self { list: Some(list), ..Self::new(disk) }
    }
}
