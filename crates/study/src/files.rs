//! Everything that is made of the runs: tables, pictures, the report.

use serde::Serialize;

use crate::conduct::{Results, Run};
use crate::csv::Csv;
use crate::figure::{Figure, figures};
use crate::page::{self, Background};
use crate::plan::Plan;
use crate::store::{PLOTS, Store, StoreError, pretty};
use crate::summary::Summary;

/// Writes all files, and says which, in the order in which a reader would open them.
pub fn write(
    plan: &Plan,
    results: &Results,
    summary: &Summary,
    background: &Background<'_>,
    store: &Store,
) -> Result<Vec<String>, StoreError> {
    let figures = figures(plan, summary);
    let mut files = vec![
        ("report.html".to_owned(), page::report(plan, summary, &figures, background).html()),
        ("summary.csv".to_owned(), summary_csv(plan, summary)),
        ("summary.json".to_owned(), pretty(summary)),
        ("runs.csv".to_owned(), runs_csv(plan, results, summary)),
        ("runs.json".to_owned(), pretty(&rows(plan, results))),
    ];
    if !plan.compare.is_empty() {
        files.push(("comparisons.csv".to_owned(), comparisons_csv(plan, summary)));
    }
    // A plot that was renamed or removed must not stay behind.
    store.remove_directory(PLOTS)?;
    files.extend(figures.iter().map(|Figure { name, svg, .. }| (format!("{PLOTS}/{name}.svg"), svg.clone())));
    for (name, content) in &files {
        store.write(name, content)?;
    }
    #[cfg_attr(not(feature = "parquet"), expect(unused_mut, reason = "the feature adds a file"))]
    let mut names: Vec<String> = files.into_iter().map(|(name, _)| name).collect();
    #[cfg(feature = "parquet")]
    {
        let name = "runs.parquet";
        let bytes = crate::parquet::runs(plan, results, summary)
            .map_err(|error| StoreError::Format { name, why: error.to_string() })?;
        store.write_bytes(name, &bytes)?;
        names.push(name.to_owned());
    }
    Ok(names)
}

/// One row per run.
fn runs_csv(plan: &Plan, results: &Results, summary: &Summary) -> String {
    let measures: Vec<&str> = summary_names(results, summary);
    let mut csv = Csv::default();
    csv.word("experiment").words(plan.axes.iter().map(|axis| axis.name.as_str()));
    csv.words(["replication", "seed", "scenario_hash", "code_version", "wall_s", "stopped"]);
    csv.words(measures.iter().copied()).end();
    for Run { job, record } in &results.runs {
        csv.word(&plan.name).words(plan.points[job.point].labels.iter().map(|(_, label)| label.as_str()));
        csv.count(record.replication).count(record.seed).word(&record.scenario_hash).word(&record.code_version);
        csv.number(record.wall_s).word(if record.stopped { "true" } else { "false" });
        for name in &measures {
            csv.number(record.measures.get(*name).copied().unwrap_or(f64::NAN));
        }
        csv.end();
    }
    csv.finish()
}

/// The measures of all runs, also of those that count for no mean.
pub(crate) fn summary_names<'a>(results: &'a Results, summary: &'a Summary) -> Vec<&'a str> {
    let mut names = summary.measure_names();
    names.extend(results.runs.iter().flat_map(|run| run.record.measures.keys().map(String::as_str)));
    names.into_iter().collect()
}

/// One row per point and measure.
fn summary_csv(plan: &Plan, summary: &Summary) -> String {
    let mut csv = Csv::default();
    csv.word("experiment").words(plan.axes.iter().map(|axis| axis.name.as_str()));
    csv.words(["measure", "n", "mean", "deviation", "half_width", "relative_half_width", "min", "p50", "max"]).end();
    for point in &summary.points {
        for (name, measure) in &point.measures {
            csv.word(&plan.name).words(point.measurement.iter().map(|(_, label)| label.as_str())).word(name);
            csv.count(measure.n as u64).number(measure.mean).number(measure.deviation).number(measure.half_width);
            csv.number(measure.relative_half_width).number(measure.min).number(measure.p50).number(measure.max).end();
        }
    }
    csv.finish()
}

/// One row per value, combination of the other axes, and measure.
fn comparisons_csv(plan: &Plan, summary: &Summary) -> String {
    let mut csv = Csv::default();
    csv.words(["experiment", "axis", "value", "baseline"]).words(plan.axes.iter().map(|axis| axis.name.as_str()));
    csv.words(["measure", "pairs", "mean", "baseline_mean", "difference", "half_width", "low", "high"]);
    csv.words(["p", "p_holm", "ratio"]).end();
    for one in &summary.comparisons {
        csv.words([&plan.name, &one.axis, &one.value, &one.baseline].map(String::as_str));
        for axis in &plan.axes {
            let label = one.others.iter().find(|(name, _)| *name == axis.name).map(|(_, label)| label.as_str());
            csv.word(label.unwrap_or(if axis.name == one.axis { &one.value } else { "" }));
        }
        csv.word(&one.measure).count(one.pairs as u64).number(one.mean).number(one.baseline_mean);
        csv.number(one.difference).number(one.half_width);
        csv.number(one.difference - one.half_width).number(one.difference + one.half_width);
        csv.number(one.p).number(one.p_holm).number(one.ratio).end();
    }
    csv.finish()
}

/// A run with its name and its place in the plan.
#[derive(Serialize)]
struct Row<'a> {
    run: &'a str,
    #[serde(serialize_with = "crate::summary::as_map")]
    measurement: Vec<(String, String)>,
    record: &'a crate::record::RunRecord,
}

fn rows<'a>(plan: &Plan, results: &'a Results) -> Vec<Row<'a>> {
    let row = |run: &'a Run| Row {
        run: &run.job.hash,
        measurement: plan.points[run.job.point].labels.clone(),
        record: &run.record,
    };
    results.runs.iter().map(row).collect()
}

#[cfg(test)]
mod tests;
