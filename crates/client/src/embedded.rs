//! The way to a node in this process: no socket, no task, no copy of what is not read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use meshlock_api::{NewRequest, State};
use meshlock_node::hub::Hub;
use meshlock_node::machine::Ticket;
use tokio::time::timeout;

use crate::backend::{Granted, Key, ended};
use crate::error::Error;

/// Asks, and waits until there is an answer. Dropped before, it takes the request back.
pub(crate) async fn obtain(hub: &Arc<Hub>, asked: NewRequest) -> Result<Granted, Error> {
    let before = Instant::now();
    let (ticket, state, fence, lease) = hub.with(|machine, now| {
        let ticket = machine.ask(now, asked)?;
        let glance = machine.glance(ticket);
        let (state, fence, until) = glance.unwrap_or((State::Expired, None, now));
        Ok::<_, Error>((ticket, state, fence, Duration::from_nanos(until.0.saturating_sub(now.0))))
    })?;
    if state == State::Granted {
        return granted(hub, ticket, fence, lease, before);
    }
    wait(hub, ticket, state, lease).await
}

async fn wait(hub: &Arc<Hub>, ticket: Ticket, mut state: State, lease: Duration) -> Result<Granted, Error> {
    let began = Instant::now();
    let mut cancel = Cancel { hub, ticket: Some(ticket) };
    while state == State::Queued {
        match timeout(lease / 3, hub.changed(ticket, State::Queued)).await {
            Ok(changed) => state = changed,
            Err(_) => hub.with(|machine, now| machine.renew(now, ticket, None))?,
        }
    }
    let before = Instant::now();
    match renew(hub, ticket) {
        (State::Granted, fence) => {
            cancel.ticket = None;
            granted(hub, ticket, fence, lease, before)
        }
        _ => Err(ended(hub.with(|machine, now| machine.look(now, ticket))?, began)),
    }
}

fn granted(hub: &Hub, ticket: Ticket, fence: Option<u64>, lease: Duration, before: Instant) -> Result<Granted, Error> {
    let parts = hub.with(|machine, _| machine.part_infos(ticket));
    let Some(fence) = fence.or_else(|| parts.first().and_then(|part| part.fence)) else {
        release(hub, ticket);
        let (place, cause) = ("the node in this program".to_owned(), "a grant without a fence".to_owned());
        return Err(Error::Garbled { place, cause });
    };
    let slots = hub.with(|machine, _| machine.slots(ticket));
    Ok(Granted { key: Key::Ticket(ticket), fence, parts, slots, lease, expires: before + lease })
}

/// Renews, and says how the request is doing.
pub(crate) fn renew(hub: &Hub, ticket: Ticket) -> (State, Option<u64>) {
    hub.with(|machine, now| {
        // Without a lease of its own there is nothing to refuse.
        let _ = machine.renew(now, ticket, None);
        machine.glance(ticket).map_or((State::Expired, None), |(state, fence, _)| (state, fence))
    })
}

/// Gives back, and says how the request ended.
pub(crate) fn release(hub: &Hub, ticket: Ticket) -> State {
    hub.with(|machine, now| {
        machine.release(now, ticket);
        machine.glance(ticket).map_or(State::Released, |(state, _, _)| state)
    })
}

struct Cancel<'a> {
    hub: &'a Hub,
    ticket: Option<Ticket>,
}

impl Drop for Cancel<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.hub.with_if_sound(|machine, now| machine.release(now, ticket));
        }
    }
}
