//! Gauss-Markov: speed and direction change a little every step and are drawn back to their means.
//!
//! Liang and Haas: "Predictive distance-based mobility management for PCS networks", INFOCOM 1999; steered away from the
//! border as in Camp, Boleng, Davies: "A survey of mobility models for ad hoc network research", WCMC 2002. With a
//! memory of 0 every step is drawn anew around the node's course; with 1 nothing changes between borders.

use std::f64::consts::TAU;
use std::sync::Arc;

use crate::geometry::{Leg, Point, Velocity};
use crate::mobility::track::{LIGHT, Track, towards};
use crate::mobility::walk::mirror;
use crate::scenario::Area;
use crate::time::Span;

/// How far from the border nodes begin to turn: this share of the shorter side.
const MARGIN: f64 = 0.1;

#[derive(Clone, Debug)]
pub(super) struct Habits {
    step: Span,
    memory: f64,
    speed: f64,
    speed_deviation: f64,
    direction_deviation: f64,
    /// What is new in every step, so that the deviation stays what it is.
    fresh: f64,
    /// In metres.
    margin: f64,
}

impl Habits {
    pub(super) fn new(
        area: Area,
        step: Span,
        memory: f64,
        speed: f64,
        speed_deviation: f64,
        direction_deviation: f64,
    ) -> Self {
        let fresh = libm::sqrt(1.0 - memory * memory);
        let margin = MARGIN * area.width.min(area.height);
        Self { step, memory, speed, speed_deviation, direction_deviation, fresh, margin }
    }
}

#[derive(Clone, Debug)]
pub(super) struct GaussMarkov {
    habits: Arc<Habits>,
    /// Above the mean speed. The sum may be negative: then the node stands.
    surplus: f64,
    /// The mean direction, an angle.
    course: f64,
    /// How far the node is off its course, an angle.
    swerve: f64,
    velocity: Velocity,
    /// Of the step. A leg may end earlier, at the border.
    left: Span,
}

impl GaussMarkov {
    /// Starts in the steady state.
    pub(super) fn new(habits: Arc<Habits>, track: &mut Track) -> Self {
        let course = track.stream.between(0.0, TAU);
        let surplus = habits.speed_deviation * track.stream.normal();
        let swerve = habits.direction_deviation * track.stream.normal();
        let mut node = Self { left: habits.step, habits, surplus, course, swerve, velocity: Point::default() };
        node.steer(track);
        node
    }

    pub(super) fn next_leg(&mut self, track: &mut Track) -> Leg {
        if self.left == Span::ZERO {
            let Habits { memory, fresh, speed_deviation, direction_deviation, .. } = *self.habits;
            self.surplus = memory * self.surplus + fresh * speed_deviation * track.stream.normal();
            self.swerve = memory * self.swerve + fresh * direction_deviation * track.stream.normal();
            self.left = self.habits.step;
            self.steer(track);
        }
        let mirrored = track.inwards(self.velocity);
        if mirrored != self.velocity {
            self.course = mirror(self.course, self.velocity, mirrored);
            // A mirror on one side turns left into right; on both sides, in a corner, it does so twice.
            if (mirrored.x == self.velocity.x) != (mirrored.y == self.velocity.y) {
                self.swerve = -self.swerve;
            }
            self.velocity = mirrored;
        }
        let leg = track.go(self.velocity, self.left);
        self.left.0 = self.left.0.saturating_sub(leg.end.since(leg.start).0);
        leg
    }

    /// Sets the velocity; near the border the course is set inwards first, while the node keeps looking where it does.
    fn steer(&mut self, track: &Track) {
        let inside = |at: f64, size: f64| match () {
            () if at < self.habits.margin => 1.0,
            () if at > size - self.habits.margin => -1.0,
            () => 0.0,
        };
        let inwards = Point::new(inside(track.at.x, track.area.width), inside(track.at.y, track.area.height));
        if inwards != Point::default() {
            let heading = self.course + self.swerve;
            self.course = libm::atan2(inwards.y, inwards.x);
            self.swerve = libm::remainder(heading - self.course, TAU);
        }
        let speed = (self.habits.speed + self.surplus).clamp(0.0, LIGHT);
        self.velocity = towards(self.course + self.swerve) * speed;
    }
}
