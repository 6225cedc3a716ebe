use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::tape::Query;

fn header() -> String {
    let header = json!({"meshlock-trace": 1, "source": "sim", "protocol": "flood", "variant": "repaired",
                        "parameters": {"capacity": 3}, "nodes": [{"id": 0, "name": "n0"}, {"id": 1, "name": "n1"}],
                        "links": [[0, 1]]});
    format!("{header}\n")
}

/// A request, its grant 5 later and its release 8 later, again and again: three lines for each.
fn rounds(count: u64) -> String {
    let mut text = String::new();
    for round in 0..count {
        let at = round * 10;
        let event = |at: u64, event: Value, effects: Value| {
            format!("{}\n", json!({"time_ns": at, "node": round % 2, "event": event, "effects": effects}))
        };
        let demand = json!({"units": 1, "urgency": {"priority": 0}, "session": null});
        let grant = json!({"request": round, "units": 1, "session": null, "fence": round});
        text += &event(
            at,
            json!({"request": {"request": round, "demand": demand}}),
            json!([{"broadcast": {"message": "m"}}]),
        );
        text += &event(at + 5, json!({"expired": {"timer": round}}), json!([{"granted": {"grant": grant}}]));
        text += &event(at + 8, json!({"release": {"request": round, "units": 1}}), json!([]));
    }
    text
}

fn written(keep: usize, text: &str) -> Arc<Tape> {
    let (tape, mut writer) = Tape::written(keep);
    writer.write_all(text.as_bytes()).unwrap();
    tape
}

fn file(text: &str) -> (tempfile::NamedTempFile, Arc<Tape>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let tape = Tape::open(file.path()).unwrap();
    (file, tape)
}

/// Waits for something that another thread does.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} does not come");
        std::thread::yield_now();
    }
}

fn chunk(tape: &Tape, number: u64) -> Value {
    serde_json::from_str(&tape.chunk(number, None).unwrap().unwrap()).unwrap()
}

#[test]
fn chunks_of_a_file_and_of_memory_are_the_same_and_complete() {
    let text = header() + &rounds(4_000);
    let memory = written(usize::MAX, &text);
    let (_file, on_disk) = file(&text);
    until("the index", || on_disk.lines() == 12_001);
    let chunks = memory.extent().chunks;
    assert!(chunks > 2, "{chunks}");
    let mut lines = text.lines().skip(1);
    for number in 0..chunks {
        let one = chunk(&memory, number);
        assert_eq!(one, chunk(&on_disk, number));
        for record in one["records"].as_array().unwrap() {
            assert_eq!(record.to_string(), serde_json::from_str::<Value>(lines.next().unwrap()).unwrap().to_string());
        }
    }
    assert_eq!(lines.next(), None);
    assert!(memory.chunk(chunks, None).unwrap().is_none());
}

#[test]
fn only_what_is_new_can_be_had() {
    let tape = written(usize::MAX, &(header() + &rounds(2)));
    let new: Value = serde_json::from_str(&tape.chunk(0, Some(5)).unwrap().unwrap()).unwrap();
    assert_eq!(new["scene"], Value::Null);
    assert_eq!(new["line"], 6);
    assert_eq!(new["records"].as_array().unwrap().len(), 2);
    let all: Value = serde_json::from_str(&tape.chunk(0, Some(99)).unwrap().unwrap()).unwrap();
    assert_eq!(all["records"], json!([]));
}

#[test]
fn a_long_live_tape_drops_its_oldest_chunks() {
    let tape = written(4_000_000, &(header() + &rounds(20_000)));
    let summary = tape.summary(true);
    assert_eq!(summary.lines, 60_001);
    assert!(summary.chunks[0].chunk > 0 && summary.chunks.len() > 1);
    assert!(tape.chunk(0, None).unwrap().is_none());
    let last = summary.chunks.last().unwrap();
    assert_eq!(last.line + last.records, 60_002);
    let kept: u64 = tape.lock().chunks.iter().map(|chunk| chunk.body.length()).sum();
    assert!(kept <= 4_000_000, "{kept}");
}

#[test]
fn marks_are_found_in_both_directions_across_chunks() {
    let tape = written(usize::MAX, &(header() + &rounds(4_000)));
    // Grants stand in lines 3, 6, 9, ...
    assert_eq!(tape.next(Mark::Grant, 1, false), Some((3, 5)));
    assert_eq!(tape.next(Mark::Grant, 3, false), Some((6, 15)));
    assert_eq!(tape.next(Mark::Grant, 6, true), Some((3, 5)));
    assert_eq!(tape.next(Mark::Grant, 3, true), None);
    assert_eq!(tape.next(Mark::Grant, 11_990, false), Some((11_991, 39_965)));
    assert_eq!(tape.next(Mark::Violation, 1, false), None);
}

#[test]
fn figures_add_up() {
    let tape = written(usize::MAX, &(header() + &rounds(4_000)));
    let figures = serde_json::to_value(tape.figures(10)).unwrap();
    let sum = |name: &str| figures[name].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("grants"), sum("messages")), (4_000, 4_000));
    assert_eq!(figures["waiting"][3], 5.0);
    assert_eq!(figures["longest"][3], 5);
    assert_eq!(figures["in_use"][9], 0);
    assert_eq!(figures["capacity"], 3);
    // Half-way through a round one holds.
    let (tape, mut writer) = Tape::written(usize::MAX);
    let text = header() + &rounds(1);
    let half: String = text.split_inclusive('\n').take(3).collect();
    writer.write_all(half.as_bytes()).unwrap();
    let figures = serde_json::to_value(tape.figures(3)).unwrap();
    assert_eq!(figures["in_use"], json!([0, 0, 1]));
    assert_eq!(figures["queued"], json!([1, 1, 0]));
}

#[test]
fn records_are_found_by_text_node_and_kind() {
    let tape = written(usize::MAX, &(header() + &rounds(4_000)));
    let find = |query: Value| {
        serde_json::to_value(tape.find(&serde_json::from_value::<Query>(query).unwrap()).unwrap()).unwrap()
    };
    let lines = |found: &Value| -> Vec<u64> {
        found["found"].as_array().unwrap().iter().map(|found| found["line"].as_u64().unwrap()).collect()
    };
    assert_eq!(lines(&find(json!({"line": 0, "count": 3}))), [2, 3, 4]);
    assert_eq!(lines(&find(json!({"line": 5, "count": 3, "back": true}))), [4, 3, 2]);
    assert_eq!(lines(&find(json!({"line": 0, "count": 2, "node": 1, "kind": "grant"}))), [6, 12]);
    // A search that takes long rests on the way, and says where to go on.
    let mut late = find(json!({"line": 0, "count": 5, "text": "\"FENCE\":3999"}));
    while lines(&late).is_empty() && !late["more"].is_null() {
        late = find(json!({"line": late["more"], "count": 5, "text": "\"FENCE\":3999"}));
    }
    assert_eq!(lines(&late), [12_000]);
    assert_eq!(lines(&find(json!({"line": 12_001, "count": 5}))), Vec::<u64>::new());
}

#[test]
fn a_file_that_grows_is_followed_to_its_end() {
    let text = header() + &rounds(2);
    let (file, tape) = file(&text[..text.len() - 10]);
    until("all whole lines", || tape.lines() == 6);
    assert!(tape.grows());
    let mut open = std::fs::OpenOptions::new().append(true).open(file.path()).unwrap();
    open.write_all(&text.as_bytes()[text.len() - 10..]).unwrap();
    // The last line has no line end.
    open.write_all(br#"{"time_ns":99,"end":{"violation":{"rule":"exclusion","what":"two"}}}"#).unwrap();
    until("the end", || !tape.grows());
    assert_eq!(tape.lines(), 8);
    assert_eq!(tape.problem(), None);
    assert_eq!(tape.next(Mark::Violation, 1, false), Some((8, 99)));
    assert_eq!(chunk(&tape, 0)["records"].as_array().unwrap().len(), 7);
}

#[test]
fn what_is_wrong_is_told_and_what_stands_before_it_is_shown() {
    let damaged = [
        ("{\"time_ns\":1,", "EOF"),
        ("{\"node\":1}", "neither"),
        ("{\"step\":1,\"end\":{}}", "another way"),
        ("{\"time_ns\":0,\"end\":{}}", "backwards"),
    ];
    for (line, words) in damaged {
        let text = header() + &rounds(1) + line + "\n";
        let (_file, tape) = file(&text);
        until("the end", || !tape.grows());
        let problem = tape.problem().unwrap();
        assert!(problem.starts_with("line 5: ") && problem.contains(words), "{problem}");
        assert_eq!(tape.lines(), 4);
    }
    let refused = |text: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Tape::open(file.path()).unwrap_err().to_string()
    };
    assert!(refused("").contains("empty"));
    assert!(refused("hello\n").contains("no trace"));
    assert!(refused("{\"a\":1}\n").contains("no trace"));
    assert!(refused("{\"meshlock-trace\":2}\n").contains("version 2"));
    assert!(refused("{\"meshlock-trace\":1}\n").contains("first line"));
}

#[test]
fn a_chunk_has_no_more_than_a_page_can_hold() {
    let sends = |at: u64, to: &[u64], message: &str| {
        let effects = json!([{"multicast": {"to": to, "message": message}}]);
        format!("{}\n", json!({"time_ns": at, "node": 0, "event": "leave", "effects": effects}))
    };
    let limits = |text: String| {
        let tape = written(usize::MAX, &(header() + &text));
        let records = |number| chunk(&tape, number)["records"].as_array().unwrap().len();
        (0..tape.extent().chunks).map(records).collect::<Vec<_>>()
    };
    // In a dense mesh one record sends many messages.
    let many: Vec<u64> = (0..500).collect();
    assert_eq!(limits((0..120).map(|at| sends(at, &many, "m")).collect()), [50, 50, 20]);
    // A scene may be large because of what is under way; chunks are not, for all that.
    let long = "m".repeat(2_000);
    let heavy = limits((0..4_000).map(|at| sends(at, &[1], &long)).collect());
    assert!(heavy.iter().all(|records| *records <= 1_100), "{heavy:?}");
}
