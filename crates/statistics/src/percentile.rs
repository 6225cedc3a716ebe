//! Percentiles: waiting times are skewed, and a mean alone hides starvation.

/// The value that a share of the samples stays below, such as 0.95: linear between neighbours, the same as the usual
/// default of R, NumPy and spreadsheets ("type 7" of Hyndman and Fan).
///
/// `NaN` without samples, if a sample is not finite, or if `share` is not in 0 to 1.
pub fn percentile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    percentile_of_sorted(&sorted, share)
}

/// The same for samples that are sorted by [`f64::total_cmp`] already.
pub fn percentile_of_sorted(sorted: &[f64], share: f64) -> f64 {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return f64::NAN;
    };
    // What is not finite sorts to the ends.
    if !first.is_finite() || !last.is_finite() || !(0.0..=1.0).contains(&share) {
        return f64::NAN;
    }
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor();
    let low = sorted[below as usize];
    let high = sorted.get(below as usize + 1).unwrap_or(last);
    low + (high - low) * (place - below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_neighbours() {
        let samples = [15.0, 20.0, 35.0, 40.0, 50.0];
        assert_eq!(percentile(&samples, 0.0), 15.0);
        assert_eq!(percentile(&samples, 0.5), 35.0);
        assert!((percentile(&samples, 0.4) - 29.0).abs() < 1e-12, "the textbook example for inclusive percentiles");
        assert_eq!(percentile(&samples, 1.0), 50.0);
        assert_eq!(percentile(&[4.0, 1.0, 3.0, 2.0], 0.75), 3.25);
        assert_eq!(percentile(&[7.0], 0.99), 7.0);
    }

    #[test]
    fn what_is_not_there_has_no_percentile() {
        assert!(percentile(&[], 0.5).is_nan());
        for bad in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(percentile(&[1.0, bad, 2.0], 0.5).is_nan());
        }
        for share in [-0.1, 1.1, f64::NAN] {
            assert!(percentile(&[1.0, 2.0], share).is_nan());
        }
    }
}
