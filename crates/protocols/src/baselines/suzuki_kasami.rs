//! One token; a node that wants it tells all others, and the token records which requests were served.
//!
//! Ichiro Suzuki and Tadao Kasami, "A distributed mutual exclusion algorithm", ACM TOCS 3(4), 1985.
//!
//! ```text
//!   cy --request(1)--> ann (token), bob       cy tells all others the number of its request
//!   ann --token(LN, Q)--> cy                  an idle holder sends it at once, another one when it leaves
//! ```
//!
//! Every node keeps the greatest request number heard of each node (RN). The token carries the number of the request of
//! each node that was served last (LN) and a queue. A node that leaves appends all nodes with an unserved request that
//! are not queued yet, in the order of their ids, and sends the token to the first. Tolerates reordered messages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::check_number;
use super::single::{self, Around, Caller, Turn, token_view};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::protocol::Rejection;
use meshlock_core::view::TokenView;
use meshlock_core::vocabulary::{Fence, NodeId, Units};

meshlock_core::bugs! {
    /// A node that leaves does not look for unserved requests.
    NoQueueMerge,
    /// A node that leaves does not record in the token that its request was served.
    ForgetServed,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    Request {
        site: NodeId,
        /// Counts the requests that needed a message.
        number: u64,
    },
    Token(Token),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Token {
    /// The latest request served, by node (the paper's LN). Nodes never served are left out.
    pub served: BTreeMap<NodeId, u64>,
    /// The nodes to be served next (the paper's Q), each at most once.
    pub queue: VecDeque<NodeId>,
    pub fence: Fence,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Algorithm {
    /// The greatest request number heard, by node, this one included (the paper's RN). Silent nodes are left out.
    heard: BTreeMap<NodeId, u64>,
    token: Option<Token>,
}

pub type Node = single::Node<Algorithm>;

impl Algorithm {
    fn heard_of(&self, node: NodeId) -> u64 {
        self.heard.get(&node).copied().unwrap_or(0)
    }

    /// Whether the request of this node is the one after the last that was served.
    fn is_unserved(&self, token: &Token, node: NodeId) -> bool {
        self.heard_of(node) == token.served.get(&node).copied().unwrap_or(0) + 1
    }

    fn enter(&mut self, turn: &mut Turn<'_, Self>) {
        if let Some(token) = &mut self.token {
            token.fence.0 += 1;
            turn.enter(Some(token.fence));
        }
    }

    /// Passes an unused token on to the first of the queue.
    fn give_away(&mut self, turn: &mut Turn<'_, Self>) {
        let Some(mut token) = self.token.take() else { return };
        match token.queue.pop_front() {
            Some(first) => turn.send(first, Message::Token(token)),
            None => self.token = Some(token),
        }
    }

    /// Whether a token would be taken now.
    fn check_token(&self, token: &Token, around: Around<'_>) -> Result<(), Rejection> {
        if self.token.is_some() {
            return Err(Rejection::SecondToken);
        }
        if !around.caller.waits() {
            return Err(Rejection::UnwantedToken);
        }
        if !token.queue.iter().all(|node| around.others.contains(node)) {
            return Err(Rejection::UnknownNode);
        }
        token.served.values().chain([&token.fence.0]).try_for_each(|&number| check_number(number))
    }
}

impl single::Algorithm for Algorithm {
    type Message = Message;
    type Bug = Bug;
    type Setting = ();

    const BY_PERMISSION: bool = false;

    fn start(id: NodeId, members: &BTreeSet<NodeId>, (): ()) -> Self {
        Self { heard: BTreeMap::new(), token: (members.first() == Some(&id)).then(Token::default) }
    }

    fn ask(&mut self, turn: &mut Turn<'_, Self>) {
        if self.token.is_some() {
            return self.enter(turn);
        }
        let number = self.heard_of(turn.id) + 1;
        self.heard.insert(turn.id, number);
        turn.send_to_all(&Message::Request { site: turn.id, number });
    }

    fn leave(&mut self, _units: Units, turn: &mut Turn<'_, Self>) {
        let Some(mut token) = self.token.take() else { return };
        let own = self.heard_of(turn.id);
        if own > 0 && !turn.has(Bug::ForgetServed) {
            token.served.insert(turn.id, own);
        }
        for &node in turn.others.iter().filter(|_| !turn.has(Bug::NoQueueMerge)) {
            if self.is_unserved(&token, node) && !token.queue.contains(&node) {
                token.queue.push_back(node);
            }
        }
        self.token = Some(token);
        self.give_away(turn);
    }

    fn receive(&mut self, from: NodeId, message: Message, turn: &mut Turn<'_, Self>) -> Result<(), Rejection> {
        match message {
            Message::Request { site, number } => {
                if site != from {
                    return Err(Rejection::UnknownNode); // each node asks for itself
                }
                check_number(number)?;
                if number <= self.heard_of(from) {
                    return Ok(()); // overtaken by a later one of the same node
                }
                self.heard.insert(from, number);
                if let Some(token) = self.token.as_ref().filter(|_| !turn.caller().is_inside())
                    && self.is_unserved(token, from)
                    && let Some(token) = self.token.take()
                {
                    turn.send(from, Message::Token(token));
                }
            }
            Message::Token(token) => {
                self.check_token(&token, turn.around())?;
                self.token = Some(token);
                self.enter(turn);
            }
        }
        Ok(())
    }

    fn token(&self, caller: &Caller) -> Option<TokenView> {
        self.token.as_ref().map(|token| token_view(caller, token.queue.iter().copied()))
    }

    fn token_in(&self, _from: NodeId, message: &Message, around: Around<'_>) -> Option<TokenView> {
        let Message::Token(token) = message else { return None };
        self.check_token(token, around).ok().map(|()| token_view(around.caller, token.queue.iter().copied()))
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "request",
            Message::Token(_) => "token",
        }
    }

    fn is_stale(&self, from: NodeId, message: &Message) -> bool {
        match message {
            Message::Request { site, number } => *site == from && *number <= self.heard_of(from),
            Message::Token(_) => false,
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visit_numbers(&mut self.heard, visitor);
        if let Some(token) = &mut self.token {
            visit_token(token, visitor);
        }
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        match message {
            Message::Request { site, number } => visitor.number(Line::of("number", *site), number),
            Message::Token(token) => visit_token(token, visitor),
        }
    }
}

fn visit_numbers(numbers: &mut BTreeMap<NodeId, u64>, visitor: &mut dyn CounterVisitor) {
    for (site, number) in numbers {
        visitor.number(Line::of("number", *site), number);
    }
}

fn visit_token(token: &mut Token, visitor: &mut dyn CounterVisitor) {
    visit_numbers(&mut token.served, visitor);
    visitor.number(Line::CLOCK, &mut token.fence.0);
}
