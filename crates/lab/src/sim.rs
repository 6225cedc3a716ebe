//! `meshlock sim`: one simulated run of a scenario, and what it measured; or shown, to take part in it.

mod args;
mod edits;
mod json;
mod progress;
mod summary;
mod units;
mod view;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use meshlock_report::shell::quoted;
use meshlock_sim::CODE_VERSION;
use meshlock_sim::edit::Edits;
use meshlock_sim::edit::file::Header;
use meshlock_sim::measures::{Measures, measures};
use meshlock_sim::outcome::Outcome;
use meshlock_sim::record::{About, Traced, run_traced};
use meshlock_sim::run::run_edited;
use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::{Document, reference_table, schema};
use serde_json::json;

use self::progress::Ticker;
use meshlock_cli::exit::Exit;
use meshlock_cli::output;
use meshlock_cli::style::{ALARM, PARTIAL, styled};

use crate::{document, interrupt};

pub(crate) use self::args::Args;
pub(crate) use self::view::as_change;

struct Subject {
    /// As it was named on the command line, if it was.
    file: Option<String>,
    document: Document,
    scenario: Scenario,
    seed: u64,
}

struct Ran {
    outcome: Outcome,
    measures: Measures,
    /// It was not ended by Ctrl-C.
    complete: bool,
    wall: Duration,
    /// The command that runs it again, with a trace.
    replay: String,
    trace: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.schema || args.keys {
        let text = if args.schema { schema() } else { reference_table() };
        writeln!(std::io::stdout(), "{}", text.trim_end())?;
        return Ok(Exit::Fine);
    }
    let edits = args.edits.as_deref().map(edits::read).transpose()?;
    let subject = read(args, edits.as_ref().map(|(header, _)| header))?;
    let edits = edits.map(|(_, edits)| edits).unwrap_or_default();
    if let Some(address) = args.view {
        return view::run(subject, args, address, edits);
    }
    let (ran, written) = execute(&subject, args, &edits)?;
    if args.json {
        output::json(&json::Run::of(&subject, &ran))?;
    } else {
        summary::tell(&mut anstream::stdout().lock(), &subject, &ran)?;
    }
    tell_end(&subject, &ran);
    // A trace that was wanted and could not be written is an error, but only after the results were shown.
    written?;
    Ok(if ran.outcome.storm.is_some() {
        Exit::CutShort
    } else if ran.outcome.stopped {
        Exit::Broken
    } else if ran.complete {
        Exit::Fine
    } else {
        Exit::Interrupted
    })
}

/// Reads the scenario, with what the command line changes in it. Edits are made with the seed they were made with, if
/// no other is given.
fn read(args: &Args, edits: Option<&Header>) -> anyhow::Result<Subject> {
    let document = match &args.file {
        Some(path) => document::read(path, &args.set)?.0,
        None => {
            let mut reference = Document::reference();
            document::apply(&mut reference, &args.set)?;
            reference
        }
    };
    let scenario = document.resolve().map_err(document::file_error)?;
    if let Some(edits) = edits.filter(|edits| edits.settings != args.settings()) {
        let given: String = edits.settings.iter().map(|setting| format!(" --set {}", quoted(setting))).collect();
        let given = if given.is_empty() { " no --set" } else { &given };
        anstream::eprintln!("{} these edits were made with{given}", styled(PARTIAL, "note:"));
    }
    let seed = args.seed.or(edits.map(|edits| edits.seed)).unwrap_or_else(|| document.seed());
    Ok(Subject { file: args.file.as_ref().map(|path| path.display().to_string()), document, scenario, seed })
}

/// Runs the scenario; beside the run, whether its trace was written.
fn execute(subject: &Subject, args: &Args, edits: &Edits) -> anyhow::Result<(Ran, anyhow::Result<()>)> {
    let Subject { scenario, seed, .. } = subject;
    let replay = replay(subject, args, args.edits.as_deref());
    let output = trace_file(args)?;
    let mut ticker = Ticker::new(scenario, interrupt::flag()?, args.quiet);
    let start = Instant::now();
    let about = about(subject, args, &replay);
    let traced = match output {
        None => run_edited(scenario, *seed, edits, &mut ticker).map(|outcome| Traced { outcome, written: Ok(()) }),
        Some(output) => run_traced(scenario, *seed, edits, &mut ticker, output, &about),
    };
    let wall = start.elapsed();
    ticker.clear();
    let Traced { outcome, written } = traced?;
    ticker.conclude(&outcome, wall);
    let trace = args.trace.as_ref().map(|path| path.display().to_string());
    let written =
        written.map_err(|error| anyhow!("cannot write the trace {}: {error}", trace.as_deref().unwrap_or("")));
    let complete = !ticker.has_ended();
    let mut measures = measures(scenario, &outcome);
    if !complete {
        // Who still waits might have been served.
        measures.remove("stuck");
    }
    Ok((Ran { outcome, measures, complete, wall, replay, trace }, written))
}

/// The file in which the run is recorded, if it is.
fn trace_file(args: &Args) -> anyhow::Result<Option<BufWriter<File>>> {
    let Some(path) = &args.trace else { return Ok(None) };
    Ok(Some(BufWriter::new(output::create(path, args.force)?)))
}

fn about(subject: &Subject, args: &Args, replay: &str) -> About {
    let file = subject.file.as_deref().unwrap_or("reference");
    let settings = args.settings();
    About {
        views: args.views,
        parameters: [("scenario".to_owned(), json!(file)), ("settings".to_owned(), json!(settings))].into(),
        made_by: Some(format!("meshlock {CODE_VERSION}")),
        replay: Some(replay.to_owned()),
    }
}

/// The command that runs this again and records it.
fn replay(subject: &Subject, args: &Args, edits: Option<&Path>) -> String {
    let mut command = "meshlock sim".to_owned();
    if let Some(file) = &subject.file {
        command.push_str(&format!(" {}", quoted(file)));
    }
    command.push_str(&format!(" --seed {}", subject.seed));
    for (key, value) in &args.set {
        command.push_str(&format!(" --set {}", quoted(&format!("{key}={value}"))));
    }
    if let Some(edits) = edits {
        command.push_str(&format!(" --edits {}", quoted(&edits.display().to_string())));
    }
    let trace = args.trace.as_ref().map(|path| path.display().to_string());
    let trace = trace.unwrap_or_else(|| format!("{}.trace.jsonl", file_name(&subject.scenario.name)));
    // It replaces the same trace of the same run.
    command.push_str(&format!(" --trace {} --force", quoted(&trace)));
    if args.views {
        command.push_str(" --views");
    }
    command
}

/// A name of a scenario may have anything in it.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    if name.is_empty() { "sim".to_owned() } else { name.chars().map(safe).collect() }
}

/// What must not be missed, on standard error.
fn tell_end(subject: &Subject, ran: &Ran) {
    tell_stopped(&ran.outcome, subject.seed, &ran.replay);
    if !ran.complete {
        let (now, planned) = (ran.outcome.end, subject.scenario.duration);
        anstream::eprintln!("{} by Ctrl-C; measured until {now} of {planned}", styled(PARTIAL, "ended:"));
    }
}

/// The storm or the rule that ended a run, if one did.
fn tell_stopped(outcome: &Outcome, seed: u64, replay: &str) {
    if let Some(storm) = &outcome.storm {
        anstream::eprintln!("{} {storm}", styled(PARTIAL, "stopped:"));
        anstream::eprintln!("  no end is in sight; if this is no mistake, raise the limit with --set");
    } else if let Some(broken) = outcome.broken.last().filter(|_| outcome.stopped) {
        let place = broken.node.map(|node| format!(", node {node}")).unwrap_or_default();
        let (rule, at) = (broken.rule, broken.at);
        anstream::eprintln!("{} {rule} at {at}{place}, seed {seed}: {}", styled(ALARM, "broken:"), broken.words);
        anstream::eprintln!("  rule: {}", rule.words());
        anstream::eprintln!("  see it with: {replay}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_replay_command_has_all_that_decides_the_run() {
        let set = vec![("traffic.think".to_owned(), "uniform(0s, 1s)".to_owned())];
        let args = Args { set, seed: Some(7), ..Args::default() };
        let mut subject = read(&args, None).unwrap();
        subject.file = Some("my runs/it's.toml".to_owned());
        assert_eq!(
            replay(&subject, &args, None),
            r"meshlock sim 'my runs/it'\''s.toml' --seed 7 --set 'traffic.think=uniform(0s, 1s)' --trace reference.trace.jsonl --force"
        );
        let kept = replay(&subject, &args, Some(Path::new("a b.jsonl")));
        assert!(kept.contains(" --edits 'a b.jsonl' --trace "), "{kept}");
        assert_eq!(file_name("two words/and a slash"), "two-words-and-a-slash");
    }
}
