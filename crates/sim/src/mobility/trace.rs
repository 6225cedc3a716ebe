//! Recorded movement: the legs are given.

use std::sync::Arc;

use crate::geometry::{Leg, Point};
use crate::mobility::error::MobilityError;
use crate::mobility::track::Track;
use crate::scenario::Area;
use crate::time::{Span, Time};

/// What rounding may add to the area, in metres.
const SLACK: f64 = 0.01;

#[derive(Clone, Debug)]
pub(super) struct Recording {
    legs: Arc<Vec<Vec<Leg>>>,
    node: u32,
    next: u32,
    /// As in the last leg.
    present: bool,
}

impl Recording {
    pub(super) const fn new(legs: Arc<Vec<Vec<Leg>>>, node: u32) -> Self {
        Self { legs, node, next: 0, present: false }
    }

    /// A node is absent before its first leg, and after its last one it stays as and where it is.
    pub(super) fn next_leg(&mut self, track: &mut Track) -> Leg {
        let legs = self.legs.get(self.node as usize).map_or(&[][..], Vec::as_slice);
        let first = self.next == 0;
        let Some(&leg) = legs.get(self.next as usize) else {
            track.at = if first { Point::default() } else { track.at };
            let stays = track.rest(Span(u64::MAX));
            return Leg { present: self.present, ..stays };
        };
        if leg.start > track.now {
            let waits = Leg { present: false, ..Leg::rest(leg.from, track.now, leg.start) };
            track.now = leg.start;
            return waits;
        }
        self.next += 1;
        self.present = leg.present;
        track.at = leg.position(leg.end);
        track.now = leg.end;
        leg
    }
}

/// Legs must follow each other without a gap and stay inside. There may be more recordings than nodes: the first are
/// taken.
pub(super) fn check(legs: &[Vec<Leg>], area: Area, nodes: u32) -> Result<(), MobilityError> {
    if legs.len() < nodes as usize {
        return Err(MobilityError::TooFew { what: "recordings", given: legs.len(), nodes });
    }
    for (node, legs) in (0..nodes).zip(legs) {
        let mut now = None;
        for (number, leg) in legs.iter().enumerate() {
            if let Some(problem) = problem(leg, now, area) {
                return Err(MobilityError::Trace { node, leg: number, problem });
            }
            now = Some(leg.end);
        }
    }
    Ok(())
}

fn problem(leg: &Leg, now: Option<Time>, area: Area) -> Option<String> {
    if now.is_some_and(|now| now != leg.start) {
        return Some(format!("starts at {}, but the one before ends at {}", leg.start, now.unwrap_or_default()));
    }
    if leg.end <= leg.start {
        return Some(format!("ends at {}, which is not after its start at {}", leg.end, leg.start));
    }
    let moves = leg.velocity != Point::default();
    if moves && leg.end == Time::NEVER {
        return Some("moves on forever: the last leg must be a rest".to_owned());
    }
    // The place of an absent node does not matter, as long as it is finite.
    let slack = if leg.present { SLACK } else { f64::MAX };
    let inside = |at: f64, size: f64| at >= -slack && at - size <= slack;
    let outside = |at: &Point| !(inside(at.x, area.width) && inside(at.y, area.height));
    let end = if moves { leg.position(leg.end) } else { leg.from };
    [leg.from, end].into_iter().find(outside).map(|at| {
        let Area { width, height } = area;
        format!("is at ({}, {}), which is outside of the area of {width} m x {height} m", at.x, at.y)
    })
}
