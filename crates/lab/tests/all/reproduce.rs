//! `meshlock reproduce` from the outside. What it does with findings is tested beside the command, with small claims.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::{self, Ran};

fn place(name: &str) -> PathBuf {
    process::place("reproduce", name)
}

/// Exit code, output and errors.
fn reproduce(place: &Path, line: &str) -> (Option<i32>, String, String) {
    let Ran { code, out, err } = process::run(place, "reproduce", line);
    (code, out, err)
}

#[test]
fn help_has_examples_and_exit_codes() {
    let (code, help, _) = reproduce(&place("help"), "--help");
    assert_eq!(code, Some(0));
    for part in ["Examples:", "meshlock reproduce J-4 S4 --quick", "Exit codes:", "results/reproduce", "130"] {
        assert!(help.contains(part), "{part} is not in\n{help}");
    }
}

#[test]
fn claims_are_listed_for_people_and_for_programs() {
    let place = place("list");
    let (code, text, _) = reproduce(&place, "--list");
    let (_, json, _) = reproduce(&place, "--list --json");
    assert_eq!(code, Some(0));
    let listed: Vec<Value> = serde_json::from_str(&json).unwrap();
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
    let place = place("mistakes");
    std::fs::write(place.join("file"), "").unwrap();
    for (line, part) in [
        ("no-such-claim", "there is no claim no-such-claim"),
        ("--jobs 0", "--jobs"),
        ("--out file/below --quick", "cannot make the directory file/below"),
    ] {
        let (code, out, err) = reproduce(&place, line);
        assert_eq!(code, Some(2), "{line}\n{out}{err}");
        assert!(err.contains(part), "{line}: {part} is not in\n{err}");
        assert_eq!(out, "", "{line}");
    }
    assert!(!place.join("results").exists(), "no mistake leaves anything behind");
}
