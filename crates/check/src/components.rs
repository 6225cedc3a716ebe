//! Strongly connected components by Tarjan's algorithm, without recursion.

use crate::bits::Bits;
use crate::intern::next_id;

/// The states 0, 1, 2, ... that lie on a circle. `step` is as in [`Components::visit`].
pub(crate) fn on_circles(states: usize, step: impl Fn(u32, u32) -> Option<Option<u32>>) -> Bits {
    let mut circles = Bits::none(states);
    let mut components = Components::new(states);
    for root in 0..next_id(states) {
        components.visit(root, &step, |component| {
            let leads_to_itself = |state: u32| (0..).map_while(|place| step(state, place)).any(|to| to == Some(state));
            if component.len() > 1 || leads_to_itself(component[0]) {
                component.iter().for_each(|state| circles.add(*state));
            }
        });
    }
    circles
}

/// The search over the states 0, 1, 2, ... of a graph.
pub(crate) struct Components {
    /// When a state was first seen, from 1; 0 is not yet.
    seen: Vec<u32>,
    /// The earliest state of the stack that can be reached from it; `DONE` once its component is known.
    low: Vec<u32>,
    stack: Vec<u32>,
    /// The states on the way from the root, each with the place of its next step.
    way: Vec<(u32, u32)>,
    clock: u32,
}

const DONE: u32 = u32::MAX;

impl Components {
    pub(crate) fn new(states: usize) -> Self {
        Self { seen: vec![0; states], low: vec![0; states], stack: Vec::new(), way: Vec::new(), clock: 0 }
    }

    /// Visits what can be reached from `root` and was not visited before. `step(state, place)` is the step at a place
    /// of a state: `None` after the last one, `Some(None)` for a step to be passed over. Every component is handed to
    /// `found` with its states in ascending order.
    pub(crate) fn visit(
        &mut self,
        root: u32,
        step: impl Fn(u32, u32) -> Option<Option<u32>>,
        mut found: impl FnMut(&[u32]),
    ) {
        if self.seen[root as usize] != 0 {
            return;
        }
        self.enter(root);
        while let Some((state, place)) = self.way.last_mut() {
            let state = *state;
            let next = step(state, *place);
            *place += 1;
            match next {
                Some(Some(to)) => {
                    let to_place = to as usize;
                    if self.seen[to_place] == 0 {
                        self.enter(to);
                    } else if self.low[to_place] != DONE {
                        self.low[state as usize] = self.low[state as usize].min(self.seen[to_place]);
                    }
                }
                Some(None) => {}
                None => {
                    self.way.pop();
                    let low = self.low[state as usize];
                    if let Some((before, _)) = self.way.last() {
                        let before = *before as usize;
                        self.low[before] = self.low[before].min(low);
                    }
                    if low == self.seen[state as usize] {
                        self.leave(state, &mut found);
                    }
                }
            }
        }
    }

    fn enter(&mut self, state: u32) {
        self.clock += 1;
        self.seen[state as usize] = self.clock;
        self.low[state as usize] = self.clock;
        self.stack.push(state);
        self.way.push((state, 0));
    }

    fn leave(&mut self, root: u32, found: &mut impl FnMut(&[u32])) {
        let from = self.stack.iter().rposition(|state| *state == root).unwrap_or(0);
        let component = &mut self.stack[from..];
        for state in component.iter() {
            self.low[*state as usize] = DONE;
        }
        component.sort_unstable();
        found(component);
        self.stack.truncate(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn components(edges: &[(u32, u32)], states: u32) -> Vec<Vec<u32>> {
        let mut all = Vec::new();
        let mut search = Components::new(states as usize);
        for root in 0..states {
            let step = |state: u32, place: u32| {
                edges.iter().filter(|edge| edge.0 == state).nth(place as usize).map(|edge| Some(edge.1))
            };
            search.visit(root, step, |component| all.push(component.to_vec()));
        }
        all.sort();
        all
    }

    #[test]
    fn two_rings_joined_one_way_are_two_components() {
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 0)];
        assert_eq!(components(&edges, 6), [vec![0, 1, 2], vec![3, 4], vec![5]]);
    }

    #[test]
    fn a_ring_within_a_ring_is_one_component() {
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 0)];
        assert_eq!(components(&edges, 4), [vec![0, 1, 2, 3]]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let states = 200_000;
        let mut found = 0;
        let mut search = Components::new(states as usize);
        let step = |state: u32, place: u32| (place == 0 && state + 1 < states).then_some(Some(state + 1));
        search.visit(0, step, |_| found += 1);
        assert_eq!(found, states);
    }
}
