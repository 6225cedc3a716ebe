//! When a voter has heard each node, and whom it will have waited for next.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::looked;
use super::time::{Span, Time};
use crate::vocabulary::NodeId;

/// Not on disk: after a start it is as if all had been heard just now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Heard {
    last: BTreeMap<NodeId, Time>,
    /// Those whose silence has not been [noticed](Self::notice), in the order in which it will be.
    waiting: BTreeSet<(Time, NodeId)>,
}

impl Heard {
    pub(super) fn get(&self, node: NodeId) -> Option<Time> {
        self.last.get(&node).copied()
    }

    /// A node was heard.
    pub(super) fn note(&mut self, node: NodeId, now: Time) {
        if let Some(before) = self.last.insert(node, now) {
            self.waiting.remove(&(before, node));
        }
        self.waiting.insert((now, node));
    }

    /// Waits for a node from then on, unless it is waited for already.
    pub(super) fn wait_for(&mut self, node: NodeId, since: Time) {
        if !self.last.contains_key(&node) {
            self.note(node, since);
        }
    }

    /// Everybody is as if heard so much later, and not later than now.
    pub(super) fn postpone(&mut self, span: Span, now: Time) {
        let later = |time: Time| time.plus(span).min(now).max(time);
        self.last.values_mut().for_each(|time| *time = later(*time));
        self.waiting = core::mem::take(&mut self.waiting).into_iter().map(|(time, node)| (later(time), node)).collect();
    }

    pub(super) fn retain(&mut self, keep: impl Fn(NodeId) -> bool) {
        self.last.retain(|node, _| keep(*node));
        self.waiting.retain(|(_, node)| keep(*node));
    }

    pub(super) fn clear(&mut self) {
        self.last.clear();
        self.waiting.clear();
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (NodeId, Time)> + '_ {
        self.last.iter().inspect(|_| looked::note()).map(|(node, time)| (*node, *time))
    }

    /// Those who have been silent for so long and were not when this was asked last.
    pub(super) fn notice(&mut self, silence: Span, now: Time) -> Vec<NodeId> {
        let mut silent = Vec::new();
        while let Some((since, node)) = self.waiting.first().copied().filter(|(since, _)| since.plus(silence) <= now) {
            looked::note();
            self.waiting.remove(&(since, node));
            silent.push(node);
        }
        silent
    }

    /// Since when the first of those is silent that are not noticed yet and are of interest.
    pub(super) fn next(&self, is_of_interest: impl Fn(NodeId) -> bool) -> Option<Time> {
        let mut waiting = self.waiting.iter().inspect(|_| looked::note());
        waiting.find(|(_, node)| is_of_interest(*node)).map(|(since, _)| *since)
    }
}

#[cfg(feature = "mutants")]
impl FromIterator<(NodeId, Time)> for Heard {
    fn from_iter<I: IntoIterator<Item = (NodeId, Time)>>(nodes: I) -> Self {
        let mut heard = Self::default();
        nodes.into_iter().for_each(|(node, time)| heard.note(node, time));
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_silent_are_noticed_once_until_they_are_heard_again() {
        let mut heard = Heard::default();
        let (one, other) = (NodeId(1), NodeId(2));
        heard.note(one, Time(5));
        heard.wait_for(other, Time(3));
        heard.wait_for(one, Time(0));
        assert_eq!((heard.get(one), heard.next(|_| true)), (Some(Time(5)), Some(Time(3))));
        assert_eq!(heard.notice(Span(10), Time(12)), []);
        assert_eq!(heard.notice(Span(10), Time(15)), [other, one]);
        assert_eq!((heard.notice(Span(10), Time(20)), heard.next(|_| true)), (Vec::new(), None));
        heard.note(one, Time(20));
        assert_eq!(heard.next(|_| true), Some(Time(20)));
        heard.retain(|node| node == other);
        assert_eq!((heard.next(|_| true), heard.all().count()), (None, 1));
    }

    #[test]
    fn what_was_postponed_is_noticed_later() {
        let mut heard = Heard::default();
        heard.note(NodeId(1), Time(5));
        heard.note(NodeId(2), Time(90));
        heard.postpone(Span(50), Time(100));
        assert_eq!((heard.get(NodeId(1)), heard.get(NodeId(2))), (Some(Time(55)), Some(Time(100))));
        assert_eq!(heard.notice(Span(10), Time(64)), []);
        assert_eq!(heard.notice(Span(10), Time(65)), [NodeId(1)]);
        heard.note(NodeId(1), Time(70));
        assert_eq!(heard.notice(Span(10), Time(110)), [NodeId(1), NodeId(2)]);
    }
}
