//! A round trip through a fair component that meets every obligation: the cycle that an infinite run repeats.

use std::collections::{BTreeSet, VecDeque};

use super::{Bad, Class, Places};
use crate::action::Action;

/// The actions of a round trip from the first state of a sorted component back to it.
pub(super) fn cycle(bad: &Bad<'_>, component: &[u32]) -> Vec<Action> {
    let places: Places = component.iter().enumerate().map(|(place, state)| (*state, place)).collect();
    let trip = Trip { bad, component, places };
    let start = component[0];
    let mut open = bad.obligations(start);
    let mut at = start;
    let mut actions = Vec::new();
    while !open.is_empty() {
        let Some(way) = trip.shortest(at, |state, step| trip.meets(&open, state, step)) else { break };
        at = trip.follow(at, &way, &mut open, &mut actions);
    }
    if at != start || actions.is_empty() {
        let home = trip.shortest(at, |_, step| step.to == start).unwrap_or_default();
        trip.follow(at, &home, &mut open, &mut actions);
    }
    actions
}

/// A step within the component.
#[derive(Clone, Copy)]
struct Step {
    action: Action,
    to: u32,
}

struct Trip<'a, 'b> {
    bad: &'a Bad<'b>,
    component: &'a [u32],
    places: Places,
}

impl Trip<'_, '_> {
    /// The steps within the component, with where they lead.
    fn steps(&self, state: u32) -> impl Iterator<Item = Step> + '_ {
        let steps = self.bad.kept(state).map(|(action, to)| Step { action, to });
        steps.filter(|step| self.places.contains_key(&step.to))
    }

    /// Whether a step takes an open obligation, or leads to a state where one is not possible.
    fn meets(&self, open: &BTreeSet<Class>, state: u32, step: Step) -> bool {
        let taken = self.bad.class(state, step.action).is_some_and(|class| open.contains(&class));
        taken || !open.is_subset(&self.bad.obligations(step.to))
    }

    /// The shortest way from a state whose last step is a wanted one.
    fn shortest(&self, from: u32, wanted: impl Fn(u32, Step) -> bool) -> Option<Vec<Step>> {
        let mut back: Vec<Option<(u32, Step)>> = vec![None; self.component.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(state) = queue.pop_front() {
            for step in self.steps(state) {
                if wanted(state, step) {
                    let mut way = vec![step];
                    let mut at = state;
                    while at != from {
                        let (before, step) = back[self.places[&at]]?;
                        way.push(step);
                        at = before;
                    }
                    way.reverse();
                    return Some(way);
                }
                let place = self.places[&step.to];
                if step.to != from && back[place].is_none() {
                    back[place] = Some((state, step));
                    queue.push_back(step.to);
                }
            }
        }
        None
    }

    fn follow(&self, from: u32, way: &[Step], open: &mut BTreeSet<Class>, actions: &mut Vec<Action>) -> u32 {
        let mut at = from;
        for step in way {
            if let Some(class) = self.bad.class(at, step.action) {
                open.remove(&class);
            }
            actions.push(step.action);
            at = step.to;
            let possible = self.bad.obligations(at);
            open.retain(|class| possible.contains(class));
        }
        at
    }
}
