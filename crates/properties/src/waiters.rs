//! The requests that wait, in one of two forms.
//!
//! A state of the checker has a handful of them and is cloned and compared all the time: a vector. A run may have a hundred
//! thousand, of which one comes or goes at a time: a tree. Where the order of arrival counts, both are a vector.

use std::collections::BTreeSet;

use meshlock_core::{GrantId, NodeId, RequestId};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Waiters {
    /// In the order of arrival.
    ByArrival(Vec<Waiter>),
    /// Ordered by id.
    Few(Vec<GrantId>),
    Many(BTreeSet<GrantId>),
}

/// A request that waits, where it is watched which ones overtake it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Waiter {
    pub(crate) id: GrantId,
    /// How many grants to later requests it has seen.
    pub(crate) overtaken: u32,
}

impl Waiters {
    pub(crate) const fn few(by_arrival: bool) -> Self {
        if by_arrival { Self::ByArrival(Vec::new()) } else { Self::Few(Vec::new()) }
    }

    pub(crate) const fn many(by_arrival: bool) -> Self {
        if by_arrival { Self::ByArrival(Vec::new()) } else { Self::Many(BTreeSet::new()) }
    }

    /// In their order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = GrantId> {
        let (arrived, few, many) = match self {
            Self::ByArrival(all) => (all.as_slice(), [].as_slice(), None),
            Self::Few(all) => ([].as_slice(), all.as_slice(), None),
            Self::Many(all) => ([].as_slice(), [].as_slice(), Some(all)),
        };
        arrived.iter().map(|waiter| waiter.id).chain(few.iter().chain(many.into_iter().flatten()).copied())
    }

    /// Those of a node, in their order.
    pub(crate) fn of(&self, node: NodeId) -> impl Iterator<Item = GrantId> {
        let id = |request| GrantId { node, request: RequestId(request) };
        let (many, others) = match self {
            Self::ByArrival(_) | Self::Few(_) => (None, Some(self.ids().filter(move |id| id.node == node))),
            Self::Many(all) => (Some(all.range(id(0)..=id(u64::MAX)).copied()), None),
        };
        many.into_iter().flatten().chain(others.into_iter().flatten())
    }

    /// Adds one, as the last where the order of arrival counts. One that waits already stays as it is.
    pub(crate) fn insert(&mut self, id: GrantId) {
        match self {
            Self::ByArrival(all) if all.iter().any(|waiter| waiter.id == id) => {}
            Self::ByArrival(all) => all.push(Waiter { id, overtaken: 0 }),
            Self::Few(all) => {
                if let Err(place) = all.binary_search(&id) {
                    all.insert(place, id);
                }
            }
            Self::Many(all) => {
                all.insert(id);
            }
        }
    }

    /// Takes one out, if it waits: how many came before it where the order of arrival counts, otherwise zero.
    pub(crate) fn remove(&mut self, id: GrantId) -> Option<usize> {
        match self {
            Self::ByArrival(all) => {
                let place = all.iter().position(|waiter| waiter.id == id)?;
                all.remove(place);
                Some(place)
            }
            Self::Few(all) => {
                all.remove(all.binary_search(&id).ok()?);
                Some(0)
            }
            Self::Many(all) => all.remove(&id).then_some(0),
        }
    }

    pub(crate) fn remove_all_of(&mut self, node: NodeId) {
        match self {
            Self::ByArrival(all) => all.retain(|waiter| waiter.id.node != node),
            Self::Few(all) => all.retain(|id| id.node != node),
            Self::Many(all) => all.retain(|id| id.node != node),
        }
    }

    /// The first so many, where the order of arrival counts.
    pub(crate) fn earlier(&mut self, count: usize) -> &mut [Waiter] {
        match self {
            Self::ByArrival(all) => &mut all[..count],
            Self::Few(_) | Self::Many(_) => &mut [],
        }
    }

    /// Shows every id to what renumbers them and keeps their order.
    pub(crate) fn visit(&mut self, show: &mut impl FnMut(&mut GrantId)) {
        match self {
            Self::ByArrival(all) => all.iter_mut().for_each(|waiter| show(&mut waiter.id)),
            Self::Few(all) => all.iter_mut().for_each(show),
            Self::Many(all) => {
                let mut ids: Vec<GrantId> = std::mem::take(all).into_iter().collect();
                ids.iter_mut().for_each(show);
                all.extend(ids);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(node: u32, request: u64) -> GrantId {
        GrantId { node: NodeId(node), request: RequestId(request) }
    }

    /// All forms, after the same was done to each.
    fn after(deeds: impl Fn(&mut Waiters)) -> [Vec<GrantId>; 3] {
        [Waiters::few(true), Waiters::few(false), Waiters::many(false)].map(|mut waiters| {
            deeds(&mut waiters);
            waiters.ids().collect()
        })
    }

    #[test]
    fn they_are_kept_by_arrival_or_by_id_and_each_once() {
        let [arrived, few, many] = after(|waiters| {
            for (node, request) in [(2, 1), (0, 7), (2, 1), (1, 3)] {
                waiters.insert(id(node, request));
            }
        });
        assert_eq!(arrived, [id(2, 1), id(0, 7), id(1, 3)]);
        assert_eq!(few, [id(0, 7), id(1, 3), id(2, 1)]);
        assert_eq!(many, few);
    }

    #[test]
    fn one_goes_or_all_of_a_node_and_numbers_change_in_their_order() {
        let [arrived, few, many] = after(|waiters| {
            for (node, request) in [(2, 1), (0, 7), (1, 3), (2, 4), (0, 8)] {
                waiters.insert(id(node, request));
            }
            assert!(waiters.remove(id(1, 3)).is_some() && waiters.remove(id(1, 3)).is_none());
            waiters.remove_all_of(NodeId(0));
            waiters.visit(&mut |id: &mut GrantId| id.request.0 += 10);
        });
        assert_eq!(arrived, [id(2, 11), id(2, 14)]);
        assert_eq!((&few, &many), (&arrived, &arrived));
    }

    #[test]
    fn those_of_a_node_are_found() {
        for mut waiters in [Waiters::few(true), Waiters::few(false), Waiters::many(false)] {
            for (node, request) in [(2, 1), (1, 0), (1, u64::MAX), (0, 4)] {
                waiters.insert(id(node, request));
            }
            assert!(waiters.of(NodeId(1)).eq([id(1, 0), id(1, u64::MAX)]), "{waiters:?}");
            assert_eq!(waiters.of(NodeId(3)).count(), 0);
        }
    }

    #[test]
    fn only_the_order_of_arrival_tells_who_came_before() {
        let mut waiters = Waiters::few(true);
        for request in 1..=3 {
            waiters.insert(id(0, request));
        }
        assert_eq!(waiters.remove(id(0, 3)), Some(2));
        assert_eq!(waiters.earlier(2).len(), 2);
        let mut many = Waiters::many(false);
        many.insert(id(0, 1));
        assert_eq!((many.remove(id(0, 1)), many.earlier(0).len()), (Some(0), 0));
    }
}
