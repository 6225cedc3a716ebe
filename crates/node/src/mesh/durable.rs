//! Files that are whole or not there at all, also after a loss of power: written beside, synced, renamed, and the
//! directory synced too.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::MeshError;
use super::error::file;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner only.
    Owner,
    /// Everybody.
    Everybody,
}

/// Writes a file durably; what was there before is replaced in one step.
pub(crate) fn write(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), MeshError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    make_directory(directory)?;
    let beside = beside(path);
    let written = (|| {
        // What a crash left behind may have any mode.
        let _ = fs::remove_file(&beside);
        let mut out = create(&beside, readers)?;
        out.write_all(bytes)?;
        out.sync_all()?;
        fs::rename(&beside, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.map_err(file("write", path))?;
    sync_directory(directory)
}

/// Takes a file away durably. It need not be there.
pub(crate) fn remove(path: &Path) -> Result<(), MeshError> {
    match fs::remove_file(path) {
        Ok(()) => sync_directory(path.parent().unwrap_or(Path::new("."))),
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

/// Makes a directory for its owner only, with those above it.
pub(crate) fn make_directory(path: &Path) -> Result<(), MeshError> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(file("make", path))
}

/// Makes names in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), MeshError> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    // Elsewhere directories cannot be opened, and the file system does it alone.
    if cfg!(unix) {
        File::open(path).and_then(|directory| directory.sync_all()).map_err(file("sync", path))?;
    }
    Ok(())
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
        // A file left by somebody careless is not taken over.
        fs::create_dir(place.path().join("mesh")).unwrap();
        fs::write(beside(&path), b"").unwrap();
        write(&path, b"hush", Readers::Owner).unwrap();
        assert_eq!(mode(&path), 0o600);
        write(&place.path().join("new/secret"), b"hush", Readers::Owner).unwrap();
        assert_eq!(mode(&place.path().join("new")), 0o700);
    }
}
