//! A node's legs, put together from what a file tells of it.
//!
//! For every format, legs have no gaps, each takes some time, a rest in several pieces is one leg, and an absent node
//! waits where it appears next.

use crate::geometry::{Leg, Point};
use crate::import::NodeTrack;
use crate::time::Time;

/// A node's legs so far.
#[derive(Clone, Debug)]
pub(super) struct Record {
    legs: Vec<Leg>,
    pub(super) now: Time,
    pub(super) at: Point,
    /// Whether the node is there from now on.
    pub(super) present: bool,
}

impl Record {
    /// A node that is here at time zero.
    pub(super) const fn new(at: Point, present: bool) -> Self {
        Self { legs: Vec::new(), now: Time::ZERO, at, present }
    }

    /// Stays here until then.
    pub(super) fn wait(&mut self, until: Time) {
        self.push(Leg { present: self.present, ..Leg::rest(self.at, self.now, until) });
    }

    /// Goes straight, to be there then. If that is now, it is a jump.
    pub(super) fn go(&mut self, to: Point, arrival: Time) {
        let seconds = arrival.since(self.now).seconds();
        if seconds > 0.0 {
            let velocity = (to - self.at) * (1.0 / seconds);
            self.push(Leg { start: self.now, end: arrival, from: self.at, velocity, present: self.present });
        }
        self.at = to;
    }

    /// All legs; the node stays as and where it is.
    pub(super) fn finish(mut self) -> Vec<Leg> {
        self.wait(Time::NEVER);
        let mut next = None;
        for leg in self.legs.iter_mut().rev() {
            if leg.present {
                next = Some(leg.from);
            } else if let Some(next) = next {
                leg.from = next;
            }
        }
        self.legs
    }

    fn push(&mut self, leg: Leg) {
        if leg.end <= leg.start {
            return;
        }
        self.now = leg.end;
        let rests = leg.velocity == Point::default();
        match self.legs.last_mut() {
            Some(last) if !leg.present && !last.present => last.end = leg.end,
            Some(last) if rests && leg.present && *last == (Leg { start: last.start, end: last.end, ..leg }) => {
                last.end = leg.end;
            }
            _ if leg.present => self.legs.push(leg),
            _ => self.legs.push(Leg { velocity: Point::default(), ..leg }),
        }
    }
}

/// The least and the greatest coordinates of nodes that are there; of all, if none ever is.
pub(super) fn extent(nodes: &[NodeTrack]) -> (Point, Point) {
    let legs = || nodes.iter().flat_map(|node| &node.legs);
    let none_present = !legs().any(|leg| leg.present);
    let ends = |leg: &Leg| [leg.from, if leg.end == Time::NEVER { leg.from } else { leg.position(leg.end) }];
    let points = legs().filter(|leg| leg.present || none_present).flat_map(ends);
    let nowhere = (Point::new(f64::MAX, f64::MAX), Point::new(f64::MIN, f64::MIN));
    points.fold(nowhere, |(low, high), at| {
        (Point::new(low.x.min(at.x), low.y.min(at.y)), Point::new(high.x.max(at.x), high.y.max(at.y)))
    })
}
