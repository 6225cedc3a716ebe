//! What `lock` and `acquire` can ask for.

use std::time::Duration;

use meshlock::{Client, Lock, LockAll, Part, lock::TRY_PATIENCE};
use meshlock_api::duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What is wanted, and how long to wait for it.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct Wish {
    /// The resource.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// How many units, granted all at once.
    #[arg(long, value_name = "H", default_value_t = 1, value_parser = units)]
    pub(crate) units: u32,
    /// Priority: higher goes first.
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) priority: Option<i32>,
    /// Deadline: earlier goes first, for resources ordered by deadline. A time such as
    /// 2026-05-04T17:30:00+02:00, or a number.
    #[arg(long, value_name = "TIME", value_parser = deadline, conflicts_with = "priority")]
    pub(crate) deadline: Option<u64>,
    /// The session to join, for resources with sessions.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Read, together with other readers, for readers-writer resources.
    #[arg(short, long)]
    pub(crate) shared: bool,
    /// Exclusive. This is the default.
    #[arg(short = 'x', long, conflicts_with = "shared")]
    pub(crate) exclusive: bool,
    /// Give up after this time: 10, 500ms, 2m [default: no limit].
    #[arg(short = 'w', long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) timeout: Option<Duration>,
    /// Do not wait: give up after half a second, which the token may need to come from another node.
    #[arg(long = "try", conflicts_with = "timeout")]
    pub(crate) at_once: bool,
    /// How long the grant outlives this program if it dies or is suspended [default: that of the resource, usually 30s].
    #[arg(long, alias = "ttl", value_name = "TIME", value_parser = duration::parse)]
    pub(crate) lease: Option<Duration>,
    /// The name shown to people who inspect the queue.
    #[arg(long, value_name = "TEXT")]
    pub(crate) owner: Option<String>,
    /// The exit code when the request is not granted in time.
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = crate::lock::NOT_IN_TIME)]
    pub(crate) conflict_exit_code: u8,
}

impl Wish {
    /// The request, with this id and asked for by this program.
    pub(crate) fn lock(&self, client: &Client, id: &str, program: &str) -> Lock {
        let mut lock = client.lock(&self.name).id(id).owner(self.owner_of(program));
        if self.units != 1 {
            lock = lock.units(self.units);
        }
        if let Some(priority) = self.priority {
            lock = lock.priority(priority);
        }
        if let Some(deadline) = self.deadline {
            lock = lock.deadline(deadline);
        }
        if let Some(session) = &self.session {
            lock = lock.session(session);
        }
        if self.shared {
            lock = lock.read();
        }
        if let Some(lease) = self.lease {
            lock = lock.lease(lease);
        }
        match self.patience() {
            Some(timeout) => lock.timeout(timeout),
            None => lock,
        }
    }

    /// The same with other resources besides, all or none. Units, session and mode are those of the first.
    pub(crate) fn lock_all(&self, client: &Client, id: &str, program: &str, others: &[Part]) -> LockAll {
        let mut first = Part::of(&self.name);
        if self.units != 1 {
            first = first.units(self.units);
        }
        if let Some(session) = &self.session {
            first = first.session(session);
        }
        if self.shared {
            first = first.read();
        }
        let parts = std::iter::once(first).chain(others.iter().cloned());
        let mut lock = client.lock_all(parts).id(id).owner(self.owner_of(program));
        if let Some(priority) = self.priority {
            lock = lock.priority(priority);
        }
        if let Some(deadline) = self.deadline {
            lock = lock.deadline(deadline);
        }
        if let Some(lease) = self.lease {
            lock = lock.lease(lease);
        }
        match self.patience() {
            Some(timeout) => lock.timeout(timeout),
            None => lock,
        }
    }

    fn owner_of(&self, program: &str) -> String {
        let owner = || meshlock_api::text::owner_of(program, std::process::id());
        self.owner.clone().unwrap_or_else(owner)
    }

    /// How long to wait, if there is a limit.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.timeout.or_else(|| self.at_once.then_some(TRY_PATIENCE))
    }
}

fn units(text: &str) -> Result<u32, String> {
    match text.rsplit_once('=') {
        Some((name, units)) if units.parse::<u32>().is_ok() => Err(format!(
            "this is about the first resource alone: to hold another one too, write `--and {name}={units}`"
        )),
        _ => text.parse().map_err(|_| "give a number of units".to_owned()),
    }
}

/// Milliseconds since 1970, or any number on which the clients of a resource agree.
fn deadline(text: &str) -> Result<u64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let wrong = || format!("{text:?} is no deadline: write 2026-05-04T17:30:00Z, with an offset, or a number");
    let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| wrong())?;
    u64::try_from(time.unix_timestamp_nanos() / 1_000_000).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_another_resource_name_the_flag_for_them() {
        assert_eq!(units("3"), Ok(3));
        assert!(units("lift-1=2").unwrap_err().contains("--and lift-1=2"));
        for bad in ["", "-1", "two", "lift=", "4294967296"] {
            assert!(units(bad).unwrap_err().contains("number"), "{bad}");
        }
    }

    #[test]
    fn deadlines_are_times_or_numbers() {
        assert_eq!(deadline("1700"), Ok(1700));
        assert_eq!(deadline("1970-01-01T00:00:01.5Z"), Ok(1_500));
        assert_eq!(deadline("1970-01-01T02:00:00+01:00"), Ok(3_600_000));
        for bad in ["", "-1", "tomorrow", "2026-05-04", "2026-05-04T17:30:00", "1969-12-31T23:59:58Z"] {
            assert!(deadline(bad).is_err(), "{bad}");
        }
    }
}
