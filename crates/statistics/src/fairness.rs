//! How evenly something is shared.

/// The index of Jain, Chiu and Hawe (1984): 1 if all shares are equal, 1/n if one of n has everything.
///
/// `NaN` without shares, if all are zero, or if one is negative or not finite.
pub fn jain(shares: &[f64]) -> f64 {
    if shares.iter().any(|share| !share.is_finite() || *share < 0.0) {
        return f64::NAN;
    }
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_shares_are_fair_and_one_taker_is_not() {
        assert_eq!(jain(&[3.0; 7]), 1.0);
        assert_eq!(jain(&[0.0, 5.0, 0.0, 0.0]), 0.25);
        // By hand: (1 + 2 + 3)^2 / (3 * 14).
        assert!((jain(&[1.0, 2.0, 3.0]) - 36.0 / 42.0).abs() < 1e-15);
    }

    #[test]
    fn nothing_is_not_shared() {
        for shares in [&[][..], &[0.0, 0.0], &[1.0, -1.0], &[1.0, f64::NAN], &[f64::INFINITY]] {
            assert!(jain(shares).is_nan(), "{shares:?}");
        }
    }
}
