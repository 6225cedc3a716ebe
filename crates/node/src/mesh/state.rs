//! What a member must not forget, and how it may.
//!
//! | file | what it is |
//! |---|---|
//! | `state/run` | the incarnation of the last start |
//! | `state/saved` | everything the node knew, written by a clean stop, taken by the next start |
//! | `state/met` | this member has had a link to another one |
//! | `state/installation` | a random number, drawn at the first start: two machines that took up one invitation differ |
//! | `state/lock` | locked by the process that runs this member |
//! | `state/removals/` | signed removals, a file for each |
//! | `state/charters/` | what the authority decided for the whole mesh ([`Charter`](super::Charter)) |
//! | `state/census` and others | what recovery needs ([`keep`]) |
//! | `state/promises` | until when clients may hold on ([`promises`]) |
//!
//! A member that was stopped cleanly goes on as the node it was. One that crashed has forgotten what it promised, so it
//! comes back as another node of the protocols: its incarnation grows. What was saved is used once: it is read, and then
//! taken away durably before anybody acts on it, or a second crash would bring back a past that others have seen end.
//! What cannot be read is never deleted: it is put aside, or left alone if another version can read it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};

use super::durable::{self, Readers};
use super::error::{damaged, file};
use super::{Incarnation, MeshError, charter, keep, promises};

/// A member that runs. While this lives, no other process can run the same member.
#[derive(Debug)]
pub struct Run {
    /// As which incarnation it began. [`Keep::next_incarnation`](super::keep::Keep::next_incarnation) goes on from there.
    pub incarnation: Incarnation,
    /// Tells this directory from another one that took up the same invitation.
    pub installation: u64,
    dir: PathBuf,
    current: Arc<Mutex<Current>>,
    _lock: File,
}

/// The incarnation of a run at this moment.
#[derive(Debug)]
pub(super) struct Current {
    incarnation: Incarnation,
    /// The disk says so too. False after a step to the next one that failed.
    is_durable: bool,
}

impl Current {
    /// Takes the next incarnation, durably.
    pub(super) fn advance(&mut self, dir: &Path) -> Result<Incarnation, MeshError> {
        let next = next(self.incarnation)?;
        self.is_durable = false;
        write_run(dir, next)?;
        *self = Self { incarnation: next, is_durable: true };
        Ok(next)
    }
}

/// Why saved state cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// No version could: it is put aside, and the member comes back as a new node.
    Damaged(String),
    /// Another version can: it is left alone, and the member does not start.
    OtherVersion(String),
}

/// Lays the ground for the first run of a new membership. What is there belongs to no member: the power failed before its
/// member came to be, or its files were taken away by hand.
pub(super) fn prepare(dir: &Path) -> Result<(), MeshError> {
    durable::remove(&saved_file(dir))?;
    durable::remove(&met_file(dir))?;
    durable::remove(&installation_file(dir))?;
    keep::clear(dir)?;
    promises::clear(dir)?;
    charter::clear(dir)?;
    durable::write(&run_file(dir), NEVER.as_bytes(), Readers::Owner)
}

/// Begins a run: locks the member, finds out which incarnation it is, and has `read` look at what the last run saved if
/// it was stopped cleanly. Nothing of it happens twice, whenever the power or the disk fails: what comes back may be
/// acted upon.
pub fn begin_run<T>(
    dir: &Path,
    read: impl FnOnce(Incarnation, &[u8]) -> Result<T, Unusable>,
) -> Result<(Run, Option<T>), MeshError> {
    let lock = lock(dir)?;
    let path = run_file(dir);
    let last = read_last(&path)?;
    let installation = installation(dir)?;
    let run = |incarnation| Run {
        incarnation,
        installation,
        dir: dir.to_owned(),
        current: Arc::new(Mutex::new(Current { incarnation, is_durable: true })),
        _lock: lock,
    };
    let saved = saved_file(dir);
    if let Some(bytes) = durable::read(&saved)? {
        match usable(last, &bytes).and_then(|(incarnation, bytes)| Ok((incarnation, read(incarnation, bytes)?))) {
            Ok((incarnation, state)) => {
                durable::remove(&saved)?;
                return Ok((run(incarnation), Some(state)));
            }
            Err(Unusable::OtherVersion(why)) => return Err(MeshError::OtherVersion { path: saved, why }),
            Err(Unusable::Damaged(why)) => {
                let aside = put_aside(&saved)?;
                tracing::error!(
                    "what this node saved cannot be used ({why}): it is kept as {}, and the node comes back as a new \
                     one, without the tokens it had",
                    aside.display()
                );
            }
        }
    }
    let incarnation = match last {
        Last::Never => Incarnation(0),
        Last::Run(last) => next(last)?,
    };
    write_run(dir, incarnation)?;
    Ok((run(incarnation), None))
}

fn next(Incarnation(last): Incarnation) -> Result<Incarnation, MeshError> {
    last.checked_add(1).map(Incarnation).ok_or(MeshError::NoIncarnationLeft)
}

fn write_run(dir: &Path, incarnation: Incarnation) -> Result<(), MeshError> {
    durable::write(&run_file(dir), format!("{}\n", incarnation.0).as_bytes(), Readers::Owner)
}

/// The number of this directory, drawn if it has none.
fn installation(dir: &Path) -> Result<u64, MeshError> {
    let path = installation_file(dir);
    if let Some(bytes) = durable::read(&path)? {
        let text = String::from_utf8_lossy(&bytes);
        let number = text.strip_suffix('\n').and_then(|text| u64::from_str_radix(text, 16).ok());
        return number.ok_or_else(|| damaged(&path, "it is no number"));
    }
    let mut number = [0; 8];
    SystemRandom::new().fill(&mut number).map_err(|_| MeshError::Keys("no random numbers".to_owned()))?;
    let number = u64::from_be_bytes(number);
    durable::write(&path, format!("{number:016x}\n").as_bytes(), Readers::Owner)?;
    Ok(number)
}

/// What was saved by the last run, and by no other.
fn usable(last: Last, bytes: &[u8]) -> Result<(Incarnation, &[u8]), Unusable> {
    let (incarnation, body) = parse_saved(bytes)?;
    match last {
        Last::Run(last) if last == incarnation => Ok((incarnation, body)),
        Last::Run(_) | Last::Never => Err(Unusable::Damaged(format!(
            "it was saved by incarnation {}, which was not the last to run",
            incarnation.0
        ))),
    }
}

/// Renames a file so that it is not read again.
fn put_aside(path: &Path) -> Result<PathBuf, MeshError> {
    let mut number = 1;
    let aside = |number| path.with_file_name(format!("saved-unusable-{number}"));
    while aside(number).exists() {
        number += 1;
    }
    durable::rename(path, &aside(number))?;
    Ok(aside(number))
}

impl Run {
    /// Ends a run cleanly: everything the node knew, for the next. It must not act any more. A run that is dropped
    /// instead has crashed.
    pub fn end(self, bytes: &[u8]) -> Result<(), MeshError> {
        let incarnation = {
            let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            if !current.is_durable {
                return Err(MeshError::BetweenIncarnations);
            }
            current.incarnation
        };
        let mut out = Vec::with_capacity(bytes.len() + 64);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&incarnation.0.to_be_bytes());
        out.extend_from_slice(bytes);
        let checksum = digest::digest(&digest::SHA256, &out);
        out.extend_from_slice(checksum.as_ref());
        durable::write(&saved_file(&self.dir), &out, Readers::Owner)
    }

    /// The mesh directory of the member that runs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn current(&self) -> Arc<Mutex<Current>> {
        Arc::clone(&self.current)
    }
}

/// Whether this member has ever had a link to another one. If not, everything that began at it is still there or lost
/// with it, and no other process can have it. An error means that it is not known.
pub fn has_met_others(dir: &Path) -> Result<bool, MeshError> {
    let path = met_file(dir);
    path.try_exists().map_err(file("look for", &path))
}

/// Notes durably that this member has a link to another one. It must succeed before the first word is said: a founder
/// that forgets that there are others makes its tokens anew.
pub fn note_others(dir: &Path) -> Result<(), MeshError> {
    // A file that is there need not be durable: an earlier try may have failed at its last step.
    if has_met_others(dir)? {
        durable::sync(&met_file(dir))
    } else {
        durable::write(&met_file(dir), b"yes\n", Readers::Owner)
    }
}

fn met_file(dir: &Path) -> PathBuf {
    dir.join("state").join("met")
}

/// Whether a membership was made here and never used.
pub(super) fn never_ran(dir: &Path) -> Result<bool, MeshError> {
    Ok(durable::read(&run_file(dir))?.is_some_and(|bytes| bytes == NEVER.as_bytes()))
}

/// Fails if the member of this directory is running.
pub fn check_stopped(dir: &Path) -> Result<(), MeshError> {
    if dir.join("state").is_dir() { lock(dir).map(drop) } else { Ok(()) }
}

#[derive(Clone, Copy)]
enum Last {
    Never,
    Run(Incarnation),
}

fn read_last(path: &Path) -> Result<Last, MeshError> {
    let bytes = durable::read(path)?.ok_or_else(|| MeshError::StateLost { path: path.to_owned() })?;
    let text = String::from_utf8_lossy(&bytes);
    if text == NEVER {
        return Ok(Last::Never);
    }
    // The end of the line shows that the number is whole.
    let number = text.strip_suffix('\n').and_then(|text| text.parse().ok());
    let number = number.ok_or_else(|| damaged(path, "it does not say which run was the last"))?;
    Ok(Last::Run(Incarnation(number)))
}

/// What a clean stop left.
fn parse_saved(bytes: &[u8]) -> Result<(Incarnation, &[u8]), Unusable> {
    let cut = || Unusable::Damaged("it is not whole".to_owned());
    let length = bytes.len().checked_sub(digest::SHA256_OUTPUT_LEN).ok_or_else(cut)?;
    let (body, checksum) = bytes.split_at_checked(length).ok_or_else(cut)?;
    if digest::digest(&digest::SHA256, body).as_ref() != checksum {
        return Err(cut());
    }
    let whole = body.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<2>());
    let (incarnation, rest) = whole.ok_or_else(|| Unusable::OtherVersion("its first line is unknown".to_owned()))?;
    Ok((Incarnation(u16::from_be_bytes(*incarnation)), rest))
}

fn lock(dir: &Path) -> Result<File, MeshError> {
    let path = dir.join("state").join("lock");
    durable::make_directory(&dir.join("state"))?;
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut lock = opened.map_err(file("open", &path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            let pid = fs::read_to_string(&path).ok().map(|text| text.trim().to_owned());
            let pid = pid.filter(|pid| !pid.is_empty());
            return Err(MeshError::Running { dir: dir.to_owned(), pid });
        }
        Err(fs::TryLockError::Error(error)) => return Err(file("lock", &path)(error)),
    }
    // For people only: the lock itself is what counts.
    let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
    Ok(lock)
}

fn run_file(dir: &Path) -> PathBuf {
    dir.join("state").join("run")
}

fn installation_file(dir: &Path) -> PathBuf {
    dir.join("state").join("installation")
}

fn saved_file(dir: &Path) -> PathBuf {
    dir.join("state").join("saved")
}

const NEVER: &str = "never\n";
const MAGIC: &[u8] = b"meshlock saved 1\n";

#[cfg(test)]
mod tests {
    use super::super::faults::FailingDisk;
    use super::*;

    fn fresh() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        prepare(place.path()).unwrap();
        place
    }

    fn raw(_: Incarnation, bytes: &[u8]) -> Result<Vec<u8>, Unusable> {
        Ok(bytes.to_vec())
    }

    fn begin(place: &tempfile::TempDir) -> (u16, Option<Vec<u8>>, Run) {
        let (run, saved) = begin_run(place.path(), raw).unwrap();
        (run.incarnation.0, saved, run)
    }

    /// Files that were put aside.
    fn aside(place: &tempfile::TempDir) -> Vec<Vec<u8>> {
        let path = |number| place.path().join(format!("state/saved-unusable-{number}"));
        (1..).map_while(|number| fs::read(path(number)).ok()).collect()
    }

    #[test]
    fn a_clean_stop_goes_on_and_a_crash_does_not() {
        let place = fresh();
        let (incarnation, saved, run) = begin(&place);
        assert_eq!((incarnation, saved), (0, None), "the first start ever");
        run.end(b"tokens").unwrap();
        let (incarnation, saved, run) = begin(&place);
        assert_eq!((incarnation, saved.as_deref()), (0, Some(&b"tokens"[..])), "as if nothing had happened");
        drop(run);
        let (incarnation, saved, run) = begin(&place);
        assert_eq!((incarnation, saved), (1, None), "it crashed, and what was saved is not used twice");
        run.end(b"").unwrap();
        let (incarnation, saved, _run) = begin(&place);
        assert_eq!((incarnation, saved.as_deref()), (1, Some(&b""[..])));
    }

    /// The incarnation of a life, what it began with, and what it left.
    type Life = (u16, Option<Vec<u8>>, Option<Vec<u8>>);

    /// Four lives, of which every second ends cleanly. Whatever fails is let go.
    fn lives(dir: &Path, seen: &mut Vec<Life>) {
        for number in 0..4 {
            let Ok((run, saved)) = begin_run(dir, raw) else { continue };
            let left = (number % 2 == 0).then(|| format!("left by life {}", seen.len()).into_bytes());
            seen.push((run.incarnation.0, saved, left.clone()));
            if let Some(left) = left {
                let _ = run.end(&left);
            }
        }
    }

    #[test]
    fn no_life_is_lived_twice_whichever_step_on_the_disk_fails() {
        for step in 0.. {
            let mut failed = 0;
            for fail in [FailingDisk::once, FailingDisk::from] {
                let place = fresh();
                let mut seen = Vec::new();
                let disk = fail(place.path(), step);
                lives(place.path(), &mut seen);
                failed += disk.failed();
                drop(disk);
                lives(place.path(), &mut seen);
                for two in seen.windows(2) {
                    let [(before, _, left), (now, saved, _)] = two else { unreachable!() };
                    match saved {
                        Some(saved) => assert_eq!((Some(saved), now), (left.as_ref(), before), "step {step}: {seen:?}"),
                        None => assert!(now > before, "step {step}: {seen:?}"),
                    }
                }
            }
            if failed == 0 {
                assert!(step > 10, "only {step} steps");
                return;
            }
        }
    }

    #[test]
    fn what_another_version_saved_is_left_alone() {
        let place = fresh();
        begin(&place).2.end(b"of a newer one").unwrap();
        let newer = |_, _: &[u8]| Err::<(), _>(Unusable::OtherVersion("format 9".into()));
        for _ in 0..2 {
            let error = begin_run(place.path(), newer).expect_err("newer").to_string();
            assert!(error.contains("format 9") && error.contains("state/saved"), "{error}");
        }
        assert_eq!(begin(&place).1.as_deref(), Some(&b"of a newer one"[..]), "whoever can read it still can");
    }

    #[test]
    fn what_makes_no_sense_is_put_aside() {
        let place = fresh();
        begin(&place).2.end(b"rubbish").unwrap();
        let whole = fs::read(saved_file(place.path())).unwrap();
        let damaged = |_, _: &[u8]| Err::<(), _>(Unusable::Damaged("rubbish".into()));
        let (run, state) = begin_run(place.path(), damaged).unwrap();
        assert_eq!((run.incarnation.0, state), (1, None));
        assert_eq!(aside(&place), [whole]);
    }

    #[test]
    fn others_are_noted_again_if_it_may_not_have_been_durable() {
        let place = fresh();
        let disk = FailingDisk::new(place.path(), |_, step, _| step == "sync directory");
        assert!(note_others(place.path()).is_err());
        assert!(has_met_others(place.path()).unwrap(), "it is seen, but may be gone after a loss of power");
        assert!(note_others(place.path()).is_err());
        drop(disk);
        note_others(place.path()).unwrap();
    }

    #[test]
    fn a_crash_between_taking_and_using_is_a_crash() {
        let place = fresh();
        begin(&place).2.end(b"tokens").unwrap();
        // The file was taken away; then the power failed.
        fs::remove_file(saved_file(place.path())).unwrap();
        assert_eq!(begin(&place).0, 1);
    }

    #[test]
    fn a_crash_while_saving_is_a_crash() {
        let place = fresh();
        begin(&place).2.end(b"tokens").unwrap();
        let whole = fs::read(saved_file(place.path())).unwrap();
        for (step, length) in [0, 1, MAGIC.len() + 2, whole.len() - 1].into_iter().enumerate() {
            fs::write(saved_file(place.path()), &whole[..length]).unwrap();
            let (incarnation, saved, _run) = begin(&place);
            assert_eq!((usize::from(incarnation), saved), (step + 1, None), "{length} bytes");
            assert!(!saved_file(place.path()).exists());
            assert_eq!(aside(&place).last().unwrap(), &whole[..length]);
        }
        // The file under its other name is not looked at.
        fs::write(place.path().join("state/saved.new"), &whole).unwrap();
        assert_eq!(begin(&place).1, None);
    }

    #[test]
    fn a_past_that_is_over_does_not_come_back() {
        let place = fresh();
        begin(&place).2.end(b"old").unwrap();
        let old = fs::read(saved_file(place.path())).unwrap();
        drop(begin(&place));
        assert_eq!(begin(&place).0, 1);
        // Somebody put back a copy.
        fs::write(saved_file(place.path()), old).unwrap();
        let (incarnation, saved, _run) = begin(&place);
        assert_eq!((incarnation, saved), (2, None));
    }

    #[test]
    fn a_crash_before_the_first_incarnation_is_known_changes_nothing() {
        let place = fresh();
        fs::write(place.path().join("state/run.new"), "0").unwrap();
        assert_eq!(begin(&place).0, 0);
    }

    #[test]
    fn a_member_runs_once_at_a_time() {
        let place = fresh();
        let run = begin_run(place.path(), raw).unwrap();
        let error = begin_run(place.path(), raw).expect_err("running").to_string();
        assert!(error.contains(&format!("as process {}", std::process::id())), "{error}");
        assert!(check_stopped(place.path()).is_err());
        drop(run);
        assert!(check_stopped(place.path()).is_ok());
        assert_eq!(begin(&place).0, 1);
    }

    #[test]
    fn lost_or_damaged_state_stops_a_member() {
        let place = fresh();
        fs::write(run_file(place.path()), "12").unwrap();
        assert!(matches!(begin_run(place.path(), raw), Err(MeshError::Damaged { .. })));
        fs::remove_file(run_file(place.path())).unwrap();
        let error = begin_run(place.path(), raw).expect_err("lost").to_string();
        assert!(error.contains("new invitation"), "{error}");
    }

    #[test]
    fn incarnations_have_an_end() {
        let place = fresh();
        fs::write(run_file(place.path()), "65534\n").unwrap();
        assert_eq!(begin(&place).0, 65_535);
        let error = begin_run(place.path(), raw).expect_err("the 65,537th").to_string();
        assert!(error.contains("65536") && error.contains("as a new member"), "{error}");
    }
}
