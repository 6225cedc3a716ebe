//! A mean with its interval: what one number of a study is told as.

use std::fmt;

use crate::student::interval_factor;

/// The mean of independent samples and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub samples: usize,
    pub mean: f64,
    /// Their standard deviation (n - 1); zero for one sample.
    pub deviation: f64,
    /// Half of the confidence interval by Student's t; infinite for one sample.
    pub half_width: f64,
}

impl Estimate {
    /// The mean of independent samples with an interval of this confidence, such as 0.95.
    ///
    /// Without samples, or if one is not finite, mean and deviation are `NaN`. The half width is infinite then, for one
    /// sample, and for a confidence that is not strictly between 0 and 1.
    ///
    /// ```
    /// use meshlock_statistics::Estimate;
    /// let estimate = Estimate::of(&[9.8, 10.2, 10.4, 9.8, 10.0, 10.2, 9.6], 0.95);
    /// assert_eq!(estimate.to_string(), "10.00 ± 0.26");
    /// ```
    pub fn of(samples: &[f64], confidence: f64) -> Self {
        let (mean, deviation) = mean_and_deviation(samples);
        let freedom = samples.len().saturating_sub(1) as f64;
        let factor = interval_factor(confidence, freedom);
        let half_width = if factor.is_infinite() || deviation.is_nan() {
            f64::INFINITY
        } else {
            factor * deviation / (samples.len() as f64).sqrt()
        };
        Self { samples: samples.len(), mean, deviation, half_width }
    }

    /// The same in another unit: `to` is linear.
    #[must_use]
    pub fn converted(self, to: impl Fn(f64) -> f64) -> Self {
        let Self { samples, mean, deviation, half_width } = self;
        Self { samples, mean: to(mean), deviation: to(deviation), half_width: to(half_width) }
    }

    /// The half width as a share of the mean. Zero if the samples do not differ, infinite if nothing is known of the
    /// mean or it is zero.
    pub fn relative_half_width(&self) -> f64 {
        if self.half_width == 0.0 {
            return 0.0;
        }
        let relative = self.half_width / self.mean.abs();
        if relative.is_nan() { f64::INFINITY } else { relative }
    }

    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// Whether the interval has this value in it. False if nothing is known of the mean.
    pub fn contains(&self, value: f64) -> bool {
        self.low() <= value && value <= self.high()
    }
}

/// Whether the mean is known well enough to stop taking samples: its relative half width is at most this. Never with
/// fewer than two samples.
///
/// Stopping as soon as this holds makes intervals slightly too short; ask for at least ten samples first.
pub fn enough(samples: &[f64], relative_half_width: f64, confidence: f64) -> bool {
    samples.len() >= 2 && Estimate::of(samples, confidence).relative_half_width() <= relative_half_width
}

/// As `1.234 ± 0.056`: two digits of what is uncertain, unless a precision is given.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or_else(|| {
            if self.half_width > 0.0 && self.half_width.is_finite() {
                decimals(self.half_width, 2)
            } else {
                decimals(self.mean, 4)
            }
        });
        write!(f, "{:.decimals$} ± {:.decimals$}", self.mean, self.half_width)
    }
}

/// How many decimals show so many significant digits of a value.
fn decimals(value: f64, significant: i32) -> usize {
    // The shown exponent is exact on every machine and knows about rounding up: 0.0996 counts as 0.10.
    let shown = format!("{value:.*e}", usize::try_from(significant - 1).unwrap_or(0));
    let exponent: i32 = shown.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    usize::try_from(significant - 1 - exponent).unwrap_or(0)
}

/// `NaN` twice if there is no sample, or one that is not finite.
pub(crate) fn mean_and_deviation(samples: &[f64]) -> (f64, f64) {
    if samples.is_empty() || samples.iter().any(|sample| !sample.is_finite()) {
        return (f64::NAN, f64::NAN);
    }
    let count = samples.len() as f64;
    let rough = samples.iter().sum::<f64>() / count;
    // The second pass takes out what the first one lost: samples that differ in their last digits only are common.
    let mean = rough + samples.iter().map(|sample| sample - rough).sum::<f64>() / count;
    if samples.len() == 1 {
        return (mean, 0.0);
    }
    let squares: f64 = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The NumAcc data of NIST's Statistical Reference Datasets: a first value, then two that alternate around it.
    fn numacc(centre: f64) -> Vec<f64> {
        let mut samples = vec![centre];
        samples.extend((0..1_000).map(|i| if i % 2 == 0 { centre - 0.1 } else { centre + 0.1 }));
        samples
    }

    #[test]
    fn means_and_deviations_are_those_certified_by_nist() {
        let one = Estimate::of(&[10_000_001.0, 10_000_003.0, 10_000_002.0], 0.95);
        assert_eq!((one.mean, one.deviation), (10_000_002.0, 1.0));
        for (centre, digits) in [(1.2, 1e-14), (1_000_000.2, 1e-8), (10_000_000.2, 1e-7)] {
            let found = Estimate::of(&numacc(centre), 0.95);
            assert!((found.mean - centre).abs() <= 1e-15 * centre, "{found:?}");
            assert!((found.deviation - 0.1).abs() < digits, "{found:?}");
        }
    }

    #[test]
    fn the_interval_is_students() {
        // By hand: mean 3, deviation sqrt(2.5), t(4) = 2.7764451.
        let found = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95);
        assert!((found.half_width - 2.776_445_1 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-6);
        assert!(found.contains(3.0) && found.contains(found.low()) && !found.contains(5.0));
        assert!((found.relative_half_width() - found.half_width / 3.0).abs() < 1e-15);
    }

    #[test]
    fn little_is_known_of_few_samples() {
        let none = Estimate::of(&[], 0.95);
        assert!(none.mean.is_nan() && none.deviation.is_nan() && none.half_width == f64::INFINITY);
        assert_eq!(none.relative_half_width(), f64::INFINITY);
        let one = Estimate::of(&[5.0], 0.95);
        assert_eq!((one.mean, one.deviation, one.half_width), (5.0, 0.0, f64::INFINITY));
        for bad in [f64::NAN, f64::INFINITY] {
            let spoiled = Estimate::of(&[1.0, bad, 2.0], 0.95);
            assert!(spoiled.mean.is_nan() && spoiled.half_width == f64::INFINITY && !spoiled.contains(1.0));
        }
        assert_eq!(Estimate::of(&[1.0, 2.0], 1.0).half_width, f64::INFINITY);
    }

    #[test]
    fn sampling_ends_when_the_interval_is_small() {
        let samples = [9.0, 10.0, 11.0, 10.0, 9.5, 10.5];
        let relative = Estimate::of(&samples, 0.95).relative_half_width();
        assert!(enough(&samples, relative, 0.95));
        assert!(!enough(&samples, relative * 0.999, 0.95));
        assert!(!enough(&samples, relative, 0.99), "more confidence needs more samples");
        assert!(enough(&[0.0, 0.0], 0.05, 0.95), "what never varies is known");
        assert!(!enough(&[-1.0, 1.0], 100.0, 0.95), "a share of zero is nothing");
        assert!(!enough(&[3.0], 100.0, 0.95) && !enough(&[], 100.0, 0.95));
        assert!(!enough(&[1.0, f64::NAN], f64::MAX, 0.95));
    }

    #[test]
    fn two_digits_of_doubt_are_shown() {
        let shown = |mean, half_width| Estimate { samples: 9, mean, deviation: 1.0, half_width }.to_string();
        assert_eq!(shown(1.23411, 0.0561), "1.234 ± 0.056");
        assert_eq!(shown(1.23411, 0.0996), "1.23 ± 0.10");
        assert_eq!(shown(1234.5, 123.4), "1234 ± 123");
        assert_eq!(shown(0.000_012_34, 0.000_000_56), "0.00001234 ± 0.00000056");
        assert_eq!(shown(1.5, f64::INFINITY), "1.500 ± inf");
        assert_eq!(shown(f64::NAN, f64::INFINITY), "NaN ± inf");
        assert_eq!(shown(0.0, 0.0), "0.000 ± 0.000");
        let precise = Estimate { samples: 2, mean: 1.0, deviation: 1.0, half_width: 0.25 };
        assert_eq!(format!("{precise:.1}"), "1.0 ± 0.2");
    }
}
