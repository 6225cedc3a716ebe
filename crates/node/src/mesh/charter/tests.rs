use super::super::faults::FailingDisk;
use super::super::testing::found;
use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn founding(recovery: Recovery, standing: u64) -> Founding {
    Founding { recovery: Some(recovery), standing: Some(seconds(standing)), voters: None }
}

fn mesh() -> (Authority, Identity, Charter) {
    let (mut authority, ann) = found("hall");
    authority.charter = Some(founding(Recovery::Restart, 5).terms(1));
    let charter = authority.charter().unwrap().unwrap();
    (authority, ann, charter)
}

#[test]
fn a_charter_is_believed_by_every_member_and_nobody_else() {
    let (_, ann, charter) = mesh();
    let back = Charter::verify(charter.to_bytes(), &ann).unwrap();
    assert_eq!(back, charter);
    assert_eq!((back.recovery(), back.standing(), back.number()), (Recovery::Restart, seconds(5), 1));
    let (_, stranger) = found("hall");
    let error = Charter::verify(charter.to_bytes(), &stranger).expect_err("stranger").to_string();
    assert!(error.contains("another mesh"), "{error}");
    assert!(Charter::verify(b"", &ann).is_err());
}

#[test]
fn a_later_charter_is_newer_and_the_same_is_not() {
    let (authority, _, first) = mesh();
    let terms = Terms::changed(authority.charter.as_ref(), Recovery::Restart, Some(seconds(6)), 4).unwrap();
    let second = Charter::sign(&authority, &terms).unwrap();
    assert_eq!((second.number(), second.given_out(), second.standing()), (2, 4, seconds(6)));
    assert!(second.newer_than(&first) && !first.newer_than(&second) && !first.newer_than(&first));
    let rival = Terms { number: 2, recovery: Recovery::Voters, ..founding(Recovery::Voters, 9).terms(4) };
    let rival = Charter::sign(&authority, &rival).unwrap();
    assert_ne!(rival.newer_than(&second), second.newer_than(&rival), "all members choose the same");
}

#[test]
fn a_mesh_of_an_older_version_recovers_nothing_until_it_is_decided() {
    let terms = Terms::changed(None, Recovery::Restart, None, 7).unwrap();
    assert_eq!((terms.number, terms.recovery, terms.given_out), (1, Recovery::Restart, 7));
    let again = Terms::changed(Some(&terms), Recovery::Restart, None, 9).unwrap();
    assert_eq!(again, terms, "nothing to decide");
}

#[test]
fn a_change_that_members_cannot_make_one_by_one_is_refused() {
    let none = founding(Recovery::None, 10).terms(1);
    let restart = founding(Recovery::Restart, 10).terms(1);
    let voters = founding(Recovery::Voters, 10).terms(1);
    let change = |before: &Terms, recovery, standing: Option<u64>| {
        Terms::changed(Some(before), recovery, standing.map(seconds), 1).map_err(|error| error.to_string())
    };
    assert!(change(&none, Recovery::Restart, None).is_ok());
    assert!(change(&none, Recovery::Restart, Some(4)).is_ok());
    assert!(change(&voters, Recovery::Voters, Some(10)).is_ok());
    for (before, recovery, standing, words) in [
        (&restart, Recovery::None, None, "cannot go back"),
        (&voters, Recovery::Restart, None, "cannot go back"),
        (&voters, Recovery::Voters, Some(20), "cannot be changed"),
        (&none, Recovery::Voters, Some(4), "from the founding"),
        (&restart, Recovery::Voters, None, "from the founding"),
        (&none, Recovery::Restart, Some(1), "mesh.standing: 1s is out of range"),
    ] {
        let error = change(before, recovery, standing).expect_err(words);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn wishes_are_checked_each_with_its_fix() {
    let named = |names: &[&str]| Founding {
        voters: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..Founding::default()
    };
    let loss_after = Duration::from_millis(2_500);
    assert_eq!(Founding::default().check(loss_after), [""; 0]);
    assert_eq!(Founding::default().check(seconds(60)), [""; 0], "links that need more get more");
    assert_eq!(Founding::default().for_links(seconds(60)).terms(1).standing_ms, 180_000);
    assert_eq!(founding(Recovery::Restart, 5).check(loss_after), [""; 0], "nobody stands");
    assert_eq!(named(&["ann", "bob", "cy"]).check(loss_after), [""; 0]);
    for (founding, words) in [
        (founding(Recovery::Voters, 1), "mesh.standing: 1s is out of range: give 2s to 10m"),
        (founding(Recovery::Restart, 601), "mesh.standing: 601s is out of range"),
        (founding(Recovery::Voters, 5), "at most loss-after = \"1.666s\""),
        (named(&["ann", "bob"]), "mesh.voters: 2 voters are named; name 1, 3 or 5"),
        (named(&["ann", "bob", "ann"]), "\"ann\" is named twice"),
        (named(&["Ann"]), "mesh.voters: "),
        (Founding { recovery: Some(Recovery::Restart), ..named(&["ann"]) }, "nobody votes"),
    ] {
        let problems = founding.check(loss_after);
        assert!(problems.len() == 1 && problems[0].contains(words), "{problems:?}");
    }
}

#[test]
fn a_node_is_held_against_the_charter() {
    let (authority, ..) = mesh();
    let charter = |recovery| Charter::sign(&authority, &founding(recovery, 5).terms(1)).unwrap();
    let (links, told) = charter(Recovery::Voters).check_node(seconds(2), &Founding::default());
    assert!(links.expect_err("3 x 2 s").starts_with("node.loss-after: "));
    assert_eq!(told, [""; 0]);
    let (links, told) = charter(Recovery::Restart).check_node(seconds(2), &founding(Recovery::Voters, 6));
    assert_eq!(links, Ok(()));
    assert!(told[0].contains("meshlock mesh recovery") && told[1].contains("the mesh has \"5s\""), "{told:?}");
}

#[test]
fn the_newest_charter_of_a_directory_counts_whichever_step_fails() {
    let (authority, ann, first) = mesh();
    let terms = Terms::changed(authority.charter.as_ref(), Recovery::Restart, Some(seconds(7)), 4).unwrap();
    let second = Charter::sign(&authority, &terms).unwrap();
    for step in 0.. {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        assert_eq!(Charter::load(dir, &ann).unwrap(), None);
        first.store(dir).unwrap();
        let disk = FailingDisk::from(dir, step);
        let stored = second.store(dir);
        let failed = disk.failed();
        drop(disk);
        let found = Charter::load(dir, &ann).unwrap().unwrap();
        assert!(found == second || stored.is_err() && found == first, "step {step}");
        if failed == 0 {
            assert!(step >= 6, "only {step} steps");
            assert_eq!(Charter::newest_number(dir).unwrap(), Some(2));
            first.store(dir).unwrap();
            assert_eq!(Charter::load(dir, &ann).unwrap().unwrap(), second, "an older one that came late");
            clear(dir).unwrap();
            assert_eq!(Charter::load(dir, &ann).unwrap(), None);
            return;
        }
    }
}

#[test]
fn a_damaged_charter_is_told() {
    let (_, ann, charter) = mesh();
    let place = tempfile::tempdir().unwrap();
    charter.store(place.path()).unwrap();
    fs::write(path(place.path(), 3), b"rubbish").unwrap();
    let error = Charter::load(place.path(), &ann).expect_err("damaged").to_string();
    assert!(error.contains("charters/3 is damaged"), "{error}");
}

/// A change of the format gives [`CHARTER`] the next number: older versions then say so.
#[test]
fn the_bytes_are_what_they_were() {
    let (authority, ann, charter) = mesh();
    let content = [1, 1, 0x88, 0x27, 0, 1];
    let words = [b"meshlock charter 1\0".as_slice(), &ann.fingerprint(), &content].concat();
    let signature = authority.sign(&words).unwrap();
    assert_eq!(charter.to_bytes(), [&[1], ann.fingerprint().as_slice(), &[6], &content, &[64], &signature].concat());
}
