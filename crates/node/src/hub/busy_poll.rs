//! Busy polling: while a lock goes from hand to hand, the thread of a node does not sleep between two of its steps.
//!
//! To wake a thread, and often the processor below it, costs more than all that a node does for an entry. So where steps
//! follow each other quickly, the node looks again and again for what arrives, for [`POLL`] after each, as `halt_poll_ns`
//! of KVM does. After every look it gives way to whoever waits for the processor. Who works at the same locks needs it for
//! microseconds. Who computes for long keeps it for a whole slice of some milliseconds, and the node would wait that long each
//! time; so it [rests](Habit::turned) then, and sleeps between its steps as others do.

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

/// Others need the processor that was given away for so long. It is awake, then, and the node may as well sleep.
const SHARED: Duration = Duration::from_micros(100);

/// Who keeps it for so long computes.
const LONG: Duration = Duration::from_millis(1);

/// Once in a while anything may take long, the node itself too; but not twice within this time.
const ONCE: Duration = Duration::from_millis(20);

/// How long the node rests then, the first time.
const REST: Duration = Duration::from_millis(10);

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
    /// When the processor came back last after a long time.
    last_long: Option<Instant>,
    rests_until: Option<Instant>,
    rest: Duration,
}

impl Habit {
    fn new(now: Instant) -> Self {
        Self { last_step: now, last_long: None, rests_until: None, rest: Duration::ZERO }
    }

    /// A step was made. Whether to look for more.
    fn stepped(&mut self, now: Instant) -> bool {
        let is_quick = now.duration_since(self.last_step) <= QUICK;
        self.last_step = now;
        is_quick && self.rests_until.is_none_or(|until| now >= until)
    }

    /// The processor was given away at `then` and is back, and there was no step meanwhile. Whether to look for more.
    fn turned(&mut self, then: Instant, now: Instant) -> bool {
        let took = now.duration_since(then);
        if took >= LONG {
            let is_second = self.last_long.replace(now).is_some_and(|last| then.duration_since(last) < ONCE);
            if is_second {
                self.begin_rest(now);
            }
        }
        took < SHARED && now.duration_since(self.last_step) < POLL
    }

    fn begin_rest(&mut self, now: Instant) {
        let is_again = self.rests_until.is_some_and(|until| now.duration_since(until) < ONCE + 2 * self.rest);
        self.rest = if is_again { (2 * self.rest).min(LONGEST_REST) } else { REST };
        self.rests_until = Some(now + self.rest);
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
    fn the_thread_sleeps_when_others_use_the_processor() {
        let (mut habit, step) = looking();
        assert!(!habit.turned(step, step + SHARED));
        assert!(habit.stepped(step + SHARED), "and looks again after the next step");
    }

    /// The processor is kept for long again and again, until the node rests. When that begins.
    fn long_until_it_rests(habit: &mut Habit, from: Instant) -> Instant {
        let mut now = from;
        loop {
            assert!(!habit.turned(now, now + LONG));
            now += LONG;
            if habit.rests_until.is_some_and(|until| now < until) {
                return now;
            }
            now += QUICK;
            assert!(now - from < 4 * LONG, "two are enough");
        }
    }

    #[test]
    fn who_computes_is_left_alone_for_longer_each_time() {
        let (mut habit, mut now) = looking();
        let mut expected = REST;
        for _ in 0..15 {
            now = long_until_it_rests(&mut habit, now);
            habit.stepped(now + expected - QUICK);
            assert!(!habit.stepped(now + expected - QUICK / 2), "it rests");
            now += expected;
            assert!(habit.stepped(now), "it tries again");
            expected = (2 * expected).min(LONGEST_REST);
        }
        assert_eq!(expected, LONGEST_REST);
    }

    #[test]
    fn one_long_turn_is_no_reason_to_rest_and_a_rest_is_forgotten() {
        let (mut habit, now) = looking();
        assert!(!habit.turned(now, now + LONG));
        let now = now + LONG + QUICK;
        habit.stepped(now);
        assert!(habit.stepped(now + QUICK));
        let later = long_until_it_rests(&mut habit, now + LONGEST_REST) + 10 * REST;
        long_until_it_rests(&mut habit, later);
        assert_eq!(habit.rest, REST);
    }
}
