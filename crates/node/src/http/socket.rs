//! The socket file: whose it is, who may use it.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::Group;
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::time::timeout;

use super::HttpError;

/// How many clients may wait to be accepted.
const BACKLOG: u32 = 1_024;

/// A socket file of ours, removed when it goes out of scope.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode: a file of the same name that another process made is left alone.
    is: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.is);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!("the socket {} cannot be removed: {error}", self.path.display());
        }
    }
}

/// Listens on a socket file that its owner, and perhaps a group, may open.
pub(super) async fn listen(path: &Path, group: Option<&str>) -> Result<(UnixListener, SocketFile), HttpError> {
    let failed = |doing| move |error| HttpError::Socket { path: path.to_owned(), doing, error };
    let group = group.map(group_number).transpose()?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed("make the folder of"))?;
    }
    remove_stale(path).await?;
    let socket = UnixSocket::new_stream().map_err(failed("make"))?;
    socket.bind(path).map_err(failed("make"))?;
    let found = fs::symlink_metadata(path).map_err(failed("find"))?;
    let file = SocketFile { path: path.to_owned(), is: (found.dev(), found.ino()) };
    // Connecting fails before `listen`, so there is no moment at which a stranger could.
    let mode = if group.is_some() { 0o660 } else { 0o600 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed("set the mode of"))?;
    if group.is_some() {
        chown(path, None, group).map_err(failed("set the group of"))?;
    }
    let listener = socket.listen(BACKLOG).map_err(failed("listen on"))?;
    Ok((listener, file))
}

fn group_number(name: &str) -> Result<u32, HttpError> {
    match Group::from_name(name) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        Ok(None) => Err(HttpError::UnknownGroup(name.to_owned())),
        Err(error) => Err(HttpError::UnknownGroup(format!("{name} ({error})"))),
    }
}

/// Removes the socket of a node that is gone. One that answers is in use.
async fn remove_stale(path: &Path) -> Result<(), HttpError> {
    let failed = |error| HttpError::Socket { path: path.to_owned(), doing: "replace", error };
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if !found.file_type().is_socket() {
        return Err(HttpError::NoSocket(path.to_owned()));
    }
    // A node that is too busy to accept is there all the same.
    match timeout(Duration::from_secs(1), UnixStream::connect(path)).await {
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(Err(error)) if error.kind() != io::ErrorKind::WouldBlock => Err(failed(error)),
        Ok(_) | Err(_) => Err(HttpError::InUse(path.to_owned())),
    }
}
