//! Random waypoint, started in its steady state.
//!
//! A node goes to a point drawn from the whole area, rests, and goes to the next. Started naively, such nodes crowd in
//! the middle and slow down as the run goes on, since a slow leg lasts longer (Yoon, Liu, Noble: "Random waypoint
//! considered harmful", INFOCOM 2003). Here the first leg is drawn as it looks at a random moment of an endless run
//! (Navidi and Camp: "Stationary distributions for the random waypoint mobility model", IEEE TMC 3(1), 2004), so that
//! every moment looks like every other.

use std::sync::Arc;

use crate::distribution::Distribution;
use crate::geometry::{Leg, Point};
use crate::mobility::placement::anywhere;
use crate::mobility::track::Track;
use crate::random::Stream;
use crate::scenario::Area;
use crate::time::Span;

#[derive(Clone, Debug)]
pub(super) struct Waypoints {
    slowest: f64,
    fastest: f64,
    pause: Distribution,
    /// The share of time that nodes rest.
    resting: f64,
}

impl Waypoints {
    pub(super) fn new(area: Area, slowest: f64, fastest: f64, pause: Distribution) -> Self {
        let travel = mean_distance(area) * mean_slowness(slowest, fastest);
        let rest = pause.mean();
        let resting = if rest > 0.0 { rest / (rest + travel) } else { 0.0 };
        Self { slowest, fastest, pause, resting }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Waypoint {
    shared: Arc<Waypoints>,
    next: Next,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    /// The first leg only: the rest of a rest.
    Rest(Span),
    /// The first leg only: the rest of a journey.
    Arrive { destination: Point, speed: f64 },
    /// Choose where to go.
    Depart,
    /// Choose how long to rest.
    Pause,
}

impl Waypoint {
    pub(super) fn new(shared: Arc<Waypoints>, track: &mut Track) -> Self {
        let Waypoints { slowest, fastest, ref pause, resting } = *shared;
        let (area, stream) = (track.area, &mut track.stream);
        let next = if stream.happens(resting) {
            let whole = weighted_by_itself(pause, stream);
            Next::Rest(Span::from_seconds(whole * stream.unit()))
        } else {
            // Long journeys are met more often, and every part of them as often.
            let (from, destination) = journey(area, stream);
            track.at = from + (destination - from) * stream.unit();
            // Slow ones too: the density of a speed is as its inverse.
            let speed = slowest * libm::exp(stream.unit() * libm::log(fastest / slowest));
            Next::Arrive { destination, speed: speed.clamp(slowest, fastest) }
        };
        Self { shared, next }
    }

    pub(super) fn next_leg(&mut self, track: &mut Track) -> Leg {
        match self.next {
            Next::Rest(span) => {
                self.next = Next::Depart;
                track.rest(span)
            }
            Next::Arrive { destination, speed } => {
                self.next = Next::Pause;
                track.go_to(destination, speed)
            }
            Next::Depart => self.depart(track),
            Next::Pause => match self.shared.pause.draw_span(&mut track.stream) {
                Span::ZERO => self.depart(track),
                span => {
                    self.next = Next::Depart;
                    track.rest(span)
                }
            },
        }
    }

    fn depart(&mut self, track: &mut Track) -> Leg {
        let destination = anywhere(track.area, &mut track.stream);
        let speed = track.stream.between(self.shared.slowest, self.shared.fastest);
        self.next = Next::Pause;
        track.go_to(destination, speed)
    }
}

/// Two points of the area, each pair as likely as it is far apart.
fn journey(area: Area, stream: &mut Stream) -> (Point, Point) {
    let diagonal = Point::new(area.width, area.height).length();
    loop {
        // About every second pair of a square is taken; no area makes it rarer than every third.
        let pair = (anywhere(area, stream), anywhere(area, stream));
        if stream.happens((pair.1 - pair.0).length() / diagonal) {
            return pair;
        }
    }
}

/// A value as it is met at a random moment: as often as drawn, times how long it lasts.
fn weighted_by_itself(distribution: &Distribution, stream: &mut Stream) -> f64 {
    match distribution {
        Distribution::Constant(value) => *value,
        Distribution::Uniform { low, high } => libm::sqrt(stream.between(low * low, high * high)),
        Distribution::Exponential { mean } => stream.exponential(*mean) + stream.exponential(*mean),
        Distribution::LogNormal { median, sigma } => {
            median * libm::exp(sigma * sigma) * libm::exp(sigma * stream.normal())
        }
        Distribution::Choice(values) => {
            let weighted = values.iter().map(|(value, weight)| (*value, value * weight)).collect();
            Distribution::Choice(weighted).draw(stream)
        }
    }
}

/// The mean distance of two points of a rectangle (a classic of geometric probability).
fn mean_distance(area: Area) -> f64 {
    let (long, short) = (area.width.max(area.height), area.width.min(area.height));
    let ratio = short / long;
    if ratio < 1e-3 {
        return long / 3.0; // a line, to six digits; the formula below would lose them to cancellation
    }
    let diagonal = libm::sqrt(1.0 + ratio * ratio);
    let squared = ratio * ratio;
    let powers = 1.0 / squared + squared * ratio + diagonal * (3.0 - 1.0 / squared - squared);
    let logarithms = squared * libm::log((1.0 + diagonal) / ratio) + libm::log(ratio + diagonal) / ratio;
    long * (powers + 2.5 * logarithms) / 15.0
}

/// The mean of the inverse of a speed, in seconds per metre.
fn mean_slowness(slowest: f64, fastest: f64) -> f64 {
    let spread = (fastest - slowest) / slowest;
    if spread < 1e-6 { 1.0 / slowest } else { libm::log1p(spread) / (fastest - slowest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Streams};

    fn stream() -> Stream {
        Streams::new(11).stream(Purpose::Mobility, 0)
    }

    #[test]
    fn the_mean_distance_is_that_of_drawn_pairs() {
        for (width, height) in [(1.0, 1.0), (600.0, 200.0), (10.0, 1000.0), (1.0, 5000.0)] {
            let area = Area { width, height };
            let mut stream = stream();
            let mut pair = || (anywhere(area, &mut stream) - anywhere(area, &mut stream)).length();
            let drawn = (0..100_000).map(|_| pair()).sum::<f64>() / 100_000.0;
            assert!((mean_distance(area) / drawn - 1.0).abs() < 0.01, "{area:?}: {drawn}");
        }
        assert!((mean_distance(Area { width: 1.0, height: 1.0 }) - 0.521_405_433).abs() < 1e-9);
    }

    #[test]
    fn the_mean_slowness_is_that_of_drawn_speeds() {
        let mut stream = stream();
        let drawn = (0..100_000).map(|_| 1.0 / stream.between(0.5, 20.0)).sum::<f64>() / 100_000.0;
        assert!((mean_slowness(0.5, 20.0) / drawn - 1.0).abs() < 0.02, "{drawn}");
        assert_eq!(mean_slowness(4.0, 4.0), 0.25);
    }

    /// The mean of a value weighted by itself is the mean square divided by the mean.
    #[test]
    fn what_is_met_at_a_random_moment_is_longer_than_what_is_drawn() {
        let all = [
            Distribution::Constant(3.0),
            Distribution::Uniform { low: 1.0, high: 4.0 },
            Distribution::Exponential { mean: 2.0 },
            Distribution::LogNormal { median: 1.0, sigma: 0.3 },
            Distribution::Choice(vec![(1.0, 3.0), (5.0, 1.0)]),
        ];
        for distribution in all {
            let mut stream = stream();
            let squares = (0..200_000).map(|_| distribution.draw(&mut stream)).map(|value| value * value);
            let expected = squares.sum::<f64>() / 200_000.0 / distribution.mean();
            let met = (0..200_000).map(|_| weighted_by_itself(&distribution, &mut stream)).sum::<f64>() / 200_000.0;
            assert!((met / expected - 1.0).abs() < 0.02, "{distribution:?}: {met} and not {expected}");
        }
    }
}
