//! The command with small claims of our own.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use meshlock_report::table::{Cell, Table};
use meshlock_reproduce::verdict::{Runs, positive};
use meshlock_reproduce::{Column, Demand, Evidence, Fact, Finding, Lab, Text, Verdict};
use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::Document;
use serde_json::Value;

use super::*;

const SMALL: &str = "nodes = 3\nduration = \"1s\"\nwarmup = \"100ms\"\n[topology]\nshape = \"line\"\n";

fn scenario() -> Scenario {
    Document::parse("small", SMALL).unwrap().resolve().unwrap()
}

const DEMANDS: &[Demand] = &[positive("entries")];
const HOLDS: &[(&str, Option<Verdict>)] = &[("printed", Some(Verdict::Holds))];
const FAILS: &[(&str, Option<Verdict>)] = &[("printed", Some(Verdict::Fails))];

fn finding(entries: f64) -> Finding {
    let table = Table { columns: Vec::new(), rows: vec![vec![Cell::Number(1.5), Cell::Empty]] };
    let evidence = vec![Evidence::Table("A table".to_owned(), table), Evidence::Note("A note.".to_owned())];
    let columns = vec![Column::new(Text::Printed, Runs::default(), vec![Fact::exact("entries", entries)])];
    Finding { columns, measured: "1.5".to_owned(), checks: Vec::new(), evidence }
}

fn claim(id: &'static str, measure: fn(&Lab) -> Finding) -> Claim {
    let demands = DEMANDS;
    Claim { id, says: "Somebody enters", demands, how: "Two runs", expected: "nobody does", expects: FAILS, measure }
}

fn runs(lab: &Lab) -> Finding {
    let samples = lab.replicate(&scenario(), 2);
    let entered = samples.sum(|sample| sample.measures["entries"]);
    Finding { measured: format!("{entered} entries"), ..finding(entered) }
}

fn surprises(_: &Lab) -> Finding {
    finding(3.0)
}

fn known_wrong(_: &Lab) -> Finding {
    finding(0.0)
}

fn fails(_: &Lab) -> Finding {
    panic!("no such scenario")
}

fn never_ends(_: &Lab) -> Finding {
    loop {
        std::thread::park();
    }
}

fn args(name: &str) -> Args {
    let out = std::env::temp_dir().join(format!("meshlock-reproduce-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&out);
    Args {
        ids: Vec::new(),
        list: false,
        quick: true,
        jobs: NonZeroUsize::new(2),
        out,
        force: true,
        json: false,
        quiet: true,
    }
}

/// Runs claims: how it ends, the page, and the data.
fn reproduced(name: &str, claims: &[Claim], cancel: bool) -> (Exit, String, Value) {
    let args = args(name);
    let exit = reproduce(claims, &args, (Effort::Test, 1.0), &AtomicBool::new(cancel)).unwrap();
    let read = |file: &str| fs::read_to_string(args.out.join(file)).unwrap();
    let (page, data) = (read(PAGE), serde_json::from_str(&read(DATA)).unwrap());
    fs::remove_dir_all(&args.out).unwrap();
    (exit, page, data)
}

#[test]
fn claims_are_measured_shown_and_written() {
    let enters = Claim { expects: HOLDS, ..claim("J-1", runs) };
    let (exit, page, data) = reproduced("whole", &[enters, claim("J-2", known_wrong)], false);
    assert_eq!(exit, Exit::Fine);
    assert!(page.contains("2 claims: 1 hold as printed, 0 with named repairs, 0 only repaired, 1 wrong"), "{page}");
    assert!(page.contains("meshlock reproduce --quick"));
    assert_eq!(data["claims"][0]["verdict"], "holds");
    assert_eq!(data["claims"][1]["texts"][0]["reason"], "entries: 0, claimed more than 0");
    assert!(data["claims"][0]["measured"].as_str().unwrap().ends_with(" entries"));
    assert_eq!(data["claims"][1]["tables"][0]["rows"][0], serde_json::json!([1.5, null]));
    assert_eq!(data["claims"][1]["notes"][0], "A note.");
    assert_eq!(data["complete"], true);
}

#[test]
fn what_is_not_as_expected_is_a_failure() {
    let (exit, page, data) = reproduced("surprise", &[claim("J-1", surprises), claim("J-2", known_wrong)], false);
    assert_eq!(exit, Exit::Broken);
    assert!(page.contains("Read this first"), "{page}");
    assert_eq!(data["claims"][0]["as_expected"], false);
}

#[test]
fn a_claim_that_cannot_be_measured_does_not_hide_the_others() {
    let (exit, page, data) = reproduced("failed", &[claim("J-1", fails), claim("J-2", known_wrong)], false);
    assert_eq!(exit, Exit::Failed);
    assert!(page.contains("J-1 was not measured"));
    assert_eq!(data["missing"][0], "J-1");
    assert_eq!(data["claims"][0]["id"], "J-2");
}

#[test]
fn ctrl_c_writes_what_there_is() {
    let (exit, _, data) = reproduced("cancelled", &[claim("J-1", never_ends)], true);
    assert_eq!(exit, Exit::Interrupted);
    assert_eq!(data["complete"], false);

    // The claim after the first one never ends.
    let cancel: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let args = args("half");
    let out: PathBuf = args.out.clone();
    let claims = [claim("J-1", known_wrong), claim("J-2", sets_flag), claim("J-3", never_ends)];
    FLAG.set(cancel).unwrap();
    assert_eq!(reproduce(&claims, &args, (Effort::Test, 1.0), cancel).unwrap(), Exit::Interrupted);
    let data: Value = serde_json::from_str(&fs::read_to_string(out.join(DATA)).unwrap()).unwrap();
    assert_eq!(data["claims"][0]["id"], "J-1");
    assert_eq!(data["missing"].as_array().unwrap().last().unwrap(), "J-3");
    fs::remove_dir_all(out).unwrap();
}

static FLAG: std::sync::OnceLock<&'static AtomicBool> = std::sync::OnceLock::new();

/// Ctrl-C comes while this is measured.
fn sets_flag(_: &Lab) -> Finding {
    FLAG.get().unwrap().store(true, Ordering::Release);
    finding(0.0)
}

#[test]
fn no_claims_at_all_are_no_mistake() {
    let (exit, page, data) = reproduced("none", &[], false);
    assert_eq!(exit, Exit::Fine);
    assert!(page.contains("0 claims"));
    assert_eq!(data["claims"], serde_json::json!([]));
}

#[test]
fn claims_are_chosen_by_id_or_by_its_beginning() {
    let all = ["J-1", "J-10", "P-1", "S4-1", "S4-2"].map(|id| claim(id, known_wrong));
    let ids = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        choose(&all, &words).map(|chosen| chosen.iter().map(|claim| claim.id).collect::<Vec<_>>())
    };
    assert_eq!(ids(&[]).unwrap().len(), 5);
    assert_eq!(ids(&["j-1"]).unwrap(), ["J-1"]);
    assert_eq!(ids(&["S4", "J-10"]).unwrap(), ["J-10", "S4-1", "S4-2"]);
    assert_eq!(ids(&["J"]).unwrap(), ["J-1", "J-10"]);
    let error = ids(&["J-1", "X"]).unwrap_err().to_string();
    assert!(error.contains("no claim X") && error.contains("J-10"), "{error}");
    assert!(ids(&["é"]).is_err() && ids(&[""]).is_err());
}

#[test]
fn the_time_is_told_roughly() {
    let told = |effort, share, jobs| rough(expected_time(effort, share, jobs));
    assert_eq!(told(Effort::Quick, 1.0, 2), "about 3 minutes");
    assert_eq!(told(Effort::Full, 1.0, 2), "about 30 minutes");
    assert_eq!(told(Effort::Full, 1.0, 1), "about an hour");
    assert_eq!(told(Effort::Quick, 0.1, 2), "less than a minute");
}
