//! `meshlock trace` from the outside: recordings are run again, and whatever was altered in them is found.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::{self, Ran};

const SCENARIO: &str = r#"
name = "small"
nodes = 5
duration = "2s"
warmup = "100ms"
drain = "20s"
seed = 3

[topology]
shape = "ring"
change_every = "300ms"

[traffic]
think = "exponential(100ms)"
holding = "5ms"
"#;

const GROUP: &str = "--set protocol.name=group --set protocol.over=relay --set traffic.session=choice(1,2)";

/// A directory of its own for each test, with a scenario in it.
fn place(name: &str) -> PathBuf {
    let place = process::place("trace", name);
    fs::write(place.join("small.toml"), SCENARIO).unwrap();
    place
}

fn record(place: &Path, more: &str) -> String {
    let ran = process::run(place, "sim", &format!("small.toml --quiet --trace run.jsonl --force {more}"));
    assert_eq!(ran.code, Some(0), "{more}: {}{}", ran.out, ran.err);
    fs::read_to_string(place.join("run.jsonl")).unwrap()
}

fn audit(place: &Path, line: &str) -> Ran {
    process::run(place, "trace", &format!("audit {line}"))
}

/// Writes a trace with some lines changed, and audits it.
fn altered(place: &Path, lines: &[String]) -> Ran {
    fs::write(place.join("altered.jsonl"), lines.join("\n") + "\n").unwrap();
    audit(place, "altered.jsonl")
}

#[test]
fn runs_of_every_protocol_come_out_as_recorded() {
    let place = place("fine");
    for more in ["", "--views", "--set protocol.name=flood", GROUP, "--set topology.loss=0.1 --set protocol.name=flood"]
    {
        record(&place, more);
        let ran = audit(&place, "run.jsonl --json");
        assert_eq!(ran.code, Some(0), "{more}: {}{}", ran.out, ran.err);
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(told["fine"], true);
        assert_eq!(told["nodes"], 5);
        assert_eq!(told["events"], told["replayed"]);
        assert_eq!(told["unchecked_messages"], 0);
        assert!(told["messages"].as_u64() > Some(50) && told["ended"] == true, "{more}: {told}");
    }
    let ran = audit(&place, "run.jsonl");
    assert!(ran.out.contains("of 5 nodes, all as recorded"), "{}", ran.out);
    assert!(ran.out.contains("unwanted-grant"), "{}", ran.out);
}

#[test]
fn whatever_was_altered_is_found() {
    let place = place("altered");
    for more in ["", "--set protocol.name=flood", GROUP] {
        let whole: Vec<String> = record(&place, more).lines().map(str::to_owned).collect();
        let middle = whole.len() / 2;
        let find = |what: &str| (middle..whole.len()).find(|line| whole[*line].contains(what)).unwrap();

        let mut lines = whole.clone();
        let grant = find(r#""granted":{"grant""#);
        // A message of the same line may have a fence too.
        let (before, after) = lines[grant].split_once(r#""granted":"#).unwrap();
        lines[grant] = format!(r#"{before}"granted":{}"#, after.replacen(r#""fence":"#, r#""fence":1"#, 1));
        let ran = altered(&place, &lines);
        assert_eq!(ran.code, Some(1), "an effect, {more}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(&format!("altered.jsonl, line {}, node", grant + 1)), "{}", ran.out);
        assert!(ran.out.contains("its effects come out as"), "{}", ran.out);

        let mut lines = whole.clone();
        let sending = find(if more.contains("flood") { r#""broadcast":"# } else { r#""send":"# });
        lines[sending].clear();
        let ran = altered(&place, &lines);
        assert_eq!(ran.code, Some(1), "a line, {more}: {}{}", ran.out, ran.err);
        lines.remove(sending); // then also causes name the wrong lines, and a reader may refuse it
        assert_ne!(altered(&place, &lines).code, Some(0), "a line, {more}");

        let mut lines = whole.clone();
        let first = find(r#""event":{"receive""#);
        let node = |line: &str| serde_json::from_str::<Value>(line).unwrap()["node"].clone();
        let second = (first + 1..whole.len())
            .find(|line| whole[*line].contains(r#""receive""#) && node(&whole[*line]) == node(&whole[first]))
            .unwrap();
        let swapped = |from: &str, into: &str| {
            let (mut from, into): (Value, Value) =
                (serde_json::from_str(from).unwrap(), serde_json::from_str(into).unwrap());
            from["time_ns"] = into["time_ns"].clone();
            from.as_object_mut().unwrap().remove("cause");
            from.to_string()
        };
        lines[first] = swapped(&whole[second], &whole[first]);
        lines[second] = swapped(&whole[first], &whole[second]);
        let ran = altered(&place, &lines);
        assert_eq!(ran.code, Some(1), "a swapped pair, {more}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn what_cannot_be_run_again_says_why() {
    let place = place("why");
    record(&place, "--set protocol.name=raymond --set topology.shape=complete");
    let ran = audit(&place, "run.jsonl");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("protocol \"raymond\""), "{}", ran.err);
    fs::write(place.join("no.jsonl"), "nonsense\n").unwrap();
    assert_eq!(audit(&place, "no.jsonl").code, Some(2));
    assert_eq!(audit(&place, "missing.jsonl").code, Some(2));
}

#[test]
fn only_recordings_of_nodes_are_merged() {
    let place = place("merge");
    record(&place, "");
    let ran = process::run(&place, "trace", "merge run.jsonl -o out.jsonl");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("run.jsonl is no recording of a node"), "{}", ran.err);
    assert!(!place.join("out.jsonl").exists() && !place.join("out.jsonl.part").exists());
    let ran = process::run(&place, "trace", "merge run.jsonl -o run.jsonl");
    assert!(ran.err.contains("read and written at once"), "{}", ran.err);
}

#[test]
fn a_recording_is_never_overwritten() {
    let place = place("overwrite");
    record(&place, "");
    let before = fs::read(place.join("run.jsonl")).unwrap();
    fs::write(place.join("other.jsonl"), "not a trace").unwrap();
    for line in ["trace merge other.jsonl -o run.jsonl", "sim small.toml --seed 9 --trace run.jsonl"] {
        let ran = process::run(&place, line, "");
        assert_eq!(ran.code, Some(2), "{line}");
        assert!(ran.err.contains("run.jsonl is there already") && ran.err.contains("--force"), "{line}: {}", ran.err);
        assert!(fs::read(place.join("run.jsonl")).unwrap() == before, "{line}");
    }
    let ran = process::run(&place, "trace", "merge run.jsonl other.jsonl");
    assert!(ran.err.contains("--output <FILE>"), "what was the first word is no longer written to: {}", ran.err);
}
