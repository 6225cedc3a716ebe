//! Which stages wait, which are being explored, and what leads into them.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use super::stage::Stage;
use crate::intern::{FixedMap, Guard, Lock, Signal, next_id};
use crate::parts::Quad;

/// The stages of a sweep, for all threads.
pub(crate) struct Board {
    table: Lock<Table>,
    changed: Signal,
}

#[derive(Default)]
struct Table {
    stages: Vec<Entry>,
    numbers: FixedMap<Stage, u32>,
    waiting: Vec<u32>,
    running: Vec<u32>,
    /// How many states wait in all entrances.
    states: usize,
    closed: bool,
}

struct Entry {
    stage: Stage,
    entrance: Entrance,
    begun: bool,
}

/// The states by which a stage is entered, by their distance from the start; some of them several times.
#[derive(Default)]
pub(crate) struct Entrance {
    levels: BTreeMap<u32, Vec<Vec<Quad>>>,
    states: usize,
}

impl Entrance {
    /// The distance of the nearest of them.
    pub(crate) fn nearest(&self) -> Option<u32> {
        self.levels.keys().next().copied()
    }

    /// Takes those at this distance out.
    pub(crate) fn take(&mut self, depth: u32) -> Vec<Vec<Quad>> {
        self.levels.remove(&depth).unwrap_or_default()
    }

    fn add(&mut self, depth: u32, states: Vec<Quad>) {
        self.states += states.len();
        let pieces = self.levels.entry(depth).or_default();
        match pieces.last_mut() {
            Some(last) if last.len() + states.len() <= PIECE => last.extend(states),
            Some(_) | None => pieces.push(states),
        }
    }
}

/// So many states lie together.
pub(crate) const PIECE: usize = 1 << 12;

/// What a thread does next.
pub(crate) enum Next {
    Explore(u32, Entrance),
    /// There is nothing left.
    End,
}

impl Board {
    pub(crate) fn new() -> Self {
        Self { table: Lock::default(), changed: Signal::new() }
    }

    fn table(&self) -> Guard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a stage.
    pub(crate) fn number(&self, stage: Stage) -> u32 {
        let mut table = self.table();
        let Table { stages, numbers, .. } = &mut *table;
        *numbers.entry(stage).or_insert_with_key(|stage| {
            stages.push(Entry { stage: stage.clone(), entrance: Entrance::default(), begun: false });
            next_id(stages.len() - 1)
        })
    }

    /// Whether a step may lead from one stage to another one.
    pub(crate) fn leads(&self, from: u32, to: u32) -> bool {
        let table = self.table();
        table.stages[from as usize].stage.leads_to(&table.stages[to as usize].stage)
    }

    /// States at this distance by which a stage is entered. It has not been begun.
    pub(crate) fn enter(&self, stage: u32, depth: u32, states: Vec<Quad>) {
        let mut table = self.table();
        table.states += states.len();
        let entry = &mut table.stages[stage as usize];
        assert!(!entry.begun, "a stage was entered after it was explored");
        let first = entry.entrance.states == 0;
        entry.entrance.add(depth, states);
        if first {
            table.waiting.push(stage);
        }
    }

    /// Waits for a stage that no other one leads to any more.
    pub(crate) fn take(&self) -> Next {
        let mut table = self.table();
        loop {
            if table.closed {
                return Next::End;
            }
            if let Some(stage) = table.ready() {
                let entry = &mut table.stages[stage as usize];
                entry.begun = true;
                let entrance = std::mem::take(&mut entry.entrance);
                table.states -= entrance.states;
                table.waiting.retain(|waiting| *waiting != stage);
                table.running.push(stage);
                return Next::Explore(stage, entrance);
            }
            if table.running.is_empty() {
                table.closed = true;
                self.changed.notify_all();
                return Next::End;
            }
            table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A stage is explored.
    pub(crate) fn done(&self, stage: u32) {
        self.table().running.retain(|running| *running != stage);
        self.changed.notify_all();
    }

    /// No more stages are begun.
    pub(crate) fn close(&self) {
        self.table().closed = true;
        self.changed.notify_all();
    }

    /// Waits a moment, or until there is nothing left; whether it is so, and how many states wait.
    pub(crate) fn look(&self, moment: Duration) -> (bool, usize) {
        let table = self.table();
        if table.closed {
            return (true, table.states);
        }
        let (table, _) = self.changed.wait_timeout(table, moment).unwrap_or_else(PoisonError::into_inner);
        (table.closed, table.states)
    }
}

impl Table {
    /// Of the stages that no other one leads to, the one that has come farthest: so what waits is soon used up.
    fn ready(&self) -> Option<u32> {
        let stage = |number: &u32| &self.stages[*number as usize].stage;
        let mut latest: Vec<u32> = self.waiting.clone();
        latest.sort_unstable_by_key(|number| (std::cmp::Reverse(stage(number).rank()), *number));
        latest.into_iter().find(|number| {
            let mut open = self.waiting.iter().chain(&self.running).filter(|other| *other != number);
            !open.any(|other| stage(other).leads_to(stage(number)))
        })
    }
}
