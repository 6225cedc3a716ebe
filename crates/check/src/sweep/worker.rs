//! One thread of a sweep: it explores one stage after the other.

use std::sync::atomic::Ordering;

use super::Sweep;
use super::board::{Entrance, Next, PIECE};
use super::stage::{Mark, Reader};
use super::visited::Visited;
use crate::action::Action;
use crate::intern::FixedMap;
use crate::parts::{Quad, Recent, hash};
use crate::space::{Applied, Space};

pub(super) struct Worker<'a> {
    sweep: &'a Sweep,
    space: Space,
    reader: Reader,
    recent: Recent<4>,
    visited: Visited,
    /// The stage it is at.
    stage: u32,
    /// The marks of this stage, and of those after it that steps led to.
    marks: FixedMap<Mark, u32>,
    last: Option<(Mark, u32)>,
    actions: Vec<Action>,
    row: Vec<u32>,
    next: Vec<u32>,
    /// Where steps within the stage lead, with their rows one after the other.
    reached: Vec<Quad>,
    rows: Vec<u32>,
    new: Vec<usize>,
    /// What leads into later stages from the level it is at.
    leaving: FixedMap<u32, Vec<Quad>>,
    /// States that it handed over lately from this stage, by hash: once is enough.
    handed: Vec<Quad>,
    /// What it has told of its memory.
    bytes: usize,
}

/// So many states are expanded at a time.
const AT_ONCE: usize = 256;
const HANDED: usize = 1 << 14;

impl<'a> Worker<'a> {
    pub(super) fn new(sweep: &'a Sweep, space: Space) -> Self {
        let width = space.layout.width();
        Self {
            sweep,
            reader: Reader::new(&space),
            space,
            recent: Recent::new(),
            visited: Visited::new(),
            stage: 0,
            marks: FixedMap::default(),
            last: None,
            actions: Vec::new(),
            row: vec![0; width],
            next: vec![0; width],
            reached: Vec::new(),
            rows: Vec::new(),
            new: Vec::new(),
            leaving: FixedMap::default(),
            handed: vec![[u32::MAX; 4]; HANDED],
            bytes: 0,
        }
    }

    /// Explores stages until there are no more of them.
    pub(super) fn work(mut self) {
        // It ends because nothing is left, or because it panicked: then the others must not wait for it.
        let _end = End(self.sweep);
        while let Next::Explore(stage, entrance) = self.sweep.board.take() {
            self.stage = stage;
            self.marks.clear();
            self.last = None;
            self.leaving.clear();
            // Another stage may lead to the same states on shorter ways.
            self.handed.fill([u32::MAX; 4]);
            self.explore(entrance);
            self.visited.clear();
            self.tell_bytes(0);
            if self.sweep.is_over() {
                break;
            }
            self.sweep.board.done(stage);
        }
    }

    /// Explores the stage that is entered by these states, nearest first.
    fn explore(&mut self, mut entrance: Entrance) {
        let mut level = Vec::new();
        let mut depth = 0;
        loop {
            if level.is_empty() {
                let Some(nearest) = entrance.nearest() else { return };
                depth = nearest;
            }
            for states in entrance.take(depth) {
                self.let_in(&states, depth, &mut level);
            }
            if !level.is_empty() {
                self.sweep.deepest.fetch_max(depth, Ordering::Relaxed);
            }
            level = self.expand(&level, depth);
            if self.sweep.is_over() {
                return;
            }
            depth += 1;
        }
    }

    /// Adds the states of an entrance to the level at their distance.
    fn let_in(&mut self, states: &[Quad], depth: u32, level: &mut Vec<Quad>) {
        self.new.clear();
        let Self { visited, new, .. } = self;
        visited.insert(states, |place| new.push(place));
        for place in 0..self.new.len() {
            let state = states[self.new[place]];
            self.sweep.quarters.read(state, &mut self.row);
            self.check_row(depth);
            level.push(state);
        }
        self.sweep.unique.fetch_add(self.new.len() as u64, Ordering::Relaxed);
    }

    fn check_row(&mut self, depth: u32) {
        if self.space.check(&self.row).is_err() {
            self.sweep.broken.fetch_min(depth, Ordering::Relaxed);
        }
    }

    /// Makes every step from the states of a level: the next level of this stage.
    fn expand(&mut self, level: &[Quad], depth: u32) -> Vec<Quad> {
        let mut further = Vec::new();
        if self.sweep.max_depth.is_some_and(|most| depth >= most) {
            self.sweep.cut_short.fetch_add(level.len() as u64, Ordering::Relaxed);
            return further;
        }
        for states in level.chunks(AT_ONCE) {
            // What is not nearer than what is wrong already needs no look.
            if self.sweep.is_over() || self.sweep.broken.load(Ordering::Relaxed) <= depth + 1 {
                return Vec::new();
            }
            self.reached.clear();
            self.rows.clear();
            let mut generated = 0;
            for state in states {
                generated += self.make_steps(*state, depth);
            }
            self.sweep.generated.fetch_add(generated, Ordering::Relaxed);
            self.keep_new(depth + 1, &mut further);
            self.tell_bytes((level.len() + further.capacity()) * size_of::<Quad>());
        }
        let stages: Vec<u32> = self.leaving.keys().copied().collect();
        stages.into_iter().for_each(|stage| self.hand_over(stage, depth + 1));
        further
    }

    /// Makes all steps of one state; how many.
    fn make_steps(&mut self, state: Quad, depth: u32) -> u64 {
        self.sweep.quarters.read(state, &mut self.row);
        let mut actions = std::mem::take(&mut self.actions);
        actions.clear();
        self.space.enabled(&self.row, &mut actions);
        let mut generated = 0;
        for action in &actions {
            match self.space.apply(&self.row, *action, &mut self.next) {
                Ok(Applied::Made { .. }) => generated += 1,
                Ok(Applied::Impossible | Applied::MustWait) => continue,
                Err(_) => {
                    self.sweep.broken.fetch_min(depth + 1, Ordering::Relaxed);
                    continue;
                }
            }
            let to = self.sweep.quarters.near(&self.next, (&self.row, state), &mut self.recent);
            let stage = self.stage_of_next();
            if stage == self.stage {
                self.reached.push(to);
                self.rows.extend_from_slice(&self.next);
            } else {
                self.leave(stage, to, depth + 1);
            }
        }
        self.actions = actions;
        generated
    }

    /// The stage of the state that was reached.
    fn stage_of_next(&mut self) -> u32 {
        let mark = self.reader.mark(&self.space, &self.next);
        if let Some((_, stage)) = self.last.filter(|(last, _)| *last == mark) {
            return stage;
        }
        let stage = match self.marks.get(&mark) {
            Some(stage) => *stage,
            None => {
                let stage = self.sweep.board.number(self.reader.stage(mark));
                if stage != self.stage && !self.sweep.board.leads(self.stage, stage) {
                    self.sweep.unfit.store(true, Ordering::Relaxed);
                    self.sweep.end();
                }
                self.marks.insert(mark, stage);
                stage
            }
        };
        self.last = Some((mark, stage));
        stage
    }

    /// Takes what was reached in this stage to the visited states, and looks at what is new.
    fn keep_new(&mut self, depth: u32, further: &mut Vec<Quad>) {
        self.new.clear();
        let Self { visited, new, reached, rows, space, sweep, .. } = self;
        visited.insert(reached, |place| new.push(place));
        sweep.unique.fetch_add(new.len() as u64, Ordering::Relaxed);
        let width = space.layout.width();
        for place in new.iter() {
            if space.check(&rows[place * width..(place + 1) * width]).is_err() {
                sweep.broken.fetch_min(depth, Ordering::Relaxed);
            }
            further.push(reached[*place]);
        }
    }

    /// A step led into a later stage.
    fn leave(&mut self, stage: u32, to: Quad, depth: u32) {
        let handed = &mut self.handed[hash(to) as usize % HANDED];
        if *handed == to {
            return;
        }
        *handed = to;
        let states = self.leaving.entry(stage).or_default();
        states.push(to);
        if states.len() == PIECE {
            self.hand_over(stage, depth);
        }
    }

    fn hand_over(&mut self, stage: u32, depth: u32) {
        let Some(states) = self.leaving.remove(&stage).filter(|_| !self.sweep.is_over()) else { return };
        self.sweep.board.enter(stage, depth, states);
    }

    /// Tells the others of the memory it works with, and of so much more.
    fn tell_bytes(&mut self, more: usize) {
        let now = self.visited.bytes() + self.space.memo_bytes() + self.reader.bytes() + more;
        self.sweep.bytes.fetch_add(now, Ordering::Relaxed);
        self.sweep.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = now;
    }
}

/// Ends the sweep when it is dropped.
struct End<'a>(&'a Sweep);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{DeskBug, desk};

    #[test]
    fn a_step_that_leads_back_ends_the_sweep() {
        let mut space = Space::new(desk(3, 1, DeskBug::None), true, false).unwrap();
        let sweep = Sweep::new(&space, None);
        sweep.begin(&mut space);
        let start = space.start();
        let mut asked = start.clone();
        space.apply(&start, Action::Request { node: 1, demand: 0 }, &mut asked).unwrap();
        let mut worker = Worker::new(&sweep, space.share());
        worker.next.copy_from_slice(&asked);
        let later = worker.stage_of_next();
        assert!((later, sweep.is_over()) == (1, false));
        worker.stage = later;
        worker.marks.clear();
        worker.next.copy_from_slice(&start);
        assert_eq!(worker.stage_of_next(), 0);
        assert!(sweep.is_over() && sweep.unfit.load(Ordering::Relaxed));
    }
}
