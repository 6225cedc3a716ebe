//! Charts for a paper or a page: lines with error bars, and bars, as SVG.
//!
//! Each series has its own colour (from a palette that colour-blind readers can tell apart) and its own marker or
//! hatching, so that a chart survives a black and white printer. Every point has a tooltip with its numbers. Colours
//! are plain attributes, so that every program that reads SVG shows the light version; a style sheet inside changes
//! them on dark screens.
//!
//! Only numbers that are finite (and, on a logarithmic scale, positive) are drawn. An interval that is not finite is
//! not drawn, its point is.

mod axis;
mod bars;
mod frame;
mod legend;
mod lines;
mod marks;
mod paint;
mod svg;
#[cfg(test)]
mod tests;
mod tooltip;
mod unit;

/// Lines over a numeric axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Above the chart; wrapped if long.
    pub title: String,
    pub x: Scale,
    pub y: Scale,
    /// The lines, in the order of the legend.
    pub series: Vec<Series>,
    /// Below the chart, in small print.
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// What is measured, such as `waiting time`.
    pub label: String,
    /// In what, such as `s`; may be empty. The axis may choose another prefix: small values in `s` are shown in `ms`.
    pub unit: String,
    /// Logarithmic; values that are not positive are left out.
    pub log: bool,
    /// The axis starts at zero, unless it is logarithmic. Bars always do.
    pub from_zero: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    /// Its points, joined in this order; one that cannot be drawn leaves a gap.
    pub points: Vec<Point>,
    /// Dashed, as for a bound or a published value.
    pub dashed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// The lower end of the error bar; `y` if there is none.
    pub low: f64,
    /// The upper end of the error bar; `y` if there is none.
    pub high: f64,
}

/// Bars in named groups, such as the messages per entry by kind, a group for each protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Above the chart; wrapped if long.
    pub title: String,
    pub y: Scale,
    pub groups: Vec<BarGroup>,
    /// Bars of a group stand on each other instead of side by side. Then the scale is never logarithmic, and the
    /// intervals are in the tooltips only: an error bar in the middle of a stack misleads.
    pub stacked: bool,
    /// Below the chart, in small print.
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BarGroup {
    pub name: String,
    /// The bars; equal names in different groups have the same look and one entry in the legend.
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub name: String,
    pub value: f64,
    /// The lower end of the error bar; `value` if there is none.
    pub low: f64,
    /// The upper end of the error bar; `value` if there is none.
    pub high: f64,
}

impl Chart {
    /// The chart as an `<svg>` element: a file of its own, or a part of a page.
    pub fn svg(&self) -> String {
        lines::draw(self)
    }
}

impl Bars {
    /// The chart as an `<svg>` element: a file of its own, or a part of a page.
    pub fn svg(&self) -> String {
        bars::draw(self)
    }
}
