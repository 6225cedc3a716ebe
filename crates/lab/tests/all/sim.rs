//! `meshlock sim` from the outside: what it prints, what it writes and how it ends.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use meshlock_trace::{Reader, Record, What};
use rustix::process::Signal;
use serde_json::Value;

use crate::process::{self, Ran, Running, until};
use crate::words::{has_all, refused};

const SMALL: &str = r#"
name = "small"
nodes = 5
duration = "2s"
warmup = "100ms"
drain = "20s"
seed = 3

[topology]
shape = "line"

[traffic]
think = "exponential(100ms)"
holding = "5ms"
priority = "choice(1, 5)"
"#;

/// Messages are lost, and the protocol has no answer to that.
const LOSSY: &str = "--set protocol.name=raymond --set topology.shape=complete --set topology.loss=0.3";

/// A directory of its own for each test, with a scenario in it.
fn place(name: &str) -> PathBuf {
    let place = process::place("sim", name);
    fs::write(place.join("small.toml"), SMALL).unwrap();
    place
}

fn sim(place: &Path, line: &str) -> Ran {
    process::run(place, "sim", line)
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}\n{}{}", ran.out, ran.err))
}

fn records(path: &Path) -> Vec<Record> {
    let mut reader = Reader::new(BufReader::new(File::open(path).unwrap())).unwrap();
    let records = reader.by_ref().map(Result::unwrap).collect();
    assert!(reader.has_ended(), "the trace has no end");
    records
}

#[test]
fn a_run_is_told_with_units_for_people() {
    let ran = sim(&place("told"), "small.toml");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has_all(
        &ran.out,
        &[
            "small, seed 3",
            "reverse-link (repaired), k = 1, by priority",
            "a line: delay",
            "2s of simulated time",
            "neighbours on average, connected 100 % of the time",
            "Waiting time",
            "p99",
            " ms",
            "priority 5",
            "per second",
            "of 1 in use on average",
            "passed somebody more urgent",
            "(Jain; 1 is even)",
            "Sent for each entry",
            "token",
            " B\n",
            "measured requests still wait at the end",
            "0 requests were not served afterwards either",
            "one-token",
            "✓ no rule broke",
            "simulated s/s",
        ],
    );
    assert!(!ran.out.contains("sessions") && !ran.out.contains("deadlines"), "what does not apply is not told");
    assert_eq!(ran.err.lines().count(), 1, "one line elsewhere than on a terminal: {}", ran.err);
    assert!(ran.err.starts_with("small: ") && ran.err.contains(" events in "), "{}", ran.err);
    assert!(!ran.out.contains('\x1b'), "colours are for terminals");
}

#[test]
fn sessions_and_deadlines_are_told_where_they_apply() {
    let place = place("apply");
    let sessions = sim(
        &place,
        "small.toml -q --set protocol.name=group --set topology.shape=complete --set traffic.session=choice(1,2)",
    );
    assert!(sessions.out.contains("changes per entry"), "{}{}", sessions.out, sessions.err);
    let deadlines = sim(&place, "small.toml -q --set protocol.order=deadline --set traffic.deadline=50ms");
    assert!(deadlines.out.contains(" % missed"), "{}{}", deadlines.out, deadlines.err);
}

#[test]
fn json_has_everything_and_is_the_same_again() {
    let place = place("json");
    let ran = sim(&place, "small.toml --json --quiet");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert_eq!(sim(&place, "small.toml --json --quiet").out, ran.out);
    let run = json(&ran);
    assert_eq!((&run["seed"], &run["complete"], &run["stopped"]), (&3.into(), &true.into(), &false.into()));
    assert!(run["measures"]["wait.mean"].as_f64().unwrap() > 0.0);
    assert_eq!(run["measures"]["stuck"], 0.0);
    assert!(run["kinds"].as_array().unwrap().iter().any(|kind| kind["name"] == "token"));
    assert!(run["rules"].as_array().unwrap().contains(&"exclusion".into()));
    assert_eq!(run["violations"], Value::Array(Vec::new()));

    let other = json(&sim(&place, "small.toml --json --seed 4"));
    assert_ne!(other["trace_hash"], run["trace_hash"]);
    assert_eq!(other["scenario"], run["scenario"], "a seed is no part of a scenario");
    let larger = json(&sim(&place, "small.toml --json --set nodes=6"));
    assert_ne!(larger["scenario"], run["scenario"]);
}

#[test]
fn without_a_file_the_reference_scenario_is_run() {
    let short = "--set nodes=10 --set duration=500ms --set warmup=0s --set area.size=[\"150m\",\"150m\"]";
    let run = json(&sim(&place("reference"), &format!("{short} --json")));
    assert_eq!((&run["name"], &run["file"]), (&"reference".into(), &Value::Null));
    assert!(run["scenario"].as_str().unwrap().contains("linear"), "{}", run["scenario"]);
}

#[test]
fn a_recorded_run_can_be_read_and_run_again_by_its_own_command() {
    let place = place("trace");
    let ran = sim(&place, "small.toml --set nodes=4 --trace run.trace.jsonl");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("run.trace.jsonl"), "{}", ran.out);
    let path = place.join("run.trace.jsonl");
    let first = fs::read(&path).unwrap();
    let header = Reader::new(first.as_slice()).unwrap().header().clone();
    let replay = header.replay.unwrap();
    assert_eq!(replay, "meshlock sim small.toml --seed 3 --set nodes=4 --trace run.trace.jsonl --force");
    fs::remove_file(&path).unwrap();
    sim(&place, replay.strip_prefix("meshlock sim ").unwrap());
    assert_eq!(fs::read(&path).unwrap(), first);

    let Some(What::End(end)) = records(&path).pop().map(|record| record.what) else { panic!("no end") };
    let run = json(&sim(&place, "small.toml --set nodes=4 --json"));
    assert_eq!(end.totals["trace_hash"], run["trace_hash"]);
    sim(&place, "small.toml --set nodes=4 --trace run.trace.jsonl --views --force");
    let with_views = |record: &Record| matches!(&record.what, What::Event(happening) if happening.view.is_some());
    assert!(records(&path).iter().any(with_views));
}

#[test]
fn a_broken_rule_is_shown_with_the_command_that_shows_it_again() {
    let place = place("broken");
    let ran = sim(&place, &format!("small.toml --seed 11 {LOSSY}"));
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("✗") && ran.out.contains("ended by a broken rule"), "{}", ran.out);
    assert!(ran.err.contains("broken: ") && ran.err.contains(", seed 11: "), "{}", ran.err);
    let replay = ran.err.lines().find_map(|line| line.trim().strip_prefix("see it with: meshlock sim ")).unwrap();
    assert_eq!(replay, format!("small.toml --seed 11 {LOSSY} --trace small.trace.jsonl --force"));
    let again = json(&sim(&place, &format!("{replay} --json")));
    assert_eq!(again["stopped"], true);
    let Some(What::End(end)) = records(&place.join("small.trace.jsonl")).pop().map(|record| record.what) else {
        panic!("no end")
    };
    assert_eq!(end.violation.unwrap().rule, again["violations"][0]["rule"]);
}

/// To the letter every copy of a flood is passed on, so a short run on wires has millions of events.
#[test]
fn a_storm_is_stopped_and_told_with_numbers() {
    let place = place("storm");
    let literal = "--set protocol.name=flood --set protocol.text=published --set traffic.priority=1";
    let line = format!("small.toml {literal} --set limits.events=100000");
    let ran = sim(&place, &line);
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("stopped: storm at "), "{}", ran.out);
    assert!(ran.err.contains("messages in flight; limits.events = 100000 is exceeded"), "{}", ran.err);
    let run = json(&sim(&place, &format!("{line} --json")));
    assert_eq!(run["stopped"], true);
    assert!(run["storm"].as_str().unwrap().starts_with("storm at "), "{}", run["storm"]);
}

#[test]
fn broken_rules_of_a_printed_text_are_counted() {
    let place = place("published");
    let changes = "--set protocol.text=published --set topology.shape=ring --set topology.change_every=100ms";
    let ran = sim(&place, &format!("small.toml --set nodes=8 --set traffic.priority=1 {changes}"));
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("✗") && ran.out.contains(" broke "), "{}", ran.out);
    let run = json(&sim(&place, &format!("small.toml --set nodes=8 --set traffic.priority=1 {changes} --json")));
    assert_eq!(run["stopped"], false);
    assert!(run["violations"][0]["times"].as_u64().unwrap() >= 1);
}

#[test]
fn mistakes_are_explained() {
    let place = place("mistakes");
    fs::write(place.join("typo.toml"), SMALL.replace("shape", "shap")).unwrap();
    refused(
        &place,
        "sim",
        &[
            ("missing.toml", "cannot read missing.toml"),
            ("typo.toml", "typo.toml:10:1"),
            ("typo.toml", "help:"),
            ("small.toml --set radio", "such as radio.range=120m"),
            ("small.toml --set nodez=3", "nodez"),
            ("small.toml --set protocol.name=raymond --set protocol.text=published", "published"),
            ("small.toml --seed x", "--seed"),
            ("small.toml --views", "--trace"),
            ("small.toml --trace no/such/place.jsonl", "cannot write no/such/place.jsonl"),
        ],
    );
}

const EDITS: &str = r#"{"meshlock-edits":1,"scenario":"small.toml","seed":3}
{"time_ns":500000000,"link":{"between":[1,2],"up":false}}
{"time_ns":900000000,"add":{}}
{"time_ns":900000000,"link":{"between":[5,1],"up":true}}
{"time_ns":900000000,"link":{"between":[5,2],"up":true}}
{"time_ns":1000000000,"request":{"node":5,"units":1,"priority":9}}
{"time_ns":1200000000,"release":{"node":5,"request":1}}
{"time_ns":1500000000,"remove":{"node":0}}
"#;

#[test]
fn a_run_with_edits_is_another_run_and_the_same_again() {
    let place = place("edits");
    fs::write(place.join("run.edits.jsonl"), EDITS).unwrap();
    let plain = json(&sim(&place, "small.toml --json -q"));
    let ran = sim(&place, "small.toml --edits run.edits.jsonl --json -q --trace run.trace.jsonl");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let edited = json(&ran);
    assert_ne!(edited["trace_hash"], plain["trace_hash"]);
    assert_eq!((&edited["seed"], &edited["violations"]), (&3.into(), &Value::Array(Vec::new())));
    let replay = edited["replay"].as_str().unwrap();
    assert_eq!(replay, "meshlock sim small.toml --seed 3 --edits run.edits.jsonl --trace run.trace.jsonl --force");
    let again = sim(&place, "small.toml --edits run.edits.jsonl --json -q --trace run.trace.jsonl --force");
    assert_eq!(again.out, ran.out);
    let all = records(&place.join("run.trace.jsonl"));
    assert!(all.iter().any(|record| matches!(&record.what, What::Join(node) if node.id.0 == 5)));
    assert!(all.iter().any(|record| matches!(&record.what, What::Move(leaves) if leaves.node.0 == 0 && leaves.gone)));
    // Somebody has ended it.
    fs::write(place.join("run.edits.jsonl"), format!("{EDITS}{{\"time_ns\":1600000000,\"end\":true}}\n")).unwrap();
    assert_eq!(json(&sim(&place, "small.toml --edits run.edits.jsonl --json -q"))["end_s"], 1.6);
}

#[test]
fn mistakes_in_edits_are_explained() {
    let place = place("edit-mistakes");
    fs::write(place.join("bad.jsonl"), format!("{EDITS}oops\n")).unwrap();
    fs::write(place.join("gone.jsonl"), format!("{EDITS}{{\"time_ns\":1900000000,\"remove\":{{\"node\":0}}}}\n"))
        .unwrap();
    refused(
        &place,
        "sim",
        &[
            ("small.toml --edits missing.jsonl", "cannot read the edits missing.jsonl"),
            ("small.toml --edits bad.jsonl", "in bad.jsonl: line 9: "),
            ("small.toml --edits small.toml", "this is no file of edits"),
            ("small.toml --edits gone.jsonl", "edit 8 (remove at 1.900000000 s) cannot be done: node 0 has left"),
            ("small.toml --open", "--view"),
            ("small.toml --view=nowhere", "--view"),
            ("small.toml --view --json", "--json"),
        ],
    );
}

#[test]
fn a_shown_run_ends_with_the_command_that_runs_it_again() {
    let place = place("shown");
    let words = ["sim", "small.toml", "--view=127.0.0.1:0", "--trace", "run.trace.jsonl"];
    let mut running = Running::start(process::program().args(words).current_dir(&place));
    assert!(running.until_error("viewer:").starts_with("viewer: http://127.0.0.1:"));
    let Ran { code, out, err: rest } = running.end_by(Signal::INT);
    assert_eq!(code, Some(0), "{out}{rest}");
    assert_eq!(out, "run it again: meshlock sim small.toml --seed 3 --trace run.trace.jsonl --force --views\n");
    assert!(rest.contains("after 0 edits"), "{rest}");
    assert!(!place.join("small.edits.jsonl").exists(), "nothing was done");
    records(&place.join("run.trace.jsonl"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_after_the_results() {
    let ran = sim(&place("full"), "small.toml --trace /dev/full");
    assert_eq!(ran.code, Some(2));
    assert!(ran.out.contains("Waiting time"), "{}", ran.out);
    assert!(ran.err.contains("cannot write the trace /dev/full"), "{}", ran.err);
}

#[test]
fn keys_and_schema_are_those_of_the_documents() {
    let place = place("keys");
    let schema = sim(&place, "--schema").out;
    assert!(schema == include_str!("../../../../scenarios/scenario.schema.json"), "{schema}");
    let keys = sim(&place, "--keys").out;
    assert!(include_str!("../../../../docs/scenario-format.md").contains(keys.trim()), "{keys}");
}

#[test]
fn help_has_examples_and_exit_codes_and_the_examples_are_real() {
    let place = place("help");
    let help = sim(&place, "--help").out;
    has_all(&help, &["Examples:", "Exit codes:", "130", "--trace <FILE>"]);
    let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  meshlock sim")).collect();
    assert!(examples.len() >= 6);
    for example in examples.iter().filter(|example| !example.contains("docks.toml")) {
        let ran = sim(&place, &format!("{example} --quiet --set duration=1ms --set warmup=0s --set drain=0s"));
        assert_ne!(ran.code, Some(2), "{example}\n{}", ran.err);
    }
}

#[test]
fn ctrl_c_ends_the_run_with_a_summary_and_a_whole_trace() {
    let place = place("interrupted");
    let words = ["sim", "small.toml", "--set", "duration=10000000s", "--trace", "run.trace.jsonl"];
    let mut running = Running::start(process::program().args(words).current_dir(&place));
    let trace = place.join("run.trace.jsonl");
    let is_under_way = || fs::metadata(&trace).is_ok_and(|file| file.len() > 0);
    until("it is under way", || is_under_way() || running.has_ended());
    let Ran { code, out, err } = running.end_by(Signal::INT);
    assert_eq!(code, Some(130), "{out}{err}");
    assert!(out.contains("incomplete: ended by Ctrl-C"), "{out}");
    assert!(out.contains("not known, because the run was ended early"), "{out}");
    assert!(err.contains("ended: by Ctrl-C"), "{err}");
    assert!(!records(&trace).is_empty());
}
