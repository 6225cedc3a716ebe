//! A clean end, and going on after it.
//!
//! A node that stops tells its clients that they lose what they hold, gives its tokens to neighbours, and saves what it
//! could not give away and what it promised. Started again with that, it is the same node to the protocols. A node that
//! crashed has nothing saved and must come back as another one (see [`crate::mesh::Incarnation`]).
//!
//! What a client holds goes to others only when the client has given it back, or its lease is over: until then the
//! client may rely on it. What cannot be waited for is saved, and held again after the next start (see [`super::kept`]).

use meshlock_api::{Problem, Reason, State};
use meshlock_core::Event;

use super::alarms::Alarm;
use super::bundle::Role;
use super::clients::Ticket;
use super::registry::REGISTRY;
use super::saved::{Saved, SavedError};
use super::{Machine, Now, Resource, Settings};
use crate::mesh::removed_words;
use crate::wire::Number;

impl Machine {
    /// Begins to stop: no new requests, all old ones end, and tokens go to neighbours as soon as they can.
    pub fn stop(&mut self, now: Now) {
        if self.stopping {
            return;
        }
        self.stopping = true;
        let why = if self.removed { "its node was removed from the mesh" } else { "its node is shutting down" };
        for ticket in self.requests.alive_ones() {
            self.end(now, ticket, State::Revoked, Some(why.to_owned()));
        }
        self.end_registry_use(now);
        let all: Vec<Number> = self.resources.keys().copied().collect();
        for resource in all {
            self.leave_unless_used(now, resource);
        }
    }

    /// This member was removed from the mesh. It never comes back, and there is no time to wait for clients: what they hold
    /// goes back now, and their fences are stale.
    pub fn leave_mesh(&mut self, now: Now) {
        self.removed = true;
        self.stop(now);
        self.end_lingering(now);
    }

    /// A node that stops asks for no lock of the registry any more, so what clients wish would never be done.
    pub(crate) fn still_serves(&self) -> Result<(), Problem> {
        if self.stopping { Err(self.stopping_problem()) } else { Ok(()) }
    }

    /// Why this node serves no clients any more, and what they can do.
    pub(crate) fn stopping_problem(&self) -> Problem {
        let message = if self.removed {
            format!("{}. Until then, ask another node", removed_words(&self.settings.mesh, &self.settings.name))
        } else {
            "this node is shutting down; ask another one".to_owned()
        };
        Problem::new(Reason::Unavailable, message)
    }

    /// Ends as a crash does: nothing is told to neighbours, written or recorded from now on.
    pub(crate) fn fall_silent(&mut self, now: Now) {
        self.observer = None;
        self.recovery = None;
        self.stop(now);
        self.take_outbox();
    }

    /// Whether clients have been told to stop, have not given back yet, and are within their leases.
    pub fn anybody_lingers(&self) -> bool {
        !self.lingering.is_empty()
    }

    /// Gives back what clients hold within their leases. Only for a node that can never come back: their fences protect
    /// what they guard, and nothing else does.
    pub fn end_lingering(&mut self, now: Now) {
        for (_, ticket) in self.lingering.clone() {
            self.end_lingering_of(now, ticket);
        }
    }

    /// Whether this was taken back from a client that has not answered.
    pub(crate) fn lingers(&self, ticket: Ticket) -> bool {
        let Some(request) = self.requests.get(ticket) else { return false };
        if let Role::Bundle(parts) = &request.role {
            return parts.iter().any(|part| self.lingers(*part));
        }
        request.resource.is_some_and(|resource| self.lingering.contains(&(resource, ticket)))
    }

    /// A client that was told to stop has done so, or its lease is over.
    pub(crate) fn end_lingering_of(&mut self, now: Now, ticket: Ticket) {
        for part in self.parts(ticket) {
            self.end_lingering_of(now, part);
        }
        let Some(request) = self.requests.get(ticket) else { return };
        let Some(resource) = request.resource.filter(|resource| self.lingering.remove(&(*resource, ticket))) else {
            return;
        };
        if let Some(alarm_at) = request.alarm_at {
            self.alarms.unset(alarm_at, Alarm::Request(ticket));
        }
        self.audit_stop(now, ticket);
        self.give_back(now, ticket, State::Granted);
        self.leave_stream(ticket);
        self.requests.retire(now, ticket);
        self.end_lingering_bundle(now, ticket);
        if self.stopping {
            self.leave_unless_used(now, resource);
        } else {
            self.uncount_holder(now);
        }
    }

    /// A protocol can be left once no client uses its resource.
    fn leave_unless_used(&mut self, now: Now, resource: Number) {
        let mut users = self.lingering.range((resource, Ticket(0))..=(resource, Ticket(u64::MAX)));
        if users.next().is_none() && self.left.insert(resource) {
            self.link_step(now, resource, Event::Leave);
        }
    }

    /// Whether a resource that no client uses any more has something that others need.
    pub fn is_leaving(&self) -> bool {
        self.left.iter().filter_map(|number| self.resources.get(number)).any(|resource| !resource.instance.may_go())
    }

    /// The names of resources whose token is here.
    pub fn tokens_here(&self) -> Vec<String> {
        let here = self.resources.values().filter(|resource| resource.instance.holds_token());
        here.map(|resource| resource.entry.name.clone()).collect()
    }

    /// The names of resources that would miss something if this node went now.
    pub fn still_needed_for(&self) -> Vec<String> {
        let needed = self.resources.values().filter(|resource| !resource.instance.may_go());
        needed.map(|resource| resource.entry.name.clone()).collect()
    }

    /// Whether a neighbour could take what is still here.
    pub fn has_neighbours(&self) -> bool {
        !self.neighbours.is_empty()
    }

    /// What has to be kept. All links must be down.
    pub fn save(&self) -> Vec<u8> {
        let resources = self.resources.values();
        let (grants, companies) = self.kept_grants();
        let saved = Saved {
            last_number: self.requests.last_number(),
            last_query: self.last_query(),
            resources: resources.map(|known| (known.entry.clone(), known.instance.clone())).collect(),
            removed: self.removed_entries(),
            grants,
            companies,
            report: self.told_report(),
            counter: self.voting().map_or(0, meshlock_core::recovery::voters::Voting::counter),
            ..Saved::new(self.settings.mesh.clone(), self.settings.id)
        };
        saved.write()
    }

    /// Goes on where a clean stop ended.
    pub fn resume(settings: Settings, saved: &[u8]) -> Result<Self, SavedError> {
        let saved = Saved::read(saved)?;
        if saved.id != settings.id || saved.mesh != settings.mesh {
            return Err(SavedError::SomebodyElse(saved.id, saved.mesh));
        }
        let declared = settings.declared.clone();
        let settings = Settings { founds_registry: false, declared: Default::default(), ..settings };
        let mut machine = Self::new(settings);
        machine.settings.declared = declared;
        machine.requests.go_on_after(saved.last_number);
        machine.go_on_after_query(saved.last_query);
        for (entry, instance) in saved.resources {
            let number = entry.number;
            if number != REGISTRY {
                machine.names.insert(entry.name.clone(), number);
            }
            let instance = instance.numbered_as(&entry.definition);
            let mut resource = Resource::with_instance(entry, instance);
            resource.compare(machine.settings.declared.get(&resource.entry.name));
            machine.resources.insert(number, resource);
        }
        for entry in saved.removed {
            machine.remember_removed(entry);
        }
        machine.hold_again(Now::default(), saved.grants, saved.companies);
        let numbers: Vec<Number> = machine.resources.keys().copied().collect();
        for number in numbers {
            machine.link_step(Now::default(), number, Event::Resume);
        }
        machine.declare(Now::default());
        Ok(machine)
    }
}
