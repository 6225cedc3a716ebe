//! The median with its interval: for counts and waits that are mostly small and sometimes huge, where a mean ± t would
//! reach below zero.

use std::fmt;

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::percentile::percentile_of_sorted;

/// The median of independent samples and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    pub samples: usize,
    /// The middle one; `NaN` without samples, or if one is not finite.
    pub median: f64,
    /// The least median in the interval: one of the samples, or minus infinity if there are too few for the confidence.
    pub low: f64,
    pub high: f64,
}

impl Median {
    /// The median with an interval of at least this confidence.
    ///
    /// The interval is exact whatever the distribution: how many samples lie below the true median is binomial, so it is
    /// between two order statistics. 0.95 needs six samples.
    ///
    /// ```
    /// let stuck = meshlock_statistics::Median::of(&[0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 16.0, 90.0], 0.95);
    /// assert_eq!(stuck.to_string(), "1.5 (0 to 90)");
    /// ```
    pub fn of(samples: &[f64], confidence: f64) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = percentile_of_sorted(&sorted, 0.5);
        let (low, high) = match excluded(sorted.len(), confidence) {
            Some(outside) if !median.is_nan() => (sorted[outside], sorted[sorted.len() - 1 - outside]),
            Some(_) | None => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Self { samples: sorted.len(), median, low, high }
    }
}

/// How many of the sorted samples at each end lie outside of the interval; `None` if all together are too few.
fn excluded(samples: usize, confidence: f64) -> Option<usize> {
    let below = Binomial::new(0.5, samples as u64).ok()?;
    let tail = (1.0 - confidence) / 2.0;
    let fits = |outside: &usize| below.cdf(*outside as u64) <= tail;
    let possible = samples > 0 && confidence > 0.0 && confidence < 1.0;
    possible.then(|| (0..samples / 2).take_while(fits).last())?
}

/// As `1.5 (0 to 90)`; without the interval if there is none.
impl fmt::Display for Median {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, low, high, .. } = self;
        let precision = f.precision().unwrap_or(if median.fract() == 0.0 && low.fract() == 0.0 { 0 } else { 3 });
        let shown = |value: f64| {
            let text = format!("{value:.precision$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
        };
        if low.is_finite() && high.is_finite() {
            write!(f, "{} ({} to {})", shown(*median), shown(*low), shown(*high))
        } else {
            write!(f, "{}", shown(*median))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_has_the_ranks_of_the_tables() {
        // Two-sided 95 %: the ranks r and n - r + 1 of the usual tables for the sign test.
        for (samples, rank) in [(6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (15, 4), (20, 6), (25, 8), (30, 10), (50, 18)]
        {
            assert_eq!(excluded(samples, 0.95), Some(rank - 1), "{samples} samples");
        }
        let samples: Vec<f64> = (1..=20).map(f64::from).collect();
        let found = Median::of(&samples, 0.95);
        assert_eq!((found.samples, found.median, found.low, found.high), (20, 10.5, 6.0, 15.0));
    }

    #[test]
    fn it_stays_within_what_was_seen() {
        let skewed = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 5.0, 4_000.0];
        let found = Median::of(&skewed, 0.95);
        assert!(found.low >= 0.0 && found.median == 0.5 && found.high == 4_000.0, "{found:?}");
    }

    #[test]
    fn too_few_samples_have_no_interval() {
        let few = Median::of(&[3.0, 1.0, 2.0], 0.95);
        assert_eq!((few.median, few.low, few.high), (2.0, f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(few.to_string(), "2");
        let none = Median::of(&[], 0.95);
        assert!(none.median.is_nan() && none.low == f64::NEG_INFINITY);
        let spoiled = Median::of(&[1.0, f64::NAN, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95);
        assert!(spoiled.median.is_nan() && spoiled.high == f64::INFINITY);
        assert_eq!(Median::of(&[1.0; 9], 1.0).low, f64::NEG_INFINITY);
    }
}
