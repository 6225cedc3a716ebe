//! One node decides everything: the coordinator.
//!
//! ```text
//!   ann --request--> coordinator --grant--> ann ... ann --release--> coordinator
//! ```
//!
//! The usual design where a server is available. It can do all that our own protocol can: units, priorities with aging or
//! deadlines, sessions with joining, cancelling, changed urgencies, fences, several requests of a node; with the same
//! rule of admission (the most urgent first; no request passes it, except to join a running session). It differs from
//! [`meshlock_core::reverse_link`] only in how messages travel, and on a network without delay no protocol with this rule
//! does better: it is the bound of an omniscient scheduler.
//!
//! The coordinator is the member with the smallest id. Its own requests take the same path without a message. Aging
//! counts the grants that the coordinator has made when a request reaches it. Fences grow in the order of granting;
//! where several may be inside, applications may be told in another order.
//!
//! A cancellation and a grant may cross. The coordinator treats a cancellation of a granted request as a release, and the
//! node ignores a grant that it no longer waits for. Needs FIFO channels.

use meshlock_core::Slots;
use std::collections::BTreeSet;
use std::vec::Vec;

use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::planted::Planted;
use meshlock_core::protocol::{Effect, Event, Misuse, Protocol, Rejection};
use meshlock_core::view::{Returning, TokenView, View, Waiting};
use meshlock_core::vocabulary::{Aging, Demand, Fence, Grant, GrantId, NodeId, Order, Rank, RequestId, Units, Urgency};

mod desk;

use desk::{Desk, Rules};

/// How a node is set up. All but `id` must be the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    pub id: NodeId,
    /// All nodes. The one with the smallest id coordinates.
    pub members: Vec<NodeId>,
    /// The k of h-out-of-k.
    pub capacity: Units,
    /// How waiting requests are ordered.
    pub order: Order,
    /// How many requests may join the running session past a front that waits for another one, while that session
    /// lasts. Zero: no request passes the front.
    pub joins: u32,
}

impl Config {
    /// A mutex with strict priorities.
    pub const fn mutex(id: NodeId, members: Vec<NodeId>) -> Self {
        let order = Order::Priority { aging: Aging(0) };
        Self { id, members, capacity: Units(1), order, joins: 0 }
    }
}

meshlock_core::bugs! {
    IgnoreUnits,
    IgnoreSessions,
    /// Requests are served in the order of arrival.
    IgnoreRanks,
    /// Only the first in the queue is served at each event.
    ServeOne,
    /// Any number of requests may join past the front.
    JoinWithoutCap,
    /// A cancellation that crosses a grant is ignored.
    IgnoreCrossedCancel,
    /// A grant that crosses a cancellation is believed.
    BelieveCrossedGrant,
}

/// A grant comes from the coordinator, everything else goes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The sender's application asks.
    Request {
        id: GrantId,
        demand: Demand,
    },
    /// The sender's application no longer wants it.
    Cancel {
        id: GrantId,
    },
    /// The urgency of a waiting request has changed.
    Reprioritize {
        id: GrantId,
        urgency: Urgency,
    },
    /// The sender's application gives a grant back.
    Release {
        id: GrantId,
        units: Units,
    },
    Grant {
        id: GrantId,
        fence: Fence,
    },
}

/// A request that waits, as its own node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wish {
    request: RequestId,
    demand: Demand,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    id: NodeId,
    others: BTreeSet<NodeId>,
    rules: Rules,
    /// Own requests that wait.
    waiting: Vec<Wish>,
    /// Own grants in use.
    holding: Vec<Grant>,
    /// The greatest request number used.
    last_request: Option<RequestId>,
    /// Where everything is decided; only at the coordinator.
    desk: Option<Desk>,
}

type Effects = Vec<Effect<Message>>;

impl Node {
    #[cfg(feature = "mutants")]
    #[doc(hidden)]
    pub fn plant(&mut self, bug: Bug) {
        self.rules.planted = Planted::bug(bug);
    }

    /// A node before anything has happened.
    pub fn new(config: Config) -> Self {
        let Config { id, members, capacity, order, joins } = config;
        let others: BTreeSet<_> = members.into_iter().filter(|&member| member != id).collect();
        let desk = others.first().is_none_or(|&least| id < least).then(|| Desk::new(capacity));
        let rules = Rules { capacity, order, joins, planted: Planted::NONE };
        Self { id, others, rules, waiting: Vec::new(), holding: Vec::new(), last_request: None, desk }
    }

    pub fn coordinator(&self) -> NodeId {
        self.others.first().map_or(self.id, |&least| least.min(self.id))
    }

    fn on_request(&mut self, request: RequestId, demand: Demand, effects: &mut Effects) -> Result<(), Misuse> {
        Misuse::check_units(&demand, self.rules.capacity)?;
        if self.last_request.is_some_and(|last| request <= last) {
            return Err(Misuse::RequestNumberUsed(request));
        }
        self.check_urgency(demand.urgency)?;
        self.last_request = Some(request);
        self.waiting.push(Wish { request, demand });
        self.tell(Message::Request { id: self.grant_id(request), demand }, effects);
        Ok(())
    }

    fn on_cancel(&mut self, request: RequestId, effects: &mut Effects) -> Result<(), Misuse> {
        let at = self.waiting_at(request)?;
        self.waiting.remove(at);
        self.tell(Message::Cancel { id: self.grant_id(request) }, effects);
        Ok(())
    }

    fn on_reprioritize(&mut self, request: RequestId, urgency: Urgency, out: &mut Effects) -> Result<(), Misuse> {
        let at = self.waiting_at(request)?;
        self.check_urgency(urgency)?;
        self.waiting[at].demand.urgency = urgency;
        self.tell(Message::Reprioritize { id: self.grant_id(request), urgency }, out);
        Ok(())
    }

    fn on_release(&mut self, request: RequestId, units: Units, effects: &mut Effects) -> Result<(), Misuse> {
        let Some(at) = self.holding.iter().position(|grant| grant.request == request) else {
            self.waiting_at(request)?;
            return Err(Misuse::NotGranted(request));
        };
        let held = self.holding[at].units;
        if held != units {
            return Err(Misuse::PartialRelease { request, held, asked: units });
        }
        self.holding.remove(at);
        self.tell(Message::Release { id: self.grant_id(request), units }, effects);
        Ok(())
    }

    fn grant_id(&self, request: RequestId) -> GrantId {
        GrantId { node: self.id, request }
    }

    fn check_urgency(&self, urgency: Urgency) -> Result<(), Misuse> {
        let wants_deadline = self.rules.order == Order::Deadline;
        self.rules.order.rank(urgency, Fence(0)).map(|_| ()).ok_or(Misuse::WrongUrgency { wants_deadline })
    }

    /// Where a waiting request stands, or why it does not wait.
    fn waiting_at(&self, request: RequestId) -> Result<usize, Misuse> {
        if let Some(at) = self.waiting.iter().position(|wish| wish.request == request) {
            return Ok(at);
        }
        if self.holding.iter().any(|grant| grant.request == request) {
            return Err(Misuse::AlreadyGranted(request));
        }
        Err(match self.last_request {
            Some(last) if request <= last => Misuse::AlreadyOver(request),
            Some(_) | None => Misuse::UnknownRequest(request),
        })
    }

    /// To the coordinator, which may be this node.
    fn tell(&mut self, message: Message, effects: &mut Effects) {
        if self.desk.is_none() {
            effects.push(Effect::Send { to: self.coordinator(), message });
        } else if let Err(reason) = self.at_the_desk(self.id, message, effects) {
            // Unreachable: mistakes in a request of its own were reported to the caller.
            effects.push(Effect::Reject { from: self.id, reason });
        }
    }

    /// At the coordinator: takes a message in and grants what can be granted now.
    fn at_the_desk(&mut self, from: NodeId, message: Message, effects: &mut Effects) -> Result<(), Rejection> {
        let desk = self.desk.as_mut().ok_or(Rejection::UnexpectedAnswer)?;
        desk.take_in(from, message, &self.rules)?;
        while let Some((id, fence)) = desk.next_grant(&self.rules) {
            if id.node == self.id {
                enter(&mut self.waiting, &mut self.holding, id.request, fence, effects);
            } else {
                effects.push(Effect::Send { to: id.node, message: Message::Grant { id, fence } });
            }
            if self.rules.planted.has(Bug::ServeOne) {
                break;
            }
        }
        Ok(())
    }

    fn on_grant(&mut self, id: GrantId, fence: Fence, effects: &mut Effects) -> Result<(), Rejection> {
        let known = id.node == self.id && self.last_request.is_some_and(|last| id.request <= last);
        let in_use = self.holding.iter().any(|grant| grant.request == id.request);
        if !known || in_use {
            return Err(Rejection::UnexpectedAnswer);
        }
        let entered = enter(&mut self.waiting, &mut self.holding, id.request, fence, effects);
        if !entered && self.rules.planted.has(Bug::BelieveCrossedGrant) {
            let grant =
                Grant { request: id.request, units: Units(1), session: None, fence: Some(fence), slots: Slots::NONE };
            effects.push(Effect::Granted { grant });
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, effects: &mut Effects) -> Result<(), Rejection> {
        if !self.others.contains(&from) {
            return Err(Rejection::UnknownSender);
        }
        match message {
            Message::Grant { id, fence } if from == self.coordinator() => self.on_grant(id, fence, effects),
            Message::Grant { .. } => Err(Rejection::UnexpectedAnswer),
            Message::Request { .. }
            | Message::Cancel { .. }
            | Message::Reprioritize { .. }
            | Message::Release { .. } => self.at_the_desk(from, message, effects),
        }
    }

    fn role(&self) -> &'static str {
        match (&self.desk, self.holding.is_empty(), self.waiting.is_empty()) {
            (Some(_), ..) => "coordinator",
            (None, false, _) => "inside",
            (None, true, false) => "waiting",
            (None, true, true) => "idle",
        }
    }

    /// The rank of an own request as far as this node knows it: without the age that the coordinator may add.
    fn rank(&self, urgency: Urgency) -> Rank {
        self.rules.order.rank(urgency, Fence(0)).unwrap_or_default()
    }
}

/// Moves a request from the waiting ones to those in use; whether it was waiting.
fn enter(
    waiting: &mut Vec<Wish>,
    holding: &mut Vec<Grant>,
    request: RequestId,
    fence: Fence,
    effects: &mut Effects,
) -> bool {
    let Some(at) = waiting.iter().position(|wish| wish.request == request) else { return false };
    let Demand { units, session, .. } = waiting.remove(at).demand;
    let grant = Grant { request, units, session, fence: Some(fence), slots: Slots::NONE };
    holding.push(grant.clone());
    effects.push(Effect::Granted { grant });
    true
}

impl Protocol for Node {
    type Message = Message;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<Message>) -> Result<Effects, Misuse> {
        let mut effects = Vec::new();
        match event {
            Event::Request { request, demand } => self.on_request(request, demand, &mut effects)?,
            Event::Cancel { request } => self.on_cancel(request, &mut effects)?,
            Event::Reprioritize { request, urgency } => self.on_reprioritize(request, urgency, &mut effects)?,
            Event::Release { request, units } => self.on_release(request, units, &mut effects)?,
            Event::Receive { from, message } => {
                if let Err(reason) = self.on_message(from, message, &mut effects) {
                    effects.push(Effect::Reject { from, reason });
                }
            }
            // Any node reaches any other and no message is lost: links and timers do not matter here.
            Event::LinkUp { .. } | Event::LinkDown { .. } | Event::Expired { .. } => {}
            Event::Resize { version, .. } => Misuse::check_resize(version)?,
            Event::Leave => return Err(Misuse::Unsupported("leave")),
            Event::Resume => return Err(Misuse::Unsupported("go on after a stop")),
            Event::Census { .. } | Event::Remake { .. } => return Err(Misuse::Unsupported("recover")),
        }
        Ok(effects)
    }

    fn view(&self) -> View {
        let waiting = |wish: &Wish| {
            let Demand { units, urgency, session } = wish.demand;
            Waiting { request: wish.request, rank: self.rank(urgency), units, session }
        };
        View {
            role: self.role().into(),
            token: self.desk.as_ref().map(|desk| desk.ledger()),
            neighbours: self.others.iter().copied().collect(),
            asked: (self.desk.is_none() && !self.waiting.is_empty()).then(|| self.coordinator()),
            queue: self.desk.as_ref().map(|desk| desk.claimants(self.id)).unwrap_or_default(),
            waiting: self.waiting.iter().map(waiting).collect(),
            holding: self.holding.clone(),
            ..View::default()
        }
    }

    fn token_in(&self, _from: NodeId, _message: &Message) -> Option<TokenView> {
        None
    }

    fn returning_in(message: &Message) -> Option<Returning> {
        let Message::Release { id, units } = *message else { return None };
        Some(Returning { grant: Some(id), units })
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "request",
            Message::Cancel { .. } => "cancel",
            Message::Reprioritize { .. } => "reprioritize",
            Message::Release { .. } => "release",
            Message::Grant { .. } => "grant",
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        let requests = self.waiting.iter_mut().map(|wish| &mut wish.request);
        let requests = requests.chain(self.holding.iter_mut().map(|grant| &mut grant.request));
        for request in requests.chain(&mut self.last_request) {
            visitor.number(Line::of("request", self.id), &mut request.0);
        }
        for fence in self.holding.iter_mut().filter_map(|grant| grant.fence.as_mut()) {
            visitor.number(Line::CLOCK, &mut fence.0);
        }
        if let Some(desk) = &mut self.desk {
            desk.visit_counters(visitor);
        }
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        let (Message::Request { id, .. }
        | Message::Cancel { id }
        | Message::Reprioritize { id, .. }
        | Message::Release { id, .. }
        | Message::Grant { id, .. }) = message;
        desk::visit_id(id, visitor);
        if let Message::Grant { fence, .. } = message {
            visitor.number(Line::CLOCK, &mut fence.0);
        }
    }
}
