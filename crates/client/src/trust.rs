//! Whose socket it is. The process behind it sees everything and can grant anything, so only we, root, or a user that
//! either of us let in may have put it there.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// What has to be known of a file or a directory.
#[derive(Clone, Copy, Debug)]
struct Entry {
    owner: u32,
    /// Type and permissions.
    mode: u32,
}

const WRITABLE_BY_ALL: u32 = 0o002;
const STICKY: u32 = 0o1000;
const ROOT: u32 = 0;

/// Fails if another user could have made the socket. What is not there is no reason: connecting will tell.
pub(crate) fn check(socket: &Path) -> Result<(), Error> {
    let path = std::path::absolute(socket).unwrap_or_else(|_| socket.to_owned());
    let look = |path: &Path| {
        let found = std::fs::symlink_metadata(path)?;
        Ok(Entry { owner: found.uid(), mode: found.mode() })
    };
    check_path(&path, meshlock_api::socket::user(), &look)?;
    // A link of a user we trust may lead through places of one we do not.
    match path.canonicalize() {
        Ok(real) if real != path => check_path(&real, meshlock_api::socket::user(), &look),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// From the root down. A name in a directory in which all users may write must belong to us or to root; in another
/// directory the owner of the directory decides whose it may be, and with that whom we trust.
fn check_path(path: &Path, me: u32, look: &dyn Fn(&Path) -> io::Result<Entry>) -> Result<(), Error> {
    let mut trusted = vec![ROOT, me];
    let mut place = PathBuf::new();
    let mut above: Option<Entry> = None;
    for component in path.components() {
        place.push(component);
        if matches!(component, Component::CurDir | Component::ParentDir) {
            above = look(&place).ok();
            continue;
        }
        let Ok(found) = look(&place) else { return Ok(()) };
        match above {
            Some(above) if above.mode & WRITABLE_BY_ALL != 0 => {
                if above.mode & STICKY == 0 {
                    let why = "every user may write in the directory above it, and replace it";
                    return Err(stranger(path, &place, why.to_owned()));
                }
                if !trusted.contains(&found.owner) {
                    let why = format!("it belongs to user {}, not to you (user {me}) or root", found.owner);
                    return Err(stranger(path, &place, why));
                }
            }
            Some(_) | None => trusted.push(found.owner),
        }
        above = Some(found);
    }
    Ok(())
}

fn stranger(socket: &Path, place: &Path, why: String) -> Error {
    Error::Untrusted { socket: socket.display().to_string(), place: place.display().to_string(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: u32 = 1000;
    const MALLORY: u32 = 1001;
    const SERVICE: u32 = 120;

    /// Paths with owners and modes.
    fn verdict(socket: &str, entries: &[(&str, u32, u32)]) -> Result<(), String> {
        let look = |path: &Path| {
            let found = entries.iter().find(|(name, ..)| Path::new(name) == path);
            found.map(|&(_, owner, mode)| Entry { owner, mode }).ok_or_else(|| io::ErrorKind::NotFound.into())
        };
        check_path(Path::new(socket), ME, &look).map_err(|error| error.to_string())
    }

    #[test]
    fn a_socket_that_another_user_put_where_everybody_may_write_is_refused() {
        let tmp = [("/", ROOT, 0o755), ("/tmp", ROOT, 0o1777)];
        let with = |more: &[(&'static str, u32, u32)]| [&tmp[..], more].concat();
        let socket = "/tmp/meshlock-1000/meshlock.sock";
        let directory = "/tmp/meshlock-1000";
        assert_eq!(verdict(socket, &with(&[(directory, ME, 0o700), (socket, ME, 0o600)])), Ok(()));
        assert_eq!(verdict(socket, &with(&[(directory, ROOT, 0o755), (socket, ROOT, 0o666)])), Ok(()));
        assert_eq!(verdict(socket, &with(&[])), Ok(()), "nobody is there, and connecting says so");
        let error = verdict(socket, &with(&[(directory, MALLORY, 0o755), (socket, MALLORY, 0o666)])).unwrap_err();
        for word in ["/tmp/meshlock-1000", "user 1001", "MESHLOCK_SOCKET"] {
            assert!(error.contains(word), "{error}");
        }
        let error = verdict(socket, &with(&[(directory, ME, 0o777), (socket, ME, 0o600)])).unwrap_err();
        assert!(error.contains("every user may write"), "{error}");
        let in_sticky = with(&[(directory, ME, 0o1777), (socket, MALLORY, 0o666)]);
        assert!(verdict(socket, &in_sticky).unwrap_err().contains("user 1001"));
        assert!(verdict("/tmp/m.sock", &with(&[("/tmp/m.sock", MALLORY, 0o666)])).is_err());
    }

    #[test]
    fn a_service_is_trusted_where_root_let_it_in() {
        let entries = [
            ("/", ROOT, 0o755),
            ("/run", ROOT, 0o755),
            ("/run/meshlock", SERVICE, 0o755),
            ("/run/meshlock/meshlock.sock", SERVICE, 0o660),
        ];
        assert_eq!(verdict("/run/meshlock/meshlock.sock", &entries), Ok(()));
    }

    #[test]
    fn a_directory_of_ours_is_fine_also_below_one_for_everybody() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("node.sock");
        std::fs::write(&socket, "").unwrap();
        assert!(check(&socket).is_ok());
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(check(&socket).is_err());
    }
}
