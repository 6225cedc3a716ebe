//! Busy polling: while a lock goes from hand to hand, the thread of a node does not sleep between two of its steps.
//!
//! To wake a thread, and often the processor below it, costs more than all that a node does for an entry. So where steps
//! follow each other quickly, the node looks again and again for what arrives, for [`POLL`] after each, as `halt_poll_ns`
//! of KVM does. After every look it gives way to whoever waits for the processor. Programs of the same locks compute for
//! microseconds; one that computes for long keeps the processor for its whole slice of some milliseconds, and the node would
//! wait that long each time. So it [rests](Habit::turned) then, and sleeps as it did before.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::yield_now;

use super::Hub;

/// How long a node looks after a step before it sleeps.
const POLL: Duration = Duration::from_micros(50);

/// It begins to look only when two steps follow each other within this time; so a node at rest never does.
const QUICK: Duration = Duration::from_micros(200);

/// Who keeps the processor for so long after it was given way to does not belong to the same locks.
const LONG: Duration = Duration::from_micros(500);

/// How long the node rests then, the first time.
const REST: Duration = Duration::from_millis(100);

/// The same, if it happens again and again.
const LONGEST_REST: Duration = Duration::from_secs(10);

/// The steps of the protocols of a node: requests, releases, messages of neighbours.
#[derive(Debug, Default)]
pub(super) struct Steps {
    count: AtomicU64,
    more: Notify,
}

impl Steps {
    pub(super) fn reached(&self, count: u64) {
        // There is one writer at a time, which holds the machine, or held it last.
        if self.count.swap(count, Ordering::Relaxed) != count {
            self.more.notify_one();
        }
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// When to look and when to sleep. Times are told to it.
#[derive(Debug)]
struct Habit {
    last_step: Instant,
    rests_until: Instant,
    rest: Duration,
}

impl Habit {
    fn new(now: Instant) -> Self {
        Self { last_step: now, rests_until: now, rest: Duration::ZERO }
    }

    /// A step was made. Whether to look for more.
    fn stepped(&mut self, now: Instant) -> bool {
        let is_quick = now.duration_since(self.last_step) <= QUICK;
        self.last_step = now;
        is_quick && now >= self.rests_until
    }

    /// The processor was given away at `then` and is back, and there was no step meanwhile. Whether to look for more.
    fn turned(&mut self, then: Instant, now: Instant) -> bool {
        if now.duration_since(then) < LONG {
            return now.duration_since(self.last_step) < POLL;
        }
        // Once in a while anything may take long, the node itself too.
        let is_again = then.duration_since(self.rests_until) < 2 * self.rest;
        self.rest = if is_again { (2 * self.rest).min(LONGEST_REST) } else { REST };
        self.rests_until = now + self.rest;
        false
    }
}

impl Hub {
    /// Keeps the thread awake while steps follow each other quickly, without end. Run it as a task on a runtime with one
    /// thread, which nobody else needs.
    pub async fn busy_poll(&self) {
        let mut habit = Habit::new(Instant::now());
        let mut seen = self.steps.count();
        loop {
            self.steps.more.notified().await;
            let mut then = Instant::now();
            let mut looks = seen != self.steps.count() && habit.stepped(then);
            while looks {
                seen = self.steps.count();
                thread::yield_now();
                yield_now().await; // the runtime asks the system what has arrived
                let now = Instant::now();
                looks = if seen == self.steps.count() { habit.turned(then, now) } else { habit.stepped(now) };
                then = now;
            }
            seen = self.steps.count();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A habit that looks, and when it made its last step.
    fn looking() -> (Habit, Instant) {
        let now = Instant::now();
        let mut habit = Habit::new(now);
        assert!(habit.stepped(now + QUICK));
        (habit, now + QUICK)
    }

    #[test]
    fn a_step_by_itself_is_no_reason_to_look_for_more() {
        let now = Instant::now();
        let mut habit = Habit::new(now);
        let late = now + QUICK + Duration::from_nanos(1);
        assert!(!habit.stepped(late));
        assert!(habit.stepped(late + QUICK), "two that follow each other are");
    }

    #[test]
    fn the_thread_sleeps_when_nothing_comes_for_a_while() {
        let (mut habit, step) = looking();
        let soon = step + POLL / 2;
        assert!(habit.turned(step, soon));
        assert!(!habit.turned(soon, step + POLL));
    }

    #[test]
    fn who_keeps_the_processor_is_left_alone_for_longer_each_time() {
        let (mut habit, mut now) = looking();
        let mut expected = REST;
        for _ in 0..12 {
            assert!(!habit.turned(now, now + LONG));
            now += LONG;
            assert!(!habit.stepped(now + expected / 2), "it rests");
            now += expected;
            habit.stepped(now);
            now += QUICK;
            assert!(habit.stepped(now), "it tries again");
            expected = (2 * expected).min(LONGEST_REST);
        }
        assert_eq!(habit.rest, LONGEST_REST);
    }

    #[test]
    fn a_single_long_turn_is_soon_forgotten() {
        let (mut habit, now) = looking();
        assert!(!habit.turned(now, now + LONG));
        let later = now + LONG + 4 * REST;
        assert!(!habit.turned(later, later + LONG));
        assert_eq!(habit.rest, REST);
    }
}
