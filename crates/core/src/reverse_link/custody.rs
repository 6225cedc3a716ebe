//! Releases on their way to the token. Each hop keeps its copy until the next one has confirmed it.
//!
//! Copies are never merged: if a node that carries a release confirmed a second copy without keeping it, two nodes
//! could hand it to each other, confirm each other, and both drop it. A release names its grant, so that it does no
//! harm to arrive twice.

use alloc::vec::Vec;

use crate::view::Returning;
use crate::vocabulary::{GrantId, NodeId, Units};

/// One copy of a release, carried by this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Carried {
    pub(super) grant: GrantId,
    /// The neighbour that has not confirmed it yet.
    sent_to: Option<NodeId>,
}

/// The releases that this node has to bring on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub(crate) struct Custody {
    pub(super) copies: Vec<Carried>,
}

impl Custody {
    pub(crate) fn take(&mut self, grant: GrantId) {
        self.copies.push(Carried { grant, sent_to: None });
    }

    /// A neighbour confirms a copy. False if none was sent to it.
    pub(crate) fn confirmed(&mut self, by: NodeId, grant: GrantId) -> bool {
        let at = self.copies.iter().position(|copy| copy.grant == grant && copy.sent_to == Some(by));
        at.map(|at| self.copies.remove(at)).is_some()
    }

    pub(crate) fn expects_confirmation(&self, by: NodeId, grant: GrantId) -> bool {
        self.copies.iter().any(|copy| copy.grant == grant && copy.sent_to == Some(by))
    }

    pub(crate) fn has(&self, grant: GrantId) -> bool {
        self.copies.iter().any(|copy| copy.grant == grant)
    }

    /// A link is gone: what was not confirmed over it has to go another way.
    pub(crate) fn link_down(&mut self, neighbour: NodeId) {
        for copy in &mut self.copies {
            if copy.sent_to == Some(neighbour) {
                copy.sent_to = None;
            }
        }
    }

    /// Marks everything unsent as sent to `next` and returns it.
    pub(crate) fn send_all(&mut self, next: NodeId) -> Vec<GrantId> {
        let unsent = self.copies.iter_mut().filter(|copy| copy.sent_to.is_none());
        unsent
            .map(|copy| {
                copy.sent_to = Some(next);
                copy.grant
            })
            .collect()
    }

    /// The token is here: gives everything to it. Copies that were sent stay until they are confirmed.
    pub(crate) fn hand_in(&mut self) -> Vec<GrantId> {
        let all = self.copies.iter().map(|copy| copy.grant).collect();
        self.copies.retain(|copy| copy.sent_to.is_some());
        all
    }

    pub(crate) fn returning(&self) -> Vec<Returning> {
        self.copies.iter().map(|copy| Returning { grant: Some(copy.grant), units: Units(0) }).collect()
    }

    pub(crate) fn grants_mut(&mut self) -> impl Iterator<Item = &mut GrantId> {
        self.copies.iter_mut().map(|copy| &mut copy.grant)
    }
}
