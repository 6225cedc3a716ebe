//! What the lock guards: a counter in a file that can refuse those who come too late.
//!
//! The file is a list of lines of the same length that only grows, and the last one counts; so it is also the history
//! from which lost updates are told. A line is written at once, so that a client that is killed leaves a whole one.
//!
//! Whoever reads in order to write must show its fence when it reads, not only when it writes. Otherwise somebody who
//! slept could write after its successor has read and before that one writes; both would be accepted, and one lost.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, bail};

/// The length of a line.
const LINE: usize = 44;

/// The counter.
#[derive(Debug)]
pub(crate) struct Store {
    file: File,
}

/// What somebody did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Read the counter and showed a fence.
    Read,
    /// Wrote the counter.
    Write,
}

/// A line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) deed: Deed,
    /// The greatest fence seen up to now.
    pub(crate) fence: u64,
    pub(crate) value: u64,
}

/// Somebody with a greater fence was here before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stale;

/// All that was done, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(pub(crate) Vec<Entry>);

impl Store {
    /// A counter at zero.
    pub(crate) fn make(path: &Path) -> anyhow::Result<Self> {
        File::create_new(path).with_context(|| format!("cannot make {}", path.display()))?;
        Self::open(path)
    }

    /// One that is there.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).open(path);
        Ok(Self { file: file.with_context(|| format!("cannot open {}", path.display()))? })
    }

    /// The counter, for somebody with this fence; without one, whoever asks is told.
    pub(crate) fn read(&mut self, fence: Option<u64>) -> anyhow::Result<Result<u64, Stale>> {
        self.with(|file| {
            let last = last(file)?;
            if let Some(fence) = fence {
                if fence < last.fence {
                    return Ok(Err(Stale));
                }
                append(file, Entry { deed: Deed::Read, fence, value: last.value })?;
            }
            Ok(Ok(last.value))
        })
    }

    /// Sets the counter, for somebody with this fence; without one, whoever asks may.
    pub(crate) fn write(&mut self, fence: Option<u64>, value: u64) -> anyhow::Result<Result<(), Stale>> {
        self.with(|file| {
            let last = last(file)?;
            if fence.is_some_and(|fence| fence < last.fence) {
                return Ok(Err(Stale));
            }
            append(file, Entry { deed: Deed::Write, fence: fence.unwrap_or(last.fence), value })?;
            Ok(Ok(()))
        })
    }

    /// All that was done up to now. Waits for nobody: a client may have been stopped while it was alone at the file.
    pub(crate) fn history(&mut self) -> anyhow::Result<History> {
        let mut text = String::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_string(&mut text)?;
        let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
        whole.lines().map(entry).collect::<anyhow::Result<_>>().map(History)
    }

    /// Does something while nobody else can.
    fn with<T>(&mut self, act: impl FnOnce(&mut File) -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.file.lock().context("cannot lock the counter")?;
        let acted = act(&mut self.file);
        self.file.unlock().context("cannot unlock the counter")?;
        acted
    }
}

impl History {
    /// How many writes there were, and what the counter is after them.
    pub(crate) fn writes_and_counter(&self) -> (u64, u64) {
        let writes = self.0.iter().filter(|entry| entry.deed == Deed::Write).count();
        (writes as u64, self.0.last().map_or(0, |entry| entry.value))
    }
}

fn last(file: &mut File) -> anyhow::Result<Entry> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(Entry { deed: Deed::Read, fence: 0, value: 0 });
    }
    let start = length.checked_sub(LINE as u64).context("the counter's file is too short for a line")?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = [0; LINE];
    file.read_exact(&mut bytes)?;
    entry(std::str::from_utf8(&bytes)?.trim_end())
}

fn append(file: &mut File, entry: Entry) -> anyhow::Result<()> {
    let deed = match entry.deed {
        Deed::Read => 'r',
        Deed::Write => 'w',
    };
    let line = format!("{deed} {:>20} {:>20}\n", entry.fence, entry.value);
    debug_assert_eq!(line.len(), LINE);
    if file.write(line.as_bytes())? != line.len() {
        bail!("the disk is full: a line of the counter could not be written");
    }
    Ok(())
}

fn entry(line: &str) -> anyhow::Result<Entry> {
    let mut words = line.split_whitespace();
    let deed = match words.next() {
        Some("r") => Deed::Read,
        Some("w") => Deed::Write,
        Some(_) | None => bail!("{line:?} is no line of a counter"),
    };
    let mut number = || -> anyhow::Result<u64> {
        words.next().and_then(|word| word.parse().ok()).with_context(|| format!("{line:?} is no line of a counter"))
    };
    Ok(Entry { deed, fence: number()?, value: number()? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let place = tempfile::tempdir().unwrap();
        let store = Store::make(&place.path().join("counter")).unwrap();
        (place, store)
    }

    #[test]
    fn whoever_comes_late_is_refused() {
        let (place, mut store) = store();
        assert_eq!(store.read(Some(1)).unwrap(), Ok(0));
        let mut other = Store::open(&place.path().join("counter")).unwrap();
        assert_eq!(other.read(Some(2)).unwrap(), Ok(0));
        // The second has only read; what the first writes now would be lost.
        assert_eq!(store.write(Some(1), 1).unwrap(), Err(Stale));
        assert_eq!(other.write(Some(2), 1).unwrap(), Ok(()));
        assert_eq!(store.read(Some(1)).unwrap(), Err(Stale));
        assert_eq!(other.read(Some(2)).unwrap(), Ok(1));
        assert_eq!(other.history().unwrap().writes_and_counter(), (1, 1));
    }

    #[test]
    fn without_fences_what_is_lost_can_be_told() {
        let (_place, mut store) = store();
        for value in [1, 2, 3, 1] {
            assert_eq!(store.write(None, value).unwrap(), Ok(()));
        }
        assert_eq!(store.history().unwrap().writes_and_counter(), (4, 1));
    }
}
