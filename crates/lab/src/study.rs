//! `meshlock study`: many runs of a scenario, averaged, compared and drawn.

mod args;
mod dry;
mod progress;
mod tell;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use meshlock_report::shell::quoted;
use meshlock_sim::CODE_VERSION;
use meshlock_sim::scenario::file::StudySpec;
use meshlock_study::conduct::{Orders, Results, conduct};
use meshlock_study::files;
use meshlock_study::page::Background;
use meshlock_study::plan::Plan;
use meshlock_study::store::{Begin, Store};
use meshlock_study::subject::Simulator;
use meshlock_study::summary::Summary;

use self::progress::Ticker;
use crate::{document, interrupt};
use meshlock_cli::exit::Exit;
use meshlock_cli::output;

pub(crate) use self::args::Args;

struct Subject {
    plan: Plan,
    text: String,
    file: String,
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let subject = read(args)?;
    if args.dry_run {
        return dry::run(&subject.plan, &subject.out, args.json);
    }
    let begin = match (args.resume, args.fresh) {
        (true, _) => Begin::Resume,
        (_, true) => Begin::Fresh,
        (false, false) => Begin::GoOn,
    };
    let store = Store::open(&subject.out, &subject.plan, begin)?;
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let cancel = interrupt::flag()?;
    let mut ticker = Ticker::new(&subject.plan, args.quiet);
    let orders = Orders { jobs, shard: args.shard, cancel: &cancel };
    let results = conduct(&subject.plan, &store, &Simulator, &orders, &mut ticker);
    ticker.clear();
    let results = results?;
    tell::corrupt(&results);
    if args.shard.is_whole() { whole(&subject, args, &store, &results) } else { share(&subject, args, &results) }
}

/// Makes everything of the runs and shows it.
fn whole(subject: &Subject, args: &Args, store: &Store, results: &Results) -> anyhow::Result<Exit> {
    let Subject { plan, text, file, out } = subject;
    let summary = Summary::of(plan, results);
    let command = command(args, file, None);
    let background = Background { file, text, command: &command };
    let names = files::write(plan, results, &summary, &background, store)?;
    if args.json {
        output::json(&summary)?;
    } else {
        tell::table(plan, &summary)?;
        tell::files(out, &names, results)?;
    }
    tell::trouble(&summary, file);
    Ok(end(subject, args, results))
}

/// A share makes run files only: means would be of some of the runs.
fn share(subject: &Subject, args: &Args, results: &Results) -> anyhow::Result<Exit> {
    if args.json {
        tell::share_json(results)?;
    } else {
        tell::share(&subject.out, &command(args, &subject.file, Some(&subject.out)), results)?;
    }
    tell::trouble(&Summary::of(&subject.plan, results), &subject.file);
    Ok(end(subject, args, results))
}

/// How the command ends, with the way to go on if it was ended.
fn end(subject: &Subject, args: &Args, results: &Results) -> Exit {
    let exit = exit(results);
    if exit == Exit::Interrupted {
        let mut again = command(args, &subject.file, Some(&subject.out));
        if !args.shard.is_whole() {
            again.push_str(&format!(" --shard {}", args.shard));
        }
        tell::interrupted(results, &again);
    }
    exit
}

fn exit(results: &Results) -> Exit {
    if results.interrupted {
        Exit::Interrupted
    } else if results.broken().next().is_some() {
        Exit::Broken
    } else if !results.failures.is_empty() {
        Exit::Failed
    } else if results.stopped().next().is_some() {
        Exit::CutShort
    } else {
        Exit::Fine
    }
}

/// Reads a study file, with what the command line changes in it.
fn read(args: &Args) -> anyhow::Result<Subject> {
    let path = &args.file;
    let file = path.display().to_string();
    let (document, text) = document::read(path, &args.set)?;
    let spec = document.study().map_err(document::file_error)?;
    let spec = match (spec, args.repeat) {
        (Some(spec), repeat) => StudySpec { repeat: repeat.unwrap_or(spec.repeat), ..spec },
        (None, Some(repeat)) => StudySpec { repeat, seed: 1, ..StudySpec::default() },
        (None, None) => bail!("{file} has no [study] part\nadd one, or say how often to run it with --repeat"),
    };
    let name = path.file_stem().map_or_else(|| "study".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let plan = Plan::of(&name, &spec, &document, CODE_VERSION).with_context(|| file.clone())?;
    let out = args.out.clone().unwrap_or_else(|| Path::new("results").join(&name));
    Ok(Subject { plan, text, file, out })
}

/// The command that gives these results; in this directory, if one is named and it is not the usual one.
fn command(args: &Args, file: &str, out: Option<&Path>) -> String {
    let mut command = format!("meshlock study {}", quoted(file));
    for (key, value) in &args.set {
        command.push_str(&meshlock_study::plan::set_option(key, value));
    }
    if let Some(repeat) = args.repeat {
        command.push_str(&format!(" --repeat {repeat}"));
    }
    if let Some(out) = out.filter(|_| args.out.is_some()) {
        command.push_str(&format!(" --out {}", quoted(&out.display().to_string())));
    }
    command
}

#[cfg(test)]
mod tests {
    use meshlock_study::conduct::{Failure, Job, Run};
    use meshlock_study::record::{FORMAT, RunRecord};

    use super::*;

    #[test]
    fn the_worst_decides_how_it_ends() {
        let job = Job { point: 0, replication: 0, hash: String::new() };
        let record = |stopped, storm: bool| RunRecord {
            format: FORMAT,
            experiment: String::new(),
            measurement: [].into(),
            replication: 0,
            seed: 1,
            scenario_hash: String::new(),
            code_version: String::new(),
            wall_s: 0.0,
            stopped,
            storm: storm.then(|| "storm at 1s".to_owned()),
            broken: Vec::new(),
            measures: [].into(),
        };
        let run = |stopped, storm| Run { job: job.clone(), record: record(stopped, storm) };
        let mut results = Results { runs: vec![run(false, false)], ..Results::default() };
        assert_eq!(exit(&results), Exit::Fine);
        results.runs.push(run(true, true));
        assert_eq!(exit(&results), Exit::CutShort);
        results.failures.push(Failure { job: job.clone(), why: "no such protocol".to_owned() });
        assert_eq!(exit(&results), Exit::Failed);
        results.runs.push(run(true, false));
        assert_eq!(exit(&results), Exit::Broken);
        results.interrupted = true;
        assert_eq!(exit(&results), Exit::Interrupted);
    }
}
