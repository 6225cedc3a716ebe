use std::fs;

use meshlock_api::Definition;

use super::super::faults::FailingDisk;
use super::super::testing::{found, member_of};
use super::super::{Founding, state};
use super::*;
use meshlock_core::recovery::voters::Voter;

fn begin(dir: &Path) -> Run {
    state::begin_run(dir, |_, _| Ok(())).unwrap().0
}

fn fresh() -> (tempfile::TempDir, Run) {
    let place = tempfile::tempdir().unwrap();
    state::prepare(place.path()).unwrap();
    let run = begin(place.path());
    (place, run)
}

fn entry(number: u64) -> Entry {
    let name = format!("dock-{number}");
    Entry { number, name, definition: Definition::default(), version: 3, home: NodeId::of(2, 1) }
}

/// Censuses that grow.
fn census(size: u16) -> Census {
    let living = Census::of_living((0..size).map(|member| NodeId::of(member, 0)));
    living.merged(&Census::removed_fact(9)).goodbye(NodeId::of(0, 3))
}

#[test]
fn everything_comes_back_as_it_was() {
    let (place, run) = fresh();
    let mut keep = Keep::of(&run);
    assert_eq!((keep.census().unwrap(), keep.catalogue().unwrap()), (None, vec![]), "of an older version");
    assert_eq!((keep.voter().unwrap(), keep.first_list().unwrap()), (None, None));
    keep.save_census(&census(3)).unwrap();
    keep.save_catalogue(&[entry(1), entry(2)]).unwrap();
    let disk = keep.save_voter(b"one").unwrap();
    assert_eq!(keep.save_voter(b"two").unwrap(), disk);
    let list = List::founding([Voter { member: 0, disk }]);
    write_first_list(place.path(), &list).unwrap();
    drop(run);
    let again = Keep::of(&begin(place.path()));
    assert_eq!(again.census().unwrap(), Some(census(3)));
    assert_eq!(again.catalogue().unwrap(), [entry(1), entry(2)]);
    assert_eq!(again.voter().unwrap(), Some((disk, b"two".to_vec())));
    assert_eq!(again.first_list().unwrap(), Some(list));
}

/// A change of the format gives [`CENSUS`] and the others the next number: older versions then say so.
#[test]
fn the_bytes_are_what_they_were() {
    let (place, run) = fresh();
    let mut keep = Keep::of(&run);
    keep.save_census(&census(2)).unwrap();
    keep.save_catalogue(&[entry(1)]).unwrap();
    let content = |kind: Kind, name| kind.read(&place.path().join("state").join(name)).unwrap().unwrap();
    let bytes = fs::read(place.path().join("state/census")).unwrap();
    assert!(bytes.starts_with(b"meshlock census 1\n"));
    assert_eq!(content(CENSUS, "census"), [2, 0, 8, 1, 1, 1, 9, 1, 0, 8, 1]);
    let catalogue = content(CATALOGUE, "catalogue");
    assert_eq!(catalogue[..10], [b"\x01\x01\x01\x06".as_slice(), b"dock-1"].concat());
    assert_eq!(catalogue[catalogue.len() - 4..], [3, 0x82, 0x80, 0x04]);
    keep.save_changes(vec![(1, None), (2, Some(entry(2)))]).unwrap();
    let changes = content(CHANGES, "catalogue-changes");
    assert_eq!(changes[..13], [b"\x01\x02\x01\0\x02\x01\x02\x06".as_slice(), b"dock-"].concat());
}

#[test]
fn catalogues_of_former_formats_are_read() {
    let (place, run) = fresh();
    let path = place.path().join("state/catalogue");
    // Entry 1, as it was written: a mutex with lease 0, changed three times, made by member 2 in its incarnation 1.
    let content = |slots: &[u8]| {
        let (definition, rest) = ([0, 0, 0, 0, 16, 0, 0], [3, 0x82, 0x80, 0x04]);
        [b"\x01\x01\x06".as_slice(), b"dock-1", &definition, slots, &rest].concat()
    };
    let named = Entry { definition: Definition { slots: vec!["a".into()], ..Definition::default() }, ..entry(1) };
    let second = content(&[1, 1, b'a']);
    let third = encode(&[entry(1)].as_slice()).unwrap();
    let former = [
        (FIRST_CATALOGUE, content(&[]), entry(1)),
        (SECOND_CATALOGUE, second, named),
        (THIRD_CATALOGUE, third, entry(1)),
    ];
    for (kind, content, expected) in former {
        kind.write(&path, &content).unwrap();
        assert_eq!(Keep::of(&run).catalogue().unwrap(), [expected]);
        kind.write(&path, &content[..content.len() - 1]).unwrap();
        assert!(Keep::of(&run).catalogue().is_err());
    }
}

#[test]
fn changes_are_kept_beside_the_catalogue_and_those_of_a_former_one_do_not_count() {
    let (place, run) = fresh();
    let mut keep = Keep::of(&run);
    keep.save_catalogue(&[entry(1), entry(2), entry(3)]).unwrap();
    let second = Entry { version: 4, ..entry(2) };
    keep.save_changes(vec![(2, Some(second.clone())), (3, None)]).unwrap();
    keep.save_changes(vec![(5, Some(entry(5)))]).unwrap();
    assert_eq!(Keep::of(&run).catalogue().unwrap(), [entry(1), second, entry(5)]);
    // A catalogue that was written as a whole knows better than changes that were there before.
    let third = Entry { version: 9, ..entry(2) };
    keep.save_catalogue(&[entry(1), third.clone(), entry(3)]).unwrap();
    assert!(place.path().join("state/catalogue-changes").exists());
    assert_eq!(Keep::of(&run).catalogue().unwrap(), [entry(1), third.clone(), entry(3)]);
    // Also one of the next run, which has to begin with the whole and may begin with changes.
    let mut next = Keep::of(&run);
    next.save_changes(vec![(1, None)]).unwrap();
    assert_eq!(Keep::of(&run).catalogue().unwrap(), [third, entry(3)]);
}

#[test]
fn a_change_costs_far_less_than_the_whole_and_the_whole_is_written_now_and_then() {
    let (place, run) = fresh();
    let mut keep = Keep::of(&run);
    let all: Vec<Entry> = (0..1_000).map(entry).collect();
    keep.save_catalogue(&all).unwrap();
    let size = |name: &str| fs::metadata(place.path().join("state").join(name)).unwrap().len();
    let (mut written, mut wholes) = (0, 0);
    for number in 1_000..1_200 {
        let before = keep.durable_catalogue.as_ref().unwrap().number;
        keep.save_changes(vec![(number, Some(entry(number)))]).unwrap();
        let is_whole = keep.durable_catalogue.as_ref().unwrap().number != before;
        wholes += u64::from(is_whole);
        written += size(if is_whole { "catalogue" } else { "catalogue-changes" });
    }
    assert_eq!(wholes, 3);
    assert!(written / 200 < size("catalogue") / 10, "{written} bytes for 200 changes");
    let known = Keep::of(&run).catalogue().unwrap();
    assert_eq!(known, (0..1_200).map(entry).collect::<Vec<_>>());
}

#[test]
fn a_damaged_file_is_an_error_and_never_empty() {
    let (place, run) = fresh();
    let mut keep = Keep::of(&run);
    keep.save_census(&census(3)).unwrap();
    keep.save_catalogue(&[entry(1)]).unwrap();
    keep.save_changes(vec![(2, Some(entry(2)))]).unwrap();
    keep.save_voter(b"record").unwrap();
    let keep = Keep::of(&run);
    for name in ["census", "catalogue", "catalogue-changes", "voter"] {
        let path = place.path().join("state").join(name);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let error = match name {
                "census" => keep.census().map(drop),
                "catalogue" | "catalogue-changes" => keep.catalogue().map(drop),
                _ => keep.voter().map(drop),
            };
            let error = error.expect_err("cut").to_string();
            assert!(error.contains(name) && error.contains("damaged"), "{error}");
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(keep.census().unwrap(), Some(census(3)));
}

#[test]
fn a_census_that_was_taken_away_is_not_a_new_beginning() {
    let (place, run) = fresh();
    let mut keep = Keep::of(&run);
    keep.save_census(&census(3)).unwrap();
    keep.save_catalogue(&[]).unwrap();
    fs::remove_file(place.path().join("state/census")).unwrap();
    assert!(matches!(Keep::of(&run).census(), Err(MeshError::StateLost { .. })));
}

#[test]
fn a_census_that_cannot_be_is_damaged() {
    let (place, run) = fresh();
    // A count of 2^18.
    CENSUS.write(&place.path().join("state/census"), &[1, 0, 0x80, 0x80, 0x10, 0, 0]).unwrap();
    let error = Keep::of(&run).census().expect_err("out of range").to_string();
    assert!(error.contains("out of range"), "{error}");
}

#[test]
fn what_was_said_to_be_kept_is_there_whichever_step_fails() {
    for step in 0.. {
        let mut failed = 0;
        for fail in [FailingDisk::once, FailingDisk::from] {
            let (place, run) = fresh();
            let mut keep = Keep::of(&run);
            let disk = fail(place.path(), step);
            let mut kept = (None, vec![], None);
            for round in 1..4 {
                if keep.save_census(&census(round)).is_ok() {
                    kept.0 = Some(census(round));
                }
                let entries: Vec<Entry> = (0..u64::from(round)).map(entry).collect();
                // Never before there is a census. A node writes all of it after a write that failed, and changes otherwise.
                let new =
                    || entries.iter().skip(kept.1.len()).map(|entry| (entry.number, Some(entry.clone()))).collect();
                let is_kept = |keep: &mut Keep| {
                    if kept.1.len() + 1 == entries.len() && round > 1 {
                        keep.save_changes(new())
                    } else {
                        keep.save_catalogue(&entries)
                    }
                };
                if kept.0.is_some() && is_kept(&mut keep).is_ok() {
                    kept.1 = entries;
                }
                if let Ok(disk) = keep.save_voter(&[round as u8]) {
                    kept.2 = Some((disk, vec![round as u8]));
                }
            }
            failed += disk.failed();
            drop((disk, run));
            let again = Keep::of(&begin(place.path()));
            // What failed may be there or not; it is never less than what was said to be kept, and always whole.
            let census = again.census().unwrap().unwrap_or_default();
            assert!(census.includes(&kept.0.unwrap_or_default()), "step {step}");
            assert!(again.catalogue().unwrap().starts_with(&kept.1), "step {step}");
            if let Some((disk, record)) = kept.2 {
                let (now, found) = again.voter().unwrap().unwrap();
                assert!(now == disk && found >= record, "step {step}: {found:?}");
            }
        }
        if failed == 0 {
            assert!(step > 30, "only {step} steps");
            return;
        }
    }
}

#[test]
fn what_is_durable_is_not_written_again_but_what_failed_is() {
    let (place, run) = fresh();
    let mut keep = Keep::of(&run);
    keep.save_census(&census(1)).unwrap();
    let disk = FailingDisk::new(place.path(), |_, _, _| true);
    keep.save_census(&census(1)).unwrap();
    assert!(keep.save_census(&census(2)).is_err());
    assert!(keep.save_census(&census(1)).is_err(), "it is not known which of them is there");
    drop(disk);
    keep.save_census(&census(2)).unwrap();
    assert_eq!(keep.census().unwrap(), Some(census(2)));
}

#[test]
fn a_node_that_begins_anew_saves_its_state_as_the_new_one() {
    let (place, run) = fresh();
    let mut keep = Keep::of(&run);
    assert_eq!(keep.next_incarnation().unwrap(), Incarnation(1));
    assert_eq!(keep.next_incarnation().unwrap(), Incarnation(2));
    run.end(b"state").unwrap();
    let (run, saved) = state::begin_run(place.path(), |incarnation, _| Ok(incarnation)).unwrap();
    assert_eq!((run.incarnation, saved), (Incarnation(2), Some(Incarnation(2))));
    drop(run);
    assert_eq!(begin(place.path()).incarnation, Incarnation(3));
}

#[test]
fn no_incarnation_is_used_twice_whichever_step_fails() {
    for step in 0.. {
        let (place, run) = fresh();
        let mut keep = Keep::of(&run);
        let disk = FailingDisk::once(place.path(), step);
        let first = keep.next_incarnation();
        let failed = disk.failed();
        drop(disk);
        if failed == 0 {
            assert!(step >= 5, "only {step} steps");
            return;
        }
        assert!(first.is_err(), "step {step}");
        if step % 2 == 0 {
            assert_eq!(keep.next_incarnation().unwrap(), Incarnation(1), "it was never spoken");
            run.end(b"").unwrap();
            assert_eq!(begin(place.path()).incarnation, Incarnation(1));
        } else {
            let error = run.end(b"").expect_err("between").to_string();
            assert!(error.contains("belongs to none"), "{error}");
            assert!(begin(place.path()).incarnation > Incarnation(0));
        }
    }
}

#[test]
fn a_first_census_counts_everybody_who_was_invited_before() {
    let (mut authority, ann) = found("hall");
    let members = |census: &Census| census.living().map(|node| (node.member(), node.incarnation())).collect::<Vec<_>>();
    authority.charter = Some(Founding::default().terms(1));
    let charter = authority.charter().unwrap().unwrap();
    assert_eq!(members(&first_census(&ann, Some(&charter), Incarnation(0))), [(0, 0)]);
    let _bob = member_of(&mut authority, "bob");
    let cy = member_of(&mut authority, "cy");
    assert_eq!(members(&first_census(&cy, Some(&charter), Incarnation(5))), [(0, 0), (1, 0), (2, 5)]);
    // A founder of an older version does not know by its own number whom it invited.
    authority.charter = Some(Founding::default().terms(3));
    let later = authority.charter().unwrap().unwrap();
    assert_eq!(members(&first_census(&ann, Some(&later), Incarnation(1))), [(0, 1), (1, 0), (2, 0)]);
    assert_eq!(later.invited().living().count(), 3);
}

#[test]
fn every_number_there_is_can_be_invited() {
    assert_eq!(invited(0).living().count(), 0);
    assert_eq!(invited(1 << 16).living().count(), 1 << 16);
}
