//! Whole nodes on a network of vectors: no socket, no clock, every run the same.

mod backfill;
mod bundles;
mod calls;
mod chaos;
mod clients;
mod contrib;
mod crowds;
mod limits;
mod live;
mod mesh;
mod network;
mod questions;
mod reach;
mod recording;
mod recovery;
mod removal;
mod resources;
mod revoking;
mod saved;
mod slots;
mod stopping;
mod streams;
mod voters;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use meshlock_api::{Definition, NewRequest, NewResource, RequestInfo, ResourceChange, State, Urgency};
use meshlock_core::NodeId;

use super::{Machine, Making, Now, Post, Settings, Ticket};
use crate::links::{Outgoing, Peer};

pub(super) fn settings(id: u32) -> Settings {
    Settings {
        id: NodeId(id),
        founds_registry: id == 0,
        seed: u64::from(id),
        ..Settings::founder("test", &format!("n{id}"))
    }
}

/// Machines, and frames on their way between them.
pub(super) struct Net {
    pub(super) machines: Vec<Machine>,
    pub(super) now: Now,
    wires: BTreeMap<(usize, usize), VecDeque<Outgoing>>,
    /// How many frames have arrived.
    pub(super) arrived: usize,
    /// Frames that are lost on their way between these two, although the link is up.
    pub(super) loses: fn((usize, usize), &[u8]) -> bool,
}

impl Net {
    pub(super) fn new(nodes: u32) -> Self {
        Self::with_settings((0..nodes).map(settings))
    }

    pub(super) fn with_settings(all: impl IntoIterator<Item = Settings>) -> Self {
        let machines = all.into_iter().map(Machine::new).collect();
        Self { machines, now: Now(1), wires: BTreeMap::new(), arrived: 0, loses: |_, _| false }
    }

    /// Nodes in a line, with nothing under way.
    pub(super) fn line(nodes: u32) -> Self {
        let mut net = Self::new(nodes);
        for node in 1..nodes as usize {
            net.link(node - 1, node);
        }
        net.settle();
        net
    }

    pub(super) fn index(&self, node: NodeId) -> usize {
        self.machines
            .iter()
            .position(|machine| machine.settings.id.member() == node.member())
            .expect("a node of this network")
    }

    pub(super) fn is_linked(&self, a: usize, b: usize) -> bool {
        self.wires.contains_key(&(a, b))
    }

    pub(super) fn link(&mut self, a: usize, b: usize) {
        for (from, to) in [(a, b), (b, a)] {
            self.wires.insert((from, to), VecDeque::new());
        }
        for (at, of) in [(a, b), (b, a)] {
            let Settings { id, name, .. } = self.machines[of].settings.clone();
            let address = SocketAddr::from(([127, 0, 0, 1], 1));
            self.machines[at].link_up(self.now, &Peer { node: id, name, address }).unwrap();
            self.collect(at);
        }
    }

    /// Cuts a link with everything that is on it.
    pub(super) fn cut(&mut self, a: usize, b: usize) {
        for (from, to) in [(a, b), (b, a)] {
            self.wires.remove(&(from, to));
        }
        for (at, of) in [(a, b), (b, a)] {
            let node = self.machines[of].settings.id;
            self.machines[at].link_down(self.now, node, "cut");
            self.collect(at);
        }
    }

    pub(super) fn collect(&mut self, at: usize) {
        for Post { to, frame, .. } in self.machines[at].take_outbox() {
            let to = self.index(to);
            if let Some(wire) = self.wires.get_mut(&(at, to)) {
                wire.push_back(frame);
            }
        }
    }

    /// How many frames are on a wire.
    pub(super) fn on_wire(&self, ends: (usize, usize)) -> usize {
        self.wires.get(&ends).map_or(0, VecDeque::len)
    }

    pub(super) fn frames(&self, ends: (usize, usize)) -> Vec<Outgoing> {
        self.wires.get(&ends).into_iter().flatten().cloned().collect()
    }

    /// Delivers until nothing is under way, also if that is a lot.
    pub(super) fn settle_however_long(&mut self) {
        while let Some(wire) = self.busy_wires().first().copied() {
            self.deliver(wire);
        }
    }

    /// Wires with something on them.
    pub(super) fn busy_wires(&self) -> Vec<(usize, usize)> {
        self.wires.iter().filter(|(_, wire)| !wire.is_empty()).map(|(ends, _)| *ends).collect()
    }

    pub(super) fn deliver(&mut self, (from, to): (usize, usize)) {
        let Some(frame) = self.wires.get_mut(&(from, to)).and_then(VecDeque::pop_front) else { return };
        if (self.loses)((from, to), &frame) {
            return;
        }
        self.arrived += 1;
        let sender = self.machines[from].settings.id;
        self.machines[to].receive(self.now, sender, &frame).expect("peers make no mistakes");
        self.collect(to);
    }

    /// Delivers until nothing is under way.
    pub(super) fn settle(&mut self) {
        for at in 0..self.machines.len() {
            self.collect(at);
        }
        let mut steps = 0;
        while let Some(wire) = self.busy_wires().first().copied() {
            self.deliver(wire);
            steps += 1;
            assert!(steps < 100_000, "messages without end");
        }
    }

    /// Lets time pass, and everything happen that is due.
    pub(super) fn pass_ms(&mut self, ms: u64) {
        let end = self.now.plus_ms(ms);
        while let Some(next) = self.machines.iter().filter_map(Machine::next_wake).min().filter(|next| *next <= end) {
            self.now = next.max(self.now);
            for machine in &mut self.machines {
                machine.wake(self.now);
            }
            self.settle();
        }
        self.now = end;
    }

    pub(super) fn ask(&mut self, at: usize, request: NewRequest) -> Ticket {
        let ticket = self.machines[at].ask(self.now, request).expect("accepted");
        self.collect(at);
        ticket
    }

    pub(super) fn release(&mut self, at: usize, ticket: Ticket) {
        self.machines[at].release(self.now, ticket);
        self.collect(at);
    }

    pub(super) fn look(&self, at: usize, ticket: Ticket) -> RequestInfo {
        self.machines[at].look(self.now, ticket).expect("known")
    }

    pub(super) fn state(&self, at: usize, ticket: Ticket) -> State {
        self.look(at, ticket).state
    }

    pub(super) fn define(&mut self, at: usize, name: &str, resource: NewResource) -> Making {
        let making = self.machines[at].define(self.now, name, &resource).expect("accepted");
        self.settle();
        making
    }
}

pub(super) fn wants(resource: &str) -> NewRequest {
    NewRequest { resource: resource.into(), ..NewRequest::default() }
}

pub(super) fn with_priority(resource: &str, priority: i32) -> NewRequest {
    NewRequest { urgency: Some(Urgency::Priority(priority)), ..wants(resource) }
}

pub(super) fn semaphore(capacity: u32) -> NewResource {
    NewResource { capacity: Some(capacity), ..NewResource::default() }
}

pub(super) fn capacity(capacity: u32) -> ResourceChange {
    ResourceChange { capacity: Some(capacity), ..ResourceChange::default() }
}

pub(super) fn definition(resource: NewResource) -> Definition {
    resource.complete().expect("valid")
}
