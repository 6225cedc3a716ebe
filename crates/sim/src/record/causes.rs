//! Finds the line of a trace that sent an arriving message or armed an expiring timer.
//!
//! Messages are known by a hash of their content: of equal ones in flight between the same two nodes, the oldest is
//! taken to arrive first.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};

use meshlock_core::{Effect, Event, NodeId};
use siphasher::sip::SipHasher13;

use crate::links::Links;

pub(super) struct Causes {
    nodes: u32,
    /// The links that a broadcast goes over; `None`: it reaches all nodes.
    links: Option<Links>,
    /// By sender and receiver, in the order of sending: the hash of a message and the line of its sending.
    messages: BTreeMap<(u32, u32), VecDeque<(u64, u64)>>,
    /// By node and epoch.
    timers: BTreeMap<(u32, u64), u64>,
}

impl Causes {
    pub(super) fn new(nodes: u32, links: Option<Links>) -> Self {
        Self { nodes, links, messages: BTreeMap::new(), timers: BTreeMap::new() }
    }

    pub(super) fn grow(&mut self) {
        self.nodes += 1;
        if let Some(links) = &mut self.links {
            links.grow();
        }
    }

    pub(super) fn link(&mut self, (a, b): (NodeId, NodeId), up: bool) {
        if let Some(links) = &mut self.links {
            if up {
                links.bring_up(a.0, b.0);
            } else {
                links.take_down(a.0, b.0);
            }
        }
    }

    pub(super) fn note<M: Hash>(&mut self, node: NodeId, effect: &Effect<M>, line: u64) {
        match effect {
            Effect::Send { to, message } => self.sent(node.0, to.0, fingerprint(message), line),
            Effect::Multicast { to, message } => {
                let print = fingerprint(message);
                to.iter().for_each(|to| self.sent(node.0, to.0, print, line));
            }
            Effect::Broadcast { message } => {
                let print = fingerprint(message);
                let to: Vec<u32> = match &self.links {
                    Some(links) => links.of(node.0).collect(),
                    None => (0..self.nodes).filter(|to| *to != node.0).collect(),
                };
                to.into_iter().for_each(|to| self.sent(node.0, to, print, line));
            }
            Effect::Arm { timer, .. } => {
                self.timers.insert((node.0, timer.epoch), line);
            }
            Effect::Granted { .. } | Effect::Reject { .. } => {}
        }
    }

    fn sent(&mut self, from: u32, to: u32, print: u64, line: u64) {
        if to < self.nodes {
            self.messages.entry((from, to)).or_default().push_back((print, line));
        }
    }

    pub(super) fn of_event<M: Hash>(&mut self, node: NodeId, event: &Event<M>) -> Option<u64> {
        match event {
            Event::Receive { from, message } => self.of_message(*from, node, message),
            Event::Expired { timer } => self.timers.remove(&(node.0, timer.epoch)),
            Event::Request { .. }
            | Event::Cancel { .. }
            | Event::Reprioritize { .. }
            | Event::Release { .. }
            | Event::LinkUp { .. }
            | Event::LinkDown { .. }
            | Event::Resize { .. }
            | Event::Leave
            | Event::Resume
            | Event::Census { .. }
            | Event::Remake { .. } => None,
        }
    }

    /// The line that sent a message, which is no longer in flight.
    pub(super) fn of_message<M: Hash>(&mut self, from: NodeId, to: NodeId, message: &M) -> Option<u64> {
        let print = fingerprint(message);
        let queue = self.messages.get_mut(&(from.0, to.0))?;
        let place = queue.iter().position(|(other, _)| *other == print)?;
        let (_, line) = queue.remove(place)?;
        if queue.is_empty() {
            self.messages.remove(&(from.0, to.0));
        }
        Some(line)
    }
}

fn fingerprint<M: Hash>(message: &M) -> u64 {
    let mut hasher = SipHasher13::new();
    message.hash(&mut hasher);
    hasher.finish()
}
