//! One resource at this node: its protocol, its local queue, its numbers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use meshlock_api::{Definition, ResourceInfo};
use meshlock_core::{NodeId, RequestId, Session, Slots};

use super::Now;
use super::clients::Ticket;
use super::instance::Instance;
use super::metrics::ResourceCounts;
use crate::wire::Entry;

/// A resource at this node.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) entry: Entry,
    pub(crate) instance: Instance,
    /// Whose request is which in the protocol.
    pub(crate) tickets: BTreeMap<RequestId, Ticket>,
    /// Requests in front of a protocol that serves one at a time.
    pub(crate) desk: Desk,
    /// Clients of this node that attend one session under one grant of a protocol that serves one at a time.
    pub(crate) company: Option<Company>,
    /// What this node's file says, if that is something else.
    pub(crate) conflict: Option<Definition>,
    pub(crate) counts: ResourceCounts,
    pub(crate) usage: Usage,
    /// When the token was seen here last, since it has gone.
    pub(crate) token_left: Option<TokenLeft>,
}

/// Who of this node's clients uses a resource.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) holders: BTreeSet<Ticket>,
    /// What they hold together.
    pub(crate) units: u64,
    pub(crate) waiters: BTreeSet<Ticket>,
}

/// The token went away from here.
#[derive(Clone, Debug)]
pub(crate) struct TokenLeft {
    /// How often it had been given away by then.
    pub(crate) pass: u64,
    pub(crate) at: Now,
    /// The name of the node it went to, if it is known.
    pub(crate) to: Option<String>,
}

impl Resource {
    pub(crate) fn new(entry: Entry, id: NodeId, starts_with_token: bool) -> Self {
        let instance = Instance::new(&entry.definition, id, starts_with_token);
        Self::with_instance(entry, instance)
    }

    pub(crate) fn with_instance(entry: Entry, instance: Instance) -> Self {
        let counts = ResourceCounts::default();
        Self {
            entry,
            instance,
            tickets: BTreeMap::new(),
            desk: Desk::default(),
            company: None,
            conflict: None,
            counts,
            usage: Usage::default(),
            token_left: None,
        }
    }

    pub(crate) fn info(&self) -> ResourceInfo {
        ResourceInfo {
            name: self.entry.name.clone(),
            definition: self.entry.definition.clone(),
            version: self.entry.version,
            token_here: self.instance.holds_token(),
            conflict: self.conflict.clone(),
        }
    }

    /// Notes whether the node's file says something else than the mesh agreed on. What can be changed at run time is
    /// not compared once it was changed.
    pub(crate) fn compare(&mut self, declared: Option<&Definition>) {
        let agreed = &self.entry.definition;
        self.conflict = declared.cloned().filter(|declared| {
            if self.entry.version == 0 {
                return declared != agreed;
            }
            let Definition { capacity, lease_ms, .. } = *agreed;
            Definition { capacity, lease_ms, slots: agreed.slots.clone(), ..declared.clone() } != *agreed
        });
    }
}

/// The names of units, if all of them have one.
pub(crate) fn slot_names(definition: &Definition, slots: &Slots) -> Vec<String> {
    let name = |slot: u32| definition.slots.get(slot as usize).cloned();
    slots.iter().map(name).collect::<Option<_>>().unwrap_or_default()
}

/// Clients of one node that attend a session together. The protocol knows the first of them only, so its grant is kept
/// until the last has left; and so that others get their turn, only so many may come after the first.
#[derive(Debug)]
pub(crate) struct Company {
    /// The grant in the protocol.
    pub(crate) number: RequestId,
    pub(crate) session: Session,
    pub(crate) fence: Option<u64>,
    pub(crate) members: BTreeSet<Ticket>,
    /// How many may still come.
    pub(crate) places: u32,
}

/// Requests that wait in front of a protocol, the most urgent first, equal ones by arrival. Nothing in here looks at all
/// of them.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    line: BTreeMap<Place, (Ticket, Option<Session>)>,
    places: BTreeMap<Ticket, Place>,
    /// Who wants to attend a session, in the same order.
    sessions: BTreeMap<Session, BTreeSet<Place>>,
    arrivals: u64,
}

/// The priority, and how many came before.
type Place = (Reverse<i32>, u64);

impl Desk {
    pub(crate) fn add(&mut self, priority: i32, ticket: Ticket, session: Option<Session>) {
        self.arrivals += 1;
        let place = (Reverse(priority), self.arrivals);
        self.line.insert(place, (ticket, session));
        self.places.insert(ticket, place);
        if let Some(session) = session {
            self.sessions.entry(session).or_default().insert(place);
        }
    }

    pub(crate) fn take_first(&mut self) -> Option<Ticket> {
        let ticket = self.first(1).next()?;
        self.remove(ticket);
        Some(ticket)
    }

    /// The first ones in order.
    pub(crate) fn first(&self, most: usize) -> impl Iterator<Item = Ticket> + '_ {
        self.line.values().take(most).map(|(ticket, _)| *ticket)
    }

    /// The first ones who want to attend a session.
    pub(crate) fn first_of(&self, session: Session, most: usize) -> Vec<Ticket> {
        let places = self.sessions.get(&session).into_iter().flatten().take(most);
        places.filter_map(|place| self.line.get(place)).map(|(ticket, _)| *ticket).collect()
    }

    /// False if it is not here.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> bool {
        let Some(place) = self.places.remove(&ticket) else { return false };
        if let Some((_, Some(session))) = self.line.remove(&place)
            && let Some(others) = self.sessions.get_mut(&session)
        {
            others.remove(&place);
            if others.is_empty() {
                self.sessions.remove(&session);
            }
        }
        true
    }

    /// How many are before it, counted up to `most`; `None` if it is not here.
    pub(crate) fn position(&self, ticket: Ticket, most: usize) -> Option<usize> {
        self.places.get(&ticket).map(|place| self.line.range(..place).take(most).count())
    }
}
