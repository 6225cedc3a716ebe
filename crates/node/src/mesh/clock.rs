//! The time by which certificates are judged. A machine without a battery may believe to be before 1970 until somebody
//! tells it the time, and the clock that comes with the library panics there; to us it is 1970, when all of our
//! certificates are valid already.

use std::time::{SystemTime, UNIX_EPOCH};

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// The time now.
pub(crate) fn now() -> UnixTime {
    since_1970(SystemTime::now())
}

/// The same, for handshakes.
#[derive(Debug)]
pub(crate) struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(now())
    }
}

fn since_1970(time: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn before_1970_it_is_1970() {
        let day = Duration::from_secs(86_400);
        assert_eq!(since_1970(UNIX_EPOCH - day).as_secs(), 0);
        assert_eq!(since_1970(UNIX_EPOCH + day).as_secs(), 86_400);
    }
}
