//! `meshlock bench lock`: how fast locks are on this machine, each figure beside the floor it is compared with.

mod args;
mod bed;
mod embedded;
mod figures;
mod handover;
mod idle;
mod link;
mod socket;
mod table;
mod throughput;

use std::time::Duration;

use anyhow::Context;
use meshlock_node::links::Transport;

use meshlock_cli::exit::Exit;
use meshlock_cli::signals::Signals;
use meshlock_cli::status_line::StatusLine;

pub(crate) use self::args::Args;
use self::figures::Report;

/// How everything is measured.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// How long each figure is measured.
    time: Duration,
    transport: Transport,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let plan = Plan { time: Duration::from_secs_f64(args.seconds), transport: args.transport.into() };
    let report = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        // On a thread of the runtime like every program with a node in it; this one only waits for Ctrl-C.
        let mut work = tokio::spawn(measure(plan));
        tokio::select! {
            report = &mut work => report.context("a measurement broke off")?.map(Some),
            _ = signals.end() => {
                work.abort();
                // Ends when everything it started is dropped, with all files.
                let _ = work.await;
                Ok(None)
            }
        }
    })?;
    let Some(report) = report else { return Ok(Exit::Interrupted) };
    if args.json {
        meshlock_cli::output::json(&report)?;
    } else {
        table::print(&report)?;
    }
    Ok(Exit::Fine)
}

async fn measure(plan: Plan) -> anyhow::Result<Report> {
    let mut report = Report::new(plan.time, plan.transport);
    // First of all, while the memory of this process is that of the nodes and nothing else.
    tell("an idle node with 1,000 resources and two neighbours");
    report.idle = idle::measure(plan).await?;
    tell("acquire and release in this process");
    embedded::measure(plan, &mut report).await?;
    tell("acquire and release over the node's socket");
    socket::measure(plan, &mut report).await?;
    tell("a message on a link");
    let floor = link::measure(plan, &mut report).await?;
    tell("hand-over between two nodes");
    handover::measure(plan, floor, &mut report).await?;
    throughput::measure(plan, &mut report, |what| tell(&what)).await?;
    Ok(report)
}

/// A line that says what is measured now.
fn tell(what: &str) {
    StatusLine::new(false).print(&format!("measuring: {what}"));
}
