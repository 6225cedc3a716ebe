//! Edits as JSON lines: a first line that says what they were done to, then one line for each, in order.
//! `docs/edits-format.md` describes it.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Change, Edit, Edits};
use crate::time::Time;

pub const VERSION: u64 = 1;

/// Longer lines are no edits.
const LONGEST_LINE: usize = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    #[serde(rename = "meshlock-edits")]
    pub version: u64,
    /// The scenario file, or `reference`.
    pub scenario: String,
    /// What `--set` changed in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    pub seed: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum EditsError {
    #[error("line {line}: {source}")]
    Io { line: usize, source: io::Error },
    /// It is no file of edits, or of a later version.
    #[error(
        "line 1: this is no file of edits: it must begin with {{\"meshlock-edits\":{VERSION},\"scenario\":\"...\",\"seed\":...}} ({0})"
    )]
    Header(String),
    /// A line makes no sense.
    #[error("line {line}: {words}")]
    Line {
        line: usize,
        /// What is wrong, and what would be right.
        words: String,
    },
}

pub fn read(input: impl BufRead) -> Result<(Header, Edits), EditsError> {
    let mut header = None;
    let mut edits = Edits::default();
    let mut last = Time::ZERO;
    for (line, text) in lines(input) {
        let text = text.map_err(|source| EditsError::Io { line, source })?;
        if header.is_none() {
            header = Some(read_header(&text)?);
            continue;
        }
        if text.trim().is_empty() {
            continue;
        }
        let wrong = |words: String| EditsError::Line { line, words };
        if edits.end.is_some() {
            return Err(wrong("nothing may follow the end".to_owned()));
        }
        let (at, what) = read_line(&text).map_err(wrong)?;
        if at < last {
            return Err(wrong(format!("goes back in time: {at} after {last}; edits must stand in order")));
        }
        last = at;
        match what {
            Some(change) => edits.edits.push(Edit { at, change }),
            None => edits.end = Some(at),
        }
    }
    header.map(|header| (header, edits)).ok_or_else(|| EditsError::Header("the file is empty".to_owned()))
}

pub fn write(mut output: impl Write, header: &Header, edits: &Edits) -> io::Result<()> {
    writeln!(output, "{}", serde_json::to_string(header)?)?;
    for Edit { at, change } in &edits.edits {
        // A change is an object with one field, its name.
        let change = serde_json::to_string(change)?;
        writeln!(output, "{{\"time_ns\":{},{}", at.0, change.trim_start_matches('{'))?;
    }
    if let Some(end) = edits.end {
        writeln!(output, "{}", json!({ "time_ns": end.0, "end": true }))?;
    }
    output.flush()
}

/// Numbered from one. Bytes beyond the longest line are not read into memory.
fn lines(mut input: impl BufRead) -> impl Iterator<Item = (usize, io::Result<String>)> {
    let mut number = 0;
    std::iter::from_fn(move || {
        number += 1;
        let mut bytes = Vec::new();
        let mut limited = io::Read::take(&mut input, LONGEST_LINE as u64 + 1);
        match limited.read_until(b'\n', &mut bytes) {
            Ok(0) => None,
            Ok(count) if count > LONGEST_LINE => Some((number, Err(io::Error::other("the line is too long")))),
            Ok(_) => Some((number, String::from_utf8(bytes).map_err(io::Error::other))),
            Err(error) => Some((number, Err(error))),
        }
    })
}

fn read_header(text: &str) -> Result<Header, EditsError> {
    let header: Header = serde_json::from_str(text).map_err(|error| EditsError::Header(error.to_string()))?;
    if header.version != VERSION {
        return Err(EditsError::Header(format!("version {} is not known", header.version)));
    }
    Ok(header)
}

/// `None` is the end.
fn read_line(text: &str) -> Result<(Time, Option<Change>), String> {
    let mut fields: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let time = fields.remove("time_ns").ok_or("`time_ns` is missing: when it is done, in nanoseconds")?;
    let at = Time(time.as_u64().ok_or_else(|| format!("`time_ns` must be a whole number, not {time}"))?);
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    match names.as_slice() {
        ["end"] if fields["end"] == json!(true) => Ok((at, None)),
        ["end"] => Err("`end` must be true".to_owned()),
        [_] => serde_json::from_value(Value::Object(fields))
            .map(|change| (at, Some(change)))
            .map_err(|error| error.to_string()),
        [] => Err(format!("what is done is missing: one of {ALL}")),
        several => Err(format!("says several things at once: {}; give each a line of its own", several.join(", "))),
    }
}

const ALL: &str = "move, link, add, remove, range, pace, request, release, end";

#[cfg(test)]
mod tests {
    use super::*;
    use meshlock_core::NodeId;

    fn header() -> Header {
        Header { version: VERSION, scenario: "docks.toml".to_owned(), settings: Vec::new(), seed: 7 }
    }

    fn all() -> Edits {
        let node = NodeId(3);
        let changes = [
            Change::Move { node, to: [1.5, 99.123] },
            Change::Link { between: (node, NodeId(4)), up: false },
            Change::Add { at: Some([0.1, 0.2]) },
            Change::Add { at: None },
            Change::Remove { node },
            Change::Range { metres: 120.0 },
            Change::Pace { factor: 0.5 },
            Change::Request { node, units: 2, priority: -1, session: Some(9) },
            Change::Request { node, units: 1, priority: 5, session: None },
            Change::Release { node, request: 12 },
        ];
        let edits = changes.into_iter().enumerate().map(|(index, change)| Edit { at: Time(index as u64 * 10), change });
        Edits { edits: edits.collect(), end: Some(Time(1_000)) }
    }

    fn written(edits: &Edits) -> String {
        let mut text = Vec::new();
        write(&mut text, &header(), edits).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = written(&all());
        assert!(text.starts_with("{\"meshlock-edits\":1,\"scenario\":\"docks.toml\",\"seed\":7}\n"), "{text}");
        assert!(text.contains("\n{\"time_ns\":0,\"move\":{\"node\":3,\"to\":[1.5,99.123]}}\n"), "{text}");
        let (found, edits) = read(text.as_bytes()).unwrap();
        assert_eq!((found, edits), (header(), all()));
    }

    #[test]
    fn rounded_numbers_are_the_same_after_reading_them() {
        use crate::random::{Purpose, Streams};
        let mut stream = Streams::new(5).stream(Purpose::Placement, 0);
        for _ in 0..10_000 {
            let to = [stream.between(0.0, 1e5), stream.between(0.0, 2.0)];
            let change = Change::Move { node: NodeId(0), to }.rounded();
            assert_eq!(change, change.rounded());
            let edits = Edits { edits: vec![Edit { at: Time(1), change }], end: None };
            assert_eq!(read(written(&edits).as_bytes()).unwrap().1, edits);
        }
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let first = "{\"meshlock-edits\":1,\"scenario\":\"x\",\"seed\":1}\n";
        for (text, words) in [
            ("", "the file is empty"),
            ("{\"meshlock-trace\":1}\n", "no file of edits"),
            ("{\"meshlock-edits\":2,\"scenario\":\"x\",\"seed\":1}\n", "version 2 is not known"),
            (&format!("{first}oops\n"), "line 2: "),
            (&format!("{first}\n{{\"range\":{{\"metres\":1}}}}\n"), "line 3: `time_ns` is missing"),
            (&format!("{first}{{\"time_ns\":-1,\"end\":true}}\n"), "must be a whole number, not -1"),
            (&format!("{first}{{\"time_ns\":1}}\n"), "one of move, link"),
            (&format!("{first}{{\"time_ns\":1,\"fly\":{{}}}}\n"), "unknown variant `fly`, expected one of `move`"),
            (&format!("{first}{{\"time_ns\":1,\"range\":{{\"metres\":1,\"feet\":3}}}}\n"), "unknown field `feet`"),
            (&format!("{first}{{\"time_ns\":1,\"remove\":{{\"node\":1}},\"end\":true}}\n"), "several things at once"),
            (&format!("{first}{{\"time_ns\":2,\"end\":true}}\n{{\"time_ns\":3,\"end\":true}}\n"), "follow the end"),
            (
                &format!(
                    "{first}{{\"time_ns\":2,\"remove\":{{\"node\":1}}}}\n{{\"time_ns\":1,\"remove\":{{\"node\":2}}}}\n"
                ),
                "line 3: goes back in time",
            ),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        let long = format!("{first}{}", " ".repeat(LONGEST_LINE * 2));
        assert!(read(long.as_bytes()).unwrap_err().to_string().contains("too long"));
    }
}
