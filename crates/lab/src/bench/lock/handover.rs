//! From a release at one node to the grant at another that waits for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use meshlock::Client;
use meshlock_node::hub::Hub;
use tokio::task::yield_now;

use super::Plan;
use super::bed::{Bed, RESOURCE};
use super::figures::{Report, Samples};

/// What a hand-over should take at most, as a multiple of its floor.
const GOAL: f64 = 1.5;

/// Two nodes that pass one lock to and fro.
pub(super) async fn measure(plan: Plan, floor: f64, report: &mut Report) -> anyhow::Result<()> {
    let bed = Bed::start(plan, "line:2", false).await?;
    let shared = Arc::new(Shared { released: Mutex::new(None), samples: Mutex::new(Samples::within(plan.time)) });
    let mut players = tokio::task::JoinSet::new();
    for index in 0..2 {
        let (client, hub) = (bed.embedded(index)?, bed.mesh.nodes().nth(index).map(|node| Arc::clone(node.hub())));
        if let Some(hub) = hub {
            players.spawn(play(client, hub, index, Arc::clone(&shared)));
        }
    }
    // When one of them has seen enough time pass, the other would wait in vain for contention.
    let ended = players.join_next().await;
    players.shutdown().await;
    ended.transpose()?.transpose()?;
    let taken = Samples::within(plan.time);
    let samples = std::mem::replace(&mut *shared.samples.lock().unwrap_or_else(PoisonError::into_inner), taken);
    report.add_beside("hand-over under contention", samples, ("link message + wake", floor), Some(GOAL));
    bed.stop().await
}

struct Shared {
    /// Who gave back last, and when.
    released: Mutex<Option<(usize, Instant)>>,
    samples: Mutex<Samples>,
}

async fn play(client: Client, hub: Arc<Hub>, index: usize, shared: Arc<Shared>) -> Result<(), meshlock::Error> {
    loop {
        let guard = client.lock(RESOURCE).await?;
        let granted = Instant::now();
        let released = shared.released.lock().unwrap_or_else(PoisonError::into_inner).take();
        {
            let mut samples = shared.samples.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, at)) = released.filter(|(by, _)| *by != index) {
                samples.add(granted - at);
            }
            if !samples.go_on() {
                return Ok(());
            }
        }
        // Held until the other one's request is here: then the release itself sends the token on.
        while !hub.with(|machine, _| machine.is_wanted_elsewhere(RESOURCE)) {
            yield_now().await;
        }
        *shared.released.lock().unwrap_or_else(PoisonError::into_inner) = Some((index, Instant::now()));
        drop(guard);
    }
}
