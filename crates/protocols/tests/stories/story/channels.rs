//! What is in flight: one first-in first-out channel for each ordered pair of nodes.

use std::collections::{BTreeMap, VecDeque};

use meshlock_core::NodeId;

type Pair = (NodeId, NodeId);

/// Messages in flight, each with the moment it was sent.
pub(super) struct Channels<M> {
    queues: BTreeMap<Pair, VecDeque<(u64, M)>>,
    /// How many of the next messages of a pair will be lost.
    doomed: BTreeMap<Pair, usize>,
    sent: u64,
}

impl<M> Default for Channels<M> {
    fn default() -> Self {
        Self { queues: BTreeMap::new(), doomed: BTreeMap::new(), sent: 0 }
    }
}

impl<M> Channels<M> {
    /// Puts a message on its way; false if it is lost at once.
    pub(super) fn push(&mut self, from: NodeId, to: NodeId, message: M) -> bool {
        if let Some(doomed) = self.doomed.get_mut(&(from, to)).filter(|n| **n > 0) {
            *doomed -= 1;
            return false;
        }
        self.sent += 1;
        self.queues.entry((from, to)).or_default().push_back((self.sent, message));
        true
    }

    /// The next message of this pair will be lost.
    pub(super) fn lose_next(&mut self, from: NodeId, to: NodeId) {
        *self.doomed.entry((from, to)).or_default() += 1;
    }

    /// Takes the oldest message of a pair.
    pub(super) fn pop(&mut self, from: NodeId, to: NodeId) -> Option<M> {
        self.queues.get_mut(&(from, to))?.pop_front().map(|(_, message)| message)
    }

    /// Takes the message that was sent first of all.
    pub(super) fn pop_oldest(&mut self) -> Option<(NodeId, NodeId, M)> {
        let heads = self.queues.iter().filter_map(|(pair, queue)| queue.front().map(|(sent, _)| (*sent, *pair)));
        let (_, (from, to)) = heads.min()?;
        self.pop(from, to).map(|message| (from, to, message))
    }

    pub(super) fn clear(&mut self, from: NodeId, to: NodeId) {
        self.queues.remove(&(from, to));
    }

    /// What is in flight between a pair, oldest first.
    pub(super) fn on(&self, from: NodeId, to: NodeId) -> Vec<&M> {
        self.queues.get(&(from, to)).into_iter().flatten().map(|(_, message)| message).collect()
    }

    pub(super) fn busy(&self) -> impl Iterator<Item = Pair> {
        self.queues.iter().filter(|(_, queue)| !queue.is_empty()).map(|(pair, _)| *pair)
    }

    pub(super) fn len(&self) -> usize {
        self.queues.values().map(VecDeque::len).sum()
    }
}
