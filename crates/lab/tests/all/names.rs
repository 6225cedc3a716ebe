//! A node has one name, wherever it is looked at: n and its number, from 0.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Running, place, program, run};

/// The ids and names of all nodes of a trace: those in its header, and those that join.
fn names_in(trace: &Path) -> Vec<(u64, String)> {
    let text = fs::read_to_string(trace).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let joined = lines.iter().map(|line| &line["join"]).filter(|node| !node.is_null());
    let of = |node: &Value| (node["id"].as_u64().unwrap(), node["name"].as_str().unwrap().to_owned());
    let mut names: Vec<_> = lines[0]["nodes"].as_array().unwrap().iter().chain(joined).map(of).collect();
    names.sort();
    names
}

#[test]
fn nodes_have_the_same_names_in_a_mesh_a_simulation_and_the_checker() {
    let place = place("names", "same");
    let expected: Vec<(u64, String)> = (0..3).map(|number| (number, format!("n{number}"))).collect();

    let broken = "check reverse-link --variant published --topology line:3 --k 2 --rule no-idle-units";
    let ran = run(&place, broken, "--trace checked.jsonl");
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert_eq!(names_in(&place.join("checked.jsonl")), expected);

    fs::write(
        place.join("small.toml"),
        "nodes = 3\nduration = \"1s\"\nwarmup = \"0s\"\n[topology]\nshape = \"line\"\n",
    )
    .unwrap();
    let ran = run(&place, "sim", "small.toml --quiet --trace simulated.jsonl");
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(names_in(&place.join("simulated.jsonl")), expected);

    let words = "up --nodes 3 --json --no-view --record mesh.jsonl";
    let mut running = Running::start(program().args(words.split(' ')).current_dir(&place));
    let told: Value = serde_json::from_str(&running.line()).unwrap();
    let names: Vec<&str> = told["nodes"].as_array().unwrap().iter().filter_map(|node| node["name"].as_str()).collect();
    assert_eq!(names, ["n0", "n1", "n2"]);
    let socket = told["nodes"][2]["socket"].as_str().unwrap();
    let ran = run(&place, "lock gate --socket", &format!("{socket} -- true"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ended = running.end_by(Signal::INT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(names_in(&place.join("mesh.gate.jsonl")), expected);
}
