//! The printed algorithm as one of our protocols: checks of input, the view, the counters.
//!
//! The counters are approximate. `raiseHeight` also copies the second number of a neighbour's height, and numbers of
//! departed neighbours are never forgotten, so renumbering may merge states that differ. That is good enough to find
//! counterexamples, which are replayed without renumbering; for verdicts, models of this protocol are bounded.

use meshlock_core::Slots;
use std::string::String;
use std::vec::Vec;

use super::message::{Body, Message};
use super::node::{Node, State};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::protocol::{Effect, Event, Misuse, Protocol, Rejection};
use meshlock_core::reverse_link::Height;
use meshlock_core::view::{Claimant, Origin, Returning, TokenView, View, Waiting};
use meshlock_core::vocabulary::{Grant, NodeId, Rank, Units};

/// Heights beyond this are refused, so that they can always be stepped.
const FARTHEST: i64 = 1 << 62;

const LEVEL: Line = Line::stepping("level");
const DEPTH: Line = Line::stepping("depth");

impl Protocol for Node {
    type Message = Message;

    fn id(&self) -> NodeId {
        self.height.id
    }

    fn handle(&mut self, event: Event<Message>) -> Result<Vec<Effect<Message>>, Misuse> {
        let mut out = Vec::new();
        match event {
            Event::Request { request, demand } => self.on_request(request, demand, &mut out)?,
            Event::Release { request, units } => self.on_leave(request, units, &mut out)?,
            Event::Cancel { .. } => return Err(Misuse::Unsupported("cancel a request")),
            Event::Reprioritize { .. } => return Err(Misuse::Unsupported("change the urgency of a request")),
            Event::LinkUp { neighbour } => self.on_formation(neighbour, &mut out),
            Event::LinkDown { neighbour } => self.on_failure(neighbour, &mut out),
            Event::Receive { from, message } => match self.mistake_in(from, &message) {
                Some(reason) => out.push(Effect::Reject { from, reason }),
                None => self.on_message(from, message, &mut out),
            },
            Event::Expired { .. } => {} // the paper has no timers
            Event::Resize { version, .. } => Misuse::check_resize(version)?,
            Event::Leave => return Err(Misuse::Unsupported("leave")),
            Event::Resume => return Err(Misuse::Unsupported("go on after a stop")),
            Event::Census { .. } | Event::Remake { .. } => return Err(Misuse::Unsupported("recover")),
        }
        Ok(out)
    }

    fn view(&self) -> View {
        let mut queue: Vec<_> = self.q.iter().map(|entry| self.claimant(entry.node, entry.priority)).collect();
        // A request that waits at line 10 is known here, though the text has taken it from Q.
        if let Some(priority) = self.blocked {
            let place = queue.partition_point(|claim| claim.rank > priority);
            queue.insert(place, self.claimant(self.height.id, priority));
        }
        let own = |state| self.own.filter(|_| self.state == state);
        let waiting =
            own(State::Es).map(|o| Waiting { request: o.request, rank: o.priority, units: o.units, session: None });
        let holding = own(State::Cs).map(|o| Grant {
            request: o.request,
            units: o.units,
            session: None,
            fence: None,
            slots: Slots::NONE,
        });
        View {
            role: String::from(self.state.name()),
            height: Some(self.height),
            token: self.token_holder.then(|| token_view(self.t)),
            neighbours: self.neighbours.iter().copied().collect(),
            asked: self.outstanding,
            queue,
            waiting: waiting.into_iter().collect(),
            holding: holding.into_iter().collect(),
            ..View::default()
        }
    }

    fn token_in(&self, from: NodeId, message: &Message) -> Option<TokenView> {
        let Body::Token(t) = message.body else { return None };
        self.mistake_in(from, message).is_none().then(|| token_view(t))
    }

    fn returning_in(message: &Message) -> Option<Returning> {
        let Body::Release(units) = message.body else { return None };
        Some(Returning { grant: None, units })
    }

    /// The giver of the token knows the height that its receiver tells by LINK: it has noted it itself.
    fn can_wait(&self, message: &Message, to: NodeId, heard: Option<NodeId>) -> bool {
        let predicted = || self.ht_vector.get(&to).map(|giver| giver.just_below(self.height.id));
        matches!(message.body, Body::Link) && heard == Some(to) && predicted() == Some(message.height)
    }

    fn kind(message: &Message) -> &'static str {
        message.body.kind()
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visit_height(&mut self.height, visitor);
        for height in self.ht_vector.values_mut().chain(self.forming.values_mut()) {
            visit_height(height, visitor);
        }
        let line = Line::of("request", self.height.id);
        for request in self.last_request.iter_mut().chain(self.own.iter_mut().map(|own| &mut own.request)) {
            visitor.number(line, &mut request.0);
        }
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        visit_height(&mut message.height, visitor);
    }
}

impl Node {
    fn on_message(&mut self, from: NodeId, message: Message, out: &mut Vec<Effect<Message>>) {
        match message.body {
            Body::Token(t) => self.on_token(from, message.height, t, out),
            Body::Request(s) => self.on_request_message(from, message.height, s, out),
            Body::Update(s) => self.on_update(from, s, out),
            Body::Release(r) => self.on_release_message(r, out),
            Body::Link => self.on_link(from, message.height, out),
        }
    }

    fn claimant(&self, node: NodeId, rank: Rank) -> Claimant {
        match self.own.filter(|_| node == self.height.id) {
            Some(own) => Claimant { origin: Origin::Local(own.request), rank, units: own.units, session: None },
            // A REQUEST does not say how many units it is for.
            None => Claimant { origin: Origin::Node(node), rank, units: Units(1), session: None },
        }
    }

    /// What no node that follows the text would send now.
    fn mistake_in(&self, from: NodeId, message: &Message) -> Option<Rejection> {
        let Message { height, body } = message;
        let k = self.config.capacity;
        let possible = match *body {
            Body::Token(t) => t <= k,
            Body::Release(r) => r.0 > 0 && r <= k && (!self.token_holder || self.t.0 <= k.0 - r.0),
            Body::Request(_) | Body::Update(_) | Body::Link => true,
        };
        if !self.neighbours.contains(&from) && !self.forming.contains_key(&from) {
            Some(Rejection::UnknownSender)
        } else if height.id != from {
            Some(Rejection::ForeignHeight)
        } else if [height.level, height.depth].into_iter().any(|number| number.unsigned_abs() > FARTHEST as u64) {
            Some(Rejection::NumberOutOfRange)
        } else if !possible {
            Some(Rejection::ImpossibleUnits)
        } else if self.token_holder && matches!(body, Body::Token(_)) {
            Some(Rejection::SecondToken)
        } else {
            None
        }
    }
}

fn token_view(free: Units) -> TokenView {
    TokenView { free, ..TokenView::default() }
}

fn visit_height(height: &mut Height, visitor: &mut dyn CounterVisitor) {
    height.level = visitor.visit(LEVEL, height.level);
    height.depth = visitor.visit(DEPTH, height.depth);
}
