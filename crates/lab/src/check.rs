//! `meshlock check`: explore the protocols and show what breaks.

mod args;
mod build;
mod choose;
mod describe;
mod file;
mod help;
mod job;
mod json;
mod list;
mod progress;
mod rehearse;
mod replay;
mod side_by_side;
mod single;
mod table;
mod values;
mod view;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use meshlock_check::suite::Entry;
use meshlock_check::{Limits, Trial, Way};

use self::choose::Chosen;
use self::file::Traces;
use self::job::{Done, Job, Judgement};
use self::progress::Ticker;
use self::side_by_side::Heard;
use self::table::Table;
use crate::interrupt;
use meshlock_cli::exit::Exit;
use meshlock_cli::status_line::{Destination, StatusLine};

pub(crate) use self::args::{Args, Given};

/// Runs the command. `words` is what was typed after `meshlock check`.
pub(crate) fn run(args: Args, given: &Given, words: &[String]) -> anyhow::Result<Exit> {
    if args.output.rules {
        list::rules(args.output.json)?;
        return Ok(Exit::Fine);
    }
    if args.output.list {
        list::models(&choose::to_list(&args.names)?, args.output.json)?;
        return Ok(Exit::Fine);
    }
    let jobs = jobs(&args, given, words)?;
    if let Some(address) = args.output.view {
        return view::run(jobs, limits(&args, None), address, args.output.open);
    }
    let traces = Traces::of(&args.output, jobs.len() == 1)?;
    let limits = limits(&args, Some(interrupt::flag()?));
    match <[Job; 1]>::try_from(jobs) {
        Ok([job]) => one(job, &args, &limits, &traces),
        Err(jobs) => several(jobs, &args, &limits, &traces),
    }
}

fn jobs(args: &Args, given: &Given, words: &[String]) -> anyhow::Result<Vec<Job>> {
    match choose::choose(&args.names, given)? {
        Chosen::Own(subject) => {
            let trial = build::build(subject, args)?;
            let (name, command) = (subject.name().to_owned(), replay::command(words));
            Ok(vec![Job { name, trial, entry: None, exact: false, command }])
        }
        Chosen::Standard(entries) => {
            let single = entries.len() == 1;
            let job = |entry: Entry| {
                let name = entry.name.to_owned();
                let trial = Trial { way: chosen_walks(&entry.trial.way, args), ..entry.trial.clone() };
                let exact = trial.way == entry.trial.way && !args.limits.no_reduction;
                let command =
                    if single { replay::command(words) } else { replay::standard(&name, args.limits.no_reduction) };
                Job { name, trial, exact, command, entry: Some(entry) }
            };
            Ok(entries.into_iter().map(job).collect())
        }
    }
}

/// Other walks than the standard ones, if they are asked for.
fn chosen_walks(way: &Way, args: &Args) -> Way {
    match way {
        Way::Walk { seed, walks, steps } => Way::Walk {
            seed: args.search.seed.unwrap_or(*seed),
            walks: args.search.walks.unwrap_or(*walks),
            steps: args.search.steps.unwrap_or(*steps),
        },
        Way::Explore { .. } => way.clone(),
    }
}

fn limits(args: &Args, cancel: Option<Arc<AtomicBool>>) -> Limits {
    Limits {
        states: args.limits.max_states,
        depth: args.limits.max_depth,
        time: args.limits.max_seconds.map(Duration::from_secs_f64),
        bytes: args.limits.max_memory,
        cancel,
        reduce: !args.limits.no_reduction,
        threads: threads(args),
    }
}

/// All cores, unless another number is asked for.
fn threads(args: &Args) -> usize {
    args.limits.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// Runs one model and shows all of it.
fn one(job: Job, args: &Args, limits: &Limits, traces: &Traces) -> anyhow::Result<Exit> {
    let mut out = anstream::stdout().lock();
    if !args.output.json {
        single::announce(&mut out, &job)?;
    }
    let done = finish(job, args.output.quiet, args, limits, traces)?;
    if args.output.json {
        json::print(&[json::Model::from(&done)])?;
    } else {
        single::conclude(&mut out, &done)?;
    }
    fail_without_trace(&done)?;
    Ok(match done.judgement {
        Judgement::Cancelled => Exit::Interrupted,
        Judgement::CutShort => Exit::CutShort,
        Judgement::AsExpected | Judgement::Holds if done.report.broken.is_none() => Exit::Fine,
        Judgement::AsExpected | Judgement::Holds | Judgement::Surprise | Judgement::Broken => Exit::Broken,
    })
}

/// Runs several models and shows a row for each.
fn several(jobs: Vec<Job>, args: &Args, limits: &Limits, traces: &Traces) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let all = jobs.len();
    let mut table = Table::new(anstream::stdout(), &jobs);
    let mut finished: Vec<Done> = Vec::new();
    let stopped = || limits.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
    // Side by side each model has one thread, and all have one line of progress: theirs would write over each other.
    let together = limits.threads > 1;
    let mut status = StatusLine::new(args.output.quiet || !together);
    let alone = Limits { threads: 1, ..limits.clone() };
    let work = |job| finish(job, args.output.quiet || together, args, &alone, traces);
    side_by_side::run(jobs, limits.threads, stopped, work, |heard| {
        match heard {
            Heard::Done(done) if status.destination() == Destination::Terminal => {
                status.show(&format!("{done} of {all} models done, the largest first"));
            }
            Heard::Done(_) => {}
            Heard::Next(done) => {
                status.clear();
                if !args.output.json {
                    table.row(&done)?;
                }
                finished.push(done);
            }
        }
        Ok(())
    })?;
    status.clear();
    if args.output.json {
        json::print(&finished.iter().map(json::Model::from).collect::<Vec<_>>())?;
    } else {
        table.summary(all, &finished, start.elapsed())?;
    }
    finished.iter().try_for_each(fail_without_trace)?;
    let any = |judgement| finished.iter().any(|done| done.judgement == judgement);
    Ok(if finished.len() < all || any(Judgement::Cancelled) {
        Exit::Interrupted
    } else if any(Judgement::Surprise) {
        Exit::Broken
    } else if any(Judgement::CutShort) {
        Exit::CutShort
    } else {
        Exit::Fine
    })
}

/// Runs one model with progress, and writes its trace.
fn finish(job: Job, quiet: bool, args: &Args, limits: &Limits, traces: &Traces) -> anyhow::Result<Done> {
    let mut ticker = Ticker::new(&job.name, &job.trial.way, quiet);
    let done = job.run(limits, &mut ticker, traces.wanted());
    ticker.clear();
    let mut done = done?;
    traces.write(&mut done, args.output.force);
    Ok(done)
}

/// A trace that was wanted and could not be written is an error, but only after the results were shown.
fn fail_without_trace(done: &Done) -> anyhow::Result<()> {
    match &done.trace_error {
        Some(error) => bail!(error.clone()),
        None => Ok(()),
    }
}
