//! Where clients on this machine find the node, without any configuration.

use std::path::{Path, PathBuf};

/// Where a node listens if nothing else is said: the same for every node of a user, so that clients find it.
pub fn default_path() -> PathBuf {
    choose(user(), runtime_directory().as_deref())
}

/// Where a client looks, in this order: its own user's node, then the machine's.
pub fn candidates() -> Vec<PathBuf> {
    let mut places = vec![default_path(), system()];
    places.dedup();
    places
}

fn choose(user: u32, runtime: Option<&Path>) -> PathBuf {
    // Root first: a service has no XDG_RUNTIME_DIR and a login of root has one, and both must find each other.
    match (user, runtime) {
        (0, _) => system(),
        (_, Some(runtime)) => runtime.join("meshlock").join(FILE),
        (user, None) => PathBuf::from(format!("/tmp/meshlock-{user}")).join(FILE),
    }
}

fn system() -> PathBuf {
    Path::new("/run/meshlock").join(FILE)
}

fn runtime_directory() -> Option<PathBuf> {
    std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute())
}

#[cfg(unix)]
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn user() -> u32 {
    u32::MAX
}

const FILE: &str = "meshlock.sock";

/// Makes the directory of a socket, for its owner only, and refuses one in a place where everybody may write that
/// belongs to somebody else: whoever made it would see what clients say.
pub fn prepare_directory(socket: &Path) -> Result<(), String> {
    let Some(directory) = socket.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return Ok(()) };
    let shown = directory.display();
    if !directory.exists() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        // Other users reach the machine's node through its directory; the socket itself says who may use it.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, if socket == system() { 0o755 } else { 0o700 });
        builder.create(directory).map_err(|error| {
            format!("cannot make {shown} for the socket: {error}; name another place with `socket` in [api]")
        })?;
    }
    #[cfg(unix)]
    if directory == Path::new(&format!("/tmp/meshlock-{}", user())) {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::symlink_metadata(directory).map_err(|error| format!("cannot look at {shown}: {error}"))?;
        if !found.is_dir() || found.uid() != user() {
            return Err(format!("{shown} belongs to somebody else; name another place with `socket` in [api]"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_user_has_one_place() {
        assert_eq!(choose(0, Some(Path::new("/run/user/0"))), Path::new("/run/meshlock/meshlock.sock"));
        assert_eq!(choose(7, Some(Path::new("/run/user/7"))), Path::new("/run/user/7/meshlock/meshlock.sock"));
        assert_eq!(choose(7, None), Path::new("/tmp/meshlock-7/meshlock.sock"));
        assert_eq!(candidates().first(), Some(&default_path()));
        assert_eq!(candidates().last(), Some(&system()));
    }

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
