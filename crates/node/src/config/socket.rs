//! The directory of the socket for clients on this machine.

use std::path::Path;

use meshlock_api::socket::{system, user};

pub use meshlock_api::socket::default_path;

/// Makes the directory of a socket, for its owner only, and refuses one in a place where all users may write that
/// belongs to another user, who would see what clients say.
pub fn prepare_directory(socket: &Path) -> Result<(), String> {
    let Some(directory) = socket.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return Ok(()) };
    let shown = directory.display();
    if !directory.exists() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        // Other users reach the machine's node through its directory; the socket itself says who may use it.
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, if socket == system() { 0o755 } else { 0o700 });
        builder.create(directory).map_err(|error| {
            format!("cannot make {shown} for the socket: {error}; name another place with `socket` in [api]")
        })?;
    }
    if directory == Path::new(&format!("/tmp/meshlock-{}", user())) {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::symlink_metadata(directory).map_err(|error| format!("cannot look at {shown}: {error}"))?;
        if !found.is_dir() || found.uid() != user() {
            return Err(format!("{shown} belongs to another user; name another place with `socket` in [api]"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_directory_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("run/a.sock");
        prepare_directory(&socket).unwrap();
        prepare_directory(&socket).unwrap();
        let mode = std::fs::metadata(place.path().join("run")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
