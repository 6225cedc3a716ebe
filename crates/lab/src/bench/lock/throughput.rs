//! How many entries per second, by clients at all nodes that want the same thing.

use std::time::Instant;

use meshlock::Client;
use tokio::task::JoinSet;
use tokio::task::coop::consume_budget;

use super::Plan;
use super::bed::{Bed, RESOURCE};
use super::figures::{Report, Throughput};

const TOPOLOGIES: [(&str, &str); 2] = [("complete", "complete:5"), ("line", "line:5")];
const CLIENTS: [usize; 3] = [1, 8, 64];

/// Measures everything with everything.
pub(super) async fn measure(plan: Plan, report: &mut Report, tell: impl Fn(String)) -> anyhow::Result<()> {
    for (topology, shape) in TOPOLOGIES {
        let bed = Bed::start(plan, shape, true).await?;
        for way in ["embedded", "socket"] {
            for count in CLIENTS {
                tell(format!("throughput of {count} clients, 5 nodes, {topology}, {way}"));
                let mut clients = Vec::new();
                for index in 0..count {
                    clients.push(if way == "socket" { bed.connected(index).await? } else { bed.embedded(index)? });
                }
                let (before, began) = (bed.hops(), Instant::now());
                let until = began + plan.time;
                let mut tasks: JoinSet<_> = clients.into_iter().map(|client| enter(client, until)).collect();
                let mut entries = 0_u64;
                while let Some(done) = tasks.join_next().await {
                    entries += done??;
                }
                let hops = bed.hops() - before;
                report.throughput.push(Throughput {
                    topology,
                    way,
                    clients: count,
                    entries_per_s: entries as f64 / began.elapsed().as_secs_f64(),
                    hops_per_entry: hops as f64 / (entries as f64).max(1.0),
                });
            }
        }
        bed.stop().await?;
    }
    Ok(())
}

/// Enters and leaves at once, again and again.
async fn enter(client: Client, until: Instant) -> Result<u64, meshlock::Error> {
    let mut entries = 0;
    while Instant::now() < until {
        client.lock(RESOURCE).await?.release().await?;
        entries += 1;
        consume_budget().await;
    }
    Ok(entries)
}
