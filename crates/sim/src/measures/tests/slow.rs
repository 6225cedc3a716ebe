//! The sweep against the definitions, written down as slowly and plainly as possible, on random runs full of ties.

use super::*;
use crate::measures::{CATALOGUE, Sheet};
use crate::random::{Purpose, Stream, Streams};

/// Requests that respect nothing but the order of their own moments: sweeps must not rely on more.
fn random_run(stream: &mut Stream) -> Outcome {
    let count = 1 + stream.below(60);
    let capacity = 1 + stream.below(4) as u32;
    let mut requests: Vec<Request> = (0..count).map(|_| random_request(stream, capacity)).collect();
    requests.sort_by_key(|request| request.asked);
    let mut run = outcome(capacity, requests);
    run.network.diameter = stream.below(4) as u32;
    run
}

/// On whole and half seconds from 0 to 15, so that much happens together and some after the end.
fn random_request(stream: &mut Stream, capacity: u32) -> Request {
    let mut later = |from: Time, most: u64| from + Span(stream.below(most) * SECOND / 2);
    let asked_at = later(Time::ZERO, 22);
    let ended = later(asked_at, 8);
    let released = later(ended, 6);
    let mut request = asked(stream.below(4) as u32, asked_at.seconds())
        .priority(stream.below(4) as i32)
        .units(1 + stream.below(u64::from(capacity)) as u32);
    match stream.below(8) {
        0 => {}
        1 => request.cancelled = Some(ended),
        2 => request.granted = Some(ended),
        _ => (request.granted, request.released) = (Some(ended), Some(released)),
    }
    if stream.happens(0.5) {
        request = request.session(stream.below(3));
    }
    request
}

/// One run, looked at by scanning everything at every moment.
struct Slow<'a> {
    run: &'a Outcome,
    start: Time,
    news: Span,
}

impl Slow<'_> {
    fn waiting(&self, now: Time) -> impl Iterator<Item = &Request> {
        self.run.requests.iter().filter(move |request| request.asked <= now && now < request.wait_end())
    }

    fn inside(&self, now: Time) -> impl Iterator<Item = &Request> {
        let is_inside = move |request: &&Request| {
            request.granted.is_some_and(|granted| granted <= now)
                && request.released.is_none_or(|released| now < released)
        };
        self.run.requests.iter().filter(is_inside)
    }

    fn fits(&self, request: &Request, now: Time, in_place_of: Option<&Request>) -> bool {
        let others = || self.inside(now).filter(|other| in_place_of.is_none_or(|gone| !std::ptr::eq(*other, gone)));
        let units: u32 = others().map(|other| other.units.0).sum();
        let apart =
            |other: &Request| other.session.is_some() && request.session.is_some() && other.session != request.session;
        units + request.units.0 <= self.run.capacity && !others().any(apart)
    }

    fn entries(&self) -> Vec<(Time, &Request)> {
        let in_window = |at: &Time| self.start <= *at && *at <= self.run.end;
        let granted =
            self.run.requests.iter().filter_map(|request| Some((request.granted.filter(in_window)?, request)));
        granted.collect()
    }

    /// The mean of something over the window, weighted by time.
    fn over_time(&self, value: impl Fn(Time) -> f64) -> f64 {
        let half = SECOND / 2;
        let moments = (self.start.0 / half..self.run.end.0 / half).map(|i| Time(i * half));
        let values: Vec<f64> = moments.map(value).collect();
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn inversions(&self, counts: impl Fn(Time, &Request, &Request) -> bool) -> f64 {
        let entries = self.entries();
        let passes = |(now, entered): &&(Time, &Request)| {
            self.waiting(*now).any(|other| {
                other.asked < *now && other.urgency_rank() > entered.urgency_rank() && counts(*now, entered, other)
            })
        };
        entries.iter().filter(passes).count() as f64 / entries.len() as f64
    }

    fn overtakes(&self) -> f64 {
        let in_time = |request: &&Request| request.granted.is_some_and(|granted| granted <= self.run.end);
        let seen = |waiting: &Request| {
            let grants = self.run.requests.iter().filter(in_time);
            let passing =
                grants.filter(|other| other.asked > waiting.asked && other.granted < Some(waiting.wait_end()));
            passing.count()
        };
        let measured =
            self.run.requests.iter().filter(|request| self.start <= request.asked && request.asked <= self.run.end);
        measured.map(seen).max().map_or(f64::NAN, |most| most as f64)
    }

    /// Whether an earlier request waits at this moment, or is served at it.
    fn is_waited_for(&self, now: Time) -> bool {
        let waits = |request: &Request| request.wait_end() > now || request.granted == Some(now);
        self.run.requests.iter().any(|request| request.asked < now && waits(request))
    }

    /// From a release to the next grant, if a request waits all the time.
    fn hand_over(&self, release: Time, next: Option<Time>) -> Option<f64> {
        let next = next.filter(|next| *next <= self.run.end)?;
        let half = SECOND / 2;
        let all_the_time = (release.0 / half..=next.0 / half).all(|i| self.is_waited_for(Time(i * half)));
        all_the_time.then(|| next.since(release).seconds())
    }

    fn hand_overs(&self) -> Vec<f64> {
        let requests = &self.run.requests;
        let grants = || requests.iter().filter_map(|request| request.granted);
        let half = SECOND / 2;
        let mut found = Vec::new();
        for now in (self.start.0 / half..=self.run.end.0 / half).map(|i| Time(i * half)) {
            let left = requests.iter().any(|request| request.released == Some(now) && request.granted < Some(now));
            if left && self.inside(now).all(|request| request.granted == Some(now)) {
                found.extend(self.hand_over(now, grants().filter(|granted| *granted >= now).min()));
            }
            let in_and_out =
                requests.iter().any(|request| request.granted == Some(now) && request.released == Some(now));
            let waits_on = self.waiting(now).any(|request| request.asked < now);
            if in_and_out && waits_on && self.inside(now).next().is_none() {
                found.extend(self.hand_over(now, grants().filter(|granted| *granted > now).min()));
            }
        }
        found
    }

    fn switches(&self) -> f64 {
        let mut grants: Vec<(Time, usize)> = Vec::new();
        for (index, request) in self.run.requests.iter().enumerate() {
            grants.extend(request.granted.filter(|granted| *granted <= self.run.end).map(|granted| (granted, index)));
        }
        grants.sort_unstable();
        grants.retain(|(_, index)| self.run.requests[*index].session.is_some());
        let session = |(_, index): (Time, usize)| self.run.requests[index].session;
        let switches = grants.windows(2).filter(|pair| pair[1].0 >= self.start && session(pair[0]) != session(pair[1]));
        switches.count() as f64 / self.entries().len() as f64
    }

    fn measures(&self) -> Measures {
        let mut sheet = Sheet::default();
        let yes = |holds: bool| f64::from(u8::from(holds));
        let count = |now| self.inside(now).count() as f64;
        let in_sessions = |now| self.inside(now).filter(|request| request.session.is_some()).count() as f64;
        sheet.put("units.used", self.over_time(|now| self.inside(now).map(|request| f64::from(request.units.0)).sum()));
        let fits = |now| self.waiting(now).any(|request| self.fits(request, now, None));
        sheet.put("units.idle-while-fitting", self.over_time(|now| yes(fits(now))));
        let front_fits = |now| {
            // `min_by_key` keeps the first of equals: the one made first.
            let front = self.waiting(now).min_by_key(|request| (-request.urgency_rank(), request.asked));
            front.is_some_and(|front| self.fits(front, now, None))
        };
        sheet.put("units.idle-while-front-fits", self.over_time(|now| yes(front_fits(now))));
        sheet.put("concurrency.mean-all-time", self.over_time(count));
        sheet.put("concurrency.mean", self.over_time(count) / self.over_time(|now| yes(count(now) > 0.0)));
        sheet.put("inversions.any/entry", self.inversions(|_, _, _| true));
        sheet.put("inversions.settled/entry", self.inversions(|now, _, other| other.asked + self.news < now));
        sheet.put(
            "inversions.fitting/entry",
            self.inversions(|now, entered, other| self.fits(other, now, Some(entered))),
        );
        if self.entries().iter().any(|(_, request)| request.session.is_some()) {
            sheet.put("sessions.switches/entry", self.switches());
            let open = self.over_time(|now| yes(in_sessions(now) > 0.0));
            sheet.put("sessions.concurrency", self.over_time(in_sessions) / open);
        }
        sheet.put("overtakes.max", self.overtakes());
        sheet.put_spread("sync-delay", self.hand_overs(), &["mean", "p50", "p95"]);
        sheet.0
    }
}

#[test]
fn the_sweep_finds_what_the_definitions_say() {
    let mut stream = Streams::new(11).stream(Purpose::Traffic, 0);
    let mut compared = Measures::new();
    for round in 0..3_000 {
        let run = random_run(&mut stream);
        let start = Span(stream.below(12) * SECOND / 2);
        let mut scenario = scenario();
        scenario.warmup = Warmup::Fixed(start);
        // A hop takes half a second.
        let news = Span(u64::from(run.network.diameter) * SECOND / 2);
        let slow = Slow { run: &run, start: Time::ZERO + start, news }.measures();
        let fast = measures(&scenario, &run);
        for (name, expected) in &slow {
            let found = fast.get(name).unwrap_or_else(|| panic!("round {round}: {name} is absent"));
            assert!((found - expected).abs() < 1e-9, "round {round}: {name} is {found}, not {expected}: {run:#?}");
            *compared.entry(name.clone()).or_default() += f64::from(u8::from(*expected > 0.0));
        }
        let swept = |name: &&String| compared.contains_key(*name) && !slow.contains_key(*name);
        assert_eq!(fast.keys().find(swept), None, "round {round}: not defined");
        for name in fast.keys() {
            assert!(definition(name).is_some(), "{name} is not in the catalogue");
        }
    }
    assert_eq!(compared.len(), 14);
    assert!(compared.values().all(|rounds| *rounds > 300.0), "each must say something: {compared:?}");
}

#[test]
fn every_name_of_the_catalogue_is_told_by_some_run() {
    let mut scenario = scenario();
    let mut second = scenario.traffic.classes[0].clone();
    second.name = "second".to_owned();
    scenario.traffic.classes.push(second);
    let requests = vec![
        asked(0, 0.0).held(1.0, 2.0).session(1),
        asked(1, 1.0).held(3.0, 4.0).session(2).priority(2).class(1),
        asked(1, 1.0).held(4.0, 5.0).due(3.0),
    ];
    let mut run = outcome(1, requests);
    run.kinds = vec![kind("token", 1, 1, 1)];
    let outages = vec![Outage { start: at(1.0), end: Some(at(2.0)) }];
    run.crashes = Some(CrashesSeen { facts: vec![at(1.0)], outages, ..CrashesSeen::default() });
    let mut found = measures(&scenario, &run);
    scenario.warmup = Warmup::Mser5;
    found.extend(measures(&scenario, &run));
    for entry in CATALOGUE {
        let told = found.keys().any(|name| definition(name) == Some(entry));
        assert!(told, "{} is never told", entry.name);
    }
}

#[test]
fn two_hundred_thousand_requests_with_a_thousand_waiting_are_swept() {
    let mut stream = Streams::new(3).stream(Purpose::Traffic, 0);
    let mut requests = Vec::new();
    for i in 0..200_000_u32 {
        // One a millisecond; each waits up to two seconds.
        let asked_at = f64::from(i) / 1_000.0;
        let granted = asked_at + stream.between(0.0, 2.0);
        let request = asked(i % 100, asked_at).held(granted, granted + 0.001).priority(stream.below(10) as i32);
        requests.push(request.units(1 + stream.below(3) as u32).session(stream.below(50)));
    }
    let run = Outcome { end: at(200.0), ..outcome(3, requests) };
    let found = measures(&scenario(), &run);
    // In any order, a request of priority p of 0 to 9 passes another unless it is of the highest.
    assert!((found["inversions.any/entry"] - 0.9).abs() < 0.01);
    assert!((found["wait.mean"] - 1.0).abs() < 0.01);
}
