use std::io::Cursor;

use super::*;
use crate::record::{Record, What};

/// Ann's recording: she hears of Bob, and sends to him.
const ANN: &str = r#"{"meshlock-trace":1,"source":"node","protocol":"flood","variant":"repaired","parameters":{"mesh":"m","resource":"dock","began_unix_ms":5000,"monotonic_ns":1000,"boot_id":"b"},"nodes":[{"id":0,"name":"ann","view":{"role":"idle","neighbours":[]}}]}
{"time_ns":10,"join":{"id":1,"name":"bob"}}
{"time_ns":10,"link":{"between":[0,1],"up":true}}
{"time_ns":10,"node":0,"event":{"link-up":{"neighbour":1}},"effects":[]}
{"time_ns":100,"node":0,"event":{"cancel":{"request":1}},"effects":[{"send":{"to":1,"message":"hi"}},{"arm":{"timer":1,"after":{"least_ms":1,"most_ms":2}}}]}
{"time_ns":300,"node":0,"cause":5,"event":{"expired":{"timer":1}},"effects":[]}
{"time_ns":900,"end":{"totals":{"events":3}}}
"#;

/// Bob's begins a little later.
const BOB: &str = r#"{"meshlock-trace":1,"source":"node","protocol":"flood","variant":"repaired","parameters":{"mesh":"m","resource":"dock","began_unix_ms":5000,"monotonic_ns":1005,"boot_id":"b"},"nodes":[{"id":1,"name":"bob","view":{"role":"idle","neighbours":[]}}]}
{"time_ns":7,"join":{"id":0,"name":"node 0"}}
{"time_ns":7,"link":{"between":[1,0],"up":true}}
{"time_ns":7,"node":1,"event":{"link-up":{"neighbour":0}},"effects":[]}
{"time_ns":195,"node":1,"event":{"receive":{"from":0,"message":"hi"}},"effects":[]}
{"time_ns":800,"end":{"totals":{"events":2}}}
"#;

fn merged(inputs: &[&str]) -> Result<(Merged, String), MergeError> {
    let named = inputs.iter().enumerate();
    let named = named.map(|(i, text)| (format!("t{i}"), Cursor::new((*text).to_owned()))).collect();
    let mut output = Vec::new();
    let merged = merge(named, &mut output)?;
    Ok((merged, String::from_utf8(output).unwrap()))
}

#[test]
fn two_recordings_become_one_story() {
    for inputs in [[ANN, BOB], [BOB, ANN]] {
        let (told, text) = merged(&inputs).unwrap();
        assert_eq!((told.exact, told.nodes, told.lines), (true, 2, 9));
        assert_eq!(told.warnings, Vec::<String>::new());
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let expected = [
            r#"{"time_ns":5,"join":{"id":1,"name":"bob","view":{"role":"idle","neighbours":[]}}}"#,
            r#"{"time_ns":10,"link":{"between":[0,1],"up":true}}"#,
            r#"{"time_ns":10,"node":0,"event":{"link-up":{"neighbour":1}},"effects":[]}"#,
            r#"{"time_ns":12,"node":1,"event":{"link-up":{"neighbour":0}},"effects":[]}"#,
            r#"{"time_ns":100,"node":0,"event":{"cancel":{"request":1}},"effects":[{"send":{"to":1,"message":"hi"}},{"arm":{"timer":1,"after":{"least_ms":1,"most_ms":2}}}]}"#,
            r#"{"time_ns":200,"node":1,"cause":6,"event":{"receive":{"from":0,"message":"hi"}},"effects":[]}"#,
            r#"{"time_ns":300,"node":0,"cause":6,"event":{"expired":{"timer":1}},"effects":[]}"#,
            r#"{"time_ns":900,"end":{"totals":{"events":5}}}"#,
        ];
        assert_eq!(lines, expected);
    }
}

#[test]
fn different_machines_are_merged_by_their_clocks_with_a_warning() {
    let other = BOB.replace(r#""boot_id":"b""#, r#""boot_id":"c""#).replace(":5000", ":5001");
    let (told, text) = merged(&[ANN, &other]).unwrap();
    assert!(!told.exact);
    assert!(told.warnings[0].contains("only as good as their clocks"), "{:?}", told.warnings);
    assert!(text.contains(r#"{"time_ns":1000195,"node":1"#) && text.contains(r#""one_clock":false"#), "{text}");
}

#[test]
fn traces_of_different_things_are_refused_with_both_shown() {
    let refused = |from: &str, to: &str| merged(&[ANN, &BOB.replace(from, to)]).unwrap_err().to_string();
    let text = refused("dock", "gate");
    assert!(text.starts_with(r#"t0 has resource "dock", but t1 has "gate""#), "{text}");
    assert!(refused(r#""mesh":"m""#, r#""mesh":"w""#).contains(r#"mesh "m", but t1 has "w""#));
    assert!(refused("flood", "group").contains(r#"protocol "flood", but t1 has "group""#));
    assert!(refused(r#""source":"node""#, r#""source":"sim""#).starts_with("t1 is no recording of a node"));
    assert!(matches!(merged(&[]), Err(MergeError::Nothing)));
    assert!(merged(&[ANN, "nonsense"]).unwrap_err().to_string().starts_with("t1: line 1"));
}

#[test]
fn a_recording_that_was_cut_off_is_merged_as_far_as_it_goes() {
    let cut = &BOB[..BOB.len() - 20];
    let (told, text) = merged(&[ANN, cut]).unwrap();
    assert!(told.warnings[0].starts_with("t1 has no end"), "{:?}", told.warnings);
    let reader = Reader::new(text.as_bytes()).unwrap();
    assert_eq!(reader.header().parameters["cut_off"], serde_json::json!([1]));
    let records: Vec<Record> = reader.map(Result::unwrap).collect();
    assert!(!records.iter().any(|record| matches!(record.what, What::End(_))));
}
