//! The way to a node in this process: no socket, no task, no copy of what is not read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use meshlock_api::{NewRequest, PartInfo, State};
use meshlock_node::hub::Hub;
use meshlock_node::machine::{Machine, Now, Ticket};
use tokio::time::timeout;

use crate::backend::{Granted, Key, ended};
use crate::error::Error;

/// Asks, and waits until there is an answer. Dropped before, it takes the request back.
pub(crate) async fn obtain(hub: &Arc<Hub>, asked: NewRequest) -> Result<Granted, Error> {
    let before = Instant::now();
    let (ticket, seen) = hub.with_then(
        |machine, now| machine.ask(now, asked),
        |machine, now, ticket| ticket.map(|ticket| (ticket, Seen::of(machine, now, ticket))),
    )?;
    if seen.state == State::Granted {
        return granted(hub, ticket, seen, before);
    }
    wait(hub, ticket, seen).await
}

/// How a request is doing.
struct Seen {
    state: State,
    fence: Option<u64>,
    lease: Duration,
    parts: Vec<PartInfo>,
    slots: (Vec<u32>, Vec<String>),
}

impl Seen {
    fn of(machine: &Machine, now: Now, ticket: Ticket) -> Self {
        let (state, fence, until) = machine.glance(ticket).unwrap_or((State::Expired, None, now));
        let lease = Duration::from_nanos(until.0.saturating_sub(now.0));
        let (parts, slots) = if state == State::Granted {
            (machine.part_infos(ticket), machine.slots(ticket))
        } else {
            Default::default()
        };
        Self { state, fence, lease, parts, slots }
    }
}

async fn wait(hub: &Arc<Hub>, ticket: Ticket, Seen { mut state, lease, .. }: Seen) -> Result<Granted, Error> {
    let began = Instant::now();
    let mut cancel = Cancel { hub, ticket: Some(ticket) };
    while state == State::Queued {
        match timeout(lease / 3, hub.changed(ticket, State::Queued)).await {
            Ok(changed) => state = changed,
            Err(_) => hub.with(|machine, now| machine.renew(now, ticket, None))?,
        }
    }
    let before = Instant::now();
    match renewed(hub, ticket) {
        seen if seen.state == State::Granted => {
            cancel.ticket = None;
            granted(hub, ticket, Seen { lease, ..seen }, before)
        }
        _ => Err(ended(hub.with(|machine, now| machine.look(now, ticket))?, began)),
    }
}

fn granted(hub: &Hub, ticket: Ticket, seen: Seen, before: Instant) -> Result<Granted, Error> {
    let Seen { fence, lease, parts, slots, .. } = seen;
    let Some(fence) = fence.or_else(|| parts.first().and_then(|part| part.fence)) else {
        release(hub, ticket);
        let (place, cause) = ("the node in this program".to_owned(), "a grant without a fence".to_owned());
        return Err(Error::Garbled { place, cause });
    };
    Ok(Granted { key: Key::Ticket(ticket), fence, parts, slots, lease, expires: before + lease })
}

/// Renews, and says how the request is doing.
pub(crate) fn renew(hub: &Hub, ticket: Ticket) -> (State, Option<u64>) {
    let Seen { state, fence, .. } = renewed(hub, ticket);
    (state, fence)
}

fn renewed(hub: &Hub, ticket: Ticket) -> Seen {
    hub.with_then(
        // Without a lease of its own there is nothing to refuse.
        |machine, now| drop(machine.renew(now, ticket, None)),
        |machine, now, ()| Seen::of(machine, now, ticket),
    )
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
