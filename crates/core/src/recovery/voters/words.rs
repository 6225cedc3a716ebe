//! All words that one node remembers: the newest about each subject, as long as it matters.
//!
//! Every node passes on what is new to it, and tells a new neighbour all it remembers. What is obsolete is refused as it
//! was forgotten, by one and the same test: otherwise a forgotten word would circulate.

use alloc::collections::{BTreeMap, BTreeSet};
use core::ops::Bound;

use super::super::census::Census;
use super::list::{DiskId, List, ListId, Voter};
use super::looked;
use super::record::{Facts, StartId};
use super::word::{Key, Word};
use crate::vocabulary::NodeId;

/// The table of words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Words {
    table: BTreeMap<Key, Word>,
    /// A list that was in force when this node came.
    root: Option<ListId>,
    pub(super) news: News,
}

/// What a voter has to look at again. There are as many rounds as nodes, and answers for each of them; so whatever else
/// is said, nothing is concluded from all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct News {
    /// Everything: lists, facts or the record have changed.
    pub(super) all: bool,
    /// These nodes made a round, or are suspected.
    pub(super) nodes: BTreeSet<NodeId>,
}

/// Words of one kind lie together in the table, in the order of [`Key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Round,
    Refusal,
    Register,
    Registration,
    Ratify,
    Ratification,
    Ready,
    List,
    Removal,
    Removed,
}

impl Kind {
    fn bounds(self) -> (Bound<Key>, Bound<Key>) {
        let node = NodeId(0);
        let list = ListId { number: 0, digest: 0 };
        let voter = Voter { member: 0, disk: DiskId(0) };
        let between = |first, next| (Bound::Included(first), Bound::Excluded(next));
        let (register, registration) = (Key::Register(node, StartId(0)), Key::Registration(voter, node, StartId(0)));
        let (ratify, ratification) = (Key::Ratify(node), Key::Ratification(voter, node));
        let (ready, lists, closing) = (Key::Ready(0), Key::List(list), Key::Closing(list, voter, list));
        let (removal, removed) = (Key::Removal(0, false), Key::Removed(list, voter, 0));
        match self {
            Self::Round => between(Key::Round(node), Key::Answer(voter, node)),
            Self::Refusal => between(Key::Refusal(list, voter, node), register),
            Self::Register => between(register, registration),
            Self::Registration => between(registration, ratify),
            Self::Ratify => between(ratify, ratification),
            Self::Ratification => between(ratification, ready),
            Self::Ready => between(ready, lists),
            Self::List => between(lists, closing),
            Self::Removal => between(removal, removed),
            Self::Removed => between(removed, Key::Yield(list, 0)),
        }
    }
}

impl Words {
    /// Whether the word is new and matters, so that others have to hear it too.
    pub fn hear(&mut self, word: Word, census: &Census) -> bool {
        let key = word.key();
        let is_known = self.table.get(&key).is_some_and(|known| known.age() >= word.age());
        if is_known || !word.is_possible() || self.is_obsolete(&word, self.in_force(), census) {
            return false;
        }
        // Most words make no other one obsolete: only the first round of a node does, and whatever changes the lists.
        let mut registered = None;
        if let Word::Round { node, .. } | Word::Suspicion { node, .. } = word {
            self.news.nodes.insert(node);
            registered = Some(node).filter(|_| matches!(word, Word::Round { .. }) && !self.table.contains_key(&key));
        }
        let changes_lists = matches!(word, Word::List(_) | Word::Closing { .. } | Word::Yield { .. });
        self.table.insert(key, word);
        if changes_lists {
            self.news.all = true;
            self.forget(census);
        }
        if let Some(node) = registered {
            let about = |word: &&Word| word.about() == Some(node);
            let asked = self.of(Kind::Register).chain(self.of(Kind::Registration)).filter(about);
            let over: alloc::vec::Vec<Key> = asked.map(Word::key).collect();
            for key in over {
                self.table.remove(&key);
            }
        }
        true
    }

    /// A list that is in force, from a source that needs no closings: the own disk, or an invitation.
    pub fn root(&mut self, list: List) {
        let id = list.id();
        self.table.insert(Key::List(id), Word::List(list));
        self.news.all = true;
        self.root = self.root.max(Some(id));
    }

    /// Drops what matters no more.
    pub fn forget(&mut self, census: &Census) {
        self.news.all = true;
        let force = self.in_force().cloned();
        let obsolete = |word: &Word| self.is_obsolete(word, force.as_ref(), census);
        let dropped: alloc::vec::Vec<Key> = self.all().filter(|word| obsolete(word)).map(Word::key).collect();
        for key in dropped {
            self.table.remove(&key);
        }
    }

    /// Drops one word.
    #[cfg(feature = "mutants")]
    pub(super) fn drop_word(&mut self, key: &Key) {
        self.table.remove(key);
    }

    /// What a new neighbour has to hear.
    pub fn all(&self) -> impl Iterator<Item = &Word> {
        self.table.values().inspect(|_| looked::note())
    }

    /// All words of one kind.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = &Word> {
        self.table.range(kind.bounds()).map(|(_, word)| word).inspect(|_| looked::note())
    }

    /// The newest word about a subject.
    pub fn get(&self, key: &Key) -> Option<&Word> {
        self.table.get(key)
    }

    /// The lists that matter.
    pub fn lists(&self) -> impl Iterator<Item = &List> {
        self.of(Kind::List).filter_map(|word| if let Word::List(list) = word { Some(list) } else { None })
    }

    /// The list of this name.
    pub fn list(&self, id: ListId) -> Option<&List> {
        match self.table.get(&Key::List(id)) {
            Some(Word::List(list)) => Some(list),
            Some(_) | None => None,
        }
    }

    /// The latest round of a node that was heard of, 0 if none.
    pub fn round(&self, node: NodeId) -> u64 {
        self.table.get(&Key::Round(node)).map_or(0, |word| word.age().1)
    }

    /// What the voters of `parent` said that closed it for this successor.
    pub fn closings(&self, parent: &List, successor: ListId) -> impl Iterator<Item = (&Word, &Facts)> {
        let parent_id = parent.id();
        let closing = move |voter| match self.table.get(&Key::Closing(parent_id, voter, successor)) {
            Some(word @ Word::Closing { facts, .. }) => Some((word, facts)),
            Some(_) | None => None,
        };
        parent.voters().to_vec().into_iter().filter_map(closing)
    }

    /// What members said that have given up all lists before this forced one.
    pub fn yields(&self, list: &List) -> impl Iterator<Item = (&Word, &Facts)> {
        let id = list.id();
        let members = list.force().into_iter().flat_map(|force| force.members.iter());
        members.filter_map(move |member| match self.table.get(&Key::Yield(id, *member)) {
            Some(word @ Word::Yield { facts, .. }) => Some((word, facts)),
            Some(_) | None => None,
        })
    }

    /// Whether a majority has closed this list's parent for it; or all who go on have given up what was before it.
    pub fn is_made(&self, list: &List) -> bool {
        if let Some(force) = list.force() {
            return self.yields(list).count() == force.members.len();
        }
        let parent = list.parent().and_then(|parent| self.list(parent));
        parent.is_some_and(|parent| parent.is_majority(self.closings(parent, list.id()).count()))
    }

    /// The last list of the chain, as far as is known here.
    pub fn in_force(&self) -> Option<&List> {
        self.lists().filter(|list| Some(list.id()) == self.root || self.is_made(list)).max_by_key(|list| list.id())
    }

    fn is_obsolete(&self, word: &Word, force: Option<&List>, census: &Census) -> bool {
        if word.about().is_some_and(|node| census.is_gone(node)) {
            return true;
        }
        let older = |id: ListId| force.is_some_and(|force| id.number.saturating_add(1) < force.id().number);
        // Rivals of a list that is made, or of its parent.
        let rival = |id: ListId| {
            let same = |other: ListId| other.number == id.number && other != id && !(id.is_forced() && id > other);
            force.is_some_and(|force| same(force.id()) || force.parent().is_some_and(same))
        };
        match word {
            // Who makes rounds has been registered.
            Word::Register { node, .. } | Word::Registration { node, .. } => {
                self.table.contains_key(&Key::Round(*node)) || word.list().is_some_and(older)
            }
            Word::List(list) => older(list.id()) || rival(list.id()),
            Word::Closing { list, successor, .. } => older(*list) || rival(*list) || rival(*successor),
            Word::Yield { list, .. } => older(*list) || rival(*list),
            Word::Removal { member, .. } | Word::Removed { member, .. } => census.is_removed(*member),
            Word::Answer { list, .. }
            | Word::Suspicion { list, .. }
            | Word::Refusal { list, .. }
            | Word::Ratification { list, .. } => older(*list),
            Word::Round { .. } | Word::Ratify { .. } | Word::Ready { .. } => false,
        }
    }
}
