//! Distributions of times, amounts and urgencies.

use crate::random::Stream;
use crate::time::Span;

/// A distribution of numbers, in seconds, metres or plain, as its place says.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    Constant(f64),
    /// Every value from `low` to `high` is as likely; whole numbers include both ends.
    Uniform {
        low: f64,
        high: f64,
    },
    /// Memoryless, with this mean.
    Exponential {
        mean: f64,
    },
    /// The logarithm is normal.
    LogNormal {
        /// Half of the values are below it.
        median: f64,
        /// The deviation of the logarithm.
        sigma: f64,
    },
    /// One of some values, each with its weight (greater than zero).
    Choice(Vec<(f64, f64)>),
}

impl Distribution {
    /// Draws a number. Takes at most two numbers from the stream.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform { low, high } => stream.between(*low, *high),
            Self::Exponential { mean } => stream.exponential(*mean),
            Self::LogNormal { median, sigma } => median * libm::exp(sigma * stream.normal()),
            Self::Choice(values) => choose(values, stream.unit()),
        }
    }

    pub fn draw_whole(&self, stream: &mut Stream) -> i64 {
        match self {
            Self::Uniform { low, high } => {
                let (low, high) = (low.ceil() as i64, high.floor() as i64);
                low + stream.below(u64::try_from(high - low + 1).unwrap_or(0)) as i64
            }
            Self::Constant(_) | Self::Exponential { .. } | Self::LogNormal { .. } | Self::Choice(_) => {
                self.draw(stream).round() as i64
            }
        }
    }

    /// Draws a length of time from a distribution of seconds.
    pub fn draw_span(&self, stream: &mut Stream) -> Span {
        Span::from_seconds(self.draw(stream))
    }

    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform { low, high } => f64::midpoint(*low, *high),
            Self::Exponential { mean } => *mean,
            Self::LogNormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Self::Choice(values) => {
                let total: f64 = values.iter().map(|(_, weight)| weight).sum();
                values.iter().map(|(value, weight)| value * weight).sum::<f64>() / total
            }
        }
    }

    /// The least and the greatest value that can be drawn.
    pub fn range(&self) -> (f64, f64) {
        match self {
            Self::Constant(value) => (*value, *value),
            Self::Uniform { low, high } => (*low, *high),
            Self::Exponential { .. } | Self::LogNormal { .. } => (0.0, f64::INFINITY),
            Self::Choice(values) => {
                values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (value, _)| {
                    (low.min(*value), high.max(*value))
                })
            }
        }
    }
}

fn choose(values: &[(f64, f64)], unit: f64) -> f64 {
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut left = unit * total;
    for (value, weight) in values {
        left -= weight;
        if left < 0.0 {
            return *value;
        }
    }
    values.last().map_or(0.0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Streams};

    fn mean_of(distribution: &Distribution, mut draw: impl FnMut(&Distribution, &mut Stream) -> f64) -> f64 {
        let mut stream = Streams::new(5).stream(Purpose::Traffic, 0);
        (0..100_000).map(|_| draw(distribution, &mut stream)).sum::<f64>() / 100_000.0
    }

    #[test]
    fn what_is_drawn_has_the_stated_mean() {
        let all = [
            Distribution::Constant(3.0),
            Distribution::Uniform { low: 1.0, high: 2.0 },
            Distribution::Exponential { mean: 0.5 },
            Distribution::LogNormal { median: 1.0, sigma: 0.5 },
            Distribution::Choice(vec![(1.0, 9.0), (3.0, 1.0)]),
        ];
        for distribution in all {
            let found = mean_of(&distribution, Distribution::draw);
            assert!((found / distribution.mean() - 1.0).abs() < 0.02, "{distribution:?}: {found}");
        }
    }

    #[test]
    fn whole_numbers_include_both_ends() {
        let die = Distribution::Uniform { low: 1.0, high: 6.0 };
        let found = mean_of(&die, |die, stream| {
            let eyes = die.draw_whole(stream);
            assert!((1..=6).contains(&eyes));
            eyes as f64
        });
        assert!((found - 3.5).abs() < 0.03, "{found}");
    }
}
