//! Whole nodes under random requests, moves and cuts: what must hold, holds, and in the end everybody is served.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_api::{Kind, NewRequest, NewResource, Protocol, State, Urgency};

use super::super::Ticket;
use super::{Net, semaphore, wants};

const NODES: usize = 5;

struct Chaos {
    net: Net,
    random: fastrand::Rng,
    asked: Vec<(usize, Ticket)>,
    greatest_fence: BTreeMap<String, u64>,
    seen: BTreeSet<(usize, Ticket)>,
}

impl Chaos {
    fn new(seed: u64) -> Self {
        let mut net = Net::line(NODES as u32);
        net.define(0, "gpus", semaphore(3));
        let sessions = NewResource { kind: Some(Kind::Sessions), ..NewResource::default() };
        net.define(1, "room", sessions);
        net.define(2, "belt", NewResource { protocol: Some(Protocol::Flood), ..NewResource::default() });
        net.define(3, "hall", NewResource { protocol: Some(Protocol::Group), ..sessions });
        let random = fastrand::Rng::with_seed(seed);
        Self { net, random, asked: Vec::new(), greatest_fence: BTreeMap::new(), seen: BTreeSet::new() }
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
                if let Some(wire) = self.random.choice(self.net.busy_wires()) {
                    self.net.deliver(wire);
                }
            }
            60..75 => {
                let at = self.random.usize(0..NODES);
                let request = self.request();
                let ticket = self.net.ask(at, request);
                self.asked.push((at, ticket));
            }
            75..90 => {
                if let Some((at, ticket)) = self.random.choice(self.asked.clone()) {
                    self.net.release(at, ticket); // also cancels what waits
                }
            }
            90..93 => self.net.pass_ms(self.random.u64(1..2_000)),
            _ => {
                let (a, b) = (self.random.usize(0..NODES), self.random.usize(0..NODES));
                match self.net.is_linked(a, b) {
                    _ if a == b => {}
                    true => self.net.cut(a, b),
                    false => self.net.link(a, b),
                }
            }
        }
        self.check();
    }

    /// Units, sessions and fences, over all nodes.
    fn check(&mut self) {
        let mut units: BTreeMap<String, u32> = BTreeMap::new();
        let mut sessions: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut fences: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for (at, ticket) in &self.asked {
            let info = self.net.look(*at, *ticket);
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
        for (name, fences) in fences {
            let greatest = self.greatest_fence.entry(name.clone()).or_default();
            let least = *greatest + u64::from(name != "hall"); // in protocol `group` all of one opening have one fence
            assert!(fences.first() >= Some(&least), "fences of {name} grow: {fences:?} after {greatest}");
            *greatest = fences.last().copied().unwrap_or_default();
        }
        for (name, units) in units {
            let capacity = self.net.machines[0].resource_info(&name).map_or(1, |info| info.definition.capacity);
            assert!(units <= capacity, "{units} of {capacity} units of {name} in use");
        }
    }

    /// All linked in a line again, everybody is served when the others give back.
    fn finish(&mut self) {
        for a in 0..NODES {
            for b in 0..a {
                match (self.net.is_linked(a, b), b + 1 == a) {
                    (true, false) => self.net.cut(a, b),
                    (false, true) => self.net.link(a, b),
                    (true, true) | (false, false) => {}
                }
            }
        }
        for _ in 0..2_000 {
            self.net.settle();
            self.net.pass_ms(500);
            self.check();
            let granted = |(at, ticket): &&(usize, Ticket)| self.net.state(*at, *ticket) == State::Granted;
            let holders: Vec<_> = self.asked.iter().filter(granted).copied().collect();
            for (at, ticket) in holders {
                self.net.release(at, ticket);
            }
            self.net.settle();
            let waits = |(at, ticket): &(usize, Ticket)| !self.net.state(*at, *ticket).is_over();
            self.asked.retain(waits);
            if self.asked.is_empty() {
                return;
            }
        }
        let stuck: Vec<_> = self.asked.iter().map(|(at, ticket)| (at, self.net.look(*at, *ticket))).collect();
        panic!("{} requests are stuck: {stuck:#?}", stuck.len());
    }
}

#[test]
fn nothing_breaks_and_everybody_is_served_in_the_end() {
    for seed in 0..60 {
        let mut chaos = Chaos::new(seed);
        for _ in 0..400 {
            chaos.step();
        }
        chaos.finish();
    }
}
