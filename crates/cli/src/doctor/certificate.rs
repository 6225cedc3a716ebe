//! The papers of the member in this directory: its certificate and key, the secret of the mesh, the authority's key.
//!
//! Certificates of a mesh do not expire, because clocks of robots are wrong; so what can be wrong is that they do not fit.

use std::io::ErrorKind;
use std::path::Path;

use meshlock_node::mesh::{AUTHORITY_FILE, Authority, Identity, Kept, MeshError};

use super::Finding;

const SUBJECT: &str = "certificate";

/// Looks at a directory that has a membership.
pub(super) fn look(dir: &Path, findings: &mut Vec<Finding>) {
    let identity = match Identity::load(dir) {
        Ok(identity) => identity,
        Err(MeshError::File { path, source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            let what =
                format!("not looked at: {} is for its owner only; run this as the user of the node", path.display());
            findings.push(Finding::fine(SUBJECT, what));
            return;
        }
        Err(error) => {
            findings.push(Finding::wrong(SUBJECT, error.to_string(), fix_of(&error)));
            return;
        }
    };
    let (name, number, mesh) = (&identity.name, identity.member.0, &identity.mesh);
    let removals = Kept::load(dir, &identity).unwrap_or_default();
    if removals.members().contains(&identity.member) {
        let fix = format!(
            "to let this machine take part again, run `meshlock mesh invite {name}` at the founder and `meshlock mesh join \
             --force INVITATION` here"
        );
        let what = format!("{name} was removed from mesh {mesh}: no member links with it");
        findings.push(Finding::wrong(SUBJECT, what, fix));
        return;
    }
    let what = format!(
        "that of {name}, member {number} of mesh {mesh}; it fits its key and the mesh, and does not expire, whatever the clock says"
    );
    findings.push(Finding::fine(SUBJECT, what));
    if dir.join(AUTHORITY_FILE).exists() {
        findings.push(authority(dir, &identity));
    }
}

/// The founder's directory has the key that admits members.
fn authority(dir: &Path, identity: &Identity) -> Finding {
    let fix = format!(
        "put the {AUTHORITY_FILE} of this mesh there again, from a backup of the founder; until then nobody can be invited or \
         removed, and all else goes on"
    );
    match Authority::load(dir).and_then(|authority| authority.check(identity)) {
        Ok(()) => {
            Finding::fine("authority", format!("its key is here ({AUTHORITY_FILE}) and fits the mesh: keep a backup"))
        }
        Err(error @ MeshError::Exposed { .. }) => Finding::wrong("authority", error.to_string(), fix_of(&error)),
        Err(error) => Finding::wrong("authority", error.to_string(), fix),
    }
}

fn fix_of(error: &MeshError) -> &'static str {
    if matches!(error, MeshError::Exposed { .. }) {
        return "close it as it says; if others may have read it, remove this member and invite it anew";
    }
    "put the member.toml of this node there again, from a backup of this node alone; or remove the member at the founder \
     (`meshlock mesh remove`), invite it anew, and `meshlock mesh join --force INVITATION` here"
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use meshlock_node::mesh::{Existing, found, invite, join};
    use tempfile::TempDir;

    use super::*;

    /// A founder, ann, and bob.
    fn mesh() -> (TempDir, TempDir) {
        let (ann, bob) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        found(ann.path(), "hall", "ann", Existing::Keep).unwrap();
        join(bob.path(), &invite(ann.path(), "bob", Vec::new()).unwrap(), Existing::Keep).unwrap();
        (ann, bob)
    }

    /// What is said of a directory: whether all is fine, and the words.
    fn said(dir: &TempDir) -> (bool, String) {
        let mut findings = Vec::new();
        look(dir.path(), &mut findings);
        let words =
            |one: &Finding| format!("{}: {} -> {}\n", one.subject, one.what, one.fix.clone().unwrap_or_default());
        (findings.iter().all(|one| one.fine), findings.iter().map(words).collect())
    }

    /// What a file says under a key: a line or a PEM block, up to the next key or table.
    fn entry(text: &str, key: &str) -> String {
        let is_next = |line: &&str| line.starts_with('[') || line.contains(" = ");
        let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("{key} = ")));
        let first = lines.next().expect("a key of the file");
        [first].into_iter().chain(lines.take_while(|line| !is_next(line))).map(|line| format!("{line}\n")).collect()
    }

    /// Replaces what one file says under a key by what the other says.
    fn swap(file: &str, key: &str, (into, from): (&TempDir, &TempDir)) {
        let read = |dir: &TempDir| fs::read_to_string(dir.path().join(file)).unwrap();
        let (text, other) = (read(into), read(from));
        fs::write(into.path().join(file), text.replace(&entry(&text, key), &entry(&other, key))).unwrap();
    }

    #[test]
    fn papers_that_fit_are_told_with_name_and_mesh() {
        let (ann, bob) = mesh();
        let (fine, words) = said(&bob);
        assert!(fine && words.contains("bob, member 1 of mesh hall") && !words.contains("authority"), "{words}");
        let (fine, words) = said(&ann);
        assert!(fine && words.contains("authority: its key is here"), "{words}");
    }

    #[test]
    fn papers_that_do_not_fit_are_told_in_words() {
        for (key, expected) in [
            ("key", "it belongs to another key"),
            ("certificate", "it is that of ann (0), not of bob (1)"),
            ("secret", "the secret beside it is that of another mesh"),
            ("authority", "the mesh's authority did not make it"),
        ] {
            let (ann, bob) = mesh();
            let (stranger, _) = mesh();
            swap("member.toml", key, (&bob, if ["secret", "authority"].contains(&key) { &stranger } else { &ann }));
            let (fine, words) = said(&bob);
            assert!(!fine && words.contains(expected) && words.contains("mesh remove"), "{key}: {words}");
        }
        let (ann, _) = mesh();
        let (stranger, _) = mesh();
        for (key, expected) in [("key", "another key"), ("certificate", "another mesh")] {
            let before = fs::read(ann.path().join("authority.toml")).unwrap();
            swap("authority.toml", key, (&ann, &stranger));
            let (fine, words) = said(&ann);
            assert!(!fine && words.contains(expected) && words.contains("nobody can be invited"), "{key}: {words}");
            fs::write(ann.path().join("authority.toml"), before).unwrap();
        }
        assert!(said(&ann).0);
    }

    #[test]
    fn files_that_others_can_read_or_that_make_no_sense_are_told() {
        let (ann, bob) = mesh();
        let file = bob.path().join("member.toml");
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let (fine, words) = said(&bob);
        assert!(!fine && words.contains("chmod o="), "{words}");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "mesh = 7").unwrap();
        let (fine, words) = said(&bob);
        assert!(!fine && words.contains("member.toml is damaged"), "{words}");
        fs::write(ann.path().join("authority.toml"), "").unwrap();
        assert!(!said(&ann).0);
    }
}
