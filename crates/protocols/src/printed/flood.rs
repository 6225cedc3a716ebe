//! Algorithm 1 of the report, statement by statement. For study only: it is wrong in known ways (`docs/errata.md`).
//!
//! The labels R, L, Q and T in the comments number the printed statements of `Request_CS`, `Release_CS`,
//! `Receive_Request_CS` and `Receive_Token`; names of variables are those of the report. Each repair of [`Repairs`]
//! stands at its place, so that a defect can be shown alone. What the text leaves open was read in its favour:
//!
//! - `TOKEN` carries its destination: the receiver tests one, and a release computes one.
//! - The caller that waits for the token wakes in a step of its own. Here that step is a timer of no delay: when it
//!   runs out, the station enters. A driver may let any number of messages arrive before it.
//! - `TokenL` is declared but never used, `RequestL` is tested but never filled. As printed they do nothing. Repair F1
//!   fills `RequestL` with what this station flooded, and a request found there is destroyed (the report says so in
//!   its section 4.1); repairs F1 and F3 fill `TokenL` with the latest clock seen for each destination, or with the list
//!   of all of them ([`Reading::TokenList`]). The clock of a station counts the floods it started.
//!
//! As in the report the stations are known in advance, there is one resource of one unit, one request at a time at
//! each station, no order but that of arrival, and no way to withdraw a request.

use meshlock_core::Slots;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::vec::Vec;

use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::protocol::{Delay, Effect, Event, Misuse, Protocol, Rejection, Timer};
use meshlock_core::view::{Claimant, Origin, Returning, TokenView, View, Waiting};
use meshlock_core::vocabulary::{Demand, Grant, NodeId, Rank, RequestId, Units};

mod readings;
mod repairs;
#[cfg(test)]
mod tests;

pub use readings::{Reading, Readings};
pub use repairs::{Defect, Repairs};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub id: NodeId,
    /// All stations, this one included, in the same order everywhere. The first is S1, which starts with the token.
    pub stations: Vec<NodeId>,
    pub repairs: Repairs,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// `REQUEST(j, k)`.
    Request {
        /// j: who asks.
        site: NodeId,
        /// k: counts the requests of `site`.
        k: u64,
    },
    /// `TOKEN(Q, LN)`.
    Token {
        dest: NodeId,
        /// With repair F4 the number of the transfer, else the clock of the station that gave it away.
        clock: u64,
        /// The waiting stations, in order.
        q: VecDeque<NodeId>,
        /// The latest request served, by station.
        ln: BTreeMap<NodeId, u64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Etat {
    /// Wants the critical section.
    Requesting,
    NotRequesting,
    /// Is inside, or has been inside last: see F2.
    CriticalSection,
}

/// What the application at this station is doing. The report has no such variable: its caller blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Caller {
    Elsewhere,
    Waiting,
    Inside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Node {
    id: NodeId,
    repairs: Repairs,
    readings: Readings,
    /// For views and rejections only.
    neighbours: BTreeSet<NodeId>,
    etat: Etat,
    token: bool,
    /// The latest request heard, by station. Invariant: `rn` and `ln` have an entry for every station known in advance.
    rn: BTreeMap<NodeId, u64>,
    /// The latest request served, by station, as known when the token was here last.
    ln: BTreeMap<NodeId, u64>,
    q: VecDeque<NodeId>,
    /// The latest request flooded from here, by station. Empty without repair F1.
    request_l: BTreeMap<NodeId, u64>,
    /// The clocks seen for each destination, without repetition: the latest, or all if it is read as a list. Empty
    /// without repairs F1 and F3.
    token_l: BTreeSet<(NodeId, u64)>,
    /// `C_i`: the floods this station started. Stands still with repair F4.
    clock: u64,
    /// With repair F4, while the token is here: how often it was given away.
    transfer: u64,
    caller: Caller,
    /// The caller's number of its latest request.
    request: RequestId,
    /// Of the latest wake-up step; earlier ones are void.
    epoch: u64,
}

type Effects = Vec<Effect<Message>>;

impl Node {
    pub fn new(config: Config) -> Self {
        let zeros: BTreeMap<_, _> = config.stations.iter().map(|station| (*station, 0)).collect();
        Self {
            id: config.id,
            repairs: config.repairs,
            readings: Readings::NONE,
            neighbours: BTreeSet::new(),
            etat: Etat::NotRequesting,
            token: config.stations.first() == Some(&config.id),
            rn: zeros.clone(),
            ln: zeros,
            q: VecDeque::new(),
            request_l: BTreeMap::new(),
            token_l: BTreeSet::new(),
            clock: 0,
            transfer: 0,
            caller: Caller::Elsewhere,
            request: RequestId(0),
            epoch: 0,
        }
    }

    /// The same station with the report read in these other ways.
    #[must_use]
    pub fn read_as(self, readings: Readings) -> Self {
        Self { readings, ..self }
    }

    /// `Etat`, as the report calls the state of a station.
    pub fn etat(&self) -> Etat {
        self.etat
    }

    fn repaired(&self, defect: Defect) -> bool {
        self.repairs.has(defect)
    }

    fn request_cs(&mut self, request: RequestId, demand: &Demand, effects: &mut Effects) -> Result<(), Misuse> {
        Misuse::check_units(demand, Units(1))?;
        if demand.session.is_some() {
            return Err(Misuse::NoSessions);
        }
        if self.caller != Caller::Elsewhere {
            return Err(Misuse::Busy);
        }
        if request <= self.request {
            return Err(Misuse::RequestNumberUsed(request));
        }
        let Some(rn) = self.rn.get_mut(&self.id) else {
            return Err(Misuse::Unsupported("serve a station that is not one of those known in advance"));
        };
        self.request = request;
        self.etat = Etat::Requesting; // R1
        if self.token {
            self.enter(effects); // R3
        } else {
            *rn += 1; // R2
            let k = *rn;
            self.caller = Caller::Waiting;
            self.tick();
            self.flood_request(self.id, k, effects);
        }
        Ok(())
    }

    /// R3.
    fn enter(&mut self, effects: &mut Effects) {
        self.etat = Etat::CriticalSection;
        self.caller = Caller::Inside;
        let grant = Grant { request: self.request, units: Units(1), session: None, fence: None, slots: Slots::NONE };
        effects.push(Effect::Granted { grant });
    }

    fn release_cs(&mut self, request: RequestId, units: Units, effects: &mut Effects) -> Result<(), Misuse> {
        if request > self.request || request.0 == 0 {
            return Err(Misuse::UnknownRequest(request));
        }
        match self.caller {
            Caller::Inside if request == self.request => {}
            Caller::Waiting if request == self.request => return Err(Misuse::NotGranted(request)),
            Caller::Inside | Caller::Waiting | Caller::Elsewhere => return Err(Misuse::AlreadyOver(request)),
        }
        if units != Units(1) {
            return Err(Misuse::PartialRelease { request, held: Units(1), asked: units });
        }
        self.caller = Caller::Elsewhere;
        self.ln.insert(self.id, self.rn.get(&self.id).copied().unwrap_or(0)); // L1
        if self.repaired(Defect::F7) {
            self.queue_all_unserved();
        }
        if self.repaired(Defect::F2) {
            self.etat = Etat::NotRequesting;
        }
        if let Some(site) = self.q.pop_front() {
            self.send_token(site, effects); // L2
        }
        Ok(())
    }

    /// Repair F7: the release rule of Suzuki and Kasami, from the next station around.
    fn queue_all_unserved(&mut self) {
        let around = self.rn.range(self.id..).chain(self.rn.range(..self.id));
        for (j, number) in around {
            if Some(number) > self.ln.get(j) && !self.q.contains(j) {
                self.q.push_back(*j);
            }
        }
    }

    fn send_token(&mut self, dest: NodeId, effects: &mut Effects) {
        self.token = false;
        let clock = if self.repaired(Defect::F4) {
            std::mem::take(&mut self.transfer) + 1
        } else {
            self.tick();
            self.clock
        };
        if dest != self.id {
            self.remember_token(dest, clock); // one sent to itself (F5) comes back as a relayed copy
        }
        let message = Message::Token { dest, clock, q: self.q.clone(), ln: self.ln.clone() };
        effects.push(Effect::Broadcast { message });
    }

    /// The local clock matters only while tokens are recognised by it.
    fn tick(&mut self) {
        if !self.repaired(Defect::F4) {
            self.clock += 1;
        }
    }

    fn flood_request(&mut self, site: NodeId, k: u64, effects: &mut Effects) {
        if self.repaired(Defect::F1) {
            self.request_l.insert(site, k);
        }
        effects.push(Effect::Broadcast { message: Message::Request { site, k } });
    }

    /// Repair F1: what was flooded from here before is destroyed.
    fn is_old_request(&self, site: NodeId, k: u64) -> bool {
        self.request_l.get(&site).is_some_and(|flooded| k <= *flooded)
    }

    fn receive_request(&mut self, j: NodeId, k: u64, effects: &mut Effects) -> Result<(), Rejection> {
        let (Some(rn), Some(ln)) = (self.rn.get_mut(&j), self.ln.get(&j)) else { return Err(Rejection::UnknownNode) };
        if k > LIMIT {
            return Err(Rejection::NumberOutOfRange);
        }
        *rn = k.max(*rn); // Q1
        let unserved = *rn > *ln;
        if self.token && self.etat == Etat::NotRequesting && unserved {
            self.send_token(j, effects); // Q3
        } else if !self.token {
            self.flood_request(j, k, effects); // Q4, and Q2: a later request replaces the older entry of RequestL
        }
        if self.etat == Etat::CriticalSection {
            let wanted = unserved && !self.q.contains(&j);
            if wanted || !self.repaired(Defect::F5) {
                self.q.push_back(j); // Q5
            }
        }
        Ok(())
    }

    fn receive_token(&mut self, message: Message, effects: &mut Effects) -> Result<(), Rejection> {
        let Message::Token { dest, clock, ref q, ref ln } = message else { return Ok(()) };
        let known = |j: &NodeId| self.rn.contains_key(j);
        if !(known(&dest) && q.iter().all(known) && ln.keys().eq(self.rn.keys())) {
            return Err(Rejection::UnknownNode);
        }
        if clock > LIMIT || ln.values().any(|number| *number > LIMIT) {
            return Err(Rejection::NumberOutOfRange);
        }
        self.remember_token(dest, clock);
        if dest == self.id {
            self.take_token(clock, q.clone(), ln.clone(), effects); // T1
        } else {
            effects.push(Effect::Broadcast { message }); // T2
        }
        Ok(())
    }

    fn take_token(&mut self, clock: u64, q: VecDeque<NodeId>, ln: BTreeMap<NodeId, u64>, effects: &mut Effects) {
        self.token = true;
        self.ln = ln;
        self.q = q;
        self.transfer = if self.repaired(Defect::F4) { clock } else { 0 };
        if self.caller == Caller::Waiting {
            if self.repaired(Defect::F6) {
                self.enter(effects);
            } else {
                self.epoch += 1;
                effects.push(Effect::Arm { timer: Timer { epoch: self.epoch }, after: AT_ONCE });
            }
        }
    }

    /// The caller notices that the token has come.
    fn wake(&mut self, timer: Timer, effects: &mut Effects) {
        if timer.epoch == self.epoch && self.token && self.caller == Caller::Waiting {
            self.enter(effects);
        }
    }

    fn is_new_token(&self, dest: NodeId, clock: u64) -> bool {
        if self.readings.has(Reading::TokenList) {
            !self.token_l.contains(&(dest, clock))
        } else {
            self.latest_seen(dest).is_none_or(|seen| clock > seen)
        }
    }

    /// The latest clock of a token for this destination.
    fn latest_seen(&self, dest: NodeId) -> Option<u64> {
        self.token_l.range((dest, 0)..=(dest, u64::MAX)).next_back().map(|(_, clock)| *clock)
    }

    /// Kept only where a repair reads it.
    fn remember_token(&mut self, dest: NodeId, clock: u64) {
        let read = if dest == self.id { Defect::F3 } else { Defect::F1 };
        if !self.repaired(read) {
            return;
        }
        if self.readings.has(Reading::TokenList) {
            self.token_l.insert((dest, clock));
        } else if self.latest_seen(dest).is_none_or(|seen| clock > seen) {
            self.token_l.retain(|(other, _)| *other != dest);
            self.token_l.insert((dest, clock));
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
            Event::Request { request, demand } => self.request_cs(request, &demand, &mut effects)?,
            Event::Cancel { .. } => return Err(Misuse::Unsupported("cancel a request")),
            Event::Reprioritize { .. } => return Err(Misuse::Unsupported("change the urgency of a request")),
            Event::Release { request, units } => self.release_cs(request, units, &mut effects)?,
            Event::LinkUp { neighbour } => drop(self.neighbours.insert(neighbour)),
            Event::LinkDown { neighbour } => drop(self.neighbours.remove(&neighbour)),
            Event::Receive { from, message } => {
                let outcome = match message {
                    _ if self.is_stale(from, &message) => Ok(()), // repairs F1 and F3
                    _ if !self.neighbours.contains(&from) => Err(Rejection::UnknownSender),
                    Message::Request { site, k } => self.receive_request(site, k, &mut effects),
                    Message::Token { .. } => self.receive_token(message, &mut effects),
                };
                if let Err(reason) = outcome {
                    effects.push(Effect::Reject { from, reason });
                }
            }
            Event::Expired { timer } => self.wake(timer, &mut effects),
            Event::Resize { version, .. } => Misuse::check_resize(version)?,
            Event::Leave => return Err(Misuse::Unsupported("leave")),
            Event::Resume => return Err(Misuse::Unsupported("go on after a stop")),
            Event::Census { .. } | Event::Remake { .. } => return Err(Misuse::Unsupported("recover")),
        }
        Ok(effects)
    }

    fn view(&self) -> View {
        let role = match self.etat {
            Etat::Requesting => "requesting",
            Etat::NotRequesting => "not_requesting",
            Etat::CriticalSection => "critical_section",
        };
        let waiting = Waiting { request: self.request, rank: Rank(0), units: Units(1), session: None };
        let grant = Grant { request: self.request, units: Units(1), session: None, fence: None, slots: Slots::NONE };
        let free = Units(u32::from(self.caller != Caller::Inside));
        let pass = if self.repaired(Defect::F4) { Some(self.transfer) } else { self.latest_seen(self.id) };
        View {
            role: role.into(),
            token: self.token.then(|| token_view(pass, free, &self.q)),
            neighbours: self.neighbours.iter().copied().collect(),
            waiting: if self.caller == Caller::Waiting { [waiting].into() } else { Vec::new() },
            holding: if self.caller == Caller::Inside { [grant].into() } else { Vec::new() },
            ..View::default()
        }
    }

    fn token_in(&self, from: NodeId, message: &Message) -> Option<TokenView> {
        match message {
            Message::Token { dest, clock, q, .. } => {
                let accepted = !self.repaired(Defect::F3) || self.is_new_token(*dest, *clock);
                (*dest == self.id && accepted && self.neighbours.contains(&from))
                    .then(|| token_view(Some(*clock), Units(1), q))
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

    /// What the station remembers to have flooded or accepted, where it remembers at all.
    fn is_stale(&self, _from: NodeId, message: &Message) -> bool {
        match message {
            Message::Token { dest, clock, .. } => {
                let read = if *dest == self.id { Defect::F3 } else { Defect::F1 };
                self.repaired(read) && !self.is_new_token(*dest, *clock)
            }
            Message::Request { site, k } => self.is_old_request(*site, *k),
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visitor.visit(CLOCKS, 0);
        visitor.number(CLOCKS, &mut self.clock);
        visitor.number(CLOCKS, &mut self.transfer);
        let renumbered = std::mem::take(&mut self.token_l).into_iter().map(|(dest, mut clock)| {
            visitor.number(CLOCKS, &mut clock);
            (dest, clock)
        });
        self.token_l = renumbered.collect();
        for (station, number) in self.rn.iter_mut().chain(&mut self.ln).chain(&mut self.request_l) {
            visitor.visit(Line::of("number", *station), 0);
            visitor.number(Line::of("number", *station), number);
        }
        visitor.visit(Line::of("request", self.id), 0);
        visitor.number(Line::of("request", self.id), &mut self.request.0);
        visitor.number(Line::of("epoch", self.id), &mut self.epoch);
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        match message {
            Message::Request { site, k } => visitor.number(Line::of("number", *site), k),
            Message::Token { clock, ln, .. } => {
                visitor.number(CLOCKS, clock);
                for (station, number) in ln {
                    visitor.number(Line::of("number", *station), number);
                }
            }
        }
    }
}

fn token_view(pass: Option<u64>, free: Units, q: &VecDeque<NodeId>) -> TokenView {
    let claimant = |j: &NodeId| Claimant { origin: Origin::Node(*j), rank: Rank(0), units: Units(1), session: None };
    TokenView { pass, free, queue: q.iter().map(claimant).collect(), ..TokenView::default() }
}

/// Numbers above this cannot be from honest counting.
const LIMIT: u64 = u64::MAX >> 2;

/// The step in which a waiting caller wakes.
const AT_ONCE: Delay = Delay { least_ms: 0, most_ms: 0 };

/// The clocks by which tokens are told apart. Stations count for themselves and their counts are compared, so no gap
/// is too large to matter.
const CLOCKS: Line = Line { name: "transfer", of: None, reach: 1 << 32 };
