//! The node as a [`Protocol`]: what others see of it and how its numbers are renumbered.

use super::message::{CLOCK, TRANSFERS};
use super::recovery::RecoveryRules;
use super::rules::Rules;
use super::{Caller, Config, Effects, GivenAway, Message, Node};
use crate::counters::{CounterVisitor, Line};
use crate::protocol::{Event, Misuse, Protocol};
use crate::recovery::{Census, Row};
use crate::view::{Returning, TokenView, View, Waiting};
use crate::vocabulary::{NodeId, Rank, Units};

impl Protocol for Node {
    type Message = Message;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<Message>) -> Result<Effects, Misuse> {
        self.apply(event)
    }

    fn view(&self) -> View {
        let role = match self.caller {
            Caller::Inside(_) => "inside",
            Caller::Waiting => "waiting",
            Caller::Away if self.token.is_some() => "holder",
            Caller::Away if self.asking => "withdrawn",
            Caller::Away => "idle",
        };
        let mut view = View {
            role: role.into(),
            keeps_copy: self.given_away.is_some(),
            neighbours: self.neighbours.iter().copied().collect(),
            leaving: self.leaving,
            ..View::default()
        };
        let mut free = Units(1);
        match self.caller {
            Caller::Away => {}
            Caller::Waiting => {
                view.waiting.push(Waiting { request: self.request, rank: Rank(0), units: Units(1), session: None });
            }
            Caller::Inside(fence) => {
                view.holding.push(self.grant(fence));
                free = Units(0);
            }
        }
        view.token = self.token.as_ref().map(|token| token.view(free));
        view
    }

    fn token_in(&self, from: NodeId, message: &Message) -> Option<TokenView> {
        match message {
            Message::Token { to, token, .. } => {
                let taken = self.is_mine(*to) && self.would_take(from, message, token);
                (taken && self.is_answered_by(*to, token)).then(|| token.view(Units(1)))
            }
            Message::Request { .. } => None,
        }
    }

    fn returning_in(_message: &Message) -> Option<Returning> {
        None
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "REQUEST",
            Message::Token { .. } => "TOKEN",
        }
    }

    /// Also not while a request that was withdrawn is under way: the token will come for it.
    fn may_go(&self) -> bool {
        self.caller == Caller::Away && !self.asking && self.token.is_none() && self.given_away.is_none()
    }

    fn is_stale(&self, from: NodeId, message: &Message) -> bool {
        self.is_known(message) || self.is_void(from, message)
    }

    fn anew(&self, id: NodeId) -> Option<Self> {
        let fresh = Self::new(Config { id, starts_with_token: false, retry: self.retry });
        Some(Self { planted: self.planted, ..fresh })
    }

    fn row(&self, census: &Census) -> Option<Row> {
        Some(self.picture(census))
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        for (site, heard) in &mut self.heard {
            heard.visit_counters(*site, visitor);
        }
        self.seen.visit_counters(visitor);
        if self.accepted > 0 {
            visitor.number(TRANSFERS, &mut self.accepted);
        }
        if let Some(token) = &mut self.token {
            token.visit_counters(visitor);
        }
        if let Some(GivenAway { token, to, answers }) = &mut self.given_away {
            token.visit_counters(visitor);
            visitor.number(Line::of("number", *to), answers);
        }
        if let Caller::Inside(fence) = &mut self.caller {
            visitor.number(CLOCK, &mut fence.0);
        }
        visitor.visit(Line::of("request", self.id), 0);
        visitor.number(Line::of("request", self.id), &mut self.request.0);
        visitor.number(Line::of("epoch", self.id), &mut self.epoch);
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        message.visit_counters(visitor);
    }
}
