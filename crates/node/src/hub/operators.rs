//! What operators ask of a node: resources made, changed and removed, requests revoked.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use meshlock_api::{NewResource, NewRevocation, Problem, Reason, ResourceChange, ResourceInfo, Revocation, State};
use tokio::time::timeout;

use super::{Hub, OnDrop};
use crate::machine::Making;
use crate::wire::{About, Fact, Revoke};

/// How long nodes may take to answer an operator.
const ASK_PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked whether a client has stopped.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long the disk may take to keep a change of resources before its asker is told so.
const KEPT_WITHIN: Duration = Duration::from_secs(10);

impl Hub {
    /// Makes a resource, at most for so long.
    pub async fn define(&self, name: &str, wanted: &NewResource, patience: Duration) -> Result<ResourceInfo, Problem> {
        let making = self.with(|machine, now| machine.define(now, name, wanted))?;
        self.made(making, patience).await
    }

    /// Changes a resource, at most for so long.
    pub async fn change(
        &self,
        name: &str,
        change: ResourceChange,
        patience: Duration,
    ) -> Result<ResourceInfo, Problem> {
        let making = self.with(|machine, now| machine.change(now, name, change))?;
        self.made(making, patience).await
    }

    /// Removes a resource that no client uses, or puts another one in its place, at most for so long.
    pub async fn retire(
        &self,
        name: &str,
        instead: Option<&NewResource>,
        patience: Duration,
    ) -> Result<ResourceInfo, Problem> {
        let instead = instead.map(|wanted| wanted.complete().map_err(Problem::bad_request)).transpose()?;
        let until = Instant::now() + patience;
        let timeout_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        let ticket = self.with(|machine, now| machine.seize(now, name, timeout_ms))?;
        let _give_back = OnDrop(|| self.with_if_sound(|machine, now| machine.release(now, ticket)));
        // If it is not granted by then, `retire` says so.
        let _ = timeout(patience, self.changed(ticket, State::Queued)).await;
        let making = self.with(|machine, now| machine.retire(now, ticket, instead))?;
        self.made(making, until.saturating_duration_since(Instant::now())).await
    }

    /// Takes away what a client of any node holds, and waits until it has stopped, at most for so long.
    pub async fn revoke(&self, wanted: &NewRevocation, patience: Duration) -> Result<Revocation, Problem> {
        let until = Instant::now() + patience;
        let mut revoke = self.with(|machine, _| machine.revocation(wanted))?;
        let (found, all_answered) = self.revocable(&revoke).await;
        let alive: Vec<Revocation> = found.iter().filter(|one| !one.stopped).cloned().collect();
        let node = match (alive.as_slice(), found.first()) {
            ([one], _) => one.node.clone(),
            ([], Some(over)) => {
                let (id, state) = (&wanted.id, over.state.name());
                return Err(Problem::conflict(format!("request {id} is over already: it is {state}")));
            }
            ([], None) => {
                let partly = if all_answered { "" } else { ", but not all of them answered" };
                let message = format!(
                    "no node in reach has a request {:?}{partly}; `meshlock status` shows ids and nodes",
                    wanted.id
                );
                return Err(Problem::unknown(message));
            }
            (several, _) => {
                let names: Vec<String> = several.iter().map(|one| format!("{}/{}", one.node, one.id)).collect();
                let message = format!("several nodes have a request of this id: say which, {}", names.join(" or "));
                return Err(Problem::conflict(message));
            }
        };
        (revoke.node, revoke.acts) = (Some(node), true);
        loop {
            let (found, _) = self.revocable(&revoke).await;
            revoke.acts = false;
            let Some(found) = found.into_iter().next() else {
                let message = "the node of this request does not answer any more; it may have acted. Try again";
                return Err(Problem::new(Reason::Unavailable, message));
            };
            if found.stopped || Instant::now() >= until {
                return Ok(found);
            }
            tokio::time::sleep(LOOK_AGAIN.min(until.saturating_duration_since(Instant::now()))).await;
        }
    }

    /// Asks all nodes about a request, and tells them what to do with it; whether all have answered.
    async fn revocable(&self, revoke: &Revoke) -> (Vec<Revocation>, bool) {
        let own = self.with(|machine, now| {
            machine.revoke_here(now, revoke);
            machine.revocable(now, revoke).map(|fact| (machine.settings.name.clone(), fact))
        });
        let answers = self.answers(About::Revoke(Box::new(revoke.clone())), ASK_PATIENCE).await;
        let told = |(node, fact): (String, Fact)| match fact {
            Fact::Revocable { resource, owner, state, stopped, expires_in_ms } => {
                let expires_in_ms = (!stopped).then_some(expires_in_ms);
                Some(Revocation { node, id: revoke.id.clone(), resource, owner, state, stopped, expires_in_ms })
            }
            Fact::Link { .. }
            | Fact::Gone { .. }
            | Fact::Resource { .. }
            | Fact::Lent { .. }
            | Fact::Row(..)
            | Fact::Condition { .. } => None,
        };
        (own.into_iter().chain(answers.revocable()).filter_map(told).collect(), answers.is_complete)
    }

    async fn made(&self, making: Making, patience: Duration) -> Result<ResourceInfo, Problem> {
        let number = match making {
            Making::Done(info) => return self.until_kept().await.map(|()| info),
            Making::UnderWay(number) => number,
        };
        let forget = OnDrop(|| self.with_if_sound(|machine, now| machine.forget_making(now, number)));
        let made = poll_fn(|context| match self.lock().machine.poll_making(number, context.waker()) {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        });
        let result = timeout(patience, made).await;
        drop(forget);
        let info = result.unwrap_or_else(|_| {
            let message = "the mesh's registry cannot be reached: resources are made and changed under its lock, and \
                           the node that has it is not connected. Try again when it is";
            Err(Problem::new(Reason::Unavailable, message))
        })?;
        self.until_kept().await?;
        Ok(info)
    }

    /// Returns when the catalogue is to be written.
    pub(crate) async fn catalogue_due(&self) {
        self.catalogue.notified().await;
    }

    /// So many changes of the catalogue are on disk.
    pub(crate) fn catalogue_kept(&self, changes: u64) {
        self.with(|machine, _| machine.catalogue_kept(changes));
        self.kept.notify_waiters();
    }

    /// Waits until this node has on disk what it knows of resources: who is told of a change relies on it, whatever happens to
    /// all nodes at once.
    async fn until_kept(&self) -> Result<(), Problem> {
        let Some(changes) = self.with(|machine, _| machine.keep_catalogue_now()) else { return Ok(()) };
        let kept = async {
            loop {
                let written = self.kept.notified();
                if self.lock().machine.is_catalogue_kept(changes) {
                    return;
                }
                written.await;
            }
        };
        timeout(KEPT_WITHIN, kept).await.map_err(|_| {
            let message = "it is done, but this node cannot write it to its disk; if all nodes lost power now it would be \
                           lost. See the log of the node, and ask again";
            Problem::new(Reason::Unavailable, message)
        })
    }
}
