//! Finds records by what they say, for the list of events.

use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Bytes, Tape};
use crate::line::Line;

/// After this long the search rests, and says where to go on.
const PATIENCE: Duration = Duration::from_millis(300);
/// The most records of one answer.
const MOST: usize = 1_000;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Query {
    /// After this line, or before it.
    line: u64,
    count: usize,
    back: bool,
    text: Option<String>,
    node: Option<u32>,
    kind: Option<String>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Found {
    found: Vec<FoundRecord>,
    more: Option<u64>,
}

#[derive(Debug, Serialize)]
struct FoundRecord {
    line: u64,
    record: Box<RawValue>,
}

impl Tape {
    /// Searches forwards or backwards from a line. A search that takes long is given up with what was found.
    pub(crate) fn find(&self, query: &Query) -> io::Result<Found> {
        let began = Instant::now();
        let wanted = Wanted::of(query);
        let most = query.count.clamp(1, MOST);
        let mut found = Found::default();
        let mut line = query.line;
        while let Some((first, lines)) = self.stretch(line, query.back) {
            let lines = lines.load(self.file.as_ref())?;
            let numbered = || (first..).zip(lines.lines());
            let mut inside: Vec<(u64, &str)> = if query.back {
                numbered().filter(|(number, _)| *number < line).collect()
            } else {
                numbered().filter(|(number, _)| *number > line).collect()
            };
            if query.back {
                inside.reverse();
            }
            for (number, text) in inside {
                line = number;
                if wanted.is(text)
                    && let Ok(record) = RawValue::from_string(text.to_owned())
                {
                    found.found.push(FoundRecord { line: number, record });
                    if found.found.len() >= most {
                        found.more = Some(number);
                        return Ok(found);
                    }
                }
            }
            if began.elapsed() > PATIENCE {
                found.more = Some(line);
                return Ok(found);
            }
        }
        Ok(found)
    }

    /// The chunk with the next line after a line, or before it; and its first line.
    fn stretch(&self, line: u64, back: bool) -> Option<(u64, Bytes)> {
        let inner = self.lock();
        let chunk = if back {
            inner.chunks.iter().rev().find(|chunk| chunk.line < line)
        } else {
            inner.chunks.iter().find(|chunk| chunk.line + chunk.records > line + 1)
        };
        chunk.map(|chunk| (chunk.line, Bytes::of(chunk)))
    }
}

/// A query that is ready to be compared.
struct Wanted {
    words: Option<String>,
    node: Option<u32>,
    kind: Option<String>,
}

impl Wanted {
    fn of(query: &Query) -> Self {
        let words = query.text.as_deref().map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty());
        Self { words, node: query.node, kind: query.kind.clone().filter(|kind| !kind.is_empty()) }
    }

    fn is(&self, text: &str) -> bool {
        if text.trim().is_empty() {
            return false;
        }
        if let Some(words) = &self.words
            && !text.to_lowercase().contains(words.as_str())
        {
            return false;
        }
        if self.node.is_none() && self.kind.is_none() {
            return true;
        }
        let Ok(line) = Line::read(text) else { return false };
        self.node.is_none_or(|node| concerns(&line, node)) && self.kind.as_deref().is_none_or(|kind| is_of(&line, kind))
    }
}

fn concerns(line: &Line<'_>, node: u32) -> bool {
    let ends = line.link.as_ref().is_some_and(|link| link.between.0.0 == node || link.between.1.0 == node);
    let lost = line.lost.as_ref().is_some_and(|lost| lost.from == node || lost.to == node);
    let moves = line.movement.as_ref().is_some_and(|movement| movement.node.0 == node);
    let joins = line.join.as_ref().is_some_and(|join| join.id == node);
    line.node == Some(node) || ends || lost || moves || joins
}

fn is_of(line: &Line<'_>, kind: &str) -> bool {
    use meshlock_core::{Effect, Event};
    let sends = |effect: &Effect<_>| {
        matches!(effect, Effect::Send { .. } | Effect::Multicast { .. } | Effect::Broadcast { .. })
    };
    match kind {
        "event" => line.event.is_some(),
        "message" => {
            matches!(line.event, Some(Event::Receive { .. })) || line.effects.iter().any(sends) || line.lost.is_some()
        }
        "grant" => line.effects.iter().any(|effect| matches!(effect, Effect::Granted { .. })),
        "request" => matches!(line.event, Some(Event::Request { .. })),
        "release" => matches!(line.event, Some(Event::Release { .. } | Event::Cancel { .. })),
        "link" => line.link.is_some(),
        "lost" => line.lost.is_some(),
        "end" | "violation" => line.end.is_some(),
        _ => false,
    }
}
