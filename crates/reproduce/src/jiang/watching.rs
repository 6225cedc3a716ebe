//! Looks into a run while it goes on, whatever its protocol: who holds the token, how high nodes stand, what is sent.

use meshlock_core::view::View;
use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol};
use meshlock_protocols::{Message, Node};
use meshlock_sim::build::world;
use meshlock_sim::observe::Observer;
use meshlock_sim::outcome::Outcome;
use meshlock_sim::run::drive;
use meshlock_sim::scenario::Scenario;
use meshlock_sim::time::Time;

/// What is seen when a node has handled an event.
pub(super) struct Seen {
    /// Which node.
    pub(super) node: NodeId,
    /// The node after the event.
    pub(super) view: View,
    /// Whose message it was, and its kind, if it was one.
    pub(super) received: Option<(NodeId, &'static str)>,
    /// Kinds of messages it sends now, each with the number of its receivers.
    pub(super) sent: Vec<(&'static str, u64)>,
}

impl Seen {
    /// How many messages of a kind it sends now.
    pub(super) fn sends(&self, kind: &str) -> u64 {
        self.sent.iter().filter(|(name, _)| *name == kind).map(|(_, receivers)| receivers).sum()
    }
}

/// Somebody who looks.
pub(super) trait Watcher {
    /// The nodes before anything has happened.
    fn starts(&mut self, views: &[View]) {
        let _ = views;
    }

    /// A node has handled an event.
    fn handled(&mut self, now: Time, seen: Seen);

    /// A link has come or gone.
    fn linked(&mut self, now: Time) {
        let _ = now;
    }

    /// A message of this kind will not arrive.
    fn lost(&mut self, kind: &'static str) {
        let _ = kind;
    }
}

/// Runs a scenario under the eyes of a watcher.
///
/// # Panics
///
/// If the scenario cannot be run: claims make only scenarios that can.
pub(super) fn watch<W: Watcher>(scenario: &Scenario, seed: u64, mut watcher: W) -> (W, Outcome) {
    let world = world(scenario, seed).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
    let views: Vec<View> = world.nodes().iter().map(Protocol::view).collect();
    watcher.starts(&views);
    let outcome = drive(world, scenario, &mut (), &mut Tap(&mut watcher));
    (watcher, outcome)
}

struct Tap<'a>(&'a mut dyn Watcher);

impl Observer for Tap<'_> {
    fn handled(&mut self, now: Time, node: &Node, event: Event<Message>, effects: Result<&[Effect<Message>], Misuse>) {
        let view = node.view();
        let received = match &event {
            Event::Receive { from, message } => Some((*from, Node::kind(message))),
            Event::Request { .. }
            | Event::Cancel { .. }
            | Event::Reprioritize { .. }
            | Event::Release { .. }
            | Event::LinkUp { .. }
            | Event::LinkDown { .. }
            | Event::Expired { .. }
            | Event::Resize { .. }
            | Event::Leave
            | Event::Resume => None,
        };
        let sent = |effect: &Effect<Message>| match effect {
            Effect::Send { message, .. } => Some((Node::kind(message), 1)),
            Effect::Multicast { to, message } => Some((Node::kind(message), to.len() as u64)),
            Effect::Broadcast { message } => Some((Node::kind(message), view.neighbours.len() as u64)),
            Effect::Granted { .. } | Effect::Arm { .. } | Effect::Reject { .. } => None,
        };
        let sent = effects.unwrap_or_default().iter().filter_map(sent).collect();
        self.0.handled(now, Seen { node: node.id(), view, received, sent });
    }

    fn linked(&mut self, now: Time, _between: (NodeId, NodeId), _up: bool) {
        self.0.linked(now);
    }

    fn lost(&mut self, _now: Time, _from: NodeId, _to: NodeId, message: &Message) {
        self.0.lost(Node::kind(message));
    }
}
