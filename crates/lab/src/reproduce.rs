//! `meshlock reproduce`: what the papers claim, beside our measurement.

mod args;
mod choose;
mod crew;
mod json;

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use meshlock_reproduce::page::{Method, page, table};
use meshlock_reproduce::{Claim, Effort, claims};
use meshlock_sim::CODE_VERSION;

use self::choose::choose;
use self::crew::{Ended, measure};
use crate::interrupt;
use meshlock_cli::exit::Exit;
use meshlock_cli::output::{self, labelled, table_width};
use meshlock_cli::style::{ALARM, PARTIAL, STRONG, styled};
use meshlock_cli::text::several;

pub(crate) use self::args::Args;

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let all = claims();
    let chosen = choose(&all, &args.ids)?;
    if args.list {
        list(&chosen, args.json)?;
        return Ok(Exit::Fine);
    }
    let effort = if args.quick { Effort::Quick } else { Effort::Full };
    let share = chosen.len() as f64 / all.len().max(1) as f64;
    let cancel = interrupt::flag()?;
    reproduce(&chosen, args, (effort, share), &cancel)
}

/// Measures claims, and shows and writes what came out. `share` is how much of all claims they are.
fn reproduce(
    claims: &[Claim],
    args: &Args,
    (effort, share): (Effort, f64),
    cancel: &AtomicBool,
) -> anyhow::Result<Exit> {
    // Before the measurement: nobody wants to hear after an hour that there is no room for the results.
    fs::create_dir_all(&args.out).with_context(|| format!("cannot make the directory {}", args.out.display()))?;
    for name in [PAGE, DATA] {
        output::refuse_existing(&args.out.join(name), args.force)?;
    }
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    if !args.quiet {
        let about = rough(expected_time(effort, share, jobs));
        anstream::eprintln!("{}, {about}", several(claims.len() as u64, "claim"));
    }
    let command = command(args);
    let method = |ended: &Ended| Method {
        effort,
        code_version: CODE_VERSION,
        command: &command,
        missing: ended.missing(claims),
    };
    // After every claim, so that whatever ends it leaves what was measured; at the end a file that cannot be written is
    // an error.
    let mut keep = |ended: &Ended| drop(write(&args.out, ended, &method(ended)));
    let ended = measure(claims, (effort, jobs), cancel, args.quiet, &mut keep);
    let method = method(&ended);
    write(&args.out, &ended, &method)?;
    if args.json {
        output::json(&json::Claims::of(&ended.measured, &method))?;
    } else {
        show(&ended, &args.out)?;
    }
    Ok(conclude(&ended, claims.len()))
}

/// The page, and the same for programs.
fn write(directory: &Path, ended: &Ended, method: &Method<'_>) -> anyhow::Result<()> {
    let html = page(&ended.measured, method).html();
    let json = serde_json::to_string_pretty(&json::Claims::of(&ended.measured, method))?;
    for (name, text) in [(PAGE, html), (DATA, format!("{json}\n"))] {
        let path = directory.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn show(ended: &Ended, directory: &Path) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    if ended.measured.is_empty() {
        writeln!(out, "nothing was measured")?;
    } else {
        writeln!(out, "{}", table(&ended.measured).text(table_width()).trim_end())?;
        writeln!(out)?;
    }
    labelled(&mut out, "page", &directory.join(PAGE).display().to_string())?;
    labelled(&mut out, "data", &directory.join(DATA).display().to_string())?;
    Ok(out.flush()?)
}

/// What must not be missed, on standard error, and how the command ends: the worst decides.
fn conclude(ended: &Ended, wanted: usize) -> Exit {
    for (id, why) in &ended.failed {
        anstream::eprintln!("{} {id} could not be measured: {why}", styled(ALARM, "error:"));
    }
    let unexpected: Vec<&str> =
        ended.measured.iter().filter(|one| !one.surprises().is_empty()).map(|one| one.claim.id).collect();
    for one in &ended.measured {
        for surprise in one.surprises() {
            anstream::eprintln!("{} {}: {surprise}", styled(ALARM, "not as expected:"), one.claim.id);
        }
    }
    if ended.interrupted {
        let (done, all) = (ended.measured.len(), several(wanted as u64, "claim"));
        anstream::eprintln!("{} by Ctrl-C after {done} of {all}; these are written", styled(PARTIAL, "ended:"));
        Exit::Interrupted
    } else if !unexpected.is_empty() {
        Exit::Broken
    } else if !ended.failed.is_empty() {
        Exit::Failed
    } else {
        Exit::Fine
    }
}

fn list(claims: &[Claim], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return output::json(&claims.iter().map(json::Listed::from).collect::<Vec<_>>());
    }
    let mut out = anstream::stdout().lock();
    for claim in claims {
        writeln!(out, "{}", styled(STRONG, claim.id))?;
        labelled(&mut out, "claim", claim.says)?;
        for demand in claim.demands {
            labelled(&mut out, "number", &format!("{}: {demand}", demand.fact))?;
        }
        labelled(&mut out, "how", claim.how)?;
        labelled(&mut out, "expected", claim.expected)?;
    }
    Ok(out.flush()?)
}

/// The command that measures the same again.
fn command(args: &Args) -> String {
    let mut command = "meshlock reproduce".to_owned();
    for id in &args.ids {
        command.push_str(&format!(" {}", meshlock_report::shell::quoted(id)));
    }
    if args.quick {
        command.push_str(" --quick");
    }
    command
}

/// All claims take a known time on two cores.
fn expected_time(effort: Effort, share: f64, jobs: usize) -> Duration {
    let all = match effort {
        Effort::Test => 10.0,
        Effort::Quick => 180.0,
        Effort::Full => 1_800.0,
    };
    Duration::from_secs_f64(all * share * 2.0 / jobs.max(1) as f64)
}

/// `about 3 minutes`.
fn rough(time: Duration) -> String {
    let minutes = time.as_secs_f64() / 60.0;
    match minutes.round() as u64 {
        0 => "less than a minute".to_owned(),
        1 => "about a minute".to_owned(),
        minutes @ 2..=50 => format!("about {minutes} minutes"),
        51..=80 => "about an hour".to_owned(),
        _ => format!("about {} hours", (minutes / 60.0).round().max(2.0)),
    }
}

const PAGE: &str = "claims.html";
const DATA: &str = "claims.json";

#[cfg(test)]
mod tests;
