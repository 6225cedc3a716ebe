//! The wall clock. A machine without a battery may believe that it is before 1970 until it is told the time, and rustls'
//! own clock panics there; to us it is 1970 then, when all of our certificates are valid already.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// The time since 1970.
pub(crate) fn since_1970() -> Duration {
    since_1970_at(SystemTime::now())
}

fn since_1970_at(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The time by which certificates are judged.
pub(crate) fn now() -> UnixTime {
    UnixTime::since_unix_epoch(since_1970())
}

/// The same, for handshakes.
#[derive(Debug)]
pub(crate) struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_1970_it_is_1970() {
        let day = Duration::from_secs(86_400);
        assert_eq!(since_1970_at(UNIX_EPOCH - day), Duration::ZERO);
        assert_eq!(since_1970_at(UNIX_EPOCH + day), day);
    }
}
