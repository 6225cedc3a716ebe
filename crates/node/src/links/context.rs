//! What all tasks of a node's links share.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use meshlock_core::NodeId;
use tokio::sync::{Notify, Semaphore, mpsc, watch};

use super::table::LinkTable;
use super::transport::Endpoint;
use super::waiting::{HeldOff, Warnings};
use super::{Gate, LinkId, LinkUser};
use crate::mesh::Member;

/// The reason of links that end with their node.
pub(super) const STOPPED: &str = "stopped";

/// The reason of links to former members.
pub(super) const REMOVED: &str = "this member was removed";

/// The reason of links of a node that has begun anew since.
pub(super) const ANEW: &str = "this node begins anew";

/// The reason of links that the gate cuts.
pub(super) const GATE: &str = "the gate is closed to this member";

pub(super) struct Context {
    pub(super) me: Member,
    pub(super) node: watch::Receiver<NodeId>,
    pub(super) run: u64,
    pub(super) installation: u64,
    pub(super) began: Instant,
    pub(super) user: Arc<dyn LinkUser>,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) table: LinkTable,
    pub(super) removed: watch::Receiver<BTreeSet<Member>>,
    pub(super) gate: watch::Receiver<Gate>,
    pub(super) stop: watch::Receiver<bool>,
    /// Those who knocked and have not yet said who they are.
    pub(super) handshakes: Arc<Semaphore>,
    /// Where members whose beacons were heard are being dialed.
    pub(super) attempts: Mutex<BTreeMap<Member, BTreeSet<SocketAddr>>>,
    /// Addresses that are not dialed for a while.
    pub(super) held_off: Mutex<HeldOff>,
    pub(super) warnings: Warnings,
    pub(super) links: AtomicU64,
    /// A link has come or gone: beacons are sent more often for a while.
    pub(super) stirred: Notify,
    /// Beacons that no member of this mesh sent.
    pub(super) foreign_beacons: Arc<AtomicU64>,
    /// Closed when the last task has ended.
    pub(super) _alive: mpsc::Sender<Infallible>,
}

impl Context {
    /// This node's number in the protocols, at this moment.
    pub(super) fn node(&self) -> NodeId {
        *self.node.borrow()
    }

    /// Waits until this node is another one than it was.
    pub(super) async fn is_other_than(&self, former: NodeId) {
        let mut node = self.node.clone();
        if node.wait_for(|node| *node != former).await.is_err() {
            pending::<()>().await;
        }
    }

    pub(super) fn next_link(&self) -> LinkId {
        LinkId(self.links.fetch_add(1, Ordering::Relaxed))
    }

    /// Leaves an address alone for a while.
    pub(super) fn hold_off(&self, address: SocketAddr) {
        self.held_off.lock().unwrap_or_else(PoisonError::into_inner).add(address, Instant::now());
    }

    /// Whether an address is to be left alone.
    pub(super) fn is_held_off(&self, address: SocketAddr) -> bool {
        self.held_off.lock().unwrap_or_else(PoisonError::into_inner).contains(address, Instant::now())
    }

    /// Waits until everything is to end.
    pub(super) async fn stopped(&self) {
        // Who could stop us is gone: that is a stop, too.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    /// Why there may be no link to this member now.
    pub(super) fn refusal(&self, member: Member) -> Option<&'static str> {
        if self.removed.borrow().contains(&member) {
            Some(REMOVED)
        } else if !self.gate.borrow().admits(member) {
            Some(GATE)
        } else {
            None
        }
    }

    /// Waits until there may be no link to this member; why.
    pub(super) async fn refused(&self, member: Member) -> &'static str {
        self.rules(|| self.refusal(member)).await
    }

    /// Waits until there may be a link to this member, or never any more.
    pub(super) async fn admitted_or_removed(&self, member: Member) {
        self.rules(|| matches!(self.refusal(member), None | Some(REMOVED)).then_some(())).await;
    }

    /// Waits until a rule changes.
    pub(super) async fn rules_changed(&self) {
        let mut first = true;
        self.rules(|| (!std::mem::take(&mut first)).then_some(())).await;
    }

    async fn rules<T>(&self, mut answer: impl FnMut() -> Option<T>) -> T {
        let (mut removed, mut gate) = (self.removed.clone(), self.gate.clone());
        removed.mark_unchanged();
        gate.mark_unchanged();
        loop {
            if let Some(answer) = answer() {
                return answer;
            }
            tokio::select! {
                () = changed(&mut removed) => {}
                () = changed(&mut gate) => {}
            }
        }
    }

    /// Tells about strangers and other oddities, but not more often than anybody wants to read.
    pub(super) fn warn(&self, address: SocketAddr, reason: &str) {
        match self.warnings.now(Instant::now()) {
            Some(withheld) => tracing::warn!(%address, reason, withheld, "refused"),
            None => tracing::debug!(%address, reason, "refused"),
        }
    }
}

/// Waits for a change; without end if the sender is gone.
async fn changed<T>(value: &mut watch::Receiver<T>) {
    if value.changed().await.is_err() {
        pending::<()>().await;
    }
}
