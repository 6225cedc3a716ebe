//! Tables and figures in few words.

use meshlock_report::chart::{Chart, Point, Scale, Series};
use meshlock_report::table::{Cell, Column, Table};
use meshlock_statistics::Estimate;

use crate::claim::Evidence;

/// A table whose first column has words and whose others have numbers.
pub(super) fn table(caption: &str, columns: &[&str], rows: Vec<Vec<Cell>>) -> Evidence {
    let column = |(place, name): (usize, &&str)| Column { name: (*name).to_owned(), numeric: place > 0 };
    Evidence::Table(caption.to_owned(), Table { columns: columns.iter().enumerate().map(column).collect(), rows })
}

/// Words in a cell.
pub(super) fn words(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// A mean with its interval in a cell. Of one run there is no interval, of none no mean.
pub(super) fn mean(estimate: Estimate) -> Cell {
    match estimate {
        Estimate { samples: 0, .. } => Cell::Empty,
        Estimate { samples: 1, mean, .. } => Cell::Number(mean),
        Estimate { mean, half_width, .. } => Cell::Estimate { mean, half_width },
    }
}

/// A point of a figure.
pub(super) fn point(x: f64, estimate: Estimate) -> Point {
    let Estimate { mean, half_width, .. } = estimate;
    let reach = if half_width.is_finite() { half_width } else { 0.0 };
    Point { x, y: mean, low: mean - reach, high: mean + reach }
}

/// A line of a figure.
pub(super) fn line(name: impl Into<String>, points: Vec<Point>) -> Series {
    Series { name: name.into(), points, dashed: false }
}

/// What an axis shows, from zero.
pub(super) fn scale(label: &str, unit: &str) -> Scale {
    Scale { label: label.to_owned(), unit: unit.to_owned(), log: false, from_zero: true }
}

/// The same, logarithmic.
pub(super) fn log_scale(label: &str, unit: &str) -> Scale {
    Scale { log: true, ..scale(label, unit) }
}

/// A figure.
pub(super) fn figure(title: &str, x: Scale, y: Scale, series: Vec<Series>) -> Evidence {
    let chart = Chart { title: title.to_owned(), x, y, series, note: None };
    Evidence::Figure(title.to_owned(), chart.svg())
}

/// A remark.
pub(super) fn note(text: impl Into<String>) -> Evidence {
    Evidence::Note(text.into())
}
