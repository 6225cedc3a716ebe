use serde_json::{Value, json};

use super::*;
use crate::line::read_header;

/// A scene with two linked nodes after these records, with the line numbers they would have.
fn after(records: &[Value]) -> (Value, Vec<Changed>) {
    let header = json!({
        "meshlock-trace": 1, "source": "check", "protocol": "flood", "variant": "repaired",
        "nodes": [{"id": 0, "name": "ann"}, {"id": 1, "name": "bob", "view": {"role": "x"}}], "links": [[1, 0]],
    });
    let header = header.to_string();
    let mut scene = Scene::first(&read_header(&header).unwrap().1);
    let mut changes = Vec::new();
    for (number, record) in (2..).zip(records) {
        let text = record.to_string();
        let line = Line::read(&text).unwrap();
        changes.push(scene.apply(number, line.moment().unwrap().1, &line));
    }
    (serde_json::to_value(&scene).unwrap(), changes)
}

fn asks(step: u64, node: u32, request: u64) -> Value {
    let demand = json!({"units": 2, "urgency": {"priority": 5}, "session": null});
    json!({"step": step, "node": node, "event": {"request": {"request": request, "demand": demand}},
           "effects": [{"broadcast": {"message": "hello"}}]})
}

#[test]
fn it_begins_as_the_header_says() {
    let (scene, _) = after(&[]);
    assert_eq!(scene["line"], 1);
    assert_eq!(scene["links"], json!([[0, 1]]));
    assert_eq!(scene["nodes"][0]["view"], Value::Null);
    assert_eq!(scene["nodes"][1]["view"], json!({"role": "x"}));
}

#[test]
fn a_message_is_under_way_until_it_arrives_or_is_lost_or_its_link_goes() {
    let arrives = json!({"step": 3, "node": 1, "cause": 2, "event": {"receive": {"from": 0, "message": "hello"}}});
    let lost = json!({"step": 3, "lost": {"from": 0, "to": 1, "message": "hello"}});
    let cut = json!({"step": 3, "link": {"between": [0, 1], "up": false}});
    let (sent, _) = after(&[asks(2, 0, 1)]);
    assert_eq!(sent["under_way"], json!([{"line": 2, "from": 0, "to": 1, "sent": 2, "message": "hello"}]));
    for end in [arrives, lost, cut] {
        assert_eq!(after(&[asks(2, 0, 1), end.clone()]).0["under_way"], json!([]), "{end}");
    }
}

#[test]
fn the_cause_tells_which_of_two_messages_arrives_and_without_it_the_first_does() {
    let receive = |cause: Value| {
        let mut record = json!({"step": 3, "node": 1, "event": {"receive": {"from": 0, "message": "hello"}}});
        if !cause.is_null() {
            record["cause"] = cause;
        }
        after(&[asks(2, 0, 1), asks(2, 0, 2), record]).0["under_way"][0]["line"].clone()
    };
    assert_eq!(receive(json!(2)), 3);
    assert_eq!(receive(json!(3)), 2);
    assert_eq!(receive(Value::Null), 3);
    assert_eq!(receive(json!(99)), 3);
}

#[test]
fn requests_are_open_until_released_or_given_up() {
    let grant = json!({"request": 1, "units": 2, "session": 7, "fence": 9});
    let granted =
        json!({"step": 4, "node": 0, "event": {"expired": {"timer": 1}}, "effects": [{"granted": {"grant": grant}}]});
    let released = json!({"step": 6, "node": 0, "event": {"release": {"request": 1, "units": 2}}});
    let cancelled = json!({"step": 6, "node": 0, "event": {"cancel": {"request": 1}}});
    let mistaken = json!({"step": 6, "node": 0, "misuse": "unknown-request", "event": {"cancel": {"request": 1}}});
    let open = |records: &[Value]| after(records).0["nodes"][0]["open"].clone();
    let waits = json!([{"request": 1, "units": 2, "urgency": {"priority": 5}, "session": null, "asked": 2,
                        "granted": null, "fence": null}]);
    assert_eq!(open(&[asks(2, 0, 1)]), waits);
    assert_eq!(open(&[asks(2, 0, 1), mistaken]), waits);
    assert_eq!(open(&[asks(2, 0, 1), cancelled.clone()]), json!([]));
    let (scene, changes) = after(&[asks(2, 0, 1), granted.clone()]);
    assert_eq!(scene["nodes"][0]["open"][0]["granted"], 4);
    assert_eq!(scene["nodes"][0]["open"][0]["fence"], 9);
    assert_eq!(changes[1], Changed { grants: 1, waited: 2, longest: 2, units: 2, ..Changed::default() });
    assert_eq!(open(&[asks(2, 0, 1), granted.clone(), cancelled])[0]["granted"], 4, "what is held is not given up");
    let (scene, changes) = after(&[asks(2, 0, 1), granted, released]);
    assert_eq!(scene["nodes"][0]["open"], json!([]));
    assert_eq!(changes[2].units, -2);
}

#[test]
fn the_token_comes_when_a_view_shows_it_for_the_first_time() {
    let with = |view: Value| json!({"step": 2, "node": 1, "event": {"expired": {"timer": 1}}, "view": view});
    let token = json!({"token": {"free": 1}});
    let (_, changes) = after(&[with(token.clone()), with(token.clone()), with(json!({})), with(token)]);
    assert_eq!(changes.iter().map(|changed| changed.token).collect::<Vec<_>>(), [true, false, false, true]);
}

#[test]
fn nodes_come_move_and_go() {
    let join = json!({"step": 2, "join": {"id": 5, "name": "eve", "position": [1.0, 2.0]}});
    let goes = json!({"step": 3, "move": {"node": 5, "position": [3.0, 4.0], "gone": true}});
    let unknown = json!({"step": 3, "move": {"node": 8, "position": [0.5, 0.0], "velocity": [1.0, 0.0]}});
    let (scene, _) = after(&[join, goes, unknown]);
    let eve = &scene["nodes"][2];
    assert_eq!((&eve["name"], &eve["position"], &eve["gone"]), (&json!("eve"), &json!([3.0, 4.0]), &json!(true)));
    assert_eq!(scene["nodes"][3]["name"], "n8");
    assert_eq!(scene["nodes"][3]["velocity"], json!([1.0, 0.0]));
}
