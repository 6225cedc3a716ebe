//! The token's queue as printed (H, Add_request).

use std::vec::Vec;

use meshlock_core::group::Level;
use meshlock_core::view::{Claimant, Origin};
use meshlock_core::vocabulary::{NodeId, Session, Units};

/// token.queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Queue(Vec<Entry>);

/// All processes that want one session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    /// X.
    pub session: Session,
    /// X.priority. Grows without end, as printed.
    pub level: Level,
    /// In order of arrival.
    pub members: Vec<NodeId>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().flat_map(|entry| &entry.members).copied()
    }

    pub(super) fn has(&self, node: NodeId) -> bool {
        self.members().any(|member| member == node)
    }

    /// H. As printed, a request that has joined an entry without raising it gets a second entry (G4).
    pub(super) fn add(&mut self, node: NodeId, session: Session, level: Level, repaired: bool) {
        let mut place = self.0.iter().position(|entry| entry.session == session);
        let mut raised = false;
        if let Some(entry) = place.and_then(|place| self.0.get_mut(place)) {
            entry.members.push(node);
            raised = entry.level < level;
            entry.level = entry.level.max(level);
        }
        if place.is_none() || !(raised || repaired) {
            place = Some(self.0.len());
            self.0.push(Entry { session, level, members: std::vec![node] });
        }
        let mut place = place.unwrap_or(0);
        while place > 0 && self.0[place - 1].level < self.0[place].level {
            self.0.swap(place - 1, place);
            place -= 1;
        }
    }

    pub(super) fn age(&mut self) {
        for entry in &mut self.0 {
            entry.level = Level(entry.level.0.saturating_add(1));
        }
    }

    pub(super) fn take_first(&mut self) -> Option<Entry> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }

    pub(super) fn claimants(&self) -> Vec<Claimant> {
        let claimant = |entry: &Entry, node: NodeId| Claimant {
            origin: Origin::Node(node),
            rank: entry.level.rank(),
            units: Units(1),
            session: Some(entry.session),
        };
        self.0.iter().flat_map(|entry| entry.members.iter().map(move |&node| claimant(entry, node))).collect()
    }
}
