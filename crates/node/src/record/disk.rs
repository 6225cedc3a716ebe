//! Files that are written on a thread of their own: a node never waits for a disk, nor for anything else that a file may
//! turn out to be.
//!
//! What is written waits in memory, up to [`MOST_WAITING`] for all files together. A file for which there is no room any
//! more ends there, as if the disk were full: a trace with a hole could not be run again, and a node that waited would
//! lose its links.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

/// How much may wait to be written.
const MOST_WAITING: usize = 64 << 20;
/// How much is handed over at once, unless it is flushed before.
const PART: usize = 64 << 10;

/// Writes files. Clones are the same; the last one waits until everything is written.
#[derive(Clone, Debug)]
pub(super) struct Disk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Gone when it ends.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    waiting: Arc<AtomicUsize>,
    most_waiting: usize,
    last: Mutex<u64>,
}

#[derive(Debug)]
enum Job {
    Open(u64, PathBuf, Fault),
    Write(u64, Vec<u8>),
    Close(u64),
    /// Tell when everything before this is done.
    Tell(mpsc::Sender<()>),
}

/// Why a file cannot be written, until that was told.
#[derive(Clone, Debug, Default)]
struct Fault(Arc<Mutex<Option<io::Error>>>);

impl Fault {
    fn lock(&self) -> MutexGuard<'_, Option<io::Error>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hears when everything is written.
#[derive(Debug)]
pub struct Written {
    done: Option<mpsc::Receiver<()>>,
}

impl Written {
    /// Waits for it.
    pub fn wait(self) {
        // If the thread is gone there is nothing to wait for.
        self.done.map(|done| done.recv());
    }
}

impl Disk {
    pub(super) fn start() -> io::Result<Self> {
        Self::with_room_for(MOST_WAITING)
    }

    fn with_room_for(most_waiting: usize) -> io::Result<Self> {
        let (jobs, received) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&waiting);
        let thread = thread::Builder::new().name("recording".into()).spawn(move || work(&received, &counted))?;
        let (jobs, thread, last) = (Some(jobs), Some(thread), Mutex::new(0));
        Ok(Self(Arc::new(Inner { jobs, thread, waiting, most_waiting, last })))
    }

    /// A new file in place of what was there. Whether it can be made turns out later, as with everything that is
    /// written.
    pub(super) fn create(&self, path: &Path) -> DiskFile {
        let mut last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        let (number, fault) = (*last, Fault::default());
        self.0.send(Job::Open(number, path.to_owned(), fault.clone()));
        DiskFile { disk: self.clone(), number, fault, part: Vec::new() }
    }

    /// Hears when everything so far is written.
    pub(super) fn written(&self) -> Written {
        let (tell, done) = mpsc::channel();
        self.0.send(Job::Tell(tell));
        Written { done: Some(done) }
    }
}

impl Inner {
    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // The thread ends only after this.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic, and if it did there would be nothing to do about it.
            let _ = thread.join();
        }
    }
}

/// A file that is written in the background.
#[derive(Debug)]
pub(super) struct DiskFile {
    disk: Disk,
    number: u64,
    fault: Fault,
    part: Vec<u8>,
}

impl DiskFile {
    fn hand_over(&mut self) -> io::Result<()> {
        if let Some(error) = self.fault.lock().take() {
            return Err(error);
        }
        if self.part.is_empty() {
            return Ok(());
        }
        let Inner { waiting, most_waiting, .. } = &*self.disk.0;
        let length = self.part.len();
        if waiting.load(Ordering::Relaxed) + length > *most_waiting {
            self.part.clear();
            return Err(io::Error::other(format!("the disk is too slow: {most_waiting} bytes wait to be written")));
        }
        waiting.fetch_add(length, Ordering::Relaxed);
        self.disk.0.send(Job::Write(self.number, std::mem::take(&mut self.part)));
        Ok(())
    }
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.part.extend_from_slice(bytes);
        if self.part.len() >= PART {
            self.hand_over()?;
        }
        Ok(bytes.len())
    }

    /// Hands over what there is; it is written soon.
    fn flush(&mut self) -> io::Result<()> {
        self.hand_over()
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        // A caller that wants to know flushes first.
        let _ = self.hand_over();
        self.disk.0.send(Job::Close(self.number));
    }
}

/// Does the jobs until all senders are gone.
fn work(jobs: &mpsc::Receiver<Job>, waiting: &AtomicUsize) {
    let mut files: BTreeMap<u64, (File, Fault)> = BTreeMap::new();
    for job in jobs {
        match job {
            Job::Open(number, path, fault) => match File::create(path) {
                Ok(file) => drop(files.insert(number, (file, fault))),
                Err(error) => *fault.lock() = Some(error),
            },
            Job::Write(number, bytes) => {
                let written = files.get_mut(&number).map(|(file, _)| file.write_all(&bytes));
                waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
                if let Some(Err(error)) = written
                    && let Some((_, fault)) = files.remove(&number)
                {
                    *fault.lock() = Some(error); // what else comes for it is dropped
                }
            }
            Job::Close(number) => drop(files.remove(&number)),
            // The asker may be gone.
            Job::Tell(tell) => drop(tell.send(())),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    /// A file that nobody can open for writing before somebody reads it.
    fn pipe(place: &Path) -> PathBuf {
        let path = place.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("it can be run");
        assert!(made.success());
        path
    }

    #[test]
    fn a_disk_that_stands_still_holds_nobody_up_and_nothing_is_lost() {
        let place = tempfile::tempdir().unwrap();
        let path = pipe(place.path());
        let disk = Disk::start().unwrap();
        let mut file = disk.create(&path);
        let lines: Vec<String> = (0..20_000).map(|line| format!("line {line}\n")).collect();
        for line in &lines {
            file.write_all(line.as_bytes()).unwrap();
            file.flush().unwrap();
        }
        let reader = thread::spawn(move || fs::read_to_string(path).unwrap());
        drop(file);
        disk.written().wait();
        assert_eq!(reader.join().unwrap(), lines.concat());
    }

    #[test]
    fn what_waits_to_be_written_is_bounded() {
        let place = tempfile::tempdir().unwrap();
        let path = pipe(place.path());
        let disk = Disk::with_room_for(1_000).unwrap();
        let mut file = disk.create(&path);
        let mut tries = (0..100).map(|_| file.write_all(&[b'x'; 300]).and_then(|()| file.flush()));
        assert!(tries.by_ref().take(3).all(|written| written.is_ok()));
        let error = tries.next().unwrap().unwrap_err();
        assert!(error.to_string().contains("too slow"), "{error}");
        let reader = thread::spawn(move || fs::read(path).unwrap());
        drop((file, disk));
        assert_eq!(reader.join().unwrap().len(), 900, "what was accepted is written");
    }

    #[test]
    fn a_fault_is_told_to_who_writes() {
        let place = tempfile::tempdir().unwrap();
        let disk = Disk::start().unwrap();
        for path in [place.path().to_owned(), PathBuf::from("/dev/full")] {
            let mut file = disk.create(&path);
            file.write_all(b"line\n").unwrap();
            let first = file.flush();
            disk.written().wait();
            assert!(first.is_err() || file.flush().is_err(), "{}", path.display());
            assert!(file.flush().is_ok(), "once");
        }
    }
}
