//! Whether this node may grant at all, and for how long.
//!
//! With voters a node has standing: it may act until the others may declare it gone. Without it, or before it takes
//! part, it hands no request to a protocol, so none is granted; those that wait stay and are handed over later. What a
//! client is promised never ends after the standing, and survives a crash of this node: a note of it is kept outside of
//! this process.

use meshlock_api::State;
use meshlock_core::{Event, RequestId, Units};

use super::super::alarms::Alarm;
use super::super::clients::Ticket;
use super::super::registry::REGISTRY;
use super::super::{Machine, Now, Request};
use crate::wire::Number;

/// What has to be noted of leases so that it outlives this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// No lease that was promised ends after this.
    Until(Now),
    /// No client holds anything.
    Nothing,
}

/// What clients were promised.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    /// The latest end of a lease.
    latest: Now,
    /// What was noted.
    noted: Now,
    /// How many requests are granted.
    holders: usize,
    /// Nothing is held, which is to be noted.
    over: bool,
    /// It is looked soon whether anything is held: one alarm, however many locks come and go.
    is_watched: bool,
    /// It is time to try whether notes can be written again.
    try_again: bool,
}

/// A note reaches this much further than it has to, so that it is not written for every lease.
const FURTHER_MS: u64 = 1_000;

/// So long after a note that could not be written it is tried again.
const NOTE_AGAIN_MS: u64 = 1_000;

/// Nothing must have been held for so long before that is noted.
const OVER_MS: u64 = 100;

impl Machine {
    /// Why this node grants nothing now, if that is so.
    pub fn suspended(&self) -> Option<&str> {
        self.recovery.as_ref().and_then(|recovery| recovery.suspended.as_deref())
    }

    /// Grants nothing new until the first link is up: others may know that this node is gone.
    pub(crate) fn suspend_for_link(&mut self) {
        if let Some(recovery) = &mut self.recovery {
            recovery.suspended =
                Some("this node waits for a link after its stop: others may hold it for gone".to_owned());
            recovery.waits_for_link = true;
        }
    }

    /// A neighbour has told who is gone.
    pub(crate) fn heard_census(&mut self, now: Now) {
        let waits = self.recovery.as_mut().map(|recovery| std::mem::take(&mut recovery.waits_for_link));
        if waits == Some(true) && !self.is_expelled() {
            self.resume_granting(now);
        }
    }

    /// Grants nothing from now on: clients lose what they hold, those that wait go on waiting. No lease is longer than a
    /// node's standing, so what they held is over.
    pub fn suspend(&mut self, now: Now, reason: &str) {
        self.suspend_by(now, reason, Self::end);
    }

    /// What clients hold cannot be noted, so they lose it, and nothing is granted until notes can be written again. Their
    /// leases still run: what they hold goes back when they say that they have stopped, or with the end of their leases,
    /// and never before. Whether that is news.
    pub fn cannot_note(&mut self, now: Now, reason: &str) -> bool {
        let Some(recovery) = self.recovery.as_mut() else { return true };
        let is_news = !std::mem::replace(&mut recovery.cannot_note, true);
        if is_news {
            self.alarms.set(now.plus_ms(NOTE_AGAIN_MS), Alarm::Noting);
        }
        self.promises.noted = Now::default(); // it was not
        self.suspend_by(now, reason, Self::end_when_stopped);
        is_news
    }

    pub(crate) fn noting_due(&mut self, now: Now) {
        if self.recovery.as_ref().is_some_and(|recovery| recovery.cannot_note) {
            self.promises.try_again = true;
            self.alarms.set(now.plus_ms(NOTE_AGAIN_MS), Alarm::Noting);
        }
    }

    /// Whether it is to be tried now if notes can be written.
    pub fn take_try_again(&mut self) -> bool {
        std::mem::take(&mut self.promises.try_again)
    }

    /// Notes can be written again.
    pub fn can_note(&mut self, now: Now) {
        let Some(recovery) = self.recovery.as_mut() else { return };
        recovery.cannot_note = false;
        let by_itself = recovery.voting.is_none() && recovery.silent_until.is_none() && !recovery.waits_for_link;
        if !by_itself {
            self.look_at_standing(now); // or another reason lasts
        } else if !self.is_expelled() {
            self.resume_granting(now);
        }
    }

    fn suspend_by(&mut self, now: Now, reason: &str, end: fn(&mut Self, Now, Ticket, State, Option<String>)) {
        let Some(recovery) = self.recovery.as_mut() else { return };
        let was = recovery.suspended.replace(reason.to_owned());
        if was.is_some() {
            return;
        }
        for ticket in self.granted_ones() {
            end(self, now, ticket, State::Revoked, Some(reason.to_owned()));
        }
        self.withhold(now);
    }

    /// Grants again.
    pub(crate) fn resume_granting(&mut self, now: Now) {
        let Some(recovery) = self.recovery.as_mut() else { return };
        if !recovery.cannot_note && recovery.suspended.take().is_some() {
            self.submit_all(now);
            self.seek_registry(now);
        }
    }

    /// Ends all that clients hold.
    pub(crate) fn end_grants(&mut self, now: Now, reason: &str) {
        for ticket in self.granted_ones() {
            self.end(now, ticket, State::Revoked, Some(reason.to_owned()));
        }
    }

    fn granted_ones(&self) -> Vec<Ticket> {
        let granted = |ticket: &_| self.requests.get(*ticket).is_some_and(|request| request.state == State::Granted);
        self.requests.alive_ones().into_iter().filter(granted).collect()
    }

    /// Takes all that waits out of the protocols. What a client was told to give back stays: it is granted there until the
    /// client has stopped or its lease is over, and goes back then.
    fn withhold(&mut self, now: Now) {
        for number in self.numbers() {
            let Some(known) = self.resources.get_mut(&number) else { continue };
            known.desk = Default::default();
            // All who were inside have been ended, so those of the company linger.
            let company = known.company.as_ref().map(|company| company.number);
            let lingering = &self.lingering;
            let waits = |request: &RequestId, ticket: &mut Ticket| {
                company != Some(*request) && !lingering.contains(&(number, *ticket))
            };
            let waiting: Vec<(RequestId, Ticket)> = known.tickets.extract_if(.., waits).collect();
            for (request, ticket) in waiting {
                if let Some(waiting) = self.requests.get_mut(ticket) {
                    waiting.number = None;
                }
                self.link_step(now, number, Event::Cancel { request });
            }
        }
        self.withhold_registry(now);
    }

    /// Hands over all that waits and was withheld.
    pub(crate) fn submit_all(&mut self, now: Now) {
        for ticket in self.requests.alive_ones() {
            let waits = |request: &&Request| request.state == State::Queued && request.number.is_none();
            if self.requests.get(ticket).filter(waits).is_some_and(|request| request.demand.is_some()) {
                self.submit(now, ticket);
            }
        }
    }

    /// A protocol granted something while this node may not: it goes back at once, and its request waits on.
    pub(crate) fn refuse_grant(&mut self, now: Now, resource: Number, request: RequestId, units: Units) {
        let ticket = self.resources.get_mut(&resource).and_then(|known| known.tickets.remove(&request));
        if let Some(waiting) = ticket.and_then(|ticket| self.requests.get_mut(ticket)) {
            waiting.number = None;
        }
        if resource == REGISTRY {
            self.forget_registry_request();
        }
        self.link_step(now, resource, Event::Release { request, units });
    }

    /// When a lease of this length ends that begins now: never after the standing.
    pub(crate) fn lease_end(&self, now: Now, lease_ms: u64) -> Now {
        let end = now.plus_ms(lease_ms);
        self.standing_until().map_or(end, |standing| end.min(standing))
    }

    /// A client may rely on its grant until then.
    pub(crate) fn promise(&mut self, until: Now) {
        self.promises.latest = self.promises.latest.max(until);
    }

    pub(crate) fn count_holder(&mut self) {
        self.promises.holders += 1;
        self.promises.over = false;
    }

    pub(crate) fn uncount_holder(&mut self, now: Now) {
        self.promises.holders = self.promises.holders.saturating_sub(1);
        let is_last = self.promises.holders == 0 && self.promises.noted > now && self.recovery.is_some();
        if is_last && !self.promises.is_watched {
            self.promises.is_watched = true;
            self.alarms.set(now.plus_ms(OVER_MS), Alarm::Promises);
        }
    }

    pub(crate) fn promises_due(&mut self) {
        self.promises.is_watched = false;
        self.promises.over = self.promises.holders == 0 && self.promises.noted > Now::default();
    }

    /// What has to be noted before any client hears of what just happened.
    pub fn take_promise(&mut self) -> Option<Promise> {
        self.recovery.as_ref()?;
        let promises = &mut self.promises;
        if promises.over {
            (promises.over, promises.noted, promises.latest) = (false, Now::default(), Now::default());
            return Some(Promise::Nothing);
        }
        if promises.latest <= promises.noted {
            return None;
        }
        promises.noted = promises.latest.plus_ms(FURTHER_MS);
        Some(Promise::Until(promises.noted))
    }
}
