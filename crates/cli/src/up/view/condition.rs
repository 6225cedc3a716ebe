//! Which nodes grant nothing, and how far a repair is: what the nodes know of themselves and tapes do not tell.

use std::collections::BTreeMap;
use std::sync::{PoisonError, Weak};
use std::time::Duration;

use meshlock_core::NodeId;
use meshlock_node::local::LocalMesh;
use meshlock_viewer::{Condition, Repair};

use super::{LiveMesh, name_of};

/// How often nodes are asked.
const EVERY: Duration = Duration::from_millis(100);

/// Asks as long as the mesh is up, and tells pages what has changed.
pub(super) async fn watch(mesh: Weak<LiveMesh>) {
    loop {
        tokio::time::sleep(EVERY).await;
        let Some(live) = mesh.upgrade() else { return };
        let now = live.mesh.lock().await.as_ref().map(of).unwrap_or_default();
        let mut known = live.condition.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != now {
            *known = now;
            live.tapes.tell();
        }
    }
}

fn of(mesh: &LocalMesh) -> Condition {
    let ids: BTreeMap<String, NodeId> =
        (0..mesh.len()).filter_map(|index| Some((name_of(index), mesh.id(index)?))).collect();
    let mut condition = Condition::default();
    for node in mesh.nodes() {
        let (id, status) = node.hub().with(|machine, now| (machine.settings().id, machine.recovery_status(now)));
        let Some(status) = status else { continue };
        condition.suspended.extend(status.suspended.map(|why| (id, why)));
        let Some(repair) = status.repair else { continue };
        let heir = repair.heir.and_then(|name| ids.get(&name).copied());
        // The one that decides knows best.
        if condition.repair.is_none() || heir == Some(id) {
            let missing = repair.missing.iter().filter_map(|name| ids.get(name).copied()).collect();
            condition.repair = Some(Repair { heir, missing, asks_voters: repair.asks_voters });
        }
    }
    condition
}
