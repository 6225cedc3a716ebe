//! Whole nodes under random requests, moves and cuts: what must hold, holds, and in the end everybody is served.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_api::{Kind, NewRequest, NewResource, Protocol, State, Urgency};

use super::super::{Now, Ticket};
use super::mesh::Mesh;
use super::{semaphore, wants};

const NODES: usize = 5;

/// What a client of a killed node holds, until its lease ends or its node comes back.
struct Ghost {
    node: usize,
    resource: String,
    units: u32,
    session: Option<String>,
    until: Now,
}

struct Chaos {
    mesh: Mesh,
    /// Whether nodes are killed, too.
    crashes: bool,
    ghosts: Vec<Ghost>,
    random: fastrand::Rng,
    asked: Vec<(usize, Ticket)>,
    greatest_fence: BTreeMap<String, u64>,
    seen: BTreeSet<(usize, Ticket)>,
}

impl Chaos {
    fn new(seed: u64, mut mesh: Mesh, crashes: bool) -> Self {
        let net = &mut mesh.net;
        net.define(0, "gpus", semaphore(3));
        let sessions = NewResource { kind: Some(Kind::Sessions), ..NewResource::default() };
        net.define(1, "room", sessions.clone());
        net.define(2, "belt", NewResource { protocol: Some(Protocol::Flood), ..NewResource::default() });
        net.define(3, "hall", NewResource { protocol: Some(Protocol::Group), ..sessions });
        let random = fastrand::Rng::with_seed(seed);
        let (asked, ghosts, seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { mesh, crashes, ghosts, random, asked, greatest_fence: BTreeMap::new(), seen }
    }

    fn request(&mut self) -> NewRequest {
        let name = *self.random.choice(&["dock", "gpus", "room", "belt", "hall"]).expect("some");
        let mut request = NewRequest { lease_ms: Some(86_400_000), ..wants(name) };
        request.urgency = Some(Urgency::Priority(self.random.i32(0..=9)));
        match name {
            "gpus" => request.units = Some(self.random.u32(1..=3)),
            "room" | "hall" => request.session = Some(self.random.choice(["red", "blue"]).expect("some").into()),
            _ => {}
        }
        request
    }

    fn step(&mut self) {
        match self.random.u32(0..100) {
            0..60 => {
                if let Some(wire) = self.random.choice(self.mesh.net.busy_wires()) {
                    self.mesh.net.deliver(wire);
                }
            }
            60..63 if self.crashes => {
                let node = self.random.usize(0..NODES);
                if self.mesh.dead.contains(&node) { self.restart(node) } else { self.kill(node) }
            }
            60..75 => {
                let at = self.random.usize(0..NODES);
                if self.mesh.dead.contains(&at) {
                    return;
                }
                let request = self.request();
                let ticket = self.mesh.net.ask(at, request);
                self.asked.push((at, ticket));
            }
            75..90 => {
                if let Some((at, ticket)) = self.random.choice(self.asked.clone()) {
                    self.mesh.net.release(at, ticket); // also cancels what waits
                }
            }
            90..93 => {
                let ms = self.random.u64(1..2_000);
                self.pass_ms(ms);
            }
            _ => {
                let (a, b) = (self.random.usize(0..NODES), self.random.usize(0..NODES));
                match self.mesh.net.is_linked(a, b) {
                    _ if a == b || self.mesh.dead.contains(&a) || self.mesh.dead.contains(&b) => {}
                    true => self.mesh.net.cut(a, b),
                    false => self.mesh.net.link(a, b),
                }
            }
        }
        self.mesh.tend();
        self.check();
    }

    /// Clients renew what they hold.
    fn pass_ms(&mut self, ms: u64) {
        for (at, ticket) in &self.asked {
            self.mesh.net.machines[*at].renew(self.mesh.net.now, *ticket, None).unwrap();
        }
        self.mesh.net.pass_ms(ms);
        self.mesh.tend();
    }

    fn kill(&mut self, node: usize) {
        let (lost, left) = self.asked.drain(..).partition(|(at, _)| *at == node);
        self.asked = left;
        for (at, ticket) in lost {
            let info = self.mesh.net.look(at, ticket);
            if info.state == State::Granted {
                let until = self.mesh.net.now.plus_ms(info.expires_in_ms.unwrap_or_default());
                let (resource, units, session) = (info.resource, info.units, info.session);
                self.ghosts.push(Ghost { node, resource, units, session, until });
            }
        }
        self.mesh.kill(node);
    }

    /// By now its former clients have stopped: a node waits for that.
    fn restart(&mut self, node: usize) {
        self.ghosts.retain(|ghost| ghost.node != node);
        self.seen.retain(|(at, _)| *at != node);
        self.mesh.restart(node);
    }

    /// Units, sessions and fences, over all nodes.
    fn check(&mut self) {
        let mut units: BTreeMap<String, u32> = BTreeMap::new();
        let mut sessions: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut fences: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for (at, ticket) in &self.asked {
            let info = self.mesh.net.look(*at, *ticket);
            if let Some(fence) = info.fence
                && self.seen.insert((*at, *ticket))
            {
                let is_new = fences.entry(info.resource.clone()).or_default().insert(fence);
                assert!(is_new || info.resource == "hall", "a fence for two: {info:?}");
            }
            if info.state == State::Granted {
                *units.entry(info.resource.clone()).or_default() += info.units;
                let session = sessions.entry(info.resource.clone()).or_insert_with(|| info.session.clone());
                assert_eq!(*session, info.session, "one session at a time in {}", info.resource);
            }
        }
        self.ghosts.retain(|ghost| self.mesh.net.now < ghost.until);
        for Ghost { resource, units: held, session, .. } in &self.ghosts {
            *units.entry(resource.clone()).or_default() += held;
            let running = sessions.entry(resource.clone()).or_insert_with(|| session.clone());
            assert_eq!(running, session, "one session at a time in {resource}");
        }
        for (name, fences) in fences {
            let greatest = self.greatest_fence.entry(name.clone()).or_default();
            let least = *greatest + u64::from(name != "hall"); // in protocol `group` all of one opening have one fence
            assert!(fences.first() >= Some(&least), "fences of {name} grow: {fences:?} after {greatest}");
            *greatest = fences.last().copied().unwrap_or_default();
        }
        for (name, units) in units {
            let known = self.mesh.net.machines.iter().find_map(|machine| machine.resource_info(&name));
            let capacity = known.map_or(1, |info| info.definition.capacity);
            assert!(units <= capacity, "{units} of {capacity} units of {name} in use");
        }
    }

    /// All linked in a line again, everybody is served when the others give back.
    fn finish(&mut self) {
        for node in self.mesh.dead.clone() {
            self.restart(node);
        }
        for a in 0..NODES {
            for b in 0..a {
                match (self.mesh.net.is_linked(a, b), b + 1 == a) {
                    (true, false) => self.mesh.net.cut(a, b),
                    (false, true) => self.mesh.net.link(a, b),
                    (true, true) | (false, false) => {}
                }
            }
        }
        for _ in 0..2_000 {
            self.mesh.net.settle();
            self.pass_ms(500);
            self.check();
            let granted = |(at, ticket): &&(usize, Ticket)| self.mesh.net.state(*at, *ticket) == State::Granted;
            let holders: Vec<_> = self.asked.iter().filter(granted).copied().collect();
            for (at, ticket) in holders {
                self.mesh.net.release(at, ticket);
            }
            self.mesh.net.settle();
            let waits = |(at, ticket): &(usize, Ticket)| !self.mesh.net.state(*at, *ticket).is_over();
            self.asked.retain(waits);
            if self.asked.is_empty() {
                return;
            }
        }
        let stuck: Vec<_> = self.asked.iter().map(|(at, ticket)| (at, self.mesh.net.look(*at, *ticket))).collect();
        panic!("{} requests are stuck: {stuck:#?}", stuck.len());
    }
}

#[test]
fn nothing_breaks_and_everybody_is_served_in_the_end() {
    for seed in 0..60 {
        let mut chaos = Chaos::new(seed, Mesh::plain(NODES as u32), false);
        for _ in 0..400 {
            chaos.step();
        }
        chaos.finish();
    }
}

#[test]
fn nothing_breaks_when_nodes_are_killed_and_come_back() {
    for seed in 0..60 {
        let mut chaos = Chaos::new(seed, Mesh::full(NODES as u32), true);
        for _ in 0..600 {
            chaos.step();
        }
        chaos.finish();
    }
}

#[test]
fn nothing_breaks_with_voters_when_nodes_are_killed_and_cut_off() {
    for seed in 0..40 {
        let mut chaos = Chaos::new(seed, Mesh::voting(NODES as u32), true);
        for _ in 0..800 {
            chaos.step();
        }
        chaos.finish();
    }
}
