//! `meshlock bench scale`: many nodes, many processes, many resources and clients, and what each of them costs.

mod crossing;
mod crowd;
mod grid;
mod limits;
mod one_process;
mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use meshlock_cli::exit::Exit;
use meshlock_cli::output;
use meshlock_cli::signals::Signals;
use meshlock_cli::status_line::StatusLine;

use self::report::Report;

const LONG_ABOUT: &str = "\
Measure what many nodes, resources and clients cost on this machine.

Three parts: a mesh in one process (`meshlock up --nodes N`, a ring); a mesh of processes in network namespaces, linked as \
a grid whose nodes find each other by beacons, for which root is needed; one node with many resources and connected clients. \
Processor time is that of the nodes alone, as the system counts it, so other work on the machine does not count; times to \
start and to cross the mesh do suffer from it.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  sudo meshlock bench scale
      all three parts: about two minutes
  meshlock bench scale --only mesh --nodes 30
      a smaller mesh in one process
  meshlock bench scale --only crowd --json > crowd.json
      for programs

\x1b[1;4mExit codes:\x1b[0m
    0  measured; also when a goal is missed, or a part needs root
    2  wrong arguments, or something could not be measured
  130  ended by Ctrl-C";

/// Measure what many nodes, resources and clients cost on this machine.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples.")]
pub(crate) struct Args {
    /// The program whose nodes are measured [default: this one].
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Only this part.
    #[arg(long, value_name = "PART", value_enum)]
    only: Option<Part>,
    /// Nodes in one process.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(3..=200))]
    nodes: u16,
    /// The grid of processes, as rows and columns.
    #[arg(long, value_name = "RxC", default_value = "6x10", value_parser = shape)]
    grid: (usize, usize),
    /// Resources of one node.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    resources: u32,
    /// Clients that are connected with it.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    clients: u32,
    /// How long idle nodes are watched.
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// One JSON document instead of a table.
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Many nodes in one process
    Mesh,
    /// Many processes in network namespaces
    Grid,
    /// Many resources and clients of one node
    Crowd,
}

/// At most 200 nodes, and two of them are not the same.
fn shape(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('x').and_then(|(rows, columns)| Some((rows.parse().ok()?, columns.parse().ok()?)));
    let fits = |(rows, columns): &(usize, usize)| (2..=200).contains(&rows.saturating_mul(*columns));
    numbers.filter(fits).ok_or_else(|| "write rows and columns such as 6x10, with 2 to 200 nodes in all".to_owned())
}

impl Args {
    fn has(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    fn watched(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    // Paths of sockets must be short.
    let place = tempfile::Builder::new().prefix("meshlock-").tempdir().context("cannot make a temporary directory")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut report = Report::default();
    let interrupted = runtime.block_on(go(args, place.path(), &mut report))?;
    runtime.shutdown_background(); // the first line of a node may still be waited for
    if args.json {
        output::json(&report)?;
    } else {
        report.print()?;
    }
    Ok(if interrupted { Exit::Interrupted } else { Exit::Fine })
}

/// Whether it was interrupted.
async fn go(args: &Args, place: &Path, report: &mut Report) -> anyhow::Result<bool> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        _ = signals.end() => Ok(true),
        measured = measure(args, place, report) => measured.map(|()| false),
    }
}

async fn measure(args: &Args, place: &Path, report: &mut Report) -> anyhow::Result<()> {
    let binary = args.binary.clone().map_or_else(std::env::current_exe, Ok)?;
    if args.has(Part::Mesh) {
        tell(&format!("measuring: {} nodes in one process", args.nodes));
        one_process::measure(&binary, &place.join("m"), args, report).await.context("nodes in one process")?;
    }
    if args.has(Part::Grid) {
        let (rows, columns) = args.grid;
        tell(&format!("measuring: {} processes in network namespaces, {rows} x {columns}", rows * columns));
        grid::measure(&binary, &place.join("g"), args, report).await.context("processes in network namespaces")?;
    }
    if args.has(Part::Crowd) {
        tell(&format!("measuring: one node, {} resources, {} clients", args.resources, args.clients));
        crowd::measure(&binary, &place.join("c"), args, report).await.context("resources and clients")?;
    }
    Ok(())
}

/// A line that says what is measured now.
fn tell(what: &str) {
    StatusLine::new(false).print(what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_two_nodes_at_least_and_200_at_most() {
        assert_eq!((shape("6x10"), shape("1x2"), shape("10x20")), (Ok((6, 10)), Ok((1, 2)), Ok((10, 20))));
        for wrong in ["", "6", "1x1", "0x5", "21x10", "-1x-4", "6x10x2", "99999999999x99999999999"] {
            assert!(shape(wrong).is_err(), "{wrong}");
        }
    }
}
