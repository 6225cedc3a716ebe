//! Comparing two things on the same random numbers, and many such pairs at once.

use crate::estimate::Estimate;
use crate::student::two_sided_p;

/// One thing compared with another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The mean of the differences, first minus second, with its interval.
    pub difference: Estimate,
    /// How probable a difference at least as large is if there is none: the two-sided p value of the paired t test.
    pub p: f64,
}

/// Compares samples pair by pair: the i-th of both must come from the same random numbers, such as the same seed.
///
/// `None` if there are not as many of one as of the other. With fewer than two pairs p is 1, for nothing is known; if
/// no difference varies it is 1 or 0. It is `NaN` if a sample is not finite.
pub fn paired(first: &[f64], second: &[f64], confidence: f64) -> Option<Comparison> {
    if first.len() != second.len() {
        return None;
    }
    let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| first - second).collect();
    let difference = Estimate::of(&differences, confidence);
    let error = difference.deviation / (difference.samples as f64).sqrt();
    let finite = differences.iter().all(|difference| difference.is_finite());
    let p = if finite && (difference.samples < 2 || difference.mean == 0.0) {
        1.0
    } else {
        two_sided_p(difference.mean / error, difference.samples as f64 - 1.0)
    };
    Some(Comparison { difference, p })
}

/// Corrects p values for having looked at so many (Holm 1979): if all below 0.05 are believed, the probability that any
/// of them is wrong is at most 0.05. In the order of the input. `NaN` stays and still counts as a look.
///
/// ```
/// assert_eq!(meshlock_statistics::holm(&[0.01, 0.04]), [0.02, 0.04]);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b])); // NaN comes last
    let mut corrected = vec![f64::NAN; p_values.len()];
    let mut greatest = 0.0_f64;
    for (rank, place) in order.into_iter().enumerate() {
        let p = p_values[place];
        if !p.is_nan() {
            greatest = greatest.max((p * (p_values.len() - rank) as f64).min(1.0));
            corrected[place] = greatest;
        }
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_sharper_than_their_parts() {
        // Student's own data (1908): hours of sleep gained by ten patients with two drugs. t = -4.0621 with 9 degrees of
        // freedom, p = 0.002833, 95 % interval -2.4598858 to -0.7001142 (R's documentation of t.test has them too).
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = paired(&first, &second, 0.95).unwrap();
        assert!((found.difference.mean + 1.58).abs() < 1e-12);
        assert!((found.difference.low() + 2.459_885_8).abs() < 1e-6, "{found:?}");
        assert!((found.difference.high() + 0.700_114_2).abs() < 1e-6);
        assert!((found.p - 0.002_833).abs() < 1e-6);
    }

    #[test]
    fn pairs_that_say_nothing_have_defined_answers() {
        assert_eq!(paired(&[1.0], &[1.0, 2.0], 0.95), None);
        let p = |first: &[f64], second: &[f64]| paired(first, second, 0.95).unwrap().p;
        assert_eq!(p(&[], &[]), 1.0);
        assert_eq!(p(&[1.0], &[2.0]), 1.0);
        assert_eq!(p(&[1.0, 2.0], &[1.0, 2.0]), 1.0);
        assert_eq!(p(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]), 0.0);
        assert!(p(&[1.0, f64::NAN], &[1.0, 1.0]).is_nan());
    }

    #[test]
    fn holm_corrects_step_by_step() {
        // By hand: sorted 0.005 0.01 0.03 0.04 times 4 3 2 1 is 0.02 0.03 0.06 0.04; none may be below the one before.
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-15);
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
        let spoiled = holm(&[f64::NAN, 0.02]);
        assert!(spoiled[0].is_nan() && spoiled[1] == 0.04);
    }
}
