//! Nodes that greet a neighbour when a link comes up and forget it when the link goes down. Requests are granted at
//! once: this one is about links.

use std::collections::BTreeSet;

use meshlock_core::counters::CounterVisitor;
use meshlock_core::view::{Returning, TokenView, View};
use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hello {
    id: NodeId,
    up: BTreeSet<NodeId>,
    /// Neighbours that greeted over the present link.
    pub greeted_by: BTreeSet<NodeId>,
    /// Answers every greeting.
    polite: bool,
}

/// The sender's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct HelloMessage(pub NodeId);

impl Hello {
    pub fn isolated(count: u32) -> Vec<Self> {
        let node = |id| Self { id: NodeId(id), up: BTreeSet::new(), greeted_by: BTreeSet::new(), polite: false };
        (0..count).map(node).collect()
    }

    /// Never stops to answer greetings.
    pub fn endless(count: u32) -> Vec<Self> {
        Self::isolated(count).into_iter().map(|node| Self { polite: true, ..node }).collect()
    }
}

impl Protocol for Hello {
    type Message = HelloMessage;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<HelloMessage>) -> Result<Vec<Effect<HelloMessage>>, Misuse> {
        match event {
            Event::LinkUp { neighbour } => {
                self.up.insert(neighbour);
                Ok(vec![Effect::Send { to: neighbour, message: HelloMessage(self.id) }])
            }
            Event::LinkDown { neighbour } => {
                self.up.remove(&neighbour);
                self.greeted_by.remove(&neighbour);
                Ok(Vec::new())
            }
            Event::Receive { from, .. } => {
                self.greeted_by.insert(from);
                let answer = Effect::Send { to: from, message: HelloMessage(self.id) };
                Ok(if self.polite { vec![answer] } else { Vec::new() })
            }
            Event::Request { .. } | Event::Cancel { .. } | Event::Reprioritize { .. } | Event::Release { .. } => {
                Err(Misuse::Unsupported("serve requests"))
            }
            Event::Resize { .. } | Event::Leave | Event::Resume | Event::Census { .. } | Event::Remake { .. } => {
                Err(Misuse::Unsupported("do this"))
            }
            Event::Expired { .. } => Ok(Vec::new()),
        }
    }

    fn view(&self) -> View {
        View { neighbours: self.up.iter().copied().collect(), ..View::default() }
    }

    fn token_in(&self, _: NodeId, _: &HelloMessage) -> Option<TokenView> {
        None
    }

    fn returning_in(_: &HelloMessage) -> Option<Returning> {
        None
    }

    fn kind(_: &HelloMessage) -> &'static str {
        "Hello"
    }

    fn visit_counters(&mut self, _: &mut dyn CounterVisitor) {}

    fn visit_message_counters(_: &mut HelloMessage, _: &mut dyn CounterVisitor) {}
}
