//! Observers of a run, event by event.

use meshlock_core::{Effect, Event, Misuse, NodeId};
use meshlock_protocols::{Message, Node};

use crate::geometry::{Leg, Point};
use crate::time::Time;

/// Is told everything that happens, in order, and cannot change anything.
pub trait Observer {
    /// Whether it wants to see events; if not, they need not be copied.
    fn sees_events(&self) -> bool {
        true
    }

    fn handled(&mut self, now: Time, node: &Node, event: Event<Message>, effects: Result<&[Effect<Message>], Misuse>) {
        let _ = (now, node, event, effects);
    }

    fn linked(&mut self, now: Time, between: (NodeId, NodeId), up: bool) {
        let _ = (now, between, up);
    }

    fn moved(&mut self, now: Time, node: NodeId, leg: &Leg) {
        let _ = (now, node, leg);
    }

    /// A node is there that was not there before.
    fn joined(&mut self, now: Time, node: &Node, place: Option<Point>) {
        let _ = (now, node, place);
    }

    fn gone(&mut self, now: Time, node: NodeId, place: Option<Point>) {
        let _ = (now, node, place);
    }

    /// A node has crashed. It may move again.
    fn crashed(&mut self, now: Time, node: NodeId, place: Option<Point>) {
        let _ = (now, node, place);
    }

    fn lost(&mut self, now: Time, from: NodeId, to: NodeId, message: &Message) {
        let _ = (now, from, to, message);
    }
}

impl Observer for () {
    fn sees_events(&self) -> bool {
        false
    }
}
