//! A disk that fails, for tests: every step of `durable` in a directory can be made to fail.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether the step of this number, with this name, on this file fails.
type Rule = Box<dyn Fn(usize, &str, &Path) -> bool + Send + Sync>;

struct Disk {
    dir: PathBuf,
    rule: Rule,
    /// Steps so far, and those that failed.
    counts: Mutex<(usize, usize)>,
}

static DISKS: Mutex<Vec<Arc<Disk>>> = Mutex::new(Vec::new());

/// A directory whose disk fails by a rule, until this is dropped.
pub(crate) struct FailingDisk(Arc<Disk>);

impl FailingDisk {
    pub(crate) fn new(dir: &Path, rule: impl Fn(usize, &str, &Path) -> bool + Send + Sync + 'static) -> Self {
        let disk = Arc::new(Disk { dir: dir.to_owned(), rule: Box::new(rule), counts: Mutex::default() });
        DISKS.lock().unwrap().push(Arc::clone(&disk));
        Self(disk)
    }

    /// Only this step fails.
    pub(crate) fn once(dir: &Path, step: usize) -> Self {
        Self::new(dir, move |number, _, _| number == step)
    }

    /// This step fails and all that follow, as if the process had died there.
    pub(crate) fn from(dir: &Path, step: usize) -> Self {
        Self::new(dir, move |number, _, _| number >= step)
    }

    /// How many steps have failed.
    pub(crate) fn failed(&self) -> usize {
        self.0.counts.lock().unwrap().1
    }
}

impl Drop for FailingDisk {
    fn drop(&mut self) {
        DISKS.lock().unwrap_or_else(PoisonError::into_inner).retain(|disk| !Arc::ptr_eq(disk, &self.0));
    }
}

/// Asked before every step.
pub(super) fn may_fail(step: &'static str, path: &Path) -> io::Result<()> {
    let disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for disk in disks.iter().filter(|disk| path.starts_with(&disk.dir)) {
        let mut counts = disk.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let number = counts.0;
        counts.0 += 1;
        if (disk.rule)(number, step, path) {
            counts.1 += 1;
            return Err(io::ErrorKind::StorageFull.into());
        }
    }
    Ok(())
}
