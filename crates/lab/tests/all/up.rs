//! `meshlock up --scenario`: real nodes that move about, and the page on which one takes part.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use meshlock_api::MeshStatus;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::process::{Running, place, program, run_to_end, until};
use crate::words::refused;

struct Hall {
    running: Running,
    /// Of the page.
    address: String,
    socket: String,
}

impl Hall {
    /// Some robots of the charging docks.
    fn open(nodes: u32) -> Self {
        let place = place("up", "hall");
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/charging-docks.toml");
        let text = fs::read_to_string(scenario).unwrap().replace("nodes = 12", &format!("nodes = {nodes}"));
        fs::write(place.join("hall.toml"), text).unwrap();
        let line = "up --scenario hall.toml --seed 1 --json --view 127.0.0.1:0";
        let mut running = Running::start(program().args(line.split(' ')).current_dir(&place));
        let told: Value = serde_json::from_str(&running.line()).unwrap();
        let address = told["view"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { running, address, socket: told["nodes"][0]["socket"].as_str().unwrap().to_owned() }
    }

    /// Asks the page: its answer, or why it refuses.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let (host, body) = (&self.address, body.to_string());
        let mut stream = TcpStream::connect(host).unwrap();
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\nconnection: close\r\n");
        let head = format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        if head.starts_with("HTTP/1.1 200") { Ok(body) } else { Err(body["message"].as_str().unwrap().to_owned()) }
    }

    fn act(&self, action: Value) -> Result<Value, String> {
        self.ask("POST", "/api/act", &action)
    }

    fn status(&self) -> MeshStatus {
        let ran = run_to_end(program().args(["status", "--json", "--socket", &self.socket]));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Waits until the first node and all it can reach are linked like this, and no other.
    fn until_linked(&self, expected: &[(&str, &str)]) {
        let expected: BTreeSet<(String, String)> =
            expected.iter().flat_map(|(a, b)| [(a, b), (b, a)]).map(|(a, b)| (a.to_string(), b.to_string())).collect();
        until(&format!("the links are {expected:?}"), || {
            let nodes = self.status().nodes;
            let links =
                nodes.iter().flat_map(|node| node.links.iter().map(|link| (node.name.clone(), link.to.clone())));
            links.collect::<BTreeSet<_>>() == expected
        });
    }
}

#[test]
fn nodes_of_a_scenario_are_moved_about() {
    let hall = Hall::open(3);
    let about = hall.ask("GET", "/api/about", &Value::Null).unwrap();
    for can in ["move", "range", "pace"] {
        assert!(about["can"].as_array().unwrap().contains(&json!(can)), "{about}");
    }
    // In their first life members have their numbers as ids.
    let ids = [0, 1, 2];
    // Everybody stands still where they are put.
    hall.act(json!({ "do": "pace", "factor": 0 })).unwrap();
    for (node, to) in ids.iter().zip([[5.0, 5.0], [25.0, 5.0], [55.0, 35.0]]) {
        hall.act(json!({ "do": "move", "node": node, "to": to })).unwrap();
    }
    hall.until_linked(&[("n0", "n1")]);
    // Farther than the range: a barrier cannot be the reason.
    let far = hall.act(json!({ "do": "link", "between": [ids[0], ids[2]], "up": true })).unwrap_err();
    assert!(far.contains("n0 and n2 are"), "{far}");
    hall.act(json!({ "do": "range", "metres": 100.0 })).unwrap();
    hall.until_linked(&[("n0", "n1"), ("n0", "n2"), ("n1", "n2")]);
    hall.act(json!({ "do": "link", "between": [ids[0], ids[2]], "up": false })).unwrap();
    hall.until_linked(&[("n0", "n1"), ("n1", "n2")]);

    let nowhere = hall.act(json!({ "do": "add", "at": null })).unwrap_err();
    assert!(nowhere.contains("needs a place"), "{nowhere}");
    let added = hall.act(json!({ "do": "add", "at": [30.0, 20.0] })).unwrap()["node"].clone();
    hall.until_linked(&[("n0", "n1"), ("n0", "n3"), ("n1", "n2"), ("n1", "n3"), ("n2", "n3")]);
    let gate = about["tapes"].as_array().unwrap().iter().position(|tape| tape["name"] == "gate");
    hall.act(json!({ "do": "request", "tape": gate, "node": added, "units": 1, "priority": 0, "session": null }))
        .unwrap();
    until("it is granted", || hall.status().resources.iter().any(|resource| !resource.holders.is_empty()));
    hall.act(json!({ "do": "remove", "node": ids[1] })).unwrap();
    hall.until_linked(&[("n0", "n3"), ("n2", "n3")]);
    let outside = hall.act(json!({ "do": "move", "node": added, "to": [-5.0, 0.0] })).unwrap_err();
    assert!(outside.contains("outside of the area"), "{outside}");
    let ended = hall.running.end_by(Signal::INT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

#[test]
fn a_scenario_that_cannot_be_is_refused() {
    let place = place("up", "refused");
    fs::write(place.join("wrong.toml"), "nodes = \"many\"\n").unwrap();
    fs::write(place.join("large.toml"), "nodes = 1000\n[topology]\n").unwrap();
    refused(
        &place,
        "up",
        &[
            ("--scenario missing.toml", "cannot read missing.toml"),
            ("--scenario wrong.toml", "nodes"),
            ("--scenario large.toml", "1000 nodes are too many for one process: at most 200"),
            ("--scenario large.toml --nodes 3", "cannot be used with"),
        ],
    );
}
