//! Files with keys are for their owner, and perhaps a group, only.

use std::path::Path;

use super::MeshError;
use super::error::file;

/// Refuses a file that every user of the machine may read or change. One that is not there is no matter of this.
pub(crate) fn check(path: &Path) -> Result<(), MeshError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        match std::fs::metadata(path) {
            Ok(found) if found.permissions().mode() & 0o007 != 0 => {
                return Err(MeshError::Exposed { path: path.to_owned() });
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(file("look at", path)(error)),
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use crate::config::token;
    use crate::mesh::{Authority, Existing, Identity, found};

    #[test]
    fn keys_that_every_user_can_read_are_refused_with_the_fix() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        found(dir, "hall", "ann", Existing::Keep).unwrap();
        let token = dir.join("token");
        token::read_or_make(&token).unwrap();
        let errors = || {
            let member = Identity::load(dir).err().map(|error| error.to_string());
            let authority = Authority::load(dir).err().map(|error| error.to_string());
            [member, authority, token::read_or_make(&token).err().map(|error| error.to_string())]
        };
        let set = |mode| {
            for name in ["member.toml", "authority.toml", "token"] {
                fs::set_permissions(dir.join(name), Permissions::from_mode(mode)).unwrap();
            }
        };
        for mode in [0o600, 0o400, 0o640] {
            set(mode);
            assert_eq!(errors(), [None, None, None], "{mode:o}");
        }
        for mode in [0o644, 0o602] {
            set(mode);
            for error in errors() {
                assert!(error.as_deref().is_some_and(|error| error.contains("chmod o= ")), "{mode:o}: {error:?}");
            }
        }
    }
}
