//! How resources are made and changed: under a lock of the mesh itself.
//!
//! The registry is resource 0, a mutex like any other, and its token begins at the founder of the mesh. A node that wants to
//! make or change a resource takes this lock, so two nodes never make one name twice. What was made travels ahead of the
//! registry's token on every link, and links keep their order: a node that gets the lock knows everything that was made
//! under it before. The token of a new resource begins at the node that made it.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

use meshlock_api::resource::check_name;
use meshlock_api::{Definition, NewResource, Problem, Protocol, ResourceChange, ResourceInfo, State, What};
use meshlock_core::{Demand, Event, Fence, Grant, NodeId, RequestId, Units};

use super::clients::Ticket;
use super::differs;
use super::wishes::{Deed, Wishes};
use super::{Machine, Now, Resource, Settings};
use crate::links::Outgoing;
use crate::wire::{Entry, Frame, Number, REMOVED, encode};

/// The number of the registry.
pub(crate) const REGISTRY: Number = 0;
const REGISTRY_NAME: &str = "meshlock:registry";

/// How many resources a mesh can have, with those that were removed.
pub(crate) const MOST_RESOURCES: usize = 100_000;

/// Fences of the registry stay far below this.
pub(super) const GREATEST_NUMBER: Number = 1 << 62;

/// How many entries of the catalogue go into one frame: each of them is below 300 bytes, without names of units.
const MOST_ENTRIES: usize = 1_000;
/// How many bytes of names go into one frame, but for those of its last entry. Each name has its length before it.
const MOST_NAME_BYTES: usize = 512 << 10;

/// What this node wants to do under the registry's lock.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    wishes: Wishes,
    asked: Option<RequestId>,
    is_granted: bool,
    /// Of the latest grant. Resources are numbered by it, so no two ever get the same number, also if the registry's
    /// token was made anew.
    fence: u64,
    /// What is wished is being done.
    is_busy: bool,
    /// Numbers of resources that were removed, or in whose place another one of the same name is used: the latest ones.
    pub(super) superseded: BTreeSet<Number>,
    /// Below this there are others.
    pub(super) gone_below: Number,
    /// What was removed, by name.
    pub(super) removed: BTreeMap<String, Entry>,
    /// What came of wishes whose askers want to know, by the number of the wish.
    results: BTreeMap<u64, Outcome>,
    /// To be woken when the event has been applied.
    pub(super) woken: Vec<Waker>,
}

#[derive(Debug, Default)]
struct Outcome {
    result: Option<Result<ResourceInfo, Problem>>,
    waker: Option<Waker>,
}

/// Whether a resource could be made or changed.
#[derive(Debug)]
pub enum Making {
    /// There was nothing to do.
    Done(ResourceInfo),
    /// It needs the registry's lock. Look with [`Machine::poll_making`].
    UnderWay(u64),
}

impl Registry {
    pub(crate) fn granted(&mut self, grant: &Grant) {
        self.is_granted = self.asked == Some(grant.request);
        self.fence = grant.fence.map_or(self.fence, |fence| fence.0);
    }

    fn tell(&mut self, wish: u64, result: Result<ResourceInfo, Problem>) {
        let Some(outcome) = self.results.get_mut(&wish) else { return };
        outcome.result = Some(result);
        self.woken.extend(outcome.waker.take());
    }
}

impl Machine {
    pub(crate) fn add_registry(&mut self) {
        let definition =
            Definition { capacity: 1, lease_ms: meshlock_api::resource::DEFAULT_LEASE_MS, ..Definition::default() };
        let entry = Entry { number: REGISTRY, name: REGISTRY_NAME.into(), definition, version: 0, home: NodeId(0) };
        let registry = Resource::new(entry, self.settings.id, self.settings.founds_registry);
        self.resources.insert(REGISTRY, registry);
    }

    /// Wishes for what the node's file declares and is not made yet.
    pub(crate) fn declare(&mut self, now: Now) {
        let declared = self.settings.declared.clone();
        for (name, definition) in declared {
            if !self.names.contains_key(&name) {
                self.registry.wishes.add(&name, Deed::Make(definition));
            }
        }
        self.seek_registry(now);
    }

    /// The node's file was read again. What has changed, in words: new resources are made, and those that agree with the
    /// mesh now are served again. What is no longer declared stays in the mesh.
    pub fn redeclare(
        &mut self,
        now: Now,
        (declared, declared_in, create_on_first_use): (BTreeMap<String, Definition>, Option<String>, bool),
    ) -> Vec<String> {
        let former = std::mem::replace(&mut self.settings.declared, declared);
        self.settings.declared_in = declared_in;
        self.settings.create_on_first_use = create_on_first_use;
        let mut told = Vec::new();
        let declared = self.settings.declared.clone();
        for (name, definition) in declared.iter().filter(|(name, definition)| former.get(*name) != Some(*definition)) {
            let known = self.names.get(name).and_then(|number| self.resources.get_mut(number));
            let Some(known) = known else {
                told.push(format!("resources.{name}: it is made now"));
                continue;
            };
            known.compare(Some(definition));
            let (entry, conflict) = (known.entry.clone(), known.conflict.clone());
            told.push(match conflict {
                Some(declared) => self.conflict_words(&entry, &declared),
                None => format!("resources.{name}: agrees with the mesh"),
            });
        }
        for name in former.keys().filter(|name| !declared.contains_key(*name)) {
            if let Some(known) = self.names.get(name).and_then(|number| self.resources.get_mut(number)) {
                known.compare(None);
            }
            told.push(format!("resources.{name}: no longer declared; `meshlock resource remove {name}` removes it"));
        }
        self.declare(now);
        told
    }

    /// Whether a resource that is not known here may be made because a client asks for it.
    pub(crate) fn may_be_made(&self, name: &str) -> Result<(), Problem> {
        if !self.registry.wishes.makes(name) && !self.settings.create_on_first_use {
            let known: Vec<&str> = self.names.keys().map(String::as_str).take(10).collect();
            let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
            let how = "this mesh does not make resources on first use: declare it in meshlock.toml or make it first";
            return Err(Problem::unknown(format!("there is no resource {name:?}; {how}. Known here: {known}")));
        }
        Ok(())
    }

    /// A client asks for a resource that is not known here, and one like this would serve it.
    pub(crate) fn want_resource(&mut self, now: Now, name: &str, definition: Definition, asker: Ticket) {
        if !self.registry.wishes.makes(name) {
            self.registry.wishes.add_for(name, Deed::Make(definition), Some(asker));
        }
        self.seek_registry(now);
    }

    /// A client asks for a resource that is not known here, and cannot make it: it is rejected if there is none.
    pub(crate) fn find_resource(&mut self, now: Now, name: &str, problem: Problem, asker: Ticket) {
        self.registry.wishes.add_for(name, Deed::Find(problem), Some(asker));
        self.seek_registry(now);
    }

    /// Whether every resource of the mesh is known here: what was made travels ahead of the registry's token.
    pub(crate) fn knows_all_resources(&self) -> bool {
        self.resources.get(&REGISTRY).is_some_and(|registry| registry.instance.holds_token())
    }

    /// Makes a resource. One that is there already with the same definition is fine; with another it is refused.
    pub fn define(&mut self, now: Now, name: &str, wanted: &NewResource) -> Result<Making, Problem> {
        check_name(name).map_err(Problem::bad_request)?;
        let definition = wanted.complete().map_err(Problem::bad_request)?;
        if let Some(info) = self.resource_info(name) {
            if info.definition == definition {
                return Ok(Making::Done(info));
            }
            return Err(Problem::conflict(differs::refused(name, &definition, &info.definition)));
        }
        self.still_serves()?;
        Ok(self.wish(now, name, Deed::Make(definition)))
    }

    /// Changes what can be changed about a resource while it is used.
    pub fn change(&mut self, now: Now, name: &str, change: ResourceChange) -> Result<Making, Problem> {
        let Some(info) = self.resource_info(name) else {
            return Err(Problem::unknown(format!("there is no resource {name:?} to change")));
        };
        self.changed(&info.definition, name, &change)?;
        self.still_serves()?;
        Ok(self.wish(now, name, Deed::Change(change)))
    }

    fn changed(&self, now: &Definition, name: &str, change: &ResourceChange) -> Result<Definition, Problem> {
        let slots = change.slots.clone().unwrap_or_else(|| now.slots.clone());
        if !slots.starts_with(&now.slots) {
            let message = format!(
                "the slots of {name:?} are called {}: clients that hold them go by these names, so they stay; give all of \
                 them, and new names after them",
                now.slots.join(",")
            );
            return Err(Problem::conflict(message));
        }
        let named = change.slots.as_ref().and_then(|slots| u32::try_from(slots.len()).ok());
        let wanted = Definition {
            capacity: change.capacity.or(named).unwrap_or(now.capacity),
            lease_ms: change.lease_ms.unwrap_or(now.lease_ms),
            slots,
            ..now.clone()
        };
        if now.protocol != Protocol::ReverseLink && wanted.capacity != now.capacity {
            let message = format!("{name:?} is served by a protocol that cannot change its capacity");
            return Err(Problem::conflict(message));
        }
        as_new(&wanted).complete().map_err(Problem::conflict)
    }

    pub(super) fn wish(&mut self, now: Now, name: &str, to: Deed) -> Making {
        let wish = self.registry.wishes.add(name, to);
        self.registry.results.insert(wish, Outcome::default());
        self.seek_registry(now);
        Making::UnderWay(wish)
    }

    /// What came of a wish, once it is known.
    pub fn poll_making(&mut self, asker: u64, waker: &Waker) -> Option<Result<ResourceInfo, Problem>> {
        let outcome = self.registry.results.get_mut(&asker)?;
        let result = outcome.result.take();
        if result.is_some() {
            self.registry.results.remove(&asker);
        } else {
            outcome.waker = Some(waker.clone());
        }
        result
    }

    /// The asker has given up; what has not been done will not be done.
    pub fn forget_making(&mut self, now: Now, asker: u64) {
        self.registry.results.remove(&asker);
        self.registry.wishes.take(asker);
        self.seek_registry(now);
    }

    /// Asks for the registry's lock if there is something to do, takes the question back if there is nothing any more.
    pub(crate) fn seek_registry(&mut self, now: Now) {
        if self.stopping || self.suspended().is_some() {
            return;
        }
        match self.registry.asked {
            None if !self.registry.wishes.is_empty() => {
                let request = self.requests.next_number();
                self.registry.asked = Some(request);
                self.registry_step(now, Event::Request { request, demand: Demand::units(1, 0) });
                if self.waits_for_registry() {
                    self.watch_reach(now, REGISTRY);
                }
            }
            Some(request) if self.registry.wishes.is_empty() && !self.registry.is_granted => {
                self.registry.asked = None;
                self.registry_step(now, Event::Cancel { request });
            }
            None | Some(_) => {}
        }
    }

    /// Whether there is something to do under the registry's lock, and it is not ours.
    pub(crate) fn waits_for_registry(&self) -> bool {
        self.registry.asked.is_some() && !self.registry.is_granted
    }

    /// Gives up whatever is wished.
    pub(crate) fn end_registry_use(&mut self, now: Now) {
        while let Some((wish, _)) = self.registry.wishes.take_first() {
            let stopping = self.stopping_problem();
            self.registry.tell(wish, Err(stopping));
        }
        if let Some(request) = self.registry.asked.take() {
            self.registry_step(now, Event::Cancel { request });
        }
    }

    fn registry_step(&mut self, now: Now, event: Event<crate::wire::Payload>) {
        if let Err(misuse) = self.step(now, REGISTRY, event) {
            self.note(format!("the registry refused a step: {misuse}"));
        }
    }

    /// Does what is wished, if the lock is ours: one deed under each grant, whose fence is its number.
    pub(crate) fn use_registry(&mut self, now: Now) {
        if self.registry.is_busy {
            return;
        }
        self.registry.is_busy = true;
        while self.registry.is_granted {
            if let Some((number, wish)) = self.registry.wishes.take_first() {
                let result = match wish.to {
                    Deed::Find(problem) => {
                        self.found_or_not(now, &wish.name, problem, wish.asker);
                        continue; // under the same grant, since nothing is made
                    }
                    Deed::Make(definition) => self.make(now, &wish.name, definition, wish.asker),
                    Deed::Retire { ticket, instead } => self.retire_now(now, &wish.name, ticket, instead),
                    Deed::Change(change) => self.make_change(now, &wish.name, &change),
                };
                if let Err(problem) = &result {
                    self.not_made(now, &wish.name, problem);
                }
                self.registry.tell(number, result);
            }
            self.registry.is_granted = false;
            if let Some(request) = self.registry.asked.take() {
                self.registry_step(now, Event::Release { request, units: Units(1) });
            }
            self.seek_registry(now);
        }
        self.registry.is_busy = false;
    }

    /// All resources are known now. A request that found its own has been handed over to it.
    fn found_or_not(&mut self, now: Now, name: &str, problem: Problem, asker: Option<Ticket>) {
        let is_unknown = !self.names.contains_key(name) && !self.registry.wishes.makes(name);
        let waits = |ticket: &Ticket| self.requests.get(*ticket).is_some_and(|asked| asked.state == State::Queued);
        if let Some(ticket) = asker.filter(waits).filter(|_| is_unknown) {
            self.end(now, ticket, State::Rejected, Some(problem.message));
        }
    }

    /// A resource could not be made: requests that wait for it would wait in vain.
    fn not_made(&mut self, now: Now, name: &str, problem: &Problem) {
        if self.names.contains_key(name) {
            return;
        }
        if self.settings.declared.contains_key(name) {
            self.note(format!("{name:?} is declared here and could not be made: {problem}"));
        }
        for ticket in self.requests.take_waiting_for(name) {
            self.end(now, ticket, State::Rejected, Some(problem.message.clone()));
        }
    }

    fn make(
        &mut self,
        now: Now,
        name: &str,
        definition: Definition,
        asker: Option<Ticket>,
    ) -> Result<ResourceInfo, Problem> {
        if let Some(info) = self.resource_info(name) {
            let same = info.definition == definition;
            return if same {
                Ok(info)
            } else {
                Err(Problem::conflict(differs::refused(name, &definition, &info.definition)))
            };
        }
        if self.known_names() >= MOST_RESOURCES && !self.registry.removed.contains_key(name) {
            return Err(Problem::conflict(format!(
                "{name:?} cannot be made: a mesh has at most {MOST_RESOURCES} resources, and the names of those that were \
                 removed count. Use one of these names again, sessions of one resource instead of many resources, or a \
                 second mesh"
            )));
        }
        let number = self.next_resource_number();
        if let Some(request) = asker.and_then(|ticket| self.requests.get_mut(ticket)) {
            request.made = true;
        }
        let entry = Entry { number, name: name.to_owned(), definition, version: 0, home: self.settings.id };
        self.add_resource(now, entry, true, None);
        self.resource_info(name).ok_or_else(|| Problem::unknown("it could not be made"))
    }

    /// The fence of the grant; a former version gave several numbers under one.
    pub(super) fn next_resource_number(&self) -> Number {
        let last = self.resources.last_key_value().map_or(REGISTRY, |(number, _)| *number);
        self.registry.fence.max(last.saturating_add(1))
    }

    fn make_change(&mut self, now: Now, name: &str, change: &ResourceChange) -> Result<ResourceInfo, Problem> {
        let entry = self.names.get(name).and_then(|number| self.resources.get(number)).map(|known| known.entry.clone());
        let Some(entry) = entry else { return Err(Problem::unknown(format!("there is no resource {name:?}"))) };
        let definition = self.changed(&entry.definition, name, change)?;
        let Some(next) = entry.version.checked_add(1).filter(|next| *next < REMOVED) else {
            return Err(Problem::conflict(format!("{name:?} was changed too often to be changed again")));
        };
        let version = self.registry.fence.max(next);
        self.update_resource(now, Entry { definition, version, ..entry }, None);
        self.resource_info(name).ok_or_else(|| Problem::unknown("it could not be changed"))
    }

    /// A neighbour tells of a resource. An error is a contradiction with what is known here, or nonsense.
    pub(crate) fn learn(&mut self, now: Now, from: NodeId, entry: Entry) -> Result<(), String> {
        check_name(&entry.name)?;
        as_new(&entry.definition).complete()?;
        if entry.is_removed() {
            return self.learn_removal(now, from, entry);
        }
        let removed = self.registry.removed.get(&entry.name).map(|removed| removed.number);
        let number = self.names.get(&entry.name).copied();
        match (number, self.resources.get(&entry.number)) {
            // Who tells of it has not heard yet that it is gone.
            _ if self.registry.superseded.contains(&entry.number) || removed >= Some(entry.number) => Ok(()),
            // A number beyond this is a lie that would leave none for others.
            (None, None)
                if (self.known_names() < MOST_RESOURCES || removed.is_some()) && entry.number <= GREATEST_NUMBER =>
            {
                self.add_resource(now, entry, false, Some(from));
                Ok(())
            }
            (None, None) => Err(format!("more than {MOST_RESOURCES} resources, or number {}", entry.number)),
            // It was replaced while no client used it, or two parts of the mesh that held each other for gone made one
            // name: the later one counts.
            (Some(number), None) if self.recovery.is_some() || !self.is_held_here(number) => {
                if entry.number > number && entry.number <= GREATEST_NUMBER {
                    self.supersede(now, number, entry, from);
                } else {
                    self.note_gone(entry.number);
                }
                Ok(())
            }
            (Some(number), Some(known)) if number == entry.number => {
                if entry.version > known.entry.version {
                    if !may_become(&known.entry.definition, &entry.definition) {
                        return Err(format!("an impossible change: {entry:?}, but {:?} here", known.entry));
                    }
                    self.update_resource(now, entry, Some(from));
                }
                Ok(())
            }
            (_, known) => {
                let other = known.or_else(|| self.resources.get(&number?));
                let other = other.map_or_else(String::new, |known| format!("{:?}", known.entry));
                Err(format!("two resources in one place: {entry:?} there, {other} here; was this mesh founded twice?"))
            }
        }
    }

    fn is_held_here(&self, number: Number) -> bool {
        self.resources.get(&number).is_some_and(|known| !known.usage.holders.is_empty())
    }

    /// Another resource of the same name counts. No client holds the former one: it was replaced while it was not in use,
    /// or that part of the mesh is gone.
    fn supersede(&mut self, now: Now, former: Number, entry: Entry, from: NodeId) {
        let name = entry.name.clone();
        if self.is_held_here(former) {
            self.note(format!(
                "{name:?} was made twice, by parts of the mesh that held each other for gone; the later one counts"
            ));
        }
        let reason = format!("{name:?} was made anew by another part of the mesh");
        for ticket in self.forget_resource(now, former, &reason, None) {
            self.requests.wait_for(ticket, &name);
        }
        self.add_resource(now, entry, false, Some(from));
    }

    pub(super) fn add_resource(&mut self, now: Now, entry: Entry, starts_with_token: bool, from: Option<NodeId>) {
        let number = entry.number;
        let former = self.registry.removed.remove(&entry.name);
        self.names.insert(entry.name.clone(), number);
        self.announce(&entry, from); // before anything that its protocol says
        self.catalogue_changed(now, number);
        let declared = self.settings.declared.get(&entry.name);
        let name = entry.name.clone();
        let mut resource = Resource::new(entry, self.settings.id, starts_with_token);
        let first_fence = self.first_fence().max(former.map_or(0, |former| former.last_fence()));
        if starts_with_token && first_fence > 0 {
            resource.instance = resource.instance.with_fences_above(Fence(first_fence));
        }
        resource.compare(declared);
        if let Some(declared) = &resource.conflict {
            let text = self.conflict_words(&resource.entry, declared);
            self.note(text);
        }
        let info = resource.info();
        self.resources.insert(number, resource);
        if let Some(census) = self.census().cloned() {
            self.link_step(now, number, Event::Census { census });
        }
        for neighbour in self.partners().collect::<Vec<_>>() {
            self.link_step(now, number, Event::LinkUp { neighbour });
        }
        self.events.tell(now, || What::Resource { resource: info });
        self.submit_waiting_for(now, number);
        self.drop_fulfilled_wishes(now, &name);
    }

    fn update_resource(&mut self, now: Now, entry: Entry, from: Option<NodeId>) {
        self.announce(&entry, from);
        self.catalogue_changed(now, entry.number);
        let Some(known) = self.resources.get_mut(&entry.number) else { return };
        let (number, capacity, version) = (entry.number, entry.definition.capacity, entry.version);
        let resizes = known.entry.definition.protocol == Protocol::ReverseLink;
        known.entry = entry;
        known.compare(self.settings.declared.get(&known.entry.name));
        let info = known.info();
        if resizes {
            self.link_step(now, number, Event::Resize { version, capacity: Units(capacity) });
        }
        self.reject_what_no_longer_fits(now, number, capacity);
        self.events.tell(now, || What::Resource { resource: info });
    }

    fn reject_what_no_longer_fits(&mut self, now: Now, number: Number, capacity: u32) {
        let waiting = self.resources.get(&number).map(|known| known.usage.waiters.clone()).unwrap_or_default();
        for ticket in waiting {
            let Some(request) = self.requests.get(ticket) else { continue };
            let units = request.demand.map_or(0, |demand| demand.units.0);
            if request.state == State::Queued && units > capacity {
                let reason = format!("{units} units can no longer be granted: the capacity is {capacity} now");
                self.end(now, ticket, State::Rejected, Some(reason));
            }
        }
    }

    /// What is wrong with what the node's file declares.
    pub(crate) fn conflict_words(&self, entry: &Entry, declared: &Definition) -> String {
        let Settings { name, declared_in, .. } = &self.settings;
        differs::declared(name, declared_in.as_deref(), &entry.name, declared, &entry.definition)
    }

    fn drop_fulfilled_wishes(&mut self, now: Now, name: &str) {
        let Some(info) = self.resource_info(name) else { return };
        for (wish, definition) in self.registry.wishes.take_makes(name) {
            let same = definition == info.definition;
            let refused = || Problem::conflict(differs::refused(name, &definition, &info.definition));
            self.registry.tell(wish, if same { Ok(info.clone()) } else { Err(refused()) });
        }
        if !self.registry.is_granted {
            self.seek_registry(now);
        }
    }

    pub(super) fn announce(&mut self, entry: &Entry, from: Option<NodeId>) {
        let frame: Outgoing = encode(&Frame::Catalogue(vec![entry.clone()]));
        let others: Vec<NodeId> = self.neighbours.keys().copied().filter(|id| Some(*id) != from).collect();
        for neighbour in others {
            self.post(neighbour, &frame);
        }
    }

    /// All resources but the registry.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let entries = self.resources.values().filter(|known| known.entry.number != REGISTRY);
        entries.map(|known| known.entry.clone()).collect()
    }

    /// Takes a request for the registry's lock back, until this node may grant.
    pub(crate) fn withhold_registry(&mut self, now: Now) {
        if let Some(request) = self.registry.asked.take().filter(|_| !self.registry.is_granted) {
            self.registry_step(now, Event::Cancel { request });
        }
    }

    /// Nothing is asked of the registry's protocol any more: it was made anew.
    pub(crate) fn forget_registry_request(&mut self) {
        (self.registry.asked, self.registry.is_granted) = (None, false);
    }

    /// Everything that is known, for a new neighbour, in parts that each fit into a frame. There is always one.
    pub(crate) fn catalogue(&self) -> Vec<Frame> {
        let (mut parts, mut part, mut bytes) = (Vec::new(), Vec::new(), 0);
        for entry in [self.entries(), self.removed_entries()].concat() {
            if part.len() == MOST_ENTRIES || bytes > MOST_NAME_BYTES {
                parts.push(Frame::Catalogue(std::mem::take(&mut part)));
                bytes = 0;
            }
            bytes += entry.definition.slots.iter().map(|name| name.len() + 1).sum::<usize>();
            part.push(entry);
        }
        parts.push(Frame::Catalogue(part));
        parts
    }
}

/// Whether the one can be changed into the other while the resource is in use.
fn may_become(old: &Definition, new: &Definition) -> bool {
    let capacity = if old.protocol == Protocol::ReverseLink { new.capacity } else { old.capacity };
    let named = new.slots.starts_with(&old.slots);
    named && Definition { capacity, lease_ms: new.lease_ms, slots: new.slots.clone(), ..old.clone() } == *new
}

fn as_new(definition: &Definition) -> NewResource {
    let Definition { kind, capacity, protocol, order, joins, lease_ms, ref slots, policy } = *definition;
    NewResource {
        slots: Some(slots.clone()),
        policy: Some(policy),
        kind: Some(kind),
        capacity: Some(capacity),
        protocol: Some(protocol),
        order: Some(order),
        joins: Some(joins),
        lease_ms: Some(lease_ms),
    }
}
