//! Random direction: straight to the border, rest there, go on in a new direction at a new speed.
//!
//! Royer, Melliar-Smith, Moser: "An analysis of the optimum node density for ad hoc mobile networks", ICC 2001.

use std::sync::Arc;

use crate::distribution::Distribution;
use crate::geometry::{Leg, Velocity};
use crate::mobility::track::Track;
use crate::time::Span;

#[derive(Clone, Debug)]
pub(super) struct Direction {
    /// Speed and pause.
    shared: Arc<(Distribution, Distribution)>,
    /// Of the next leg, if that is to start now: the node has rested.
    ready: Option<Velocity>,
}

impl Direction {
    pub(super) fn new(shared: Arc<(Distribution, Distribution)>, track: &mut Track) -> Self {
        let ready = Some(track.anywhere(&shared.0));
        Self { shared, ready }
    }

    /// A node that draws a speed of zero never moves again.
    pub(super) fn next_leg(&mut self, track: &mut Track) -> Leg {
        let (speed, pause) = &*self.shared;
        if let Some(velocity) = self.ready.take() {
            return track.go(velocity, Span(u64::MAX));
        }
        let pause = pause.draw_span(&mut track.stream);
        let velocity = track.anywhere(speed);
        if pause == Span::ZERO {
            return track.go(velocity, Span(u64::MAX));
        }
        self.ready = Some(velocity);
        track.rest(pause)
    }
}
