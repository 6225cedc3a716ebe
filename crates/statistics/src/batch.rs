//! Batch means: an interval from one long run, whose samples depend on each other.

use crate::estimate::Estimate;

/// What the batches of one long run tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchMeans {
    /// The mean of the batch means, with an interval that takes them for independent.
    pub estimate: Estimate,
    /// The correlation of each batch with the next, from -1 to 1. Well above zero, the batches are too short and the
    /// interval is too. Zero if they do not vary, `NaN` if nothing is known of them.
    pub correlation: f64,
}

/// Cuts a series into so many batches of equal length. What does not fill them is left out at the beginning, where a
/// warm-up would be.
///
/// With fewer samples than batches, no batch, or a sample that is not finite, nothing is known: see [`Estimate::of`].
pub fn batch_means(series: &[f64], batches: usize, confidence: f64) -> BatchMeans {
    let length = series.len().checked_div(batches).unwrap_or(0);
    let means: Vec<f64> = if length == 0 {
        Vec::new()
    } else {
        let used = &series[series.len() - length * batches..];
        used.chunks_exact(length).map(|batch| batch.iter().sum::<f64>() / length as f64).collect()
    };
    let estimate = Estimate::of(&means, confidence);
    BatchMeans { estimate, correlation: correlation(&means, estimate.mean) }
}

fn correlation(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if mean.is_nan() {
        f64::NAN
    } else if squares == 0.0 {
        0.0
    } else {
        products / squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_cut_from_the_end() {
        let found = batch_means(&[100.0, 1.0, 3.0, 4.0, 6.0, 2.0, 2.0], 3, 0.95);
        assert_eq!(found.estimate, Estimate::of(&[2.0, 5.0, 2.0], 0.95));
    }

    #[test]
    fn neighbours_that_resemble_each_other_are_told() {
        // By hand: deviations -2 -1 0 1 2, products 2 + 0 + 0 + 2 over squares 10.
        let rising = batch_means(&[1.0, 2.0, 3.0, 4.0, 5.0], 5, 0.95);
        assert!((rising.correlation - 0.4).abs() < 1e-15);
        // Deviations of 1 with alternating sign: -3 over 4.
        assert!((batch_means(&[1.0, 3.0, 1.0, 3.0], 4, 0.95).correlation + 0.75).abs() < 1e-15);
        assert_eq!(batch_means(&[2.0; 30], 10, 0.95).correlation, 0.0);
    }

    #[test]
    fn nothing_is_known_of_nothing() {
        for (series, batches) in [(&[][..], 10), (&[1.0, 2.0][..], 3), (&[1.0][..], 0), (&[1.0, f64::NAN][..], 2)] {
            let found = batch_means(series, batches, 0.95);
            assert!(found.estimate.mean.is_nan() && found.correlation.is_nan(), "{found:?}");
        }
    }
}
