//! A round trip through a fair component that meets every obligation: what a run repeats for ever.

use std::collections::{BTreeSet, VecDeque};

use meshlock_core::Protocol;

use super::{Bad, Class, Places};
use crate::action::Action;
use crate::graph::Edge;

/// The actions of a round trip from the first state of a sorted component back to it.
pub(super) fn cycle<P: Protocol>(bad: &Bad<'_, P>, component: &[u32]) -> Vec<Action> {
    let places: Places = component.iter().enumerate().map(|(place, state)| (*state, place)).collect();
    let trip = Trip { bad, component, places };
    let start = component[0];
    let mut open = bad.obligations(start);
    let mut at = start;
    let mut actions = Vec::new();
    while !open.is_empty() {
        let Some(way) = trip.shortest(at, |state, edge| trip.meets(&open, state, edge)) else { break };
        at = trip.follow(at, &way, &mut open, &mut actions);
    }
    if at != start || actions.is_empty() {
        let home = trip.shortest(at, |_, edge| edge.to == start).unwrap_or_default();
        trip.follow(at, &home, &mut open, &mut actions);
    }
    actions
}

struct Trip<'a, 'b, P: Protocol> {
    bad: &'a Bad<'b, P>,
    component: &'a [u32],
    places: Places,
}

impl<P: Protocol> Trip<'_, '_, P> {
    fn edges(&self, state: u32) -> impl Iterator<Item = Edge> + '_ {
        let edges = self.bad.graph.edges(state);
        edges.filter(|edge| self.bad.keeps(*edge) && self.places.contains_key(&edge.to))
    }

    /// Whether a step takes an open obligation, or leads to a state where one is not possible.
    fn meets(&self, open: &BTreeSet<Class>, state: u32, edge: Edge) -> bool {
        let taken = self.bad.class(state, edge.action).is_some_and(|class| open.contains(&class));
        taken || !open.is_subset(&self.bad.obligations(edge.to))
    }

    /// The shortest way from a state whose last step is a wanted one.
    fn shortest(&self, from: u32, wanted: impl Fn(u32, Edge) -> bool) -> Option<Vec<Edge>> {
        let mut back: Vec<Option<(u32, Edge)>> = vec![None; self.component.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(state) = queue.pop_front() {
            for edge in self.edges(state) {
                if wanted(state, edge) {
                    let mut way = vec![edge];
                    let mut at = state;
                    while at != from {
                        let (before, edge) = back[self.places[&at]]?;
                        way.push(edge);
                        at = before;
                    }
                    way.reverse();
                    return Some(way);
                }
                let place = self.places[&edge.to];
                if edge.to != from && back[place].is_none() {
                    back[place] = Some((state, edge));
                    queue.push_back(edge.to);
                }
            }
        }
        None
    }

    fn follow(&self, from: u32, way: &[Edge], open: &mut BTreeSet<Class>, actions: &mut Vec<Action>) -> u32 {
        let mut at = from;
        for edge in way {
            if let Some(class) = self.bad.class(at, edge.action) {
                open.remove(&class);
            }
            actions.push(edge.action);
            at = edge.to;
            let possible = self.bad.obligations(at);
            open.retain(|class| possible.contains(class));
        }
        at
    }
}
