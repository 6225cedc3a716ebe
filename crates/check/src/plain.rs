//! Explores plain models, breadth first: values with steps, and nothing that the checker knows of networks.
//!
//! The protocols have an explorer of their own, which knows channels and symmetries. This one is for what runs beside
//! them: a model says its states and steps, a rule that holds in every state, and what must stay possible from
//! everywhere.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};

use foldhash::fast::FoldHasher;
use foldhash::{SharedSeed, fast};
use hashbrown::HashMap;

/// A small world, explored exhaustively.
pub trait Plain {
    /// One state of it. Equal states have equal hashes, and two hashes of 64 bits tell others apart.
    type State: Clone + Hash;
    /// What may happen.
    type Step: Clone + Debug;

    /// Where it begins.
    fn initial(&self) -> Self::State;
    /// All that may happen next, in a fixed order.
    fn steps(&self, state: &Self::State) -> Vec<Self::Step>;
    /// What follows.
    fn apply(&self, state: &Self::State, step: &Self::Step) -> Self::State;
    /// The rule that this state breaks.
    fn broken(&self, state: &Self::State) -> Option<String>;
    /// What must be possible from every state, if the exploration asks for it; and what must be reached at least once, so
    /// that a model that can do nothing is noticed.
    fn is_reached(&self, state: &Self::State) -> bool;
    /// Whether the goal may be reached by this step. A misfortune is no way to a goal.
    fn is_progress(&self, _step: &Self::Step) -> bool {
        true
    }
}

/// What an exploration found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Different states.
    pub states: usize,
    /// Steps between them.
    pub steps: usize,
    /// The most steps from the beginning to any state, on a shortest way.
    pub depth: usize,
    /// States in which the goal is reached.
    pub reached: usize,
    /// Whether every state was visited.
    pub is_complete: bool,
    /// The first rule that was broken, and a shortest way there.
    pub broken: Option<Trace>,
}

/// A shortest way to a state, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What is wrong.
    pub rule: String,
    /// How it came to that.
    pub steps: Vec<String>,
}

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most states.
    pub states: usize,
    /// Keep the graph, and see whether the goal can be reached from every state.
    pub progress: bool,
}

/// The rule that is broken where the goal is out of reach.
pub const STUCK: &str = "stuck";

/// Visits every state, nearest first, until a rule is broken.
pub fn explore<M: Plain>(model: &M, bounds: Bounds) -> Found {
    let mut found = Found { states: 0, steps: 0, depth: 0, reached: 0, is_complete: false, broken: None };
    let mut known: HashMap<(u64, u64), u32, fast::FixedState> = HashMap::with_hasher(fast::FixedState::default());
    let mut origins: Vec<(u32, u16)> = Vec::new();
    let mut is_goal: Vec<bool> = Vec::new();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let initial = model.initial();
    known.insert(fingerprint(&initial), 0);
    origins.push((0, 0));
    let mut level = vec![(0, initial)];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (index, state) in level {
            found.states += 1;
            is_goal.push(model.is_reached(&state));
            if let Some(rule) = model.broken(&state) {
                found.broken = Some(Trace { rule, steps: way(model, &origins, index) });
                return found;
            }
            for (number, step) in model.steps(&state).into_iter().enumerate() {
                found.steps += 1;
                let after = model.apply(&state, &step);
                let fresh = known.len() as u32;
                let reached = *known.entry(fingerprint(&after)).or_insert(fresh);
                if reached == fresh {
                    origins.push((index, number as u16));
                    next.push((fresh, after));
                }
                if bounds.progress && model.is_progress(&step) {
                    edges.push((reached, index));
                }
            }
            if known.len() > bounds.states {
                found.reached = is_goal.iter().filter(|goal| **goal).count();
                return found;
            }
        }
        found.depth += usize::from(!next.is_empty());
        level = next;
    }
    found.is_complete = true;
    found.reached = is_goal.iter().filter(|goal| **goal).count();
    if bounds.progress
        && let Some(stuck) = first_stuck(is_goal, edges)
    {
        found.broken = Some(Trace { rule: STUCK.to_owned(), steps: way(model, &origins, stuck) });
    }
    found
}

/// The nearest state from which no goal can be reached.
fn first_stuck(mut can: Vec<bool>, mut edges: Vec<(u32, u32)>) -> Option<u32> {
    edges.sort_unstable();
    let mut open: Vec<u32> = (0..can.len() as u32).filter(|state| can[*state as usize]).collect();
    while let Some(state) = open.pop() {
        let first = edges.partition_point(|(to, _)| *to < state);
        for (_, from) in edges[first..].iter().take_while(|(to, _)| *to == state) {
            if !can[*from as usize] {
                can[*from as usize] = true;
                open.push(*from);
            }
        }
    }
    can.iter().position(|can| !can).map(|state| state as u32)
}

/// The steps of a shortest way, found by going it again.
fn way<M: Plain>(model: &M, origins: &[(u32, u16)], mut index: u32) -> Vec<String> {
    let mut numbers = Vec::new();
    while index != 0 {
        let (from, number) = origins[index as usize];
        numbers.push(number);
        index = from;
    }
    let mut state = model.initial();
    let mut told = Vec::new();
    for number in numbers.into_iter().rev() {
        let step = model.steps(&state).swap_remove(number as usize);
        state = model.apply(&state, &step);
        told.push(format!("{step:?}"));
    }
    told
}

fn fingerprint(value: &impl Hash) -> (u64, u64) {
    let hash = |seed| {
        let mut hasher = FoldHasher::with_seed(seed, SharedSeed::global_fixed());
        value.hash(&mut hasher);
        hasher.finish()
    };
    (hash(0x243f_6a88_85a3_08d3), hash(0x1319_8a2e_0370_7344))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts up to a wall, in steps of one and two; from one place there is no way on.
    struct Counting {
        pit: Option<u8>,
        forbidden: Option<u8>,
    }

    impl Plain for Counting {
        type State = u8;
        type Step = u8;

        fn initial(&self) -> u8 {
            0
        }

        fn steps(&self, state: &u8) -> Vec<u8> {
            if Some(*state) == self.pit { Vec::new() } else { (1..=2).filter(|step| state + step <= 10).collect() }
        }

        fn apply(&self, state: &u8, step: &u8) -> u8 {
            state + step
        }

        fn broken(&self, state: &u8) -> Option<String> {
            (Some(*state) == self.forbidden).then(|| "forbidden".to_owned())
        }

        fn is_reached(&self, state: &u8) -> bool {
            *state == 10
        }
    }

    const BOUNDS: Bounds = Bounds { states: 100, progress: true };

    #[test]
    fn all_states_are_visited_once() {
        let found = explore(&Counting { pit: None, forbidden: None }, BOUNDS);
        assert_eq!((found.states, found.steps, found.depth, found.reached), (11, 19, 5, 1));
        assert!(found.is_complete && found.broken.is_none());
    }

    #[test]
    fn the_shortest_way_to_a_broken_rule_is_told() {
        let found = explore(&Counting { pit: None, forbidden: Some(5) }, BOUNDS);
        assert_eq!(found.broken.expect("forbidden").steps.len(), 3);
    }

    #[test]
    fn a_state_without_a_way_to_the_goal_is_told() {
        let found = explore(&Counting { pit: Some(7), forbidden: None }, BOUNDS);
        let trace = found.broken.expect("stuck");
        assert_eq!((trace.rule.as_str(), trace.steps.len()), (STUCK, 4));
    }

    #[test]
    fn an_exploration_that_was_cut_off_says_so() {
        let found = explore(&Counting { pit: None, forbidden: None }, Bounds { states: 3, progress: true });
        assert!(!found.is_complete);
    }
}
