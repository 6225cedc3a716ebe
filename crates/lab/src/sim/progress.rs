//! How far a run has come: once per second on a terminal; elsewhere one line when it is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use meshlock_sim::outcome::Outcome;
use meshlock_sim::run::Progress;
use meshlock_sim::scenario::Scenario;
use meshlock_sim::time::Time;

use super::units::three;
use meshlock_cli::status_line::{Destination, StatusLine};
use meshlock_cli::text::{count, rate, time};

/// Shows how far a run has come, and ends it after Ctrl-C.
pub(super) struct Ticker {
    name: String,
    planned: Time,
    start: Instant,
    shown: Duration,
    status: StatusLine,
    cancel: Arc<AtomicBool>,
    ended: bool,
}

impl Ticker {
    pub(super) fn new(scenario: &Scenario, cancel: Arc<AtomicBool>, quiet: bool) -> Self {
        Self {
            name: scenario.name.clone(),
            planned: Time::ZERO + scenario.duration,
            start: Instant::now(),
            shown: Duration::ZERO,
            status: StatusLine::new(quiet),
            cancel,
            ended: false,
        }
    }

    pub(super) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        self.status.clear();
    }

    /// One line in the end, where there was none before.
    pub(super) fn conclude(&mut self, outcome: &Outcome, wall: Duration) {
        if self.status.destination() == Destination::File {
            self.status.print(&format!("{}: {}", self.name, speed(outcome, wall)));
        }
    }
}

impl Progress for Ticker {
    fn report(&mut self, now: Time, events: u64) -> bool {
        let elapsed = self.start.elapsed();
        if elapsed >= self.shown + BETWEEN_LINES {
            self.shown = elapsed;
            self.status.show(&format!("{}  {}", self.name, line(now, self.planned, events, elapsed)));
        }
        self.ended |= self.cancel.load(Ordering::Relaxed);
        !self.ended
    }
}

/// How much was done how fast.
pub(super) fn speed(outcome: &Outcome, wall: Duration) -> String {
    let simulated = outcome.quiet.unwrap_or(outcome.end).seconds();
    let seconds = wall.as_secs_f64().max(1e-6);
    format!(
        "{} events in {}: {} ev/s, {} simulated s/s",
        count(outcome.events),
        time(wall),
        per_second(outcome.events as f64 / seconds),
        three(simulated / seconds)
    )
}

/// A rate without its unit: `164k`.
fn per_second(events: f64) -> String {
    rate(events).trim_end_matches("/s").to_owned()
}

fn line(now: Time, planned: Time, events: u64, elapsed: Duration) -> String {
    let wall = elapsed.as_secs_f64().max(1e-6);
    let share = now.seconds() / planned.seconds();
    let place = if now > planned {
        format!("t {:.1} s, until everybody is served", now.seconds())
    } else {
        let left = Duration::try_from_secs_f64(wall * (1.0 / share - 1.0)).map(time).unwrap_or_else(|_| "?".to_owned());
        format!("t {:.1} s of {} s ({:.0} %)  eta {left}", now.seconds(), three(planned.seconds()), 100.0 * share)
    };
    format!(
        "{place}  {} events  {} ev/s  {} simulated s/s",
        count(events),
        per_second(events as f64 / wall),
        three(now.seconds() / wall)
    )
}

const BETWEEN_LINES: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_how_fast_and_how_long_still() {
        let at = |seconds: u64| Time(seconds * 1_000_000_000);
        assert_eq!(
            line(at(15), at(60), 2_000_000, Duration::from_secs(5)),
            "t 15.0 s of 60 s (25 %)  eta 15.0s  2,000,000 events  400k ev/s  3 simulated s/s"
        );
        assert!(line(at(61), at(60), 9, Duration::ZERO).contains("t 61.0 s, until everybody is served"));
        assert!(line(at(0), at(60), 0, Duration::ZERO).contains("eta ?"));
    }
}
