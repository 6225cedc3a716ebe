//! Nodes that greet a neighbour when a link comes up and forget it when the link goes down. Requests are granted at
//! once: this one is about links.

use std::collections::BTreeSet;

use meshlock_core::counters::CounterVisitor;
use meshlock_core::view::{Returning, TokenView, View};
use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol};

use crate::model::{Model, Workload};
use crate::topology::Topology;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hello {
    id: NodeId,
    /// Links known to be up.
    up: BTreeSet<NodeId>,
    /// Neighbours that greeted over the present link.
    pub(crate) greeted_by: BTreeSet<NodeId>,
    /// Answers every greeting.
    polite: bool,
}

impl Hello {
    pub(crate) fn isolated(count: u32) -> Vec<Self> {
        let node = |id| Self { id: NodeId(id), up: BTreeSet::new(), greeted_by: BTreeSet::new(), polite: false };
        (0..count).map(node).collect()
    }

    /// Never stops to answer greetings.
    pub(crate) fn endless(count: u32) -> Vec<Self> {
        Self::isolated(count).into_iter().map(|node| Self { polite: true, ..node }).collect()
    }

    /// After everyone has greeted everyone.
    pub(crate) fn model(topology: Topology) -> Model<Self> {
        let count = topology.len();
        let mut model = Model::settled(Self::isolated(u32::try_from(count).unwrap()), topology, Vec::new()).unwrap();
        model.workload = Workload::none(count);
        model
    }
}

impl Protocol for Hello {
    type Message = NodeId;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<NodeId>) -> Result<Vec<Effect<NodeId>>, Misuse> {
        match event {
            Event::LinkUp { neighbour } => {
                self.up.insert(neighbour);
                Ok(vec![Effect::Send { to: neighbour, message: self.id }])
            }
            Event::LinkDown { neighbour } => {
                self.up.remove(&neighbour);
                self.greeted_by.remove(&neighbour);
                Ok(Vec::new())
            }
            Event::Receive { from, .. } => {
                self.greeted_by.insert(from);
                let answer = Effect::Send { to: from, message: self.id };
                Ok(if self.polite { vec![answer] } else { Vec::new() })
            }
            Event::Request { .. } | Event::Cancel { .. } | Event::Reprioritize { .. } | Event::Release { .. } => {
                Err(Misuse::Unsupported("serve requests"))
            }
            Event::Resize { .. } | Event::Leave | Event::Resume => Err(Misuse::Unsupported("do this")),
            Event::Expired { .. } => Ok(Vec::new()),
        }
    }

    fn view(&self) -> View {
        View { neighbours: self.up.iter().copied().collect(), ..View::default() }
    }

    fn token_in(&self, _: NodeId, _: &NodeId) -> Option<TokenView> {
        None
    }

    fn returning_in(_: &NodeId) -> Option<Returning> {
        None
    }

    fn kind(_: &NodeId) -> &'static str {
        "Hello"
    }

    fn visit_counters(&mut self, _: &mut dyn CounterVisitor) {}

    fn visit_message_counters(_: &mut NodeId, _: &mut dyn CounterVisitor) {}
}
