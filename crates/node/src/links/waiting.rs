//! How long to wait between tries, and between warnings.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The first wait after a try that failed.
const SHORTEST: Duration = Duration::from_millis(50);

/// No wait is longer.
const LONGEST: Duration = Duration::from_secs(2);

/// Waits that double, each shortened at random by up to half, so that nodes that lost each other do not knock in step.
#[derive(Debug)]
pub(super) struct Waits {
    random: fastrand::Rng,
    next: Duration,
}

impl Waits {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), next: SHORTEST }
    }

    /// How long to wait now.
    pub(super) fn next(&mut self) -> Duration {
        let wait = self.next.mul_f64(0.5 + self.random.f64() / 2.0);
        self.next = (self.next * 2).min(LONGEST);
        wait
    }

    /// Something went well: begin with short waits again.
    pub(super) fn begin_again(&mut self) {
        self.next = SHORTEST;
    }
}

/// How long an address is left alone whose node cannot link until an operator acts: it speaks another version, or has the
/// identity of another node.
pub(super) const HOLD_OFF: Duration = Duration::from_secs(30);

/// Addresses that are not dialed for a while.
#[derive(Debug, Default)]
pub(super) struct HeldOff(BTreeMap<SocketAddr, Instant>);

impl HeldOff {
    pub(super) fn add(&mut self, address: SocketAddr, now: Instant) {
        self.0.retain(|_, until| *until > now);
        self.0.insert(address, now + HOLD_OFF);
    }

    pub(super) fn contains(&self, address: SocketAddr, now: Instant) -> bool {
        self.0.get(&address).is_some_and(|until| *until > now)
    }
}

/// At most one warning in this time, so that strangers cannot fill the log.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(10);

/// Lets a warning through now and then, and counts the others.
#[derive(Debug, Default)]
pub(super) struct Warnings(Mutex<(Option<Instant>, u64)>);

impl Warnings {
    /// Whether to warn now; if so, how many warnings were withheld since the last.
    pub(super) fn now(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0.is_some_and(|last| now.duration_since(last) < BETWEEN_WARNINGS) {
            state.1 += 1;
            return None;
        }
        state.0 = Some(now);
        Some(std::mem::take(&mut state.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_begin_again() {
        let mut waits = Waits::new(1);
        let mut expected = SHORTEST;
        for _ in 0..12 {
            let wait = waits.next();
            assert!(wait >= expected / 2 && wait <= expected, "{wait:?} for {expected:?}");
            expected = (expected * 2).min(LONGEST);
        }
        assert_eq!(expected, LONGEST);
        waits.begin_again();
        assert!(waits.next() <= SHORTEST);
    }

    #[test]
    fn an_address_is_held_off_for_30_seconds_and_then_forgotten() {
        let (mut held_off, start) = (HeldOff::default(), Instant::now());
        let [old, new] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        held_off.add(old, start);
        let after = |seconds| start + Duration::from_secs(seconds);
        assert!(held_off.contains(old, after(29)) && !held_off.contains(new, after(29)));
        assert!(!held_off.contains(old, after(30)));
        held_off.add(new, after(40));
        assert_eq!(held_off.0.len(), 1, "what is over costs no memory");
    }

    #[test]
    fn warnings_that_were_withheld_are_counted() {
        let (warnings, start) = (Warnings::default(), Instant::now());
        assert_eq!(warnings.now(start), Some(0));
        assert_eq!(warnings.now(start), None);
        assert_eq!(warnings.now(start + BETWEEN_WARNINGS / 2), None);
        assert_eq!(warnings.now(start + BETWEEN_WARNINGS), Some(2));
    }
}
