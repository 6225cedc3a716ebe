//! Releases on their way to the token. Each hop keeps its copy until the next one has confirmed it.
//!
//! A copy that is on its way is never merged with another: if a node confirmed a second copy and kept only the one it has
//! sent, two nodes could hand it to each other, confirm each other, and both drop it. Copies that wait here for a way are
//! one, since that one will be sent; otherwise each failure of a link would double what a part without the token carries.
//! A release names its grant, so that it does no harm to arrive twice.

use alloc::collections::BTreeSet;
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

    /// A neighbour confirms a copy. It may be gone since the token was here.
    pub(crate) fn confirmed(&mut self, by: NodeId, grant: GrantId) {
        let at = self.copies.iter().position(|copy| copy.grant == grant && copy.sent_to == Some(by));
        at.map(|at| self.copies.remove(at));
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

    /// Of several copies that wait for a way, one is kept.
    pub(crate) fn merge_unsent(&mut self) {
        let mut waiting = BTreeSet::new();
        self.copies.retain(|copy| copy.sent_to.is_some() || waiting.insert(copy.grant));
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

    /// The token is here: gives everything to it. Nobody needs to confirm any more what was sent: no later token has it.
    pub(crate) fn hand_in(&mut self) -> Vec<GrantId> {
        core::mem::take(&mut self.copies).into_iter().map(|copy| copy.grant).collect()
    }

    pub(crate) fn returning(&self) -> Vec<Returning> {
        self.copies.iter().map(|copy| Returning { grant: Some(copy.grant), units: Units(0) }).collect()
    }

    pub(crate) fn grants_mut(&mut self) -> impl Iterator<Item = &mut GrantId> {
        self.copies.iter_mut().map(|copy| &mut copy.grant)
    }
}
