//! What is measured of every mesh: until when it is up, what it costs at rest, how long a lock takes across it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use meshlock::Client;
use tokio::time::sleep;

use super::report::Report;
use crate::bench::vitals::{self, Vitals};

/// What is aimed at.
const UP_S: f64 = 10.0;
const IDLE_PERCENT: f64 = 5.0;
const MS_PER_HOP: f64 = 2.0;

/// A mesh that takes longer is broken; a busy machine is no fault.
const PATIENCE: Duration = Duration::from_secs(120);
/// Acknowledgements, voters and the like are over then.
const SETTLE: Duration = Duration::from_secs(3);
/// How often the lock crosses the mesh.
const CROSSINGS: usize = 40;

/// The mesh that is measured.
pub(super) struct Subject<'a> {
    pub(super) part: &'a str,
    pub(super) nodes: usize,
    pub(super) links: usize,
    /// How many links lie between the two ends.
    pub(super) diameter: usize,
    /// The sockets of nodes that are as far apart as can be.
    pub(super) ends: [&'a Path; 2],
    pub(super) pids: &'a [u32],
    pub(super) watched: Duration,
    pub(super) began: Instant,
}

/// Measures all of it.
pub(super) async fn measure(subject: &Subject<'_>, report: &mut Report) -> anyhow::Result<()> {
    let Subject { part, nodes, links, diameter, .. } = *subject;
    let one = Client::builder().socket(subject.ends[0]).connect().await?;
    let other = Client::builder().socket(subject.ends[1]).connect().await?;
    until_linked(&one, nodes, links).await?;
    report.aim(part, "all links up after", (subject.began.elapsed().as_secs_f64(), "s"), UP_S);

    sleep(SETTLE).await;
    let used = share(subject.pids, subject.watched).await?;
    report.aim(part, "idle, all nodes together", (used * 100.0, "% of a core"), IDLE_PERCENT);
    let vitals = all(subject.pids)?;
    let resident: u64 = vitals.iter().map(|vitals| vitals.resident).sum();
    report.add(part, "memory for each node", (resident as f64 / nodes as f64 / 1e6, "MB"));

    let mut times = Vec::with_capacity(CROSSINGS);
    one.lock(RESOURCE).await?.release().await?;
    for _ in 0..CROSSINGS / 2 {
        for client in [&other, &one] {
            let began = Instant::now();
            let guard = client.lock(RESOURCE).await?;
            times.push(began.elapsed());
            guard.release().await?;
        }
    }
    times.sort_unstable();
    let per_hop = |time: Duration| time.as_secs_f64() * 1e3 / diameter as f64;
    let median = times.get(times.len() / 2).copied().context("no crossing")?;
    report.aim(part, "a lock across the mesh, for each hop, median", (per_hop(median), "ms"), MS_PER_HOP);
    let longest = times.last().copied().context("no crossing")?;
    report.add(part, "the same, longest", (per_hop(longest), "ms"));
    Ok(())
}

const RESOURCE: &str = "gate";

/// Waits until a node knows of all nodes and links.
async fn until_linked(client: &Client, nodes: usize, links: usize) -> anyhow::Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        let status = client.status_of(None, Duration::from_secs(2)).await?;
        let ends: usize = status.nodes.iter().map(|node| node.links.len()).sum();
        if (status.nodes.len(), ends) == (nodes, 2 * links) {
            return Ok(());
        }
        let (there, half) = (status.nodes.len(), ends as f64 / 2.0);
        ensure!(Instant::now() < end, "{there} of {nodes} nodes and {half} of {links} links are up after {PATIENCE:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// How much of a processor these processes use together.
pub(super) async fn share(pids: &[u32], time: Duration) -> anyhow::Result<f64> {
    let processor = || -> anyhow::Result<Duration> { Ok(all(pids)?.iter().map(|vitals| vitals.processor).sum()) };
    let (before, began) = (processor()?, Instant::now());
    sleep(time).await;
    Ok(processor()?.saturating_sub(before).as_secs_f64() / began.elapsed().as_secs_f64())
}

fn all(pids: &[u32]) -> anyhow::Result<Vec<Vitals>> {
    pids.iter().map(|pid| vitals::of(*pid).context("a node has ended, or there is no /proc")).collect()
}
