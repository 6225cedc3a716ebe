//! `meshlock trace`: recordings put together, and run again.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Subcommand;
use meshlock_audit::{Audited, audit};
use meshlock_core::NodeId;
use meshlock_trace::merge;
use serde::Serialize;

use crate::exit::Exit;
use crate::output;
use crate::style::{self, styled};

const MERGE: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock trace merge ann.dock.jsonl bob.dock.jsonl -o dock.jsonl
  meshlock trace audit dock.jsonl";

/// Put recordings of several processes together, and run recordings again
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Merge traces of one resource that several processes recorded
    ///
    /// Processes of one machine share a clock, so their order is exact. Otherwise wall clocks have to do, and a warning
    /// says so.
    #[command(after_help = MERGE)]
    Merge {
        /// Traces of the same resource of the same mesh
        #[arg(required = true, value_name = "TRACE")]
        inputs: Vec<PathBuf>,
        /// The merged trace
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Replace the merged trace if it is there already
        #[arg(long)]
        force: bool,
    },
    /// Run a recorded trace again and compare: every event, effect and view, every message, and the rules
    ///
    /// Works for traces of `meshlock sim --trace` and of nodes, of the repaired reverse-link, flood, and group over the
    /// relay. Ends with 0 if all is as recorded, 1 with a difference or a broken rule, 2 if the trace cannot be read.
    Audit {
        /// The trace
        file: PathBuf,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Merge { inputs, output, force } => run_merge(output, inputs, *force),
        Command::Audit { file, json } => run_audit(file, *json),
    }
}

fn run_merge(out: &Path, inputs: &[PathBuf], force: bool) -> anyhow::Result<Exit> {
    let mut readers = Vec::new();
    for path in inputs {
        let is_out = fs::canonicalize(out).is_ok_and(|out| fs::canonicalize(path).is_ok_and(|path| path == out));
        if is_out {
            bail!("{} is to be read and written at once; give the merged trace another name", out.display());
        }
        readers.push((path.display().to_string(), open(path)?));
    }
    output::refuse_existing(out, force)?;
    // A merged trace of before stays as it is until the new one is whole.
    let mut part = OsString::from(out);
    part.push(".part");
    let part = PathBuf::from(part);
    let file = File::create(&part).with_context(|| format!("cannot write {}", part.display()))?;
    let merged = match merge(readers, BufWriter::new(file)) {
        Ok(merged) => merged,
        Err(error) => {
            // What is left behind would only be in the way; that it cannot be removed is not what went wrong.
            let _ = fs::remove_file(&part);
            // It says all that its causes say.
            return Err(anyhow!("{error}"));
        }
    };
    fs::rename(&part, out).with_context(|| format!("cannot write {}", out.display()))?;
    for warning in &merged.warnings {
        anstream::eprintln!("{} {warning}", styled(style::PARTIAL, "warning:"));
    }
    let mut stdout = anstream::stdout().lock();
    let order = if merged.exact { "in exact order" } else { "by wall clocks" };
    let (traces, lines, nodes) = (inputs.len(), merged.lines, merged.nodes);
    let (traces, lines, nodes) =
        (counted(traces as u64, "trace"), counted(lines, "line"), counted(nodes as u64, "node"));
    writeln!(stdout, "{}: {traces} merged {order}, {lines}, {nodes}", out.display())?;
    Ok(Exit::Fine)
}

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    file: String,
    fine: bool,
    #[serde(flatten)]
    audited: &'a Audited,
}

fn run_audit(file: &Path, json: bool) -> anyhow::Result<Exit> {
    // The error says all that its causes say.
    let audited = audit(open(file)?).map_err(|error| anyhow!("{}: {error}", file.display()))?;
    let fine = audited.difference.is_none();
    if json {
        output::json(&Document { file: file.display().to_string(), fine, audited: &audited })?;
    } else {
        tell(&mut anstream::stdout().lock(), file, &audited)?;
    }
    Ok(if fine { Exit::Fine } else { Exit::Broken })
}

fn tell(out: &mut impl Write, file: &Path, audited: &Audited) -> anyhow::Result<()> {
    if let Some(wrong) = &audited.difference {
        let place = wrong.node.map(|NodeId(node)| format!(", node {node}")).unwrap_or_default();
        let rule = wrong.rule.as_ref().map(|rule| format!("{rule} is broken: ")).unwrap_or_default();
        writeln!(out, "{}, line {}{place}: {rule}{}", file.display(), wrong.line, wrong.what)?;
        if audited.by_wall_clock {
            let why = "merged by wall clocks: what happened on different machines may stand in the wrong order";
            output::labelled(out, "note", why)?;
        }
        return Ok(());
    }
    let (events, nodes) = (counted(audited.events, "event"), counted(audited.nodes, "node"));
    let verdict = if audited.skipped.is_empty() { "all as recorded" } else { "all that were run again as recorded" };
    writeln!(out, "{}: {events} of {nodes}, {verdict}", file.display())?;
    output::labelled(out, "protocol", &audited.protocol)?;
    output::labelled(out, "rules", &audited.rules.join(", "))?;
    let messages = counted(audited.messages, "message");
    output::labelled(out, "messages", &format!("{messages} arrived as sent"))?;
    if audited.unchecked_messages > 0 {
        let count = counted(audited.unchecked_messages, "message");
        output::labelled(out, "note", &format!("{count} from or to nodes that are not recorded from their beginning"))?;
    }
    for skipped in &audited.skipped {
        let (name, events) = (&skipped.name, counted(skipped.events, "event"));
        output::labelled(out, "note", &format!("{events} of {name} not run again: {}", skipped.reason))?;
    }
    if !audited.ended {
        output::labelled(out, "note", "the trace has no end: it was cut off, or is still being written")?;
    }
    Ok(())
}

fn open(path: &Path) -> anyhow::Result<BufReader<File>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        bail!("{} is a folder; name a trace in it", path.display());
    }
    Ok(BufReader::new(file))
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
