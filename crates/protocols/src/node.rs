//! One enum of all nodes, one of all messages.
//!
//! The checker and the simulator are compiled for these two types alone; a new protocol is a new line below. The enums
//! are transparent: they are printed, hashed and serialized as what is in them, so that traces, hashes of runs and
//! sizes on the wire are those of the protocol itself.

use std::fmt;
use std::hash::{Hash, Hasher};

use meshlock_core::among::{self, Among};
use meshlock_core::counters::CounterVisitor;
use meshlock_core::recovery::{Census, Row};
use meshlock_core::relay::{self, Relayed};
use meshlock_core::view::{Claimant, Origin, Returning, TokenView, View, Waiting};
use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol, flood, group, messages_among, reverse_link};
use serde::{Serialize, Serializer};

use crate::baselines::{central, lamport, naimi_trehel, raymond, raynal, ricart_agrawala, suzuki_kasami};
use crate::printed;
use crate::recovering::{self, Recovering};
#[cfg(feature = "mutants")]
use crate::toys;

/// Makes the two enums of a list of protocols, and [`Node`] a protocol itself. A relayed node is any other one inside
/// a relay; both its node and its message are boxed, because they contain this very list.
macro_rules! protocols {
    ($($(#[$meta:meta])* $variant:ident($node:ty, $message:ty),)+) => {
        #[derive(Clone, PartialEq, Eq)]
        pub enum Node {
            $($(#[$meta])* $variant($node),)+
            Relayed(Box<Relayed<Self>>),
        }

        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Message {
            $($(#[$meta])* $variant($message),)+
            Relayed(Box<relay::Message<Self>>),
        }

        $(
            $(#[$meta])*
            messages_among!(Message { $variant($message), });

            $(#[$meta])*
            impl From<$node> for Node {
                fn from(node: $node) -> Self {
                    Self::$variant(node)
                }
            }
        )+

        macro_rules! each_node {
            ($self:expr, $inner:ident => $then:expr) => {
                match $self {
                    $($(#[$meta])* Node::$variant($inner) => $then,)+
                    Node::Relayed(boxed) => {
                        let $inner = &**boxed;
                        $then
                    }
                }
            };
            (mut $self:expr, $inner:ident => $then:expr) => {
                match $self {
                    $($(#[$meta])* Node::$variant($inner) => $then,)+
                    Node::Relayed(boxed) => {
                        let $inner = &mut **boxed;
                        $then
                    }
                }
            };
        }

        /// With whatever is in a message, and the type of the nodes that send it.
        macro_rules! each_message {
            ($self:expr, $inner:ident => $then:expr) => {
                match $self {
                    $($(#[$meta])* Message::$variant($inner) => $then,)+
                    Message::Relayed($inner) => $then,
                }
            };
            ($self:expr, $inner:ident, $type:ident => $then:expr) => {
                match $self {
                    $($(#[$meta])* Message::$variant($inner) => {
                        type $type = $node;
                        $then
                    })+
                    Message::Relayed($inner) => {
                        type $type = Relayed<Node>;
                        $then
                    }
                }
            };
        }
    };
}

protocols! {
    ReverseLink(reverse_link::Node, reverse_link::Message),
    Flood(flood::Node, flood::Message),
    Group(group::Node, group::Message),
    PrintedReverseLink(printed::reverse_link::Node, printed::reverse_link::Message),
    PrintedFlood(printed::flood::Node, printed::flood::Message),
    PrintedGroup(printed::group::Node, printed::group::Message),
    Central(central::Node, central::Message),
    Raymond(raymond::Node, raymond::Message),
    SuzukiKasami(suzuki_kasami::Node, suzuki_kasami::Message),
    RicartAgrawala(ricart_agrawala::Node, ricart_agrawala::Message),
    Lamport(lamport::Node, lamport::Message),
    NaimiTrehel(naimi_trehel::Node, naimi_trehel::Message),
    Raynal(raynal::Node, raynal::Message),
    Recovering(Recovering, recovering::Message),
    #[cfg(feature = "mutants")]
    Desk(toys::Desk, toys::DeskMessage),
    #[cfg(feature = "mutants")]
    Echo(toys::Echo, toys::EchoMessage),
    #[cfg(feature = "mutants")]
    Hello(toys::Hello, toys::HelloMessage),
}

impl From<Relayed<Self>> for Node {
    fn from(node: Relayed<Self>) -> Self {
        Self::Relayed(Box::new(node))
    }
}

impl Among<Message> for relay::Message<Message> {
    fn wrap(self) -> Message {
        Message::Relayed(Box::new(self))
    }

    fn unwrap(message: Message) -> Option<Self> {
        if let Message::Relayed(message) = message { Some(*message) } else { None }
    }

    fn look(message: &Message) -> Option<&Self> {
        if let Message::Relayed(message) = message { Some(message) } else { None }
    }
}

impl Node {
    /// The same node inside a relay: what it sends to any node travels over links.
    pub fn over_relay(self) -> Self {
        Self::Relayed(Box::new(Relayed::new(self, relay::Config::default())))
    }

    /// Of [`view`](Protocol::view) at least what is asked about a node before a step: its token, and what waits. Made for
    /// every event of a run, so it is much cheaper where the protocol lets us look.
    pub fn view_before_step(&self) -> View {
        let Self::ReverseLink(node) = self else { return self.view() };
        let local = |Claimant { origin, rank, units, session }: Claimant| match origin {
            Origin::Local(request) => Some(Waiting { request, rank, units, session }),
            Origin::Node(_) => None,
        };
        let waiting = node.claimants().filter_map(local).collect();
        View { token: node.token().map(reverse_link::Token::view), waiting, ..View::default() }
    }
}

impl Protocol for Node {
    type Message = Message;

    fn id(&self) -> NodeId {
        each_node!(self, node => node.id())
    }

    fn handle(&mut self, event: Event<Message>) -> Result<Vec<Effect<Message>>, Misuse> {
        each_node!(mut self, node => among::handle(node, event))
    }

    fn view(&self) -> View {
        each_node!(self, node => node.view())
    }

    fn token_in(&self, from: NodeId, message: &Message) -> Option<TokenView> {
        each_node!(self, node => node.token_in(from, Among::look(message)?))
    }

    fn returning_in(message: &Message) -> Option<Returning> {
        each_message!(message, message, Speaker => Speaker::returning_in(message))
    }

    fn kind(message: &Message) -> &'static str {
        each_message!(message, message, Speaker => Speaker::kind(message))
    }

    fn is_stale(&self, from: NodeId, message: &Message) -> bool {
        each_node!(self, node => Among::look(message).is_some_and(|message| node.is_stale(from, message)))
    }

    fn can_wait(&self, message: &Message, to: NodeId, heard: Option<NodeId>) -> bool {
        each_node!(self, node => Among::look(message).is_some_and(|message| node.can_wait(message, to, heard)))
    }

    fn may_go(&self) -> bool {
        each_node!(self, node => node.may_go())
    }

    fn row(&self, census: &Census) -> Option<Row> {
        each_node!(self, node => node.row(census))
    }

    fn anew(&self, id: NodeId) -> Option<Self> {
        each_node!(self, node => node.anew(id).map(Into::into))
    }

    fn crashed(&self) -> Option<Self> {
        each_node!(self, node => node.crashed().map(Into::into))
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        each_node!(mut self, node => node.visit_counters(visitor));
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        each_message!(message, message, Speaker => Speaker::visit_message_counters(message, visitor));
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each_node!(self, node => node.fmt(f))
    }
}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        each_node!(self, node => node.hash(state));
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each_message!(self, message => message.fmt(f))
    }
}

impl Hash for Message {
    fn hash<H: Hasher>(&self, state: &mut H) {
        each_message!(self, message => message.hash(state));
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        each_message!(self, message => message.serialize(serializer))
    }
}
