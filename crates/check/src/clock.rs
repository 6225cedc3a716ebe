//! The only place that reads a clock: to report progress and to enforce a time limit. No verdict depends on it.

use std::time::Duration;

/// Time since the start of a run.
#[derive(Clone)]
pub(crate) struct Stopwatch {
    #[expect(clippy::disallowed_types, reason = "progress and time limits need a clock; nothing else does")]
    start: std::time::Instant,
    next_report: Duration,
}

impl Stopwatch {
    #[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "see above")]
    pub(crate) fn start() -> Self {
        Self { start: std::time::Instant::now(), next_report: REPORT_EVERY }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Whether it is time for the next report; at most once in a while.
    pub(crate) fn report_due(&mut self, elapsed: Duration) -> bool {
        let due = elapsed >= self.next_report;
        if due {
            self.next_report = elapsed + REPORT_EVERY;
        }
        due
    }
}

/// A little less than a second, so that reports come at least every second.
const REPORT_EVERY: Duration = Duration::from_millis(900);
