//! The nodes that were ever heard of, so that those that do not answer can be named.

use meshlock_core::NodeId;

use super::{Machine, Now};
use crate::mesh::Member;
use crate::wire::{Fact, Report};

/// The latest incarnation of a member that was heard of. There is one for each member at most.
#[derive(Clone, Debug)]
pub(crate) struct Acquaintance {
    pub(crate) id: NodeId,
    pub(crate) name: String,
    pub(crate) heard: Now,
    /// It was a neighbour.
    was_linked: bool,
}

impl Machine {
    pub(crate) fn note_heard(&mut self, now: Now, id: NodeId, name: &str) {
        if Member::of(id) == Member::of(self.settings.id) {
            return;
        }
        let known = self.known.entry(Member::of(id));
        let known = known.or_insert_with(|| Acquaintance { id, name: name.to_owned(), heard: now, was_linked: false });
        if known.id <= id {
            known.id = id;
            known.heard = now;
            name.clone_into(&mut known.name);
        }
    }

    /// A link to it came up or went down.
    pub(crate) fn note_linked(&mut self, now: Now, id: NodeId, name: &str) {
        self.note_heard(now, id, name);
        if let Some(known) = self.known.get_mut(&Member::of(id)) {
            known.was_linked = true;
        }
    }

    /// The neighbours that were lost last, so many at most.
    pub(crate) fn lost_neighbours(&self, most: usize) -> Vec<&Acquaintance> {
        let gone = |known: &&Acquaintance| known.was_linked && !self.neighbours.contains_key(&known.id);
        let mut gone: Vec<&Acquaintance> = self.known.values().filter(gone).collect();
        gone.sort_by_key(|known| std::cmp::Reverse(known.heard));
        gone.truncate(most);
        gone
    }

    /// A node that reports is there, and so are those it is linked to.
    pub(crate) fn note_reported(&mut self, now: Now, report: &Report) {
        self.note_heard(now, report.node, &report.name);
        for fact in &report.facts {
            if let Fact::Link { id, name, .. } = fact {
                self.note_heard(now, *id, name);
            }
        }
    }

    /// The name of a node, if it was heard of.
    pub(crate) fn name_of(&self, id: NodeId) -> Option<String> {
        if id == self.settings.id {
            return Some(self.settings.name.clone());
        }
        self.known.get(&Member::of(id)).filter(|known| known.id == id).map(|known| known.name.clone())
    }
}
