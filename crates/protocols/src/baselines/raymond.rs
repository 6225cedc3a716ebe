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
//! The tree is binary, the member with the smallest id its root. A node keeps a queue of those neighbours in the tree that want the token, itself among them, and has at most one
//! request outstanding towards the token. A token that leaves while others are queued is followed by the next request.
//! The two procedures `assign_privilege` and `make_request` end every event; each does nothing unless its guard holds.
//!
//! Needs no sequence numbers and tolerates reordered messages.

use std::collections::{BTreeSet, VecDeque};
use std::vec::Vec;

use super::check_number;
use super::single::{self, Around, Caller, Turn, token_view};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::protocol::Rejection;
use meshlock_core::view::TokenView;
use meshlock_core::vocabulary::{Fence, NodeId, Units};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Holder {
    /// Here, and the latest grant had this fence.
    Here(Fence),
    /// Behind this neighbour.
    Towards(NodeId),
}

/// The state of one node. Names follow the paper.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Algorithm {
    neighbours: BTreeSet<NodeId>,
    holder: Holder,
    /// Neighbours that want the token through this node, and the node itself, each at most once.
    request_q: VecDeque<NodeId>,
    /// A request is outstanding. Invariant: never while the token is here.
    asked: bool,
}

pub type Node = single::Node<Algorithm>;

impl Algorithm {
    fn settle(&mut self, turn: &mut Turn<'_, Self>) {
        let passed = self.assign_privilege(turn);
        if !(passed && turn.has(Bug::NoRequestBehindToken)) {
            self.make_request(turn);
        }
    }

    /// Passes an unused token on to the first of the queue. Returns whether it went to another node.
    fn assign_privilege(&mut self, turn: &mut Turn<'_, Self>) -> bool {
        let inside = turn.caller().is_inside() && !turn.has(Bug::GiveWhileInside);
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

    fn make_request(&mut self, turn: &mut Turn<'_, Self>) {
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
    type Bug = Bug;
    type Setting = ();

    const BY_PERMISSION: bool = false;

    fn start(id: NodeId, members: &BTreeSet<NodeId>, (): ()) -> Self {
        // The members in order, level by level.
        let members: Vec<NodeId> = members.iter().copied().collect();
        let at = members.iter().position(|&member| member == id).unwrap_or(0);
        let parent = at.checked_sub(1).map(|before| members[before / 2]);
        let children = [2 * at + 1, 2 * at + 2].into_iter().filter_map(|child| members.get(child).copied());
        let holder = parent.map_or(Holder::Here(Fence(0)), Holder::Towards);
        Self {
            neighbours: parent.into_iter().chain(children).collect(),
            holder,
            request_q: VecDeque::new(),
            asked: false,
        }
    }

    fn ask(&mut self, turn: &mut Turn<'_, Self>) {
        self.request_q.push_back(turn.id);
        self.settle(turn);
    }

    fn leave(&mut self, _units: Units, turn: &mut Turn<'_, Self>) {
        self.settle(turn);
    }

    fn receive(&mut self, from: NodeId, message: Message, turn: &mut Turn<'_, Self>) -> Result<(), Rejection> {
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

    fn token_in(&self, from: NodeId, message: &Message, around: Around<'_>) -> Option<TokenView> {
        let Message::Privilege { fence } = message else { return None };
        self.check_token(from, *fence).ok().map(|()| token_view(around.caller, std::iter::empty()))
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

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
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
