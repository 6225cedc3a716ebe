//! Where a node is, and the three things it can do there: rest, go straight, turn back at the border.
//!
//! All models move by these, so what must hold of every leg is ensured in one place: it takes at least a nanosecond,
//! it follows the one before without a gap, and it does not leave the area.

use crate::distribution::Distribution;
use crate::geometry::{Leg, Point, Velocity};
use crate::random::Stream;
use crate::scenario::Area;
use crate::time::{Span, Time};

/// In metres per second. Nothing is faster, so a leg of one nanosecond, the shortest there is, stays within a foot.
pub(super) const LIGHT: f64 = 299_792_458.0;

/// Where a node is between two legs, and what it draws from.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) stream: Stream,
    pub(super) area: Area,
    pub(super) at: Point,
    pub(super) now: Time,
}

impl Track {
    pub(super) const fn new(stream: Stream, area: Area, at: Point) -> Self {
        Self { stream, area, at, now: Time::ZERO }
    }

    pub(super) fn rest(&mut self, span: Span) -> Leg {
        let start = self.now;
        self.now = start + Span(span.0.max(1));
        Leg::rest(self.at, start, self.now)
    }

    /// Goes straight until the border or the time given, whichever comes first. At the border the node stands exactly
    /// on it; the leg ends up to a nanosecond before that. A node on the border must not head outwards: see
    /// [`Self::inwards`].
    pub(super) fn go(&mut self, velocity: Velocity, most: Span) -> Leg {
        if velocity == Point::default() {
            return self.rest(most);
        }
        let (start, from) = (self.now, self.at);
        let across = time_to_border(from.x, velocity.x, self.area.width);
        let along = time_to_border(from.y, velocity.y, self.area.height);
        let span = Span(across.min(along).min(most.0).max(1));
        let there = |from: f64, velocity: f64, size: f64, border: u64| match border <= span.0 {
            true if velocity > 0.0 => size,
            true => 0.0,
            false => (from + velocity * span.seconds()).clamp(0.0, size),
        };
        self.at.x = there(from.x, velocity.x, self.area.width, across);
        self.at.y = there(from.y, velocity.y, self.area.height, along);
        self.now = start + span;
        Leg { start, end: self.now, from, velocity, present: true }
    }

    /// Goes straight to a point of the area.
    pub(super) fn go_to(&mut self, destination: Point, speed: f64) -> Leg {
        let (start, from) = (self.now, self.at);
        let way = destination - from;
        let span = Span(Span::from_seconds(way.length() / speed).0.max(1));
        self.at = destination;
        self.now = start + span;
        Leg { start, end: self.now, from, velocity: way * (1.0 / span.seconds()), present: true }
    }

    /// The velocity, reflected where it would leave the area.
    pub(super) fn inwards(&self, velocity: Velocity) -> Velocity {
        let turn = |at: f64, velocity: f64, size: f64| match () {
            () if at <= 0.0 => velocity.abs(),
            () if at >= size => -velocity.abs(),
            () => velocity,
        };
        let Area { width, height } = self.area;
        Point::new(turn(self.at.x, velocity.x, width), turn(self.at.y, velocity.y, height))
    }

    /// A speed in any direction, but not out of the area.
    pub(super) fn anywhere(&mut self, speed: &Distribution) -> Velocity {
        let speed = self.speed(speed);
        let heading = self.heading();
        self.inwards(heading * speed)
    }

    /// A speed that is drawn, but not faster than light.
    pub(super) fn speed(&mut self, speed: &Distribution) -> f64 {
        speed.draw(&mut self.stream).min(LIGHT)
    }

    /// One of all directions.
    pub(super) fn heading(&mut self) -> Velocity {
        let angle = self.stream.between(0.0, core::f64::consts::TAU);
        towards(angle)
    }
}

/// The displacement of one metre in this direction, counted from the east against the clock.
pub(super) fn towards(angle: f64) -> Velocity {
    Point::new(libm::cos(angle), libm::sin(angle))
}

/// In whole nanoseconds, rounded down so that the border is not passed.
fn time_to_border(at: f64, velocity: f64, size: f64) -> u64 {
    let distance = match () {
        () if velocity > 0.0 => size - at,
        () if velocity < 0.0 => at,
        () => return u64::MAX,
    };
    // `as` saturates at the greatest number, which means never.
    (distance / velocity.abs() * 1e9) as u64
}
