//! The repaired group protocol: keep what is heard, let the token say what is done, decide in one place.
//!
//! Every process keeps the latest [`Record`] of every other one. Only the holder of the token decides, in
//! [`Node::serve`], by comparing what it has heard with what the token says was taken up. So nothing depends on which
//! message comes first:
//!
//! - a request that runs ahead of the token is found when the token comes;
//! - a complete that runs ahead of the token is found when the token brings the list of followers;
//! - a copy of a request that was served elsewhere is not newer than what was taken up.
//!
//! Losses are repaired by one timer, at the process that waits: it repeats its request. A process that hears this knows
//! that the sender has waited long, and repeats what may have been lost ([`Node::chase`]):
//!
//! ```text
//! the holder, it was let in already       -> start again to it             (the start was lost)
//! the holder, it waits until all are out  -> ask the followers             (a complete was lost)
//! the holder, others keep it from joining -> ask the others in the queue   (a withdrawal was lost)
//! the last giver of the token             -> token again to its captain    (the token was lost)
//! ```
//!
//! Who is asked about a request it is past answers with its latest record. A token has a transfer number and is taken
//! once; a repeated one is answered by `have`, and the copy is dropped.
//! Where nothing is lost and no timer runs out early, only the paper's four messages are sent.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::group::message::{Message, Record, Stamp, Wish};
use crate::group::rules::Rules;
use crate::group::token::{LIMIT, Token};
use crate::group::{Config, Level, Members, State, asked};
use crate::planted::Planted;
use crate::protocol::{Delay, Effect, Event, Misuse, Rejection, Timer};
use crate::recovery::Census;
use crate::slots::Slots;
use crate::vocabulary::{Demand, Fence, Grant, NodeId, RequestId, Session, Units};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Node {
    pub(super) id: NodeId,
    /// The processes that take part.
    pub(super) members: Members,
    pub(super) levels: Level,
    pub(super) retry: Option<Delay>,
    /// Written as null: the format of saved nodes has it.
    pub(super) planted: Planted,
    /// The latest record of every process, this one included.
    pub(super) heard: BTreeMap<NodeId, Record>,
    /// Set while the application is in its critical section.
    pub(super) inside: Option<Inside>,
    /// Set while the token is here.
    pub(super) token: Option<Token>,
    /// The token as it was given away last, until it is known to have arrived. Never while the token is here, and
    /// never where nothing is lost.
    pub(super) copy: Option<Box<GivenAway>>,
    /// The greatest transfer given or taken here.
    pub(super) seen: u64,
    /// Of the timer: one for every request that had to wait.
    pub(super) epoch: u64,
    /// The greatest transfer that arrived here; 0 where processes do not recover. Unlike `seen` it does not count tokens
    /// that were given away.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "super::recovery::is_zero"))]
    pub(super) accepted: u64,
    /// Who is gone. Not saved: it is told again.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) census: Census,
    /// It is about to go. Not saved: a process that comes back stays.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) leaving: bool,
}

/// The application in its critical section.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Inside {
    pub(super) grant: Grant,
    /// Whom to tell when it is over; `None` for the captain itself.
    pub(super) captain: Option<NodeId>,
    /// More was learned of who is gone since it entered. The token may be elsewhere by now, so all are told.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "core::ops::Not::not"))]
    pub(super) tells_all: bool,
}

/// A token given away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct GivenAway {
    pub(super) to: NodeId,
    pub(super) token: Token,
}

pub(super) type Effects = Vec<Effect<Message>>;

impl Node {
    /// A process before anything has happened.
    pub fn new(config: Config) -> Self {
        let Config { id, members, starts_with_token, levels, retry } = config;
        let token = starts_with_token.then(Token::default);
        let levels = levels.max(Level::LOWEST);
        let planted = Planted::default();
        let (heard, inside, copy, seen, epoch, leaving) = (BTreeMap::new(), None, None, 0, 0, false);
        let (accepted, census) = (0, Census::default());
        Self { id, members, levels, retry, planted, heard, inside, token, copy, seen, epoch, accepted, census, leaving }
    }

    /// The same, with fences that begin above this one if the token is here: for a resource that is made anew after its
    /// first token was lost with all nodes that could have had it.
    #[must_use]
    pub fn with_fences_above(mut self, fence: Fence) -> Self {
        if let Some(token) = &mut self.token {
            token.clock = token.clock.max(fence);
        }
        self
    }

    /// The state by the paper's name.
    pub fn state(&self) -> State {
        match (&self.token, &self.inside) {
            (Some(_), Some(_)) => State::EC,
            (Some(token), None) if token.followers.is_empty() => State::HI,
            (Some(_), None) => State::HS,
            (None, Some(_)) => State::EF,
            (None, None) if self.waits().is_some() => State::R,
            (None, None) => State::N,
        }
    }

    /// The number and the wish of the own request while it waits.
    pub(super) fn waits(&self) -> Option<(RequestId, Wish)> {
        let own = self.heard.get(&self.id).filter(|_| self.inside.is_none())?;
        own.wish.map(|wish| (own.stamp.number, wish))
    }

    pub(super) fn apply(&mut self, event: Event<Message>) -> Result<Effects, Misuse> {
        let mut effects = Vec::new();
        match event {
            Event::Request { request, demand } => self.on_request(request, &demand, &mut effects)?,
            Event::Cancel { request } => {
                self.check_waiting(request)?;
                self.tell(|_| None, &mut effects);
            }
            Event::Reprioritize { request, urgency } => {
                self.check_waiting(request)?;
                let level = Level::asked(urgency, self.levels)?;
                self.tell(|wish| Some(Wish { level, ..wish }), &mut effects);
            }
            Event::Release { request, units } => self.on_release(request, units, &mut effects)?,
            // Any process can reach any other: links are the business of the layer below.
            Event::LinkUp { .. } | Event::LinkDown { .. } => {}
            Event::Receive { from, message } => {
                if let Err(reason) = self.on_message(from, message, &mut effects) {
                    effects.push(Effect::Reject { from, reason });
                }
            }
            Event::Expired { timer } => self.on_expired(timer, &mut effects),
            Event::Resize { version, .. } => Misuse::check_resize(version)?,
            Event::Leave if self.inside.is_some() || self.waits().is_some() => return Err(Misuse::StillBusy),
            Event::Leave => self.leaving = true,
            Event::Resume => self.on_resume(&mut effects),
            Event::Census { census } => self.on_census(census, &mut effects)?,
            Event::Remake { remake } => self.on_remake(&remake, &mut effects)?,
        }
        Ok(effects)
    }

    fn on_request(&mut self, request: RequestId, demand: &Demand, effects: &mut Effects) -> Result<(), Misuse> {
        if self.leaving {
            return Err(Misuse::Leaving);
        }
        let (session, level) = asked(demand, self.levels)?;
        if self.heard.get(&self.id).is_some_and(|own| own.stamp.number >= request) {
            return Err(Misuse::RequestNumberUsed(request));
        }
        if self.inside.is_some() || self.waits().is_some() {
            return Err(Misuse::Busy);
        }
        let record = Record { stamp: Stamp { number: request, version: 0 }, wish: Some(Wish { session, level }) };
        self.announce(record, effects);
        if self.waits().is_some() {
            self.epoch += 1;
            self.arm(effects);
        }
        Ok(())
    }

    pub(super) fn check_waiting(&self, request: RequestId) -> Result<(), Misuse> {
        match self.heard.get(&self.id) {
            Some(own) if own.stamp.number < request => Err(Misuse::UnknownRequest(request)),
            None => Err(Misuse::UnknownRequest(request)),
            Some(own) if own.ends(request) => Err(Misuse::AlreadyOver(request)),
            Some(_) if self.inside.is_some() => Err(Misuse::AlreadyGranted(request)),
            Some(_) => Ok(()),
        }
    }

    /// Changes the own waiting request.
    fn tell(&mut self, change: impl FnOnce(Wish) -> Option<Wish>, effects: &mut Effects) {
        if let Some(own) = self.heard.get(&self.id).copied() {
            self.announce(own.changed(own.wish.and_then(change)), effects);
        }
    }

    /// A new word of this process: the holder acts on it, any other process tells all.
    fn announce(&mut self, record: Record, effects: &mut Effects) {
        self.heard.insert(self.id, record);
        if self.token.is_some() {
            self.serve(effects);
        } else {
            self.say(record, false, effects);
        }
    }

    /// To all, in one effect: a relay floods it once, where a message to each process would go the same way
    /// many times.
    pub(super) fn say(&self, record: Record, again: bool, effects: &mut Effects) {
        effects.push(Effect::Broadcast { message: Message::Request { node: self.id, record, again } });
    }

    /// While something is waited for, its timer runs.
    pub(super) fn arm(&self, effects: &mut Effects) {
        if let Some(after) = self.retry {
            effects.push(Effect::Arm { timer: Timer { epoch: self.epoch }, after });
        }
    }

    fn on_expired(&mut self, timer: Timer, effects: &mut Effects) {
        let Some(own) = self.heard.get(&self.id).copied() else { return };
        if self.waits().is_none() || timer.epoch != self.epoch {
            return; // stale: the request it was for is inside or over
        }
        if self.token.is_none() {
            self.say(own, true, effects);
        }
        self.chase(self.id, effects);
        self.arm(effects);
    }

    pub(super) fn on_record(
        &mut self,
        from: NodeId,
        record: Record,
        again: bool,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        if record.stamp.version >= LIMIT || record.wish.is_some_and(|wish| !wish.level.is_within(self.levels)) {
            return Err(Rejection::NumberOutOfRange);
        }
        let known = self.heard.get(&from).map(|known| known.stamp);
        if known > Some(record.stamp) {
            return Ok(());
        }
        let had_token = self.token.is_some();
        if known < Some(record.stamp) {
            self.heard.insert(from, record);
            self.serve(effects);
            // What was just done for it is not done again.
            let open = self.token.as_ref().map_or(!had_token, |token| token.queue.has(from));
            if again && open {
                self.chase(from, effects);
            }
        } else if again && self.heard.get(&from).is_some_and(|known| known.wish.is_some()) {
            self.chase(from, effects);
        }
        Ok(())
    }

    pub(super) fn on_token(&mut self, from: NodeId, token: Token, effects: &mut Effects) -> Result<(), Rejection> {
        token.check(|node| self.knows(node), self.levels)?;
        if !self.heard.contains_key(&self.id) || token.followers.contains_key(&self.id) {
            return Err(Rejection::UnwantedToken);
        }
        if self.has_seen(&token) {
            effects.push(Effect::Send { to: from, message: Message::Have { transfer: token.transfer } });
            return Ok(());
        }
        if self.token.is_some() {
            return Err(Rejection::SecondToken);
        }
        self.seen = self.seen.max(token.transfer);
        self.note_arrival(token.transfer);
        self.copy = None;
        if let Some((number, wish)) = self.waits()
            && token.accepted.get(&self.id).is_some_and(|stamp| stamp.number == number)
        {
            self.enter(number, wish.session, token.clock, None, effects);
        }
        self.token = Some(token);
        self.serve(effects);
        Ok(())
    }

    pub(super) fn on_have(&mut self, from: NodeId, transfer: u64) -> Result<(), Rejection> {
        if transfer > self.seen {
            return Err(Rejection::UnexpectedAnswer);
        }
        self.copy = self.copy.take().filter(|copy| copy.to != from || copy.token.transfer != transfer);
        Ok(())
    }

    pub(super) fn enter(
        &mut self,
        request: RequestId,
        session: Session,
        fence: Fence,
        captain: Option<NodeId>,
        effects: &mut Effects,
    ) {
        let grant = Grant { request, units: Units(1), session: Some(session), fence: Some(fence), slots: Slots::NONE };
        self.inside = Some(Inside { grant: grant.clone(), captain, tells_all: false });
        effects.push(Effect::Granted { grant });
    }
}

#[cfg(test)]
mod tests;
