//! What a member must not forget, and how it may.
//!
//! | file | what it is |
//! |---|---|
//! | `state/run` | the incarnation of the last start |
//! | `state/saved` | everything the node knew, written by a clean stop, taken by the next start |
//! | `state/met` | this member has had a link to another one |
//! | `state/lock` | locked by the process that runs this member |
//! | `state/removals/` | signed removals, a file for each |
//!
//! A member that was stopped cleanly goes on as the node it was. One that crashed has forgotten what it promised, so it
//! comes back as another node of the protocols: its incarnation grows. What was saved is used once: it is taken away
//! durably before anybody acts on it, or a second crash would bring back a past that others have seen end.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use fs4::{FileExt, TryLockError};
use ring::digest;

use super::durable::{self, Readers};
use super::error::{damaged, file};
use super::{Incarnation, MeshError};

/// A member that runs. While this lives, no other process can run the same member.
#[derive(Debug)]
pub struct Run {
    /// Which incarnation this is.
    pub incarnation: Incarnation,
    /// What the last run left, if it was stopped cleanly. Nobody gets it a second time.
    pub saved: Option<Vec<u8>>,
    dir: PathBuf,
    _lock: File,
}

/// Lays the ground for the first run of a new membership.
pub(super) fn prepare(dir: &Path) -> Result<(), MeshError> {
    durable::write(&run_file(dir), NEVER.as_bytes(), Readers::Owner)
}

/// Begins a run: locks the member, and finds out which incarnation it is. Nothing of it happens twice, whenever the
/// power fails.
pub fn begin_run(dir: &Path) -> Result<Run, MeshError> {
    let lock = lock(dir)?;
    let path = run_file(dir);
    let last = read_last(&path)?;
    let saved = durable::read(&saved_file(dir))?.map(|bytes| parse_saved(&bytes));
    durable::remove(&saved_file(dir))?;
    if let (Last::Run(last), Some(Some((incarnation, bytes)))) = (last, saved)
        && incarnation == last
    {
        return Ok(Run { incarnation, saved: Some(bytes), dir: dir.to_owned(), _lock: lock });
    }
    let incarnation = match last {
        Last::Never => Incarnation(0),
        Last::Run(Incarnation(last)) => {
            Incarnation(last.checked_add(1).ok_or(MeshError::NoneLeft("incarnations of this member"))?)
        }
    };
    durable::write(&path, format!("{}\n", incarnation.0).as_bytes(), Readers::Owner)?;
    Ok(Run { incarnation, saved: None, dir: dir.to_owned(), _lock: lock })
}

impl Run {
    /// Ends a run cleanly: everything the node knew, for the next. It must not act any more. A run that is dropped
    /// instead has crashed.
    pub fn end(self, bytes: &[u8]) -> Result<(), MeshError> {
        let mut out = Vec::with_capacity(bytes.len() + 64);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.incarnation.0.to_be_bytes());
        out.extend_from_slice(bytes);
        let checksum = digest::digest(&digest::SHA256, &out);
        out.extend_from_slice(checksum.as_ref());
        durable::write(&saved_file(&self.dir), &out, Readers::Owner)
    }
}

/// Whether this member has ever had a link to another one. If not, everything that began at it is still there or lost
/// with it, and nobody else can have it.
pub fn has_met_others(dir: &Path) -> bool {
    met_file(dir).exists()
}

/// Notes durably that this member has a link to another one.
pub fn note_others(dir: &Path) -> Result<(), MeshError> {
    if has_met_others(dir) { Ok(()) } else { durable::write(&met_file(dir), b"yes\n", Readers::Owner) }
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

/// What a clean stop left, unless it is damaged.
fn parse_saved(bytes: &[u8]) -> Option<(Incarnation, Vec<u8>)> {
    let (body, checksum) = bytes.split_at_checked(bytes.len().checked_sub(digest::SHA256_OUTPUT_LEN)?)?;
    if digest::digest(&digest::SHA256, body).as_ref() != checksum {
        return None;
    }
    let (incarnation, rest) = body.strip_prefix(MAGIC)?.split_first_chunk::<2>()?;
    Some((Incarnation(u16::from_be_bytes(*incarnation)), rest.to_vec()))
}

fn lock(dir: &Path) -> Result<File, MeshError> {
    let path = dir.join("state").join("lock");
    durable::make_directory(&dir.join("state"))?;
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut lock = opened.map_err(file("open", &path))?;
    match FileExt::try_lock(&lock) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let pid = fs::read_to_string(&path).ok().map(|text| text.trim().to_owned());
            let pid = pid.filter(|pid| !pid.is_empty());
            return Err(MeshError::Running { dir: dir.to_owned(), pid });
        }
        Err(TryLockError::Error(error)) => return Err(file("lock", &path)(error)),
    }
    // For people only: the lock itself is what counts.
    let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
    Ok(lock)
}

fn run_file(dir: &Path) -> PathBuf {
    dir.join("state").join("run")
}

fn saved_file(dir: &Path) -> PathBuf {
    dir.join("state").join("saved")
}

const NEVER: &str = "never\n";
const MAGIC: &[u8] = b"meshlock saved 1\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        prepare(place.path()).unwrap();
        place
    }

    fn begin(place: &tempfile::TempDir) -> (u16, Option<Vec<u8>>, Run) {
        let mut run = begin_run(place.path()).unwrap();
        (run.incarnation.0, run.saved.take(), run)
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
        let run = begin_run(place.path()).unwrap();
        let error = begin_run(place.path()).expect_err("running").to_string();
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
        assert!(matches!(begin_run(place.path()), Err(MeshError::Damaged { .. })));
        fs::remove_file(run_file(place.path())).unwrap();
        let error = begin_run(place.path()).expect_err("lost").to_string();
        assert!(error.contains("new invitation"), "{error}");
    }

    #[test]
    fn incarnations_have_an_end() {
        let place = fresh();
        fs::write(run_file(place.path()), "65534\n").unwrap();
        assert_eq!(begin(&place).0, 65_535);
        assert!(matches!(begin_run(place.path()), Err(MeshError::NoneLeft(_))));
    }
}
