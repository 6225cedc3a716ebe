//! Student's t distribution: quantiles for intervals, tails for p values.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// From here on the incomplete beta function loses digits, and a short series around the normal quantile has more.
const MANY: f64 = 1_000.0;

/// The t that a share of the distribution stays below: `t_quantile(0.975, 9.0)` is 2.262.
///
/// `NaN` if `share` is not strictly between 0 and 1 or `freedom` is not above zero. Infinite freedom is the normal
/// distribution.
pub fn t_quantile(share: f64, freedom: f64) -> f64 {
    let possible = share > 0.0 && share < 1.0 && freedom > 0.0;
    if !possible {
        return f64::NAN;
    }
    if freedom >= MANY {
        return near_normal(share, freedom);
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(share))
}

/// How probable a value at least so far from zero is, on either side. `NaN` if `t` is no number or `freedom` is not
/// above zero.
pub fn two_sided_p(t: f64, freedom: f64) -> f64 {
    let possible = !t.is_nan() && freedom > 0.0;
    if !possible {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |distribution| (2.0 * distribution.sf(t.abs())).min(1.0))
}

/// The factor that turns a standard error into the half width of an interval; infinite where there is none.
pub(crate) fn interval_factor(confidence: f64, freedom: f64) -> f64 {
    let factor = t_quantile(f64::midpoint(1.0, confidence), freedom);
    if factor.is_nan() || confidence <= 0.0 { f64::INFINITY } else { factor }
}

/// The normal quantile; `NaN` if `share` is not strictly between 0 and 1.
pub(crate) fn normal_quantile(share: f64) -> f64 {
    if share > 0.0 && share < 1.0 { Normal::standard().inverse_cdf(share) } else { f64::NAN }
}

/// The first terms of the expansion of Cornish and Fisher (Abramowitz and Stegun, 26.7.5).
fn near_normal(share: f64, freedom: f64) -> f64 {
    let z = normal_quantile(share);
    let square = z * z;
    let first = z * (square + 1.0) / 4.0;
    let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    z + first / freedom + second / (freedom * freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (0.95, 1.0, 6.314),
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.975, 4.0, 2.776),
            (0.95, 9.0, 1.833),
            (0.975, 9.0, 2.262),
            (0.995, 9.0, 3.250),
            (0.9995, 5.0, 6.869),
            (0.975, 29.0, 2.045),
            (0.995, 29.0, 2.756),
            (0.975, 120.0, 1.980),
            (0.975, 1_000.0, 1.962),
            (0.975, f64::INFINITY, 1.960),
        ];
        for (share, freedom, expected) in table {
            let found = t_quantile(share, freedom);
            assert!((found - expected).abs() < 0.0005, "{share} {freedom}: {found}");
            assert!((t_quantile(1.0 - share, freedom) + found).abs() < 1e-8, "the distribution is symmetric");
        }
    }

    #[test]
    fn the_two_ways_agree_where_they_meet() {
        for share in [0.6, 0.9, 0.975, 0.999] {
            let below = StudentsT::new(0.0, 1.0, MANY).unwrap().inverse_cdf(share);
            assert!((t_quantile(share, MANY) - below).abs() < 1e-6, "{share}");
        }
    }

    #[test]
    fn p_values_invert_quantiles() {
        for (share, freedom) in [(0.975, 9.0), (0.95, 1.0), (0.9995, 40.0)] {
            let p = two_sided_p(t_quantile(share, freedom), freedom);
            assert!((p - 2.0 * (1.0 - share)).abs() < 1e-9, "{p}");
        }
        assert_eq!(two_sided_p(f64::NEG_INFINITY, 3.0), 0.0);
        assert!((two_sided_p(0.0, 3.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn impossible_questions_have_no_answer() {
        for (share, freedom) in [(0.0, 1.0), (1.0, 1.0), (f64::NAN, 1.0), (0.5, 0.0), (0.5, -1.0), (0.5, f64::NAN)] {
            assert!(t_quantile(share, freedom).is_nan());
        }
        assert!(two_sided_p(f64::NAN, 1.0).is_nan());
        assert!(two_sided_p(1.0, 0.0).is_nan());
        assert_eq!(interval_factor(0.0, 5.0), f64::INFINITY);
        assert_eq!(interval_factor(1.0, 5.0), f64::INFINITY);
        assert_eq!(interval_factor(0.95, 0.0), f64::INFINITY);
    }
}
