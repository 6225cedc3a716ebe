//! How a resource is removed, or replaced by another one of the same name.
//!
//! A removal is the last grant of a resource: this node asks for all of it, behind all others, and takes the registry's lock
//! while it holds it. So no client holds the resource at that moment, and no client gets it afterwards, because its token
//! goes with it. Then the catalogue says that it is removed, or names the one in its place, and goes ahead of the
//! registry's token like everything else that is made under that lock. A node that has not heard yet lets its
//! clients wait, for a token that does not come; when it hears, they wait for the next resource of that name.
//!
//! What is removed is remembered by name, so that a node that was away does not bring it back, and so that fences go
//! on where they ended when the name is used again. A node that begins anew, or starts after a crash, forgets it: it may
//! have been alone with it, and those who went on without it have the resource still.

use meshlock_api::{Definition, Kind, NewRequest, Order, Problem, Protocol, ResourceInfo, State, What};
use meshlock_core::group::readers_writer::Access;
use meshlock_core::vocabulary::{Deadline, Priority};
use meshlock_core::{Demand, NodeId, Units, Urgency};

use super::clients::Ticket;
use super::demand::session_number;
use super::first_use::implied;
use super::registry::{GREATEST_NUMBER, MOST_RESOURCES};
use super::wishes::Deed;
use super::{Machine, Making, Now, Request};
use crate::wire::{Entry, Number};

/// A removal that is not done by then has failed, and its grant goes back.
const LEASE_MS: u64 = 120_000;

/// How many numbers of resources that are gone are remembered, the latest ones.
const MOST_GONE: usize = 10_000;

impl Machine {
    /// Asks for all of a resource, in order to [`retire`](Self::retire) it.
    pub fn seize(&mut self, now: Now, name: &str, timeout_ms: u64) -> Result<Ticket, Problem> {
        let known = self.names.get(name).and_then(|number| self.resources.get(number));
        let Some(known) = known else {
            return Err(Problem::unknown(format!("there is no resource {name:?}, as far as is known here")));
        };
        self.still_serves()?;
        if !known.usage.holders.is_empty() || !known.usage.waiters.is_empty() {
            return Err(in_use(name));
        }
        let (number, demand) = (known.entry.number, whole(&known.entry.definition, self.settings.id));
        let asked = NewRequest {
            resource: name.to_owned(),
            timeout_ms: Some(timeout_ms),
            owner: Some("meshlock resource".to_owned()),
            ..NewRequest::default()
        };
        let lease_ms = LEASE_MS.max(timeout_ms.saturating_mul(2));
        let ticket = self.requests.add(Request {
            resource: Some(number),
            demand: Some(demand),
            lease_ms,
            told_ms: lease_ms,
            alive_until: now.plus_ms(lease_ms),
            times_out: Some(now.plus_ms(timeout_ms)),
            seizes: true,
            ..Request::new(now, asked)
        });
        self.set_alarm(ticket);
        self.count_ask(now, ticket);
        self.submit(now, ticket);
        Ok(ticket)
    }

    /// Removes what was [seized](Self::seize), or puts another definition in its place.
    pub fn retire(&mut self, now: Now, ticket: Ticket, instead: Option<Definition>) -> Result<Making, Problem> {
        let request = self.requests.get(ticket).ok_or_else(|| Problem::gone("this request was long ago"))?;
        let name = request.asked.resource.clone();
        match request.state {
            State::Granted => {}
            State::Rejected => {
                return Err(Problem::conflict(format!("{name:?}: {}", request.reason.clone().unwrap_or_default())));
            }
            State::Queued | State::Revoked | State::Expired | State::Released => return Err(in_use(&name)),
        }
        Ok(self.wish(now, &name, Deed::Retire { ticket, instead }))
    }

    /// The registry's lock is ours.
    pub(super) fn retire_now(
        &mut self,
        now: Now,
        name: &str,
        ticket: Ticket,
        instead: Option<Definition>,
    ) -> Result<ResourceInfo, Problem> {
        let number = self.requests.get(ticket).filter(|request| request.state == State::Granted);
        let number = number.and_then(|request| Some((request.resource?, request.fence.unwrap_or(0))));
        let known = number.and_then(|(number, fence)| Some((self.resources.get(&number)?, fence)));
        let Some((known, fence)) = known else {
            return Err(Problem::conflict(format!("{name:?} was changed or taken meanwhile; try again")));
        };
        if !known.usage.waiters.is_empty() {
            return Err(in_use(name));
        }
        let (info, entry) = (known.info(), known.entry.clone());
        let next = instead.map(|definition| {
            let number = self.next_resource_number();
            Entry { number, name: name.to_owned(), definition, version: 0, home: self.settings.id }
        });
        self.forget_resource(now, entry.number, "it was removed", Some(ticket));
        self.end(now, ticket, State::Released, None);
        self.remember_removed(entry.removed(fence, self.settings.id));
        match next {
            Some(next) => {
                self.add_resource(now, next, true, None);
                self.resource_info(name).ok_or_else(|| Problem::unknown("it could not be made"))
            }
            None => {
                self.removal_told(now, name, None);
                Ok(info)
            }
        }
    }

    /// A neighbour tells that a resource was removed.
    pub(super) fn learn_removal(&mut self, now: Now, from: NodeId, entry: Entry) -> Result<(), String> {
        let living = self.names.get(&entry.name).copied();
        let former = self.registry.removed.get(&entry.name).map(|former| former.number);
        let is_known = self.registry.superseded.contains(&entry.number) && living != Some(entry.number);
        if is_known || living.max(former) > Some(entry.number) || former == Some(entry.number) {
            return Ok(());
        }
        if entry.number > GREATEST_NUMBER {
            return Err(format!("a removed resource with number {}", entry.number));
        }
        if living.is_none() && former.is_none() && self.known_names() >= MOST_RESOURCES {
            return Err(format!("more than {MOST_RESOURCES} resources, with those that were removed"));
        }
        let waiting = living.map(|number| self.forget_resource(now, number, "its resource was removed", None));
        let name = entry.name.clone();
        self.remember_removed(entry);
        self.removal_told(now, &name, Some(from));
        self.ask_anew(now, &name, waiting.unwrap_or_default());
        Ok(())
    }

    /// Those who waited for a resource that was removed make the next one, or are told.
    fn ask_anew(&mut self, now: Now, name: &str, waiting: Vec<Ticket>) {
        for ticket in waiting {
            self.requests.wait_for(ticket, name);
            let Some(asked) = self.requests.get(ticket).map(|request| request.asked.clone()) else { continue };
            let may = self.may_be_made(name).and_then(|()| implied(&asked, self.settings.id));
            match may {
                Ok(definition) => self.want_resource(now, name, definition, ticket),
                Err(problem) => {
                    let reason = format!("{name:?} was removed; {}", problem.message);
                    self.end(now, ticket, State::Rejected, Some(reason));
                }
            }
        }
    }

    /// Takes a resource out of the catalogue, with all that its protocol knows; who waited for it.
    pub(super) fn forget_resource(
        &mut self,
        now: Now,
        number: Number,
        why: &str,
        except: Option<Ticket>,
    ) -> Vec<Ticket> {
        let Some(known) = self.resources.remove(&number) else { return Vec::new() };
        self.catalogue_changed(now, number);
        self.names.remove(&known.entry.name);
        self.note_gone(number);
        self.left.remove(&number);
        // There are others only where two parts of a mesh held each other for gone.
        for ticket in known.usage.holders.into_iter().filter(|ticket| Some(*ticket) != except) {
            self.end(now, ticket, State::Revoked, Some(why.to_owned()));
        }
        let is_seizing = |ticket: &Ticket| self.requests.get(*ticket).is_some_and(|request| request.seizes);
        let (seizing, waiting): (Vec<Ticket>, Vec<Ticket>) = known.usage.waiters.into_iter().partition(is_seizing);
        for ticket in seizing {
            let reason = "it was removed or replaced by another operator meanwhile".to_owned();
            self.end(now, ticket, State::Rejected, Some(reason));
        }
        waiting
    }

    pub(super) fn note_gone(&mut self, number: Number) {
        self.registry.superseded.insert(number);
        if self.registry.superseded.len() > MOST_GONE {
            let oldest = self.registry.superseded.pop_first().unwrap_or_default();
            self.registry.gone_below = self.registry.gone_below.max(oldest.saturating_add(1));
        }
    }

    /// Whether messages about a resource may still come although it was removed, or another one is used in its place.
    pub(crate) fn is_gone(&self, number: Number) -> bool {
        let registry = &self.registry;
        registry.superseded.contains(&number) || (number < registry.gone_below && !self.resources.contains_key(&number))
    }

    pub(super) fn remember_removed(&mut self, entry: Entry) {
        self.note_gone(entry.number);
        self.registry.removed.insert(entry.name.clone(), entry);
    }

    fn removal_told(&mut self, now: Now, name: &str, from: Option<NodeId>) {
        let Some(entry) = self.registry.removed.get(name).cloned() else { return };
        self.announce(&entry, from);
        self.catalogue_changed(now, entry.number);
        self.events.tell(now, || What::ResourceRemoved { resource: name.to_owned() });
    }

    /// Names in use and names of what was removed: both have to be remembered.
    pub(super) fn known_names(&self) -> usize {
        self.names.len() + self.registry.removed.len()
    }

    /// What was removed, for neighbours and for the next start after a clean stop.
    pub(crate) fn removed_entries(&self) -> Vec<Entry> {
        self.registry.removed.values().cloned().collect()
    }

    /// This node may have been alone with what it knows of removals.
    pub(crate) fn forget_removals(&mut self) {
        self.registry.removed.clear();
        self.registry.superseded.clear();
        self.registry.gone_below = 0;
    }
}

fn in_use(name: &str) -> Problem {
    Problem::conflict(format!(
        "{name:?} is in use: clients hold it or wait for it. `meshlock status {name}` shows them; try again when they are done"
    ))
}

/// A demand with which nobody else is let in, behind all others.
fn whole(definition: &Definition, node: NodeId) -> Demand {
    let urgency = match (definition.order, definition.protocol) {
        (Order::Deadline, _) => Urgency::Deadline(Deadline(u64::MAX)),
        (Order::Priority { .. }, Protocol::Group) => Urgency::Priority(Priority(1)),
        (Order::Priority { .. }, Protocol::ReverseLink | Protocol::Flood) => Urgency::Priority(Priority(i32::MIN)),
    };
    let (units, session) = match (definition.kind, definition.protocol) {
        // No client can name a session like that.
        (Kind::Sessions, _) => (1, Some(session_number(&format!("\u{1}retire {node}")))),
        (Kind::ReadersWriter, Protocol::Group) => (1, Some(Access::Write(node).session())),
        (Kind::Mutex | Kind::Semaphore | Kind::ReadersWriter, _) => (definition.capacity, None),
    };
    Demand { units: Units(units), urgency, session }
}
