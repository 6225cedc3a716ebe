//! The game behind S4-8, played to the end: one request waits at the lowest level, all others try to keep it waiting.
//!
//! Every move is tried: any process that is idle asks for any session at any level, any process that is inside leaves,
//! and the victim asks at any moment. Between moves all messages arrive, so the request is accepted at once; what is
//! counted is the sessions opened from then on, its own included. The real protocol is driven, and positions are
//! recognised by what its nodes show, so every position is looked at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use meshlock_sim::scenario::Text;

use super::by_hand::HandDriven;
use super::switches::{WANTED, exact};
use crate::lab::Lab;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Game {
    nodes: u32,
    sessions: u32,
    levels: u32,
    /// The most sessions that were opened for the victim; `None` if it can be kept waiting without end.
    pub(super) longest: Option<u32>,
    positions: usize,
}

impl Game {
    pub(super) fn exact(&self) -> u32 {
        exact(self.nodes, self.sessions, self.levels)
    }

    fn play(nodes: u32, sessions: u32, levels: u32) -> Self {
        let mut positions =
            Positions { sessions, levels, victim: nodes as usize - 1, known: BTreeMap::new(), open: BTreeSet::new() };
        let mut longest = Some(0);
        let mut seen = BTreeSet::new();
        let mut starts = vec![HandDriven::new(Text::Repaired, nodes, levels)];
        while let Some(start) = starts.pop() {
            if !seen.insert(start.position()) {
                continue;
            }
            let mut asked = start.clone();
            if asked.ask(positions.victim, WANTED, 1) {
                let opened = u32::from(asked.is_inside(positions.victim));
                longest = longest.zip(positions.value(&asked)).map(|(longest, value)| longest.max(opened + value));
            }
            starts.extend(positions.moves(&start).into_iter().map(|(next, _)| next));
        }
        Self { nodes, sessions, levels, longest, positions: positions.known.len() }
    }
}

struct Positions {
    sessions: u32,
    levels: u32,
    victim: usize,
    /// What is still to come in each position; `None` without end.
    known: BTreeMap<Vec<i64>, Option<u32>>,
    /// Positions on the way to the present one.
    open: BTreeSet<Vec<i64>>,
}

impl Positions {
    /// The most sessions opened from here until the victim is inside.
    fn value(&mut self, network: &HandDriven) -> Option<u32> {
        if network.is_inside(self.victim) {
            return Some(0);
        }
        let position = network.position();
        if let Some(known) = self.known.get(&position) {
            return *known;
        }
        if !self.open.insert(position.clone()) {
            return None;
        }
        let mut longest = Some(0);
        for (next, opens) in self.moves(network) {
            let value = self.value(&next).map(|value| value + u32::from(opens));
            longest = longest.zip(value).map(|(longest, value)| longest.max(value));
        }
        self.open.remove(&position);
        self.known.insert(position, longest);
        longest
    }

    /// Everything that the others can do, and whether it opens a session.
    fn moves(&self, network: &HandDriven) -> Vec<(HandDriven, bool)> {
        let mut moves = Vec::new();
        for node in network.idle().into_iter().filter(|node| *node != self.victim) {
            for session in 0..u64::from(self.sessions) {
                for level in 1..=self.levels {
                    let mut next = network.clone();
                    if next.ask(node, session, level) {
                        moves.push((next, false));
                    }
                }
            }
        }
        for node in network.all_inside() {
            let mut next = network.clone();
            next.leave(node);
            // Who left last made room for the next session, if there is one.
            let opens = network.all_inside() == [node] && !next.all_inside().is_empty();
            moves.push((next, opens));
        }
        moves
    }
}

impl fmt::Display for Game {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, sessions, levels, positions, .. } = self;
        let longest = self.longest.map_or_else(|| "without end".to_owned(), |longest| longest.to_string());
        write!(f, "({nodes}, {sessions}, {levels}) {longest} ({positions} positions)")
    }
}

/// The games that are played, by effort.
pub(super) fn played(lab: &Lab) -> Vec<Game> {
    let small: &[(u32, u32, u32)] = &[(3, 2, 1), (3, 2, 2), (3, 2, 3), (3, 3, 3), (3, 4, 3)];
    let larger: &[(u32, u32, u32)] = &[(3, 3, 4), (3, 3, 5), (4, 2, 3), (4, 3, 3)];
    let largest: &[(u32, u32, u32)] = &[(4, 4, 4)];
    let all: Vec<&(u32, u32, u32)> = match lab.choose(0, 1, 2) {
        0 => small.iter().collect(),
        1 => small.iter().chain(larger).collect(),
        _ => small.iter().chain(larger).chain(largest).collect(),
    };
    all.into_iter().map(|&(nodes, sessions, levels)| Game::play(nodes, sessions, levels)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_case_is_that_of_the_formula() {
        for (n, m, k, longest) in [(3, 2, 1, 2), (3, 2, 2, 2), (3, 2, 3, 3), (3, 3, 3, 3), (3, 4, 3, 3), (4, 2, 3, 3)] {
            let game = Game::play(n, m, k);
            assert_eq!((game.longest, game.exact()), (Some(longest), longest), "{game}");
            assert!(game.positions > 10, "{game}");
        }
    }
}
