//! Simulated time: integer nanoseconds, so that sums do not depend on their order.

use std::fmt;
use std::ops::{Add, Sub};

/// A moment, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

const NANOSECONDS: f64 = 1e9;

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than everything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// In seconds, for formulas and people.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOSECONDS
    }

    /// How long after `earlier` this is; zero if it is not.
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    pub const ZERO: Self = Self(0);

    /// So many seconds, rounded to the next nanosecond. What is negative or no number is zero; what is too long is the
    /// longest span there is.
    pub fn from_seconds(seconds: f64) -> Self {
        // `as` saturates, and turns what is no number into zero: exactly what is wanted.
        Self((seconds * NANOSECONDS).round() as u64)
    }

    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// In seconds, for formulas and people.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOSECONDS
    }
}

/// Stops at [`Time::NEVER`].
impl Add<Span> for Time {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// Stops at zero.
impl Sub<Span> for Time {
    type Output = Self;

    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// In seconds with all that is known of them: `12.345678901 s`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// In the largest unit that leaves a number above one: `1.9ms`, `60s`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = match self.0 {
            0 => ("s", 1_000_000_000),
            1..1_000 => ("ns", 1),
            1_000..1_000_000 => ("us", 1_000),
            1_000_000..1_000_000_000 => ("ms", 1_000_000),
            _ => ("s", 1_000_000_000),
        };
        let digits = format!("{}.{:09}", self.0 / size, (self.0 % size) * (1_000_000_000 / size));
        write!(f, "{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_shown_in_a_fitting_unit() {
        let shown = |ns| Span(ns).to_string();
        assert_eq!(shown(0), "0s");
        assert_eq!(shown(1_900_000), "1.9ms");
        assert_eq!(shown(60_000_000_000), "60s");
        assert_eq!(shown(300_000), "300us");
        assert_eq!(shown(1_000_000_001), "1.000000001s");
    }

    #[test]
    fn impossible_seconds_become_possible_spans() {
        assert_eq!(Span::from_seconds(-1.0), Span::ZERO);
        assert_eq!(Span::from_seconds(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_seconds(f64::INFINITY), Span(u64::MAX));
        assert_eq!(Span::from_seconds(0.0016), Span(1_600_000));
    }

    #[test]
    fn sums_stop_at_the_ends() {
        assert_eq!(Time::NEVER + Span(1), Time::NEVER);
        assert_eq!(Time(5) - Span(6), Time::ZERO);
        assert_eq!(Time(5).since(Time(7)), Span::ZERO);
    }
}
