//! Nodes that go for good.
//!
//! A node that is told to leave cancels its waiting requests, releases its grants, tells its protocol ([`Event::Leave`])
//! and goes as soon as it has nothing that others need and nothing of it is in flight; at the latest after [`PATIENCE`],
//! with all that it still has. It never comes back.

use meshlock_core::{Event, Misuse, NodeId, Protocol};
use meshlock_protocols::Node;

use super::{Medium, World};
use crate::agenda::Due;
use crate::observe::Observer;
use crate::time::Span;

/// How long a node may take to leave in order.
pub(crate) const PATIENCE: Span = Span::from_millis(5_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// It takes part.
    Here,
    /// It is about to go; whether its protocol knows.
    Leaving {
        told: bool,
    },
    Gone,
    Down,
}

impl World {
    /// Whether a node has gone for good, or is down.
    pub(super) fn is_gone(&self, node: u32) -> bool {
        matches!(self.presence.get(node as usize), Some(Presence::Gone | Presence::Down))
    }

    /// Whether nodes of this protocol can leave in order.
    pub(crate) fn can_leave(&self) -> bool {
        let refuses = |node: &Node| matches!(node.clone().handle(Event::Leave), Err(Misuse::Unsupported(_)));
        self.nodes.first().is_some_and(|node| !refuses(node))
    }

    pub(super) fn begin_to_leave(&mut self, node: u32, observer: &mut dyn Observer) {
        self.presence[node as usize] = Presence::Leaving { told: false };
        self.leaving.push(node);
        self.clients.retire(node);
        self.agenda.add(self.now + PATIENCE, Due::Depart { node });
        // The newest first: what waits in front of the node must not come to it when an older one ends.
        for index in self.clients.open_at(node).into_iter().rev() {
            self.give_up(index, observer);
        }
        self.let_go(observer);
    }

    /// Lets nodes go that have nothing left to give.
    pub(super) fn let_go(&mut self, observer: &mut dyn Observer) {
        for node in self.leaving.clone() {
            for index in self.clients.open_at(node) {
                self.release(index, observer);
            }
            let untold = self.presence[node as usize] == Presence::Leaving { told: false };
            if untold && self.clients.open_at(node).is_empty() {
                let told = self.handle(node, Event::Leave, observer).is_ok();
                self.presence[node as usize] = Presence::Leaving { told };
            }
            let told = self.presence[node as usize] == Presence::Leaving { told: true };
            if told && self.nodes[node as usize].may_go() && !self.has_something_under_way(node) {
                self.depart(node, observer);
            }
        }
    }

    /// Whether something from a node is in flight, or something that matters to a node.
    fn has_something_under_way(&self, node: u32) -> bool {
        self.frames.iter().any(|frame| frame.from == node && !frame.to.iter().all(|hop| hop.delivered))
            || self.held.messages().any(|(from, _)| from == node)
            || self.flights().iter().any(|(from, to, ..)| *from == node || *to == node)
    }

    /// A node goes, with all that it has.
    pub(super) fn depart(&mut self, node: u32, observer: &mut dyn Observer) {
        if self.presence[node as usize] == Presence::Gone {
            return;
        }
        self.leaving.retain(|other| *other != node);
        let neighbours: Vec<u32> = self.links.of(node).collect();
        for neighbour in neighbours {
            self.set_link(node, neighbour, false, observer);
        }
        self.presence[node as usize] = Presence::Gone;
        let place = self.position(NodeId(node));
        if let (Medium::Air { reach, .. }, Some(place)) = (&mut self.medium, place) {
            reach.put(node, place, false, &self.links, self.now, &mut self.agenda);
        }
        observer.gone(self.now, NodeId(node), place);
        self.try_stranded(observer);
    }
}
