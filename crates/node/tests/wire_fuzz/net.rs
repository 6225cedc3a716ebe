//! Three nodes in a line, in memory, whose clients want everything: every run with the same seed is the same.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use meshlock_api::{Kind, Mode, NewRequest, NewResource, Protocol, ResourceChange, Urgency};
use meshlock_core::NodeId;
use meshlock_node::links::{Outgoing, Peer};
use meshlock_node::machine::{Machine, Now, Post, Settings, Ticket};

use super::HERE;

/// What can be locked, by all protocols.
pub(crate) const NAMES: [&str; 6] = ["dock", "gpus", "room", "map", "belt", "hall"];

const NODES: usize = 3;

pub(crate) fn settings(id: u32) -> Settings {
    Settings {
        id: NodeId(id),
        founds_registry: id == 0,
        seed: u64::from(id),
        ..Settings::founder("fuzz", &format!("n{id}"))
    }
}

pub(crate) fn peer(id: u32) -> Peer {
    Peer { node: NodeId(id), name: format!("n{id}"), address: SocketAddr::from(([127, 0, 0, 1], 1)) }
}

/// A wish for the resource of this number.
pub(crate) fn request(name: usize, urgency: i32) -> NewRequest {
    let name = NAMES[name % NAMES.len()];
    let request = NewRequest {
        resource: name.into(),
        urgency: Some(Urgency::Priority(urgency)),
        owner: Some("somebody".into()),
        ..NewRequest::default()
    };
    match name {
        "gpus" => NewRequest { units: Some(2), ..request },
        "room" | "hall" => {
            NewRequest { session: Some(if urgency % 2 == 0 { "red" } else { "blue" }.into()), ..request }
        }
        "map" => NewRequest { mode: Some(if urgency % 2 == 0 { Mode::Read } else { Mode::Write }), ..request },
        _ => request,
    }
}

fn definition(name: &str) -> NewResource {
    let plain = NewResource::default();
    match name {
        "gpus" => NewResource { capacity: Some(4), ..plain },
        "room" => NewResource { kind: Some(Kind::Sessions), ..plain },
        "map" => NewResource { kind: Some(Kind::ReadersWriter), ..plain },
        "belt" => NewResource { protocol: Some(Protocol::Flood), ..plain },
        "hall" => NewResource { kind: Some(Kind::Sessions), protocol: Some(Protocol::Group), ..plain },
        _ => plain,
    }
}

/// Nodes, and frames on their way between them.
pub(crate) struct Net {
    pub(crate) machines: Vec<Machine>,
    pub(crate) now: Now,
    /// Every frame that came to the node in the middle.
    pub(crate) heard: Vec<Vec<u8>>,
    wires: BTreeMap<(usize, usize), VecDeque<Outgoing>>,
    asked: Vec<(usize, Ticket)>,
    random: fastrand::Rng,
}

impl Net {
    /// A run of so many steps.
    pub(crate) fn run(seed: u64, steps: usize) -> Self {
        let mut net = Self {
            machines: (0..NODES as u32).map(settings).map(Machine::new).collect(),
            now: Now(1),
            heard: Vec::new(),
            wires: BTreeMap::new(),
            asked: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
        };
        for (at, name) in NAMES.iter().enumerate() {
            if at % 2 == 0 {
                net.machines[0].define(net.now, name, &definition(name)).expect("accepted");
            }
        }
        net.link(0, 1);
        net.link(1, 2);
        net.settle();
        for (at, name) in NAMES.iter().enumerate() {
            net.machines[at % NODES].define(net.now, name, &definition(name)).expect("accepted");
            net.settle();
        }
        for _ in 0..steps {
            net.step();
        }
        net
    }

    fn step(&mut self) {
        let at = self.random.usize(0..NODES);
        match self.random.u32(0..100) {
            0..60 => {
                let busy: Vec<_> =
                    self.wires.iter().filter(|(_, wire)| !wire.is_empty()).map(|(ends, _)| *ends).collect();
                if let Some(ends) = self.random.choice(busy) {
                    self.deliver(ends);
                }
            }
            60..76 => {
                let (name, urgency) = (self.random.usize(0..NAMES.len()), self.random.i32(0..=9));
                if let Ok(ticket) = self.machines[at].ask(self.now, request(name, urgency)) {
                    self.asked.push((at, ticket));
                }
            }
            76..90 => {
                if let Some((at, ticket)) = self.random.choice(self.asked.clone()) {
                    self.machines[at].release(self.now, ticket);
                    self.collect(at);
                }
            }
            90..93 => {
                self.now = self.now.plus_ms(self.random.u64(1..2_000));
                for machine in &mut self.machines {
                    machine.wake(self.now);
                }
            }
            93..95 => {
                let _ = self.machines[at].begin_query(None);
            }
            95..97 => {
                let capacity = Some(self.random.u32(2..6));
                let change = ResourceChange { capacity, ..ResourceChange::default() };
                let _ = self.machines[at].change(self.now, "gpus", change);
            }
            _ => {
                let (a, b) = self.random.choice([(0, 1), (1, 2)]).expect("two");
                if self.wires.contains_key(&(a, b)) { self.cut(a, b) } else { self.link(a, b) }
            }
        }
        (0..NODES).for_each(|at| self.collect(at));
    }

    fn link(&mut self, a: usize, b: usize) {
        for (at, of) in [(a, b), (b, a)] {
            self.wires.insert((at, of), VecDeque::new());
        }
        for (at, of) in [(a, b), (b, a)] {
            self.machines[at].link_up(self.now, &peer(of as u32)).expect("no disk");
            self.collect(at);
        }
    }

    fn cut(&mut self, a: usize, b: usize) {
        for (at, of) in [(a, b), (b, a)] {
            self.wires.remove(&(at, of));
            self.machines[at].link_down(self.now, NodeId(of as u32), "cut");
        }
    }

    fn collect(&mut self, at: usize) {
        for Post { to, frame, .. } in self.machines[at].take_outbox() {
            if let Some(wire) = self.wires.get_mut(&(at, to.0 as usize)) {
                wire.push_back(frame);
            }
        }
    }

    fn deliver(&mut self, (from, to): (usize, usize)) {
        let Some(frame) = self.wires.get_mut(&(from, to)).and_then(VecDeque::pop_front) else { return };
        if to == HERE {
            self.heard.push(frame.to_vec());
        }
        self.machines[to].receive(self.now, NodeId(from as u32), &frame).expect("neighbours make no mistakes");
        self.collect(to);
    }

    fn settle(&mut self) {
        (0..NODES).for_each(|at| self.collect(at));
        while let Some(ends) = self.wires.iter().find(|(_, wire)| !wire.is_empty()).map(|(ends, _)| *ends) {
            self.deliver(ends);
        }
    }
}
