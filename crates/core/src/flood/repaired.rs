//! The protocol we run instead of the printed text.
//!
//! ```text
//!   ann (token)            bob                      cy
//!      |                    |  <-- REQUEST(cy,1,0) --|   cy floods its wish and sets a timer
//!      | <- REQUEST(cy,1,0) |  -- REQUEST(cy,1,0) -> |   bob repeats what is news; cy knows its own and drops it
//!      |-- TOKEN(cy,..) --> |                        |   ann keeps a copy of what it gave away
//!      | <-- TOKEN(cy,..) --|  -- TOKEN(cy,..) -----> |  bob repeats it; cy enters
//! ```
//!
//! Every node keeps the greatest `(number, attempt)` heard of every node and the greatest `(transfer, attempt)` of a
//! token seen; what is not greater is dropped. So a flood ends, a transfer of the token is accepted once, and nothing
//! needs to be acknowledged: the node to which the token goes is always one that waits, and a waiting node repeats its
//! request under the next attempt until the token is there. The repetition tells the last giver, which kept a copy,
//! that the token did not arrive; the copy has the same transfer number, so at most one of all copies is accepted.
//!
//! Cancelling. A request that was flooded cannot be called back. The node goes on asking until the token comes, does
//! not enter, counts the request as done and gives the token on. If its application asks again before that, the new
//! request takes the place of the old one: the token that comes answers the node, whichever request waits by then.
//!
//! Repetitions back off: the first after the configured delay, each further one after twice the one before, up to
//! sixteen times the configured delay.
//!
//! Assumes that no node is lost for ever while it has the token or the only copy of it, and that a restarted node
//! remembers its state. One resource of one unit, one request at a time at each node, served in the order in which
//! holders hear of them; urgencies are ignored.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::counters::{CounterVisitor, Line};
use crate::planted::Planted;
use crate::protocol::{Delay, Effect, Event, Misuse, Protocol, Rejection, Timer};
use crate::view::{Returning, TokenView, View, Waiting};
use crate::vocabulary::{Demand, Fence, Grant, NodeId, Rank, RequestId, Units};

mod config;
mod message;
#[cfg(test)]
mod tests;

pub use config::{Bug, Config};
use message::CLOCK;
pub use message::{GivenAway, Heard, Message, Seen, Token};

/// What the application at this node is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
enum Caller {
    Away,
    Waiting,
    Inside(Fence),
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Node {
    id: NodeId,
    retry: Delay,
    planted: Planted<Bug>,
    /// For views and rejections only: a flood goes to whoever hears it.
    neighbours: BTreeSet<NodeId>,
    /// The latest request heard of every node, this one included. Never goes back.
    heard: BTreeMap<NodeId, Heard>,
    /// The latest token seen. Never goes back.
    seen: Seen,
    token: Option<Token>,
    /// Invariant: only while the token is not here.
    given_away: Option<GivenAway>,
    caller: Caller,
    /// Its own request is under way and the token has not come yet. Invariants: only while the token is not here;
    /// always while the caller waits; also after it cancelled.
    asking: bool,
    /// The caller's number of its latest request.
    request: RequestId,
    /// Of the latest timer; earlier ones are void.
    epoch: u64,
    /// It is about to go. Not saved: a node that comes back stays.
    #[cfg_attr(feature = "serde", serde(skip))]
    leaving: bool,
}

type Effects = Vec<Effect<Message>>;

impl Node {
    /// A node that has heard nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            id: config.id,
            retry: config.retry,
            planted: config.planted,
            neighbours: BTreeSet::new(),
            heard: BTreeMap::new(),
            seen: Seen::default(),
            token: config.starts_with_token.then(Token::default),
            given_away: None,
            caller: Caller::Away,
            asking: false,
            request: RequestId(0),
            epoch: 0,
            leaving: false,
        }
    }

    /// The same, with fences that begin above this one if the token is here: for a resource that is made anew after its
    /// first token was lost with everybody who could have had it.
    #[must_use]
    pub fn with_fences_above(mut self, fence: Fence) -> Self {
        if let Some(token) = &mut self.token {
            token.fence = token.fence.max(fence);
        }
        self
    }

    /// Whether the token is here.
    pub fn holds_token(&self) -> bool {
        self.token.is_some()
    }

    fn heard_of(&self, node: NodeId) -> Heard {
        self.heard.get(&node).copied().unwrap_or_default()
    }

    fn on_request(&mut self, request: RequestId, demand: &Demand, effects: &mut Effects) -> Result<(), Misuse> {
        if self.leaving {
            return Err(Misuse::Leaving);
        }
        Misuse::check_units(demand, Units(1))?;
        if demand.session.is_some() {
            return Err(Misuse::NoSessions);
        }
        if self.caller != Caller::Away {
            return Err(Misuse::Busy);
        }
        if request <= self.request {
            return Err(Misuse::RequestNumberUsed(request));
        }
        self.request = request;
        if self.asking {
            self.caller = Caller::Waiting; // it takes the place of the request that was cancelled
            return Ok(());
        }
        let number = self.heard_of(self.id).number + 1;
        self.heard.insert(self.id, Heard { number, attempt: 0 });
        if self.token.is_some() {
            self.enter(effects);
        } else {
            self.caller = Caller::Waiting;
            self.asking = true;
            self.ask(effects);
        }
        Ok(())
    }

    fn on_cancel(&mut self, request: RequestId) -> Result<(), Misuse> {
        self.check_latest(request)?;
        match self.caller {
            Caller::Waiting => self.caller = Caller::Away,
            Caller::Inside(_) => return Err(Misuse::AlreadyGranted(request)),
            Caller::Away => return Err(Misuse::AlreadyOver(request)),
        }
        Ok(())
    }

    fn on_reprioritize(&self, request: RequestId) -> Result<(), Misuse> {
        self.check_latest(request)?;
        match self.caller {
            Caller::Waiting => Err(Misuse::Unsupported("change the urgency of a request: it ignores urgencies")),
            Caller::Inside(_) => Err(Misuse::AlreadyGranted(request)),
            Caller::Away => Err(Misuse::AlreadyOver(request)),
        }
    }

    fn on_release(&mut self, request: RequestId, units: Units, effects: &mut Effects) -> Result<(), Misuse> {
        self.check_latest(request)?;
        match self.caller {
            Caller::Inside(_) if units == Units(1) => {}
            Caller::Inside(_) => return Err(Misuse::PartialRelease { request, held: Units(1), asked: units }),
            Caller::Waiting => return Err(Misuse::NotGranted(request)),
            Caller::Away => return Err(Misuse::AlreadyOver(request)),
        }
        self.caller = Caller::Away;
        self.give_away(effects);
        Ok(())
    }

    /// Only the latest request can still be of interest: there is one at a time.
    fn check_latest(&self, request: RequestId) -> Result<(), Misuse> {
        match request {
            _ if request == self.request && request.0 > 0 => Ok(()),
            _ if request < self.request => Err(Misuse::AlreadyOver(request)),
            _ => Err(Misuse::UnknownRequest(request)),
        }
    }

    fn on_timer(&mut self, timer: Timer, effects: &mut Effects) {
        if timer.epoch != self.epoch || !self.asking {
            return; // the token came, or a later timer replaced this one
        }
        let mut own = self.heard_of(self.id);
        if !self.planted.has(Bug::RepeatWithoutAttempt) {
            own.attempt += 1;
        }
        self.heard.insert(self.id, own);
        self.ask(effects);
    }

    /// Floods the own request and sets the timer for the next attempt.
    fn ask(&mut self, effects: &mut Effects) {
        let heard = self.heard_of(self.id);
        effects.push(Effect::Broadcast { message: Message::Request { site: self.id, heard } });
        self.arm(1 << heard.attempt.min(MOST_DOUBLINGS), effects);
    }

    /// Sets the timer to so many times the configured delay.
    fn arm(&mut self, times: u32, effects: &mut Effects) {
        self.epoch += 1;
        let after = Delay {
            least_ms: self.retry.least_ms.saturating_mul(times),
            most_ms: self.retry.most_ms.saturating_mul(times),
        };
        effects.push(Effect::Arm { timer: Timer { epoch: self.epoch }, after });
    }

    /// The timer does not run any more, and the token may have been sent here in vain: whoever asks, also for a request
    /// that was cancelled, asks again. Not at once, for nobody can hear it yet.
    fn on_resume(&mut self, effects: &mut Effects) {
        self.leaving = false;
        if self.planted.has(Bug::ForgetCopyOnResume) {
            self.given_away = None;
        }
        if self.planted.has(Bug::ForgetAskingOnResume) {
            self.asking = false;
        }
        if self.asking && !self.planted.has(Bug::ForgetTimerOnResume) {
            self.arm(1, effects);
        }
    }

    /// With the token: the application enters.
    fn enter(&mut self, effects: &mut Effects) {
        let Some(token) = &mut self.token else { return };
        token.fence.0 += 1;
        let fence = token.fence;
        self.caller = Caller::Inside(fence);
        effects.push(Effect::Granted { grant: self.grant(fence) });
    }

    fn grant(&self, fence: Fence) -> Grant {
        Grant { request: self.request, units: Units(1), session: None, fence: Some(fence) }
    }

    fn on_message(&mut self, from: NodeId, message: Message, effects: &mut Effects) -> Result<(), Rejection> {
        if self.is_known(&message) {
            return Ok(());
        }
        if !self.neighbours.contains(&from) {
            return Err(Rejection::UnknownSender);
        }
        message.check_numbers()?;
        match message {
            Message::Request { site, heard } => self.on_request_heard(site, heard, effects),
            Message::Token { to, attempt, token } => self.on_token(to, attempt, token, effects),
        }
    }

    fn on_request_heard(&mut self, site: NodeId, heard: Heard, effects: &mut Effects) -> Result<(), Rejection> {
        if site == self.id && heard > self.heard_of(site) {
            return Err(Rejection::NumberOutOfRange); // only this node counts its requests
        }
        self.heard.insert(site, heard);
        if self.token.is_some() {
            self.give_away(effects);
            return Ok(());
        }
        effects.push(Effect::Broadcast { message: Message::Request { site, heard } });
        if let Some(copy) = &self.given_away {
            let again = Seen { transfer: copy.token.transfer, attempt: heard.attempt };
            if copy.to == site && copy.answers == heard.number && again > self.seen {
                self.seen = again;
                let message = Message::Token { to: site, attempt: again.attempt, token: copy.token.clone() };
                effects.push(Effect::Broadcast { message });
            }
        }
        Ok(())
    }

    fn on_token(&mut self, to: NodeId, attempt: u64, token: Token, effects: &mut Effects) -> Result<(), Rejection> {
        let first = token.transfer > self.seen.transfer;
        if first && self.token.is_some() {
            return Err(Rejection::SecondToken);
        }
        if first && to == self.id && !self.asking {
            return Err(Rejection::UnwantedToken);
        }
        self.seen = self.seen.max(Seen { transfer: token.transfer, attempt });
        if first {
            self.given_away = None;
        }
        if to != self.id {
            effects.push(Effect::Broadcast { message: Message::Token { to, attempt, token } });
        } else if first || self.planted.has(Bug::AcceptTokenTwice) {
            self.token = Some(token);
            self.asking = false;
            if self.caller == Caller::Waiting {
                self.enter(effects);
            } else {
                self.give_away(effects); // the request was cancelled
            }
        }
        Ok(())
    }

    /// Whether a token addressed to this node would be kept if it came now.
    fn would_take(&self, from: NodeId, message: &Message, token: &Token) -> bool {
        let heeded = !self.is_known(message) && self.neighbours.contains(&from) && message.check_numbers().is_ok();
        let first = token.transfer > self.seen.transfer;
        heeded && if first { self.token.is_none() && self.asking } else { self.planted.has(Bug::AcceptTokenTwice) }
    }

    /// With the token and nobody inside: on to the next who wants it, if there is one.
    fn give_away(&mut self, effects: &mut Effects) {
        if matches!(self.caller, Caller::Inside(_)) {
            return;
        }
        let Some(mut token) = self.token.take() else { return };
        let own = self.heard_of(self.id).number;
        if own > 0 && !self.planted.has(Bug::ForgetServed) {
            token.served.insert(self.id, own);
        }
        if !self.planted.has(Bug::NoQueueMerge) {
            self.queue_unserved(&mut token);
        }
        let Some(to) = token.queue.pop_front() else {
            self.token = Some(token);
            return;
        };
        token.transfer = if self.planted.has(Bug::ResetTransfer) { 1 } else { token.transfer + 1 };
        let answers = token.served(to) + 1;
        let heard = self.heard_of(to);
        let attempt = if heard.number == answers { heard.attempt } else { 0 };
        self.seen = Seen { transfer: token.transfer, attempt };
        if !self.planted.has(Bug::ForgetCopy) {
            self.given_away = Some(GivenAway { token: token.clone(), to, answers });
        }
        effects.push(Effect::Broadcast { message: Message::Token { to, attempt, token } });
    }

    /// Everyone else whose request is not done with, from the next node around, behind those already queued.
    fn queue_unserved(&self, token: &mut Token) {
        let around = self.heard.range(self.id..).chain(self.heard.range(..self.id));
        for (node, heard) in around.filter(|(node, _)| **node != self.id) {
            if heard.number > token.served(*node) && !token.queue.contains(node) {
                token.queue.push_back(*node);
            }
        }
    }

    /// Heard or seen before, so it is dropped; and what is known once is known for ever.
    fn is_known(&self, message: &Message) -> bool {
        if self.planted.has(Bug::SkipDuplicateCheck) {
            return false;
        }
        match message {
            Message::Request { site, heard } => *heard <= self.heard_of(*site),
            Message::Token { to, .. } if *to == self.id && self.planted.has(Bug::AcceptTokenTwice) => false,
            Message::Token { attempt, token, .. } => Seen { transfer: token.transfer, attempt: *attempt } <= self.seen,
        }
    }
}

impl Protocol for Node {
    type Message = Message;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<Message>) -> Result<Effects, Misuse> {
        let mut effects = Vec::new();
        match event {
            Event::Request { request, demand } => self.on_request(request, &demand, &mut effects)?,
            Event::Cancel { request } => self.on_cancel(request)?,
            Event::Reprioritize { request, .. } => self.on_reprioritize(request)?,
            Event::Release { request, units } => self.on_release(request, units, &mut effects)?,
            Event::LinkUp { neighbour } => drop(self.neighbours.insert(neighbour)),
            Event::LinkDown { neighbour } => drop(self.neighbours.remove(&neighbour)),
            Event::Receive { from, message } => {
                if let Err(reason) = self.on_message(from, message, &mut effects) {
                    effects.push(Effect::Reject { from, reason });
                }
            }
            Event::Expired { timer } => self.on_timer(timer, &mut effects),
            Event::Resize { version, .. } => Misuse::check_resize(version)?,
            Event::Leave if self.caller != Caller::Away => return Err(Misuse::StillBusy),
            Event::Leave => self.leaving = true,
            Event::Resume => self.on_resume(&mut effects),
        }
        debug_assert!(self.caller != Caller::Waiting || self.asking, "a caller waits only while its node asks");
        Ok(effects)
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
            Message::Token { to, token, .. } if *to == self.id && self.would_take(from, message, token) => {
                Some(token.view(Units(1)))
            }
            Message::Token { .. } | Message::Request { .. } => None,
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

    fn is_stale(&self, _from: NodeId, message: &Message) -> bool {
        self.is_known(message)
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        for (site, heard) in &mut self.heard {
            heard.visit_counters(*site, visitor);
        }
        self.seen.visit_counters(visitor);
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

/// The delay between repetitions doubles so often.
const MOST_DOUBLINGS: u64 = 4;
