//! The token travels along a tree, and every node knows only its direction.
//!
//! Kerry Raymond, "A tree-based algorithm for distributed mutual exclusion", ACM TOCS 7(1), 1989.
//!
//! ```text
//!        a (token)          c asks:   c --request--> b --request--> a
//!       /                   a gives:  c <-privilege-- b <-privilege-- a
//!      b                    and the pointers follow: a -> b -> c
//!     / \
//!    c   d
//! ```
//!
//! A node keeps a queue of those neighbours in the tree that want the token, itself among them, and has at most one
//! request outstanding towards the token. A token that leaves while others are queued is followed by the next request.
//! The two procedures `assign_privilege` and `make_request` end every event; each does nothing unless its guard holds.
//!
//! Needs no sequence numbers and tolerates reordered messages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::vec::Vec;

use super::check_number;
use super::single::{self, Caller, Turn, token_view};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::planted::Planted;
use meshlock_core::protocol::Rejection;
use meshlock_core::view::TokenView;
use meshlock_core::vocabulary::{Fence, NodeId, Units};

/// How a node is set up. All but `id` must be the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Config {
    pub id: NodeId,
    /// All nodes. The one with the smallest id has the token first.
    pub members: Vec<NodeId>,
    pub shape: Shape,
}

impl Config {
    /// A binary tree.
    pub const fn new(id: NodeId, members: Vec<NodeId>) -> Self {
        Self { id, members, shape: Shape::Heap { arity: 2 } }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The members in order, level by level, the first one the root.
    Heap {
        /// How many children a node has; zero counts as one.
        arity: u32,
    },
    /// Every member but one with its parent. Must be a tree: members that it does not connect with the one of the
    /// smallest id are never served.
    Parents(Vec<(NodeId, NodeId)>),
}

impl Shape {
    fn edges(&self, members: &BTreeSet<NodeId>) -> Vec<(NodeId, NodeId)> {
        match self {
            Self::Parents(parents) => parents.clone(),
            Self::Heap { arity } => {
                let members: Vec<NodeId> = members.iter().copied().collect();
                let arity = usize::try_from(*arity).unwrap_or(usize::MAX).max(1);
                let edge = |(at, member): (usize, &NodeId)| (*member, members[at / arity]);
                members.iter().skip(1).enumerate().map(edge).collect()
            }
        }
    }
}

meshlock_core::bugs! {
    /// A token that leaves is not asked back for the requests that are still queued.
    NoRequestBehindToken,
    /// The token is given away while the application is inside.
    GiveWhileInside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// A node on this side wants the token.
    Request,
    Privilege {
        fence: Fence,
    },
}

/// Where the token is, as seen from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Holder {
    /// Here, and the latest grant had this fence.
    Here(Fence),
    /// Behind this neighbour.
    Towards(NodeId),
}

/// The state of one node. Names follow the paper.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Algorithm {
    planted: Planted<Bug>,
    neighbours: BTreeSet<NodeId>,
    holder: Holder,
    /// Neighbours that want the token through this node, and the node itself, each at most once.
    request_q: VecDeque<NodeId>,
    /// A request is outstanding. Invariant: never while the token is here.
    asked: bool,
}

pub type Node = single::Node<Algorithm>;

impl Node {
    #[cfg(feature = "mutants")]
    #[doc(hidden)]
    pub fn plant(&mut self, bug: Bug) {
        self.algorithm_mut().planted = Planted::bug(bug);
    }

    /// A node before anything has happened.
    pub fn new(config: Config) -> Self {
        let Config { id, members, shape } = config;
        Self::with(id, members, |members| {
            let edges = shape.edges(members);
            let root = members.first().copied().unwrap_or(id);
            let holder = match first_hops(&edges, root).get(&id) {
                _ if root == id => Holder::Here(Fence(0)),
                Some(&next) => Holder::Towards(next),
                None => Holder::Towards(root),
            };
            let touching = edges.iter().filter_map(|&(a, b)| match id {
                _ if a == id => Some(b),
                _ if b == id => Some(a),
                _ => None,
            });
            let neighbours = touching.filter(|&node| node != id).collect();
            Algorithm { planted: Planted::NONE, neighbours, holder, request_q: VecDeque::new(), asked: false }
        })
    }
}

/// For every node that the edges connect with the root: the next node on the way to it.
fn first_hops(edges: &[(NodeId, NodeId)], root: NodeId) -> BTreeMap<NodeId, NodeId> {
    let mut next = BTreeMap::from([(root, root)]);
    let mut reached = VecDeque::from([root]);
    while let Some(node) = reached.pop_front() {
        for (from, to) in edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).filter(|&(from, _)| from == node) {
            if let std::collections::btree_map::Entry::Vacant(place) = next.entry(to) {
                place.insert(from);
                reached.push_back(to);
            }
        }
    }
    next
}

impl Algorithm {
    fn settle(&mut self, turn: &mut Turn<'_, Message>) {
        let passed = self.assign_privilege(turn);
        if !(passed && self.planted.has(Bug::NoRequestBehindToken)) {
            self.make_request(turn);
        }
    }

    /// Passes an unused token on to the first of the queue. Returns whether it went to another node.
    fn assign_privilege(&mut self, turn: &mut Turn<'_, Message>) -> bool {
        let inside = turn.caller().is_inside() && !self.planted.has(Bug::GiveWhileInside);
        let (Holder::Here(fence), false) = (self.holder, inside) else { return false };
        let Some(first) = self.request_q.pop_front() else { return false };
        if first == turn.id {
            let fence = Fence(fence.0 + 1);
            self.holder = Holder::Here(fence);
            turn.enter(Some(fence));
            return false;
        }
        self.holder = Holder::Towards(first);
        turn.send(first, Message::Privilege { fence });
        true
    }

    fn make_request(&mut self, turn: &mut Turn<'_, Message>) {
        if let (Holder::Towards(next), false, false) = (self.holder, self.asked, self.request_q.is_empty()) {
            self.asked = true;
            turn.send(next, Message::Request);
        }
    }

    /// Whether a token would be taken now.
    fn check_token(&self, from: NodeId, fence: Fence) -> Result<(), Rejection> {
        match self.holder {
            Holder::Here(_) => Err(Rejection::SecondToken),
            Holder::Towards(next) if next != from || !self.asked => Err(Rejection::UnwantedToken),
            Holder::Towards(_) => check_number(fence.0),
        }
    }
}

impl single::Algorithm for Algorithm {
    type Message = Message;

    const BY_PERMISSION: bool = false;

    fn ask(&mut self, turn: &mut Turn<'_, Message>) {
        self.request_q.push_back(turn.id);
        self.settle(turn);
    }

    fn leave(&mut self, _units: Units, turn: &mut Turn<'_, Message>) {
        self.settle(turn);
    }

    fn receive(&mut self, from: NodeId, message: Message, turn: &mut Turn<'_, Message>) -> Result<(), Rejection> {
        if !self.neighbours.contains(&from) {
            return Err(Rejection::UnknownSender);
        }
        match message {
            Message::Request if self.request_q.contains(&from) => return Err(Rejection::UnexpectedAnswer),
            Message::Request => self.request_q.push_back(from),
            Message::Privilege { fence } => {
                self.check_token(from, fence)?;
                self.holder = Holder::Here(fence);
                self.asked = false;
            }
        }
        self.settle(turn);
        Ok(())
    }

    fn token(&self, caller: &Caller) -> Option<TokenView> {
        matches!(self.holder, Holder::Here(_)).then(|| token_view(caller, std::iter::empty()))
    }

    fn token_in(
        &self,
        from: NodeId,
        message: &Message,
        caller: &Caller,
        _others: &BTreeSet<NodeId>,
    ) -> Option<TokenView> {
        let Message::Privilege { fence } = message else { return None };
        self.check_token(from, *fence).ok().map(|()| token_view(caller, std::iter::empty()))
    }

    fn asked(&self) -> Option<NodeId> {
        match self.holder {
            Holder::Towards(next) if self.asked => Some(next),
            Holder::Towards(_) | Holder::Here(_) => None,
        }
    }

    fn queue(&self) -> Vec<NodeId> {
        self.request_q.iter().copied().collect()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request => "request",
            Message::Privilege { .. } => "privilege",
        }
    }

    fn visit_counters(&mut self, _id: NodeId, visitor: &mut dyn CounterVisitor) {
        if let Holder::Here(fence) = &mut self.holder {
            visitor.number(Line::CLOCK, &mut fence.0);
        }
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        match message {
            Message::Request => {}
            Message::Privilege { fence } => visitor.number(Line::CLOCK, &mut fence.0),
        }
    }
}
