//! A straight line through points: does one thing depend on another?

use crate::student::interval_factor;

/// The line with the least squared distances in y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub samples: usize,
    /// How much y grows with x.
    pub slope: f64,
    /// The y at x = 0.
    pub intercept: f64,
    /// The standard error of the slope; zero for two points.
    pub slope_error: f64,
    /// Half of the confidence interval of the slope by Student's t; infinite for two points.
    pub half_width: f64,
}

/// Fits a line to points.
///
/// With fewer than two points, points all at one x, lists of different length, or a coordinate that is not finite,
/// slope, intercept and error are `NaN` and the half width is infinite.
pub fn line(xs: &[f64], ys: &[f64], confidence: f64) -> Line {
    let samples = xs.len().min(ys.len());
    let unknown =
        Line { samples, slope: f64::NAN, intercept: f64::NAN, slope_error: f64::NAN, half_width: f64::INFINITY };
    let finite = xs.iter().chain(ys).all(|value| value.is_finite());
    if samples < 2 || xs.len() != ys.len() || !finite {
        return unknown;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / samples as f64;
    let (x_mean, y_mean) = (mean(xs), mean(ys));
    let sum = |term: &dyn Fn(f64, f64) -> f64| xs.iter().zip(ys).map(|(x, y)| term(*x, *y)).sum::<f64>();
    let spread = sum(&|x, _| (x - x_mean) * (x - x_mean));
    if spread == 0.0 {
        return unknown;
    }
    let slope = sum(&|x, y| (x - x_mean) * (y - y_mean)) / spread;
    let intercept = y_mean - slope * x_mean;
    let freedom = samples as f64 - 2.0;
    if samples == 2 {
        return Line { slope, intercept, slope_error: 0.0, ..unknown };
    }
    let residuals = sum(&|x, y| {
        let residual = (y - y_mean) - slope * (x - x_mean);
        residual * residual
    });
    let slope_error = (residuals / freedom / spread).sqrt();
    let factor = interval_factor(confidence, freedom);
    let half_width = if factor.is_infinite() { f64::INFINITY } else { factor * slope_error };
    Line { samples, slope, intercept, slope_error, half_width }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Norris, of NIST's Statistical Reference Datasets: y and x.
    const NORRIS: [(f64, f64); 36] = [
        (0.1, 0.2),
        (338.8, 337.4),
        (118.1, 118.2),
        (888.0, 884.6),
        (9.2, 10.1),
        (228.1, 226.5),
        (668.5, 666.3),
        (998.5, 996.3),
        (449.1, 448.6),
        (778.9, 777.0),
        (559.2, 558.2),
        (0.3, 0.4),
        (0.1, 0.6),
        (778.1, 775.5),
        (668.8, 666.9),
        (339.3, 338.0),
        (448.9, 447.5),
        (10.8, 11.6),
        (557.7, 556.0),
        (228.3, 228.1),
        (998.0, 995.8),
        (888.8, 887.6),
        (119.6, 120.2),
        (0.3, 0.3),
        (0.6, 0.3),
        (557.6, 556.8),
        (339.3, 339.1),
        (888.0, 887.2),
        (998.5, 999.0),
        (778.9, 779.0),
        (10.2, 11.1),
        (117.6, 118.3),
        (228.9, 229.2),
        (668.4, 669.1),
        (449.2, 448.9),
        (0.2, 0.5),
    ];

    #[test]
    fn the_line_through_norris_is_the_certified_one() {
        let (ys, xs): (Vec<f64>, Vec<f64>) = NORRIS.into_iter().unzip();
        let found = line(&xs, &ys, 0.95);
        assert!((found.slope - 1.002_116_818_020_45).abs() < 1e-12, "{found:?}");
        assert!((found.intercept + 0.262_323_073_774_029).abs() < 1e-10);
        assert!((found.slope_error - 0.429_796_848_199_937e-3).abs() < 1e-13);
        assert!((found.half_width / found.slope_error - 2.0322).abs() < 1e-3, "t of 34 degrees of freedom");
    }

    #[test]
    fn no_influence_is_seen_as_such() {
        let xs = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let wobble = line(&xs, &[5.0, 5.2, 4.9, 5.1, 5.0, 4.95], 0.95);
        assert!(wobble.slope.abs() < wobble.half_width);
        let constant = line(&xs, &[5.0; 6], 0.95);
        assert_eq!((constant.slope, constant.half_width), (0.0, 0.0));
        let exact = line(&xs, &xs, 0.95);
        assert_eq!((exact.slope, exact.half_width), (1.0, 0.0));
    }

    #[test]
    fn too_little_says_nothing() {
        let two = line(&[0.0, 2.0], &[1.0, 2.0], 0.95);
        assert_eq!((two.slope, two.intercept, two.half_width), (0.5, 1.0, f64::INFINITY));
        let cases: [(&[f64], &[f64]); 5] = [
            (&[], &[]),
            (&[1.0], &[1.0]),
            (&[1.0, 2.0], &[1.0]),
            (&[3.0, 3.0, 3.0], &[1.0, 2.0, 3.0]),
            (&[1.0, 2.0, f64::NAN], &[1.0, 2.0, 3.0]),
        ];
        for (xs, ys) in cases {
            let found = line(xs, ys, 0.95);
            assert!(found.slope.is_nan() && found.half_width == f64::INFINITY);
        }
    }
}
