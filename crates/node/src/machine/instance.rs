//! The three protocols that a node runs, behind one face.

use meshlock_api::{Definition, Kind, Order, Protocol as Name};
use meshlock_core::among::{self, Among};
use meshlock_core::recovery::{Census, Row};
use meshlock_core::relay::{self, Relayed};
use meshlock_core::view::{Claimant, Origin};
use meshlock_core::{
    Aging, Delay, Effect, Event, Fence, Misuse, NodeId, Protocol, Rank, RequestId, Units, View, flood, group,
    reverse_link,
};
use serde::{Deserialize, Serialize};

use super::demand::GROUP_PRIORITIES;
use crate::wire::Payload;

/// One protocol at this node for one resource. Only repaired variants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Instance {
    ReverseLink(Box<reverse_link::Node>),
    Flood(Box<flood::Node>),
    Group(Box<Relayed<group::Node>>),
}

/// Those of a semaphore: the holders of a mutex, of a session or of a reader's lock use no unit of their own.
pub(crate) const fn is_numbered(definition: &Definition) -> bool {
    matches!(definition.kind, Kind::Semaphore)
}

/// How long a waiting node of `flood` or `group` waits before it asks again.
pub(crate) const RETRY: Delay = Delay { least_ms: 500, most_ms: 1_000 };

impl Instance {
    pub(crate) fn new(definition: &Definition, id: NodeId, starts_with_token: bool) -> Self {
        match definition.protocol {
            Name::ReverseLink => {
                let order = match definition.order {
                    Order::Priority { aging } => meshlock_core::Order::Priority { aging: Aging(aging) },
                    Order::Deadline => meshlock_core::Order::Deadline,
                };
                Self::ReverseLink(Box::new(reverse_link::Node::new(reverse_link::Config {
                    id,
                    starts_with_token,
                    capacity: Units(definition.capacity),
                    order,
                    joins: definition.joins,
                    passes: definition.policy.passes(),
                    numbered: is_numbered(definition),
                })))
            }
            Name::Flood => {
                Self::Flood(Box::new(flood::Node::new(flood::Config { id, starts_with_token, retry: RETRY })))
            }
            Name::Group => {
                let node = group::Node::new(group::Config {
                    id,
                    members: group::Members::Anyone,
                    starts_with_token,
                    levels: group::Level(GROUP_PRIORITIES.unsigned_abs() + 1),
                    retry: Some(RETRY),
                });
                Self::Group(Box::new(Relayed::new(node, relay::Config::default())))
            }
        }
    }

    /// The same as saved by a version that did not number units.
    pub(crate) fn numbered_as(self, definition: &Definition) -> Self {
        match self {
            Self::ReverseLink(node) => Self::ReverseLink(Box::new(node.with_numbers(is_numbered(definition)))),
            Self::Flood(_) | Self::Group(_) => self,
        }
    }

    /// The same, with fences that begin above this one if the token begins here.
    pub(crate) fn with_fences_above(self, fence: Fence) -> Self {
        match self {
            Self::ReverseLink(node) => Self::ReverseLink(Box::new(node.with_fences_above(fence))),
            Self::Flood(node) => Self::Flood(Box::new(node.with_fences_above(fence))),
            Self::Group(node) => {
                let inner = node.inner().clone().with_fences_above(fence);
                Self::Group(Box::new(Relayed::new(inner, relay::Config::default())))
            }
        }
    }

    /// Applies one event to its end.
    pub(crate) fn handle(&mut self, event: Event<Payload>) -> Result<Vec<Effect<Payload>>, Misuse> {
        match self {
            Self::ReverseLink(node) => among::handle(node.as_mut(), event),
            Self::Flood(node) => among::handle(node.as_mut(), event),
            Self::Group(node) => among::handle(node.as_mut(), event),
        }
    }

    /// What this node reports of the resource under a census that it is about to learn.
    pub(crate) fn row(&self, census: &Census) -> Option<Row> {
        match self {
            Self::ReverseLink(node) => node.row(census),
            Self::Flood(node) => node.row(census),
            Self::Group(node) => node.row(census),
        }
    }

    pub(crate) fn understands(&self, message: &Payload) -> bool {
        matches!(
            (self, message),
            (Self::ReverseLink(_), Payload::ReverseLink(_))
                | (Self::Flood(_), Payload::Flood(_))
                | (Self::Group(_), Payload::Group(_))
        )
    }

    pub(crate) fn view(&self) -> View {
        match self {
            Self::ReverseLink(node) => node.view(),
            Self::Flood(node) => node.view(),
            Self::Group(node) => node.view(),
        }
    }

    pub(crate) fn holds_token(&self) -> bool {
        match self {
            Self::ReverseLink(node) => node.token().is_some(),
            Self::Flood(node) => node.holds_token(),
            Self::Group(node) => node.inner().state().holds_token(),
        }
    }

    /// The first of this node's requests that wait in the protocol, in the order of service.
    pub(crate) fn first_waiting(&self, most: usize) -> Vec<(RequestId, Rank)> {
        let local = |claimant: Claimant| match claimant.origin {
            Origin::Local(request) => Some((request, claimant.rank)),
            Origin::Node(_) => None,
        };
        match self {
            Self::ReverseLink(node) => node.claimants().filter_map(local).take(most).collect(),
            Self::Flood(_) | Self::Group(_) => self.only_waiting().into_iter().take(most).collect(),
        }
    }

    /// How many claims the protocol is known to serve before this request, counted up to `most`. None if it does not
    /// wait in the protocol.
    pub(crate) fn ahead_of(&self, request: RequestId, most: usize) -> usize {
        match self {
            Self::ReverseLink(node) => {
                let others = node.claimants().take_while(|claimant| claimant.origin != Origin::Local(request));
                others.take(most).count()
            }
            Self::Flood(_) | Self::Group(_) => 0,
        }
    }

    /// A protocol that serves one at a time: its view is as long as there are nodes.
    fn only_waiting(&self) -> Option<(RequestId, Rank)> {
        self.view().waiting.first().map(|waiting| (waiting.request, waiting.rank))
    }

    /// Whether another node is known to wait.
    pub(crate) fn is_wanted_elsewhere(&self, id: NodeId) -> bool {
        let is_other = |claimant: &Claimant| matches!(claimant.origin, Origin::Node(node) if node != id);
        match self {
            Self::ReverseLink(node) => node.claimants().any(|claimant| is_other(&claimant)),
            Self::Flood(_) | Self::Group(_) => self.view().queue.iter().any(is_other),
        }
    }

    /// The units that may be granted, if the token is here.
    pub(crate) fn free(&self) -> Option<u32> {
        match self {
            Self::ReverseLink(node) => node.token().map(|token| token.free().0),
            Self::Flood(_) | Self::Group(_) => self.view().token.map(|token| token.free.0),
        }
    }

    /// What the token says is in use, if it is here and says so: where, and how many units.
    pub(crate) fn lent(&self) -> impl Iterator<Item = (NodeId, u32)> + '_ {
        let token = match self {
            Self::ReverseLink(node) => node.token(),
            Self::Flood(_) | Self::Group(_) => None,
        };
        token.into_iter().flat_map(|token| &token.ledger).map(|loan| (loan.grant.node, loan.units.0))
    }

    /// Whom the token is sent to by this effect, and how often it has been given away then.
    pub(crate) fn token_goes_to(effect: &Effect<Payload>) -> Option<(NodeId, u64)> {
        let (to, message) = match effect {
            Effect::Send { to, message } => (Some(*to), message),
            Effect::Multicast { message, .. } | Effect::Broadcast { message } => (None, message),
            Effect::Granted { .. } | Effect::Arm { .. } | Effect::Reject { .. } => return None,
        };
        match message {
            Payload::ReverseLink(reverse_link::Message { body: reverse_link::Body::Token { token, .. }, .. }) => {
                to.map(|to| (to, token.pass))
            }
            Payload::Flood(flood::Message::Token { to, token, .. }) => Some((*to, token.transfer)),
            Payload::Group(
                relay::Message::Hop { to, payload: group::Message::Token(token), .. }
                | relay::Message::Flood { to: Some(to), payload: group::Message::Token(token), .. },
            ) => Some((*to, token.transfer)),
            Payload::ReverseLink(_) | Payload::Flood(_) | Payload::Group(_) => None,
        }
    }

    /// Whether it serves one local request at a time, so that the others have to queue in front of it.
    pub(crate) fn serves_one_at_a_time(&self) -> bool {
        match self {
            Self::ReverseLink(_) => false,
            Self::Flood(_) | Self::Group(_) => true,
        }
    }

    /// Whether nothing of the resource would be missing if this node went.
    pub(crate) fn may_go(&self) -> bool {
        match self {
            Self::ReverseLink(node) => node.may_go(),
            Self::Flood(node) => node.may_go(),
            Self::Group(node) => node.may_go(),
        }
    }

    /// Whether nobody waits for a message that was just sent to a neighbour, because of one `heard` from a neighbour if it
    /// was one: it may travel with the next one.
    pub(crate) fn can_wait(&self, message: &Payload, to: NodeId, heard: Option<NodeId>) -> bool {
        fn can_wait<P>(node: &P, message: &Payload, to: NodeId, heard: Option<NodeId>) -> bool
        where
            P: Protocol,
            P::Message: Among<Payload>,
        {
            Among::look(message).is_some_and(|message| node.can_wait(message, to, heard))
        }
        match self {
            Self::ReverseLink(node) => can_wait(node.as_ref(), message, to, heard),
            Self::Flood(node) => can_wait(node.as_ref(), message, to, heard),
            Self::Group(node) => can_wait(node.as_ref(), message, to, heard),
        }
    }

    /// The word under which a message is counted.
    pub(crate) fn kind(message: &Payload) -> &'static str {
        match message {
            Payload::ReverseLink(message) => reverse_link::Node::kind(message),
            Payload::Flood(message) => flood::Node::kind(message),
            Payload::Group(message) => Relayed::<group::Node>::kind(message),
        }
    }
}
