//! Points, straight legs, and when two nodes come into reach of each other.

use std::ops::{Add, Mul, Sub};

use crate::time::{Span, Time};

/// A place, or a displacement, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// To the east.
    pub x: f64,
    /// To the north.
    pub y: f64,
}

/// Metres per second in both directions.
pub type Velocity = Point;

impl Point {
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    pub fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y
    }

    pub fn length(self) -> f64 {
        self.dot(self).sqrt()
    }
}

impl Add for Point {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y)
    }
}

impl Sub for Point {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y)
    }
}

impl Mul<f64> for Point {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self::new(self.x * factor, self.y * factor)
    }
}

/// A straight movement at constant speed, or a rest. The legs of a node follow each other without a gap in time; a
/// jump in space is a new leg that starts elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    pub start: Time,
    /// When the next one starts; [`Time::NEVER`] if this is the last.
    pub end: Time,
    pub from: Point,
    /// In metres per second.
    pub velocity: Velocity,
    /// Whether the node is there at all: a vehicle that has not appeared yet has no links.
    pub present: bool,
}

impl Leg {
    /// To stay here until `end`.
    pub const fn rest(at: Point, start: Time, end: Time) -> Self {
        Self { start, end, from: at, velocity: Point::new(0.0, 0.0), present: true }
    }

    /// The place at this moment, which should lie within the leg.
    pub fn position(&self, now: Time) -> Point {
        self.from + self.velocity * now.since(self.start).seconds()
    }
}

/// The next moment after `now` at which the distance of two nodes crosses `range`, if they keep their legs: `None` if
/// it does not before one of the legs ends. `linked` says on which side they are now, so that rounding cannot make a
/// crossing happen twice or never.
pub fn crossing(a: &Leg, b: &Leg, range: f64, linked: bool, now: Time) -> Option<Time> {
    let until = a.end.min(b.end);
    let apart = b.position(now) - a.position(now);
    let drift = b.velocity - a.velocity;
    // |apart + drift t| = range  <=>  speed2 t^2 + 2 closing t + gap = 0
    let speed2 = drift.dot(drift);
    let closing = apart.dot(drift);
    let gap = apart.dot(apart) - range * range;
    let seconds = match (linked, gap > 0.0) {
        (true, true) if closing >= 0.0 => 0.0,
        (false, false) if gap < 0.0 => 0.0,
        _ if speed2 == 0.0 => return None,
        (true, _) => leaving(speed2, closing, gap)?,
        (false, _) => arriving(speed2, closing, gap)?,
    };
    // Rounded up, so that at the event the pair is on the new side.
    let nanoseconds = (seconds * 1e9).ceil();
    let crossing = now + Span(nanoseconds as u64);
    (crossing < until).then_some(crossing)
}

/// The greater root: when the pair drifts out of range.
fn leaving(speed2: f64, closing: f64, gap: f64) -> Option<f64> {
    let discriminant = closing * closing - speed2 * gap;
    if discriminant < 0.0 {
        return Some(0.0); // out of range, and never in it: a rounding error that ends now
    }
    let root = discriminant.sqrt();
    // The form without cancellation.
    let seconds = if closing <= 0.0 { (root - closing) / speed2 } else { -gap / (closing + root) };
    Some(seconds.max(0.0))
}

/// The lesser root: when the pair drifts into range, if it does.
fn arriving(speed2: f64, closing: f64, gap: f64) -> Option<f64> {
    let discriminant = closing * closing - speed2 * gap;
    if closing >= 0.0 || discriminant <= 0.0 {
        return None;
    }
    Some((gap / (discriminant.sqrt() - closing)).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leg(x: f64, y: f64, vx: f64, vy: f64) -> Leg {
        Leg { start: Time::ZERO, end: Time::NEVER, from: Point::new(x, y), velocity: Point::new(vx, vy), present: true }
    }

    #[test]
    fn a_node_that_passes_by_comes_and_goes_at_the_exact_times() {
        let (still, passing) = (leg(0.0, 0.0, 0.0, 0.0), leg(-200.0, 60.0, 10.0, 0.0));
        let half = (100.0_f64 * 100.0 - 60.0 * 60.0).sqrt(); // 80 m
        let comes = crossing(&still, &passing, 100.0, false, Time::ZERO).unwrap();
        assert_eq!(comes, Time::ZERO + Span::from_seconds((200.0 - half) / 10.0));
        let goes = crossing(&still, &passing, 100.0, true, comes).unwrap();
        assert_eq!(goes, Time::ZERO + Span::from_seconds((200.0 + half) / 10.0));
        assert_eq!(crossing(&still, &passing, 100.0, false, goes), None);
    }

    #[test]
    fn nodes_that_do_not_move_against_each_other_never_cross() {
        let (a, b) = (leg(0.0, 0.0, 3.0, 1.0), leg(50.0, 0.0, 3.0, 1.0));
        assert_eq!(crossing(&a, &b, 100.0, true, Time::ZERO), None);
        assert_eq!(crossing(&a, &b, 20.0, false, Time::ZERO), None);
    }

    #[test]
    fn a_crossing_after_the_leg_is_not_told() {
        let (still, mut coming) = (leg(0.0, 0.0, 0.0, 0.0), leg(200.0, 0.0, -10.0, 0.0));
        coming.end = Time::ZERO + Span::from_seconds(9.0);
        assert_eq!(crossing(&still, &coming, 100.0, false, Time::ZERO), None);
        coming.end = Time::ZERO + Span::from_seconds(11.0);
        assert_eq!(crossing(&still, &coming, 100.0, false, Time::ZERO), Some(Time(10_000_000_000)));
    }

    #[test]
    fn a_pair_on_the_wrong_side_crosses_at_once() {
        let (a, b) = (leg(0.0, 0.0, 0.0, 0.0), leg(50.0, 0.0, 1.0, 0.0));
        assert_eq!(crossing(&a, &b, 100.0, false, Time(7)), Some(Time(7)));
        let gone = leg(150.0, 0.0, 1.0, 0.0);
        assert_eq!(crossing(&a, &gone, 100.0, true, Time(7)), Some(Time(7)));
    }

    #[test]
    fn crossings_alternate_on_random_legs() {
        use crate::random::{Purpose, Streams};
        let mut stream = Streams::new(1).stream(Purpose::Mobility, 0);
        for _ in 0..10_000 {
            let mut draw = || {
                leg(
                    stream.between(0.0, 300.0),
                    stream.between(0.0, 300.0),
                    stream.between(-9.0, 9.0),
                    stream.between(-9.0, 9.0),
                )
            };
            let (a, b) = (draw(), draw());
            let mut linked = (b.from - a.from).length() < 100.0;
            let (mut now, mut crossings) = (Time::ZERO, 0);
            while let Some(at) = crossing(&a, &b, 100.0, linked, now) {
                (now, linked, crossings) = (at, !linked, crossings + 1);
                let apart = (b.position(now) - a.position(now)).length();
                assert!((apart - 100.0).abs() < 1e-3, "{apart}");
            }
            assert!(crossings <= 2, "a straight pass crosses at most twice, not {crossings} times");
        }
    }
}
