//! One sweep over the moments of a run: units in use, requests that fit, requests that were passed, hand-over times.
//!
//! A request waits from when it is asked until, not including, when it is granted or given up; it is inside from its
//! grant until, not including, its release. What happens at one moment happens together: its order is not known any
//! more, so a grant is compared only with requests that were made before the moment and wait on after it.

use std::collections::BTreeSet;

use meshlock_core::Session;

use super::crowd::{Claim, Inside, Waiting, claim};
use super::{Sheet, Window};
use crate::outcome::{Outcome, Request, Totals};
use crate::scenario::{MessageSize, Network, Scenario};
use crate::time::{Span, Time};

/// What happens to a request, in the order in which it is looked at within a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Released,
    WaitEnds,
    Granted,
    Asked,
}

/// When, what, and to which request.
type Happening = (Time, What, usize);

/// The state of the sweep and what it has counted.
pub(super) struct Sweep<'a> {
    requests: &'a [Request],
    capacity: u32,
    window: &'a Window,
    waiting: Waiting,
    inside: Inside,
    elders: Elders,
    /// Since when everything is free while a request waits.
    vacant: Option<Time>,
    session: Option<Session>,
    times: Times,
    counts: Counts,
    hand_overs: Vec<f64>,
}

/// Sums over time, in nanoseconds and exact.
#[derive(Default)]
struct Times {
    units: u128,
    grants: u128,
    busy: u128,
    in_sessions: u128,
    session_open: u128,
    any_fits: u128,
    front_fits: u128,
    most_grants: u64,
}

/// Counts over the grants of the window.
#[derive(Default)]
struct Counts {
    entries: u64,
    passed_any: u64,
    passed_settled: u64,
    passed_fitting: u64,
    switches: u64,
    with_session: u64,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(scenario: &Scenario, outcome: &'a Outcome, window: &'a Window) -> Self {
        Self {
            requests: &outcome.requests,
            capacity: outcome.capacity,
            window,
            waiting: Waiting::default(),
            inside: Inside::default(),
            elders: Elders::new(&outcome.requests, news(scenario, outcome)),
            vacant: None,
            session: None,
            times: Times::default(),
            counts: Counts::default(),
            hand_overs: Vec::new(),
        }
    }

    pub(super) fn tell(mut self, sheet: &mut Sheet) {
        let happenings = happenings(self.requests, self.window.end);
        let mut now = Time::ZERO;
        for moment in happenings.chunk_by(|one, next| one.0 == next.0) {
            self.pass(now, moment[0].0);
            now = moment[0].0;
            self.happen(now, moment);
        }
        self.pass(now, self.window.end);
        self.write(sheet);
    }

    /// Time goes by.
    fn pass(&mut self, from: Time, to: Time) {
        let span = to.min(self.window.end).since(from.max(self.window.start));
        if span == Span::ZERO {
            return;
        }
        let span = u128::from(span.0);
        let if_true = |holds: bool| if holds { span } else { 0 };
        let room = self.inside.room(self.capacity);
        let front = self.waiting.most_urgent().and_then(|(_, _, index)| self.requests.get(index.0));
        let in_sessions = self.inside.in_sessions();
        self.times.units += span * u128::from(self.inside.units);
        self.times.grants += span * u128::from(self.inside.grants);
        self.times.busy += if_true(self.inside.grants > 0);
        self.times.in_sessions += span * u128::from(in_sessions);
        self.times.session_open += if_true(in_sessions > 0);
        self.times.any_fits += if_true(self.waiting.any_fits(room));
        self.times.front_fits += if_true(front.is_some_and(|request| room.fits(request)));
        self.times.most_grants = self.times.most_grants.max(self.inside.grants);
    }

    fn happen(&mut self, now: Time, moment: &[Happening]) {
        let requests = self.requests;
        let of =
            |what| moment.iter().filter(move |(_, is, _)| *is == what).map(|(_, _, index)| (*index, &requests[*index]));
        let held = |request: &Request| request.released.is_none_or(|released| released > now);

        for (_, request) in of(What::Released) {
            self.inside.leave(request);
        }
        let freed = of(What::Released).next().is_some() && self.inside.grants == 0;
        for (index, request) in of(What::WaitEnds) {
            self.waiting.remove(request, index);
            self.elders.remove(&claim(request, index));
        }
        let waited_for = !self.waiting.is_empty() || of(What::Granted).any(|(_, request)| request.asked < now);
        if !waited_for {
            self.vacant = None;
        } else if freed {
            self.vacant = Some(now);
        }

        for (_, request) in of(What::Granted).filter(|(_, request)| held(request)) {
            self.inside.enter(request);
        }
        self.elders.grow(now, requests);
        for (_, request) in of(What::Granted) {
            self.granted(now, request, held(request));
        }
        // Requests that enter and leave at once free everything again.
        if of(What::Granted).any(|(_, request)| !held(request)) && self.inside.grants == 0 && !self.waiting.is_empty() {
            self.vacant = Some(now);
        }
        for (index, request) in of(What::Asked) {
            self.waiting.insert(request, index);
        }
    }

    fn granted(&mut self, now: Time, request: &Request, held: bool) {
        let measured = self.window.has(now);
        if let Some(since) = self.vacant.take()
            && measured
            && self.window.has(since)
        {
            self.hand_overs.push(now.since(since).seconds());
        }
        let switches = request.session.is_some() && self.session.is_some() && request.session != self.session;
        self.session = request.session.or(self.session);
        if !measured {
            return;
        }
        // Could another one have entered in its place?
        if held {
            self.inside.leave(request);
        }
        let fitting = self.waiting.most_urgent_fitting(self.inside.room(self.capacity));
        if held {
            self.inside.enter(request);
        }
        let passes = |other: Option<Claim>| u64::from(other.is_some_and(|(rank, _, _)| rank > request.urgency_rank()));
        self.counts.entries += 1;
        self.counts.passed_any += passes(self.waiting.most_urgent());
        self.counts.passed_settled += passes(self.elders.most_urgent());
        self.counts.passed_fitting += passes(fitting);
        self.counts.switches += u64::from(switches);
        self.counts.with_session += u64::from(request.session.is_some());
    }

    fn write(self, sheet: &mut Sheet) {
        let (times, counts) = (self.times, self.counts);
        let time = self.window.end.since(self.window.start).0 as f64;
        sheet.put("units.used", times.units as f64 / time);
        sheet.put("units.idle-while-fitting", times.any_fits as f64 / time);
        sheet.put("units.idle-while-front-fits", times.front_fits as f64 / time);
        sheet.put("concurrency.mean", times.grants as f64 / times.busy as f64);
        sheet.put("concurrency.mean-all-time", times.grants as f64 / time);
        sheet.put("concurrency.max", times.most_grants as f64);
        let entries = counts.entries as f64;
        sheet.put("inversions.any/entry", counts.passed_any as f64 / entries);
        sheet.put("inversions.settled/entry", counts.passed_settled as f64 / entries);
        sheet.put("inversions.fitting/entry", counts.passed_fitting as f64 / entries);
        if counts.with_session > 0 {
            sheet.put("sessions.switches/entry", counts.switches as f64 / entries);
            sheet.put("sessions.concurrency", times.in_sessions as f64 / times.session_open as f64);
        }
        sheet.put_spread("sync-delay", self.hand_overs, &["mean", "p50", "p95"]);
    }
}

/// Requests that have waited so long that all nodes could know of them.
struct Elders {
    news: Span,
    /// All requests in the order in which they were asked, and how many of them were looked at.
    by_age: Vec<usize>,
    looked_at: usize,
    claims: BTreeSet<Claim>,
}

impl Elders {
    fn new(requests: &[Request], news: Span) -> Self {
        let mut by_age: Vec<usize> = (0..requests.len()).collect();
        by_age.sort_by_key(|index| requests[*index].asked);
        Self { news, by_age, looked_at: 0, claims: BTreeSet::new() }
    }

    /// Takes in who was asked for long enough before and waits on.
    fn grow(&mut self, now: Time, requests: &[Request]) {
        while let Some(index) = self.by_age.get(self.looked_at)
            && let request = &requests[*index]
            && request.asked + self.news < now
        {
            if request.wait_end() > now {
                self.claims.insert(claim(request, *index));
            }
            self.looked_at += 1;
        }
    }

    fn remove(&mut self, claim: &Claim) {
        self.claims.remove(claim);
    }

    fn most_urgent(&self) -> Option<Claim> {
        self.claims.last().copied()
    }
}

/// Everything that happens until the end, in order. Waits and stays of no length never show.
fn happenings(requests: &[Request], end: Time) -> Vec<Happening> {
    let mut all = Vec::with_capacity(4 * requests.len());
    for (index, request) in requests.iter().enumerate() {
        if request.wait_end() > request.asked {
            all.push((request.asked, What::Asked, index));
            all.push((request.wait_end(), What::WaitEnds, index));
        }
        if let Some(granted) = request.granted {
            all.push((granted, What::Granted, index));
            if let Some(released) = request.released.filter(|released| *released > granted) {
                all.push((released, What::Released, index));
            }
        }
    }
    all.retain(|(at, _, _)| *at <= end);
    all.sort_unstable();
    all
}

/// How long news takes to reach all nodes: the diameter of the network, times a hop.
fn news(scenario: &Scenario, outcome: &Outcome) -> Span {
    let hop = match &scenario.network {
        Network::Radio(radio) => {
            let bytes = match radio.message {
                MessageSize::Fixed(bytes) => f64::from(bytes),
                MessageSize::Encoded { .. } => {
                    let sent = Totals::of(&outcome.kinds);
                    sent.bytes as f64 / sent.frames.max(1) as f64
                }
            };
            8.0 * bytes / radio.bandwidth + radio.latency.seconds()
        }
        Network::Wired(wired) => {
            let (_, longest) = wired.delay.range();
            if longest.is_finite() { longest } else { 3.0 * wired.delay.mean() }
        }
    };
    Span::from_seconds(hop * f64::from(outcome.network.diameter))
}
