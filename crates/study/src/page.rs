//! The report: one page with methods, network, plots, comparisons and everything that went wrong.
//!
//! It has no date and no real times in it: the same results give the same page.

use meshlock_report::page::{Block, Page};
use meshlock_report::table::{Cell, Column, Table};

use crate::figure::{Figure, cell};
use crate::measure;
use crate::methods::methods;
use crate::plan::Plan;
use crate::summary::{PointSummary, Summary, wanted_measures};

#[derive(Clone, Copy, Debug)]
pub struct Background<'a> {
    pub file: &'a str,
    pub text: &'a str,
    /// The command that makes the same results again.
    pub command: &'a str,
}

pub fn report(plan: &Plan, summary: &Summary, figures: &[Figure], background: &Background<'_>) -> Page {
    let runs: usize = summary.points.iter().map(|point| point.runs).sum();
    let mut blocks = Vec::new();
    trouble(summary, background, &mut blocks);
    heading(&mut blocks, "Results");
    let caption = "Means over replications with 95 % intervals.".to_owned();
    blocks.push(Block::Table { caption, table: main_measures(plan, summary) });
    for Figure { title, svg, table, .. } in figures {
        blocks.push(Block::Heading(2, title.clone()));
        blocks.push(Block::Figure { svg: svg.clone(), caption: String::new() });
        blocks.push(Block::Table { caption: String::new(), table: table.clone() });
    }
    if !plan.compare.is_empty() {
        heading(&mut blocks, "Comparisons");
        blocks.push(Block::Paragraph(
            "Differences within replications of the same seed, value minus baseline, with 95 % intervals. The ratio is \
             that of the means. p is adjusted by Holm's method."
                .to_owned(),
        ));
        blocks.push(Block::Table { caption: String::new(), table: comparisons(summary) });
    }
    heading(&mut blocks, "The network that was there");
    blocks.push(Block::Table { caption: String::new(), table: of_points(plan, summary, &measure::NETWORK) });
    heading(&mut blocks, "Can the numbers be trusted?");
    blocks.push(Block::Paragraph(
        "Requests still unserved at the end and requests that were stuck even after all load had ended, both per run; \
         broken rules over all runs; runs, and how many of them a broken rule or a storm ended; these count for no mean. \
         Where many are unserved, waiting \
         times of those that were served say little: compare `wait.censored-mean`."
            .to_owned(),
    ));
    let mut table = of_points(plan, summary, &[]);
    trust(summary, &mut table);
    blocks.push(Block::Table { caption: String::new(), table });
    heading(&mut blocks, "Methods");
    blocks.push(Block::List(methods(plan).into_iter().map(|(subject, text)| format!("{subject}: {text}")).collect()));
    blocks.push(Block::Paragraph("The same results again:".to_owned()));
    blocks.push(Block::Code(background.command.to_owned()));
    heading(&mut blocks, "Appendix");
    let scenario = vec![Block::Code(background.text.to_owned())];
    blocks.push(Block::Details { summary: format!("The scenario file {}", background.file), blocks: scenario });
    let all: Vec<&str> = summary.measure_names().into_iter().collect();
    let everything = vec![Block::Table { caption: String::new(), table: everything(plan, summary, &all) }];
    blocks.push(Block::Details { summary: "All measures at all points".to_owned(), blocks: everything });
    let (points, version) = (plan.points.len(), &plan.code_version);
    let state = if summary.complete { "" } else { "; not complete" };
    let subtitle = format!("{points} points, {runs} runs, meshlock {version}{state}");
    Page { title: format!("Study: {}", plan.name), subtitle, blocks }
}

/// What went wrong comes first.
fn trouble(summary: &Summary, background: &Background<'_>, blocks: &mut Vec<Block>) {
    // Storms have a warning.
    if summary.warnings.is_empty() && summary.violations.is_empty() && summary.failures.is_empty() {
        return;
    }
    heading(blocks, "Read this first");
    let mut points = summary.warnings.clone();
    for stopped in summary.violations.iter().take(MANY).chain(summary.storms.iter().take(MANY)) {
        let how = match (&stopped.rule, stopped.at_s) {
            (Some(rule), Some(at)) => format!("broke `{rule}` at {at} s"),
            _ => "was stopped".to_owned(),
        };
        let (place, seed, words) = (place(&stopped.measurement), stopped.seed, &stopped.words);
        let replay = stopped.replay(background.file);
        points.push(format!("{place} {how} with seed {seed}: {words}. See it with `{replay}`"));
    }
    let reasons = summary.reasons();
    for (first, more) in reasons.iter().take(MANY) {
        let others = if *more > 0 { format!(" (and {more} more)") } else { String::new() };
        points.push(format!("{}{others}: {}", first.place(), first.why));
    }
    let ended = [summary.violations.len(), summary.storms.len(), reasons.len()];
    let more: usize = ended.into_iter().map(|many| many.saturating_sub(MANY)).sum();
    if more > 0 {
        points.push(format!("and {more} more, see `summary.json`"));
    }
    blocks.push(Block::List(points));
}

/// The main measures at all points, and whether they can be trusted.
pub fn overview(plan: &Plan, summary: &Summary) -> Table {
    let mut table = main_measures(plan, summary);
    trust(summary, &mut table);
    table
}

/// What the study itself names, or what most studies are about.
fn main_measures(plan: &Plan, summary: &Summary) -> Table {
    let names = summary.measure_names();
    let mut shown = wanted_measures(plan);
    if shown.is_empty() {
        shown = measure::MAIN.map(str::to_owned).to_vec();
    }
    shown.retain(|name| names.contains(name.as_str()) && !measure::TROUBLE.contains(&name.as_str()));
    of_points(plan, summary, &shown.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Adds what says whether the other numbers can be trusted: means per run, but broken rules over all runs, also over
/// those that count for no mean.
fn trust(summary: &Summary, table: &mut Table) {
    table.columns.extend(measure::TROUBLE.map(number_column));
    table.columns.extend(["violations", "runs", "stopped"].map(number_column));
    for (row, point) in table.rows.iter_mut().zip(&summary.points) {
        let mean = |name: &str| point.measures.get(name).map_or(Cell::Empty, |known| Cell::Number(known.mean));
        row.extend(measure::TROUBLE.map(mean));
        row.extend([point.broken as f64, point.runs as f64, point.stopped as f64].map(Cell::Number));
    }
}

/// A row per point, a column per measure.
fn of_points(plan: &Plan, summary: &Summary, measures: &[&str]) -> Table {
    let mut columns: Vec<Column> = plan.axes.iter().map(axis_column).collect();
    columns.extend(measures.iter().map(|name| {
        let unit = measure::unit(name);
        number_column(&if unit.is_empty() { (*name).to_owned() } else { format!("{name} ({unit})") })
    }));
    let row = |point: &PointSummary| {
        let labels = point.measurement.iter().map(|(_, label)| Cell::Text(label.clone()));
        labels.chain(measures.iter().map(|name| cell(point.measures.get(*name)))).collect()
    };
    Table { columns, rows: summary.points.iter().map(row).collect() }
}

/// A row per point and measure.
fn everything(plan: &Plan, summary: &Summary, measures: &[&str]) -> Table {
    let mut columns: Vec<Column> = plan.axes.iter().map(axis_column).collect();
    columns.push(Column { name: "measure".to_owned(), numeric: false });
    columns.extend(["runs", "mean", "least", "median", "greatest"].map(number_column));
    let mut rows = Vec::new();
    for point in &summary.points {
        for name in measures {
            let Some(known) = point.measures.get(*name) else { continue };
            let mut row: Vec<Cell> = point.measurement.iter().map(|(_, label)| Cell::Text(label.clone())).collect();
            row.extend([Cell::Code((*name).to_owned()), Cell::Number(known.n as f64), cell(Some(known))]);
            row.extend([known.min, known.p50, known.max].map(Cell::Number));
            rows.push(row);
        }
    }
    Table { columns, rows }
}

fn comparisons(summary: &Summary) -> Table {
    let words = |name: &str| Column { name: name.to_owned(), numeric: false };
    let mut columns = vec![words("compared"), words("where"), words("measure")];
    columns.extend(["pairs", "mean", "baseline", "difference", "ratio", "p (Holm)"].map(number_column));
    columns.push(words("at 5 %"));
    let row = |one: &crate::summary::Comparison| {
        let difference = if one.half_width.is_finite() {
            Cell::Estimate { mean: one.difference, half_width: one.half_width }
        } else {
            Cell::Number(one.difference)
        };
        let judged = match (one.p_holm < 0.05, one.difference < 0.0) {
            (false, _) => "no difference shown",
            (true, true) => "lower",
            (true, false) => "higher",
        };
        vec![
            Cell::Text(format!("{} {} with {}", one.axis, one.value, one.baseline)),
            Cell::Text(place(&one.others)),
            Cell::Code(one.measure.clone()),
            Cell::Number(one.pairs as f64),
            Cell::Number(one.mean),
            Cell::Number(one.baseline_mean),
            difference,
            if one.ratio.is_finite() { Cell::Number(one.ratio) } else { Cell::Empty },
            Cell::Text(if one.p_holm < 0.001 { "< 0.001".to_owned() } else { format!("{:.3}", one.p_holm) }),
            Cell::Text(judged.to_owned()),
        ]
    };
    Table { columns, rows: summary.comparisons.iter().map(row).collect() }
}

fn place(labels: &[(String, String)]) -> String {
    if labels.is_empty() {
        return "everywhere".to_owned();
    }
    labels.iter().map(|(axis, label)| format!("{axis} {label}")).collect::<Vec<_>>().join(", ")
}

fn axis_column(axis: &crate::plan::Dimension) -> Column {
    let numeric = axis.values.iter().all(|value| crate::plan::quantity(&value.label).is_some());
    Column { name: axis.name.clone(), numeric }
}

fn number_column(name: &str) -> Column {
    Column { name: name.to_owned(), numeric: true }
}

fn heading(blocks: &mut Vec<Block>, text: &str) {
    blocks.push(Block::Heading(1, text.to_owned()));
}

/// More of the same are counted only.
const MANY: usize = 10;
