//! The colours, on paper and on a dark screen.
//!
//! The hues are those of Okabe and Ito ("Color universal design", 2008) without yellow, which is too pale on white; on
//! dark ground they are lighter. The last hue is that of the text.

use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// Titles and axis labels.
    Ink,
    /// Tick labels and notes.
    Muted,
    /// Axis lines and ticks.
    Axis,
    Grid,
    /// The ground.
    Paper,
    /// The colour of the n-th series; they repeat after [`HUES`].
    Hue(usize),
}

/// How many colours there are for series.
pub(super) const HUES: usize = HUE.len();

const HUE: [[&str; 2]; 7] = [
    ["#0072b2", "#4aa3df"],
    ["#d55e00", "#f0803c"],
    ["#009e73", "#2cc295"],
    ["#b5548f", "#e39bc8"],
    ["#e69f00", "#f3c04f"],
    ["#56b4e9", "#a5dafa"],
    ["#444b53", "#d5dae0"],
];

impl Paint {
    /// The attribute `fill` or `stroke` of this paint.
    pub(super) fn light(self) -> &'static str {
        self.colours()[0]
    }

    /// The class by which the style sheet finds shapes filled so.
    pub(super) fn fill_class(self) -> String {
        format!("f-{}", self.name())
    }

    /// The class by which the style sheet finds shapes outlined so.
    pub(super) fn stroke_class(self) -> String {
        format!("s-{}", self.name())
    }

    fn name(self) -> String {
        match self {
            Self::Ink => "ink".to_owned(),
            Self::Muted => "muted".to_owned(),
            Self::Axis => "axis".to_owned(),
            Self::Grid => "grid".to_owned(),
            Self::Paper => "paper".to_owned(),
            Self::Hue(index) => (index % HUES).to_string(),
        }
    }

    /// On paper, and on a dark screen.
    fn colours(self) -> [&'static str; 2] {
        match self {
            Self::Ink => ["#1c2025", "#e8eaed"],
            Self::Muted => ["#565d66", "#a9b1ba"],
            Self::Axis => ["#7d858e", "#78818b"],
            Self::Grid => ["#e4e7ea", "#2d333a"],
            Self::Paper => ["#ffffff", "#16191d"],
            Self::Hue(index) => HUE[index % HUES],
        }
    }
}

/// The style sheet of a chart: its dark colours. Screens only, since paper is white.
pub(super) fn style() -> String {
    let mut rules = String::new();
    let paints = [Paint::Ink, Paint::Muted, Paint::Axis, Paint::Grid, Paint::Paper];
    for paint in paints.into_iter().chain((0..HUES).map(Paint::Hue)) {
        let [_, dark] = paint.colours();
        let (fill, stroke) = (paint.fill_class(), paint.stroke_class());
        // Writing to a string cannot fail.
        let _ = write!(rules, ".meshlock-chart .{fill}{{fill:{dark}}}.meshlock-chart .{stroke}{{stroke:{dark}}}");
    }
    format!("<style>@media screen and (prefers-color-scheme:dark){{{rules}}}</style>\n")
}

#[cfg(test)]
mod tests {
    use super::{HUES, Paint};
    use crate::THEME;

    /// The values of a custom property in the theme: light, dark by the reader's setting, dark by choice.
    fn values(name: &str) -> Vec<&'static str> {
        let declarations = THEME.split([';', '{', '}']).filter_map(|part| part.trim().split_once(": "));
        declarations.filter(|(property, _)| *property == name).map(|(_, value)| value).collect()
    }

    #[test]
    fn charts_have_the_colours_of_the_theme() {
        let named = [
            (Paint::Ink, "--ink"),
            (Paint::Muted, "--muted"),
            (Paint::Axis, "--axis"),
            (Paint::Grid, "--grid"),
            (Paint::Paper, "--ground"),
        ];
        let paints = named.into_iter().map(|(paint, name)| (paint, name.to_owned()));
        for (paint, name) in paints.chain((0..HUES).map(|index| (Paint::Hue(index), format!("--s{index}")))) {
            let [light, dark] = paint.colours();
            assert_eq!(values(&name), [light, dark, dark], "{name}");
            for class in [paint.fill_class(), paint.stroke_class()] {
                assert!(THEME.contains(&format!(".meshlock-chart .{class} {{")), "{class}");
            }
        }
    }

    #[test]
    fn both_ways_to_the_dark_theme_give_the_same_colours() {
        for name in ["--panel", "--line", "--accent", "--token", "--alarm", "--good", "--s7"] {
            let values = values(name);
            assert_eq!(values.len(), 3, "{name}");
            assert_eq!(values[1], values[2], "{name}");
        }
    }
}
