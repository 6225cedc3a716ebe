//! `meshlock bench kills`: how long a lock is out of service when a node is killed, paused or restarted.
//!
//! Nodes are processes on the loopback, as in the README; clients of them are in this process.

mod faults;
mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use meshlock_api::duration;

use meshlock_cli::exit::Exit;
use meshlock_cli::output;
use meshlock_cli::signals::Signals;
use meshlock_cli::status_line::{Destination, StatusLine};

use self::faults::{Fault, Scene};
use self::report::Report;
use super::processes::{Mesh, Plan, Recovery};

const LONG_ABOUT: &str = "\
Measure how long a lock is out of service when something happens to a node.

Nodes run as processes on the loopback interface, set up as in the README. In each round a client holds a lock at one \
node and another one waits for it at a second node; then the fault happens, and the time is taken until the waiter has \
the lock. Afterwards all nodes run again.

The goal is 1.1 times the standing and one second for what voters have to find out, and three seconds for a node that \
is started again within two seconds and whose clients held nothing.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock bench kills
      the holder's node is killed for good, 50 times, with a standing of 10 s: 12 minutes
  meshlock bench kills --fault idle-restarted --kills 20
      a supervisor starts the node again after one second, and nothing was held
  meshlock bench kills --recovery restart --fault restarted --json
      without voters, for a program

\x1b[1;4mExit codes:\x1b[0m
    0  measured; also when a goal is missed
    2  wrong arguments, or something could not be measured
  130  ended by Ctrl-C; what was measured so far is told";

/// Measure how long a lock is out of service when a node is killed.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples.")]
pub(crate) struct Args {
    /// The program whose nodes are killed [default: this one].
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// What happens.
    #[arg(long, value_name = "FAULT", value_enum, default_value_t = Fault::Killed)]
    fault: Fault,
    /// How often.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    kills: u32,
    /// How the mesh recovers.
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Recovery::Voters)]
    recovery: Recovery,
    /// With voters: how long a node may act after it last asked them.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = standing)]
    standing: Duration,
    /// One JSON document on standard output.
    #[arg(long)]
    json: bool,
}

/// Links are given up after 2.5 s, which must be at most a third of it.
fn standing(text: &str) -> Result<Duration, String> {
    let standing = duration::parse(text)?;
    let is_fit = (Duration::from_secs(8)..=Duration::from_secs(60)).contains(&standing);
    if is_fit { Ok(standing) } else { Err("give 8s to 60s".to_owned()) }
}

impl Args {
    /// The command that measures the same.
    fn command(&self) -> String {
        let standing = match self.recovery {
            Recovery::Voters => format!(" --standing {}", duration::display(self.standing)),
            Recovery::Restart | Recovery::None => String::new(),
        };
        let (fault, kills, recovery) = (self.fault.word(), self.kills, self.recovery.word());
        format!("meshlock bench kills --fault {fault} --kills {kills} --recovery {recovery}{standing}")
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    ensure!(
        args.recovery != Recovery::None,
        "what is killed in a mesh without recovery is lost: give voters or restart"
    );
    // Paths of sockets must be short.
    let place = tempfile::Builder::new().prefix("meshlock-").tempdir().context("cannot make a temporary directory")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut report = Report::new(args);
    let interrupted = runtime.block_on(go(args, place.path(), &mut report))?;
    runtime.shutdown_background(); // a client may still wait for a node
    if args.json {
        output::json(&report.document())?;
    } else {
        report.print()?;
    }
    Ok(if interrupted { Exit::Interrupted } else { Exit::Fine })
}

/// Whether it was interrupted.
async fn go(args: &Args, place: &Path, report: &mut Report) -> anyhow::Result<bool> {
    let mut signals = Signals::listen()?;
    let mut line = StatusLine::new(false);
    tokio::select! {
        _ = signals.end() => Ok(true),
        measured = measure(args, place, report, &mut line) => {
            line.clear();
            measured.map(|()| false)
        }
    }
}

async fn measure(args: &Args, place: &Path, report: &mut Report, line: &mut StatusLine) -> anyhow::Result<()> {
    let binary = args.binary.clone().map_or_else(std::env::current_exe, Ok)?;
    let plan = Plan {
        nodes: args.fault.nodes(),
        ways: args.fault.ways(),
        recovery: args.recovery,
        standing: args.standing,
        loss_after: None,
        resources: "[resources.pair]\nkind = \"semaphore\"\ncapacity = 2\n".to_owned(),
    };
    let mesh = Mesh::start(&binary, place, plan).await.context("the mesh cannot be started")?;
    let mut scene = Scene::new(mesh).await?;
    for number in 1..=args.kills {
        let took = scene.round(args.fault, number as usize).await.with_context(|| format!("round {number}"))?;
        report.times.push(took);
        let text = format!("{number} of {}: {:.2} s", args.kills, took.as_secs_f64());
        if line.destination() == Destination::Terminal {
            line.show(&text);
        } else {
            line.print(&text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_that_links_cannot_keep_is_refused() {
        assert_eq!(standing("8s"), Ok(Duration::from_secs(8)));
        assert!(standing("7s").is_err() && standing("61s").is_err() && standing("x").is_err());
    }
}
