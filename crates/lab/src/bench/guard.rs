//! `meshlock bench guard`: does a lock protect what it guards, while nodes and clients are killed and stopped and links
//! change?
//!
//! Nodes and clients are processes. Clients take a lock, read a counter, think, and write it back increased. A counter that is
//! smaller than the number of writes tells how many updates were lost.

mod client;
mod clients;
mod report;
mod store;
mod torment;

use std::time::{Duration, Instant};

use anyhow::Context;
use meshlock_api::duration;

use meshlock_cli::exit::Exit;
use meshlock_cli::output;
use meshlock_cli::signals::Signals;
use meshlock_cli::start_log;
use meshlock_cli::status_line::{Destination, StatusLine};

pub(crate) use self::client::{Args as ClientArgs, run as run_client};
use self::clients::Clients;
use self::report::Report;
use self::store::Store;
use self::torment::{Torment, all_links};
use super::processes::{Mesh, Plan, Recovery, Ways};

/// What is locked.
const RESOURCE: &str = "guarded";

const LONG_ABOUT: &str = "\
Does a lock protect what it guards?

Nodes and clients are processes on the loopback interface. Each client takes the lock, reads a counter from a file, \
thinks for some milliseconds and writes the counter back, increased by one. Meanwhile clients are killed and restarted, \
and suspended for longer than the lease and resumed; links are cut and come back; nodes are killed and restarted, and \
suspended for longer than their standing. Clients do not check whether they still hold the lock before they write, which \
is the worst that a client can do.

The file rejects a fence smaller than the greatest it has seen, unless --no-fences is given. At the \
end the counter is compared with the number of writes; the difference is the number of lost updates.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock bench guard
      five nodes, five clients, two minutes
  meshlock bench guard --no-fences
      what leases alone are worth
  meshlock bench guard --recovery restart
      a node that is killed is waited for; there are no voters
  meshlock bench guard --minutes 60 --lease 500ms --seed 7 --json
      longer and harder, for a program

\x1b[1;4mExit codes:\x1b[0m
    0  nothing was lost, or --no-fences was given
    1  an update was lost although fences were on
    2  the bench itself failed
  130  ended by Ctrl-C; what was seen so far is told";

/// Does a lock protect what it guards, while nodes and clients die and sleep and links change?
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples and exit codes.")]
pub(crate) struct Args {
    /// Nodes of the mesh.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=50))]
    nodes: u16,
    /// Clients, spread over the nodes.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    clients: u16,
    /// How long, in minutes.
    #[arg(long, value_name = "MINUTES", default_value_t = 2.0, value_parser = minutes)]
    minutes: f64,
    /// The lease of the clients; they are stopped for longer than this.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = lease)]
    lease: Duration,
    /// How long a client thinks between reading and writing, on average.
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = duration::parse)]
    think: Duration,
    /// How the mesh recovers from killed nodes; with none, nodes are neither killed nor stopped.
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Recovery::Voters)]
    recovery: Recovery,
    /// With voters: how long a node may act after it last asked them.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = standing)]
    standing: Duration,
    /// Let the file accept whatever is written.
    #[arg(long)]
    no_fences: bool,
    /// Decides what is done to whom, and when.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// One JSON document on standard output.
    #[arg(long)]
    json: bool,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|_| "write a number of minutes, such as 2 or 0.5".to_owned())?;
    if minutes > 0.0 && minutes <= 7.0 * 24.0 * 60.0 {
        return Ok(minutes);
    }
    Err("give more than 0 minutes, and at most a week".to_owned())
}

/// Links are given up after a second, which must be at most a third of it.
fn standing(text: &str) -> Result<Duration, String> {
    let standing = duration::parse(text)?;
    let is_fit = (Duration::from_secs(3)..=Duration::from_secs(20)).contains(&standing);
    if is_fit { Ok(standing) } else { Err("give 3s to 20s".to_owned()) }
}

fn lease(text: &str) -> Result<Duration, String> {
    let lease = duration::parse(text)?;
    meshlock_api::resource::check_lease(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))?;
    Ok(lease)
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    start_log("error", Default::default())?;
    let place = tempfile::Builder::new().prefix("meshlock-").tempdir().context("cannot make a temporary directory")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(go(args, place.path()))
}

async fn go(args: &Args, place: &std::path::Path) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let nodes = usize::from(args.nodes);
    let plan = Plan {
        nodes,
        ways: Ways::Relayed(all_links(nodes), args.seed),
        recovery: args.recovery,
        standing: args.standing,
        loss_after: Some(Duration::from_secs(1)),
        resources: format!("[resources.{RESOURCE}]\n"),
    };
    let binary = std::env::current_exe().context("cannot find this program to start nodes")?;
    let started = tokio::select! {
        started = Mesh::start(&binary, place, plan) => Some(started.context("the mesh cannot be started")?),
        _ = signals.end() => None,
    };
    let Some(mut mesh) = started else { return Ok(Exit::Interrupted) };
    let file = place.join("counter");
    let mut store = Store::make(&file)?;
    let mut clients = Clients::new(args, mesh.sockets(), place);
    let began = Instant::now();
    let length = Duration::from_secs_f64(args.minutes * 60.0);
    let mut torment = Torment::new(args);
    let mut line = StatusLine::new(false);
    let interrupted = tokio::select! {
        _ = signals.end() => true,
        ended = torment.run(&mut mesh, &mut clients, length) => {
            ended?;
            false
        }
        never = show(&mut line, began, length, &mut store) => never?,
    };
    let lasted = began.elapsed();
    clients.end();
    line.clear();
    let report = Report::make(args, lasted, &torment.done, &store.history()?, &clients.logs()?)?;
    if args.json {
        output::json(&report)?;
    } else {
        report.print()?;
    }
    drop(mesh);
    Ok(match () {
        () if report.lost > 0 && !args.no_fences => Exit::Broken,
        () if interrupted => Exit::Interrupted,
        () => Exit::Fine,
    })
}

/// Reports progress. Never returns.
async fn show(line: &mut StatusLine, began: Instant, length: Duration, store: &mut Store) -> anyhow::Result<bool> {
    let every = match line.destination() {
        Destination::Terminal => Duration::from_secs(1),
        Destination::File | Destination::Nowhere => Duration::from_secs(30),
    };
    loop {
        tokio::time::sleep(every).await;
        let (writes, counter) = store.history()?.writes_and_counter();
        let text = format!(
            "{} of {}: {writes} writes, the counter is {counter}",
            duration::display(Duration::from_secs(began.elapsed().as_secs())),
            duration::display(length)
        );
        if line.destination() == Destination::Terminal {
            line.show(&text);
        } else {
            line.print(&text);
        }
    }
}
