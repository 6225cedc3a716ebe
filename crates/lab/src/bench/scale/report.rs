//! What was measured, beside what was aimed at.

use std::fs;
use std::io::Write;

use meshlock_cli::output::table_width;
use meshlock_cli::style::{self, styled};
use meshlock_report::table::{Cell, Column, Table};
use serde::Serialize;

/// All figures, and what could not be measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    cores: usize,
    /// Whether this program was compiled for speed; otherwise its figures say little.
    optimised: bool,
    /// How many programs wanted a processor on average, in the minute before.
    #[serde(skip_serializing_if = "Option::is_none")]
    load_before: Option<f64>,
    figures: Vec<Figure>,
    skipped: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Figure {
    part: String,
    what: &'static str,
    value: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_met: Option<bool>,
}

impl Default for Report {
    fn default() -> Self {
        let load = fs::read_to_string("/proc/loadavg").ok();
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            optimised: !cfg!(debug_assertions),
            load_before: load.and_then(|load| load.split(' ').next()?.parse().ok()),
            figures: Vec::new(),
            skipped: Vec::new(),
        }
    }
}

impl Report {
    /// Notes a figure.
    pub(super) fn add(&mut self, part: &str, what: &'static str, (value, unit): (f64, &'static str)) {
        self.figures.push(Figure { part: part.to_owned(), what, value, unit, at_most: None, is_met: None });
    }

    /// Notes a figure that should be at most this.
    pub(super) fn aim(&mut self, part: &str, what: &'static str, (value, unit): (f64, &'static str), at_most: f64) {
        let (at_most, is_met) = (Some(at_most), Some(value <= at_most));
        self.figures.push(Figure { part: part.to_owned(), what, value, unit, at_most, is_met });
    }

    /// Notes what could not be measured, and why.
    pub(super) fn skip(&mut self, why: String) {
        super::tell(&format!("skipped: {why}"));
        self.skipped.push(why);
    }

    /// For people.
    pub(super) fn print(&self) -> anyhow::Result<()> {
        let mut out = anstream::stdout().lock();
        let load = self.load_before.map(|load| format!(", load {load} before")).unwrap_or_default();
        writeln!(out, "{} on {} cores{load}", styled(style::STRONG, "meshlock bench scale"), self.cores)?;
        if !self.optimised {
            let warning = "This program was not compiled for speed: use a release build.";
            writeln!(out, "{}", styled(style::PARTIAL, warning))?;
        }
        writeln!(out)?;
        let column = |name: &str, numeric| Column { name: name.to_owned(), numeric };
        let row = |figure: &Figure| {
            let goal = match (figure.at_most, figure.is_met) {
                (Some(most), Some(good)) => {
                    let word = if good { "met" } else { "missed" };
                    Cell::Verdict { good, text: format!("{word}: {most} {}", figure.unit) }
                }
                _ => Cell::Empty,
            };
            let value = format!("{} {}", rounded(figure.value), figure.unit);
            vec![Cell::Text(figure.part.clone()), Cell::Text(figure.what.to_owned()), Cell::Text(value), goal]
        };
        let columns = vec![column("", false), column("what", false), column("measured", true), column("goal", false)];
        let table = Table { columns, rows: self.figures.iter().map(row).collect() };
        for line in table.text(table_width()).lines() {
            writeln!(out, "  {line}")?;
        }
        for why in &self.skipped {
            writeln!(out, "\n  {}", styled(style::PARTIAL, &format!("not measured: {why}")))?;
        }
        Ok(out.flush()?)
    }
}

/// Three digits that matter.
fn rounded(value: f64) -> String {
    match value.abs() {
        small if small < 10.0 => format!("{value:.2}"),
        middle if middle < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_met_up_to_their_edge() {
        let mut report = Report::default();
        report.aim("a", "up", (10.0, "s"), 10.0);
        report.aim("a", "up", (10.01, "s"), 10.0);
        report.add("a", "memory", (7.0, "kB"));
        let met: Vec<Option<bool>> = report.figures.iter().map(|figure| figure.is_met).collect();
        assert_eq!(met, [Some(true), Some(false), None]);
        assert_eq!([1.234, 56.78, 1234.5].map(rounded), ["1.23", "56.8", "1234"]);
    }
}
