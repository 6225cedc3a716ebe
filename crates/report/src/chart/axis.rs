//! Axes: which part of the number line is shown, and where its ticks are.
//!
//! Ticks stand at multiples of 1, 2 or 5 times a power of ten, as many as their labels leave room for.

use super::Scale;
use super::unit::Unit;
use crate::number::{exponent, fixed, power_of_ten, significant, superscript};
use crate::text::pixels;

/// The size of tick labels.
pub(super) const TICK_SIZE: f64 = 11.5;

#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// The label with the unit that was chosen.
    pub(super) label: String,
    pub(super) ticks: Vec<Tick>,
    /// Fractions of the length that have a small tick without a label.
    pub(super) minor: Vec<f64>,
    pub(super) unit: Unit,
    log: bool,
    /// In the unit of the axis, logarithms if it is logarithmic.
    low: f64,
    high: f64,
    /// The part of the length that is left free at the low end and at the high end.
    inset: [f64; 2],
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Where, as a fraction of the length.
    pub(super) at: f64,
    pub(super) label: String,
}

/// How an axis lies, which decides when its labels collide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Direction {
    /// So many pixels wide; the data keep off the ends.
    Horizontal(f64),
    /// So many pixels high; the ends are ticks.
    Vertical(f64),
}

pub(super) fn drawable(scale: &Scale, value: f64) -> bool {
    // Differences of larger numbers would not be finite.
    value.is_finite() && value.abs() < 1e300 && (!scale.log || value > 1e-300)
}

impl Axis {
    /// An axis for these values, or none if there are none to show.
    pub(super) fn new(scale: &Scale, values: impl Iterator<Item = f64>, direction: Direction) -> Option<Self> {
        let values: Vec<f64> = values.filter(|value| drawable(scale, *value)).collect();
        let mut least = values.iter().copied().reduce(f64::min)?;
        let mut most = values.iter().copied().reduce(f64::max)?;
        let zero_outside = scale.from_zero && !scale.log && (least > 0.0 || most < 0.0);
        if scale.from_zero && !scale.log {
            (least, most) = (least.min(0.0), most.max(0.0));
        }
        // Over many decades no prefix gives short numbers, so none is better.
        let unit = if scale.log && most / least > 1e6 {
            Unit::plain(&scale.unit)
        } else {
            Unit::for_values(&scale.unit, least.abs().max(most.abs()))
        };
        let (least, most) = widened(unit.convert(least), unit.convert(most), scale.log);
        let steps = if scale.log && most / least >= 2.5 {
            log_steps(least, most, direction)
        } else {
            linear_steps(least, most, direction)
        };
        let (low, high) = match direction {
            Direction::Horizontal(_) => (least, most),
            Direction::Vertical(_) if scale.log && steps.low <= 0.0 => (least, steps.high),
            Direction::Vertical(_) => (steps.low, steps.high),
        };
        let inset = match direction {
            Direction::Vertical(_) => [0.0, 0.0],
            Direction::Horizontal(_) if zero_outside && least == 0.0 => [0.0, 0.03],
            Direction::Horizontal(_) if zero_outside => [0.03, 0.0],
            Direction::Horizontal(_) => [0.03, 0.03],
        };
        let curve = |value: f64| if scale.log { libm::log10(value) } else { value };
        let label = match (scale.label.is_empty(), unit.name.is_empty()) {
            (_, true) => scale.label.clone(),
            (true, false) => unit.name.clone(),
            (false, false) => format!("{} ({})", scale.label, unit.name),
        };
        let mut axis = Self {
            label,
            ticks: Vec::new(),
            minor: Vec::new(),
            unit,
            log: scale.log,
            low: curve(low),
            high: curve(high),
            inset,
        };
        let inside = |at: &f64| (-1e-9..=1.0 + 1e-9).contains(at);
        let ticks = steps.values.iter().zip(steps.labels);
        axis.ticks = ticks.map(|(value, label)| Tick { at: axis.place(*value), label }).collect();
        axis.ticks.retain(|tick| inside(&tick.at));
        axis.minor = steps.minor.iter().map(|value| axis.place(*value)).filter(inside).collect();
        Some(axis)
    }

    /// Where a value of the data lies, as a fraction of the length.
    pub(super) fn fraction(&self, value: f64) -> f64 {
        self.place(self.unit.convert(value))
    }

    /// Where the foot of bars is: at zero, or at the low end.
    pub(super) fn foot(&self) -> f64 {
        if self.log { 0.0 } else { self.place(0.0).clamp(0.0, 1.0) }
    }

    pub(super) fn label_width(&self) -> f64 {
        self.ticks.iter().map(|tick| pixels(&tick.label, TICK_SIZE)).fold(0.0, f64::max)
    }

    fn place(&self, value: f64) -> f64 {
        let curved = if self.log { libm::log10(value) } else { value };
        let [before, after] = self.inset;
        before + (curved - self.low) / (self.high - self.low) * (1.0 - before - after)
    }
}

/// A choice of ticks, in the unit of the axis.
struct Steps {
    values: Vec<f64>,
    labels: Vec<String>,
    minor: Vec<f64>,
    /// The range in whole steps around the data.
    low: f64,
    high: f64,
}

impl Steps {
    /// No two labels touch.
    fn fit(&self, direction: Direction, place: impl Fn(f64) -> f64) -> bool {
        let gap = |pair: &[f64], length: f64| (place(pair[1]) - place(pair[0])) * length;
        match direction {
            Direction::Vertical(length) => self.values.windows(2).all(|pair| gap(pair, length) >= TICK_SIZE * 1.6),
            Direction::Horizontal(length) => {
                let widths: Vec<f64> = self.labels.iter().map(|label| pixels(label, TICK_SIZE)).collect();
                let needs = widths.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0 + TICK_SIZE);
                self.values.windows(2).zip(needs).all(|(pair, need)| gap(pair, length) >= need)
            }
        }
    }
}

/// A range that has a width: equal or nearly equal values get some room around them.
fn widened(least: f64, most: f64, log: bool) -> (f64, f64) {
    let size = least.abs().max(most.abs());
    if most - least > size * 1e-9 && most - least > 1e-290 {
        return (least, most);
    }
    match (log, size < 1e-290) {
        (true, _) => (least / 2.0, most * 2.0),
        (false, true) => (0.0, 1.0),
        (false, false) => (least - size * 0.1, most + size * 0.1),
    }
}

/// Evenly spaced ticks; as many as fit, two at least.
fn linear_steps(least: f64, most: f64, direction: Direction) -> Steps {
    let most_ticks = match direction {
        Direction::Horizontal(_) => 10,
        Direction::Vertical(_) => 8,
    };
    let place = |value: f64| (value - least) / (most - least);
    let candidates = (2..=most_ticks).rev().map(|count| linear_candidate(least, most, count));
    let fitting = candidates.into_iter().find(|steps| steps.fit(direction, place));
    fitting.unwrap_or_else(|| linear_candidate(least, most, 1))
}

fn linear_candidate(least: f64, most: f64, count: u32) -> Steps {
    let rough = (most - least) / f64::from(count);
    let power = exponent(rough);
    let lead = rough / power_of_ten(power);
    // A hair of tolerance, so that a range of exactly two steps is not stretched to five.
    let (factor, power) = match lead {
        lead if lead <= 1.0 + 1e-9 => (1.0, power),
        lead if lead <= 2.0 + 1e-9 => (2.0, power),
        lead if lead <= 5.0 + 1e-9 => (5.0, power),
        _ => (1.0, power + 1),
    };
    // Dividing by a whole power of ten gives the number that is nearest to the decimal.
    let value = |index: f64| {
        if power < 0 { index * factor / power_of_ten(-power) } else { index * factor * power_of_ten(power) }
    };
    let step = value(1.0);
    let first = (least / step + 1e-9).floor();
    let last = (most / step - 1e-9).ceil();
    let mut values = Vec::new();
    let mut index = first;
    while index <= last && values.len() < 32 {
        values.push(value(index));
        index += 1.0;
    }
    let largest = value(first).abs().max(value(last).abs());
    let labels = values.iter().map(|value| linear_label(*value, power, largest)).collect();
    Steps { values, labels, minor: Vec::new(), low: value(first), high: value(last) }
}

/// A label with the decimals that steps of this power of ten need.
fn linear_label(value: f64, power: i32, largest: f64) -> String {
    let thousands = [(12, "T"), (9, "G"), (6, "M"), (3, "k")];
    let size = exponent(largest);
    if !(-3..15).contains(&size) {
        // As many digits as there are between the size of the numbers and the step.
        let digits = u8::try_from((size - power + 1).clamp(1, 17)).unwrap_or(17);
        return significant(value, digits);
    }
    let short =
        thousands.into_iter().find(|(exponent, _)| size >= *exponent && largest >= 1e4 && power >= exponent - 2);
    match short {
        Some(_) if value == 0.0 => "0".to_owned(),
        Some((exponent, suffix)) => format!("{}{suffix}", fixed(value / power_of_ten(exponent), exponent - power)),
        None => fixed(value, -power),
    }
}

/// Ticks for a logarithmic axis: all digits, then 1-2-5, then powers of ten, then every second of them and so on.
fn log_steps(least: f64, most: f64, direction: Direction) -> Steps {
    let (low_power, high_power) = (exponent(least), exponent(most) + 1);
    let all = |digits: &[f64], stride: usize| -> Vec<f64> {
        let powers = (low_power - 1..=high_power).filter(|power| power.rem_euclid(stride.max(1) as i32) == 0);
        powers.flat_map(|power| digits.iter().map(move |digit| digit * power_of_ten(power))).collect()
    };
    let tidy = all(&[1.0, 2.0, 5.0], 1);
    let low = tidy.iter().copied().rfind(|value| *value <= least * (1.0 + 1e-9)).unwrap_or(least);
    let high = tidy.iter().copied().find(|value| *value >= most * (1.0 - 1e-9)).unwrap_or(most);
    let shown = match direction {
        Direction::Horizontal(_) => (least, most),
        Direction::Vertical(_) => (low, high),
    };
    let inside = |value: &f64| *value >= shown.0 * (1.0 - 1e-9) && *value <= shown.1 * (1.0 + 1e-9);
    let powers_only = !(-4..=6).contains(&exponent(low)) || exponent(high) > 6;
    let steps = |values: Vec<f64>| {
        let values: Vec<f64> = values.into_iter().filter(inside).collect();
        let labels = values.iter().map(|value| log_label(*value, powers_only)).collect();
        Steps { values, labels, minor: Vec::new(), low, high }
    };
    let (start, length) = (libm::log10(shown.0), libm::log10(shown.1) - libm::log10(shown.0));
    let place = |value: f64| (libm::log10(value) - start) / length;
    const DIGITS: [f64; 9] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let wide = (1..=60).map(|stride| all(&[1.0], stride));
    let candidates = [all(&DIGITS, 1), tidy].into_iter().chain(wide).map(steps);
    let fitting = candidates.into_iter().find(|steps| steps.values.len() <= 11 && steps.fit(direction, place));
    let mut chosen = fitting.unwrap_or_else(|| steps(Vec::new()));
    if high_power - low_power <= 7 {
        chosen.minor =
            all(&DIGITS, 1).into_iter().filter(|value| inside(value) && !chosen.values.contains(value)).collect();
    }
    chosen
}

fn log_label(value: f64, powers_only: bool) -> String {
    let power = exponent(value * (1.0 + 1e-9));
    if !powers_only {
        return linear_label(value, power, value);
    }
    match (value / power_of_ten(power)).round() {
        1.0 => format!("10{}", superscript(power)),
        digit => format!("{digit}×10{}", superscript(power)),
    }
}
