//! What a study says when it has ended: results on standard output, everything else on standard error.

use std::io::{self, Write};
use std::path::Path;

use meshlock_study::conduct::Results;
use meshlock_study::page::overview;
use meshlock_study::plan::Plan;
use meshlock_study::summary::Summary;
use serde_json::json;

use meshlock_cli::output;
use meshlock_cli::style::{ALARM, FAINT, PARTIAL, STRONG, styled};
use meshlock_cli::text::{count, several};

/// The main measures of all points.
pub(super) fn table(plan: &Plan, summary: &Summary) -> io::Result<()> {
    let width = Some(output::width()).filter(|columns| *columns < usize::MAX).unwrap_or(120);
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", styled(STRONG, format!("Study {}: means over runs with 95 % intervals", plan.name)))?;
    writeln!(out, "{}", overview(plan, summary).text(width).trim_end())
}

/// Where everything is.
pub(super) fn files(directory: &Path, names: &[String], results: &Results) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let reused = results.runs.len().saturating_sub(results.executed);
    let (ran, kept) = (several(results.executed as u64, "run"), count(reused as u64));
    writeln!(out, "\n{ran} now, {kept} from before, in {}", directory.display())?;
    for name in names {
        writeln!(out, "  {}", styled(FAINT, directory.join(name).display()))?;
    }
    if results.unused > 0 {
        let unused = several(results.unused as u64, "run file");
        writeln!(out, "{}", styled(FAINT, format!("{unused} there are no part of the study as it is now; kept")))?;
    }
    Ok(())
}

/// What a share has done.
pub(super) fn share(directory: &Path, report: &str, results: &Results) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let (done, all, now) = (results.runs.len(), results.wanted, results.executed);
    writeln!(
        out,
        "{done} of {} of this share are in {}/runs, {now} of them new",
        several(all as u64, "run"),
        directory.display()
    )?;
    writeln!(out, "when all shares are done and their files are in one directory: {report}")
}

/// The same for a script.
pub(super) fn share_json(results: &Results) -> anyhow::Result<()> {
    output::json(&json!({ "runs": results.runs.len(), "wanted": results.wanted, "executed": results.executed }))
}

/// Files that were no use.
pub(super) fn corrupt(results: &Results) {
    for (path, why) in &results.corrupt {
        anstream::eprintln!("{} {} is no use ({why})", styled(PARTIAL, "warning:"), path.display());
    }
}

/// What went wrong, with commands to see it.
pub(super) fn trouble(summary: &Summary, file: &str) {
    for warning in &summary.warnings {
        anstream::eprintln!("{} {warning}", styled(PARTIAL, "warning:"));
    }
    for stopped in summary.violations.iter().take(SHOWN).chain(summary.storms.iter().take(SHOWN)) {
        match (&stopped.rule, stopped.at_s) {
            (Some(rule), Some(at)) => {
                anstream::eprintln!("{} {rule} at {at} s: {}", styled(ALARM, "broken:"), stopped.words);
            }
            _ => anstream::eprintln!("{} {}", styled(PARTIAL, "stopped:"), stopped.words),
        }
        anstream::eprintln!("  see it with: {}", stopped.replay(file));
    }
    let reasons = summary.reasons();
    for (first, more) in reasons.iter().take(SHOWN) {
        let others = if *more > 0 { format!(" and {}", several(*more as u64, "other run")) } else { String::new() };
        anstream::eprintln!("{} cannot run {}{others}: {}", styled(ALARM, "error:"), first.place(), first.why);
    }
    let ended = [summary.violations.len(), summary.storms.len(), reasons.len()];
    let more: usize = ended.into_iter().map(|many| many.saturating_sub(SHOWN)).sum();
    if more > 0 {
        anstream::eprintln!("and {} more", count(more as u64));
    }
}

/// How to go on.
pub(super) fn interrupted(results: &Results, command: &str) {
    let (done, all) = (count(results.runs.len() as u64), several(results.wanted as u64, "run"));
    anstream::eprintln!("{} {done} of {all} are done and kept; go on with: {command}", styled(PARTIAL, "ended:"));
}

/// More of the same are counted only.
const SHOWN: usize = 5;
