//! Any-to-any messages over neighbour links.
//!
//! Protocols such as [`crate::group`] assume that everyone can reach everyone. On a multi-hop network they run inside
//! a [`Relayed`], which is a protocol itself: it carries the messages of the one inside as payload.
//!
//! ```text
//!   ann ---- bob ---- cy        ann sends to cy and knows no route: Flood(ann,1) -> bob -> cy
//!                               bob and cy learn: to reach ann, first to whom it came from
//!                               cy answers: Hop(cy,1) -> bob -> ann, and bob and ann learn the way to cy
//! ```
//!
//! A message has an origin and a number. A flood is repeated by each node once and delivered at most once. A node
//! that meets a message with a greater number of its origin than before notes the neighbour it came from as the next
//! hop to the origin. A node with a next hop that is up, or with the destination for a neighbour, sends along it; anyone
//! on the way who has none floods the message from there. Next hops cannot form a circle: along them the numbers never
//! fall, and equal numbers come from one message, which went from its origin outwards. That is why a broken route
//! keeps its number.
//!
//! What is lost on a failing link is lost. The relay repeats nothing, and neither order nor delivery is promised: the
//! protocol inside must bear loss, reordering and late arrival (but never sees a message twice). To tell new from old
//! it keeps, for each origin, the greatest number met and which of the 63 below; a message that comes later than 64
//! others of its origin is taken for old and dropped.
//!
//! Links are consumed here: the protocol inside never hears of them. Numbers must survive a restart, unless the node
//! comes back under another id.
//!
//! A relay that hears who is gone ([`Event::Census`]) passes nothing on that they have sent. So whoever gets a message
//! over living hops knows of everybody of whom its origin knew that they are gone: the census goes ahead on each hop.

#![cfg_attr(feature = "mutants", allow(unused_imports, reason = "`careless.rs` shadows the methods of `Rules`"))]

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use crate::counters::{CounterVisitor, Line};
use crate::planted::Planted;
use crate::protocol::{Effect, Event, Misuse, Protocol, Rejection};
use crate::recovery::{Census, Row};
use crate::view::{Returning, TokenView, View};
use crate::vocabulary::NodeId;

#[cfg(feature = "mutants")]
mod careless;
mod message;
mod window;

use message::line;
pub use message::{Label, Message, inner_kind};
pub use window::Window;

/// How a relay is set up. The same at every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Config {
    /// How many links a message may cross. At least the longest path that is ever needed.
    pub hop_limit: u16,
}

impl Default for Config {
    fn default() -> Self {
        Self { hop_limit: 64 }
    }
}

/// A protocol that assumes everyone can reach everyone, on a network where only neighbours can.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Relayed<P> {
    inner: P,
    config: Config,
    neighbours: BTreeSet<NodeId>,
    /// How many messages started here.
    sent: u64,
    routes: BTreeMap<NodeId, Route>,
    /// The messages that were delivered or flooded here, by origin.
    met: BTreeMap<NodeId, Window>,
    /// Who is gone. Not saved: it is told again.
    #[cfg_attr(feature = "serde", serde(skip))]
    census: Census,
    #[cfg_attr(feature = "serde", serde(skip))]
    planted: Planted,
}

/// The way to an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Route {
    /// The greatest number met of this origin. Never falls, also when the route breaks.
    number: u64,
    /// Whom it came from; `None` since the link to it went down.
    next: Option<NodeId>,
}

type Outer<P> = Vec<Effect<Message<<P as Protocol>::Message>>>;

impl<P> Relayed<P> {
    /// The same relay around another form of the protocol inside.
    pub fn map<Q>(self, f: impl FnOnce(P) -> Q) -> Relayed<Q> {
        let Self { inner, config, neighbours, sent, routes, met, census, planted } = self;
        Relayed { inner: f(inner), config, neighbours, sent, routes, met, census, planted }
    }
}

impl<P: Protocol> Relayed<P> {
    /// Puts a protocol into a relay. No links yet.
    pub fn new(inner: P, config: Config) -> Self {
        let (neighbours, routes, met) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        Self { inner, config, neighbours, sent: 0, routes, met, census: Census::default(), planted: Planted::default() }
    }

    /// The protocol inside.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// The neighbour over which a message to `to` would go now; without one it is flooded.
    pub fn next_hop(&self, to: NodeId) -> Option<NodeId> {
        if self.neighbours.contains(&to) {
            return Some(to);
        }
        self.routes.get(&to)?.next
    }

    fn on_link_down(&mut self, neighbour: NodeId) {
        self.neighbours.remove(&neighbour);
        for route in self.routes.values_mut() {
            route.next = route.next.filter(|next| *next != neighbour);
        }
    }

    /// The protocol inside has learned this census: nothing of the gone is carried any more.
    fn learn_census(&mut self, census: Census) {
        self.census = census;
        let gone: Vec<_> = self.neighbours.iter().copied().filter(|node| self.census.is_gone(*node)).collect();
        for neighbour in gone {
            self.on_link_down(neighbour);
        }
        self.routes.retain(|origin, _| !self.census.is_gone(*origin));
        self.met.retain(|origin, _| !self.census.is_gone(*origin));
    }

    fn on_message(&mut self, from: NodeId, message: Message<P::Message>) -> Result<Outer<P>, Misuse> {
        let label = message.label();
        if self.is_ignored(from, &message) {
            return Ok(Vec::new());
        }
        if let Err(reason) = self.check(from, &message) {
            return Ok([Effect::Reject { from, reason }].into());
        }
        let mut said = Vec::new();
        if self.is_for_me(&message) {
            let payload = message.payload().clone();
            said = self.inner.handle(Event::Receive { from: label.origin, message: payload })?;
            if let Some(rejected) = rejections(&said) {
                return Ok(rejected); // as if it had not come: nothing learned, nothing passed on
            }
        }
        self.learn(from, label);
        let mut effects = Vec::new();
        match message {
            Message::Hop { to, .. } if to == self.inner.id() => self.meet(label),
            Message::Hop { to, payload, .. } => {
                if let Some(onward) = label.onward(self.config.hop_limit) {
                    effects.push(self.towards(to, onward, payload));
                }
            }
            Message::Flood { to, payload, .. } => {
                self.meet(label);
                let onward = label.onward(self.config.hop_limit).filter(|_| to != Some(self.inner.id()));
                if let Some(label) = onward {
                    effects.push(Effect::Broadcast { message: Message::Flood { label, to, payload } });
                }
            }
        }
        self.carry(said, &mut effects)?;
        Ok(effects)
    }

    fn check(&self, from: NodeId, message: &Message<P::Message>) -> Result<(), Rejection> {
        let label = message.label();
        if !self.neighbours.contains(&from) {
            return Err(Rejection::UnknownSender);
        }
        label.check(self.config.hop_limit)?;
        if label.origin == self.inner.id() && (label.number > self.sent || self.is_for_me(message)) {
            return Err(Rejection::NumberOutOfRange); // forged: it never sent this
        }
        Ok(())
    }

    /// Turns what the protocol inside wants done into what the relay wants done.
    fn carry(&mut self, said: Vec<Effect<P::Message>>, effects: &mut Outer<P>) -> Result<(), Misuse> {
        let mut said = VecDeque::from(said);
        while let Some(effect) = said.pop_front() {
            match effect {
                Effect::Send { to, message } if to == self.inner.id() => {
                    said.extend(self.inner.handle(Event::Receive { from: to, message })?);
                }
                Effect::Send { to, message } => {
                    let label = self.new_label();
                    effects.push(self.towards(to, label, message));
                }
                Effect::Multicast { to, message } => {
                    let sends = to.into_iter().rev().map(|to| Effect::Send { to, message: message.clone() });
                    sends.for_each(|send| said.push_front(send));
                }
                Effect::Broadcast { message: payload } => {
                    let label = self.new_label();
                    self.meet(label);
                    effects.push(Effect::Broadcast { message: Message::Flood { label, to: None, payload } });
                }
                Effect::Granted { grant } => effects.push(Effect::Granted { grant }),
                Effect::Arm { timer, after } => effects.push(Effect::Arm { timer, after }),
                Effect::Reject { from, reason } => effects.push(Effect::Reject { from, reason }),
            }
        }
        Ok(())
    }

    fn new_label(&mut self) -> Label {
        self.sent += 1;
        Label { origin: self.inner.id(), number: self.sent, hops: 1 }
    }

    /// Along the route if there is one, otherwise by a flood.
    fn towards(&mut self, to: NodeId, label: Label, payload: P::Message) -> Effect<Message<P::Message>> {
        if let Some(next) = self.next_hop(to) {
            return Effect::Send { to: next, message: Message::Hop { label, to, payload } };
        }
        self.meet(label);
        Effect::Broadcast { message: Message::Flood { label, to: Some(to), payload } }
    }

    fn learn(&mut self, from: NodeId, label: Label) {
        if label.origin == self.inner.id() {
            return;
        }
        let route = self.routes.entry(label.origin).or_insert(Route { number: 0, next: None });
        if label.number > route.number {
            *route = Route { number: label.number, next: Some(from) };
        }
    }

    fn meet(&mut self, label: Label) {
        self.met.entry(label.origin).or_default().add(label.number);
    }

    /// Whether it was delivered or flooded here, so that it does nothing here, now and later. Passing on along a route
    /// does not count, not even at the origin: if the route breaks further on, the flood from there starts afresh.
    fn is_met(&self, message: &Message<P::Message>) -> bool {
        let Label { origin, number, .. } = message.label();
        self.met.get(&origin).is_some_and(|window| window.has(number))
    }
}

/// What a careless relay does not do; see `careless.rs`. The protocol inside must then see to it alone.
trait Rules<M> {
    /// Whether it does nothing here, now and later: it was met, or its origin is gone, or the neighbour that passes it on.
    fn is_ignored(&self, from: NodeId, message: &Message<M>) -> bool;
    /// A message is for one incarnation of its receiver.
    fn is_for_me(&self, message: &Message<M>) -> bool;
}

impl<P: Protocol> Rules<P::Message> for Relayed<P> {
    fn is_ignored(&self, from: NodeId, message: &Message<P::Message>) -> bool {
        let gone = self.census.is_gone(message.label().origin) || self.census.is_gone(from);
        gone || self.is_met(message)
    }

    fn is_for_me(&self, message: &Message<P::Message>) -> bool {
        match message {
            Message::Flood { label, to, .. } => {
                to.is_none_or(|to| to == self.inner.id()) && label.origin != self.inner.id()
            }
            Message::Hop { to, .. } => *to == self.inner.id(),
        }
    }
}

/// The rejections among effects, if there are any; then there is nothing else.
fn rejections<M, N>(effects: &[Effect<M>]) -> Option<Vec<Effect<N>>> {
    let rejected: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Reject { from, reason } => Some(Effect::Reject { from: *from, reason: *reason }),
            Effect::Send { .. }
            | Effect::Multicast { .. }
            | Effect::Broadcast { .. }
            | Effect::Granted { .. }
            | Effect::Arm { .. } => None,
        })
        .collect();
    (!rejected.is_empty()).then_some(rejected)
}

impl<P: Protocol> Protocol for Relayed<P> {
    type Message = Message<P::Message>;

    fn id(&self) -> NodeId {
        self.inner.id()
    }

    fn handle(&mut self, event: Event<Self::Message>) -> Result<Outer<P>, Misuse> {
        let mut effects = Vec::new();
        let event = match event {
            Event::LinkUp { neighbour } => {
                self.neighbours.insert(neighbour);
                return Ok(effects);
            }
            Event::LinkDown { neighbour } => {
                self.on_link_down(neighbour);
                return Ok(effects);
            }
            Event::Receive { from, message } => return self.on_message(from, message),
            Event::Request { .. }
            | Event::Cancel { .. }
            | Event::Reprioritize { .. }
            | Event::Release { .. }
            | Event::Expired { .. }
            | Event::Resize { .. }
            | Event::Leave
            | Event::Resume
            | Event::Census { .. }
            | Event::Remake { .. } => event.map(|carried| carried.into_payload()),
        };
        let census = if let Event::Census { census } = &event { Some(census.clone()) } else { None };
        let said = self.inner.handle(event)?;
        if let Some(census) = census {
            self.learn_census(census);
        }
        self.carry(said, &mut effects)?;
        Ok(effects)
    }

    fn view(&self) -> View {
        View { neighbours: self.neighbours.iter().copied().collect(), ..self.inner.view() }
    }

    /// Of a message that is at its destination; one that only passes by brings nothing here.
    fn token_in(&self, from: NodeId, message: &Self::Message) -> Option<TokenView> {
        let label = message.label();
        let heeded = self.is_for_me(message) && !self.is_ignored(from, message) && self.check(from, message).is_ok();
        if heeded { self.inner.token_in(label.origin, message.payload()) } else { None }
    }

    fn returning_in(message: &Self::Message) -> Option<Returning> {
        P::returning_in(message.payload())
    }

    fn kind(message: &Self::Message) -> &'static str {
        match message {
            Message::Flood { .. } => "relay-flood",
            Message::Hop { .. } => "relay-hop",
        }
    }

    fn may_go(&self) -> bool {
        self.inner.may_go()
    }

    fn row(&self, census: &Census) -> Option<Row> {
        self.inner.row(census)
    }

    fn anew(&self, id: NodeId) -> Option<Self> {
        Some(Self { planted: self.planted, ..Self::new(self.inner.anew(id)?, self.config) })
    }

    fn is_stale(&self, from: NodeId, message: &Self::Message) -> bool {
        self.is_ignored(from, message)
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        let me: Line = line(self.inner.id());
        visitor.visit(me, 0);
        visitor.number(me, &mut self.sent);
        for (origin, route) in &mut self.routes {
            visitor.number(line(*origin), &mut route.number);
        }
        for (origin, window) in &mut self.met {
            visitor.number(line(*origin), &mut window.greatest);
        }
        self.inner.visit_counters(visitor);
    }

    fn visit_message_counters(message: &mut Self::Message, visitor: &mut dyn CounterVisitor) {
        match message {
            Message::Flood { label, payload, .. } | Message::Hop { label, payload, .. } => {
                label.visit_counters(visitor);
                P::visit_message_counters(payload, visitor);
            }
        }
    }
}

#[cfg(test)]
mod tests;
