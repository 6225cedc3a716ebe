//! The words of tooltips: the numbers of one point, with more digits than the axis has.

use super::axis::Axis;
use crate::number::significant;

/// A value with its unit, and the interval around it if there is one.
pub(super) fn value(axis: &Axis, value: f64, low: f64, high: f64) -> String {
    let digits = |value: f64| significant(axis.unit.convert(value), 6);
    let unit = if axis.unit.name.is_empty() { String::new() } else { format!(" {}", axis.unit.name) };
    if has_interval(value, low, high) {
        format!("{}{unit} [{} to {}]", digits(value), digits(low), digits(high))
    } else {
        format!("{}{unit}", digits(value))
    }
}

/// Whether there is an interval that can be shown.
pub(super) fn has_interval(value: f64, low: f64, high: f64) -> bool {
    low.is_finite() && high.is_finite() && low <= value && value <= high && low < high
}
