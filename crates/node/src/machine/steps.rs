//! One event into the protocol of a resource, and what comes of it.

use std::collections::BTreeSet;

use meshlock_api::{Event as ApiEvent, Kind, Mode, State, What};
use meshlock_core::{Effect, Event, Grant, Misuse, NodeId, RequestId, Slots, Timer, Units};

use super::alarms::Alarm;
use super::clients::{Ticket, priority_of};
use super::demand;
use super::instance::Instance;
use super::registry::REGISTRY;
use super::resource::{Company, TokenLeft};
use super::{Machine, Now};
use crate::wire::{Frame, Number, Payload, encode};

/// How many clients of one node may come to a session after the first, where the resource says nothing.
const LEAST_JOINS: u32 = 16;

impl Machine {
    /// Applies one event to the protocol of a resource, and does what it wants done.
    pub(crate) fn step(&mut self, now: Now, resource: Number, event: Event<Payload>) -> Result<(), Misuse> {
        if self.is_expelled() {
            return Ok(()); // all that its protocols know is void, and will be forgotten
        }
        let Some(known) = self.resources.get(&resource) else { return Ok(()) };
        let had_token = known.instance.holds_token();
        self.counts.steps += 1;
        let from = if let Event::Receive { from, .. } = &event { Some(*from) } else { None };
        let effects = self.handle(now, resource, event)?;
        let Some(known) = self.resources.get_mut(&resource) else { return Ok(()) };
        let has_token = known.instance.holds_token();
        if had_token != has_token {
            known.counts.hops += u64::from(has_token);
            if resource != REGISTRY {
                let name = known.entry.name.clone();
                let what =
                    |resource| if has_token { What::TokenHere { resource } } else { What::TokenGone { resource } };
                self.events.tell(now, || what(name));
            }
        }
        if let Some((to, pass)) = effects.iter().rev().find_map(Instance::token_goes_to) {
            let left = TokenLeft { pass, at: now, to: self.name_of(to) };
            if let Some(known) = self.resources.get_mut(&resource) {
                known.token_left = Some(left);
            }
        }
        for effect in effects {
            self.apply(now, resource, effect, from);
        }
        if resource == REGISTRY {
            self.use_registry(now);
        }
        self.advance_bundles(now);
        Ok(())
    }

    /// Does what a protocol wants done, because of a message `from` a neighbour if it was one.
    fn apply(&mut self, now: Now, resource: Number, effect: Effect<Payload>, from: Option<NodeId>) {
        match effect {
            Effect::Send { to, message } => self.send(resource, &[to], message, from),
            Effect::Multicast { to, message } => self.send(resource, &to, message, from),
            Effect::Broadcast { message } => {
                let partners: Vec<NodeId> = self.partners().collect();
                self.send(resource, &partners, message, from);
            }
            Effect::Granted { grant } => self.granted(now, resource, grant),
            Effect::Arm { timer, after } => {
                let delay = self.random.u64(u64::from(after.least_ms)..=u64::from(after.most_ms.max(after.least_ms)));
                self.alarms.set(now.plus_ms(delay), Alarm::Timer(resource, timer));
            }
            Effect::Reject { from, reason } => {
                self.counts.rejected += 1;
                let name = self.resources.get(&resource).map_or("?", |known| known.entry.name.as_str());
                let line = format!("ignored a message about {name:?} from node {from}: {reason}");
                self.note(line);
            }
        }
    }

    fn send(&mut self, resource: Number, to: &[NodeId], message: Payload, from: Option<NodeId>) {
        let kind = Instance::kind(&message);
        let mut waiting: Vec<NodeId> = Vec::new();
        if let Some(known) = self.resources.get(&resource) {
            waiting.extend(to.iter().filter(|to| known.instance.can_wait(&message, **to, from)));
        }
        let frame = encode(&Frame::Protocol { resource, message });
        if let Some(known) = self.resources.get_mut(&resource) {
            known.counts.sent(kind, to.len(), frame.len());
        }
        for to in to {
            self.post_when(*to, &frame, waiting.contains(to));
        }
    }

    fn granted(&mut self, now: Now, resource: Number, grant: Grant) {
        if self.suspended().is_some() {
            return self.refuse_grant(now, resource, grant.request, grant.units);
        }
        if resource == REGISTRY {
            self.registry.granted(&grant);
            return;
        }
        let ticket = self.resources.get(&resource).and_then(|known| known.tickets.get(&grant.request)).copied();
        let Some(ticket) = ticket else { return };
        let Some(request) = self.requests.get_mut(ticket).filter(|request| request.state == State::Queued) else {
            return;
        };
        let reads = request.asked.mode == Some(Mode::Read);
        self.let_in(now, ticket, grant.fence.map(|fence| fence.0), grant.slots);
        let Some(known) = self.resources.get_mut(&resource).filter(|known| known.instance.serves_one_at_a_time())
        else {
            return;
        };
        let shared = known.entry.definition.kind == Kind::Sessions || reads;
        if let Some(session) = grant.session.filter(|_| shared) {
            known.company = Some(Company {
                number: grant.request,
                session,
                fence: grant.fence.map(|fence| fence.0),
                members: BTreeSet::from([ticket]),
                places: known.entry.definition.joins.max(LEAST_JOINS),
            });
            let places = known.entry.definition.joins.max(LEAST_JOINS);
            for waiting in known.desk.first_of(session, places as usize) {
                self.join(now, resource, waiting);
            }
        }
    }

    pub(super) fn let_in(&mut self, now: Now, ticket: Ticket, fence: Option<u64>, slots: Slots) {
        let standing = self.standing_until();
        let Some(request) = self.requests.get_mut(ticket) else { return };
        request.state = State::Granted;
        request.granted_at = Some(now);
        (request.fence, request.slots) = (fence, slots);
        self.woken.append(&mut request.wakers);
        if request.stream.is_some() {
            // An open stream is the sign of life of a client that waits.
            request.alive_until = now.plus_ms(request.lease_ms);
            request.told_ms = request.lease_ms;
        }
        if let Some(standing) = standing.filter(|standing| *standing < request.alive_until) {
            request.alive_until = standing;
            request.told_ms = standing.ms_since(now);
            if request.alarm_at.is_some() {
                self.set_alarm(ticket);
            }
        }
        if let Some(request) = self.requests.get(ticket) {
            self.promise(request.alive_until);
        }
        if self.requests.get(ticket).is_some_and(|request| !request.role.is_bundle()) {
            self.count_holder();
            self.count_grant(now, ticket);
        }
        self.note_change(ticket);
        self.tell_request(now, ticket);
        self.part_granted(ticket);
    }

    /// Lets a request into the session that a client of this node attends already. False if it has to wait.
    fn join(&mut self, now: Now, resource: Number, ticket: Ticket) -> bool {
        let session = self.requests.get(ticket).and_then(|request| request.demand).and_then(|demand| demand.session);
        let Some(known) = self.resources.get_mut(&resource) else { return false };
        let Some(company) = known.company.as_mut().filter(|c| Some(c.session) == session && c.places > 0) else {
            return false;
        };
        company.places -= 1;
        company.members.insert(ticket);
        let fence = company.fence;
        known.desk.remove(ticket);
        self.let_in(now, ticket, fence, Slots::NONE);
        true
    }

    /// Hands a request over to the protocol of its resource, or puts it on the desk in front of it.
    pub(crate) fn submit(&mut self, now: Now, ticket: Ticket) {
        if self.suspended().is_some() {
            return; // it is handed over when this node may grant
        }
        let Some(request) = self.requests.get(ticket) else { return };
        let Some(known) = request.resource.and_then(|number| self.resources.get_mut(&number)) else { return };
        if known.instance.serves_one_at_a_time() && !known.tickets.is_empty() {
            let priority = priority_of(request.urgency.unwrap_or(meshlock_api::Urgency::Priority(0)));
            let number = known.entry.number;
            known.desk.add(priority, ticket, request.demand.and_then(|demand| demand.session));
            self.join(now, number, ticket);
            self.advance_bundles(now);
            return;
        }
        self.hand_over(now, ticket);
    }

    fn hand_over(&mut self, now: Now, ticket: Ticket) {
        let number = self.requests.next_number();
        let Some(request) = self.requests.get_mut(ticket) else { return };
        let (Some(resource), Some(demand)) = (request.resource, request.demand) else { return };
        request.number = Some(number);
        if let Some(known) = self.resources.get_mut(&resource) {
            known.tickets.insert(number, ticket);
        }
        if let Err(misuse) = self.step(now, resource, Event::Request { request: number, demand }) {
            if let Some(known) = self.resources.get_mut(&resource) {
                known.tickets.remove(&number);
            }
            if let Some(request) = self.requests.get_mut(ticket) {
                request.number = None;
            }
            self.end(now, ticket, State::Rejected, Some(misuse.to_string()));
        }
    }

    /// Takes an ended request out of the protocol or off the desk, and hands over who comes next.
    pub(crate) fn take_out(
        &mut self,
        now: Now,
        resource: Number,
        ticket: Ticket,
        number: Option<RequestId>,
        was: State,
        units: Units,
    ) {
        let Some(known) = self.resources.get_mut(&resource) else { return };
        let mut number = number;
        if let Some(company) = &mut known.company
            && company.members.remove(&ticket)
        {
            if !company.members.is_empty() {
                return; // the others stay, under the same grant
            }
            number = Some(company.number);
            known.company = None;
        }
        let Some(request) = number else {
            known.desk.remove(ticket);
            return;
        };
        known.tickets.remove(&request);
        let event = if was == State::Granted { Event::Release { request, units } } else { Event::Cancel { request } };
        if let Err(misuse) = self.step(now, resource, event) {
            self.note(format!("could not take request {request} out of resource {resource}: {misuse}"));
        }
        let next = self.resources.get_mut(&resource).and_then(|known| known.desk.take_first());
        if let Some(next) = next {
            self.hand_over(now, next);
        }
    }

    /// A resource has become known: requests that waited for it can be handed over.
    pub(crate) fn submit_waiting_for(&mut self, now: Now, resource: Number) {
        let Some(known) = self.resources.get(&resource) else { return };
        let (name, definition) = (known.entry.name.clone(), known.entry.definition.clone());
        let conflict = known.conflict.as_ref().map(|declared| self.conflict_words(&known.entry, declared));
        for ticket in self.requests.take_waiting_for(&name) {
            let Some(request) = self.requests.get_mut(ticket).filter(|request| !request.state.is_over()) else {
                continue;
            };
            request.resource = Some(resource);
            self.count_ask(now, ticket);
            let Some(request) = self.requests.get_mut(ticket) else { continue };
            let verdict = match &conflict {
                Some(words) => Err(words.clone()),
                None => demand::demand(&name, &definition, &request.asked, self.settings.id).map_err(|p| p.message),
            };
            match verdict {
                Ok(demand) => {
                    request.demand = Some(demand);
                    self.submit(now, ticket);
                }
                Err(reason) => self.end(now, ticket, State::Rejected, Some(reason)),
            }
        }
    }

    pub(crate) fn timer_due(&mut self, now: Now, resource: Number, timer: Timer) {
        if let Err(misuse) = self.step(now, resource, Event::Expired { timer }) {
            self.note(format!("a timer of resource {resource} was refused: {misuse}"));
        }
    }

    /// Tells those who watch how a request is doing now.
    pub(crate) fn tell_request(&mut self, now: Now, ticket: Ticket) {
        if !self.events.anybody_listens() {
            return;
        }
        let bundle = self.bundle_of(ticket);
        // The end of a bundle is told once, and not for each part besides.
        if bundle.and_then(|bundle| self.requests.get(bundle)).is_some_and(|bundle| bundle.state.is_over()) {
            return;
        }
        let ticket = bundle.unwrap_or(ticket);
        if let Ok(request) = self.look(now, ticket) {
            self.events.tell(now, || What::Request { request });
        }
    }

    /// Events after the one of this number, as far as they are remembered.
    pub fn events_after(&self, number: u64) -> Vec<ApiEvent> {
        self.events.after(number)
    }
}
