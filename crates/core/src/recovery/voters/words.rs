//! All words that one node remembers: the newest about each subject, as long as it matters.
//!
//! Every node passes on what is new to it, and tells a new neighbour all it remembers. What is obsolete is refused as it
//! was forgotten, by one and the same test: otherwise a forgotten word would circulate.

use alloc::collections::BTreeMap;

use super::super::census::Census;
use super::list::{List, ListId};
use super::record::Facts;
use super::word::{Key, Word};
use crate::vocabulary::NodeId;

/// The table of words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Words {
    table: BTreeMap<Key, Word>,
    /// A list that was in force when this node came.
    root: Option<ListId>,
}

impl Words {
    /// Whether the word is new and matters, so that others have to hear it too.
    pub fn hear(&mut self, word: Word, census: &Census) -> bool {
        let key = word.key();
        let is_known = self.table.get(&key).is_some_and(|known| known.age() >= word.age());
        if is_known || !word.is_possible() || self.is_obsolete(&word, self.in_force(), census) {
            return false;
        }
        // Most rounds make no other word obsolete: only the first of a node does, and whatever changes the lists.
        let changes_lists = matches!(word, Word::List(_) | Word::Closing { .. });
        let ends_others = changes_lists || (matches!(word, Word::Round { .. }) && !self.table.contains_key(&key));
        self.table.insert(key, word);
        if ends_others {
            self.forget(census);
        }
        true
    }

    /// A list that is in force, from a source that needs no closings: the own disk, or an invitation.
    pub fn root(&mut self, list: List) {
        let id = list.id();
        self.table.insert(Key::List(id), Word::List(list));
        self.root = self.root.max(Some(id));
    }

    /// Drops what matters no more.
    pub fn forget(&mut self, census: &Census) {
        let force = self.in_force().cloned();
        let obsolete = |word: &Word| self.is_obsolete(word, force.as_ref(), census);
        let dropped: alloc::vec::Vec<Key> =
            self.table.iter().filter(|(_, word)| obsolete(word)).map(|(key, _)| key.clone()).collect();
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
        self.table.values()
    }

    /// The newest word about a subject.
    pub fn get(&self, key: &Key) -> Option<&Word> {
        self.table.get(key)
    }

    /// The lists that matter.
    pub fn lists(&self) -> impl Iterator<Item = &List> {
        self.table.values().filter_map(|word| if let Word::List(list) = word { Some(list) } else { None })
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

    /// Whether a majority has closed this list's parent for it.
    pub fn is_made(&self, list: &List) -> bool {
        let parent = list.parent().and_then(|parent| self.list(parent));
        parent.is_some_and(|parent| parent.is_majority(self.closings(parent, list.id()).count()))
    }

    /// The last list of the chain, as far as is known here.
    pub fn in_force(&self) -> Option<&List> {
        self.lists()
            .filter(|list| Some(list.id()) == self.root || self.is_made(list))
            .max_by_key(|list| list.id().number)
    }

    fn is_obsolete(&self, word: &Word, force: Option<&List>, census: &Census) -> bool {
        if word.about().is_some_and(|node| census.is_gone(node)) {
            return true;
        }
        let older = |id: ListId| force.is_some_and(|force| id.number.saturating_add(1) < force.id().number);
        // Rivals of a list that is made, or of its parent.
        let rival = |id: ListId| {
            let same = |other: ListId| other.number == id.number && other != id;
            force.is_some_and(|force| same(force.id()) || force.parent().is_some_and(same))
        };
        match word {
            // Who makes rounds has been registered.
            Word::Register { node, .. } | Word::Registration { node, .. } => {
                self.table.contains_key(&Key::Round(*node)) || word.list().is_some_and(older)
            }
            Word::List(list) => older(list.id()) || rival(list.id()),
            Word::Closing { list, successor, .. } => older(*list) || rival(*list) || rival(*successor),
            Word::Removal { member, .. } | Word::Removed { member, .. } => census.is_removed(*member),
            Word::Answer { list, .. }
            | Word::Suspicion { list, .. }
            | Word::Refusal { list, .. }
            | Word::Ratification { list, .. } => older(*list),
            Word::Round { .. } | Word::Ratify { .. } | Word::Ready { .. } => false,
        }
    }
}
