//! Where a node listens and its clients look, when nobody says otherwise.

use std::path::PathBuf;

/// The socket of the node of this user, or of this machine.
///
/// In `$XDG_RUNTIME_DIR` if that is set; else `/run/meshlock/meshlock.sock` for root, and for everybody if it is there;
/// else in a directory of the user's own below `/tmp`.
pub fn default_path() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
    let user = rustix::process::getuid().as_raw();
    choose(runtime.map(PathBuf::from), user, PathBuf::from(SYSTEM).exists())
}

const SYSTEM: &str = "/run/meshlock/meshlock.sock";

fn choose(runtime: Option<PathBuf>, user: u32, system_exists: bool) -> PathBuf {
    match runtime {
        Some(runtime) => runtime.join("meshlock").join("meshlock.sock"),
        None if user == 0 || system_exists => PathBuf::from(SYSTEM),
        None => PathBuf::from(format!("/tmp/meshlock-{user}/meshlock.sock")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_place_comes_first() {
        let runtime = || Some(PathBuf::from("/run/user/7"));
        assert_eq!(choose(runtime(), 7, true), PathBuf::from("/run/user/7/meshlock/meshlock.sock"));
        assert_eq!(choose(None, 7, true), PathBuf::from(SYSTEM));
        assert_eq!(choose(None, 0, false), PathBuf::from(SYSTEM));
        assert_eq!(choose(None, 7, false), PathBuf::from("/tmp/meshlock-7/meshlock.sock"));
    }
}
