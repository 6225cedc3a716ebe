//! What both kinds of charts share: title, vertical axis, legend, note, and how they divide the area.

use super::Scale;
use super::axis::{Axis, TICK_SIZE};
use super::legend::Legend;
use super::paint::Paint;
use super::svg::{Anchor, Area, Svg, TextStyle};
use crate::text::wrap_pixels;

/// The width of a chart, unless its bars need more.
const WIDTH: f64 = 640.0;
/// The height of the plot proper; the rest is added to it.
pub(super) const PLOT_HEIGHT: f64 = 280.0;
const MARGIN: f64 = 14.0;
const TITLE_SIZE: f64 = 15.0;
const LABEL_SIZE: f64 = 12.5;
const NOTE_SIZE: f64 = 11.0;

pub(super) struct Words<'a> {
    pub(super) title: &'a str,
    pub(super) y: &'a Scale,
    pub(super) names: &'a [String],
    pub(super) note: Option<&'a str>,
}

/// A chart under construction: the areas are known, the data are yet to be drawn.
pub(super) struct Frame {
    pub(super) svg: Svg,
    pub(super) plot: Area,
    width: f64,
    legend: Legend,
    legend_beside: bool,
}

impl Frame {
    /// Divides the area and draws title and vertical axis. The plot is at least so wide.
    pub(super) fn new(words: &Words<'_>, y: Option<&Axis>, least_width: f64) -> Self {
        let y_label = wrap_pixels(y.map_or(&words.y.label, |axis| &axis.label), PLOT_HEIGHT, LABEL_SIZE, 3);
        let tick_width = y.map_or(0.0, Axis::label_width);
        let left = MARGIN + y_label.len() as f64 * LABEL_SIZE * 1.25 + 6.0 + tick_width + 8.0;
        let beside = Legend::beside(words.names, PLOT_HEIGHT);
        let right = beside.as_ref().map_or(MARGIN, |legend| 18.0 + legend.width + MARGIN);
        let plot_width = (WIDTH - left - right).max(least_width);
        let width = left + plot_width + right;
        let title = wrap_pixels(words.title, width - 2.0 * MARGIN, TITLE_SIZE * 1.06, 4);
        let top = MARGIN + title.len() as f64 * TITLE_SIZE * 1.3 + 13.0;
        let plot = Area { x: left, y: top, width: plot_width, height: PLOT_HEIGHT };
        let legend_beside = beside.is_some();
        let legend = beside.unwrap_or_else(|| Legend::below(words.names, width - 2.0 * MARGIN));
        let mut frame = Self { svg: Svg::default(), plot, width, legend, legend_beside };
        let style = TextStyle { bold: true, ..TextStyle::new("title", TITLE_SIZE, Paint::Ink, Anchor::Start) };
        for (line, text) in title.iter().enumerate() {
            frame.svg.text(style, [MARGIN, MARGIN + (line as f64 + 0.5) * TITLE_SIZE * 1.3], text);
        }
        let style = TextStyle { rotate: -90.0, ..TextStyle::new("y-label", LABEL_SIZE, Paint::Ink, Anchor::Middle) };
        for (line, text) in y_label.iter().enumerate() {
            let x = MARGIN + (line as f64 + 0.5) * LABEL_SIZE * 1.25;
            frame.svg.text(style, [x, plot.y + plot.height / 2.0], text);
        }
        match y {
            Some(axis) => frame.draw_y(axis),
            None => frame.draw_no_data(),
        }
        frame
    }

    /// The height on the plot of a value of the vertical axis.
    pub(super) fn y(&self, fraction: f64) -> f64 {
        self.plot.bottom() - fraction * self.plot.height
    }

    /// The place on the plot of a value of the horizontal axis.
    pub(super) fn x(&self, fraction: f64) -> f64 {
        self.plot.x + fraction * self.plot.width
    }

    /// Draws a numeric horizontal axis with its grid; returns where the room below it starts.
    pub(super) fn draw_x(&mut self, axis: &Axis) -> f64 {
        let (plot, bottom) = (self.plot, self.plot.bottom());
        self.svg.open("x-axis");
        for tick in &axis.ticks {
            let x = self.x(tick.at);
            self.svg.line("grid", Paint::Grid, 1.0, [x, plot.y], [x, bottom]);
            self.svg.line("tick", Paint::Axis, 1.0, [x, bottom], [x, bottom + 5.0]);
            let style = TextStyle::new("tick-label", TICK_SIZE, Paint::Muted, Anchor::Middle);
            self.svg.text(style, [x, bottom + 14.0], &tick.label);
        }
        for minor in &axis.minor {
            let x = self.x(*minor);
            self.svg.line("minor", Paint::Axis, 1.0, [x, bottom], [x, bottom + 3.0]);
        }
        self.svg.close();
        self.draw_x_label(&axis.label, bottom + 24.0)
    }

    /// Writes the label of the horizontal axis; returns where the room below it starts.
    pub(super) fn draw_x_label(&mut self, label: &str, top: f64) -> f64 {
        let lines = wrap_pixels(label, self.plot.width, LABEL_SIZE, 3);
        let style = TextStyle::new("x-label", LABEL_SIZE, Paint::Ink, Anchor::Middle);
        for (line, text) in lines.iter().enumerate() {
            let y = top + (line as f64 + 0.5) * LABEL_SIZE * 1.25;
            self.svg.text(style, [self.plot.x + self.plot.width / 2.0, y], text);
        }
        top + lines.len() as f64 * LABEL_SIZE * 1.25
    }

    /// The line at the foot of the data, drawn over bars.
    pub(super) fn draw_foot(&mut self, fraction: f64) {
        let y = self.y(fraction);
        self.svg.line("foot", Paint::Axis, 1.0, [self.plot.x, y], [self.plot.right(), y]);
    }

    /// Draws legend and note below `bottom`, and closes the chart.
    pub(super) fn finish(
        mut self,
        words: &Words<'_>,
        bottom: f64,
        description: &str,
        sample: impl Fn(&mut Svg, usize, Area),
    ) -> String {
        let mut bottom = bottom;
        if self.legend_beside {
            self.legend.draw(&mut self.svg, [self.plot.right() + 18.0, self.plot.y], sample);
        } else if self.legend.height > 0.0 {
            // As wide as the plot if it fits there, which looks tidier.
            let left = if self.legend.width <= self.plot.width { self.plot.x } else { MARGIN };
            self.legend.draw(&mut self.svg, [left, bottom + 10.0], sample);
            bottom += 10.0 + self.legend.height;
        }
        let note = wrap_pixels(words.note.unwrap_or(""), self.width - 2.0 * MARGIN, NOTE_SIZE, 12);
        let style = TextStyle::new("note", NOTE_SIZE, Paint::Muted, Anchor::Start);
        if !note.is_empty() {
            bottom += 8.0;
        }
        for text in &note {
            self.svg.text(style, [MARGIN, bottom + NOTE_SIZE * 0.65], text);
            bottom += NOTE_SIZE * 1.3;
        }
        self.svg.finish(self.width, bottom + MARGIN, description)
    }

    fn draw_y(&mut self, axis: &Axis) {
        let plot = self.plot;
        self.svg.open("y-axis");
        for tick in &axis.ticks {
            let y = self.y(tick.at);
            self.svg.line("grid", Paint::Grid, 1.0, [plot.x, y], [plot.right(), y]);
            self.svg.line("tick", Paint::Axis, 1.0, [plot.x - 5.0, y], [plot.x, y]);
            let style = TextStyle::new("tick-label", TICK_SIZE, Paint::Muted, Anchor::End);
            self.svg.text(style, [plot.x - 8.0, y], &tick.label);
        }
        for minor in &axis.minor {
            let y = self.y(*minor);
            self.svg.line("minor", Paint::Axis, 1.0, [plot.x - 3.0, y], [plot.x, y]);
        }
        self.svg.line("spine", Paint::Axis, 1.0, [plot.x, plot.y], [plot.x, plot.bottom()]);
        self.svg.close();
    }

    fn draw_no_data(&mut self) {
        let plot = self.plot;
        self.svg.line("spine", Paint::Axis, 1.0, [plot.x, plot.y], [plot.x, plot.bottom()]);
        let style = TextStyle::new("no-data", 14.0, Paint::Muted, Anchor::Middle);
        self.svg.text(style, [plot.x + plot.width / 2.0, plot.y + plot.height / 2.0], "no data");
    }
}
