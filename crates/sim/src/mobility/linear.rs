//! The report's movement: straight on, at a speed drawn once, mirrored at the border.
//!
//! Places and directions stay uniform (Nain, Towsley, Liu, Liu: "Properties of random direction
//! models", INFOCOM 2005), so a run needs no warm-up on account of movement.

use crate::distribution::Distribution;
use crate::geometry::{Leg, Velocity};
use crate::mobility::track::Track;
use crate::time::Span;

#[derive(Clone, Debug)]
pub(super) struct Linear {
    velocity: Velocity,
}

impl Linear {
    pub(super) fn new(speed: &Distribution, track: &mut Track) -> Self {
        Self { velocity: track.anywhere(speed) }
    }

    #[cfg(test)]
    pub(super) const fn heading(velocity: Velocity) -> Self {
        Self { velocity }
    }

    /// From border to border; without end if the node does not move.
    pub(super) fn next_leg(&mut self, track: &mut Track) -> Leg {
        self.velocity = track.inwards(self.velocity);
        track.go(self.velocity, Span(u64::MAX))
    }
}
