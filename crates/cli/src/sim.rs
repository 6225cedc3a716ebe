//! `meshlock sim`: one simulated run of a scenario, and what it measured.

mod args;
mod help;
mod json;
mod progress;
mod summary;
mod units;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use meshlock_sim::measures::{Measures, measures};
use meshlock_sim::outcome::Outcome;
use meshlock_sim::record::{About, Traced, run_traced};
use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::{Document, reference_table, schema};
use meshlock_study::identity::CODE_VERSION;
use meshlock_study::shell::quoted;
use serde_json::json;

use self::progress::Ticker;
use crate::exit::Exit;
use crate::style::{ALARM, PARTIAL, styled};
use crate::{document, interrupt, output};

pub(crate) use self::args::Args;

/// A scenario that can be run.
struct Subject {
    /// As it was named on the command line, if it was.
    file: Option<String>,
    document: Document,
    scenario: Scenario,
    seed: u64,
}

/// A run that has ended.
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

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.schema || args.keys {
        let text = if args.schema { schema() } else { reference_table() };
        writeln!(std::io::stdout(), "{}", text.trim_end())?;
        return Ok(Exit::Fine);
    }
    let subject = read(args)?;
    let (ran, written) = execute(&subject, args)?;
    if args.json {
        output::json(&json::Run::of(&subject, &ran))?;
    } else {
        summary::tell(&mut anstream::stdout().lock(), &subject, &ran)?;
    }
    tell_end(&subject, &ran);
    // A trace that was wanted and could not be written is an error, but only after the results were shown.
    written?;
    Ok(if ran.outcome.stopped {
        Exit::Broken
    } else if ran.complete {
        Exit::Fine
    } else {
        Exit::Interrupted
    })
}

/// Reads the scenario, with what the command line changes in it.
fn read(args: &Args) -> anyhow::Result<Subject> {
    let document = match &args.file {
        Some(path) => document::read(path, &args.set)?.0,
        None => {
            let mut reference = Document::reference();
            document::apply(&mut reference, &args.set)?;
            reference
        }
    };
    let scenario = document.resolve().map_err(document::file_error)?;
    let seed = args.seed.unwrap_or_else(|| document.seed());
    Ok(Subject { file: args.file.as_ref().map(|path| path.display().to_string()), document, scenario, seed })
}

/// Runs the scenario; beside the run, whether its trace was written.
fn execute(subject: &Subject, args: &Args) -> anyhow::Result<(Ran, anyhow::Result<()>)> {
    let Subject { scenario, seed, .. } = subject;
    let replay = replay(subject, args);
    let output: Option<Box<dyn Write>> = match &args.trace {
        None => None,
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write the trace {}", path.display()))?;
            Some(Box::new(BufWriter::new(file)))
        }
    };
    let mut ticker = Ticker::new(scenario, interrupt::flag()?, args.quiet);
    let start = Instant::now();
    let traced = match output {
        None => meshlock_sim::run::run(scenario, *seed, &mut ticker).map(|outcome| Traced { outcome, written: Ok(()) }),
        Some(output) => run_traced(scenario, *seed, &mut ticker, output, &about(subject, args, &replay)),
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

fn about(subject: &Subject, args: &Args, replay: &str) -> About {
    let file = subject.file.as_deref().unwrap_or("reference");
    let settings: Vec<String> = args.set.iter().map(|(key, value)| format!("{key}={value}")).collect();
    About {
        views: args.views,
        parameters: [("scenario".to_owned(), json!(file)), ("settings".to_owned(), json!(settings))].into(),
        made_by: Some(format!("meshlock {CODE_VERSION}")),
        replay: Some(replay.to_owned()),
    }
}

/// The command that runs this again and records it.
fn replay(subject: &Subject, args: &Args) -> String {
    let mut command = "meshlock sim".to_owned();
    if let Some(file) = &subject.file {
        command.push_str(&format!(" {}", quoted(file)));
    }
    command.push_str(&format!(" --seed {}", subject.seed));
    for (key, value) in &args.set {
        command.push_str(&format!(" --set {}", quoted(&format!("{key}={value}"))));
    }
    let trace = args.trace.as_ref().map(|path| path.display().to_string());
    let trace = trace.unwrap_or_else(|| format!("{}.trace.jsonl", file_name(&subject.scenario.name)));
    command.push_str(&format!(" --trace {}", quoted(&trace)));
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
    if let Some(broken) = ran.outcome.broken.last().filter(|_| ran.outcome.stopped) {
        let place = broken.node.map(|node| format!(", node {node}")).unwrap_or_default();
        let (rule, at, seed) = (broken.rule, broken.at, subject.seed);
        anstream::eprintln!("{} {rule} at {at}{place}, seed {seed}: {}", styled(ALARM, "broken:"), broken.words);
        anstream::eprintln!("  rule: {}", rule.words());
        anstream::eprintln!("  see it with: {}", ran.replay);
    }
    if !ran.complete {
        let (now, planned) = (ran.outcome.end, subject.scenario.duration);
        anstream::eprintln!("{} by Ctrl-C; measured until {now} of {planned}", styled(PARTIAL, "ended:"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_replay_command_has_all_that_decides_the_run() {
        let set = vec![("traffic.think".to_owned(), "uniform(0s, 1s)".to_owned())];
        let args = Args { set, seed: Some(7), ..Args::default() };
        let mut subject = read(&args).unwrap();
        subject.file = Some("my runs/it's.toml".to_owned());
        assert_eq!(
            replay(&subject, &args),
            r"meshlock sim 'my runs/it'\''s.toml' --seed 7 --set 'traffic.think=uniform(0s, 1s)' --trace reference.trace.jsonl"
        );
        assert_eq!(file_name("two words/and a slash"), "two-words-and-a-slash");
    }
}
