//! What the requests of a run tell beyond its measures.

use meshlock_sim::outcome::{Outcome, Request};
use meshlock_sim::time::Time;

pub(super) fn units(request: &Request) -> i64 {
    request.units.0.into()
}

/// How many requests made later were granted while this one waited.
pub(super) fn overtakes(outcome: &Outcome, request: &Request) -> usize {
    let until = request.granted.unwrap_or(outcome.end).min(outcome.end);
    let passes = |other: &&Request| other.asked > request.asked && other.granted.is_some_and(|granted| granted < until);
    outcome.requests.iter().filter(passes).count()
}

/// The share of all grants that passed a request made before, however urgent.
pub(super) fn passing_share(outcome: &Outcome) -> f64 {
    let mut grants: Vec<(Time, Time)> = outcome.requests.iter().filter_map(|r| Some((r.granted?, r.asked))).collect();
    grants.sort_unstable();
    let total = grants.len() as f64;
    // Looking back from the end: the earliest that was asked for among all that were granted later.
    let mut earliest = Time::NEVER;
    let mut passing = 0.0;
    for moment in grants.chunk_by(|one, next| one.0 == next.0).rev() {
        passing += moment.iter().filter(|(_, asked)| earliest < *asked).count() as f64;
        earliest = moment.iter().map(|(_, asked)| *asked).fold(earliest, Time::min);
    }
    passing / total
}

/// The share of all units times time, until the end, that is idle while a request for at least `large` units waits;
/// and the share of that time.
pub(super) fn idle_for_large(outcome: &Outcome, large: i64) -> (f64, f64) {
    let mut steps: Vec<(Time, i64, i64)> = Vec::new();
    for request in &outcome.requests {
        let granted = request.granted.unwrap_or(outcome.end);
        steps.extend(request.granted.map(|at| (at, units(request), 0)));
        steps.extend(request.granted.and(request.released).map(|at| (at, -units(request), 0)));
        if units(request) >= large {
            steps.extend([(request.asked, 0, 1), (granted, 0, -1)]);
        }
    }
    steps.sort_unstable();
    let (mut used, mut waiting, mut now) = (0, 0, Time::ZERO);
    let (mut idle, mut waited) = (0.0, 0.0);
    for (at, units, wait) in steps.into_iter().filter(|step| step.0 <= outcome.end).chain([(outcome.end, 0, 0)]) {
        let span = at.since(now).seconds();
        if waiting > 0 {
            idle += span * (i64::from(outcome.capacity) - used) as f64;
            waited += span;
        }
        (used, waiting, now) = (used + units, waiting + wait, at);
    }
    let time = outcome.end.seconds();
    (idle / (time * f64::from(outcome.capacity)), waited / time)
}
