//! The printed algorithm, statement by statement, defects included. For study only.
//!
//! Swaroop and Singh, appendix A. The comments `A` to `H` name its statements:
//!
//! | label | event | label | event |
//! |---|---|---|---|
//! | A | initialization | E1-E4 | a process leaves |
//! | B1-B5 | a process wants in | F1-F2 | `complete` arrives |
//! | C1-C7 | `request` arrives | G | the token arrives |
//! | D | `start` arrives | H | Add_request |
//!
//! Ten defects, G1 to G10, can be repaired one by one ([`Repairs`]), so that each is seen alone. The process acts on a
//! `token` and a count of `followers` of its own; only its state tells whether it has the token, as in the text.
//!
//! Where the text leaves something open:
//! - what a process sends to itself (the token, if its own queued request wins, or a start) is handled at once. With
//!   a channel to itself the window of G6 would open there too;
//! - any queued process "can work as captain" (E3, F2);
//! - a request without priority (C3) counts as the lowest;
//! - a process that is let in without wanting to (G4, G7) attends its last request once more.

mod look;
pub mod message;
mod queue;
pub mod repairs;

pub use message::{Config, Message, Token};
pub use queue::{Entry, Queue};
pub use repairs::{Defect, Repairs};

use meshlock_core::Slots;
use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

use meshlock_core::group::{Level, State, asked};
use meshlock_core::protocol::{Effect, Event, Misuse, Rejection};
use meshlock_core::vocabulary::{Demand, Grant, NodeId, RequestId, Session, Units};

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Node {
    id: NodeId,
    members: BTreeSet<NodeId>,
    levels: Level,
    repairs: Repairs,
    state: State,
    /// RS: to whom requests are sent. Without meaning once G8 is repaired.
    request_set: BTreeSet<NodeId>,
    /// SN: the number of the latest request known, for each process.
    numbers: BTreeMap<NodeId, u64>,
    captain: Option<NodeId>,
    /// What is known of the token; of use only in the states that have it.
    token: Token,
    /// token.followers; with G5's repair it counts completes before the token is there.
    followers: i64,
    /// The own latest request, for which the text has no variables.
    own: Option<Asked>,
    /// The own latest request is not answered yet.
    waiting: bool,
    inside: Option<Grant>,
    /// With G6's repair: the latest request heard, for each process.
    kept: BTreeMap<NodeId, Asked>,
}

/// A request. Its number is the caller's for the own one, and SN for those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Asked {
    number: u64,
    session: Session,
    level: Level,
}

type Effects = Vec<Effect<Message>>;

impl Node {
    /// A: all others in RS; P1 has the idle token and an empty RS.
    pub fn new(config: Config) -> Self {
        let Config { id, members, levels, repairs } = config;
        let mut members: BTreeSet<_> = members.into_iter().collect();
        members.insert(id);
        let first = members.first() == Some(&id);
        let others = members.iter().copied().filter(|&member| member != id && !first);
        Self {
            id,
            levels: levels.max(Level::LOWEST),
            repairs,
            state: if first { State::HI } else { State::N },
            request_set: if repairs.has(Defect::G8) { BTreeSet::new() } else { others.collect() },
            members,
            numbers: BTreeMap::new(),
            captain: None,
            token: Token::default(),
            followers: 0,
            own: None,
            waiting: false,
            inside: None,
            kept: BTreeMap::new(),
        }
    }

    /// The state by the paper's name.
    pub const fn state(&self) -> State {
        self.state
    }

    fn apply(&mut self, event: Event<Message>) -> Result<Effects, Misuse> {
        let mut effects = Vec::new();
        match event {
            Event::Request { request, demand } => self.on_want(request, &demand, &mut effects)?,
            Event::Release { request, units } => self.on_release(request, units, &mut effects)?,
            Event::Cancel { .. } => return Err(Misuse::Unsupported("cancel a request")),
            Event::Reprioritize { .. } => return Err(Misuse::Unsupported("change a priority")),
            Event::LinkUp { .. } | Event::LinkDown { .. } | Event::Expired { .. } => {}
            Event::Resize { version, .. } => Misuse::check_resize(version)?,
            Event::Leave => return Err(Misuse::Unsupported("leave")),
            Event::Resume => return Err(Misuse::Unsupported("go on after a stop")),
            Event::Census { .. } | Event::Remake { .. } => return Err(Misuse::Unsupported("recover")),
            Event::Receive { from, message } => {
                if let Err(reason) = self.on_message(from, message, &mut effects) {
                    effects.push(Effect::Reject { from, reason });
                }
            }
        }
        Ok(effects)
    }

    fn on_want(&mut self, request: RequestId, demand: &Demand, effects: &mut Effects) -> Result<(), Misuse> {
        let (session, level) = asked(demand, self.levels)?;
        if self.own.is_some_and(|own| own.number >= request.0) {
            return Err(Misuse::RequestNumberUsed(request));
        }
        if self.waiting || self.inside.is_some() {
            return Err(Misuse::Busy);
        }
        self.own = Some(Asked { number: request.0, session, level });
        self.waiting = true;
        // B1
        let number = self.number_of(self.id) + 1;
        self.numbers.insert(self.id, number);
        match self.state {
            State::HI => {
                // B2
                self.accept(self.id, number);
                self.token.session = Some(session);
                self.state = State::EC;
                self.request_set.clear();
                self.enter(effects);
            }
            State::HS => {
                self.accept(self.id, number);
                if self.token.queue.is_empty() && self.token.session == Some(session) {
                    // B3
                    self.state = State::EC;
                    self.enter(effects);
                } else {
                    // B4
                    self.add_request(self.id, session, level);
                }
            }
            State::R | State::N | State::EC | State::EF => {
                // B5
                self.state = State::R;
                let message = Message::Request { node: self.id, number, session, level: Some(level) };
                let to = if self.repairs.has(Defect::G8) { &self.members } else { &self.request_set };
                let to = to.iter().filter(|&&to| to != self.id);
                effects.extend(to.map(|&to| Effect::Send { to, message: message.clone() }));
            }
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, effects: &mut Effects) -> Result<(), Rejection> {
        if from == self.id || !self.members.contains(&from) {
            return Err(Rejection::UnknownSender);
        }
        match message {
            Message::Request { node, number, session, level } => {
                let level = level.unwrap_or(Level::LOWEST);
                if node != from {
                    return Err(Rejection::UnknownNode);
                }
                if !level.is_within(self.levels) {
                    return Err(Rejection::NumberOutOfRange);
                }
                self.on_request(from, Asked { number, session, level }, effects);
            }
            Message::Start { captain } => {
                if captain == self.id || !self.members.contains(&captain) {
                    return Err(Rejection::UnknownNode);
                }
                if self.own.is_none() {
                    return Err(Rejection::UnexpectedAnswer);
                }
                self.on_start(captain, effects);
            }
            Message::Complete => self.on_complete(effects),
            Message::Token { token, followers } => {
                if self.own.is_none() {
                    return Err(Rejection::UnwantedToken);
                }
                self.on_token(token, followers, effects);
            }
        }
        Ok(())
    }

    fn on_request(&mut self, from: NodeId, request: Asked, effects: &mut Effects) {
        // C1
        if request.number <= self.number_of(from) {
            return;
        }
        // C2
        self.numbers.insert(from, request.number);
        if self.keeps_requests() {
            self.kept.insert(from, request);
        }
        if self.state.holds_token() && self.was_accepted(from, request.number) {
            return; // G7's repair
        }
        let sets = !self.repairs.has(Defect::G8);
        match self.state {
            State::R if sets && !self.request_set.contains(&from) => {
                // C3
                self.request_set.insert(from);
                if let Some(own) = self.own {
                    let number = self.number_of(self.id);
                    let level = Some(own.level).filter(|_| self.repairs.has(Defect::G10));
                    let message = Message::Request { node: self.id, number, session: own.session, level };
                    effects.push(Effect::Send { to: from, message });
                }
            }
            State::EC | State::HS => self.join_or_queue(from, request, effects), // C4, C6
            State::HI => {
                // C5
                if sets {
                    self.request_set.insert(from);
                }
                self.accept(from, request.number);
                if self.repairs.has(Defect::G3) {
                    self.token.session = Some(request.session);
                }
                let message = Message::Token { token: self.token.clone(), followers: self.followers };
                effects.push(Effect::Send { to: from, message });
                if self.repairs.has(Defect::G1) {
                    self.state = State::N;
                    self.token = Token::default();
                }
            }
            State::R | State::N | State::EF => {
                // C7
                if sets {
                    self.request_set.insert(from);
                }
            }
        }
    }

    /// C4 and C6: what a captain does with a request.
    fn join_or_queue(&mut self, from: NodeId, request: Asked, effects: &mut Effects) {
        self.accept(from, request.number);
        if self.token.session == Some(request.session) && self.token.queue.is_empty() {
            self.followers = self.followers.saturating_add(1);
            effects.push(Effect::Send { to: from, message: Message::Start { captain: self.id } });
        } else {
            self.add_request(from, request.session, request.level);
        }
    }

    /// D.
    fn on_start(&mut self, captain: NodeId, effects: &mut Effects) {
        self.captain = Some(captain);
        self.state = State::EF;
        self.enter(effects);
    }

    fn on_release(&mut self, request: RequestId, units: Units, effects: &mut Effects) -> Result<(), Misuse> {
        let Some(grant) = self.inside.clone().filter(|grant| grant.request == request) else {
            return Err(match self.own {
                Some(own) if own.number == request.0 && self.waiting => Misuse::NotGranted(request),
                Some(own) if own.number >= request.0 => Misuse::AlreadyOver(request),
                Some(_) | None => Misuse::UnknownRequest(request),
            });
        };
        if units != grant.units {
            return Err(Misuse::PartialRelease { request, held: grant.units, asked: units });
        }
        self.inside = None;
        if self.state == State::EF {
            // E1
            if let Some(captain) = self.captain.take() {
                effects.push(Effect::Send { to: captain, message: Message::Complete });
            }
            self.state = State::N;
            return Ok(());
        }
        if self.followers == 0 && self.token.queue.is_empty() {
            // E2
            self.state = State::HI;
            self.token.session = None;
            if self.repairs.has(Defect::G2) {
                return Ok(());
            }
        }
        if self.followers == 0 && !self.token.queue.is_empty() {
            self.pass_on(effects); // E3
        } else {
            self.state = State::HS; // E4
        }
        Ok(())
    }

    fn on_complete(&mut self, effects: &mut Effects) {
        // F1
        if !self.state.holds_token() && !self.repairs.has(Defect::G5) {
            return; // there is no token whose count could be lowered
        }
        self.followers = self.followers.saturating_sub(1);
        // F2
        if self.followers == 0 && self.state == State::HS {
            if self.token.queue.is_empty() {
                self.state = State::HI;
            } else {
                self.pass_on(effects);
            }
        }
    }

    /// E3 and F2: the next session.
    fn pass_on(&mut self, effects: &mut Effects) {
        let queued = self.token.queue.has(self.id);
        self.state = if queued == self.repairs.has(Defect::G9) { State::R } else { State::N };
        self.token.queue.age();
        if !self.repairs.has(Defect::G8) {
            self.request_set.extend(self.token.queue.members().filter(|&member| member != self.id));
        }
        let Some(entry) = self.token.queue.take_first() else { return };
        let Some((&captain, followers)) = entry.members.split_first() else { return };
        let mut token = std::mem::take(&mut self.token);
        token.session = Some(entry.session);
        self.followers = 0;
        let count = i64::try_from(followers.len()).unwrap_or(i64::MAX);
        if captain == self.id {
            self.on_token(token, count, effects);
        } else {
            effects.push(Effect::Send { to: captain, message: Message::Token { token, followers: count } });
        }
        for &follower in followers {
            if follower == self.id {
                self.on_start(captain, effects);
            } else {
                effects.push(Effect::Send { to: follower, message: Message::Start { captain } });
            }
        }
    }

    /// G.
    fn on_token(&mut self, token: Token, followers: i64, effects: &mut Effects) {
        self.token = token;
        self.followers =
            if self.repairs.has(Defect::G5) { self.followers.saturating_add(followers) } else { followers };
        self.state = State::EC;
        self.enter(effects);
        self.request_set.clear();
        // G6's repair
        let kept: Vec<_> = self.kept.iter().map(|(&node, &request)| (node, request)).collect();
        for (node, request) in kept {
            if !self.was_accepted(node, request.number) {
                self.join_or_queue(node, request, effects);
            }
        }
    }

    /// H.
    fn add_request(&mut self, node: NodeId, session: Session, level: Level) {
        self.token.queue.add(node, session, level, self.repairs.has(Defect::G4));
    }

    fn enter(&mut self, effects: &mut Effects) {
        let Some(own) = self.own else { return };
        self.waiting = false;
        let (request, session) = (RequestId(own.number), Some(own.session));
        let grant = Grant { request, units: Units(1), session, fence: None, slots: Slots::NONE };
        self.inside = Some(grant.clone());
        effects.push(Effect::Granted { grant });
    }

    fn number_of(&self, node: NodeId) -> u64 {
        self.numbers.get(&node).copied().unwrap_or(0)
    }

    /// G7's repair: the token remembers that this request was taken up.
    fn accept(&mut self, node: NodeId, number: u64) {
        if self.repairs.has(Defect::G7) {
            self.token.accepted.insert(node, number);
        }
    }

    fn was_accepted(&self, node: NodeId, number: u64) -> bool {
        self.token.accepted.get(&node).is_some_and(|&accepted| accepted >= number)
    }

    /// G6's repair stands on G7's: without knowing what was taken up, what was kept cannot be used.
    fn keeps_requests(&self) -> bool {
        self.repairs.has(Defect::G6) && self.repairs.has(Defect::G7)
    }
}

#[cfg(test)]
mod tests;
