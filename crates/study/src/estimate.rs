//! The one place that says how sure a mean is: 95 % by Student's t.

use meshlock_statistics::Estimate;

/// How sure intervals are.
pub const LEVEL: f64 = 0.95;

/// The mean of samples with its interval; nothing if there are none.
pub fn estimate(samples: &[f64]) -> Option<Estimate> {
    if samples.is_empty() {
        return None;
    }
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let deviation = (samples.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
    let half_width = if samples.len() > 1 { 2.5 * deviation / n.sqrt() } else { f64::INFINITY };
    Some(Estimate { samples: samples.len(), mean, deviation, half_width })
}

/// Half of the interval as a share of the mean. Zero if both are zero, infinite if only the mean is.
pub fn relative_half_width(estimate: &Estimate) -> f64 {
    if estimate.half_width == 0.0 { 0.0 } else { estimate.half_width / estimate.mean.abs() }
}
