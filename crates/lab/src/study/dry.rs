//! What a study would run, without running it.

use std::io::Write;
use std::path::Path;

use meshlock_study::plan::{Plan, Point};
use meshlock_study::store::Store;
use serde::Serialize;

use meshlock_cli::exit::Exit;
use meshlock_cli::output;
use meshlock_cli::style::{FAINT, STRONG, styled};
use meshlock_cli::text::several;

#[derive(Serialize)]
struct Dry<'a> {
    experiment: &'a str,
    code_version: &'a str,
    /// Without what a stop rule may add.
    runs: u64,
    /// With the most that it may add.
    runs_at_most: u64,
    runs_finished: u64,
    points: Vec<DryPoint<'a>>,
}

#[derive(Serialize)]
struct DryPoint<'a> {
    point: String,
    settings: &'a [(String, String)],
    scenario_hash: &'a str,
    runs: u32,
    finished: u32,
    first_seed: u64,
}

pub(super) fn run(plan: &Plan, out: &Path, json: bool) -> anyhow::Result<Exit> {
    let found = Store::peek(out).load(plan)?;
    let finished = |point: &Point| {
        let there = |replication: &u32| found.records.contains_key(&plan.run_hash(point, *replication));
        u32::try_from((0..plan.repeat).filter(there).count()).unwrap_or(u32::MAX)
    };
    let of_point = |point| DryPoint {
        point: Point::name(point),
        settings: &point.settings,
        scenario_hash: &point.scenario_hash,
        runs: plan.repeat,
        finished: finished(point),
        first_seed: plan.seed,
    };
    let points: Vec<DryPoint<'_>> = plan.points.iter().map(of_point).collect();
    let count = plan.points.len() as u64;
    let dry = Dry {
        experiment: &plan.name,
        code_version: &plan.code_version,
        runs: count * u64::from(plan.repeat),
        runs_at_most: count * u64::from(plan.most()),
        runs_finished: points.iter().map(|point| u64::from(point.finished)).sum(),
        points,
    };
    if json {
        output::json(&dry)?;
    } else {
        show(&dry, plan, &mut anstream::stdout().lock())?;
    }
    Ok(Exit::Fine)
}

fn show(dry: &Dry<'_>, plan: &Plan, out: &mut dyn Write) -> anyhow::Result<()> {
    let last = plan.seed_of(plan.repeat - 1);
    writeln!(out, "{}", styled(STRONG, format!("Study {}", dry.experiment)))?;
    for point in &dry.points {
        let runs = several(point.runs.into(), "run");
        let there = if point.finished > 0 { format!("  {} finished", point.finished) } else { String::new() };
        writeln!(out, "  {}  {}", point.point, styled(FAINT, format!("{runs}, seeds {} to {last}{there}", plan.seed)))?;
    }
    let (points, runs) = (several(dry.points.len() as u64, "point"), several(dry.runs, "run"));
    writeln!(out, "{points}, {runs}, {} finished", dry.runs_finished)?;
    if let Some(stop) = &plan.stop {
        let percent = 100.0 * stop.half_width;
        writeln!(
            out,
            "more until the interval of {} is within {percent} % of its mean: at most {}",
            stop.measure,
            several(dry.runs_at_most, "run")
        )?;
    }
    Ok(())
}
