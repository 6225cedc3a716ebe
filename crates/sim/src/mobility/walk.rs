//! Restricted random walk: each leg takes a drawn time, in a direction near the last one, reflected at the border.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use crate::distribution::Distribution;
use crate::geometry::{Leg, Point, Velocity};
use crate::mobility::track::{Track, towards};
use crate::time::Span;

#[derive(Clone, Debug)]
pub(super) struct Manner {
    pub(super) speed: Distribution,
    /// How long a node keeps its direction.
    pub(super) leg: Distribution,
    /// How far it may turn, in radians.
    pub(super) turn: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Walk {
    manner: Arc<Manner>,
    /// An angle.
    heading: f64,
    velocity: Velocity,
    /// How long the node keeps it. A leg may end earlier, at the border.
    left: Span,
}

impl Walk {
    pub(super) fn new(manner: Arc<Manner>, track: &mut Track) -> Self {
        let heading = track.stream.between(0.0, TAU);
        Self { manner, heading, velocity: Point::default(), left: Span::ZERO }
    }

    pub(super) fn next_leg(&mut self, track: &mut Track) -> Leg {
        if self.left == Span::ZERO {
            let Manner { speed, leg, turn } = &*self.manner;
            self.heading += track.stream.between(-turn, *turn);
            self.velocity = towards(self.heading) * track.speed(speed);
            self.left = Span(leg.draw_span(&mut track.stream).0.max(1));
        }
        let mirrored = track.inwards(self.velocity);
        self.heading = mirror(self.heading, self.velocity, mirrored);
        self.velocity = mirrored;
        let leg = track.go(self.velocity, self.left);
        self.left.0 = self.left.0.saturating_sub(leg.end.since(leg.start).0);
        leg
    }
}

/// The angle after a reflection. It is kept apart from the velocity, because a node of speed zero looks somewhere too.
pub(super) fn mirror(heading: f64, before: Velocity, after: Velocity) -> f64 {
    let across = if before.x == after.x { heading } else { PI - heading };
    let along = if before.y == after.y { across } else { -across };
    libm::remainder(along, TAU)
}
