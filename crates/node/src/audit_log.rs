//! Where a node writes down who held what: lines of JSON in `audit/audit.jsonl` of its directory, four files at most.
//!
//! A thread of its own writes, so that no disk keeps a grant waiting. When the disk is full, or slower than grants come,
//! records are missed and counted, and the node goes on. Lines are not flushed to the disk one by one: a power cut may
//! take those of the last moments, and a crash of the process those of the last [`PAUSE`].

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use meshlock_api::{AuditRecord, Audited};

/// How long a file becomes before the next one begins.
pub const LONGEST_FILE: u64 = 8 << 20;
/// How many files there are, with the one that is written.
pub const MOST_FILES: usize = 4;
/// How many records wait for the disk; one batch may go beyond it.
const MOST_WAITING: usize = 65_536;
/// How long the thread rests after it has written. Woken for each grant and each release, it would cost as much as all the rest
/// of them.
pub const PAUSE: Duration = Duration::from_millis(5);
/// A disk that stays full is complained about so often.
const BETWEEN_COMPLAINTS: Duration = Duration::from_secs(60);

/// What waits to be written.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    records: Vec<AuditRecord>,
    /// The thread has nothing to do, and has to be woken.
    is_idle: bool,
    /// Nothing follows.
    is_closed: bool,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there are records, and takes all of them; none if nothing follows.
    fn take(&self) -> Vec<AuditRecord> {
        let mut waiting = self.waiting();
        while waiting.records.is_empty() && !waiting.is_closed {
            waiting.is_idle = true;
            waiting = self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            waiting.is_idle = false;
        }
        std::mem::take(&mut waiting.records)
    }
}

/// Where records go.
#[derive(Debug)]
pub struct AuditSender {
    to: Arc<Queue>,
    missed: u64,
}

impl AuditSender {
    /// Hands records over, without waiting. What does not fit is counted, and told with the next that do.
    pub fn send(&mut self, records: Vec<AuditRecord>) {
        let Some(first) = records.first() else { return };
        let mut waiting = self.to.waiting();
        if waiting.records.len() >= MOST_WAITING {
            self.missed += records.len() as u64;
            return;
        }
        if self.missed > 0 {
            let records = std::mem::take(&mut self.missed);
            waiting.records.push(AuditRecord { at_ms: first.at_ms, what: Audited::Missed { records } });
        }
        waiting.records.extend(records);
        // Most of the time it rests, and looks by itself.
        let is_idle = std::mem::take(&mut waiting.is_idle);
        drop(waiting);
        if is_idle {
            self.to.wake.notify_one();
        }
    }
}

impl Drop for AuditSender {
    fn drop(&mut self) {
        self.to.waiting().is_closed = true;
        self.to.wake.notify_one();
    }
}

/// The thread that writes. It ends when the sender is dropped and all is written.
#[derive(Debug)]
pub struct AuditLog {
    thread: Option<JoinHandle<()>>,
}

impl AuditLog {
    /// Writes into this directory, which is made if it is not there.
    pub fn start(dir: PathBuf) -> io::Result<(AuditSender, Self)> {
        let to = Arc::new(Queue::default());
        let from = Arc::clone(&to);
        let mut file = Files::new(dir, LONGEST_FILE);
        let thread = std::thread::Builder::new().name("audit".into()).spawn(move || file.write_all(&from))?;
        Ok((AuditSender { to, missed: 0 }, Self { thread: Some(thread) }))
    }

    /// Waits until all is written; the sender must be gone.
    pub fn finish(mut self) {
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

#[derive(Debug)]
struct Files {
    dir: PathBuf,
    longest: u64,
    file: Option<(File, u64)>,
    missed: u64,
    /// A line was written in part.
    is_torn: bool,
    complained: Option<Instant>,
}

impl Files {
    fn new(dir: PathBuf, longest: u64) -> Self {
        Self { dir, longest, file: None, missed: 0, is_torn: false, complained: None }
    }

    fn write_all(&mut self, from: &Queue) {
        loop {
            let records = from.take();
            if records.is_empty() {
                return;
            }
            self.write(&records);
            std::thread::sleep(PAUSE);
        }
    }

    fn write(&mut self, records: &[AuditRecord]) {
        let Some(first) = records.first() else { return };
        let mut lines = String::new();
        if self.missed > 0 {
            let missed = AuditRecord { at_ms: first.at_ms, what: Audited::Missed { records: self.missed } };
            push(&mut lines, &missed);
        }
        records.iter().for_each(|record| push(&mut lines, record));
        match self.append(lines.as_bytes()) {
            Ok(()) => self.missed = 0,
            Err(error) => {
                self.missed += records.len() as u64;
                self.is_torn |= self.file.take().is_some();
                if self.complained.is_none_or(|last| last.elapsed() > BETWEEN_COMPLAINTS) {
                    self.complained = Some(Instant::now());
                    let dir = self.dir.display();
                    tracing::warn!("who holds what cannot be written to {dir} and is missed in the audit: {error}");
                }
            }
        }
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let full = |(_, size): &(File, u64)| *size > 0 && size + lines.len() as u64 > self.longest;
        if self.file.as_ref().is_some_and(full) {
            self.file = None;
        }
        if self.file.is_none() {
            self.file = Some(self.open(lines.len() as u64)?);
        }
        let Some((file, size)) = &mut self.file else { return Ok(()) };
        if std::mem::take(&mut self.is_torn) {
            file.write_all(b"\n")?;
        }
        file.write_all(lines)?;
        *size += lines.len() as u64;
        Ok(())
    }

    /// The file to go on with: the former one, unless these bytes would make it too long.
    fn open(&self, more: u64) -> io::Result<(File, u64)> {
        fs::create_dir_all(&self.dir)?;
        let current = path(&self.dir, 0);
        let size = fs::metadata(&current).map_or(0, |found| found.len());
        if size > 0 && size + more > self.longest {
            for number in (0..MOST_FILES - 1).rev() {
                match fs::rename(path(&self.dir, number), path(&self.dir, number + 1)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    Ok(()) | Err(_) => {}
                }
            }
        }
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
        let file = options.open(&current)?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }
}

fn push(lines: &mut String, record: &AuditRecord) {
    // None of our types can fail.
    if let Ok(line) = serde_json::to_string(record) {
        lines.push_str(&line);
        lines.push('\n');
    }
}

fn path(dir: &Path, number: usize) -> PathBuf {
    if number == 0 { dir.join("audit.jsonl") } else { dir.join(format!("audit.{number}.jsonl")) }
}

/// The latest records in this directory, so many at most, of one resource or all, the oldest first. Lines that are no
/// records, such as the one that a power cut tore, are left out.
pub fn latest(dir: &Path, resource: Option<&str>, most: usize) -> io::Result<Vec<AuditRecord>> {
    let mut all: VecDeque<AuditRecord> = VecDeque::new();
    for number in 0..MOST_FILES {
        let room = most - all.len();
        let file = match File::open(path(dir, number)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let mut latest = VecDeque::new();
        for line in BufReader::new(file).split(b'\n') {
            let Ok(record) = serde_json::from_slice::<AuditRecord>(&line?) else { continue };
            if resource.is_none_or(|name| record.what.resource().is_none_or(|about| about == name)) {
                latest.push_back(record);
            }
            if latest.len() > room {
                latest.pop_front();
            }
        }
        latest.into_iter().rev().for_each(|record| all.push_front(record));
        if all.len() >= most {
            break;
        }
    }
    Ok(all.into())
}

#[cfg(test)]
mod tests {
    use meshlock_api::AuditGrant;

    use super::*;

    fn record(at_ms: u64) -> AuditRecord {
        let grant = AuditGrant { resource: "dock".into(), request: at_ms.to_string(), ..AuditGrant::default() };
        AuditRecord { at_ms, what: Audited::Stopped { grant } }
    }

    fn times(dir: &Path, most: usize) -> Vec<u64> {
        latest(dir, None, most).unwrap().iter().map(|record| record.at_ms).collect()
    }

    #[test]
    fn files_rotate_and_the_latest_records_are_found_across_them() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Files::new(dir.path().to_owned(), 200);
        (1..=100).for_each(|at_ms| files.write(&[record(at_ms)]));
        let sizes: Vec<u64> =
            fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().metadata().unwrap().len()).collect();
        assert!(sizes.len() == MOST_FILES && sizes.iter().all(|size| *size <= 200), "{sizes:?}");
        assert_eq!(times(dir.path(), 5), [96, 97, 98, 99, 100]);
        let all = times(dir.path(), 1_000);
        assert!(all.len() > 5 && all.is_sorted() && all.last() == Some(&100), "{all:?}");
        assert!(latest(dir.path(), Some("crane"), 9).unwrap().is_empty());
        // A new start goes on with the file that is there.
        Files::new(dir.path().to_owned(), 200).write(&[record(101)]);
        assert_eq!(times(dir.path(), 2), [100, 101]);
    }

    #[test]
    fn what_cannot_be_written_is_counted_and_the_rest_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("audit");
        fs::write(&place, "a file is in the way").unwrap();
        let mut files = Files::new(place.clone(), 10_000);
        files.write(&[record(1)]);
        files.write(&[record(2), record(3)]);
        fs::remove_file(&place).unwrap();
        files.write(&[record(4)]);
        let all = latest(&place, None, 9).unwrap();
        assert_eq!(all[0].what, Audited::Missed { records: 3 });
        assert_eq!(all[1], record(4));
    }

    #[test]
    fn a_torn_line_does_not_take_the_next_one_with_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(path(dir.path(), 0), "{\"at_ms\":1,\"wha").unwrap();
        let mut files = Files::new(dir.path().to_owned(), 10_000);
        files.is_torn = true;
        files.write(&[record(2)]);
        assert_eq!(times(dir.path(), 9), [2]);
    }

    #[test]
    fn a_writer_that_is_too_slow_costs_records_and_no_time() {
        let to = Arc::new(Queue::default());
        let mut sender = AuditSender { to: Arc::clone(&to), missed: 0 };
        sender.send((1..MOST_WAITING as u64).map(record).collect());
        sender.send(vec![record(1), record(2)]); // a batch is not torn apart
        sender.send(vec![record(3)]);
        sender.send(vec![record(4), record(5)]);
        assert_eq!(to.take().len(), MOST_WAITING + 1);
        sender.send(vec![record(6)]);
        let missed = AuditRecord { at_ms: 6, what: Audited::Missed { records: 3 } };
        assert_eq!(to.take(), [missed, record(6)]);
    }

    #[test]
    fn what_waits_is_written_at_once_and_in_order() {
        let to = Arc::new(Queue::default());
        let mut sender = AuditSender { to: Arc::clone(&to), missed: 0 };
        (1..=4).for_each(|at_ms| sender.send(vec![record(at_ms)]));
        assert_eq!(to.take(), [record(1), record(2), record(3), record(4)]);
        drop(sender);
        assert_eq!(to.take(), []);
    }

    #[test]
    fn all_that_was_sent_is_written_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let (mut sender, log) = AuditLog::start(dir.path().join("audit")).unwrap();
        sender.send(vec![record(1), record(2)]);
        while times(&dir.path().join("audit"), 9) != [1, 2] {
            std::thread::sleep(Duration::from_millis(1));
        }
        // It rests now.
        sender.send(vec![record(3)]);
        drop(sender);
        log.finish();
        assert_eq!(times(&dir.path().join("audit"), 9), [1, 2, 3]);
    }
}
