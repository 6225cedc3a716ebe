//! Which nodes are in range of each other while they move: link changes at their exact times, without polling.
//!
//! Nodes lie in the cells of a uniform grid that are a little wider than the range, so two nodes in range lie in the same
//! or in neighbouring cells. For each pair of such nodes the next crossing of the range is computed when the pair comes
//! close or one of the two starts a new leg, and stands in the agenda. The cost per event is independent of the number
//! of nodes.
//!
//! `reach/place.rs` has the edits: put nodes elsewhere, change range and pace, set barriers.

mod place;

use std::collections::BTreeSet;

use crate::agenda::{Agenda, Due};
use crate::geometry::{Leg, Point, crossing};
use crate::links::Links;
use crate::mobility::Mover;
use crate::scenario::Area;
use crate::time::{Span, Time};

/// How much wider than the range a cell is, so that rounding never hides a pair.
const MARGIN: f64 = 1.05;

#[derive(Clone, Debug)]
pub(crate) struct Reach {
    area: Area,
    range: f64,
    /// How many times as fast as their movers say nodes move.
    pace: f64,
    /// Pairs, the lower id first, that are not linked however near they are.
    barred: BTreeSet<(u32, u32)>,
    /// Nodes that are there and do not run: they have no links.
    silent: BTreeSet<u32>,
    cell: f64,
    columns: i32,
    rows: i32,
    cells: Vec<Vec<u32>>,
    nodes: Vec<Traveller>,
    near: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Traveller {
    /// `None`: it stays where it is.
    mover: Option<Mover>,
    leg: Leg,
    /// `None`: the time of the mover is that of the world, as it is unless the pace was changed.
    own: Option<Box<Own>>,
    /// Counts legs, so that what was computed for an earlier one is recognised.
    version: u32,
    cell: (i32, i32),
}

/// The leg of a traveller in the time of its mover.
#[derive(Clone, Copy, Debug)]
struct Own {
    leg: Leg,
    /// The moment of that time at which the leg in the time of the world starts.
    start: Time,
}

impl Traveller {
    /// Starts a leg of its mover.
    fn start(&mut self, own: Leg, now: Time, pace: f64) {
        self.leg = place::at_pace(&own, own.start, now, pace);
        self.own = (self.leg != own).then(|| Box::new(Own { leg: own, start: own.start }));
        self.version = self.version.wrapping_add(1);
    }

    fn own(&self) -> Own {
        self.own.as_deref().copied().unwrap_or(Own { leg: self.leg, start: self.leg.start })
    }
}

impl Reach {
    /// Places all nodes and schedules all movement. Links that are there from the start are left to the caller:
    /// see [`Self::linked_at_start`].
    pub(crate) fn new(mut movers: Vec<Mover>, area: Area, range: f64, agenda: &mut Agenda) -> Self {
        let legs: Vec<Leg> = movers.iter_mut().map(Mover::next_leg).collect();
        let nodes = movers.into_iter().zip(legs).map(|(mover, leg)| Traveller {
            mover: Some(mover),
            leg,
            own: None,
            version: 0,
            cell: (0, 0),
        });
        let mut reach = Self {
            area,
            range,
            pace: 1.0,
            barred: BTreeSet::new(),
            silent: BTreeSet::new(),
            cell: 0.0,
            columns: 0,
            rows: 0,
            cells: Vec::new(),
            nodes: nodes.collect(),
            near: Vec::new(),
        };
        reach.draw_grid();
        for node in 0..reach.nodes.len() as u32 {
            reach.settle(node, Time::ZERO, agenda);
        }
        reach
    }

    /// An empty grid that fits the range.
    fn draw_grid(&mut self) {
        let Area { width, height } = self.area;
        let cell = self.range * MARGIN;
        // Never more cells than nodes are worth, however small the range.
        let most = (self.nodes.len() as f64).sqrt().ceil().max(1.0) * 4.0;
        self.cell = cell.max(width / most).max(height / most);
        let count = |length: f64| ((length / self.cell).ceil() as i32).max(1);
        (self.columns, self.rows) = (count(width), count(height));
        self.cells = vec![Vec::new(); (self.columns * self.rows) as usize];
    }

    /// All pairs that are in reach of each other at the start, each once, in order.
    pub(crate) fn linked_at_start(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for a in 0..self.nodes.len() as u32 {
            let at = self.nodes[a as usize].leg;
            let block = around(self.nodes[a as usize].cell, self.columns, self.rows);
            let near = block.flat_map(|cell| &self.cells[cell]).filter(|b| a < **b);
            let linked = |b: &&u32| (self.nodes[**b as usize].leg.from - at.from).length() <= self.range;
            pairs.extend(near.filter(|_| at.present).filter(linked).map(|b| (a, *b)));
        }
        pairs.sort_unstable();
        pairs
    }

    /// Schedules the first crossings, once the links of the start are up.
    pub(crate) fn watch_all(&mut self, links: &Links, agenda: &mut Agenda) {
        for node in 0..self.nodes.len() as u32 {
            self.gather(node, None);
            let near = std::mem::take(&mut self.near);
            for other in near.iter().filter(|other| node < **other) {
                self.watch(node, *other, links, Time::ZERO, agenda);
            }
            self.near = near;
        }
    }

    pub(crate) fn leg(&self, node: u32) -> &Leg {
        &self.nodes[node as usize].leg
    }

    /// Whether a crossing that was computed earlier is still to be believed.
    pub(crate) fn is_current(&self, a: u32, b: u32, legs: u32) -> bool {
        self.legs(a, b) == legs
    }

    /// How many legs two nodes have started in all. It grows with each, so it tells whether either has a new one.
    fn legs(&self, a: u32, b: u32) -> u32 {
        self.nodes[a as usize].version.wrapping_add(self.nodes[b as usize].version)
    }

    /// A node starts its next leg. A node that vanishes or jumps may leave links behind: the crossings of those are
    /// due at once. False if the entry of the agenda is stale.
    pub(crate) fn next_leg(&mut self, node: u32, version: u32, links: &Links, now: Time, agenda: &mut Agenda) -> bool {
        let pace = self.pace;
        let traveller = &mut self.nodes[node as usize];
        if traveller.version != version {
            return false;
        }
        let Some(mover) = &mut traveller.mover else { return false };
        let own = mover.next_leg();
        traveller.start(own, now, pace);
        self.remove(node);
        self.settle(node, now, agenda);
        self.gather(node, None);
        let mut near = std::mem::take(&mut self.near);
        near.extend(links.of(node));
        near.sort_unstable();
        near.dedup();
        for other in near.iter().filter(|other| **other != node) {
            self.watch(node, *other, links, now, agenda);
        }
        self.near = near;
        true
    }

    pub(crate) fn next_cell(&mut self, node: u32, version: u32, links: &Links, now: Time, agenda: &mut Agenda) {
        let traveller = &self.nodes[node as usize];
        if traveller.version != version {
            return;
        }
        let (old, step) = (traveller.cell, self.cell_exit(node, now).map(|(_, step)| step));
        let Some((right, up)) = step else { return };
        self.remove(node);
        self.nodes[node as usize].cell = (old.0 + right, old.1 + up);
        self.insert(node);
        self.plan_cell(node, now, agenda);
        self.gather(node, Some(old));
        let near = std::mem::take(&mut self.near);
        for other in near.iter().filter(|other| **other != node) {
            self.watch(node, *other, links, now, agenda);
        }
        self.near = near;
    }

    /// Schedules the next crossing of a pair, from which side `links` knows.
    pub(crate) fn watch(&self, a: u32, b: u32, links: &Links, now: Time, agenda: &mut Agenda) {
        let (a, b) = (a.min(b), a.max(b));
        let (one, other) = (&self.nodes[a as usize], &self.nodes[b as usize]);
        let linked = links.is_up(a, b);
        let legs = one.version.wrapping_add(other.version);
        if !(one.leg.present && other.leg.present) {
            if linked {
                agenda.add(now, Due::Cross { a, b, legs, up: false });
            }
            return;
        }
        if !linked && self.is_barred(a, b) {
            return;
        }
        if let Some(at) = crossing(&one.leg, &other.leg, self.range, linked, now) {
            agenda.add(at, Due::Cross { a, b, legs, up: !linked });
        }
    }

    /// Puts a node at its leg into its cell and schedules what its movement brings.
    fn settle(&mut self, node: u32, now: Time, agenda: &mut Agenda) {
        let leg = self.nodes[node as usize].leg;
        agenda.add(leg.end, Due::Leg { node, version: self.nodes[node as usize].version });
        if leg.present {
            self.nodes[node as usize].cell = self.cell_at(leg.position(now));
            self.insert(node);
            self.plan_cell(node, now, agenda);
        }
    }

    fn plan_cell(&self, node: u32, now: Time, agenda: &mut Agenda) {
        let traveller = &self.nodes[node as usize];
        if let Some((at, _)) = self.cell_exit(node, now).filter(|(at, _)| *at < traveller.leg.end) {
            agenda.add(at, Due::Cell { node, version: traveller.version });
        }
    }

    /// When a node leaves its cell, and in which direction. Cells at the border of the grid have no outside.
    fn cell_exit(&self, node: u32, now: Time) -> Option<(Time, (i32, i32))> {
        let Traveller { leg, cell, .. } = &self.nodes[node as usize];
        let at = leg.position(now);
        let along = |position: f64, velocity: f64, index: i32, count: i32| -> Option<(f64, i32)> {
            let step = if velocity > 0.0 { 1 } else { -1 };
            if velocity == 0.0 || !(0..count).contains(&(index + step)) {
                return None;
            }
            let border = f64::from(if step > 0 { index + 1 } else { index }) * self.cell;
            Some((((border - position) / velocity).max(0.0), step))
        };
        let x = along(at.x, leg.velocity.x, cell.0, self.columns);
        let y = along(at.y, leg.velocity.y, cell.1, self.rows);
        let (seconds, step) = match (x, y) {
            (Some((tx, sx)), Some((ty, _))) if tx <= ty => (tx, (sx, 0)),
            (_, Some((ty, sy))) => (ty, (0, sy)),
            (Some((tx, sx)), None) => (tx, (sx, 0)),
            (None, None) => return None,
        };
        Some((now + Span((seconds * 1e9).ceil() as u64), step))
    }

    fn cell_at(&self, place: Point) -> (i32, i32) {
        // `as` saturates, so a node far outside is at the border.
        let index = |along: f64, count: i32| ((along / self.cell).floor() as i32).clamp(0, count - 1);
        (index(place.x, self.columns), index(place.y, self.rows))
    }

    fn index(&self, (column, row): (i32, i32)) -> usize {
        (row * self.columns + column) as usize
    }

    fn insert(&mut self, node: u32) {
        let cell = self.index(self.nodes[node as usize].cell);
        self.cells[cell].push(node);
    }

    fn remove(&mut self, node: u32) {
        let cell = self.index(self.nodes[node as usize].cell);
        self.cells[cell].retain(|other| *other != node);
    }

    /// Collects in `near` the nodes in the block of cells around a node, but not in that around `except`.
    fn gather(&mut self, node: u32, except: Option<(i32, i32)>) {
        self.near.clear();
        if !self.nodes[node as usize].leg.present {
            return;
        }
        for cell in around(self.nodes[node as usize].cell, self.columns, self.rows) {
            let (column, row) = (cell as i32 % self.columns, cell as i32 / self.columns);
            let old = except.is_some_and(|(c, r)| (c - column).abs() <= 1 && (r - row).abs() <= 1);
            if !old {
                self.near.extend(&self.cells[cell]);
            }
        }
        // The order within a cell depends on the order of arrival; the agenda must not.
        self.near.sort_unstable();
    }
}

/// The cells around one, itself included.
fn around((column, row): (i32, i32), columns: i32, rows: i32) -> impl Iterator<Item = usize> {
    let (left, right) = ((column - 1).max(0), (column + 1).min(columns - 1));
    let (low, high) = ((row - 1).max(0), (row + 1).min(rows - 1));
    (low..=high).flat_map(move |r| (left..=right).map(move |c| (r * columns + c) as usize))
}
