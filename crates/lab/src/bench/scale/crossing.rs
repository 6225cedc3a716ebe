//! What is measured of every mesh: until when it is up, what it costs at rest, how long a lock takes across it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use meshlock::Client;
use tokio::time::sleep;

use super::report::Report;
use crate::bench::vitals::{self, Vitals};
use crate::bench::wire::Wire;

/// What is aimed at.
const UP_S: f64 = 10.0;
const IDLE_PERCENT: f64 = 5.0;
const MS_PER_HOP: f64 = 2.0;

/// A mesh that takes longer is broken; a busy machine is no fault.
const PATIENCE: Duration = Duration::from_secs(120);
/// Acknowledgements, the growth of voters and the like are over then, and beacons are sent less often.
const SETTLE: Duration = Duration::from_secs(15);
/// How often the lock crosses the mesh.
const CROSSINGS: usize = 40;

/// The mesh that is measured.
pub(super) struct Subject<'a> {
    pub(super) part: &'a str,
    pub(super) nodes: usize,
    pub(super) links: usize,
    /// How many links lie between the two ends.
    pub(super) diameter: usize,
    pub(super) sockets: &'a [PathBuf],
    /// Two nodes that are as far apart as can be.
    pub(super) ends: [usize; 2],
    pub(super) pids: &'a [u32],
    pub(super) watched: Duration,
    pub(super) began: Instant,
}

/// Measures all of it.
pub(super) async fn measure(subject: &Subject<'_>, report: &mut Report) -> anyhow::Result<()> {
    let Subject { part, nodes, links, diameter, .. } = *subject;
    until_linked(subject.sockets, links).await?;
    report.aim(part, "all links up after", (subject.began.elapsed().as_secs_f64(), "s"), UP_S);

    let [one, other] = subject.ends.map(|end| Client::builder().socket(&subject.sockets[end]).connect());
    let (one, other) = (one.await?, other.await?);
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

/// Waits until all links are up at both ends. Each node is asked for its own: a status would have to cross the mesh.
async fn until_linked(sockets: &[PathBuf], links: usize) -> anyhow::Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        let mut ends = 0;
        for socket in sockets {
            ends += links_at(socket).await.unwrap_or(0); // a busy node is asked again
        }
        if ends == 2 * links {
            return Ok(());
        }
        ensure!(Instant::now() < end, "{ends} of {} ends of links are up after {PATIENCE:?}", 2 * links);
        sleep(Duration::from_millis(50)).await;
    }
}

/// How many links a node has. On a new connection each time: nodes close those that are silent for long.
async fn links_at(socket: &Path) -> Option<usize> {
    let answer = Wire::connect(socket).await.ok()?.ask("GET", "/metrics", "").await.ok()?;
    links_in(&String::from_utf8_lossy(&answer.body))
}

/// How many links a node has, by its metrics.
fn links_in(metrics: &str) -> Option<usize> {
    metrics.lines().find_map(|line| line.strip_prefix("meshlock_links ")?.trim().parse().ok())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_from_metrics() {
        let metrics = "# TYPE meshlock_links gauge\nmeshlock_links 4\nmeshlock_link_overflows_total 9\n";
        assert_eq!((links_in(metrics), links_in("meshlock_links_other 3\n")), (Some(4), None));
    }
}
