//! Timers below QUIC, of which those that have time ring together.
//!
//! Each connection has one timer, and at rest all it is set for is the next sign of life. A node with four neighbours
//! would wake up four times within a few milliseconds, each time for one of them. So a timer that rings late in any case
//! rings at one of a few moments, which are the same for all connections of a process.

use std::fmt;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use quinn::{AsyncTimer, Runtime, TokioRuntime};

/// The time between two of those moments: what has time rings so much later at most.
const STEP: Duration = Duration::from_millis(50);

/// Whoever waits for longer has time. Acknowledgements and lost packets do not.
const LONG: Duration = Duration::from_millis(250);

/// The first of those moments.
static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// When a timer rings that is set at `now`: not before it is due.
fn rings(now: Instant, due: Instant, first: Instant) -> Instant {
    if due.saturating_duration_since(now) < LONG {
        return due;
    }
    let steps = due.saturating_duration_since(first).as_nanos().div_ceil(STEP.as_nanos());
    let whole = u32::try_from(steps).ok().and_then(|steps| first.checked_add(STEP.checked_mul(steps)?));
    whole.filter(|at| *at >= due).unwrap_or(due)
}

/// A timer of a connection.
pub(super) struct Timer {
    timer: Pin<Box<dyn AsyncTimer>>,
    at: Instant,
}

impl Timer {
    pub(super) fn new(due: Instant) -> Self {
        let at = rings(Instant::now(), due, *FIRST);
        Self { timer: TokioRuntime.new_timer(at), at }
    }
}

impl AsyncTimer for Timer {
    fn reset(mut self: Pin<&mut Self>, due: Instant) {
        let at = rings(Instant::now(), due, *FIRST);
        // One that has rung is due, and would not be set for the same moment again.
        if at != self.at {
            self.at = at;
            self.timer.as_mut().reset(at);
        }
    }

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.timer.as_mut().poll(context)
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("at", &self.at).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn what_has_time_rings_together_and_never_early() {
        let first = Instant::now();
        let rings = |now: u64, due: u64| rings(first + ms(now), first + ms(due), first) - first;
        assert_eq!(rings(1_003, 1_004), ms(1_004), "an acknowledgement");
        assert_eq!(rings(1_003, 1_252), ms(1_252), "not long enough");
        assert_eq!([1_601, 1_625, 1_650].map(|due| rings(1_003, due)), [ms(1_650); 3]);
        assert_eq!(rings(1_003, 1_651), ms(1_700));
        assert_eq!(rings(1_003, 1_000), ms(1_000), "it is due");
        let far = 3_600_000 * 24 * 365 * 30;
        assert!(rings(0, far) >= ms(far), "nothing overflows");
    }

    #[tokio::test]
    async fn a_timer_that_rang_can_be_set_again() {
        let mut timer = Box::pin(Timer::new(Instant::now() + ms(1)));
        for _ in 0..3 {
            std::future::poll_fn(|context| timer.as_mut().poll(context)).await;
            let due = Instant::now() + ms(2);
            timer.as_mut().reset(due);
            std::future::poll_fn(|context| timer.as_mut().poll(context)).await;
            assert!(Instant::now() >= due);
        }
    }
}
