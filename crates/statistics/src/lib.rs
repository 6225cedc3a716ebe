//! Statistics a referee accepts: t intervals, paired differences, warm-up removal.

/// The mean of independent samples and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// How many samples.
    pub samples: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation (n - 1); zero for one sample.
    pub deviation: f64,
    /// Half of the confidence interval by Student's t; infinite for one sample.
    pub half_width: f64,
}
