//! Tables, figures and remarks.

use meshlock_report::chart::{Chart, Point, Scale, Series};
use meshlock_report::table::{Cell, Column, Table};
use meshlock_statistics::Estimate;

use crate::claim::Evidence;

/// A table. The names of its columns are divided by ` | `; those with numbers are aligned to the right.
pub(crate) fn table(caption: impl Into<String>, columns: &str, rows: Vec<Vec<Cell>>) -> Evidence {
    let column = |(place, name): (usize, &str)| Column { name: name.to_owned(), numeric: is_numeric(&rows, place) };
    let columns = columns.split(" | ").enumerate().map(column).collect();
    Evidence::Table(caption.into(), Table { columns, rows })
}

/// Whether a column has a number; a median or a share, written as text, counts as one, but not as the name of a row.
fn is_numeric(rows: &[Vec<Cell>], place: usize) -> bool {
    let cells = || rows.iter().filter_map(|row| row.get(place));
    let digits = |cell: &Cell| match cell {
        Cell::Text(text) => text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit()),
        Cell::Number(_) | Cell::Estimate { .. } | Cell::Empty => true,
        Cell::Verdict { .. } | Cell::Code(_) => false,
    };
    let some = cells().any(|cell| !matches!(cell, Cell::Empty) && *cell != words(""));
    cells().any(|cell| matches!(cell, Cell::Number(_) | Cell::Estimate { .. }))
        || place > 0 && some && cells().all(digits)
}

pub(crate) fn words(text: impl ToString) -> Cell {
    Cell::Text(text.to_string())
}

pub(crate) fn number(value: impl Into<f64>) -> Cell {
    Cell::Number(value.into())
}

pub(crate) fn count(value: impl TryInto<i64>) -> Cell {
    value.try_into().map_or(Cell::Empty, |value| Cell::Number(value as f64))
}

/// A mean with its interval in a cell. One run has no interval.
pub(crate) fn mean(estimate: Estimate) -> Cell {
    match estimate {
        Estimate { samples: 0, .. } => Cell::Empty,
        Estimate { samples: 1, mean, .. } => Cell::Number(mean),
        Estimate { mean, half_width, .. } => Cell::Estimate { mean, half_width },
    }
}

pub(crate) fn point(x: f64, estimate: Estimate) -> Point {
    let Estimate { mean, half_width, .. } = estimate;
    let reach = if half_width.is_finite() { half_width } else { 0.0 };
    Point { x, y: mean, low: mean - reach, high: mean + reach }
}

pub(crate) fn exact_point(x: impl Into<f64>, y: impl Into<f64>) -> Point {
    let y = y.into();
    Point { x: x.into(), y, low: y, high: y }
}

pub(crate) fn line(name: impl ToString, points: Vec<Point>) -> Series {
    Series { name: name.to_string(), points, dashed: false }
}

/// A dashed line, such as a bound.
pub(crate) fn dashed(name: impl ToString, points: Vec<Point>) -> Series {
    Series { dashed: true, ..line(name, points) }
}

pub(crate) fn scale(label: &str, unit: &str) -> Scale {
    Scale { label: label.to_owned(), unit: unit.to_owned(), log: false, from_zero: true }
}

pub(crate) fn log_scale(label: &str, unit: &str) -> Scale {
    Scale { log: true, from_zero: false, ..scale(label, unit) }
}

/// A chart with its title as caption.
pub(crate) fn figure(title: &str, x: Scale, y: Scale, series: Vec<Series>) -> Evidence {
    captioned(title, title, x, y, series)
}

/// A chart with another caption.
pub(crate) fn captioned(caption: &str, title: &str, x: Scale, y: Scale, series: Vec<Series>) -> Evidence {
    drawn(caption, Chart { title: title.to_owned(), x, y, series, note: None }.svg())
}

pub(crate) fn drawn(caption: &str, svg: String) -> Evidence {
    Evidence::Figure(caption.to_owned(), svg)
}

pub(crate) fn note(text: impl Into<String>) -> Evidence {
    Evidence::Note(text.into())
}
