//! `meshlock bench guard`, `kills`, `scale` and `torment`: short runs of them.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::process::program;

fn bench(words: &str) -> Command {
    let mut command = program();
    command.arg("bench").args(words.split_whitespace()).stdin(Stdio::null());
    command
}

#[test]
fn nothing_is_lost_with_fences() {
    for recovery in ["voters", "restart"] {
        let report = reported(&format!("guard --minutes 0.2 --lease 400ms --recovery {recovery} --json"));
        let number = |name: &str| report[name].as_u64().unwrap();
        assert_eq!(number("lost"), 0, "{report}");
        assert!(number("acknowledged") > 0 && number("kills") + number("pauses") > 0, "{report}");
        assert!(number("node_kills") + number("node_pauses") > 0, "{report}");
        assert_eq!(number("counter"), number("acknowledged") + number("unacknowledged"), "{report}");
        assert_eq!(report["fences"], true);
    }
}

#[test]
fn how_long_a_lock_is_out_of_service_is_measured() {
    // The token is alive, so nothing is waited for.
    let report = reported("kills --fault bystander --kills 2 --json");
    assert_eq!((report["rounds"].as_u64(), report["goal_s"].as_f64()), (Some(2), None), "{report}");
    let killed = reported("kills --standing 8s --kills 1 --json");
    assert_eq!(killed["goal_s"].as_f64(), Some(9.8), "{killed}");
    // Its clients may rely on what they hold for most of a standing.
    assert!(killed["worst_s"].as_f64().unwrap() > 6.0, "{killed}");
}

#[test]
fn ctrl_c_ends_it_with_what_was_seen_and_leaves_no_client() {
    let report = interrupted(&mut bench("guard --minutes 10 --clients 2 --nodes 2 --json"), "guard-client");
    assert_eq!(report["lost"], 0);
}

#[test]
fn the_cost_of_many_is_measured_on_a_few() {
    let report = reported("scale --nodes 4 --grid 2x2 --resources 20 --clients 30 --seconds 1 --json");
    let figures = report["figures"].as_array().unwrap();
    let has = |part: &str, what: &str, goal: Option<f64>| {
        let found = figures.iter().find(|one| one["part"] == part && one["what"] == what);
        let found = found.unwrap_or_else(|| panic!("{part}: {what} is not in {report}"));
        assert_eq!((found["at_most"].as_f64(), found["is_met"].is_boolean()), (goal, goal.is_some()), "{found}");
        found["value"].as_f64().unwrap()
    };
    assert!(has("4 nodes, one process", "all links up after", Some(10.0)) > 0.0);
    assert!(has("4 nodes, one process", "a lock across the mesh, for each hop, median", Some(2.0)) > 0.0);
    assert!(has("4 nodes, one process", "memory for each node", None) > 0.0);
    assert_eq!(has("one node", "clients, each on a stream of its own", None), 30.0);
    assert_eq!(has("one node", "locks held at once", None), 20.0);
    // Namespaces need root: without it the report says so.
    if report["skipped"] == Value::Array(Vec::new()) {
        assert!(has("4 processes, 2 x 2", "all links up after", Some(10.0)) > 0.0);
        has("4 processes, 2 x 2", "idle, all nodes together", Some(5.0));
    } else {
        assert!(report["skipped"][0].as_str().unwrap().contains("network namespaces"), "{report}");
    }
}

#[test]
fn a_short_torment_finds_nothing() {
    let report = reported("torment --only clean-stop --nodes 3 --for 12s --json");
    assert_eq!(report["findings"], Value::Array(Vec::new()));
    assert!(report["grants"].as_u64().unwrap() > 0 && report["clean_stops"].as_u64().unwrap() > 0, "{report}");
    assert!(report["uses"][0]["tasks"].as_u64().unwrap() > 0, "nodes tell how many tasks they have: {report}");
}

#[test]
fn a_torment_is_ended_by_ctrl_c_and_leaves_no_node() {
    let place = tempfile::tempdir().unwrap();
    // Members are made by processes that end; both nodes are there at the same time.
    let report = interrupted(bench("torment --nodes 2 --json").env("TMPDIR", place.path()), "node");
    assert_eq!(report["findings"], Value::Array(Vec::new()));
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "no file was left behind");
}

/// Ends a bench by Ctrl-C as soon as it has started two processes: its report, and no such process is left behind.
fn interrupted(command: &mut Command, name: &str) -> Value {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    let words = |process: &String| std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let named = || children_of(pid).iter().filter(|process| words(process).contains(name)).count();
    while named() < 2 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended too early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let started = children_of(pid);
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    for process in started {
        assert!(!words(&process).contains(name), "{process} was left behind");
    }
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The report of a bench that has ended well.
fn reported(words: &str) -> Value {
    let output = bench(words).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{error}");
    serde_json::from_str(&out).unwrap()
}

/// The numbers of the processes that this one started and that are there.
fn children_of(parent: Pid) -> Vec<String> {
    let is_child = |status: &str| status.lines().any(|line| line == format!("PPid:\t{parent}"));
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let children = processes.filter(|process| {
        // It may be gone since it was listed.
        std::fs::read_to_string(process.path().join("status")).is_ok_and(|status| is_child(&status))
    });
    children.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}
