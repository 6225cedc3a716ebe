//! The claims a node knows: its own requests and one claim of each neighbour, most urgent first.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::view::{Claimant, Origin, Waiting};
use crate::vocabulary::{Fence, NodeId, Rank, RequestId, Session, Units, Urgency};

/// What a request asks for, as far as other nodes need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Claim {
    /// No other request waits behind the node that tells it.
    pub alone: bool,
    /// The node that made the request. The token takes a shorter way to it where there is one.
    pub origin: NodeId,
    /// Its urgency; higher is served first.
    pub rank: Rank,
    /// The units it asks for.
    pub units: Units,
    /// The session it wants to attend, if any.
    pub session: Option<Session>,
}

/// Where a claim came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub(crate) enum Claimer {
    /// A request of this node, with what is needed to rank it anew.
    Local { request: RequestId, urgency: Urgency, since: Fence },
    /// A neighbour, for itself or for a node behind it.
    Peer(NodeId),
}

/// One line of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Entry {
    pub(crate) claimer: Claimer,
    pub(crate) claim: Claim,
}

/// Claims by rank, equal ranks by arrival. Invariant: at most one entry per neighbour and per request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub(crate) struct Queue {
    /// Most removals are at the front, of what was granted; both ends are cheap.
    pub(super) entries: VecDeque<Entry>,
}

impl Claim {
    /// Whether who was told this need not be told `now`: it is the same, but for company that has left.
    pub(crate) fn stands_for(&self, now: &Self) -> bool {
        *self == Self { alone: self.alone && now.alone, ..*now }
    }
}

impl Queue {
    /// The most urgent claim, as the next node has to know it.
    pub(crate) fn to_tell(&self) -> Option<Claim> {
        let front = self.entries.front()?.claim;
        Some(Claim { alone: front.alone && self.entries.len() == 1, ..front })
    }

    pub(crate) fn front(&self) -> Option<&Entry> {
        self.entries.front()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a claim behind all that are as urgent.
    pub(crate) fn insert(&mut self, entry: Entry) {
        let at = self.entries.partition_point(|other| other.claim.rank >= entry.claim.rank);
        if self.entries.len() == self.entries.capacity() {
            // Most queues have one entry or two, and a large network has very many of them.
            self.entries.reserve_exact(1 + self.entries.len() / 4);
        }
        self.entries.insert(at, entry);
    }

    /// Puts a neighbour's claim in place of its former one. A claim as urgent as before keeps its turn.
    pub(crate) fn put_peer(&mut self, peer: NodeId, claim: Claim) {
        let same = self.entries.iter_mut().find(|e| e.claimer == Claimer::Peer(peer) && e.claim.rank == claim.rank);
        if let Some(entry) = same {
            entry.claim = claim;
        } else {
            self.remove_peer(peer);
            self.insert(Entry { claimer: Claimer::Peer(peer), claim });
        }
    }

    pub(crate) fn remove_peer(&mut self, peer: NodeId) {
        self.entries.retain(|e| e.claimer != Claimer::Peer(peer));
    }

    pub(crate) fn remove_peers(&mut self, gone: impl Fn(NodeId) -> bool) {
        self.entries.retain(|e| !matches!(e.claimer, Claimer::Peer(peer) if gone(peer)));
    }

    pub(crate) fn local(&self, wanted: RequestId) -> Option<&Entry> {
        self.entries.iter().find(|e| matches!(e.claimer, Claimer::Local { request, .. } if request == wanted))
    }

    pub(crate) fn remove_local(&mut self, gone: RequestId) {
        let is_it = |e: &Entry| matches!(e.claimer, Claimer::Local { request, .. } if request == gone);
        if let Some(at) = self.entries.iter().position(is_it) {
            self.entries.remove(at);
        }
    }

    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    /// All of them, most urgent first, as others see them.
    pub(crate) fn claimants(&self) -> impl Iterator<Item = Claimant> + '_ {
        self.entries.iter().map(|e| {
            let origin = match e.claimer {
                Claimer::Local { request, .. } => Origin::Local(request),
                Claimer::Peer(peer) => Origin::Node(peer),
            };
            Claimant { origin, rank: e.claim.rank, units: e.claim.units, session: e.claim.session }
        })
    }

    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        let local = |e: &Entry| match e.claimer {
            Claimer::Local { request, .. } => {
                Some(Waiting { request, rank: e.claim.rank, units: e.claim.units, session: e.claim.session })
            }
            Claimer::Peer(_) => None,
        };
        self.entries.iter().filter_map(local).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(rank: i64) -> Claim {
        Claim { alone: true, origin: NodeId(0), rank: Rank(rank), units: Units(1), session: None }
    }

    fn order(queue: &Queue) -> Vec<(NodeId, i64)> {
        let peer = |e: &Entry| match e.claimer {
            Claimer::Peer(peer) => (peer, e.claim.rank.0),
            Claimer::Local { .. } => unreachable!("only peers here"),
        };
        queue.iter().map(peer).collect()
    }

    #[test]
    fn the_most_urgent_is_first_and_equals_wait_their_turn() {
        let mut queue = Queue::default();
        for (peer, rank) in [(1, 5), (2, 7), (3, 5), (4, 7)] {
            queue.put_peer(NodeId(peer), claim(rank));
        }
        assert_eq!(order(&queue), [(NodeId(2), 7), (NodeId(4), 7), (NodeId(1), 5), (NodeId(3), 5)]);
    }

    #[test]
    fn a_new_claim_replaces_the_former_one_of_the_same_neighbour() {
        let mut queue = Queue::default();
        for (peer, rank) in [(1, 5), (2, 5), (1, 3)] {
            queue.put_peer(NodeId(peer), claim(rank));
        }
        assert_eq!(order(&queue), [(NodeId(2), 5), (NodeId(1), 3)]);
    }

    #[test]
    fn a_claim_repeated_at_the_same_rank_keeps_its_turn() {
        let mut queue = Queue::default();
        for peer in [1, 2, 1] {
            queue.put_peer(NodeId(peer), claim(5));
        }
        assert_eq!(order(&queue), [(NodeId(1), 5), (NodeId(2), 5)]);
    }
}
