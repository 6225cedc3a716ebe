//! Where the files of a mesh are.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::is_member;

/// The mesh directory of this user, if none is named: `$MESHLOCK_DIR`, or `/etc/meshlock` if it has a mesh, or
/// `meshlock` in the user's configuration directory.
pub fn find() -> PathBuf {
    choose(|name| env::var_os(name).filter(|value| !value.is_empty()), is_member)
}

fn choose(variable: impl Fn(&str) -> Option<OsString>, has_mesh: impl Fn(&Path) -> bool) -> PathBuf {
    if let Some(dir) = variable("MESHLOCK_DIR") {
        return dir.into();
    }
    let system = Path::new("/etc/meshlock");
    if has_mesh(system) {
        return system.to_owned();
    }
    let own = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let own = own.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".config")));
    // Without a home there is no user to speak of: a service.
    own.map_or_else(|| system.to_owned(), |own| own.join("meshlock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)], system: bool) -> PathBuf {
        let variable = |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into());
        choose(variable, |_| system)
    }

    #[test]
    fn the_first_place_that_is_meant_is_taken() {
        let home = ("HOME", "/home/ann");
        assert_eq!(chosen(&[home, ("MESHLOCK_DIR", "/srv/mesh")], true), Path::new("/srv/mesh"));
        assert_eq!(chosen(&[home], true), Path::new("/etc/meshlock"));
        assert_eq!(chosen(&[home], false), Path::new("/home/ann/.config/meshlock"));
        assert_eq!(chosen(&[home, ("XDG_CONFIG_HOME", "/cfg")], false), Path::new("/cfg/meshlock"));
        assert_eq!(chosen(&[home, ("XDG_CONFIG_HOME", "relative")], false), Path::new("/home/ann/.config/meshlock"));
        assert_eq!(chosen(&[], false), Path::new("/etc/meshlock"));
    }
}
