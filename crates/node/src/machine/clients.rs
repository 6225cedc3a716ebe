//! What clients can do: ask, look, renew, change, give back. Their mistakes change nothing.

use std::ops::Bound;
use std::task::Waker;

use meshlock_api::resource::check_lease;
use meshlock_api::{Definition, Expiry, NewRequest, Place, Problem, Reason, RequestInfo, ResourceInfo, State, Urgency};
use meshlock_core::{Demand, Event, Units};

use super::alarms::Alarm;
use super::demand;
use super::estimate::Before;
use super::first_use::implied;
use super::requests::{MOST_REMEMBERED, Request};
use super::resource::slot_names;
use super::{Machine, Now};
use crate::wire::Number;

/// A request of this node's clients, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

impl Machine {
    /// A client asks. With the id of an earlier request it gets that one's state instead.
    pub fn ask(&mut self, now: Now, asked: NewRequest) -> Result<Ticket, Problem> {
        demand::check(&asked)?;
        if let Some(id) = &asked.id
            && let Some(ticket) = self.requests.find(id)
        {
            return self.ask_again(now, ticket, &asked);
        }
        self.still_serves()?;
        if self.requests.alive() >= self.settings.most_requests {
            let most = self.settings.most_requests;
            let message = format!(
                "this node has {most} requests under way, which is its limit; ask again later or at another node"
            );
            return Err(Problem::new(Reason::Unavailable, message));
        }
        if !asked.all.is_empty() {
            return self.ask_all(now, asked);
        }
        let admitted = self.admit(&asked)?;
        let lease_ms = asked.lease_ms.unwrap_or(admitted.lease_ms);
        let ticket = self.requests.add(Request {
            resource: admitted.known,
            demand: admitted.demand,
            lease_ms,
            told_ms: lease_ms,
            alive_until: now.plus_ms(lease_ms),
            times_out: asked.timeout_ms.map(|ms| now.plus_ms(ms)),
            ..Request::new(now, asked)
        });
        self.hand_in(now, ticket, admitted);
        self.set_first_alarm(ticket);
        self.tell_request(now, ticket);
        Ok(ticket)
    }

    /// What there is to know of a request for one resource before it waits, or why it can never be granted.
    pub(super) fn admit(&self, asked: &NewRequest) -> Result<Admitted, Problem> {
        let name = &asked.resource;
        let known = self.names.get(name).copied();
        if let Some(resource) = known.and_then(|number| self.resources.get(&number)) {
            if let Some(declared) = &resource.conflict {
                return Err(Problem::conflict(self.conflict_words(&resource.entry, declared)));
            }
            let definition = &resource.entry.definition;
            let demand = demand::demand(name, definition, asked, self.settings.id)?;
            let lease_ms = definition.lease_ms;
            return Ok(Admitted { known, demand: Some(demand), lease_ms, first_use: FirstUse::Known });
        }
        let first_use = match self.settings.declared.get(name) {
            Some(declared) => demand::demand(name, declared, asked, self.settings.id).map(|_| FirstUse::Declared)?,
            None => match self.may_be_made(name).and_then(|()| implied(asked, self.settings.id)) {
                Ok(definition) => FirstUse::Make(definition),
                // Only with the registry's token does a node know of all resources. One that has just joined knows of none.
                Err(problem) if problem.reason != Reason::BadRequest && !self.knows_all_resources() => {
                    FirstUse::Find(problem)
                }
                Err(problem) => return Err(problem),
            },
        };
        Ok(Admitted { known: None, demand: None, lease_ms: meshlock_api::resource::DEFAULT_LEASE_MS, first_use })
    }

    /// Hands a request over to the protocol of its resource, or sees to it that this is made.
    pub(super) fn hand_in(&mut self, now: Now, ticket: Ticket, admitted: Admitted) {
        self.count_ask(now, ticket);
        let name = self.requests.get(ticket).map(|request| request.asked.resource.clone()).unwrap_or_default();
        match admitted.first_use {
            FirstUse::Known => self.submit(now, ticket),
            // It may be made at once, and then the request is handed over.
            FirstUse::Make(definition) => self.want_resource(now, &name, definition, ticket),
            FirstUse::Find(problem) => self.find_resource(now, &name, problem, ticket),
            FirstUse::Declared => self.seek_registry(now),
        }
    }

    fn ask_again(&mut self, now: Now, ticket: Ticket, asked: &NewRequest) -> Result<Ticket, Problem> {
        let same = self.requests.get(ticket).is_some_and(|request| request.asked == *asked);
        if !same {
            let message = "this id belongs to another request of this node; choose a new one for each request";
            return Err(Problem::conflict(message));
        }
        self.renew_ticket(now, ticket);
        Ok(ticket)
    }

    /// The ticket of an id.
    pub fn find(&self, id: &str) -> Result<Ticket, Problem> {
        let unknown = || {
            Problem::unknown(format!(
                "this node does not know request {id:?}: it was never asked for here, or it ended more than 10 minutes or \
                 {MOST_REMEMBERED} requests ago. Use the node it was asked at, or ask anew"
            ))
        };
        self.requests.find(id).ok_or_else(unknown)
    }

    /// How a request is doing.
    pub fn look(&self, now: Now, ticket: Ticket) -> Result<RequestInfo, Problem> {
        let request = self.requests.get(ticket).ok_or_else(|| Problem::unknown("this request was long ago"))?;
        let (waiting, waits) = self.waits_as(ticket, request);
        let is_over = request.state.is_over();
        let held_until = request.over_at.unwrap_or(now);
        let out_of_reach =
            if request.state == State::Queued { self.out_of_reach(now, waits) } else { request.was_lost.clone() };
        Ok(RequestInfo {
            id: self.id_of(ticket),
            resource: request.asked.names(),
            state: request.state,
            parts: self.part_infos(ticket),
            units: request.asked.units.unwrap_or(1),
            urgency: request.urgency.unwrap_or(Urgency::Priority(0)),
            session: request.asked.session.clone(),
            mode: request.asked.mode,
            owner: request.asked.owner.clone(),
            fence: request.fence,
            fence_text: request.fence.map(|fence| fence.to_string()),
            slots: request.slots.iter().collect(),
            slot_names: self.slot_names(request),
            lease_ms: request.told_ms,
            expires_in_ms: (!is_over).then(|| request.alive_until.ms_since(now)),
            waited_ms: request.granted_at.or(request.over_at).unwrap_or(now).ms_since(request.asked_at),
            held_ms: request.granted_at.map(|at| held_until.ms_since(at)),
            place: (request.state == State::Queued && out_of_reach.is_none()).then(|| self.place(now, waiting, waits)),
            out_of_reach,
            reason: request.reason.clone().or_else(|| self.waiting_words(now, waits)),
            expiry: request.expiry,
            made: self.made_for(request),
        })
    }

    /// What was made because of a request.
    pub(super) fn made_for(&self, request: &Request) -> Option<Box<Definition>> {
        let made = request.made.then(|| self.resource_info(&request.asked.resource)).flatten();
        made.map(|made| Box::new(made.definition))
    }

    pub(super) fn slot_names(&self, request: &Request) -> Vec<String> {
        let known = request.resource.and_then(|number| self.resources.get(&number));
        known.map_or_else(Vec::new, |known| slot_names(&known.entry.definition, &request.slots))
    }

    /// Which units a request has, where they are numbered, and their names, if they have any.
    pub fn slots(&self, ticket: Ticket) -> (Vec<u32>, Vec<String>) {
        let Some(request) = self.requests.get(ticket) else { return Default::default() };
        (request.slots.iter().collect(), self.slot_names(request))
    }

    /// The state, its fence and the end of the lease, without words: the short way for programs in this process.
    pub fn glance(&self, ticket: Ticket) -> Option<(State, Option<u64>, Now)> {
        self.requests.get(ticket).map(|request| (request.state, request.fence, request.alive_until))
    }

    /// Wakes this task as soon as the state of the request changes.
    pub fn wake_on_change(&mut self, ticket: Ticket, waker: &Waker) {
        if let Some(request) = self.requests.get_mut(ticket)
            && !request.wakers.iter().any(|known| known.will_wake(waker))
        {
            request.wakers.push(waker.clone());
        }
    }

    /// The client is still there: its lease begins anew.
    pub fn renew(&mut self, now: Now, ticket: Ticket, lease_ms: Option<u64>) -> Result<(), Problem> {
        if let Some(lease_ms) = lease_ms {
            check_lease(lease_ms).map_err(Problem::bad_request)?;
            if let Some(request) = self.requests.get_mut(ticket) {
                request.lease_ms = lease_ms;
            }
            for part in self.parts(ticket) {
                if let Some(part) = self.requests.get_mut(part) {
                    part.lease_ms = lease_ms;
                }
            }
        }
        self.renew_ticket(now, ticket);
        Ok(())
    }

    fn renew_ticket(&mut self, now: Now, ticket: Ticket) {
        let Some(request) = self.requests.get(ticket).filter(|request| !request.state.is_over()) else { return };
        let is_granted = request.state == State::Granted;
        let end = if is_granted { self.lease_end(now, request.lease_ms) } else { now.plus_ms(request.lease_ms) };
        if is_granted {
            self.promise(end);
        }
        let Some(request) = self.requests.get_mut(ticket) else { return };
        request.alive_until = end;
        request.told_ms = end.ms_since(now);
        request.abandoned = false;
        if request.alarm_at.is_some_and(|alarm_at| request.due() < alarm_at) {
            self.set_alarm(ticket);
        }
    }

    /// A client waits for the request on a connection, until [`answered`](Self::answered) or
    /// [`abandoned`](Self::abandoned).
    pub fn attended(&mut self, ticket: Ticket) {
        if let Some(request) = self.requests.get_mut(ticket) {
            request.attended += 1;
        }
    }

    /// A client that waited for the request was told how it is doing.
    pub fn answered(&mut self, ticket: Ticket) {
        if let Some(request) = self.requests.get_mut(ticket) {
            request.attended = request.attended.saturating_sub(1);
        }
    }

    /// The client closed the connection on which it waited.
    pub fn abandoned(&mut self, now: Now, ticket: Ticket) {
        self.answered(ticket);
        self.unheard(now, ticket);
    }

    /// The client was not told how the request is doing: its connection was gone. It ends soon, queued or granted, unless
    /// another connection waits for it, or the client comes back.
    pub fn unheard(&mut self, now: Now, ticket: Ticket) {
        let Some(request) = self.requests.get_mut(ticket).filter(|request| !request.state.is_over()) else { return };
        let until = now.plus_ms(COME_BACK_MS);
        if request.attended == 0 && until < request.alive_until {
            request.alive_until = until;
            request.abandoned = true;
            self.set_alarm(ticket);
        }
    }

    /// Changes the urgency of a request that waits.
    pub fn reprioritize(&mut self, now: Now, ticket: Ticket, urgency: Urgency) -> Result<(), Problem> {
        let Some(request) = self.requests.get(ticket) else {
            return Err(Problem::unknown("this request was long ago"));
        };
        if request.state != State::Queued {
            let message = format!("the request is {}: only one that waits can be changed", request.state.name());
            return Err(Problem::conflict(message));
        }
        if request.role.is_bundle() {
            self.reprioritize_parts(now, ticket, urgency)?;
        } else if let Some(resource) = request.resource.and_then(|number| self.resources.get_mut(&number)) {
            let name = resource.entry.name.clone();
            let wanted = demand::urgency(&name, &resource.entry.definition, urgency)?;
            let on_desk = resource.desk.remove(ticket);
            if on_desk {
                resource.desk.add(priority_of(urgency), ticket, request.demand.and_then(|demand| demand.session));
            }
            let (number, request_number) = (resource.entry.number, request.number);
            if let Some(request) = request_number {
                let event = Event::Reprioritize { request, urgency: wanted };
                self.step(now, number, event).map_err(|misuse| Problem::conflict(misuse.to_string()))?;
            }
            if let Some(demand) = self.requests.get_mut(ticket).and_then(|request| request.demand.as_mut()) {
                demand.urgency = wanted;
            }
        }
        if let Some(request) = self.requests.get_mut(ticket) {
            request.urgency = Some(urgency);
        }
        self.tell_request(now, ticket);
        Ok(())
    }

    /// The client no longer wants it: what waits is cancelled, what is held is given back. More than once does no harm.
    pub fn release(&mut self, now: Now, ticket: Ticket) {
        if self.lingers(ticket) {
            return self.end_lingering_of(now, ticket);
        }
        self.end(now, ticket, State::Released, None);
    }

    /// An operator takes it away from its client.
    pub fn revoke(&mut self, now: Now, ticket: Ticket, reason: &str) {
        self.end(now, ticket, State::Revoked, Some(reason.to_owned()));
    }

    /// Ends a request that is not over yet. While the node stops, its client has to hear of it first, and has its lease.
    pub(crate) fn end(&mut self, now: Now, ticket: Ticket, state: State, reason: Option<String>) {
        self.end_request(now, ticket, state, reason, self.stopping);
    }

    /// Ends a request; what it holds goes back when its client has said that it stopped, or its lease is over.
    pub(crate) fn end_when_stopped(&mut self, now: Now, ticket: Ticket, state: State, reason: Option<String>) {
        self.end_request(now, ticket, state, reason, true);
    }

    fn end_request(&mut self, now: Now, ticket: Ticket, state: State, reason: Option<String>, lingers: bool) {
        let is_alive = |ticket: Ticket| self.requests.get(ticket).is_some_and(|request| !request.state.is_over());
        match self.bundle_of(ticket).filter(|bundle| is_alive(*bundle) && is_alive(ticket)) {
            Some(bundle) => self.end_by_part(now, (bundle, ticket), (state, reason), lingers),
            None => self.end_alone(now, ticket, (state, reason), lingers),
        }
    }

    /// Ends a request and its parts, but not the bundle of which it is a part.
    pub(super) fn end_alone(
        &mut self,
        now: Now,
        ticket: Ticket,
        (state, reason): (State, Option<String>),
        lingers: bool,
    ) {
        let Some(request) = self.requests.get_mut(ticket).filter(|request| !request.state.is_over()) else { return };
        let was = request.state;
        request.state = state;
        request.reason = reason;
        request.over_at = Some(now);
        self.woken.append(&mut request.wakers);
        let (alarm_at, resource) = (request.alarm_at, request.resource);
        let (is_bundle, is_part) = (request.role.is_bundle(), request.role.is_part());
        if let Some(alarm_at) = alarm_at {
            self.alarms.unset(alarm_at, Alarm::Request(ticket));
        }
        self.note_change(ticket);
        self.count_end(now, ticket, was, state);
        let lingers = was == State::Granted && lingers;
        if is_bundle {
            self.end_parts(now, ticket, was, state, lingers);
        } else if was == State::Granted && !lingers {
            self.uncount_holder(now);
        }
        match resource {
            Some(resource) if lingers => {
                self.lingering.insert((resource, ticket));
                self.requests.end(ticket);
                if !is_part {
                    self.set_alarm(ticket);
                }
            }
            None if is_bundle && self.lingers(ticket) => {
                self.requests.end(ticket);
                self.set_alarm(ticket);
            }
            Some(_) | None => {
                self.leave_stream(ticket);
                self.requests.retire(now, ticket);
                self.give_back(now, ticket, was);
            }
        }
        self.tell_request(now, ticket);
    }

    /// Takes an ended request out of its protocol.
    pub(crate) fn give_back(&mut self, now: Now, ticket: Ticket, was: State) {
        let Some(request) = self.requests.get(ticket) else { return };
        let units = request.demand.map_or(Units(1), |demand| demand.units);
        if let Some(resource) = request.resource {
            self.take_out(now, resource, ticket, request.number, was, units);
        }
    }

    /// A lease or a timeout may be over.
    pub(crate) fn request_due(&mut self, now: Now, ticket: Ticket) {
        if self.requests.get(ticket).is_some_and(|request| request.alive_until <= now)
            && self.renew_by_itself(now, ticket)
        {
            return;
        }
        if self.lingers(ticket) {
            return self.end_lingering_of(now, ticket);
        }
        let Some(request) = self.requests.get(ticket).filter(|request| !request.state.is_over()) else { return };
        if request.due() > now {
            return self.set_alarm(ticket);
        }
        let mut was_lost = None;
        let timed_out = request.state == State::Queued && request.times_out.is_some_and(|at| at <= now);
        let (expiry, reason) = if request.alive_until > now || timed_out && request.stream.is_some() {
            was_lost = self.out_of_reach(now, self.waits_as(ticket, request).1);
            let why = was_lost.as_ref().map_or_else(String::new, |lost| format!("; its token is {lost}"));
            let reason = format!("not granted within {} ms{why}", request.asked.timeout_ms.unwrap_or_default());
            (Expiry::Timeout, reason)
        } else if request.abandoned {
            let reason = format!("its client closed the connection and did not come back within {COME_BACK_MS} ms");
            (Expiry::Disconnect, reason)
        } else {
            (Expiry::Lease, format!("its client gave no sign for {} ms", request.lease_ms))
        };
        if let Some(request) = self.requests.get_mut(ticket) {
            request.expiry = Some(expiry);
            request.was_lost = was_lost;
        }
        self.end(now, ticket, State::Expired, Some(reason));
    }

    pub(crate) fn set_alarm(&mut self, ticket: Ticket) {
        let Some(request) = self.requests.get_mut(ticket) else { return };
        let due = request.due();
        if let Some(alarm_at) = request.alarm_at.replace(due) {
            self.alarms.unset(alarm_at, Alarm::Request(ticket));
        }
        self.alarms.set(due, Alarm::Request(ticket));
    }

    /// A request was asked for and handed over. Not before: it may be granted by now, and its lease be shorter than what it
    /// asked for.
    pub(super) fn set_first_alarm(&mut self, ticket: Ticket) {
        let has_none = |request: &Request| request.alarm_at.is_none() && !request.state.is_over();
        if self.requests.get(ticket).is_some_and(has_none) {
            self.set_alarm(ticket);
        }
    }

    /// All resources that are known here, but for the mesh's own.
    pub fn resource_infos(&self) -> Vec<ResourceInfo> {
        self.resource_infos_after(None, usize::MAX)
    }

    /// The next of them by name, so many at most.
    pub fn resource_infos_after(&self, last: Option<&str>, most: usize) -> Vec<ResourceInfo> {
        let after = last.map_or(Bound::Unbounded, Bound::Excluded);
        let numbers = self.names.range::<str, _>((after, Bound::Unbounded)).take(most);
        numbers.filter_map(|(_, number)| self.resources.get(number)).map(super::Resource::info).collect()
    }

    /// One of them.
    pub fn resource_info(&self, name: &str) -> Option<ResourceInfo> {
        self.names.get(name).and_then(|number| self.resources.get(number)).map(super::Resource::info)
    }

    /// All requests that are queued or granted here.
    pub fn request_infos(&self, now: Now) -> Vec<RequestInfo> {
        self.looks(now, self.requests.alive_ones())
    }

    /// The next of them after a ticket, so many at most, and the ticket of the last; `None` if there are none.
    pub fn request_infos_after(&self, now: Now, last: Ticket, most: usize) -> Option<(Vec<RequestInfo>, Ticket)> {
        let tickets = self.requests.alive_after(last, most);
        let until = *tickets.last()?;
        Some((self.looks(now, tickets), until))
    }

    fn looks(&self, now: Now, tickets: Vec<Ticket>) -> Vec<RequestInfo> {
        let whole = tickets.into_iter().filter(|ticket| self.bundle_of(*ticket).is_none());
        whole.filter_map(|ticket| self.look(now, ticket).ok()).collect()
    }

    /// Whether another node waits for a resource, as far as this one knows.
    pub fn is_wanted_elsewhere(&self, name: &str) -> bool {
        let resource = self.names.get(name).and_then(|number| self.resources.get(number));
        resource.is_some_and(|resource| resource.instance.is_wanted_elsewhere(self.settings.id))
    }

    fn place(&self, now: Now, ticket: Ticket, request: &Request) -> Place {
        let Some(resource) = request.resource.and_then(|number| self.resources.get(&number)) else {
            return Place { ahead: 0, exact: false, estimate_ms: None, estimate_low_ms: None, estimate_high_ms: None };
        };
        let ahead = match (request.number, resource.desk.position(ticket, MOST_COUNTED)) {
            (_, Some(position)) => position + 1,
            (Some(number), None) => resource.instance.ahead_of(number, MOST_COUNTED),
            (None, None) => 0,
        };
        let free = resource.instance.free();
        let exact = free.is_some() && ahead < MOST_COUNTED;
        let busy = free.is_some_and(|free| free < request.demand.map_or(1, |demand| demand.units.0));
        // Without all who are ahead there is no estimate that could be too long.
        let estimate = exact.then(|| {
            let held = resource.usage.holders.iter().filter_map(|ticket| self.requests.get(*ticket)?.granted_at);
            let before = Before {
                // The first of several that is done makes room.
                holds: busy.then(|| held.min().map(|since| now.ms_since(since))),
                ahead: ahead as u64,
                at_once: u64::from(resource.entry.definition.capacity / request.asked.units.unwrap_or(1).max(1)),
                waited_ms: now.ms_since(request.asked_at),
            };
            resource.counts.holds.estimate(before)
        });
        let estimate = estimate.flatten();
        Place {
            ahead: u32::try_from(ahead).unwrap_or(u32::MAX),
            exact,
            estimate_ms: estimate.map(|estimate| estimate.middle_ms),
            estimate_low_ms: estimate.map(|estimate| estimate.low_ms),
            estimate_high_ms: estimate.map(|estimate| estimate.high_ms),
        }
    }
}

/// What there is to know of a request before it waits.
#[derive(Debug)]
pub(super) struct Admitted {
    /// Its resource, if that is known.
    pub(super) known: Option<Number>,
    pub(super) demand: Option<Demand>,
    /// How long a lease of this resource is, unless the request says otherwise.
    pub(super) lease_ms: u64,
    first_use: FirstUse,
}

/// What becomes of the resource of a request.
#[derive(Debug)]
enum FirstUse {
    /// It is there.
    Known,
    /// The file of this node declares it, so it is being made.
    Declared,
    /// The request makes it.
    Make(Definition),
    /// The request makes none. It waits until it is certain that there is none, and is rejected for this reason.
    Find(Problem),
}

/// How far those ahead of a request are counted.
const MOST_COUNTED: usize = 1_000;

/// How long a client may take to come back after the connection on which it waited was closed. A client that was killed
/// costs the others this, and no lease; one whose connection broke has time to ask again with the same id.
pub const COME_BACK_MS: u64 = 2_000;

/// The order on a desk. Protocols with a desk are never ordered by deadline.
pub(crate) fn priority_of(urgency: Urgency) -> i32 {
    match urgency {
        Urgency::Priority(priority) => priority,
        Urgency::Deadline(_) => 0,
    }
}
