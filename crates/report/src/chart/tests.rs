//! Charts are read back by an XML parser and measured: what is where, and whether it touches anything.

mod bars;
mod drawing;
mod extremes;
mod lines;

use super::{Chart, Point, Scale, Series};

fn scale(label: &str, unit: &str) -> Scale {
    Scale { label: label.to_owned(), unit: unit.to_owned(), log: false, from_zero: false }
}

fn log(label: &str, unit: &str) -> Scale {
    Scale { log: true, ..scale(label, unit) }
}

fn point(x: f64, y: f64) -> Point {
    Point { x, y, low: y, high: y }
}

fn series(name: &str, points: impl IntoIterator<Item = Point>) -> Series {
    Series { name: name.to_owned(), points: points.into_iter().collect(), dashed: false }
}

fn chart(x: Scale, y: Scale, series: Vec<Series>) -> Chart {
    Chart { title: "A title".to_owned(), x, y, series, note: None }
}
