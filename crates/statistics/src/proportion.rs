//! How often something happens, with an interval that also holds for none and for all.

use crate::student::normal_quantile;

/// A share of trials, with the interval of Wilson (1927).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proportion {
    /// Successes by trials; `NaN` without trials.
    pub share: f64,
    pub low: f64,
    pub high: f64,
}

/// The share of successes among independent trials. More successes than trials count as all of them.
///
/// Without trials, or for a confidence that is not strictly between 0 and 1, the interval is 0 to 1.
///
/// ```
/// let never = meshlock_statistics::proportion(0, 100, 0.95);
/// assert!(never.low == 0.0 && never.high < 0.04); // a hundred quiet runs do not prove much more
/// ```
pub fn proportion(successes: u64, trials: u64, confidence: f64) -> Proportion {
    let share = successes.min(trials) as f64 / trials as f64;
    let z = if confidence > 0.0 { normal_quantile(f64::midpoint(1.0, confidence)) } else { f64::NAN };
    if trials == 0 || z.is_nan() {
        return Proportion { share, low: 0.0, high: 1.0 };
    }
    let count = trials as f64;
    let weight = z * z / count;
    let centre = (share + weight / 2.0) / (1.0 + weight);
    let reach = z / (1.0 + weight) * (share * (1.0 - share) / count + weight / (4.0 * count)).sqrt();
    // At the ends the formula gives exactly 0 and 1, up to rounding.
    let low = if successes == 0 { 0.0 } else { centre - reach };
    let high = if successes >= trials { 1.0 } else { centre + reach };
    Proportion { share, low, high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        // Newcombe (1998), table I: method 3 for 81 of 263, 15 of 148, 0 of 20 and 1 of 29.
        let published =
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)];
        for (successes, trials, low, high) in published {
            let found = proportion(successes, trials, 0.95);
            assert!((found.low - low).abs() < 0.000_05 && (found.high - high).abs() < 0.000_05, "{found:?}");
        }
    }

    #[test]
    fn the_ends_are_exact() {
        assert_eq!(proportion(7, 7, 0.95).high, 1.0);
        assert_eq!(proportion(9, 7, 0.95), proportion(7, 7, 0.95));
        let nothing = proportion(0, 0, 0.95);
        assert!(nothing.share.is_nan() && (nothing.low, nothing.high) == (0.0, 1.0));
        let sure = proportion(1, 2, 1.0);
        assert_eq!((sure.share, sure.low, sure.high), (0.5, 0.0, 1.0));
    }
}
