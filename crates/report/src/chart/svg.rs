//! The few SVG elements that charts need, with numbers of fixed precision and escaped text.

use std::fmt::Write;

use super::paint::{self, Paint};
use crate::markup::escape;

/// The typeface of all charts. Without quotes, so that it can stand in any attribute.
const FONT: &str = "system-ui, -apple-system, Segoe UI, Helvetica Neue, Arial, sans-serif";

/// Where the text of a label is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks and stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TextStyle {
    pub(super) class: &'static str,
    pub(super) size: f64,
    pub(super) paint: Paint,
    pub(super) anchor: Anchor,
    pub(super) bold: bool,
    /// Degrees, clockwise, around the point that holds it.
    pub(super) rotate: f64,
}

impl TextStyle {
    /// Plain text of this kind and size.
    pub(super) fn new(class: &'static str, size: f64, paint: Paint, anchor: Anchor) -> Self {
        Self { class, size, paint, anchor, bold: false, rotate: 0.0 }
    }
}

/// A rectangle in pixels, from its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    pub(super) fn right(self) -> f64 {
        self.x + self.width
    }

    pub(super) fn bottom(self) -> f64 {
        self.y + self.height
    }
}

/// An SVG element under construction.
#[derive(Debug, Default)]
pub(super) struct Svg {
    body: String,
}

impl Svg {
    /// Opens a group of this class; `close` ends it.
    pub(super) fn open(&mut self, class: &str) {
        self.push(&format!("<g class=\"{}\">\n", escape(class)));
    }

    /// Opens a group with a name for programs and screen readers.
    pub(super) fn open_named(&mut self, class: &str, name: &str) {
        self.push(&format!("<g class=\"{}\" aria-label=\"{}\">\n", escape(class), escape(name)));
    }

    /// Ends the last open group.
    pub(super) fn close(&mut self) {
        self.push("</g>\n");
    }

    /// The tooltip of the group just opened.
    pub(super) fn tooltip(&mut self, text: &str) {
        self.push(&format!("<title>{}</title>\n", escape(text)));
    }

    pub(super) fn line(&mut self, class: &str, paint: Paint, width: f64, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        self.push(&format!(
            "<line class=\"{class} {}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>\n",
            paint.stroke_class(),
            px(x1),
            px(y1),
            px(x2),
            px(y2),
            paint.light(),
            px(width),
        ));
    }

    /// A path that is outlined and not filled.
    pub(super) fn outline(&mut self, class: &str, paint: Paint, width: f64, dashed: bool, path: &str) {
        let dashes = if dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        self.push(&format!(
            "<path class=\"{class} {}\" d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
             stroke-linejoin=\"round\"{dashes}/>\n",
            paint.stroke_class(),
            paint.light(),
            px(width),
        ));
    }

    /// A path that is filled and outlined.
    pub(super) fn shape(&mut self, class: &str, fill: Paint, stroke: Paint, width: f64, path: &str) {
        self.push(&format!(
            "<path class=\"{class} {} {}\" d=\"{path}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"{}\" \
             stroke-linejoin=\"round\"/>\n",
            fill.fill_class(),
            stroke.stroke_class(),
            fill.light(),
            stroke.light(),
            px(width),
        ));
    }

    pub(super) fn rectangle(&mut self, class: &str, fill: Paint, area: Area) {
        self.push(&format!(
            "<rect class=\"{class} {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
            fill.fill_class(),
            px(area.x),
            px(area.y),
            px(area.width),
            px(area.height),
            fill.light(),
        ));
    }

    /// An invisible disc that makes a small mark easy to point at.
    pub(super) fn target(&mut self, [x, y]: [f64; 2]) {
        self.push(&format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"9\" fill=\"none\" pointer-events=\"all\"/>\n",
            px(x),
            px(y)
        ));
    }

    /// A line of text; `at` is the middle of its height, so that it needs no knowledge of the font.
    pub(super) fn text(&mut self, style: TextStyle, [x, y]: [f64; 2], text: &str) {
        let anchor = match style.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if style.bold { " font-weight=\"600\"" } else { "" };
        // The baseline is moved by hand: programs disagree about `dominant-baseline`.
        let baseline = y + style.size * 0.35;
        let rotate = if style.rotate == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({} {} {})\"", px(style.rotate), px(x), px(y))
        };
        self.push(&format!(
            "<text class=\"{} {}\" x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{anchor}\"{weight} \
             fill=\"{}\"{rotate}>{}</text>\n",
            style.class,
            style.paint.fill_class(),
            px(x),
            px(baseline),
            px(style.size),
            style.paint.light(),
            escape(text),
        ));
    }

    /// The whole element, on its own ground, described in words for those who cannot see it.
    pub(super) fn finish(self, width: f64, height: f64, description: &str) -> String {
        let (width, height, style) = (px(width), px(height.ceil()), paint::style());
        let (description, body, paper) = (escape(description), self.body, Paint::Paper);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"meshlock-chart\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{description}\" font-family=\"{FONT}\">\n\
             {style}<rect class=\"ground {}\" width=\"100%\" height=\"100%\" fill=\"{}\"/>\n{body}</svg>\n",
            paper.fill_class(),
            paper.light(),
        )
    }

    fn push(&mut self, text: &str) {
        self.body.push_str(text);
    }
}

/// A path from pieces of the form `M x y` and `L x y`.
pub(super) fn path(points: &[[f64; 2]], closed: bool) -> String {
    let mut out = String::new();
    for (index, [x, y]) in points.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(out, "{command}{} {}", px(*x), px(*y));
    }
    if closed {
        out.push('Z');
    }
    out
}

/// A coordinate with two decimals at most.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
