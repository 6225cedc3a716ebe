//! The steps between visited states, kept for the search for bad infinite runs.

use crate::action::{Action, Packed};
use crate::intern::next_id;

/// For each state, in order of discovery, the steps that leave it.
pub(crate) struct Graph {
    first: Vec<u32>,
    targets: Vec<u32>,
    actions: Vec<Packed>,
    /// The nodes that were granted something, as bits.
    granted: Vec<u8>,
}

impl Graph {
    pub(crate) fn new() -> Self {
        Self { first: vec![0], targets: Vec::new(), actions: Vec::new(), granted: Vec::new() }
    }

    /// Adds a step that leaves the state being looked at.
    pub(crate) fn add(&mut self, to: u32, action: Action, granted: u64) {
        self.targets.push(to);
        self.actions.push(action.pack());
        self.granted.push(u8::try_from(granted).unwrap_or(u8::MAX));
    }

    /// Adds a step that is due in the state being looked at but has to wait for a full channel.
    pub(crate) fn add_waiting(&mut self, action: Action) {
        self.add(NOWHERE, action, 0);
    }

    /// All steps of one state are there; the next state follows.
    pub(crate) fn close(&mut self) {
        self.first.push(next_id(self.targets.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// The places of the steps that leave a state.
    pub(crate) fn range(&self, state: u32) -> std::ops::Range<u32> {
        self.first[state as usize]..self.first[state as usize + 1]
    }

    /// Where the step at a place leads; `None` for one that has to wait for a full channel.
    pub(crate) fn to(&self, place: u32) -> Option<u32> {
        Some(self.targets[place as usize]).filter(|to| *to != NOWHERE)
    }

    pub(crate) fn granted(&self, place: u32) -> u8 {
        self.granted[place as usize]
    }

    /// Whether a message or the notice of a link arrives in the step at a place.
    pub(crate) fn is_arrival(&self, place: u32) -> bool {
        self.actions[place as usize].is_arrival()
    }

    /// Where the step number `nth` of a state leads: `None` after the last one, `Some(None)` if it has to wait.
    pub(crate) fn target(&self, state: u32, nth: u32) -> Option<Option<u32>> {
        let range = self.range(state);
        range.start.checked_add(nth).filter(|place| *place < range.end).map(|place| self.to(place))
    }

    pub(crate) fn action(&self, place: u32) -> Action {
        self.actions[place as usize].unpack()
    }

    /// The steps that leave a state, also those that have to wait for a full channel: they are due.
    pub(crate) fn actions(&self, state: u32) -> impl Iterator<Item = Action> + '_ {
        self.range(state).map(|place| self.action(place))
    }

    pub(crate) fn bytes(&self) -> usize {
        (self.first.capacity() + self.targets.capacity() + self.actions.capacity()) * 4 + self.granted.capacity()
    }
}

const NOWHERE: u32 = u32::MAX;
