//! Sessions of readers and writers, and the fairness between them.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::{Access, read, write};
use crate::group::{Config, Level, Message, Node};
use crate::protocol::{Effect, Event, Protocol};
use crate::vocabulary::{Demand, NodeId, RequestId, Session, Units};

#[test]
fn every_access_has_its_own_session_and_is_known_by_it() {
    for access in [Access::Read, Access::Write(NodeId(0)), Access::Write(NodeId(1)), Access::Write(NodeId(u32::MAX))] {
        assert_eq!(Access::of(access.session()), Some(access));
    }
    assert_eq!(Access::of(Session(u64::from(u32::MAX) + 2)), None, "a session beyond those of all nodes");
}

/// Four processes that reach each other; messages arrive in the order of sending.
struct Desk {
    nodes: BTreeMap<NodeId, Node>,
    under_way: VecDeque<(NodeId, NodeId, Message)>,
    asked: u64,
    granted: Vec<u32>,
}

impl Desk {
    fn new() -> Self {
        let members: Vec<_> = (0..4).map(NodeId).collect();
        let make = |&id: &NodeId| {
            let config = Config::among(members.clone(), id, Level(3), None);
            (id, Node::new(config))
        };
        Self { nodes: members.iter().map(make).collect(), under_way: VecDeque::new(), asked: 0, granted: Vec::new() }
    }

    fn happens(&mut self, at: NodeId, event: Event<Message>) {
        for effect in self.nodes.get_mut(&at).unwrap().handle(event).unwrap() {
            match effect {
                Effect::Send { to, message } => self.under_way.push_back((at, to, message)),
                Effect::Granted { .. } => self.granted.push(at.0),
                Effect::Broadcast { message } => {
                    let others = self.nodes.keys().filter(|to| **to != at);
                    self.under_way.extend(others.map(|to| (at, *to, message.clone())));
                }
                Effect::Multicast { .. } | Effect::Arm { .. } | Effect::Reject { .. } => panic!("{effect:?}"),
            }
        }
        while let Some((from, to, message)) = self.under_way.pop_front() {
            self.happens(to, Event::Receive { from, message });
        }
    }

    fn asks(&mut self, at: u32, demand: Demand) {
        self.asked += 1;
        self.happens(NodeId(at), Event::Request { request: RequestId(self.asked), demand });
    }

    fn reads(&mut self, at: u32) {
        self.asks(at, read(1));
    }

    fn writes(&mut self, at: u32, priority: i32) {
        self.asks(at, write(NodeId(at), priority));
    }

    fn leaves(&mut self, at: u32) {
        let grant = self.nodes[&NodeId(at)].view().holding[0].clone();
        self.happens(NodeId(at), Event::Release { request: grant.request, units: Units(1) });
    }

    /// Who was let in since the last question.
    fn entered(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.granted)
    }
}

#[test]
fn readers_read_together_and_writers_write_alone() {
    let mut desk = Desk::new();
    desk.reads(0);
    desk.reads(1);
    desk.reads(2);
    assert_eq!(desk.entered(), [0, 1, 2]);
    desk.writes(3, 1);
    desk.leaves(0);
    desk.writes(0, 1);
    desk.leaves(1);
    assert!(desk.entered().is_empty());
    desk.leaves(2);
    assert_eq!(desk.entered(), [3]);
    desk.leaves(3);
    assert_eq!(desk.entered(), [0]);
}

#[test]
fn readers_that_come_after_a_waiting_writer_wait_too_and_then_enter_together() {
    let mut desk = Desk::new();
    desk.reads(0);
    desk.writes(1, 1);
    desk.reads(2);
    desk.reads(3);
    assert_eq!(desk.entered(), [0]);
    desk.leaves(0);
    assert_eq!(desk.entered(), [1]);
    desk.leaves(1);
    assert_eq!(desk.entered(), [3, 2]);
}

#[test]
fn a_writer_is_preferred_by_its_priority() {
    let mut desk = Desk::new();
    desk.writes(0, 1);
    desk.reads(1);
    desk.reads(2);
    desk.writes(3, 3);
    desk.leaves(0);
    assert_eq!(desk.entered(), [0, 3]);
    desk.leaves(3);
    let mut readers = desk.entered();
    readers.sort_unstable();
    assert_eq!(readers, [1, 2]);
}
