//! Where a node listens and its clients look, by default.

use std::path::{Path, PathBuf};

/// Where a node listens if nothing else is said: the same for every node of a user, so that clients find it.
pub fn default_path() -> PathBuf {
    choose(user(), runtime_directory().as_deref())
}

/// Where a client looks: at its own user's node if there is one, otherwise at the machine's.
pub fn find() -> PathBuf {
    [default_path(), system()].into_iter().find(|path| path.exists()).unwrap_or_else(default_path)
}

/// The socket of a node that serves the whole machine.
pub fn system() -> PathBuf {
    Path::new("/run/meshlock").join(FILE)
}

/// The user, by whose number sockets below `/tmp` are told apart.
pub fn user() -> u32 {
    nix::unistd::geteuid().as_raw()
}

const FILE: &str = "meshlock.sock";

fn choose(user: u32, runtime: Option<&Path>) -> PathBuf {
    // Root first: a service has no XDG_RUNTIME_DIR and a login of root has one, and both must find each other.
    match (user, runtime) {
        (0, _) => system(),
        (_, Some(runtime)) => runtime.join("meshlock").join(FILE),
        (user, None) => PathBuf::from(format!("/tmp/meshlock-{user}")).join(FILE),
    }
}

fn runtime_directory() -> Option<PathBuf> {
    std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_user_has_one_place() {
        assert_eq!(choose(0, Some(Path::new("/run/user/0"))), Path::new("/run/meshlock/meshlock.sock"));
        assert_eq!(choose(7, Some(Path::new("/run/user/7"))), Path::new("/run/user/7/meshlock/meshlock.sock"));
        assert_eq!(choose(7, None), Path::new("/tmp/meshlock-7/meshlock.sock"));
    }
}
