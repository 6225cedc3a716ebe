//! What others may see of a process of the repaired group protocol.

use alloc::string::ToString;
use alloc::vec::Vec;

use crate::counters::{CounterVisitor, Line};
use crate::group::message::{Message, Record, Stamp};
use crate::group::node::{GivenAway, Inside, Node};
use crate::group::recovery::Picture;
use crate::group::rules::Rules;
use crate::group::token::Token;
use crate::group::{Config, Members};
use crate::protocol::{Effect, Event, Misuse, Protocol};
use crate::recovery::{Census, Row};
use crate::view::{Returning, TokenView, View, Waiting};
use crate::vocabulary::{Fence, NodeId, RequestId, Units};

impl Protocol for Node {
    type Message = Message;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<Message>) -> Result<Vec<Effect<Message>>, Misuse> {
        self.apply(event)
    }

    fn view(&self) -> View {
        let waiting = self.waits().map(|(request, wish)| Waiting {
            request,
            rank: wish.level.rank(),
            units: Units(1),
            session: Some(wish.session),
        });
        let token = self.token.as_ref().map(|token| self.token_view(token));
        View {
            role: self.state().to_string(),
            followers: token.as_ref().and_then(|token| token.followers),
            token,
            keeps_copy: self.copy.is_some(),
            neighbours: self.others(),
            waiting: waiting.into_iter().collect(),
            holding: self.inside.iter().map(|inside| inside.grant.clone()).collect(),
            leaving: self.leaving,
            captain: self.inside.as_ref().and_then(|inside| inside.captain),
            ..View::default()
        }
    }

    fn token_in(&self, from: NodeId, message: &Message) -> Option<TokenView> {
        let Message::Token(token) = message else { return None };
        let known = self.knows(from) && self.heard.contains_key(&self.id);
        (known && !self.is_void(from, message) && !self.has_seen(token) && self.token.is_none())
            .then(|| self.token_view(token))
    }

    fn returning_in(_message: &Message) -> Option<Returning> {
        None
    }

    fn kind(message: &Message) -> &'static str {
        message.kind()
    }

    /// Without timers it cannot recover: it would have kept no copies of the token.
    fn anew(&self, id: NodeId) -> Option<Self> {
        let (members, levels, retry) = (self.members.clone(), self.levels, Some(self.retry?));
        let fresh = Self::new(Config { id, members, starts_with_token: false, levels, retry });
        Some(Self { planted: self.planted, ..fresh })
    }

    fn row(&self, census: &Census) -> Option<Row> {
        self.picture(census)
    }

    fn is_stale(&self, from: NodeId, message: &Message) -> bool {
        if self.is_void(from, message) {
            return true;
        }
        match message {
            Message::Request { record, again, .. } => self.heard.get(&from).is_some_and(|known| {
                let over = known.wish.is_none() || !again;
                known.stamp > record.stamp || (known.stamp == record.stamp && over)
            }),
            Message::Complete { stamp, .. } => self.heard.get(&from).is_some_and(|known| known.stamp >= *stamp),
            Message::Start(start) => self.is_stale_start(start),
            // Answered when the request is over, and when the token arrived before.
            Message::Ask { .. } | Message::Token(_) => false,
            Message::Have { transfer } => {
                let awaited = |copy: &GivenAway| copy.to == from && copy.token.transfer == *transfer;
                *transfer <= self.seen && !self.copy.as_deref().is_some_and(awaited)
            }
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        for (&node, Record { stamp, .. }) in &mut self.heard {
            visit_stamp(node, stamp, visitor);
        }
        if let Some(Inside { grant, .. }) = &mut self.inside {
            visit_request(self.id, &mut grant.request, visitor);
            grant.fence.iter_mut().for_each(|fence| visit_fence(fence, visitor));
        }
        let copied = self.copy.as_mut().map(|copy| &mut copy.token);
        self.token.iter_mut().chain(copied).for_each(|token| visit_token(token, visitor));
        visitor.number(TRANSFERS, &mut self.seen);
        if self.recovers() {
            visitor.number(TRANSFERS, &mut self.accepted);
        }
        visitor.number(Line::of("epoch", self.id), &mut self.epoch);
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        match message {
            Message::Request { node, record, .. } => visit_stamp(*node, &mut record.stamp, visitor),
            Message::Start(start) => {
                visit_request(start.node, &mut start.number, visitor);
                visit_fence(&mut start.fence, visitor);
            }
            Message::Complete { node, stamp } => visit_stamp(*node, stamp, visitor),
            Message::Ask { node, number } => visit_request(*node, number, visitor),
            Message::Token(token) => visit_token(token, visitor),
            Message::Have { transfer } => visitor.number(TRANSFERS, transfer),
        }
    }
}

impl Picture {
    /// With the numbers of its row.
    pub(crate) fn visit_counters(
        &mut self,
        copy: &mut Option<u64>,
        accepted: &mut u64,
        visitor: &mut dyn CounterVisitor,
    ) {
        for transfer in copy.iter_mut().chain([accepted]) {
            visitor.number(TRANSFERS, transfer);
        }
        if let Some(record) = &mut self.record {
            visit_stamp(self.node, &mut record.stamp, visitor);
        }
        if let Some(fence) = &mut self.inside {
            visit_fence(fence, visitor);
        }
    }
}

impl Node {
    /// The other processes, as far as they are known.
    fn others(&self) -> Vec<NodeId> {
        let not_me = |node: &NodeId| *node != self.id;
        match &self.members {
            Members::These(members) => members.iter().copied().filter(not_me).collect(),
            Members::Anyone => self.heard.keys().copied().filter(not_me).collect(),
        }
    }

    /// The token as it is or would be here: followers known to be out are not counted.
    fn token_view(&self, token: &Token) -> TokenView {
        let out = |node: &NodeId, number: &RequestId| self.heard.get(node).is_some_and(|record| record.ends(*number));
        let followers = token.followers.iter().filter(|(node, number)| !out(node, number)).count();
        TokenView {
            pass: Some(token.transfer),
            session: token.session,
            queue: token.queue.claimants(self.levels),
            followers: i64::try_from(followers).ok(),
            ..TokenView::default()
        }
    }
}

fn visit_request(node: NodeId, number: &mut RequestId, visitor: &mut dyn CounterVisitor) {
    visitor.number(Line::of("request", node), &mut number.0);
}

fn visit_stamp(node: NodeId, stamp: &mut Stamp, visitor: &mut dyn CounterVisitor) {
    visit_request(node, &mut stamp.number, visitor);
    visitor.number(Line::of("attempt", node), &mut stamp.version);
}

fn visit_fence(fence: &mut Fence, visitor: &mut dyn CounterVisitor) {
    visitor.number(FENCES, &mut fence.0);
}

fn visit_token(token: &mut Token, visitor: &mut dyn CounterVisitor) {
    visitor.number(TRANSFERS, &mut token.transfer);
    visit_fence(&mut token.clock, visitor);
    for member in token.queue.members_mut() {
        visit_request(member.node, &mut member.number, visitor);
    }
    for (&node, stamp) in &mut token.accepted {
        visit_stamp(node, stamp, visitor);
    }
    for (&node, number) in &mut token.followers {
        visit_request(node, number, visitor);
    }
}

const TRANSFERS: Line = Line::stepping("transfer");
const FENCES: Line = Line::stepping("clock");
