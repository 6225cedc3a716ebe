//! Files that are whole or not there at all, also after a loss of power: written beside, synced, renamed, and the
//! directory synced too.
//!
//! All that a node must not forget is written here, and every step on the disk asks [`may_fail`] first: a constant in a
//! product, and in tests the place where a disk fails (`faults`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::MeshError;
use super::error::file;
#[cfg(test)]
use super::faults::may_fail;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner only.
    Owner,
    /// Everybody.
    Everybody,
}

/// A step on the disk that may fail: no step does before it was tried.
#[cfg(not(test))]
fn may_fail(_step: &'static str, _path: &Path) -> io::Result<()> {
    Ok(())
}

/// Writes a file durably; what was there before is replaced in one step. After an error the old content or the new one
/// is there, and not necessarily durable.
pub(crate) fn write(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), MeshError> {
    write_unnamed(path, bytes, readers)?;
    sync_directory(parent(path))
}

/// The same, but for the name: durable once the directory is synced, which serves many files at once.
pub(crate) fn write_unnamed(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), MeshError> {
    make_directory(parent(path))?;
    let beside = beside(path);
    let written = (|| {
        // What a crash left behind may have any mode.
        let _ = fs::remove_file(&beside);
        may_fail("create", &beside)?;
        let mut out = create(&beside, readers)?;
        may_fail("write", &beside)?;
        out.write_all(bytes)?;
        may_fail("sync", &beside)?;
        out.sync_all()?;
        may_fail("rename", path)?;
        fs::rename(&beside, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.map_err(file("write", path))
}

/// Writes over the start of an open file, without waiting for the disk: the page cache outlives the process, not the
/// machine. A few bytes of one page are written as a whole, whenever the process is killed.
pub(crate) fn write_in_place(open: &File, path: &Path, bytes: &[u8]) -> Result<(), MeshError> {
    may_fail("write in place", path).and_then(|()| write_at_start(open, bytes)).map_err(file("write", path))
}

/// Waits until what was written over a file is on the disk.
pub(crate) fn sync_in_place(open: &File, path: &Path) -> Result<(), MeshError> {
    may_fail("sync in place", path).and_then(|()| open.sync_data()).map_err(file("sync", path))
}

#[cfg(unix)]
fn write_at_start(file: &File, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn write_at_start(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}

/// Makes an existing file durable.
pub(crate) fn sync(path: &Path) -> Result<(), MeshError> {
    let synced = may_fail("sync", path).and_then(|()| File::open(path)).and_then(|file| file.sync_all());
    synced.map_err(file("sync", path))?;
    sync_directory(parent(path))
}

/// Gives a file another name durably.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), MeshError> {
    may_fail("rename", to).and_then(|()| fs::rename(from, to)).map_err(file("rename", from))?;
    sync_directory(parent(to))
}

/// Takes a file away durably. It need not be there.
pub(crate) fn remove(path: &Path) -> Result<(), MeshError> {
    match may_fail("remove", path).and_then(|()| fs::remove_file(path)) {
        Ok(()) => sync_directory(parent(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(file("remove", path)(error)),
    }
}

/// Reads a file, if it is there.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, MeshError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file("read", path)(error)),
    }
}

/// Makes a directory for its owner only, with those above it, durably.
pub(crate) fn make_directory(path: &Path) -> Result<(), MeshError> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    make_directory(parent(path))?;
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match may_fail("make", path).and_then(|()| builder.create(path)) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made.map_err(file("make", path))?,
    }
    sync_directory(parent(path))
}

/// Makes names in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), MeshError> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    // Elsewhere directories cannot be opened, and the file system does it alone.
    if cfg!(unix) {
        let opened = may_fail("sync directory", path).and_then(|()| File::open(path));
        opened.and_then(|directory| directory.sync_all()).map_err(file("sync", path))?;
    }
    Ok(())
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// The file that is written before it gets its name.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

/// A new file, never readable by others for a moment if it is not meant to be.
fn create(path: &Path, readers: Readers) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(
        &mut options,
        match readers {
            Readers::Owner => 0o600,
            Readers::Everybody => 0o644,
        },
    );
    #[cfg(not(unix))]
    let _ = readers;
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_what_a_crash_left_does_not_matter() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("deep/er/file");
        write(&path, b"one", Readers::Owner).unwrap();
        fs::write(beside(&path), b"half of t").unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"one");
        write(&path, b"two", Readers::Owner).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"two");
        assert!(!beside(&path).exists());
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(read(&path).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn secrets_are_for_their_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = place.path().join("mesh/secret");
        // A file with loose permissions is not taken over.
        fs::create_dir(place.path().join("mesh")).unwrap();
        fs::write(beside(&path), b"").unwrap();
        write(&path, b"hush", Readers::Owner).unwrap();
        assert_eq!(mode(&path), 0o600);
        write(&place.path().join("new/secret"), b"hush", Readers::Owner).unwrap();
        assert_eq!(mode(&place.path().join("new")), 0o700);
    }
}
