//! The plots a study declares, as pictures with their numbers beside them.

use meshlock_report::chart::{Bar, BarGroup, Bars, Chart, Point as Dot, Scale, Series};
use meshlock_report::table::{Cell, Column, Table};
use meshlock_sim::scenario::file::PlotSpec;

use crate::measure;
use crate::plan::{Plan, quantity};
use crate::summary::{MeasureSummary, PointSummary, Summary};

#[derive(Clone, Debug)]
pub struct Figure {
    /// The name of its file, without ending.
    pub name: String,
    pub title: String,
    pub svg: String,
    /// The numbers in it: a row per value along x, a column per line.
    pub table: Table,
}

/// All declared plots. Axes that a plot does not name make one picture for each combination of their values.
pub fn figures(plan: &Plan, summary: &Summary) -> Vec<Figure> {
    let mut figures = Vec::new();
    for plot in &plan.plots {
        for (facet, points) in facets(plan, summary, plot) {
            let title = match facet.as_str() {
                "" => plot.title.clone(),
                facet => format!("{} ({facet})", plot.title),
            };
            let name = format!("{:02}-{}", figures.len() + 1, slug(&title));
            let view = View::of(plan, plot, &points);
            figures.push(Figure { name, svg: view.svg(plot, &title), table: view.table(plot), title });
        }
    }
    figures
}

fn facets<'a>(plan: &Plan, summary: &'a Summary, plot: &PlotSpec) -> Vec<(String, Vec<&'a PointSummary>)> {
    let mut inside = plan.zipped_with(&plot.x);
    if let Some(lines) = &plot.lines {
        inside.extend(plan.zipped_with(lines));
    }
    let mut facets: Vec<(String, Vec<&PointSummary>)> = Vec::new();
    for point in &summary.points {
        // An axis with one value tells pictures apart from nothing.
        let varies = |axis: &str| plan.axis(axis).is_some_and(|axis| axis.values.len() > 1);
        let outside = point.measurement.iter().filter(|(axis, _)| !inside.contains(axis) && varies(axis));
        let name = outside.map(|(axis, label)| format!("{axis} {label}")).collect::<Vec<_>>().join(", ");
        match facets.iter_mut().find(|(other, _)| *other == name) {
            Some((_, points)) => points.push(point),
            None => facets.push((name, vec![point])),
        }
    }
    facets
}

struct View {
    /// The labels along x that some point has.
    along: Vec<String>,
    /// A line each: its name, and what is known at each label along x.
    lines: Vec<(String, Vec<Option<MeasureSummary>>)>,
}

impl View {
    fn of(plan: &Plan, plot: &PlotSpec, points: &[&PointSummary]) -> Self {
        let labels = |axis: &str| -> Vec<String> {
            let has = |label: &String| points.iter().any(|point| label_of(point, axis) == Some(label));
            let all = plan.axis(axis).map(|axis| axis.values.iter().map(|value| value.label.clone()));
            all.into_iter().flatten().filter(has).collect()
        };
        let along = labels(&plot.x);
        let at = |x: &str, line: Option<&str>| {
            let here = |point: &&&PointSummary| {
                label_of(point, &plot.x) == Some(x)
                    && plot.lines.as_ref().is_none_or(|axis| label_of(point, axis) == line)
            };
            points.iter().find(here).and_then(|point| point.measures.get(&plot.y).copied())
        };
        let line = |name: String, label: Option<&str>| (name, along.iter().map(|x| at(x, label)).collect());
        let lines = match &plot.lines {
            None => vec![line(plot.y.clone(), None)],
            Some(axis) => labels(axis).into_iter().map(|label| line(label.clone(), Some(&label))).collect(),
        };
        Self { along, lines }
    }

    fn svg(&self, plot: &PlotSpec, title: &str) -> String {
        let y = Scale {
            label: plot.y.clone(),
            unit: measure::unit(&plot.y).to_owned(),
            log: plot.log_y,
            from_zero: !plot.log_y,
        };
        let note = Some("means with 95 % intervals".to_owned());
        match self.numbers() {
            Some((unit, numbers)) => {
                let series = self.lines.iter().map(|(name, values)| Series {
                    name: name.clone(),
                    points: numbers.iter().zip(values).filter_map(|(x, value)| dot(*x, value.as_ref()?)).collect(),
                    dashed: false,
                });
                let x = Scale { label: plot.x.clone(), unit, log: plot.log_x, from_zero: false };
                Chart { title: title.to_owned(), x, y, series: series.collect(), note }.svg()
            }
            None => {
                let groups = self.along.iter().enumerate().map(|(place, name)| {
                    let bar = |(name, values): &(String, Vec<Option<MeasureSummary>>)| {
                        let dot = dot(0.0, values[place].as_ref()?)?;
                        Some(Bar { name: name.clone(), value: dot.y, low: dot.low, high: dot.high })
                    };
                    BarGroup { name: name.clone(), bars: self.lines.iter().filter_map(bar).collect() }
                });
                Bars { title: title.to_owned(), y, groups: groups.collect(), stacked: false, note }.svg()
            }
        }
    }

    /// The values along x and their unit, if all are numbers.
    fn numbers(&self) -> Option<(String, Vec<f64>)> {
        let quantities = self.along.iter().map(|label| quantity(label)).collect::<Option<Vec<_>>>()?;
        let unit = quantities.first()?.unit;
        if quantities.iter().all(|quantity| quantity.unit == unit) {
            return Some((unit.to_owned(), quantities.iter().map(|quantity| quantity.number).collect()));
        }
        Some((String::new(), quantities.iter().map(|quantity| quantity.basic).collect()))
    }

    fn table(&self, plot: &PlotSpec) -> Table {
        let mut columns = vec![Column { name: plot.x.clone(), numeric: self.numbers().is_some() }];
        columns.extend(self.lines.iter().map(|(name, _)| Column { name: name.clone(), numeric: true }));
        let row = |(place, x): (usize, &String)| {
            let mut row = vec![Cell::Text(x.clone())];
            row.extend(self.lines.iter().map(|(_, values)| cell(values[place].as_ref())));
            row
        };
        Table { columns, rows: self.along.iter().enumerate().map(row).collect() }
    }
}

/// A mean with its interval, or what is known of it.
pub(crate) fn cell(measure: Option<&MeasureSummary>) -> Cell {
    match measure {
        None => Cell::Empty,
        Some(measure) if measure.half_width.is_finite() => {
            Cell::Estimate { mean: measure.mean, half_width: measure.half_width }
        }
        Some(measure) => Cell::Number(measure.mean),
    }
}

fn dot(x: f64, measure: &MeasureSummary) -> Option<Dot> {
    // One run has no interval.
    let half = if measure.half_width.is_finite() { measure.half_width } else { 0.0 };
    measure.mean.is_finite().then_some(Dot { x, y: measure.mean, low: measure.mean - half, high: measure.mean + half })
}

fn label_of<'a>(point: &'a PointSummary, axis: &str) -> Option<&'a str> {
    point.measurement.iter().find(|(name, _)| name == axis).map(|(_, label)| label.as_str())
}

/// A title as the name of a file.
fn slug(title: &str) -> String {
    let plain: String =
        title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.join("-").chars().take(60).collect()
}

#[cfg(test)]
mod tests;
