//! What others may see of a process of the printed algorithm.

use std::string::ToString;
use std::vec::Vec;

use crate::printed::group::{Message, Node, Token};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::protocol::{Effect, Event, Misuse, Protocol};
use meshlock_core::view::{Returning, TokenView, View, Waiting};
use meshlock_core::vocabulary::{NodeId, RequestId, Units};

impl Protocol for Node {
    type Message = Message;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<Message>) -> Result<Vec<Effect<Message>>, Misuse> {
        self.apply(event)
    }

    fn view(&self) -> View {
        let waiting = self.own.filter(|_| self.waiting).map(|own| Waiting {
            request: RequestId(own.number),
            rank: own.level.rank(),
            units: Units(1),
            session: Some(own.session),
        });
        let holds = self.state.holds_token();
        View {
            role: self.state.to_string(),
            token: holds.then(|| token_view(&self.token, self.followers)),
            neighbours: self.members.iter().copied().filter(|&member| member != self.id).collect(),
            waiting: waiting.into_iter().collect(),
            holding: self.inside.clone().into_iter().collect(),
            captain: self.captain,
            followers: (holds || self.followers != 0).then_some(self.followers),
            ..View::default()
        }
    }

    fn token_in(&self, from: NodeId, message: &Message) -> Option<TokenView> {
        match message {
            Message::Token { token, followers } if self.members.contains(&from) && self.own.is_some() => {
                Some(token_view(token, *followers))
            }
            Message::Token { .. } | Message::Request { .. } | Message::Start { .. } | Message::Complete => None,
        }
    }

    fn returning_in(_message: &Message) -> Option<Returning> {
        None
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "request",
            Message::Start { .. } => "start",
            Message::Complete => "complete",
            Message::Token { .. } => "token",
        }
    }

    fn is_stale(&self, from: NodeId, message: &Message) -> bool {
        match message {
            Message::Request { number, .. } => *number <= self.number_of(from),
            Message::Start { .. } | Message::Complete | Message::Token { .. } => false,
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        for (&node, number) in &mut self.numbers {
            visitor.number(requests_of(node), number);
        }
        for (&node, kept) in &mut self.kept {
            visitor.number(requests_of(node), &mut kept.number);
        }
        if let Some(own) = &mut self.own {
            visitor.number(requests_of(self.id), &mut own.number);
        }
        if let Some(grant) = &mut self.inside {
            visitor.number(requests_of(self.id), &mut grant.request.0);
        }
        visit_token(&mut self.token, visitor);
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        match message {
            Message::Request { node, number, .. } => visitor.number(requests_of(*node), number),
            Message::Token { token, .. } => visit_token(token, visitor),
            Message::Start { .. } | Message::Complete => {}
        }
    }
}

fn visit_token(token: &mut Token, visitor: &mut dyn CounterVisitor) {
    for (&node, accepted) in &mut token.accepted {
        visitor.number(requests_of(node), accepted);
    }
}

fn token_view(token: &Token, followers: i64) -> TokenView {
    TokenView {
        session: token.session,
        queue: token.queue.claimants(),
        followers: Some(followers),
        ..TokenView::default()
    }
}

const fn requests_of(node: NodeId) -> Line {
    Line::of("request", node)
}
