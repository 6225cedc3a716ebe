//! A damaged file gives an error that names the line and what would be right, or what can still be read; no panic.

use std::io::{BufReader, Read};

use crate::support::{Message, traces, written};
use meshlock_trace::{LONGEST_LINE, Reader, TraceError};
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Clone, Debug)]
enum Damage {
    CutOff,
    Change(u8),
    Remove(usize),
    Insert(Vec<u8>),
    Repeat(usize),
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>, place: Index) {
        let at = place.index(bytes.len());
        let upto = |length: usize| (at + length).min(bytes.len());
        match self {
            Self::CutOff => bytes.truncate(at),
            Self::Change(byte) => bytes[at] ^= byte,
            Self::Remove(length) => drop(bytes.drain(at..upto(*length))),
            Self::Insert(new) => drop(bytes.splice(at..at, new.iter().copied())),
            Self::Repeat(length) => {
                let again = bytes[at..upto(*length)].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
}

fn damages() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::CutOff),
        (1..=u8::MAX).prop_map(Damage::Change),
        (1..200_usize).prop_map(Damage::Remove),
        proptest::collection::vec(any::<u8>(), 1..20).prop_map(Damage::Insert),
        (1..200_usize).prop_map(Damage::Repeat),
    ]
}

/// Reads to the end or the first error.
fn read(bytes: &[u8]) -> Result<usize, TraceError> {
    let mut count = 0;
    for record in Reader::<_, Message>::typed(bytes)? {
        record?;
        count += 1;
    }
    Ok(count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_gives_an_error_with_its_line_or_can_be_read(
        trace in traces(), damage in damages(), place in any::<Index>(),
    ) {
        let mut bytes = written(&trace).unwrap();
        let hurt = place.index(bytes.len());
        let hurt_line = 1 + bytes[..hurt].iter().filter(|byte| **byte == b'\n').count() as u64;
        damage.apply(&mut bytes, place);
        if let Err(error) = read(&bytes) {
            let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            prop_assert!(error.line() >= hurt_line && error.line() <= lines, "{error}, hurt in line {hurt_line}");
            prop_assert!(error.to_string().starts_with(&format!("line {}", error.line())), "{error}");
        }
    }

    #[test]
    fn a_file_cut_off_within_a_line_is_never_taken_for_a_whole_one(trace in traces(), place in any::<Index>()) {
        let bytes = written(&trace).unwrap();
        let at = place.index(bytes.len());
        let whole = &bytes[..at];
        // A line that only lacks its end is complete; so is a file that ends after a line.
        let complete = at > 0 && (bytes[at - 1] == b'\n' || bytes[at] == b'\n');
        match read(whole) {
            Ok(_) => prop_assert!(complete),
            Err(TraceError::CutOff { .. }) => prop_assert!(!complete),
            Err(TraceError::Empty) => prop_assert_eq!(at, 0),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn random_bytes_are_no_trace_and_no_trouble(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(read(&bytes).is_err());
    }
}

const HEADER: &str = r#"{"meshlock-trace":1,"source":"check","protocol":"group","variant":"repaired","nodes":[{"id":0,"name":"ann"},{"id":1,"name":"bob"}],"links":[[0,1]]}"#;

#[test]
fn every_mistake_is_named_with_its_line_and_what_is_right() {
    let after_header: &[(&str, &str)] = &[
        (r#"{"step":1"#, "line 2: the file ends in the middle of this line; all lines before it are whole"),
        ("{\"step\":1\n", "line 2, byte 9: EOF while parsing an object"),
        (r#" [1,2]"#, "line 2, byte 2: expected an object, `{`"),
        (r#"{"node":0}"#, "line 2: a record needs a `step` or a `time_ns`"),
        (r#"{"step":1,"time_ns":1}"#, "line 2: a record has either a `step` or a `time_ns`, not both"),
        (r#"{"step":-1}"#, "line 2, byte 10: invalid value: integer `-1`, expected u64"),
        (r#"{"step":1}"#, "line 2: a record needs one of `event`, `link`, `move`, `lost`, `join`, `end`"),
        (
            r#"{"step":1,"end":{},"link":{"between":[0,1],"up":true}}"#,
            "line 2: a record has only one of `event`, `link`, `move`, `lost`, `join`, `end`",
        ),
        (r#"{"step":1,"event":{"cancel":{"request":1}}}"#, "line 2: a record with an `event` needs a `node`"),
        (
            r#"{"step":1,"node":0,"event":{"cancle":{"request":1}}}"#,
            "line 2, byte 36: unknown variant `cancle`, expected one of `request`, `cancel`, `reprioritize`, `release`, \
             `link-up`, `link-down`, `receive`, `expired`, `resize`, `leave`, `resume`, `census`, `remake`",
        ),
        (
            r#"{"step":1,"node":9,"event":{"cancel":{"request":1}}}"#,
            "line 2: node 9 is not known; nodes stand in the header or `join` before they take part",
        ),
        (
            r#"{"step":1,"node":0,"cause":2,"event":{"cancel":{"request":1}}}"#,
            "line 2: line 2 cannot be the cause; it must be an earlier line, and not the header",
        ),
        (
            r#"{"step":1,"link":{"between":[1,1],"up":true}}"#,
            "line 2: a link from node 1 to itself; a link has two ends",
        ),
        (
            r#"{"step":1,"join":{"id":1,"name":"eve"}}"#,
            "line 2: node 1 is there already; every node stands in the header once, or joins once",
        ),
        (r#"{"step":1,"move":{"node":0,"position":[0,1e999]}}"#, "line 2, byte 46: number out of range"),
        (r#"{"step":3,"end":{"repeats_from":4}}"#, "line 2: the run cannot repeat from 4, it ends at step 3"),
        ("{\"step\":3,\"end\":{}}\n{\"step\":3,\"end\":{}}", "line 3: nothing may follow the `end`"),
        (
            "{\"step\":3,\"link\":{\"between\":[0,1],\"up\":false}}\n{\"step\":2,\"end\":{}}",
            "line 3: step 2 comes after step 3; records stand in the order in which things happened",
        ),
        (
            "{\"step\":3,\"link\":{\"between\":[0,1],\"up\":false}}\n{\"time_ns\":4,\"end\":{}}",
            "line 3: this trace counts by `step`, so `time_ns` is not allowed in it",
        ),
    ];
    for (text, expected) in after_header {
        let file = format!("{HEADER}\n{text}");
        assert_eq!(read(file.as_bytes()).map_err(|error| error.to_string()), Err((*expected).to_owned()), "{text}");
    }
}

#[test]
fn what_is_no_header_is_said_to_be_none() {
    const HINT: &str = "its first line is an object with \"meshlock-trace\":1";
    let first_lines: &[(&str, String)] = &[
        ("", "line 1: the file is empty; a trace begins with a header line".to_owned()),
        ("\n\n", "line 1: the file is empty; a trace begins with a header line".to_owned()),
        ("hello\n", format!("line 1: this is no meshlock trace: expected an object, `{{`; {HINT}")),
        ("{}\n", format!("line 1: this is no meshlock trace: the first line has no version; {HINT}")),
        ("\n{\"a\":1}\n", format!("line 2: this is no meshlock trace: the first line has no version; {HINT}")),
        ("{\"meshlock-trace\":2}", "line 1: trace format version 2 is not known here; version 1 is".to_owned()),
        ("{\"meshlock-trace\":\"x\"}", "line 1: trace format version \"x\" is not known here; version 1 is".to_owned()),
        ("{\"meshlock-trace\":1}", "line 1, byte 20: missing field `source`".to_owned()),
        (
            "{\"meshlock-tr",
            "line 1: the file ends in the middle of this line; all lines before it are whole".to_owned(),
        ),
    ];
    for (text, expected) in first_lines {
        assert_eq!(read(text.as_bytes()).map_err(|error| error.to_string()), Err(expected.clone()), "{text}");
    }
}

#[test]
fn a_header_must_make_sense_too() {
    let twice = HEADER.replace(r#""id":1"#, r#""id":0"#);
    let expected = "line 1: node 0 is there already; every node stands in the header once, or joins once";
    assert_eq!(read(twice.as_bytes()).unwrap_err().to_string(), expected);
    let stranger = HEADER.replace("[0,1]", "[0,2]");
    let expected = "line 1: node 2 is not known; nodes stand in the header or `join` before they take part";
    assert_eq!(read(stranger.as_bytes()).unwrap_err().to_string(), expected);
}

#[test]
fn bytes_that_are_no_text_are_found_also_in_skipped_fields() {
    let mut file = format!("{HEADER}\n{{\"step\":1,\"ignored\":\"").into_bytes();
    file.extend(b"\xff\",\"end\":{}}\n");
    assert_eq!(read(&file).unwrap_err().to_string(), "line 2, byte 22: not UTF-8; a trace is UTF-8 text");
}

#[test]
fn a_line_without_end_is_not_read_into_memory() {
    let endless = HEADER.as_bytes().chain(&b"\n"[..]).chain(std::io::repeat(b' '));
    let mut reader = Reader::new(BufReader::new(endless)).unwrap();
    let error = reader.next().unwrap().unwrap_err();
    assert!(matches!(error, TraceError::TooLong { line: 2 }));
    assert_eq!(error.to_string(), format!("line 2: longer than {LONGEST_LINE} bytes, the most a line may have"));
    assert!(reader.next().is_none());
}

#[test]
fn deep_nesting_is_an_error_and_no_stack_overflow() {
    let deep = "[".repeat(100_000);
    let file = format!("{HEADER}\n{{\"step\":1,\"node\":0,\"event\":{{\"receive\":{{\"from\":1,\"message\":{deep}");
    let error = Reader::new(file.as_bytes()).unwrap().next().unwrap().unwrap_err();
    assert!(error.to_string().ends_with("recursion limit exceeded"), "{error}");
}
