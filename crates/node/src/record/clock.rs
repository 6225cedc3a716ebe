//! The time in a recording: nanoseconds since it began, by the clock that all processes of this machine share.

use std::fs;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use crate::mesh::clock::since_1970;

/// When a recording began.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    began: Instant,
    /// Milliseconds since 1970 at the beginning, for people and for merging with other machines.
    pub(super) began_unix_ms: u64,
    /// The shared clock at the beginning, where there is one.
    pub(super) monotonic_ns: Option<u64>,
    /// Which run of this machine the shared clock counts in.
    pub(super) boot_id: Option<String>,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            began: Instant::now(),
            began_unix_ms: u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX),
            monotonic_ns: monotonic_ns(),
            boot_id: boot_id(),
        }
    }

    /// Nanoseconds since the beginning.
    pub(super) fn now_ns(&self) -> u64 {
        match (self.monotonic_ns, monotonic_ns()) {
            (Some(began), Some(now)) => now.saturating_sub(began),
            (Some(_), None) | (None, _) => u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

fn monotonic_ns() -> Option<u64> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?;
    u64::try_from(Duration::from(time).as_nanos()).ok()
}

/// Linux tells it; elsewhere traces of one machine are merged by the wall clock.
fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}
