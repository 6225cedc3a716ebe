//! `meshlock study` from the outside: what it prints, what it writes and how it ends.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{self, Ran, Running, until};
use crate::words::{has_all, refused};

const SMALL: &str = r#"
duration = "2s"
warmup = "100ms"
drain = "20s"

[protocol]
name = "reverse-link"

[topology]
shape = "line"

[traffic]
think = "exponential(100ms)"
holding = "5ms"

[study]
repeat = 2
seed = 7

[study.axes]
nodes = [3, 4]
"protocol.capacity" = [1, 2]

[[study.plot]]
title = "Waiting"
x = "nodes"
y = "wait.mean"
lines = "protocol.capacity"

[[study.compare]]
axis = "protocol.capacity"
baseline = 1
measures = ["wait.mean"]
"#;

/// A directory of its own for each test, with a study file in it.
fn place(name: &str) -> PathBuf {
    let place = process::place("study", name);
    fs::write(place.join("small.toml"), SMALL).unwrap();
    place
}

fn study(place: &Path, line: &str) -> Ran {
    process::run(place, "study", line)
}

fn run_files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory.join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_study_is_run_told_and_written() {
    let place = place("whole");
    let ran = study(&place, "small.toml");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has_all(&ran.out, &["wait.mean (s)", "stuck", "±", "8 runs now, 0 from before", "results/small/report.html"]);
    let out = place.join("results/small");
    assert_eq!(run_files(&out).len(), 8);
    for file in ["report.html", "runs.csv", "runs.json", "summary.csv", "summary.json", "comparisons.csv"] {
        assert!(out.join(file).is_file(), "{file}");
    }
    assert!(out.join("plots/01-waiting.svg").is_file());
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("meshlock study small.toml") && page.contains("a line: delay"), "the methods are told");
}

#[test]
fn the_same_command_again_runs_nothing_and_writes_the_same() {
    let place = place("again");
    study(&place, "small.toml --jobs 1");
    let out = place.join("results/small");
    let files = ["report.html", "runs.csv", "summary.json", "comparisons.csv"];
    let read = || files.map(|file| fs::read_to_string(out.join(file)).unwrap());
    let before = read();
    let ran = study(&place, "small.toml --jobs 2 --resume");
    assert!(ran.out.contains("0 runs now, 8 from before"), "{}", ran.out);
    assert_eq!(read(), before);
    let more = study(&place, "small.toml --repeat 3");
    assert!(more.out.contains("4 runs now, 8 from before"), "{}", more.out);
    let fresh = study(&place, "small.toml --fresh");
    assert!(fresh.out.contains("8 runs now, 0 from before"), "{}", fresh.out);
}

#[test]
fn shares_are_merged_by_copying_files() {
    let place = place("shares");
    let mut sizes = Vec::new();
    for share in 1..=3 {
        let ran = study(&place, &format!("small.toml --shard {share}/3 --out share-{share}"));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.out.contains("when all shares are done"), "{}", ran.out);
        let out = place.join(format!("share-{share}"));
        assert!(!out.join("report.html").exists(), "a share makes run files only");
        sizes.push(run_files(&out).len());
        fs::create_dir_all(place.join("merged/runs")).unwrap();
        for file in run_files(&out) {
            fs::copy(&file, place.join("merged/runs").join(file.file_name().unwrap())).unwrap();
        }
    }
    assert_eq!(sizes, [3, 3, 2]);
    let merged = study(&place, "small.toml --out merged");
    assert!(merged.out.contains("0 runs now, 8 from before"), "{}", merged.out);
    study(&place, "small.toml --out whole");
    let read = |out: &str| fs::read_to_string(place.join(out).join("summary.json")).unwrap();
    assert_eq!(read("merged"), read("whole"));
}

#[test]
fn a_dry_run_lists_everything_and_does_nothing() {
    let place = place("dry");
    let ran = study(&place, "small.toml --dry-run");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("nodes=4 protocol.capacity=2  2 runs, seeds 7 to 8"), "{}", ran.out);
    assert!(ran.out.contains("4 points, 8 runs, 0 finished"), "{}", ran.out);
    assert!(!place.join("results").exists());
    study(&place, "small.toml --shard 1/2");
    let dry: Value = serde_json::from_str(&study(&place, "small.toml --dry-run --json").out).unwrap();
    assert_eq!((&dry["runs"], &dry["runs_finished"]), (&8.into(), &4.into()));
}

#[test]
fn json_is_the_summary_and_nothing_else() {
    let place = place("json");
    let ran = study(&place, "small.toml --json --quiet");
    assert_eq!(ran.err, "");
    assert_eq!(ran.out, fs::read_to_string(place.join("results/small/summary.json")).unwrap());
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["points"][3]["measurement"]["nodes"], "4");
    assert_eq!(summary["points"][3]["measures"]["wait.mean"]["n"], 2);
    assert_eq!(summary["complete"], true);
}

#[test]
fn a_corrupt_run_file_is_told_and_run_again() {
    let place = place("corrupt");
    study(&place, "small.toml");
    let file = &run_files(&place.join("results/small"))[2];
    fs::write(file, "{").unwrap();
    let ran = study(&place, "small.toml");
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("is no use") && ran.err.contains(&*file.file_name().unwrap().to_string_lossy()));
    assert!(ran.out.contains("1 run now, 7 from before"), "{}", ran.out);
}

#[test]
fn mistakes_are_explained() {
    let place = place("mistakes");
    fs::write(place.join("plain.toml"), "nodes = 3\n").unwrap();
    fs::write(place.join("typo.toml"), SMALL.replace("[3, 4]", "[3, 4]\nnods = [1]")).unwrap();
    fs::create_dir_all(place.join("full")).unwrap();
    fs::write(place.join("full/notes.txt"), "mine").unwrap();
    refused(
        &place,
        "study",
        &[
            ("missing.toml", "cannot read missing.toml"),
            ("plain.toml", "has no [study] part"),
            ("typo.toml", "nods"),
            ("small.toml --set radio", "such as radio.range=120m"),
            ("small.toml --set nodez=3", "nodez"),
            ("small.toml --shard 3/2", "there is no share 3 of 2"),
            ("small.toml --shard two", "such as 1/4"),
            ("small.toml --repeat 0", "0 is not in 1.."),
            ("small.toml --jobs 0", "--jobs"),
            ("small.toml --resume", "nothing to resume"),
            ("small.toml --resume --fresh", "cannot be used with"),
            ("small.toml --out full", "is not empty and holds no study"),
        ],
    );
    assert!(!place.join("results").exists(), "no mistake leaves anything behind");
}

#[test]
fn help_has_examples_and_exit_codes() {
    let help = study(&place("help"), "--help");
    has_all(&help.out, &["Examples:", "--shard 2/8", "Exit codes:", "130"]);
}

#[test]
fn ctrl_c_keeps_what_is_finished_and_says_how_to_go_on() {
    let place = place("interrupted");
    let words = ["study", "small.toml", "--repeat", "100000", "--jobs", "2"];
    let mut running = Running::start(process::program().args(words).current_dir(&place));
    let runs = place.join("results/small/runs");
    let some_are_there = || fs::read_dir(&runs).is_ok_and(|files| files.count() > 4);
    until("some runs are done", || some_are_there() || running.has_ended());
    let Ran { code, err, .. } = running.end_by(Signal::INT);
    assert_eq!(code, Some(130), "{err}");
    assert!(err.contains("of 400,000 runs are done and kept; go on with: meshlock study small.toml --repeat 100000"));
    assert!(place.join("results/small/report.html").is_file(), "{err}");
    let summary = fs::read_to_string(place.join("results/small/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["complete"], false);
    let told: u64 = summary["points"].as_array().unwrap().iter().map(|point| point["runs"].as_u64().unwrap()).sum();
    assert_eq!(told, run_files(&place.join("results/small")).len() as u64);
}
