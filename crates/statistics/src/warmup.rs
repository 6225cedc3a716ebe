//! MSER-5: how much of the beginning of a run must go, so that its mean is not biased by an empty start.
//!
//! White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997: of all
//! ways to cut off the beginning, take the one for which the standard error of what is left is least. The 5 are
//! samples averaged into one, which makes the choice less nervous.

/// Samples averaged into one.
const BATCH: usize = 5;
/// Batches that are never cut off: the error of a handful is small by chance, that of a single one is always zero.
const KEPT: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// How many samples at the beginning must go.
    pub samples: usize,
    /// Whether the run is long enough to say so: there are at least ten batches, and at most half of them go. If not,
    /// the run should be longer.
    pub reliable: bool,
}

/// How many samples at the beginning of a series must go.
///
/// Samples that do not fill the last batch are not looked at. For a series that is too short (fewer than ten batches of
/// five) or has a sample that is not finite, nothing goes and the answer is not reliable.
pub fn mser5(series: &[f64]) -> Truncation {
    let means: Vec<f64> = series.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if means.len() < 2 * KEPT || means.iter().any(|mean| !mean.is_finite()) {
        return Truncation { samples: 0, reliable: false };
    }
    // From the back, so that one pass has the mean and the squared deviations of every tail.
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, value) in means.iter().enumerate().rev() {
        let count = (means.len() - cut) as f64;
        let step = value - mean;
        mean += step / count;
        squares += step * (value - mean);
        let error = squares / (count * count);
        // `<=`: of equals the earliest cut wins.
        if means.len() - cut >= KEPT && error <= best.0 {
            best = (error, cut);
        }
    }
    Truncation { samples: best.1 * BATCH, reliable: best.1 <= means.len() / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each batch five equal samples.
    fn series(means: &[f64]) -> Vec<f64> {
        means.iter().flat_map(|mean| [*mean; BATCH]).collect()
    }

    #[test]
    fn a_start_that_differs_goes() {
        // By hand, squared deviations over squared counts. Cut 1: mean 25/11, squares 10 + 9 * 10/11, over 121: 0.150.
        // Cut 2: ten batches around 2, each off by 1: 10/100 = 0.1, the least. Cut 3: squares 80/9 over 81: 0.110.
        // Cut 7, the last: 4.8/25 = 0.192.
        let alternating = [9.0, 5.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0];
        assert_eq!(mser5(&series(&alternating)), Truncation { samples: 10, reliable: true });
    }

    #[test]
    fn the_mean_of_five_counts_not_the_single_sample() {
        let mut samples = series(&[2.0; 20]);
        samples[..5].copy_from_slice(&[0.0, 4.0, 0.0, 4.0, 2.0]);
        assert_eq!(mser5(&samples), Truncation { samples: 0, reliable: true });
    }

    #[test]
    fn a_steady_series_stays_whole() {
        assert_eq!(mser5(&[1.0; 100]), Truncation { samples: 0, reliable: true });
    }

    #[test]
    fn a_series_that_never_settles_is_not_reliable() {
        let rising: Vec<f64> = (0..200).map(|i| f64::from(i) * f64::from(i)).collect();
        let found = mser5(&rising);
        assert!(found.samples <= 175 && found.samples > 100 && !found.reliable, "{found:?}");
    }

    #[test]
    fn short_or_spoiled_series_stay_whole_and_are_not_reliable() {
        let nothing = Truncation { samples: 0, reliable: false };
        assert_eq!(mser5(&[]), nothing);
        assert_eq!(mser5(&[3.0; 49]), nothing);
        let mut spoiled = vec![1.0; 100];
        spoiled[50] = f64::NAN;
        assert_eq!(mser5(&spoiled), nothing);
    }

    #[test]
    fn one_pass_finds_what_the_definition_finds() {
        // A decaying start with a deterministic wobble.
        let samples: Vec<f64> = (0..503_u32)
            .map(|i| 40.0 / f64::from(i + 1) + f64::from(i.wrapping_mul(2_654_435_761) >> 16) / 65_536.0)
            .collect();
        let means: Vec<f64> = samples.chunks_exact(5).map(|batch| batch.iter().sum::<f64>() / 5.0).collect();
        let error = |cut: usize| {
            let tail = &means[cut..];
            let mean = tail.iter().sum::<f64>() / tail.len() as f64;
            tail.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (tail.len() * tail.len()) as f64
        };
        let best = (0..=means.len() - 5).min_by(|a, b| error(*a).total_cmp(&error(*b))).unwrap();
        assert!(best > 0);
        assert_eq!(mser5(&samples), Truncation { samples: 5 * best, reliable: true });
    }
}
