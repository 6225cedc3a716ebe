//! How long requests wait, and what becomes of those that are not served.

use std::collections::BTreeMap;

use meshlock_core::Urgency;

use super::{Sheet, Window};
use crate::outcome::{Outcome, Request};
use crate::scenario::Scenario;
use crate::time::Time;

/// With more different priorities than this, they are not told one by one.
const PRIORITIES_TOLD: usize = 20;
/// Deadlines are in microseconds of simulated time.
const DEADLINE_UNIT: u64 = 1_000;

pub(super) fn tell(scenario: &Scenario, outcome: &Outcome, window: &Window, sheet: &mut Sheet) {
    // A request of the warm-up that still waits at the end has waited all the time that is measured.
    let waits_throughout = |request: &Request| {
        request.asked < window.start && window.start <= window.end && request.wait_end() > window.end
    };
    let is_measured = |request: &&Request| window.has(request.asked) || waits_throughout(request);
    let measured: Vec<&Request> = outcome.requests.iter().filter(is_measured).collect();
    let wait = |request: &Request| request.wait().filter(|_| entered(request, window)).map(|wait| wait.seconds());
    let waits: Vec<f64> = measured.iter().filter_map(|request| wait(request)).collect();

    sheet.put("requests", measured.len() as f64);
    let cancelled = measured.iter().filter(|request| gave_up(request, window)).count();
    sheet.put("cancelled", cancelled as f64);
    let unserved = measured.iter().filter(|request| request.wait_end() > window.end).count();
    sheet.put("unserved", unserved as f64);
    if !outcome.stopped {
        // Without a drain it is unknown.
        sheet.put("stuck", outcome.requests.iter().filter(|request| request.wait_end() == Time::NEVER).count() as f64);
    }

    let waited: f64 =
        measured.iter().map(|request| request.wait_end().min(window.end).since(request.asked).seconds()).sum();
    sheet.put("wait.censored-mean", waited / measured.len() as f64);
    let greatest = waits.iter().copied().fold(0.0, f64::max);
    sheet.put("wait.max/mean", greatest * waits.len() as f64 / waits.iter().sum::<f64>());
    sheet.put_spread("wait", waits, &["mean", "p50", "p95", "p99", "max"]);

    let classes = &scenario.traffic.classes;
    if classes.len() > 1 {
        let name = |request: &Request| classes.get(usize::from(request.class)).map(|class| class.name.as_str());
        for (name, waits) in grouped(&measured, name, wait) {
            sheet.put_spread(&format!("wait.{name}"), waits, &["mean", "p95", "max"]);
        }
    }
    let by_priority = grouped(&measured, priority, wait);
    if (2..=PRIORITIES_TOLD).contains(&by_priority.len()) {
        for (priority, waits) in by_priority {
            sheet.put_spread(&format!("wait.priority-{priority}"), waits, &["mean", "p95"]);
        }
    }
    deadlines(&measured, window, sheet);
}

/// The waits of the requests that have a key, by it. A key without a served request has no waits.
fn grouped<K: Ord>(
    measured: &[&Request],
    key: impl Fn(&Request) -> Option<K>,
    wait: impl Fn(&Request) -> Option<f64>,
) -> BTreeMap<K, Vec<f64>> {
    let mut groups: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for request in measured {
        if let Some(key) = key(request) {
            groups.entry(key).or_default().extend(wait(request));
        }
    }
    groups
}

fn entered(request: &Request, window: &Window) -> bool {
    request.granted.is_some_and(|granted| granted <= window.end)
}

fn gave_up(request: &Request, window: &Window) -> bool {
    request.cancelled.is_some_and(|cancelled| cancelled <= window.end && !entered(request, window))
}

fn priority(request: &Request) -> Option<i32> {
    match request.urgency {
        Urgency::Priority(priority) => Some(priority.0),
        Urgency::Deadline(_) => None,
    }
}

/// A request has missed its deadline as soon as it waits beyond it, however it ends. One that gave up before, or still
/// waits for a deadline after the end, is not decided and not counted.
fn deadlines(measured: &[&Request], window: &Window, sheet: &mut Sheet) {
    let (mut decided, mut missed) = (0_u64, 0_u64);
    for request in measured {
        let Urgency::Deadline(deadline) = request.urgency else {
            continue;
        };
        let due = Time(deadline.0.saturating_mul(DEADLINE_UNIT));
        if request.wait_end().min(window.end) > due {
            missed += 1;
            decided += 1;
        } else if entered(request, window) {
            decided += 1;
        }
    }
    sheet.put("deadline.missed", missed as f64 / decided as f64);
}
