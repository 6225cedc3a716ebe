//! The one place that says how sure results are: 95 %.

use meshlock_statistics::Estimate;

/// How sure intervals are.
pub const LEVEL: f64 = 0.95;

/// The mean of samples with its interval; nothing if there are none.
pub fn estimate(samples: &[f64]) -> Option<Estimate> {
    (!samples.is_empty()).then(|| Estimate::of(samples, LEVEL))
}
