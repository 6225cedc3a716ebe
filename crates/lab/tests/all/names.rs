//! A node has one name, wherever it is looked at: n and its number, from 0.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Running, place, program, run};

/// The names and ids in the header of a trace.
fn header_names(trace: &Path) -> Vec<(u64, String)> {
    let text = fs::read_to_string(trace).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let of = |node: &Value| (node["id"].as_u64().unwrap(), node["name"].as_str().unwrap().to_owned());
    header["nodes"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn nodes_have_the_same_names_in_a_mesh_a_simulation_and_the_checker() {
    let place = place("names", "same");
    let expected: Vec<(u64, String)> = (0..3).map(|number| (number, format!("n{number}"))).collect();

    let broken = "check reverse-link --variant published --topology line:3 --k 2 --rule no-idle-units";
    let ran = run(&place, broken, "--trace checked.jsonl");
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert_eq!(header_names(&place.join("checked.jsonl")), expected);

    fs::write(place.join("small.toml"), "nodes = 3\nduration = \"1s\"\n[topology]\nshape = \"line\"\n").unwrap();
    let ran = run(&place, "sim", "small.toml --quiet --trace simulated.jsonl");
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(header_names(&place.join("simulated.jsonl")), expected);

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
    assert_eq!(header_names(&place.join("mesh.gate.jsonl")), expected);
}
