//! Edits of places: put nodes elsewhere, change range and pace, set barriers.
//!
//! Every change gives new versions to the nodes it concerns, so that stale entries of the agenda are recognised.
//! Links follow at the same moment, as entries of the agenda.

use std::collections::BTreeSet;

use super::{Reach, Traveller};
use crate::agenda::{Agenda, Due};
use crate::geometry::{Leg, Point};
use crate::links::Links;
use crate::scenario::Area;
use crate::time::{Span, Time};

impl Reach {
    pub(crate) fn area(&self) -> Area {
        self.area
    }

    pub(crate) fn range(&self) -> f64 {
        self.range
    }

    /// How many times as fast as the scenario says nodes move.
    pub(crate) fn pace(&self) -> f64 {
        self.pace
    }

    /// How far two nodes are from each other, if both are there.
    pub(crate) fn apart(&self, a: u32, b: u32, now: Time) -> Option<f64> {
        let (one, other) = (&self.nodes[a as usize].leg, &self.nodes[b as usize].leg);
        (one.present && other.present).then(|| (one.position(now) - other.position(now)).length())
    }

    /// Whether a barrier stands between two nodes, or one of them is silent.
    pub(crate) fn is_barred(&self, a: u32, b: u32) -> bool {
        let silent = !self.silent.is_empty() && (self.silent.contains(&a) || self.silent.contains(&b));
        silent || (!self.barred.is_empty() && self.barred.contains(&(a.min(b), a.max(b))))
    }

    /// A node stops to run and moves on without links.
    pub(crate) fn silence(&mut self, node: u32) {
        self.silent.insert(node);
    }

    /// A node runs again: the nodes that are in its range, as they stand at this moment.
    pub(crate) fn rouse(&mut self, node: u32, moment: Time) -> Vec<u32> {
        self.silent.remove(&node);
        self.gather(node, None);
        let near: BTreeSet<u32> = self.near.iter().copied().filter(|other| *other != node).collect();
        let in_range = |other: &u32| self.apart(node, *other, moment).is_some_and(|apart| apart <= self.range);
        near.into_iter().filter(|other| in_range(other) && !self.is_barred(node, *other)).collect()
    }

    /// Puts a barrier between two nodes, or takes it away; false if it was so before. The link is left to the caller.
    pub(crate) fn bar(&mut self, a: u32, b: u32, barred: bool) -> bool {
        let pair = (a.min(b), a.max(b));
        if barred { self.barred.insert(pair) } else { self.barred.remove(&pair) }
    }

    /// Puts a node somewhere, where it stays; or takes it away, for good.
    pub(crate) fn put(&mut self, node: u32, at: Point, present: bool, links: &Links, now: Time, agenda: &mut Agenda) {
        self.remove(node);
        let traveller = &mut self.nodes[node as usize];
        (traveller.mover, traveller.own) = (None, None);
        traveller.leg = Leg { present, ..Leg::rest(at, now, Time::NEVER) };
        traveller.version = traveller.version.wrapping_add(1);
        self.settle(node, now, agenda);
        self.review(node, links, now, agenda);
    }

    /// A node more, which stays where it is.
    pub(crate) fn add(&mut self, at: Point, links: &Links, now: Time, agenda: &mut Agenda) {
        let leg = Leg::rest(at, now, Time::NEVER);
        let node = self.nodes.len() as u32;
        self.nodes.push(Traveller { mover: None, leg, own: None, version: 0, cell: (0, 0) });
        self.settle(node, now, agenda);
        self.review(node, links, now, agenda);
    }

    /// The radio reaches so far from now on.
    pub(crate) fn set_range(&mut self, range: f64, links: &Links, now: Time, agenda: &mut Agenda) {
        self.range = range;
        self.draw_grid();
        for node in 0..self.nodes.len() as u32 {
            let traveller = &mut self.nodes[node as usize];
            (traveller.version, traveller.cell) = (traveller.version.wrapping_add(1), (0, 0));
            self.settle(node, now, agenda);
        }
        self.review_all(links, now, agenda);
    }

    /// Nodes move so many times as fast as their movers say from now on. Those whose movement changed are returned.
    pub(crate) fn set_pace(&mut self, pace: f64, links: &Links, now: Time, agenda: &mut Agenda) -> Vec<u32> {
        let before = std::mem::replace(&mut self.pace, pace);
        let mut changed = Vec::new();
        for node in 0..self.nodes.len() as u32 {
            let traveller = &mut self.nodes[node as usize];
            if traveller.mover.is_none() {
                continue;
            }
            let passed = Span::from_seconds(now.since(traveller.leg.start).seconds() * before);
            let mut own = traveller.own();
            own.start = (own.start + passed).min(own.leg.end);
            traveller.leg = at_pace(&own.leg, own.start, now, pace);
            traveller.own = Some(Box::new(own));
            traveller.version = traveller.version.wrapping_add(1);
            if traveller.leg.present && own.leg.velocity != Point::default() {
                changed.push(node);
            }
            self.remove(node);
            self.settle(node, now, agenda);
        }
        self.review_all(links, now, agenda);
        changed
    }

    fn review_all(&mut self, links: &Links, now: Time, agenda: &mut Agenda) {
        for node in 0..self.nodes.len() as u32 {
            self.review(node, links, now, agenda);
        }
    }

    /// Plans the crossings of a node that has jumped, or whose range has: its links break at once if they are too long
    /// now, whichever way the two move.
    pub(crate) fn review(&mut self, node: u32, links: &Links, now: Time, agenda: &mut Agenda) {
        self.gather(node, None);
        let mut near: BTreeSet<u32> = self.near.iter().copied().collect();
        near.extend(links.of(node));
        near.remove(&node);
        for other in near {
            let far = self.apart(node, other, now).is_none_or(|apart| apart > self.range);
            if far && links.is_up(node, other) {
                let (a, b) = (node.min(other), node.max(other));
                agenda.add(now, Due::Cross { a, b, legs: self.legs(a, b), up: false });
            } else {
                self.watch(node, other, links, now, agenda);
            }
        }
    }
}

/// A leg of a mover from the moment `own_start` of its own time on, in the time of a world in which that moment is `now`
/// and nodes move so many times as fast.
pub(super) fn at_pace(own: &Leg, own_start: Time, now: Time, pace: f64) -> Leg {
    if pace == 1.0 && own_start == now && own.start == now {
        return *own;
    }
    let rest = own.end.since(own_start);
    let end = if own.end == Time::NEVER || pace == 0.0 {
        Time::NEVER
    } else {
        now + Span(Span::from_seconds(rest.seconds() / pace).0.max(1))
    };
    Leg { start: now, end, from: own.position(own_start), velocity: own.velocity * pace, present: own.present }
}
