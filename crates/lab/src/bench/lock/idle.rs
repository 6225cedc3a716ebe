//! What nodes cost that have nothing to do.

use std::time::{Duration, Instant};

use meshlock_api::NewResource;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::sleep;

use super::Plan;
use super::bed::Bed;
use super::figures::Idle;
use crate::bench::vitals;

const RESOURCES: usize = 1_000;
/// In a triangle every node has two neighbours, and knows all resources.
const NODES: usize = 3;

/// Three nodes of the same kind in this process; the figures are those of one.
pub(super) async fn measure(plan: Plan) -> anyhow::Result<Idle> {
    let bed = Bed::start(plan, "complete:3", true).await?;
    let before = vitals::resident_here();
    if let Some(hub) = bed.mesh.hub(0) {
        for number in 0..RESOURCES {
            let name = format!("resource-{number}");
            hub.define(&name, &NewResource::default(), Duration::from_secs(10)).await?;
        }
    }
    while bed.mesh.nodes().any(|node| node.hub().resources().len() <= RESOURCES) {
        sleep(Duration::from_millis(5)).await; // everybody hears of the last one
    }
    sleep(SETTLE).await;
    let after = vitals::resident_here();
    let (used, began) = (processor_time()?, Instant::now());
    sleep(plan.time).await;
    let (used, elapsed) = (processor_time()?.saturating_sub(used), began.elapsed());
    bed.stop().await?;
    let bytes = before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64);
    Ok(Idle {
        resources: RESOURCES,
        neighbours: NODES - 1,
        cpu_ms_per_s: used.as_secs_f64() * 1e3 / elapsed.as_secs_f64() / NODES as f64,
        bytes_per_resource: bytes.map(|bytes| bytes / (NODES * RESOURCES) as f64),
    })
}

/// Acknowledgements and the like are over then.
const SETTLE: Duration = Duration::from_millis(300);

/// Of this process, as user and in the system.
fn processor_time() -> anyhow::Result<Duration> {
    Ok(Duration::try_from(clock_gettime(ClockId::ProcessCPUTime))?)
}
