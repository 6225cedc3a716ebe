use super::*;
use crate::shard::Shard;
use crate::testing::{Fake, conducted, place, plan, spec};

fn open(place: &Path, plan: &Plan, begin: Begin) -> Result<Store, String> {
    Store::open(place, plan, begin).map_err(|error| error.to_string().replace(&place.display().to_string(), "DIR"))
}

#[test]
fn another_study_is_not_overwritten() {
    let place = place("other-study");
    let first = plan(&spec());
    open(&place, &first, Begin::GoOn).unwrap();
    let second = Plan { name: "other".to_owned(), ..first };
    let error = open(&place, &second, Begin::Resume).unwrap_err();
    assert!(
        error.starts_with("DIR holds the study `toy`, not `other`\nchoose another directory with --out"),
        "{error}"
    );
    open(&place, &second, Begin::Fresh).unwrap();
    open(&place, &second, Begin::GoOn).unwrap();
}

#[test]
fn results_of_other_code_are_never_mixed() {
    let place = place("other-code");
    let old = plan(&spec());
    conducted(&old, &place, &Fake::default(), 1, Shard::WHOLE);
    let new = Plan { code_version: "1.0.1+test".to_owned(), ..old };
    let error = open(&place, &new, Begin::GoOn).unwrap_err();
    assert!(error.starts_with("DIR has results of meshlock 1.0.0+test, this is 1.0.1+test"), "{error}");
    assert!(error.contains("--fresh"), "{error}");
    // Copied together by hand: the label is new, a run is old.
    fs::remove_file(place.join(LABEL)).unwrap();
    let store = open(&place, &new, Begin::GoOn).unwrap();
    let error = store.load(&new).unwrap_err().to_string();
    assert!(error.contains("never mixed"), "{error}");
    // A fresh start removes the old runs.
    let store = open(&place, &new, Begin::Fresh).unwrap();
    assert!(store.load(&new).unwrap().records.is_empty());
}

#[test]
fn a_foreign_directory_is_left_alone() {
    let place = place("not-ours");
    fs::create_dir_all(&*place).unwrap();
    fs::write(place.join("thesis.tex"), "years of work").unwrap();
    for begin in [Begin::GoOn, Begin::Fresh] {
        let error = open(&place, &plan(&spec()), begin).unwrap_err();
        assert_eq!(error, "DIR is not empty and holds no study\nchoose another directory with --out");
    }
    assert_eq!(fs::read_to_string(place.join("thesis.tex")).unwrap(), "years of work");
}

#[test]
fn to_resume_there_must_be_something() {
    let place = place("nothing");
    let error = open(&place, &plan(&spec()), Begin::Resume).unwrap_err();
    assert!(error.starts_with("nothing to resume: DIR has no results yet"), "{error}");
    open(&place, &plan(&spec()), Begin::GoOn).unwrap();
    open(&place, &plan(&spec()), Begin::Resume).unwrap();
}

#[test]
fn no_half_written_file_is_left_behind() {
    let place = place("atomic");
    conducted(&plan(&spec()), &place, &Fake::default(), 2, Shard::WHOLE);
    let mut files: Vec<String> = Vec::new();
    for directory in [place.to_path_buf(), place.join(RUNS)] {
        files.extend(fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()));
    }
    assert_eq!(files.len(), 2 + 12, "{files:?}");
    assert!(files.iter().all(|file| !file.ends_with(".tmp")), "{files:?}");
}

#[test]
fn a_number_is_read_as_it_was_written() {
    let place = place("round-trip");
    let plan = plan(&spec());
    let results = conducted(&plan, &place, &Fake::default(), 1, Shard::WHOLE);
    let found = Store::open(&place, &plan, Begin::Resume).unwrap().load(&plan).unwrap();
    for run in &results.runs {
        assert_eq!(found.records[&run.job.hash], run.record);
        assert!(!run.record.measures.contains_key("never"), "what is no number is not kept");
    }
}
