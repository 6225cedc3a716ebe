//! Until when clients may hold on to what this node granted them, kept so that it outlives the process.
//!
//! After `kill -9` of a node its clients go on until their leases end by their own clocks. A node that came back earlier
//! and said "my former self is gone" would give away what they still use. So the end of the latest lease is in
//! `state/promises`, written in place and without fsync: the page cache outlives the process. After a crash of the machine
//! its own clients are gone with it; only those on other machines must be waited for, so what tells of them is synced:
//! that there were any, and the longest lease they had, in steps of powers of two, so that it happens a few times in the
//! life of a mesh.
//!
//! ```text
//!   start, same boot:    wait until that time. Nobody held anything: no wait at all
//!   start, other boot:   no wait if clients were local only, otherwise for the longest lease promised
//! ```
//!
//! Times are on a clock that counts suspend: a lease ends in a closed laptop too.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::durable::{self, Readers};
use super::error::file;
use super::{Incarnation, MeshError};

mod record;

pub use record::{BootId, LastRun, Moment};
use record::{Found, Record};

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientPlace {
    /// In this process, or on this machine at the Unix socket: it ends with the machine.
    Here,
    /// Perhaps on another machine: over TCP.
    Elsewhere,
}

/// Until when clients may hold on. To note a lease is to read a clock, and now and then a write into the page cache.
#[derive(Debug)]
pub struct Promises {
    path: PathBuf,
    file: File,
    record: Record,
    slack: Duration,
    until: Moment,
}

impl Promises {
    /// Opens the promises of a mesh directory, and finds out how long the former run's clients must be waited for.
    ///
    /// `slack` is how much further than needed an end is written, so that most renewals write nothing: a sixth of the
    /// standing. `lease` is waited for if nothing is known: the lease of clients that name none.
    pub fn open(dir: &Path, last: LastRun, slack: Duration, lease: Duration) -> Result<Self, MeshError> {
        Self::open_at(dir, last, slack, lease, this_boot(), Moment::now())
    }

    fn open_at(
        dir: &Path,
        last: LastRun,
        slack: Duration,
        lease: Duration,
        boot: Option<BootId>,
        now: Moment,
    ) -> Result<Self, MeshError> {
        let path = promises_file(dir);
        let bytes = durable::read(&path)?;
        let found = bytes.as_deref().map_or(Found::Nothing, Record::read);
        if matches!(found, Found::Damaged) {
            tracing::warn!("{} is damaged: waiting {lease:?} for clients of the last run", path.display());
        }
        let wait = record::wait(&found, last, lease, boot, now);
        let until = now.after(wait);
        // What is to be waited for counts from now on by the clock of this boot, also if this run is killed meanwhile.
        let record = Record::begin(&found, boot, if wait.is_zero() { None } else { Some(until) }, wait);
        // A new file in one step. If power fails, the old one or the new one is there.
        durable::write(&path, &record.to_bytes(), Readers::Owner)?;
        let file = OpenOptions::new().write(true).open(&path).map_err(file("open", &path))?;
        Ok(Self { path, file, record, slack, until })
    }

    /// How long this node must still be silent, because clients of its former self may hold on.
    pub fn wait_needed(&self) -> Duration {
        self.wait_needed_at(Moment::now())
    }

    fn wait_needed_at(&self, now: Moment) -> Duration {
        self.until.since(now)
    }

    /// Notes that a client may hold on for this long from now. It must be `Ok` before the client is told.
    pub fn note(&mut self, lease: Duration, client: ClientPlace) -> Result<(), MeshError> {
        self.note_at(Moment::now(), lease, client)
    }

    fn note_at(&mut self, now: Moment, lease: Duration, client: ClientPlace) -> Result<(), MeshError> {
        let needed = self.record.needs(now.after(lease), lease, client);
        if !needed.write {
            return Ok(());
        }
        let mut record = self.record;
        record.promise(now.after(lease).after(self.slack), lease, client);
        self.put(&record)?;
        if needed.sync {
            durable::sync_in_place(&self.file, &self.path)?;
        }
        // Only now: after an error the next note tries again.
        self.record = record;
        Ok(())
    }

    /// Notes that no client holds anything. It writes, so call it when nothing was held for a while, from a timer, and not
    /// at every release: the next grant within the slack then writes nothing either. Left out, the next start only waits
    /// for longer than it must.
    pub fn clear(&mut self) -> Result<(), MeshError> {
        self.clear_at(Moment::now())
    }

    fn clear_at(&mut self, now: Moment) -> Result<(), MeshError> {
        // Clients of the former self are not ours to clear.
        let end = (self.until > now).then_some(self.until);
        if self.record.end() == end {
            return Ok(());
        }
        let mut record = self.record;
        record.set_end(end);
        self.put(&record)?;
        self.record = record;
        Ok(())
    }

    /// Ends a run whose clients hold nothing any more, or whose grants were saved. Nothing is left to wait for then but
    /// clients of the run before, if their time is not over.
    pub fn end(self) -> Result<(), MeshError> {
        self.end_at(Moment::now())
    }

    fn end_at(self, now: Moment) -> Result<(), MeshError> {
        let mut record = self.record;
        if self.until > now {
            record.set_end(Some(self.until));
        } else {
            record = Record::nothing(record.boot());
        }
        durable::write(&self.path, &record.to_bytes(), Readers::Owner)
    }

    /// Whether notes can be written: writes again what was noted last.
    pub fn try_to_write(&self) -> Result<(), MeshError> {
        self.put(&self.record)?;
        durable::sync_in_place(&self.file, &self.path)
    }

    fn put(&self, record: &Record) -> Result<(), MeshError> {
        durable::write_in_place(&self.file, &self.path, &record.to_bytes())
    }
}

impl LastRun {
    /// How the run before this one ended, by what [`begin_run`](super::state::begin_run) found.
    pub fn before(incarnation: Incarnation, has_resumed: bool) -> Self {
        match (has_resumed, incarnation) {
            (true, _) => Self::Clean,
            (false, Incarnation(0)) => Self::Never,
            (false, Incarnation(_)) => Self::Crashed,
        }
    }
}

/// Takes away what belongs to no member any more.
pub(super) fn clear(dir: &Path) -> Result<(), MeshError> {
    durable::remove(&promises_file(dir))
}

fn promises_file(dir: &Path) -> PathBuf {
    dir.join("state").join("promises")
}

/// Which boot of the machine this is, where that can be told.
fn this_boot() -> Option<BootId> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    BootId::parse(text.trim())
}

impl Moment {
    /// Now, on a clock that counts suspend.
    pub fn now() -> Self {
        Self(now())
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn now() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    // It cannot fail where the clock exists, which is since Linux 2.6.39.
    clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default()
}

/// Elsewhere there is no boot id either, so no moment of one run is ever compared with one of another.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn now() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

#[cfg(test)]
mod tests;
