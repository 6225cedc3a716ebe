//! Becoming a member: by founding a mesh or by an invitation. Nothing that is there is written over.

use std::fs;
use std::path::{Path, PathBuf};

use super::durable::{self, Readers};
use super::error::{damaged, file};
use super::identity::MEMBER_FILE;
use super::ledger::AUTHORITY_FILE;
use super::{Authority, Founding, Identity, Invitation, MeshError, Recovery, name, state};
use crate::config::{CONFIG_FILE, Settings};

/// What to do with a mesh that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse.
    Keep,
    /// Move its files into a directory of their own.
    MoveAside,
}

/// A membership that was made.
#[derive(Debug)]
pub struct Founded {
    /// Who this node is now.
    pub identity: Identity,
    /// Where the files of the old mesh are, if there was one.
    pub moved_to: Option<PathBuf>,
}

/// Founds a mesh with one member, this node, and defaults for everything else.
pub fn found(dir: &Path, mesh: &str, node: &str, existing: Existing) -> Result<Founded, MeshError> {
    found_with(dir, mesh, node, existing, &Founding::default())
}

/// Founds a mesh with one member, this node. What is wished for it was checked with the configuration.
pub fn found_with(
    dir: &Path,
    mesh: &str,
    node: &str,
    existing: Existing,
    founding: &Founding,
) -> Result<Founded, MeshError> {
    let mut authority = Authority::found(mesh)?;
    let identity = authority.admit(node)?;
    authority.charter = Some(founding.terms(authority.next));
    let charter = authority.charter()?;
    let moved_to = make_room(dir, &[MEMBER_FILE, AUTHORITY_FILE], existing)?;
    state::prepare(dir)?;
    let config = dir.join(CONFIG_FILE);
    if !config.exists() {
        durable::write(&config, first_config(mesh).as_bytes(), Readers::Everybody)?;
    }
    // Before the authority: a founding that was interrupted after it is finished without them.
    if let Some(charter) = charter {
        charter.store(dir)?;
        if charter.recovery() == Recovery::Voters {
            authority.first_voter(dir, identity.member)?;
        }
    }
    authority.store(dir)?;
    // Last: a directory with this file has everything else.
    identity.store(dir)?;
    Ok(Founded { identity, moved_to })
}

/// The mesh of a node that was started without one: named `local`, if the configuration says nothing else, with this
/// host's name for the node. A directory that has a mesh keeps it.
pub fn found_default(dir: &Path, mesh: Option<&str>) -> Result<Identity, MeshError> {
    found_default_with(dir, mesh, &Founding::default())
}

/// The same, with wishes of the configuration for a mesh that is founded now.
pub fn found_default_with(dir: &Path, mesh: Option<&str>, founding: &Founding) -> Result<Identity, MeshError> {
    if super::is_member(dir) {
        return Identity::load(dir);
    }
    if let Some(identity) = finish(dir)? {
        return Ok(identity);
    }
    let founded = found_with(dir, mesh.unwrap_or("local"), &name::of_this_host(), Existing::Keep, founding)?;
    Ok(founded.identity)
}

/// Finishes a founding that the loss of power ended between its last two files, so that no operator is needed in the middle of
/// the night because of that. Its founder never ran, so it is as good as new.
fn finish(dir: &Path) -> Result<Option<Identity>, MeshError> {
    if !dir.join(AUTHORITY_FILE).exists() || !state::never_ran(dir)? {
        return Ok(None);
    }
    let authority = Authority::load(dir)?;
    let [founder] = authority.issued.as_slice() else { return Ok(None) };
    let identity = authority.identity(founder.member, &founder.name)?;
    identity.store(dir)?;
    Ok(Some(identity))
}

/// Admits a member and writes its invitation. The number is durably taken before anybody sees it.
pub fn invite(dir: &Path, name: &str, peers: Vec<String>) -> Result<Invitation, MeshError> {
    let path = dir.join(CONFIG_FILE);
    let text = match durable::read(&path)? {
        Some(bytes) => String::from_utf8(bytes).map_err(|_| damaged(&path, "it is no text"))?,
        None => String::new(),
    };
    let settings = Settings::from_toml(&path.display().to_string(), &text)
        .map_err(|error| MeshError::Config(error.to_string()))?;
    let shared = |mesh: &str| settings.shared(mesh).map_err(|error| MeshError::Config(error.to_string()));
    Authority::change(dir, |authority| {
        let shared = shared(&authority.mesh)?;
        let identity = authority.admit(name)?;
        let charter = authority.charter()?;
        Ok(Invitation { identity, peers, shared, charter })
    })
}

/// Takes up an invitation.
pub fn join(dir: &Path, invitation: &Invitation, existing: Existing) -> Result<Founded, MeshError> {
    let shared = Settings::from_toml("the invitation", &invitation.shared)
        .map_err(|error| MeshError::Invitation(error.to_string()))?;
    let config = shared
        .joined(&invitation.identity.mesh, &invitation.peers)
        .map_err(|error| MeshError::Invitation(error.to_string()))?;
    // It would begin to count its incarnations anew and be taken for the node it was before.
    let now = Identity::load(dir).ok();
    if now.is_some_and(|now| {
        now.fingerprint() == invitation.identity.fingerprint() && now.member == invitation.identity.member
    }) {
        return Err(MeshError::Invitation(format!(
            "{} has already taken up this invitation; an invitation can be used once",
            dir.display()
        )));
    }
    let moved_to = make_room(dir, &[MEMBER_FILE, AUTHORITY_FILE, CONFIG_FILE], existing)?;
    state::prepare(dir)?;
    durable::write(&dir.join(CONFIG_FILE), format!("{CONFIG_HEADING}\n{config}").as_bytes(), Readers::Everybody)?;
    if let Some(charter) = &invitation.charter {
        charter.store(dir)?;
    }
    invitation.identity.store(dir)?;
    Ok(Founded { identity: invitation.identity.clone(), moved_to })
}

/// Sees to it that none of these files are in the directory.
fn make_room(dir: &Path, files: &[&str], existing: Existing) -> Result<Option<PathBuf>, MeshError> {
    durable::make_directory(dir)?;
    if !files.iter().any(|file| dir.join(file).exists()) {
        // State without a member: the power failed before its member came to be, or its files were taken away by hand.
        return Ok(None);
    }
    match existing {
        Existing::Keep => Err(MeshError::AlreadyMember { dir: dir.to_owned() }),
        Existing::MoveAside => {
            state::check_stopped(dir)?;
            move_aside(dir).map(Some)
        }
    }
}

fn move_aside(dir: &Path) -> Result<PathBuf, MeshError> {
    let mut number = 1;
    while dir.join(format!("before-{number}")).exists() {
        number += 1;
    }
    let to = dir.join(format!("before-{number}"));
    durable::make_directory(&to)?;
    // The membership first: wherever this is interrupted, no member is left without its state.
    for name in [MEMBER_FILE, "state", AUTHORITY_FILE, CONFIG_FILE] {
        let from = dir.join(name);
        if from.exists() {
            fs::rename(&from, to.join(name)).map_err(file("move", &from))?;
        }
    }
    durable::sync_directory(&to)?;
    durable::sync_directory(dir)?;
    Ok(to)
}

fn first_config(mesh: &str) -> String {
    format!("{CONFIG_HEADING}\n[mesh]\nname = \"{mesh}\"\n{EXAMPLES}")
}

const CONFIG_HEADING: &str = "# The configuration of this node of meshlock. All keys: docs/configuration.md.\n";
const EXAMPLES: &str = "
# What all members should know from the start; anything else is made when it is first used.
# [resources.dock]
# capacity = 2
#
# [node]
# peers = [\"10.0.0.7:7411\"]
";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::faults::FailingDisk;
    use super::super::{Charter, Member, is_member, keep};
    use super::*;
    use meshlock_core::recovery::voters::Voter;

    fn begin(dir: &Path) -> state::Run {
        state::begin_run(dir, |_, _| Ok(())).unwrap().0
    }

    #[test]
    fn a_mesh_is_founded_extended_and_joined() {
        let (ann, bob) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        found(ann.path(), "hall", "ann", Existing::Keep).unwrap();
        let config =
            "[node]\nlisten = \"[::]:9\"\n[mesh]\ncreate-on-first-use = false\n[resources.dock]\ncapacity = 2\n";
        fs::write(ann.path().join(CONFIG_FILE), config).unwrap();
        let invitation = invite(ann.path(), "bob", vec!["10.0.0.1:7411".into()]).unwrap();
        let line = invitation.to_string();
        join(bob.path(), &Invitation::parse(&line).unwrap(), Existing::Keep).unwrap();
        let (ann_now, bob_now) = (Identity::load(ann.path()).unwrap(), Identity::load(bob.path()).unwrap());
        assert_eq!((bob_now.member, bob_now.mesh.as_str()), (Member(1), "hall"));
        assert_eq!((ann_now.secret, &ann_now.authority), (bob_now.secret, &bob_now.authority));
        let config = fs::read_to_string(bob.path().join(CONFIG_FILE)).unwrap();
        for part in ["name = \"hall\"", "create-on-first-use = false", "[resources.dock]", "10.0.0.1:7411"] {
            assert!(config.contains(part), "{part} is not in\n{config}");
        }
        assert!(!config.contains("listen"), "the founder's own settings are not the others'");
        let again = join(bob.path(), &invitation, Existing::MoveAside).expect_err("twice").to_string();
        assert!(again.contains("used once"), "{again}");
        assert!(matches!(invite(bob.path(), "eve", Vec::new()), Err(MeshError::NoAuthority { .. })));
        for dir in [&ann, &bob] {
            assert_eq!(begin(dir.path()).incarnation.0, 0);
        }
    }

    #[test]
    fn members_have_the_charter_of_the_founding() {
        let (ann, bob) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let standing = Some(Duration::from_secs(4));
        let founding = Founding { recovery: Some(Recovery::Restart), standing, voters: None };
        let founder = found_with(ann.path(), "hall", "ann", Existing::Keep, &founding).unwrap().identity;
        let line = invite(ann.path(), "bob", Vec::new()).unwrap().to_string();
        join(bob.path(), &Invitation::parse(&line).unwrap(), Existing::Keep).unwrap();
        let charter = Charter::load(bob.path(), &Identity::load(bob.path()).unwrap()).unwrap().unwrap();
        assert_eq!((charter.recovery(), Some(charter.standing())), (Recovery::Restart, standing));
        assert_eq!(Charter::load(ann.path(), &founder).unwrap(), Some(charter));
        assert_eq!(keep::read_first_list(ann.path()).unwrap(), None);
    }

    #[test]
    fn the_founder_is_the_first_voter() {
        let place = tempfile::tempdir().unwrap();
        let founder = found_default(place.path(), None).unwrap();
        let charter = Charter::load(place.path(), &founder).unwrap().unwrap();
        assert_eq!((charter.recovery(), charter.standing()), (Recovery::Voters, Duration::from_secs(10)));
        let list = keep::read_first_list(place.path()).unwrap().unwrap();
        let keep = keep::Keep::of(&begin(place.path()));
        let (disk, record) = keep.voter().unwrap().unwrap();
        assert_eq!(list.voters(), [Voter { member: founder.member.0, disk }]);
        assert_eq!((keep.first_list().unwrap(), record), (Some(list), vec![]));
        assert_eq!(keep.census().unwrap(), None, "it never ran");
    }

    #[test]
    fn a_new_member_in_a_used_directory_has_nothing_of_the_former_one() {
        let place = tempfile::tempdir().unwrap();
        found(place.path(), "hall", "ann", Existing::Keep).unwrap();
        let mut keep = keep::Keep::of(&begin(place.path()));
        keep.save_census(&Default::default()).unwrap();
        keep.save_catalogue(&[]).unwrap();
        // Somebody took the membership away, but not the state.
        fs::remove_file(place.path().join(MEMBER_FILE)).unwrap();
        fs::remove_file(place.path().join(AUTHORITY_FILE)).unwrap();
        let founding = Founding { recovery: Some(Recovery::None), ..Founding::default() };
        let founder = found_with(place.path(), "yard", "ann", Existing::Keep, &founding).unwrap().identity;
        let keep = keep::Keep::of(&begin(place.path()));
        assert_eq!((keep.census().unwrap(), keep.voter().unwrap(), keep.first_list().unwrap()), (None, None, None));
        assert_eq!(Charter::load(place.path(), &founder).unwrap().unwrap().recovery(), Recovery::None);
    }

    #[test]
    fn no_number_is_given_twice_whichever_step_on_the_disk_fails() {
        for step in 0.. {
            let place = tempfile::tempdir().unwrap();
            found(place.path(), "hall", "ann", Existing::Keep).unwrap();
            let mut given = vec![Member(0)];
            let mut failed = 0;
            for (round, fail) in [FailingDisk::once, FailingDisk::from].into_iter().enumerate() {
                let disk = fail(place.path(), step);
                let invitation = invite(place.path(), &format!("a{round}"), Vec::new());
                failed += disk.failed();
                drop(disk);
                given.extend(invitation.map(|invitation| invitation.identity.member));
                given.push(invite(place.path(), &format!("b{round}"), Vec::new()).unwrap().identity.member);
            }
            assert!(given.windows(2).all(|two| two[0] < two[1]), "step {step}: {given:?}");
            if failed == 0 {
                assert!(step >= 4, "only {step} steps");
                return;
            }
        }
    }

    #[test]
    fn a_founding_that_failed_at_any_step_can_be_done_again() {
        for step in 0.. {
            let place = tempfile::tempdir().unwrap();
            let dir = place.path().join("mesh");
            let disk = FailingDisk::from(place.path(), step);
            let first = found_default(&dir, Some("hall"));
            let failed = disk.failed();
            drop(disk);
            let second = found_default(&dir, Some("hall")).unwrap();
            assert!(first.is_err() || first.unwrap().certificate == second.certificate, "step {step}");
            assert_eq!((second.member, begin(&dir).incarnation.0), (Member(0), 0), "step {step}");
            assert!(Charter::load(&dir, &second).unwrap().is_some(), "step {step}");
            assert!(keep::read_first_list(&dir).unwrap().is_some(), "step {step}");
            if failed == 0 {
                return;
            }
        }
    }

    #[test]
    fn nothing_is_written_over() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let first = found(dir, "hall", "ann", Existing::Keep).unwrap().identity;
        assert!(matches!(found(dir, "yard", "ann", Existing::Keep), Err(MeshError::AlreadyMember { .. })));
        let run = begin(dir);
        assert!(matches!(found(dir, "yard", "ann", Existing::MoveAside), Err(MeshError::Running { .. })));
        drop(run);
        let moved = found(dir, "yard", "ann", Existing::MoveAside).unwrap().moved_to.unwrap();
        assert_eq!(Identity::load(&moved).unwrap().fingerprint(), first.fingerprint());
        assert_eq!(Authority::load(&moved).unwrap().mesh, "hall");
        assert_eq!(Identity::load(dir).unwrap().mesh, "yard");
        assert_eq!(begin(dir).incarnation.0, 0, "another member, another count");
        assert_eq!(begin(&moved).incarnation.0, 1);
    }

    #[test]
    fn an_interrupted_founding_can_be_repeated_but_an_authority_is_never_lost() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        state::prepare(dir).unwrap();
        found(dir, "hall", "ann", Existing::Keep).unwrap();
        fs::remove_file(dir.join(MEMBER_FILE)).unwrap();
        assert!(!is_member(dir));
        let founder = found_default(dir, None).unwrap();
        assert_eq!((founder.mesh.as_str(), founder.name.as_str(), founder.member), ("hall", "ann", Member(0)));
        assert_eq!(Identity::load(dir).unwrap().certificate, founder.certificate);
        // A founder that ran is a member, even if its file was taken away.
        drop(begin(dir));
        fs::remove_file(dir.join(MEMBER_FILE)).unwrap();
        assert!(matches!(found_default(dir, None), Err(MeshError::AlreadyMember { .. })));
        assert!(matches!(found(dir, "hall", "ann", Existing::Keep), Err(MeshError::AlreadyMember { .. })));
    }

    #[test]
    fn a_node_without_a_mesh_gets_one_of_its_own_once() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("new");
        let first = found_default(&dir, None).unwrap();
        assert_eq!((first.mesh.as_str(), first.member), ("local", Member(0)));
        assert_eq!(first.name, name::of_this_host());
        assert_eq!(found_default(&dir, Some("other")).unwrap().fingerprint(), first.fingerprint());
    }

    #[cfg(unix)]
    #[test]
    fn files_with_keys_are_for_their_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("mesh");
        found(&dir, "hall", "ann", Existing::Keep).unwrap();
        for (name, mode) in [(MEMBER_FILE, 0o600), (AUTHORITY_FILE, 0o600), (CONFIG_FILE, 0o644), ("state", 0o700)] {
            let found = fs::metadata(dir.join(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{name}");
        }
    }

    #[test]
    fn a_damaged_member_file_says_what_is_wrong() {
        let place = tempfile::tempdir().unwrap();
        found(place.path(), "hall", "ann", Existing::Keep).unwrap();
        let path = place.path().join(MEMBER_FILE);
        let whole = fs::read_to_string(&path).unwrap();
        for (from, to, words) in [
            ("name = \"ann\"", "name = \"bob\"", "not of bob"),
            ("number = 0", "number = 1", "not of ann (1)"),
            ("number = 0", "number = -1", "u16"),
            ("secret = \"", "secret = \"x", "32 bytes"),
            ("BEGIN PRIVATE KEY", "BEGIN PUBLIC KEY", "PRIVATE KEY"),
        ] {
            fs::write(&path, whole.replacen(from, to, 1)).unwrap();
            let error = Identity::load(place.path()).expect_err("damaged").to_string();
            assert!(error.contains(words) && error.contains(MEMBER_FILE), "{error}");
        }
    }
}
