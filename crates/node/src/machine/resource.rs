//! One resource at this node: its protocol, its local queue, its numbers.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_api::{Definition, ResourceInfo};
use meshlock_core::{NodeId, RequestId, Session};

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
}

impl Resource {
    pub(crate) fn new(entry: Entry, id: NodeId, starts_with_token: bool) -> Self {
        let instance = Instance::new(&entry.definition, id, starts_with_token);
        Self::with_instance(entry, instance)
    }

    pub(crate) fn with_instance(entry: Entry, instance: Instance) -> Self {
        let counts = ResourceCounts::default();
        Self { entry, instance, tickets: BTreeMap::new(), desk: Desk::default(), company: None, conflict: None, counts }
    }

    pub(crate) fn info(&self) -> ResourceInfo {
        ResourceInfo {
            name: self.entry.name.clone(),
            definition: self.entry.definition,
            version: self.entry.version,
            token_here: self.instance.holds_token(),
            conflict: self.conflict,
        }
    }

    /// Notes whether the node's file says something else than the mesh agreed on. What can be changed at run time is
    /// not compared once it was changed.
    pub(crate) fn compare(&mut self, declared: Option<&Definition>) {
        let agreed = self.entry.definition;
        self.conflict = declared.copied().filter(|declared| {
            if self.entry.version == 0 {
                return *declared != agreed;
            }
            Definition { capacity: agreed.capacity, lease_ms: agreed.lease_ms, ..*declared } != agreed
        });
    }
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

/// Requests that wait in front of a protocol, the most urgent first, equal ones by arrival.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    waiting: Vec<(i32, Ticket)>,
}

impl Desk {
    pub(crate) fn add(&mut self, priority: i32, ticket: Ticket) {
        let at = self.waiting.partition_point(|(other, _)| *other >= priority);
        self.waiting.insert(at, (priority, ticket));
    }

    pub(crate) fn take_first(&mut self) -> Option<Ticket> {
        if self.waiting.is_empty() { None } else { Some(self.waiting.remove(0).1) }
    }

    /// All of them in order.
    pub(crate) fn tickets(&self) -> Vec<Ticket> {
        self.waiting.iter().map(|(_, ticket)| *ticket).collect()
    }

    /// False if it is not here.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|(_, other)| *other != ticket);
        self.waiting.len() < before
    }

    pub(crate) fn position(&self, ticket: Ticket) -> Option<usize> {
        self.waiting.iter().position(|(_, other)| *other == ticket)
    }
}
