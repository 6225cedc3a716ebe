//! `meshlock reproduce` from the outside. What it does with findings is tested beside the command, with small claims.

use serde_json::Value;

use crate::process::{place, run};
use crate::words::{has_all, refused};

#[test]
fn help_has_examples_and_exit_codes() {
    let ran = run(&place("reproduce", "help"), "reproduce", "--help");
    assert_eq!(ran.code, Some(0));
    has_all(&ran.out, &["Examples:", "meshlock reproduce J-4 S4 --quick", "Exit codes:", "results/reproduce", "130"]);
}

#[test]
fn claims_are_listed_for_people_and_for_programs() {
    let place = place("reproduce", "list");
    let text = run(&place, "reproduce", "--list").out;
    let ran = run(&place, "reproduce", "--list --json");
    assert_eq!(ran.code, Some(0));
    let listed: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    let mut ids: Vec<&str> = listed.iter().map(|claim| claim["id"].as_str().unwrap()).collect();
    for claim in &listed {
        for field in ["id", "says", "how", "expected"] {
            assert!(text.contains(claim[field].as_str().unwrap()), "{field} of {claim}");
        }
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "every id is there once");
    assert!(!place.join("results").exists(), "a list measures nothing");
}

#[test]
fn mistakes_are_explained() {
    let place = place("reproduce", "mistakes");
    std::fs::write(place.join("file"), "").unwrap();
    refused(
        &place,
        "reproduce",
        &[
            ("no-such-claim", "there is no claim no-such-claim"),
            ("--jobs 0", "--jobs"),
            ("--out file/below --quick", "cannot make the directory file/below"),
        ],
    );
    assert!(!place.join("results").exists(), "no mistake leaves anything behind");
}
