//! Renews what is held, in one task for all guards of a client. It begins with the first guard and ends some time after
//! the last; a guard that lives shorter than a third of its lease costs it nothing.
//!
//! The task ends early if its runtime is dropped. Nothing is forgotten then: the next use of the client or of a guard on
//! another runtime begins a new one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use meshlock_api::{RequestInfo, State};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::backend::{Backend, Key};
use crate::client::Shared;
use crate::error::Error;
use crate::guard::{Held, Loss};
use crate::http::Http;

/// When something is to be renewed. The number tells those of the same moment apart.
pub(crate) type Due = (Instant, u64);

/// What is to be renewed and when.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    table: Mutex<Table>,
    /// Something is due earlier than the task sleeps.
    earlier: Notify,
}

#[derive(Debug, Default)]
struct Table {
    due: BTreeMap<Due, Arc<Held>>,
    last: u64,
    /// The number of the task that runs.
    running: Option<u64>,
    /// While the task sleeps. It is not woken for what is due later, so most guards come and go unseen.
    sleeps_until: Option<Instant>,
}

impl Keeper {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews it at this time, unless it is taken out before.
    pub(crate) fn add(self: &Arc<Self>, shared: &Arc<Shared>, held: &Arc<Held>, at: Instant) {
        self.put(held, at);
        self.ensure_running(shared);
    }

    fn put(&self, held: &Arc<Held>, at: Instant) {
        let mut table = self.table();
        table.last += 1;
        let due = (at, table.last);
        if !held.set_due(due) {
            return;
        }
        table.due.insert(due, Arc::clone(held));
        if table.sleeps_until.is_some_and(|until| at < until) {
            self.earlier.notify_one();
        }
    }

    /// Begins the task if there is something to renew and no task runs.
    pub(crate) fn ensure_running(self: &Arc<Self>, shared: &Arc<Shared>) {
        let mut table = self.table();
        if table.running.is_some() || table.due.is_empty() {
            return;
        }
        let Some(runtime) = shared.runtime() else { return };
        table.last += 1;
        table.running = Some(table.last);
        let running = Running { keeper: Arc::clone(self), number: table.last };
        drop(table); // a runtime that is gone drops the task at once
        runtime.spawn(run(running, Arc::downgrade(shared)));
    }

    /// No longer renews it.
    pub(crate) fn remove(&self, due: Due) {
        self.table().due.remove(&due);
    }

    fn take_due(&self, now: Instant) -> Vec<Arc<Held>> {
        let mut table = self.table();
        table.sleeps_until = None;
        let later = table.due.split_off(&(now, u64::MAX));
        std::mem::replace(&mut table.due, later).into_values().collect()
    }

    /// Until when there is nothing to do; `None` ends the task.
    fn plan(&self) -> Option<Instant> {
        let mut table = self.table();
        table.sleeps_until = table.due.keys().next().map(|(at, _)| *at);
        if table.sleeps_until.is_none() {
            table.running = None; // the next guard starts a new one
        }
        table.sleeps_until
    }
}

/// The task runs as long as this lives, also if it is dropped with its runtime.
struct Running {
    keeper: Arc<Keeper>,
    number: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut table = self.keeper.table();
        if table.running == Some(self.number) {
            table.running = None;
            table.sleeps_until = None;
        }
    }
}

async fn run(running: Running, shared: Weak<Shared>) {
    let keeper = &running.keeper;
    loop {
        for held in keeper.take_due(Instant::now()) {
            let Some(shared) = shared.upgrade() else { return };
            renew(&shared, held);
        }
        let Some(until) = keeper.plan() else { return };
        // An earlier one or the time, whichever comes first.
        let _ = timeout(until.saturating_duration_since(Instant::now()), keeper.earlier.notified()).await;
    }
}

fn renew(shared: &Arc<Shared>, held: Arc<Held>) {
    match (&shared.backend, &held.key) {
        (Backend::Http(http), Key::Id(_) | Key::Stream(_)) => {
            let http = Arc::clone(http);
            let renewing = Renewing { shared: Arc::clone(shared), held, ended: false };
            // Of its own, so that a node that is slow to answer one does not delay the others.
            tokio::spawn(async move { renew_over_socket(&http, renewing).await });
        }
        #[cfg(feature = "embedded")]
        (Backend::Hub(hub), Key::Ticket(ticket)) => {
            let before = Instant::now();
            if held.expires() <= before {
                held.lose(Loss::LeaseOver);
                crate::embedded::release(hub, *ticket);
                return;
            }
            match crate::embedded::renew(hub, *ticket) {
                (State::Granted, _) => again(shared, &held, before, held.lease()),
                (state, _) => held.lose(Loss::Taken { state, reason: reason_of(hub, *ticket) }),
            }
        }
        #[cfg(feature = "embedded")]
        (Backend::Http(_), Key::Ticket(_)) | (Backend::Hub(_), Key::Id(_) | Key::Stream(_)) => {}
    }
}

#[cfg(feature = "embedded")]
pub(crate) fn reason_of(hub: &meshlock_node::hub::Hub, ticket: meshlock_node::machine::Ticket) -> Option<String> {
    hub.with(|machine, now| machine.look(now, ticket)).ok().and_then(|info| info.reason)
}

fn again(shared: &Arc<Shared>, held: &Arc<Held>, before: Instant, lease: Duration) {
    held.extend(before + lease);
    shared.keeper.add(shared, held, before + lease / 3);
}

/// Something is being renewed. If that is dropped with its runtime, another task has to do it.
struct Renewing {
    shared: Arc<Shared>,
    held: Arc<Held>,
    ended: bool,
}

impl Drop for Renewing {
    fn drop(&mut self) {
        if !self.ended {
            self.shared.keeper.put(&self.held, Instant::now());
        }
    }
}

/// Tries until the lease is over by our own clock.
async fn renew_over_socket(http: &Arc<Http>, mut renewing: Renewing) {
    let (shared, held) = (Arc::clone(&renewing.shared), Arc::clone(&renewing.held));
    try_to_renew(http, &shared, &held).await;
    renewing.ended = true;
}

async fn try_to_renew(http: &Arc<Http>, shared: &Arc<Shared>, held: &Arc<Held>) {
    let mut silent = false;
    loop {
        let before = Instant::now();
        let left = held.expires().saturating_duration_since(before);
        if left.is_zero() {
            held.lose(if silent { Loss::NoAnswer } else { Loss::LeaseOver });
            // If the node still believes in it, others need not wait.
            release(http, held).await;
            return;
        }
        if held.is_over() {
            return;
        }
        let pause = (held.lease() / 20).min(Duration::from_millis(250));
        let fence = held.taking_over.as_ref().map(|(_, fence)| *fence);
        match ask_to_renew(http, held, left.min(held.lease() / 3)).await {
            Ok(info) if info.state == State::Granted && fence.is_some() && info.any_fence() != fence => {
                return held.lose(Loss::Forgotten("it has granted it again since".to_owned()));
            }
            Ok(info) if info.state == State::Granted => {
                return again(shared, held, before, Duration::from_millis(info.lease_ms));
            }
            Ok(info) => return held.lose(Loss::Taken { state: info.state, reason: info.reason }),
            Err(error) if error.is_transient() => silent = true,
            Err(Error::Refused(problem)) => return held.lose(Loss::Forgotten(problem.message)),
            Err(_) => silent = true,
        }
        sleep(pause).await;
    }
}

async fn ask_to_renew(http: &Arc<Http>, held: &Held, patience: Duration) -> Result<RequestInfo, Error> {
    match (&held.key, &held.taking_over) {
        (Key::Stream(watched), Some((asked, fence))) => {
            http.streams.renew(http, watched, (asked, *fence), patience).await
        }
        (key, _) => http.renew(&key.id(None), None, patience).await,
    }
}

async fn release(http: &Arc<Http>, held: &Held) {
    if let Key::Stream(watched) = &held.key {
        return http.streams.let_go(watched);
    }
    // As well as it can be done: its lease is over by our own clock.
    let _ = http.release(&held.key.id(None), crate::http::PATIENCE).await;
}
