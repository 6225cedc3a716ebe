//! Several resources, all or none.
//!
//! A *bundle* is a request that has no resource of its own. Its *parts* are ordinary requests of the same owner, urgency and
//! lease, one for each resource. They are asked for one after the other, each when the one before is granted, in the
//! order of the resources' names as bytes. When the last is granted, so is the bundle.
//!
//! No deadlock: that order is the same at every node, so no bundle that holds a resource waits for one with a lesser name.
//! Of all the resources that are waited for take the greatest: who holds it waits for nothing, and gives it back. A request
//! for one resource holds nothing while it waits, and the lock of the registry, under which an unknown name is made, is
//! never held while something else is waited for. No starvation beyond that of the protocols: each part is served as any
//! request for its resource is.
//!
//! The price: what was granted first is held, and used by no client, while the others are waited for.
//!
//! The client knows the bundle alone. Its lease, its timeout and its connection are the bundle's; parts have no alarm of
//! their own, and no id. What ends a part ends the bundle, with one exception: a part that is taken back while the
//! bundle waits was never promised to the client, so the bundle gives back all and begins again.

use std::collections::{BTreeSet, VecDeque};

use meshlock_api::{MOST_PARTS, NewPart, NewRequest, PartInfo, Problem, Reason, State, Urgency};
use meshlock_core::Slots;

use super::alarms::Alarm;
use super::clients::Ticket;
use super::demand;
use super::requests::Request;
use super::{Machine, Now};

/// What a request is to other requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// It stands alone.
    #[default]
    Single,
    /// It has these parts, in the order in which they are asked for.
    Bundle(Vec<Ticket>),
    /// It is one of these parts.
    Part {
        of: Ticket,
        /// Its turn has come.
        is_asked: bool,
    },
}

impl Role {
    /// Whether a request without a resource waits for that to become known.
    pub(crate) fn may_wait_for_resource(&self) -> bool {
        matches!(self, Self::Single | Self::Part { is_asked: true, .. })
    }

    pub(crate) fn is_part(&self) -> bool {
        matches!(self, Self::Part { .. })
    }

    pub(crate) fn is_bundle(&self) -> bool {
        matches!(self, Self::Bundle(_))
    }
}

/// Bundles of which a part was granted, and which may go on as soon as the event is applied to its end: the protocol that
/// granted it may have more to say, and that has to be sent before anything that comes of going on.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    ready: VecDeque<Ticket>,
    is_advancing: bool,
}

/// What is wrong with a request for several resources, whatever they are.
pub(crate) fn check(asked: &NewRequest) -> Result<(), Problem> {
    if !asked.resource.is_empty() {
        return Err(Problem::bad_request("give \"resource\" for one resource, or \"all\" for several, not both"));
    }
    if asked.units.is_some() || asked.session.is_some() || asked.mode.is_some() {
        return Err(Problem::bad_request("with \"all\", give units, session and mode of each resource, inside of it"));
    }
    if asked.all.len() > MOST_PARTS {
        let many = asked.all.len();
        return Err(Problem::bad_request(format!(
            "{many} resources at once: at most {MOST_PARTS} can be asked for together"
        )));
    }
    let mut names = BTreeSet::new();
    for part in &asked.all {
        demand::check(&as_request(asked, part))?;
        if !names.insert(&part.resource) {
            let name = &part.resource;
            return Err(Problem::bad_request(format!("{name:?} is named twice; name it once, with all the units")));
        }
    }
    Ok(())
}

/// The request that a part is.
fn as_request(asked: &NewRequest, part: &NewPart) -> NewRequest {
    let NewPart { resource, units, session, mode } = part.clone();
    NewRequest {
        resource,
        units,
        session,
        mode,
        urgency: asked.urgency,
        lease_ms: asked.lease_ms,
        owner: asked.owner.clone(),
        ..NewRequest::default()
    }
}

impl Machine {
    /// A client asks for several resources. Refused before anything is asked for, if one of them can never be granted.
    pub(super) fn ask_all(&mut self, now: Now, asked: NewRequest) -> Result<Ticket, Problem> {
        let most = self.settings.most_requests;
        if self.requests.alive() + asked.all.len() >= most {
            let parts = asked.all.len();
            let message = format!(
                "this node can have {most} requests under way, and {parts} more with one for all of them are too many; ask \
                 again later or at another node"
            );
            return Err(Problem::new(Reason::Unavailable, message));
        }
        let mut shortest = u64::MAX;
        for part in &asked.all {
            shortest = shortest.min(self.admit(&as_request(&asked, part))?.lease_ms);
        }
        let lease_ms = asked.lease_ms.unwrap_or(shortest);
        let bundle = self.requests.add(Request {
            lease_ms,
            told_ms: lease_ms,
            alive_until: now.plus_ms(lease_ms),
            times_out: asked.timeout_ms.map(|ms| now.plus_ms(ms)),
            role: Role::Bundle(Vec::new()),
            ..Request::new(now, asked)
        });
        self.begin(now, bundle);
        self.set_first_alarm(bundle);
        self.tell_request(now, bundle);
        Ok(bundle)
    }

    /// Makes the parts, and asks for the first.
    fn begin(&mut self, now: Now, bundle: Ticket) {
        let Some(request) = self.requests.get(bundle) else { return };
        let (asked, lease_ms) = (request.asked.clone(), request.lease_ms);
        let asked = NewRequest { urgency: request.urgency, ..asked };
        let mut parts: Vec<NewRequest> = asked.all.iter().map(|part| as_request(&asked, part)).collect();
        parts.sort_by(|one, other| one.resource.as_bytes().cmp(other.resource.as_bytes()));
        let role = || Role::Part { of: bundle, is_asked: false };
        let made = parts.into_iter().map(|part| {
            let request = Request { lease_ms, told_ms: lease_ms, role: role(), ..Request::new(now, part) };
            self.requests.add(request)
        });
        let tickets = made.collect();
        if let Some(request) = self.requests.get_mut(bundle) {
            request.role = Role::Bundle(tickets);
        }
        self.bundles.ready.push_back(bundle);
        self.advance_bundles(now);
    }

    /// A part was granted.
    pub(super) fn part_granted(&mut self, part: Ticket) {
        self.bundles.ready.extend(self.bundle_of(part));
    }

    /// Lets bundles go on of which a part was granted.
    pub(super) fn advance_bundles(&mut self, now: Now) {
        // Not one inside of the other: a thousand that fail one after the other would need a thousand times the stack.
        if self.bundles.is_advancing || self.bundles.ready.is_empty() {
            return;
        }
        self.bundles.is_advancing = true;
        while let Some(bundle) = self.bundles.ready.pop_front() {
            self.advance(now, bundle);
        }
        self.bundles.is_advancing = false;
    }

    fn advance(&mut self, now: Now, bundle: Ticket) {
        if self.requests.get(bundle).is_none_or(|request| request.state != State::Queued) {
            return;
        }
        let parts = self.parts(bundle);
        let holds = |part: &Ticket| self.requests.get(*part).is_some_and(|part| part.state == State::Granted);
        match parts.iter().find(|part| !holds(part)) {
            Some(part) => self.ask_for_part(now, *part),
            None if parts.is_empty() => {} // it begins again at this moment
            None => self.let_in(now, bundle, None, Slots::NONE),
        }
    }

    /// The turn of a part has come, unless it had come before.
    fn ask_for_part(&mut self, now: Now, part: Ticket) {
        let Some(request) = self.requests.get_mut(part) else { return };
        let Role::Part { is_asked: is_asked @ false, .. } = &mut request.role else { return };
        *is_asked = true;
        request.asked_at = now;
        let asked = request.asked.clone();
        match self.admit(&asked) {
            Ok(admitted) => {
                if admitted.known.is_none() {
                    self.requests.wait_for(part, &asked.resource);
                }
                if let Some(request) = self.requests.get_mut(part) {
                    (request.resource, request.demand) = (admitted.known, admitted.demand);
                }
                self.hand_in(now, part, admitted);
                if let Some(bundle) = self.bundle_of(part) {
                    self.tell_request(now, bundle);
                }
            }
            Err(problem) => self.end(now, part, State::Rejected, Some(problem.message)),
        }
    }

    /// A part is taken away, or can never be granted; how its bundle ends by that.
    pub(super) fn end_by_part(
        &mut self,
        now: Now,
        (bundle, part): (Ticket, Ticket),
        (state, reason): (State, Option<String>),
        lingers: bool,
    ) {
        let Some(request) = self.requests.get(bundle) else { return };
        if request.state == State::Queued && state == State::Revoked && !self.stopping {
            return self.begin_again(now, bundle);
        }
        let name = self.requests.get(part).map(|part| part.asked.resource.clone()).unwrap_or_default();
        let reason = reason.map(|reason| format!("{name:?}: {reason}"));
        // The client has what is left of its lease to stop using the others.
        let keeps_others = request.state == State::Granted;
        self.end_alone(now, part, (state, reason.clone()), lingers);
        self.end_alone(now, bundle, (state, reason), lingers || keeps_others);
    }

    /// Gives back what the bundle has so far, and asks for all of it anew.
    fn begin_again(&mut self, now: Now, bundle: Ticket) {
        let parts = self.parts(bundle);
        if let Some(request) = self.requests.get_mut(bundle) {
            request.role = Role::Bundle(Vec::new());
        }
        for part in parts {
            self.end_alone(now, part, (State::Released, None), false);
        }
        self.begin(now, bundle);
    }

    /// A bundle has ended: so do its parts.
    pub(super) fn end_parts(&mut self, now: Now, bundle: Ticket, was: State, state: State, lingers: bool) {
        let reason = self.requests.get(bundle).and_then(|request| request.reason.clone());
        for part in self.parts(bundle) {
            let waited = self.requests.get(part).is_some_and(|part| part.state == State::Queued);
            // What was held while the bundle waited was never the client's, so it lost nothing.
            let state = if was == State::Granted || waited { state } else { State::Released };
            self.end_alone(now, part, (state, reason.clone()), lingers);
        }
    }

    /// Its last part that lingered is given back: the bundle is forgotten some time later.
    pub(super) fn end_lingering_bundle(&mut self, now: Now, part: Ticket) {
        let Some(bundle) = self.bundle_of(part).filter(|bundle| !self.lingers(*bundle)) else { return };
        let Some(alarm_at) = self.requests.get_mut(bundle).and_then(|request| request.alarm_at.take()) else { return };
        self.alarms.unset(alarm_at, Alarm::Request(bundle));
        self.leave_stream(bundle);
        self.requests.retire(now, bundle);
    }

    /// Changes the urgency of all parts that wait, or of none.
    pub(super) fn reprioritize_parts(&mut self, now: Now, bundle: Ticket, urgency: Urgency) -> Result<(), Problem> {
        let is_queued = |part: &Ticket| self.requests.get(*part).is_some_and(|part| part.state == State::Queued);
        let waiting: Vec<Ticket> = self.parts(bundle).into_iter().filter(is_queued).collect();
        for part in &waiting {
            let Some(name) = self.requests.get(*part).map(|part| &part.asked.resource) else { continue };
            let known = self.names.get(name).and_then(|number| self.resources.get(number));
            let definition = known.map(|known| &known.entry.definition).or(self.settings.declared.get(name));
            if let Some(definition) = definition {
                demand::urgency(name, definition, urgency)?;
            }
        }
        // First, because the change may let the part in that waits, and the next one is asked for then.
        for part in &waiting {
            if let Some(part) = self.requests.get_mut(*part) {
                part.asked.urgency = Some(urgency);
            }
        }
        let is_asked = |part: &Ticket| self.requests.get(*part).is_some_and(|part| part.role.may_wait_for_resource());
        let (asked, others): (Vec<Ticket>, Vec<Ticket>) = waiting.into_iter().partition(is_asked);
        for part in others {
            if let Some(part) = self.requests.get_mut(part) {
                part.urgency = Some(urgency);
            }
        }
        asked.into_iter().try_for_each(|part| self.reprioritize(now, part, urgency))
    }

    /// The bundle of a part.
    pub(super) fn bundle_of(&self, ticket: Ticket) -> Option<Ticket> {
        match self.requests.get(ticket)?.role {
            Role::Part { of, .. } => Some(of),
            Role::Single | Role::Bundle(_) => None,
        }
    }

    /// The parts of a bundle, in the order in which they are asked for. Other requests have none.
    pub(super) fn parts(&self, ticket: Ticket) -> Vec<Ticket> {
        match self.requests.get(ticket).map(|request| &request.role) {
            Some(Role::Bundle(parts)) => parts.clone(),
            Some(Role::Single | Role::Part { .. }) | None => Vec::new(),
        }
    }

    /// What a request waits for at this moment: of a bundle, the part whose turn it is.
    pub(super) fn waits_as<'a>(&'a self, ticket: Ticket, request: &'a Request) -> (Ticket, &'a Request) {
        let Role::Bundle(parts) = &request.role else { return (ticket, request) };
        let mut known = parts.iter().filter_map(|part| Some((*part, self.requests.get(*part)?)));
        known.find(|(_, part)| part.state == State::Queued).unwrap_or((ticket, request))
    }

    /// How the parts are doing, in the order in which the client named them.
    pub fn part_infos(&self, ticket: Ticket) -> Vec<PartInfo> {
        let Some(Request { role: Role::Bundle(parts), asked, .. }) = self.requests.get(ticket) else {
            return Vec::new();
        };
        let known: Vec<&Request> = parts.iter().filter_map(|part| self.requests.get(*part)).collect();
        let named = |name: &str| known.iter().copied().find(|part| part.asked.resource == name);
        asked.all.iter().filter_map(|part| named(&part.resource)).map(|part| self.part_info(part)).collect()
    }

    fn part_info(&self, part: &Request) -> PartInfo {
        PartInfo {
            resource: part.asked.resource.clone(),
            state: part.state,
            units: part.asked.units.unwrap_or(1),
            session: part.asked.session.clone(),
            mode: part.asked.mode,
            fence: part.fence,
            fence_text: part.fence.map(|fence| fence.to_string()),
            slots: part.slots.iter().collect(),
            slot_names: self.slot_names(part),
            made: self.made_for(part),
        }
    }

    /// The id by which clients know a request; that of its bundle, if it is a part.
    pub(super) fn id_of(&self, ticket: Ticket) -> String {
        let ticket = self.bundle_of(ticket).unwrap_or(ticket);
        let id = self.requests.get(ticket).and_then(|request| request.asked.id.clone());
        id.unwrap_or_else(|| format!("~{}", ticket.0))
    }
}
