//! A ball that nodes 0 and 1 throw to each other until node 2 says stop. Nothing is locked: this one is about messages
//! that come to an end only on fair runs.

use meshlock_core::counters::CounterVisitor;
use meshlock_core::view::{Returning, TokenView, View};
use meshlock_core::{Effect, Event, Grant, Misuse, NodeId, Protocol, Slots, Units};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Echo {
    id: NodeId,
    stopped: bool,
    /// Node 2 says stop when it should.
    says_stop: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub enum EchoMessage {
    Ball,
    Stop,
}

impl Echo {
    /// Node 0 starts the game with its one request, which is granted at once.
    pub fn nodes(says_stop: bool) -> Vec<Self> {
        (0..3).map(|id| Self { id: NodeId(id), stopped: false, says_stop }).collect()
    }
}

impl Protocol for Echo {
    type Message = EchoMessage;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<EchoMessage>) -> Result<Vec<Effect<EchoMessage>>, Misuse> {
        let send = |to, message| Effect::Send { to: NodeId(to), message };
        match event {
            Event::Request { request, .. } => {
                let grant = Grant { request, units: Units(1), session: None, fence: None, slots: Slots::NONE };
                Ok(vec![Effect::Granted { grant }, send(1, EchoMessage::Ball), send(2, EchoMessage::Stop)])
            }
            Event::Receive { message, .. } => Ok(match (self.id.0, message) {
                (0, EchoMessage::Ball) if !self.stopped => vec![send(1, EchoMessage::Ball)],
                (1, EchoMessage::Ball) => vec![send(0, EchoMessage::Ball)],
                (2, EchoMessage::Stop) if self.says_stop => vec![send(0, EchoMessage::Stop)],
                (0, EchoMessage::Stop) => {
                    self.stopped = true;
                    Vec::new()
                }
                (_, EchoMessage::Ball | EchoMessage::Stop) => Vec::new(),
            }),
            Event::Cancel { .. } | Event::Reprioritize { .. } | Event::Release { .. } => {
                Err(Misuse::Unsupported("do this"))
            }
            Event::Resize { .. } | Event::Leave | Event::Resume | Event::Census { .. } | Event::Remake { .. } => {
                Err(Misuse::Unsupported("do this"))
            }
            Event::LinkUp { .. } | Event::LinkDown { .. } | Event::Expired { .. } => Ok(Vec::new()),
        }
    }

    fn view(&self) -> View {
        View::default()
    }

    fn token_in(&self, _: NodeId, _: &EchoMessage) -> Option<TokenView> {
        None
    }

    fn returning_in(_: &EchoMessage) -> Option<Returning> {
        None
    }

    fn kind(message: &EchoMessage) -> &'static str {
        match message {
            EchoMessage::Ball => "Ball",
            EchoMessage::Stop => "Stop",
        }
    }

    fn visit_counters(&mut self, _: &mut dyn CounterVisitor) {}

    fn visit_message_counters(_: &mut EchoMessage, _: &mut dyn CounterVisitor) {}
}
