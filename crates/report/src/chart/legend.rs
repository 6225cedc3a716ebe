//! The legend: beside the plot if its names are short, else in columns below it; never over the data.

use super::paint::Paint;
use super::svg::{Anchor, Area, Svg, TextStyle};
use crate::text::{pixels, wrap_pixels};

const SIZE: f64 = 12.0;
const LINE: f64 = 15.0;
/// The room for the sample in front of a name.
const SAMPLE: f64 = 34.0;
const GAP: f64 = 16.0;
/// Names beside the plot may be this wide; wider ones would take too much from it.
const BESIDE: f64 = 120.0;

/// The names with their places, relative to the upper left corner of the legend.
#[derive(Debug)]
pub(super) struct Legend {
    entries: Vec<Entry>,
    pub(super) width: f64,
    pub(super) height: f64,
}

#[derive(Debug)]
struct Entry {
    name: String,
    lines: Vec<String>,
    area: Area,
}

impl Legend {
    /// One column, if it fits beside a plot of this height.
    pub(super) fn beside(names: &[String], height: f64) -> Option<Self> {
        let widest = widest(names);
        if unnamed(names) || widest > BESIDE {
            return None;
        }
        let legend = Self::in_columns(names, 1, SAMPLE + widest);
        (legend.height <= height).then_some(legend)
    }

    /// As many columns as fit into this width.
    pub(super) fn below(names: &[String], width: f64) -> Self {
        if unnamed(names) {
            return Self { entries: Vec::new(), width: 0.0, height: 0.0 };
        }
        let column = (SAMPLE + widest(names)).min(width);
        let columns = (((width + GAP) / (column + GAP)).floor() as usize).clamp(1, names.len());
        // A name that would leave room for a single column only is wrapped, if that makes it two.
        let half = (width - GAP) / 2.0;
        if columns == 1 && names.len() > 1 {
            return Self::in_columns(names, 2, half);
        }
        Self::in_columns(names, columns, column)
    }

    fn in_columns(names: &[String], columns: usize, width: f64) -> Self {
        let mut entries = Vec::new();
        let mut y = 0.0;
        for row in names.chunks(columns.max(1)) {
            let row: Vec<_> = row.iter().map(|name| (name, wrap_pixels(name, width - SAMPLE, SIZE, 3))).collect();
            let lines = row.iter().map(|(_, lines)| lines.len().max(1)).max().unwrap_or(1);
            let height = lines as f64 * LINE + 4.0;
            for (column, (name, lines)) in row.into_iter().enumerate() {
                let area = Area { x: column as f64 * (width + GAP), y, width, height };
                entries.push(Entry { name: name.clone(), lines, area });
            }
            y += height;
        }
        let width = entries.iter().map(|entry| entry.area.right()).fold(0.0, f64::max);
        Self { entries, width, height: y }
    }

    /// Draws the names; `sample` draws what stands in front of the n-th one into an area.
    pub(super) fn draw(&self, svg: &mut Svg, [left, top]: [f64; 2], sample: impl Fn(&mut Svg, usize, Area)) {
        if self.entries.is_empty() {
            return;
        }
        svg.open("legend");
        for (index, entry) in self.entries.iter().enumerate() {
            let (x, y) = (left + entry.area.x, top + entry.area.y + 2.0);
            svg.open("entry");
            svg.tooltip(&entry.name);
            sample(svg, index, Area { x, y, width: SAMPLE - 8.0, height: LINE });
            let style = TextStyle::new("name", SIZE, Paint::Ink, Anchor::Start);
            for (line, text) in entry.lines.iter().enumerate() {
                svg.text(style, [x + SAMPLE, y + (line as f64 + 0.5) * LINE], text);
            }
            svg.close();
        }
        svg.close();
    }
}

/// Nothing is named, so there is nothing to explain.
fn unnamed(names: &[String]) -> bool {
    names.iter().all(|name| name.trim().is_empty())
}

/// The room that the widest name needs to stay on one line, with a little for rounding.
fn widest(names: &[String]) -> f64 {
    names.iter().map(|name| pixels(name, SIZE)).fold(0.0, f64::max) + 0.5
}
