//! The node as a [`Protocol`]: what others see of it and how its numbers are renumbered.

use alloc::string::ToString;

use super::height::{Height, Rung};
use super::message::{Body, Message};
use super::node::{Config, Effects, Node};
use super::questions::{About, Inquiry};
use super::queue::Claim;
use super::recovery::Picture;
use super::token::Token;
use crate::counters::{CounterVisitor, Line};
use crate::protocol::{Event, Misuse, Protocol};
use crate::recovery::{Census, Row};
use crate::view::{Returning, TokenView, View};
use crate::vocabulary::{GrantId, NodeId, Rank, RequestId, Units};

impl Protocol for Node {
    type Message = Message;

    fn id(&self) -> NodeId {
        self.config.id
    }

    fn handle(&mut self, event: Event<Message>) -> Result<Effects, Misuse> {
        self.apply(event)
    }

    fn view(&self) -> View {
        View {
            role: self.role().to_string(),
            height: Some(self.height),
            token: self.token.as_ref().map(|token| token.view()),
            keeps_copy: self.limbo.is_some(),
            by_permission: false,
            neighbours: self.peers.keys().copied().collect(),
            asked: self.asked.map(|(asked, _)| asked),
            queue: self.queue.claimants().collect(),
            waiting: self.queue.waiting(),
            holding: self.holding.clone(),
            returning: self.custody.returning(),
            capacity: Some(self.capacity.units),
            leaving: self.leaving,
            captain: None,
            followers: None,
        }
    }

    fn token_in(&self, _from: NodeId, message: &Message) -> Option<TokenView> {
        let Body::Token { token, .. } = &message.body else { return None };
        (token.pass > self.decided).then(|| token.view())
    }

    fn returning_in(message: &Message) -> Option<Returning> {
        let Body::Release(grant) = message.body else { return None };
        Some(Returning { grant: Some(grant), units: Units(0) })
    }

    /// Confirmations. To others than the giver, `here` shows the way to the token, and they may want that now.
    fn can_wait(&self, message: &Message, to: NodeId, heard: Option<NodeId>) -> bool {
        match message.body {
            Body::Here { .. } | Body::Received(_) => heard == Some(to),
            Body::Token { .. }
            | Body::Ask(_)
            | Body::Withdraw
            | Body::Release(_)
            | Body::Link
            | Body::News(_)
            | Body::Leaving => false,
        }
    }

    fn row(&self, census: &Census) -> Option<Row> {
        Some(self.picture(census))
    }

    fn anew(&self, id: NodeId) -> Option<Self> {
        let fresh = Self::new(Config { id, starts_with_token: false, ..self.config });
        Some(Self { planted: self.planted, ..fresh })
    }

    fn kind(message: &Message) -> &'static str {
        message.kind()
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visit_height(&mut self.height, visitor);
        for peer in self.peers.values_mut() {
            if let Some(rung) = &mut peer.height {
                visit_rung(rung, visitor);
            }
            if let Some(expecting) = &mut peer.expecting {
                visit_height(expecting, visitor);
            }
            visit_rung(&mut peer.told, visitor);
        }
        for entry in self.queue.entries_mut() {
            visit_claim(&mut entry.claim, visitor);
            if let super::queue::Claimer::Local { request, since, .. } = &mut entry.claimer {
                visit_request(self.config.id, request, visitor);
                visitor.number(Line::CLOCK, &mut since.0);
            }
        }
        if let Some((_, claim)) = &mut self.asked {
            visit_claim(claim, visitor);
        }
        if let Some(token) = &mut self.token {
            visit_token(token, visitor);
        }
        if let Some(limbo) = &mut self.limbo {
            visit_token(&mut limbo.copy, visitor);
            if let Some((_, claim)) = &mut limbo.passed_by {
                visit_claim(claim, visitor);
            }
        }
        visitor.number(PASS, &mut self.decided);
        if self.recovers() {
            visitor.number(PASS, &mut self.accepted);
        }
        for grant in self.custody.grants_mut().chain(&mut self.returned) {
            visit_grant(grant, visitor);
        }
        for (origin, number, inquiry) in self.questions.entries_mut() {
            visitor.number(Line::of("question", origin), number);
            visit_inquiry(inquiry, visitor);
        }
        visitor.number(Line::CLOCK, &mut self.clock.0);
        for grant in &mut self.holding {
            visit_request(self.config.id, &mut grant.request, visitor);
            if let Some(fence) = &mut grant.fence {
                visitor.number(Line::CLOCK, &mut fence.0);
            }
        }
        if let Some(last) = &mut self.last_request {
            visit_request(self.config.id, last, visitor);
        }
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        visit_height(&mut message.height, visitor);
        visitor.number(Line::CLOCK, &mut message.clock.0);
        match &mut message.body {
            Body::Token { token, ask } => {
                visit_token(token, visitor);
                if let Some(claim) = ask {
                    visit_claim(claim, visitor);
                }
            }
            Body::Ask(claim) => visit_claim(claim, visitor),
            Body::Release(grant) | Body::Received(grant) => visit_grant(grant, visitor),
            Body::Here { pass } => visitor.number(PASS, pass),
            Body::News(news) => {
                for item in news {
                    visitor.number(Line::of("question", item.origin), &mut item.number);
                    visit_inquiry(&mut item.inquiry, visitor);
                }
            }
            Body::Withdraw | Body::Link | Body::Leaving => {}
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
        for pass in copy.iter_mut().chain([accepted]) {
            visitor.number(PASS, pass);
        }
        for loan in &mut self.in_use {
            visit_grant(&mut loan.grant, visitor);
        }
        if let Some(height) = &mut self.height {
            visit_height(height, visitor);
        }
        visitor.number(Line::CLOCK, &mut self.clock.0);
    }
}

impl Node {
    fn role(&self) -> &'static str {
        match (&self.token, &self.limbo) {
            (Some(_), _) => "holder",
            (None, Some(limbo)) if limbo.doubtful => "in doubt",
            (None, Some(_)) => "giver",
            (None, None) if !self.holding.is_empty() => "inside",
            (None, None) if self.asked.is_some() => "asking",
            (None, None) => "idle",
        }
    }
}

const PASS: Line = Line::stepping("pass");

/// A rank is a virtual deadline with its sign turned.
fn visit_claim(claim: &mut Claim, visitor: &mut dyn CounterVisitor) {
    claim.rank = Rank(-visitor.visit(Line::DUE, -claim.rank.0));
}

fn visit_token(token: &mut Token, visitor: &mut dyn CounterVisitor) {
    visitor.number(PASS, &mut token.pass);
    // Fences and clocks are on one line, so that they stay the same number where no token was ever made anew.
    let mut fence = token.fence().0;
    visitor.number(Line::CLOCK, &mut fence);
    visitor.number(Line::CLOCK, &mut token.granted.0);
    token.base = fence.wrapping_sub(token.granted.0);
    if let Some(owed) = &mut token.owed {
        owed.rank = Rank(-visitor.visit(Line::DUE, -owed.rank.0));
    }
    for loan in &mut token.ledger {
        visit_grant(&mut loan.grant, visitor);
    }
}

/// Only heights of level 0 fall without end, and they are only compared; the others are bounded by the number of
/// link changes.
fn visit_height(height: &mut Height, visitor: &mut dyn CounterVisitor) {
    let mut rung = height.rung();
    visit_rung(&mut rung, visitor);
    *height = rung.of(height.id);
}

fn visit_rung(rung: &mut Rung, visitor: &mut dyn CounterVisitor) {
    if rung.level == 0 {
        rung.depth = visitor.visit(Line::stepping("depth"), rung.depth);
    }
}

fn visit_request(node: NodeId, request: &mut RequestId, visitor: &mut dyn CounterVisitor) {
    visitor.number(Line::of("request", node), &mut request.0);
}

fn visit_grant(grant: &mut GrantId, visitor: &mut dyn CounterVisitor) {
    visit_request(grant.node, &mut grant.request, visitor);
}

fn visit_inquiry(inquiry: &mut Inquiry, visitor: &mut dyn CounterVisitor) {
    match inquiry {
        Inquiry::Open(About::Pass { pass, .. }) => visitor.number(PASS, pass),
        Inquiry::Open(About::Where) | Inquiry::Confirmed | Inquiry::Denied => {}
    }
}
