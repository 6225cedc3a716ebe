//! One token; each node points to the last end of the queue that it knows, and every request turns the pointers.
//!
//! Mohamed Naimi, Michel Trehel and Andre Arnold, "A log(N) distributed mutual exclusion algorithm based on path
//! reversal", JPDC 34(1), 1996; names follow the paper.
//!
//! ```text
//!   father:  cy -> bob -> ann (token)      cy asks bob; bob asks ann for cy and now points to cy
//!            cy <- bob                     ann, inside, notes that cy is next, and points to cy as well
//!            cy <- ann                     when ann leaves, the token goes straight to cy
//! ```
//!
//! The fathers lead to the node that asked last, which has no father. The chain of `next` is the queue. Needs no clock;
//! tolerates reordered messages.

use std::collections::BTreeSet;
use std::vec::Vec;

use super::check_number;
use super::single::{self, Around, Caller, Turn, token_view};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::protocol::Rejection;
use meshlock_core::view::TokenView;
use meshlock_core::vocabulary::{Fence, NodeId, Units};

meshlock_core::bugs! {
    /// A node that leaves keeps the token although another is next.
    ForgetNext,
    /// The end of the queue does not point to the node behind it.
    ForgetFather,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    Request {
        /// The node that asked; others pass it on.
        site: NodeId,
    },
    Token {
        fence: Fence,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Algorithm {
    /// The node that asked last, as far as this node knows; `None` if it was this node itself.
    father: Option<NodeId>,
    /// The node that gets the token after this one. Invariant: only while the caller waits or is inside.
    next: Option<NodeId>,
    /// The token, if it is here, with the fence of the latest grant.
    token: Option<Fence>,
}

pub type Node = single::Node<Algorithm>;

impl Algorithm {
    fn enter(&mut self, turn: &mut Turn<'_, Self>) {
        if let Some(fence) = &mut self.token {
            fence.0 += 1;
            turn.enter(Some(*fence));
        }
    }

    fn give(&mut self, to: NodeId, turn: &mut Turn<'_, Self>) {
        if let Some(fence) = self.token.take() {
            turn.send(to, Message::Token { fence });
        }
    }

    fn on_request(&mut self, site: NodeId, turn: &mut Turn<'_, Self>) -> Result<(), Rejection> {
        if !turn.others.contains(&site) {
            return Err(Rejection::UnknownNode);
        }
        let caller = turn.caller();
        match self.father {
            Some(father) => turn.send(father, Message::Request { site }),
            None if caller.waits() || caller.is_inside() => {
                if self.next.is_some() {
                    return Err(Rejection::UnexpectedAnswer); // after the first, the father is set
                }
                self.next = Some(site);
                if turn.has(Bug::ForgetFather) {
                    return Ok(());
                }
            }
            None if self.token.is_some() => self.give(site, turn),
            None => return Err(Rejection::UnexpectedAnswer), // a node without a father has asked, or has the token
        }
        self.father = Some(site);
        Ok(())
    }

    /// Whether a token would be taken now.
    fn check_token(&self, caller: &Caller, fence: Fence) -> Result<(), Rejection> {
        match self.token {
            Some(_) => Err(Rejection::SecondToken),
            None if !caller.waits() => Err(Rejection::UnwantedToken),
            None => check_number(fence.0),
        }
    }
}

impl single::Algorithm for Algorithm {
    type Message = Message;
    type Bug = Bug;
    type Setting = ();

    const BY_PERMISSION: bool = false;

    fn start(id: NodeId, members: &BTreeSet<NodeId>, (): ()) -> Self {
        let father = members.first().copied().filter(|&root| root != id);
        Self { father, next: None, token: father.is_none().then_some(Fence(0)) }
    }

    fn ask(&mut self, turn: &mut Turn<'_, Self>) {
        match self.father.take() {
            Some(father) => turn.send(father, Message::Request { site: turn.id }),
            None => self.enter(turn),
        }
    }

    fn leave(&mut self, _units: Units, turn: &mut Turn<'_, Self>) {
        if let Some(next) = self.next.take()
            && !turn.has(Bug::ForgetNext)
        {
            self.give(next, turn);
        }
    }

    fn receive(&mut self, _from: NodeId, message: Message, turn: &mut Turn<'_, Self>) -> Result<(), Rejection> {
        match message {
            Message::Request { site } => self.on_request(site, turn),
            Message::Token { fence } => {
                self.check_token(turn.caller(), fence)?;
                self.token = Some(fence);
                self.enter(turn);
                Ok(())
            }
        }
    }

    fn token(&self, caller: &Caller) -> Option<TokenView> {
        self.token.map(|_| token_view(caller, std::iter::empty()))
    }

    fn token_in(&self, _from: NodeId, message: &Message, around: Around<'_>) -> Option<TokenView> {
        let Message::Token { fence } = message else { return None };
        self.check_token(around.caller, *fence).ok().map(|()| token_view(around.caller, std::iter::empty()))
    }

    fn queue(&self) -> Vec<NodeId> {
        self.next.into_iter().collect()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "request",
            Message::Token { .. } => "token",
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        if let Some(fence) = &mut self.token {
            visitor.number(Line::CLOCK, &mut fence.0);
        }
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        match message {
            Message::Request { .. } => {}
            Message::Token { fence } => visitor.number(Line::CLOCK, &mut fence.0),
        }
    }
}
