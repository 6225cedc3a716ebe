//! Everything of a state that is neither in a node nor in flight: links, notices, timers, budgets, request numbers.

use crate::layout::Layout;
use crate::members::Members;
use crate::model::{Failing, Model};

/// The world around the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Environment {
    pub(crate) links: Box<[LinkState]>,
    /// For each node the epoch of the timer that is armed.
    pub(crate) timers: Box<[Option<u64>]>,
    /// For each node the number its next request gets.
    pub(crate) next_request: Box<[u64]>,
    /// For each node how many requests it made; in endless workloads only its place in the list of demands.
    pub(crate) made: Box<[u32]>,
    pub(crate) cancels: u32,
    pub(crate) reprioritisations: u32,
    pub(crate) link_changes: u32,
    pub(crate) losses: u32,
    pub(crate) early_timers: u32,
    /// For each node how many definitions of the resource it has heard of.
    pub(crate) told: Box<[u8]>,
    pub(crate) leaves: u32,
    pub(crate) stops: u32,
    /// The nodes that are stopped and have not started again, as bits.
    pub(crate) away: u64,
    pub(crate) members: Members,
    /// The nodes whose timers ran out in this round, as bits.
    pub(crate) fired: u64,
    /// Rounds of timers since anything else happened.
    pub(crate) rounds: u8,
}

/// A link, up or down or in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LinkState {
    Up,
    Down,
    /// Cut, but not noticed by both ends; for each end whether it has noticed.
    Dying([bool; 2]),
    /// The node at this end crashed, and the other end has not noticed. Once it has, and the node is back, it is up.
    Failed(u8),
}

impl Environment {
    pub(crate) fn of(model: &Model, layout: &Layout) -> Self {
        let nodes = layout.nodes;
        let state = |up: bool| if up { LinkState::Up } else { LinkState::Down };
        Self {
            links: layout.links.iter().map(|place| state(place.up_at_start)).collect(),
            timers: model.armed.iter().map(|timer| timer.map(|timer| timer.epoch)).collect(),
            next_request: vec![1; nodes].into(),
            made: vec![0; nodes].into(),
            cancels: model.budgets.cancels,
            reprioritisations: model.budgets.reprioritisations,
            link_changes: model.budgets.link_changes,
            losses: model.budgets.losses,
            early_timers: model.budgets.early_timers,
            told: vec![0; nodes].into(),
            leaves: model.budgets.leaves,
            stops: model.budgets.stops,
            away: 0,
            members: Members::new(model.budgets.members, nodes, model.voters_record()),
            fired: 0,
            rounds: 0,
        }
    }

    /// Becomes equal to another environment of the same model without allocating.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { links, timers, next_request, made, told, .. } = self;
        links.copy_from_slice(&other.links);
        timers.copy_from_slice(&other.timers);
        next_request.copy_from_slice(&other.next_request);
        made.copy_from_slice(&other.made);
        told.copy_from_slice(&other.told);
        self.leaves = other.leaves;
        self.stops = other.stops;
        self.away = other.away;
        self.members.clone_from(&other.members);
        self.cancels = other.cancels;
        self.reprioritisations = other.reprioritisations;
        self.link_changes = other.link_changes;
        self.losses = other.losses;
        self.early_timers = other.early_timers;
        self.fired = other.fired;
        self.rounds = other.rounds;
    }

    /// Whether a node is stopped.
    pub(crate) const fn is_away(&self, node: usize) -> bool {
        self.away >> node & 1 == 1
    }

    /// Whether an end of a link has still to notice that it was cut.
    pub(crate) fn notice_pending(&self) -> bool {
        self.links.iter().any(|link| matches!(link, LinkState::Dying(_) | LinkState::Failed(_)))
    }

    /// The nodes that have not heard of a definition that others know, as bits.
    pub(crate) fn behind(&self) -> u64 {
        let newest = self.told.iter().max().copied().unwrap_or(0);
        let behind = self.told.iter().enumerate().filter(|(_, told)| **told < newest);
        behind.fold(0, |set, (node, _)| set | 1 << node)
    }

    /// The versions that nodes may use now, from the oldest to the newest that one of them knows.
    pub(crate) fn versions(&self) -> std::ops::RangeInclusive<u8> {
        let known = || self.told.iter().copied();
        known().min().unwrap_or(0)..=known().max().unwrap_or(0)
    }

    /// The nodes with an armed timer, as bits.
    pub(crate) fn armed(&self) -> u64 {
        self.timers.iter().enumerate().filter(|(_, timer)| timer.is_some()).fold(0, |set, (node, _)| set | 1 << node)
    }

    /// Something other than a timer or a message happened: timers may help again.
    pub(crate) fn begin_rounds_anew(&mut self) {
        self.fired = 0;
        self.rounds = 0;
    }

    /// Notes that the timer of a node ran out by itself.
    pub(crate) fn note_fired(&mut self, node: usize) {
        self.fired |= 1 << node;
    }

    /// Ends a round once every armed timer has run out in it.
    pub(crate) fn close_round(&mut self, rounds: Option<u8>) {
        if self.fired != 0 && self.armed() & !self.fired == 0 {
            self.fired = 0;
            if rounds.is_some() {
                self.rounds = self.rounds.saturating_add(1);
            }
        }
    }

    /// The nodes whose timers may run out by themselves, as far as rounds matter.
    pub(crate) fn due(&self, rounds: Option<u8>) -> u64 {
        if rounds.is_some_and(|most| self.rounds >= most) { 0 } else { self.armed() & !self.fired }
    }

    /// For each node the smallest node it is connected with by links that are up.
    pub(crate) fn parts(&self, layout: &Layout, without: Option<usize>) -> Vec<u32> {
        self.parts_among(layout, without, |_| true)
    }

    /// The same by way of these nodes alone.
    pub(crate) fn parts_among(
        &self,
        layout: &Layout,
        without: Option<usize>,
        among: impl Fn(usize) -> bool,
    ) -> Vec<u32> {
        let mut part: Vec<u32> = (0..crate::intern::next_id(layout.nodes)).collect();
        if layout.links.is_empty() {
            return if layout.channels.is_empty() { part } else { vec![0; layout.nodes] };
        }
        loop {
            let mut changed = false;
            for (place, link) in layout.links.iter().enumerate() {
                if self.links[place] != LinkState::Up || without == Some(place) {
                    continue;
                }
                let (low, high) = (link.link.low().0 as usize, link.link.high().0 as usize);
                if !among(low) || !among(high) {
                    continue;
                }
                let least = part[low].min(part[high]);
                changed |= part[low] != least || part[high] != least;
                part[low] = least;
                part[high] = least;
            }
            if !changed {
                return part;
            }
        }
    }

    /// What a cut makes of a link that is up.
    pub(crate) const fn cut(failing: Failing) -> LinkState {
        match failing {
            Failing::Gentle => LinkState::Down,
            Failing::Harsh => LinkState::Dying([false, false]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{DeskBug, desk};

    const ROUNDS: Option<u8> = Some(2);

    fn two_armed() -> Environment {
        let model = desk(3, 1, DeskBug::None);
        let mut environment = Environment::of(&model, &Layout::of(&model));
        environment.timers = [None, Some(7), Some(7)].into();
        environment
    }

    #[test]
    fn each_timer_fires_once_before_any_fires_again() {
        let mut environment = two_armed();
        assert_eq!(environment.due(ROUNDS), 0b110);
        environment.note_fired(1);
        environment.close_round(ROUNDS);
        assert_eq!((environment.due(ROUNDS), environment.rounds), (0b100, 0));
        environment.note_fired(2);
        environment.close_round(ROUNDS);
        assert_eq!((environment.due(ROUNDS), environment.rounds), (0b110, 1));
    }

    #[test]
    fn after_the_last_round_no_timer_is_due_until_the_world_moves() {
        let mut environment = two_armed();
        for node in [1, 2, 2, 1] {
            environment.note_fired(node);
            environment.close_round(ROUNDS);
        }
        assert_eq!(environment.due(ROUNDS), 0);
        assert_eq!(environment.due(None), 0b110);
        environment.begin_rounds_anew();
        assert_eq!(environment.due(ROUNDS), 0b110);
    }

    #[test]
    fn a_timer_that_runs_out_early_does_not_hide_one_that_is_still_to_come() {
        let mut environment = two_armed();
        environment.note_fired(1);
        environment.timers[2] = None;
        environment.close_round(ROUNDS);
        assert_eq!((environment.due(ROUNDS), environment.rounds), (0b010, 1));
    }
}
