//! The table of requests, and which of them are remembered after their end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::Waker;

use foldhash::HashMap;
use meshlock_api::{Expiry, NewRequest, OutOfReach, State, Urgency};
use meshlock_core::{Demand, RequestId, Slots};

use super::Now;
use super::bundle::Role;
use super::clients::Ticket;
use super::streams::{StreamId, ToldPlace};
use crate::wire::Number;

/// A request of a client of this node.
#[derive(Debug)]
pub(crate) struct Request {
    /// What was asked for.
    pub(crate) asked: NewRequest,
    /// Whether it stands alone, has parts, or is one.
    pub(crate) role: Role,
    /// How urgent it is now; changes of it do not change what was asked for.
    pub(crate) urgency: Option<Urgency>,
    /// The resource, once it is known.
    pub(crate) resource: Option<Number>,
    pub(crate) demand: Option<Demand>,
    /// Its number in the protocol, once it was handed over.
    pub(crate) number: Option<RequestId>,
    pub(crate) state: State,
    pub(crate) fence: Option<u64>,
    /// Which units it has, where they are numbered.
    pub(crate) slots: Slots,
    pub(crate) asked_at: Now,
    pub(crate) granted_at: Option<Now>,
    pub(crate) over_at: Option<Now>,
    pub(crate) lease_ms: u64,
    /// The length of the lease as it was told: shorter if the node may not grant for so long.
    pub(crate) told_ms: u64,
    /// The end of the lease.
    pub(crate) alive_until: Now,
    /// When it no longer wants to wait.
    pub(crate) times_out: Option<Now>,
    /// For when the alarm for it is set; none while it is being asked for.
    pub(crate) alarm_at: Option<Now>,
    pub(crate) reason: Option<String>,
    /// It timed out while its token was out of reach.
    pub(crate) was_lost: Option<OutOfReach>,
    pub(crate) expiry: Option<Expiry>,
    pub(crate) wakers: Vec<Waker>,
    /// How many connections wait for it at this moment.
    pub(crate) attended: u32,
    /// It is there to remove its resource.
    pub(crate) seizes: bool,
    /// Its resource was made because of it.
    pub(crate) made: bool,
    /// Its client closed the connection on which it waited, and gave no sign since.
    pub(crate) abandoned: bool,
    /// The connection to which it belongs.
    pub(crate) stream: Option<StreamId>,
    /// How many connections would keep it if that one were closed.
    pub(crate) anchors: u32,
    /// Its client is gone, and these keep it.
    pub(crate) kept_by_anchor: bool,
    /// What its client was told last about its waiting.
    pub(crate) told_place: Option<Box<ToldPlace>>,
}

impl Request {
    /// One that waits, with nothing known of it but what was asked for.
    pub(crate) fn new(now: Now, asked: NewRequest) -> Self {
        Self {
            role: Role::Single,
            urgency: asked.urgency,
            resource: None,
            demand: None,
            number: None,
            state: State::Queued,
            fence: None,
            slots: Slots::NONE,
            asked_at: now,
            granted_at: None,
            over_at: None,
            lease_ms: 0,
            told_ms: 0,
            alive_until: now,
            times_out: None,
            alarm_at: None,
            reason: None,
            was_lost: None,
            expiry: None,
            wakers: Vec::new(),
            attended: 0,
            abandoned: false,
            stream: None,
            anchors: 0,
            kept_by_anchor: false,
            told_place: None,
            made: false,
            seizes: false,
            asked,
        }
    }

    /// When something has to be done about it if nothing happens before.
    pub(crate) fn due(&self) -> Now {
        match self.times_out {
            Some(times_out) if self.state == State::Queued => self.alive_until.min(times_out),
            Some(_) | None => self.alive_until,
        }
    }
}

/// How long a request is remembered after its end, so that a client that asks again with its id gets the answer.
const REMEMBERED_MS: u64 = 600_000;
/// How many are remembered at most.
pub(super) const MOST_REMEMBERED: usize = 100_000;
/// How many requests whose id was given by the node are remembered at most: clients do not know those, so they cannot ask again.
const MOST_UNNAMED: usize = 1_000;

/// All requests by ticket.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    last: u64,
    table: HashMap<Ticket, Request>,
    by_id: HashMap<String, Ticket>,
    /// Those that are over, oldest first: with an id of the client, and without.
    over: VecDeque<(Now, Ticket)>,
    over_unnamed: VecDeque<(Now, Ticket)>,
    /// Those that are queued or granted, in order of arrival.
    alive: BTreeSet<Ticket>,
    /// Those of them that wait for a resource which is not known yet, by its name.
    unknown: BTreeMap<String, BTreeSet<Ticket>>,
    last_number: u64,
}

impl Requests {
    pub(crate) fn get(&self, ticket: Ticket) -> Option<&Request> {
        self.table.get(&ticket)
    }

    pub(crate) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut Request> {
        self.table.get_mut(&ticket)
    }

    pub(crate) fn find(&self, id: &str) -> Option<Ticket> {
        if let Some(number) = id.strip_prefix('~') {
            let ticket = Ticket(number.parse().ok()?);
            return self.table.get(&ticket).filter(|it| it.asked.id.is_none() && !it.role.is_part()).map(|_| ticket);
        }
        self.by_id.get(id).copied()
    }

    /// How many are queued or granted.
    pub(crate) fn alive(&self) -> usize {
        self.alive.len()
    }

    pub(crate) fn add(&mut self, request: Request) -> Ticket {
        self.last += 1;
        let ticket = Ticket(self.last);
        self.restore(ticket, request);
        ticket
    }

    /// Adds a request that had this ticket before.
    pub(crate) fn restore(&mut self, ticket: Ticket, request: Request) {
        self.last = self.last.max(ticket.0);
        if let Some(id) = &request.asked.id {
            self.by_id.insert(id.clone(), ticket);
        }
        if request.resource.is_none() && request.role.may_wait_for_resource() {
            self.unknown.entry(request.asked.resource.clone()).or_default().insert(ticket);
        }
        self.table.insert(ticket, request);
        self.alive.insert(ticket);
    }

    /// The next number for a protocol. Numbers grow, also after a clean stop.
    pub(crate) fn next_number(&mut self) -> RequestId {
        self.last_number += 1;
        RequestId(self.last_number)
    }

    pub(crate) fn last_number(&self) -> u64 {
        self.last_number
    }

    pub(crate) fn go_on_after(&mut self, number: u64) {
        self.last_number = self.last_number.max(number);
    }

    /// A request is over, and is not forgotten before it is retired.
    pub(crate) fn end(&mut self, ticket: Ticket) {
        self.alive.remove(&ticket);
    }

    /// A request is over, and forgotten some time later.
    pub(crate) fn retire(&mut self, now: Now, ticket: Ticket) {
        self.end(ticket);
        let Some(request) = self.table.get(&ticket) else { return };
        if request.resource.is_none()
            && let Some(waiting) = self.unknown.get_mut(&request.asked.resource)
        {
            waiting.remove(&ticket);
            if waiting.is_empty() {
                self.unknown.remove(&request.asked.resource);
            }
        }
        // Parts are remembered beside their bundle, and no longer.
        let named = match request.role {
            Role::Part { of, .. } => self.table.get(&of).is_some_and(|bundle| bundle.asked.id.is_some()),
            Role::Single | Role::Bundle(_) => request.asked.id.is_some(),
        };
        let (list, most) =
            if named { (&mut self.over, MOST_REMEMBERED) } else { (&mut self.over_unnamed, MOST_UNNAMED) };
        list.push_back((now, ticket));
        if list.len() > most
            && let Some((_, oldest)) = list.pop_front()
        {
            self.forget(oldest);
        }
    }

    pub(crate) fn forget_old(&mut self, now: Now) {
        for named in [true, false] {
            loop {
                let list = if named { &mut self.over } else { &mut self.over_unnamed };
                match list.front() {
                    Some((at, ticket)) if now.ms_since(*at) >= REMEMBERED_MS => {
                        let ticket = *ticket;
                        list.pop_front();
                        self.forget(ticket);
                    }
                    Some(_) | None => break,
                }
            }
        }
    }

    fn forget(&mut self, ticket: Ticket) {
        if let Some(Request { asked: NewRequest { id: Some(id), .. }, .. }) = self.table.remove(&ticket) {
            self.by_id.remove(&id);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Ticket, &Request)> {
        self.table.iter().map(|(ticket, request)| (*ticket, request))
    }

    /// Those that are queued or granted, in order of arrival.
    pub(crate) fn alive_ones(&self) -> Vec<Ticket> {
        self.alive.iter().copied().collect()
    }

    /// The next of them after a ticket.
    pub(crate) fn alive_after(&self, last: Ticket, most: usize) -> Vec<Ticket> {
        let after = (std::ops::Bound::Excluded(last), std::ops::Bound::Unbounded);
        self.alive.range(after).take(most).copied().collect()
    }

    /// A request waits again for its resource to become known.
    pub(crate) fn wait_for(&mut self, ticket: Ticket, name: &str) {
        let Some(request) = self.table.get_mut(&ticket) else { return };
        (request.resource, request.demand, request.number) = (None, None, None);
        self.unknown.entry(name.to_owned()).or_default().insert(ticket);
    }

    /// Those that wait for a resource of this name to become known, in order of arrival. It is known now.
    pub(crate) fn take_waiting_for(&mut self, name: &str) -> BTreeSet<Ticket> {
        self.unknown.remove(name).unwrap_or_default()
    }
}
