//! A trace in chunks, from a file or a live writer.
//!
//! Each chunk begins with everything as it was then, so that any moment can be shown after reading one chunk. The lines
//! of a file stay in the file; those of a live tape are kept in memory, and of a long one the oldest are dropped.

mod file;
mod search;
mod writer;

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use meshlock_trace::Header;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::line::{Clock, Line, read_header};
use crate::marks::{Figures, Mark, Marks, figures};
use crate::scene::Scene;

pub use file::OpenError;
pub(crate) use search::Query;
pub use writer::TapeWriter;

/// A chunk has at least so many bytes, unless it has [`MOST_RECORDS`] or [`MOST_MESSAGES`].
const LEAST_BYTES: u64 = 256 * 1024;
/// What is said at the beginning of chunks should be small beside what is in them.
const TIMES_SCENE: u64 = 4;
/// But no chunk is much larger than this: the page has several of them in memory.
const MOST_BYTES: u64 = 2 * 1024 * 1024;
/// The page handles so many at a time with ease: records, and messages that they send. In a dense mesh one record sends
/// hundreds.
const MOST_RECORDS: u64 = 5_000;
const MOST_MESSAGES: u64 = 25_000;

/// Spans of the figures in a page without a server; as many as the page asks for (`BUCKETS` in `viewer.js`).
const BUCKETS: usize = 240;

/// A trace in chunks, each with everything as it was at its beginning.
#[derive(Debug)]
pub struct Tape {
    inner: Mutex<Inner>,
    /// The lines, where they are not kept in memory.
    file: Option<File>,
}

#[derive(Debug, Default)]
struct Inner {
    header: Option<Box<RawValue>>,
    capacity: Option<u64>,
    clock: Clock,
    chunks: VecDeque<Stretch>,
    dropped: u64,
    /// Bytes in memory, and the most of them.
    kept: u64,
    keep: u64,
    /// After the last line.
    scene: Scene,
    waiting: u32,
    in_use: i64,
    lines: u64,
    bytes: u64,
    views: bool,
    grows: bool,
    read: f64,
    problem: Option<String>,
    /// When the last line of a live tape came.
    written: Option<Instant>,
}

#[derive(Debug)]
struct Stretch {
    line: u64,
    records: u64,
    /// Sent in it; each receiver counts.
    messages: u64,
    from: u64,
    to: u64,
    /// Before its first record.
    scene: Arc<str>,
    body: Body,
    marks: Marks,
}

#[derive(Debug)]
enum Body {
    Memory(Vec<u8>),
    File { offset: u64, length: u64 },
}

#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    header: Option<Box<RawValue>>,
    clock: Clock,
    chunks: Vec<ChunkInfo>,
    lines: u64,
    last: u64,
    /// A live tape: milliseconds since its last line.
    idle: u64,
    grows: bool,
    read: f64,
    problem: Option<String>,
    views: bool,
    end: Option<Box<RawValue>>,
}

#[derive(Debug, Serialize)]
struct ChunkInfo {
    chunk: u64,
    line: u64,
    records: u64,
    from: u64,
    to: u64,
}

/// How far a tape goes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Extent {
    pub(crate) lines: u64,
    pub(crate) last: u64,
    pub(crate) chunks: u64,
    pub(crate) grows: bool,
    pub(crate) read: f64,
}

impl Tape {
    fn empty(keep: u64, file: Option<File>) -> Self {
        let inner = Inner { keep, grows: true, ..Inner::default() };
        Self { inner: Mutex::new(inner), file }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic would be a bug; what was indexed is still the best there is.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its header does not change and may be large: those who know it can do without.
    pub(crate) fn summary(&self, with_header: bool) -> Summary {
        let inner = self.lock();
        let info = |(number, chunk): (u64, &Stretch)| ChunkInfo {
            chunk: number,
            line: chunk.line,
            records: chunk.records,
            from: chunk.from,
            to: chunk.to,
        };
        Summary {
            header: inner.header.clone().filter(|_| with_header),
            clock: inner.clock,
            chunks: (inner.dropped..).zip(&inner.chunks).map(info).collect(),
            lines: inner.lines,
            last: inner.scene.at,
            idle: inner.written.map_or(0, |when| when.elapsed().as_millis() as u64),
            grows: inner.grows,
            read: inner.read,
            problem: inner.problem.clone(),
            views: inner.views,
            end: inner.scene.end.clone(),
        }
    }

    pub(crate) fn extent(&self) -> Extent {
        let inner = self.lock();
        Extent {
            lines: inner.lines,
            last: inner.scene.at,
            chunks: inner.dropped + inner.chunks.len() as u64,
            grows: inner.grows,
            read: inner.read,
        }
    }

    /// The moment of its last line.
    pub(crate) fn last(&self) -> u64 {
        self.lock().scene.at
    }

    /// How many lines there are so far, with the first.
    pub fn lines(&self) -> u64 {
        self.lock().lines
    }

    /// Why reading ended before the end, if it did.
    pub fn problem(&self) -> Option<String> {
        self.lock().problem.clone()
    }

    /// Whether more lines may come.
    pub fn grows(&self) -> bool {
        self.lock().grows
    }

    /// Whether a client has asked for something.
    pub fn has_requests(&self) -> bool {
        self.next(Mark::Request, 0, false).is_some()
    }

    /// Whether everything that is in its file has been read.
    pub fn is_read(&self) -> bool {
        self.lock().read >= 1.0
    }

    /// All of it as JSON, for a page without a server. What a file gets later is not in it.
    pub(crate) fn whole(&self) -> io::Result<String> {
        let summary = Summary { grows: false, idle: 0, ..self.summary(true) };
        let chunk = |info: &ChunkInfo| Ok(self.chunk(info.chunk, None)?.unwrap_or_else(|| "null".into()));
        let chunks = summary.chunks.iter().map(chunk).collect::<io::Result<Vec<_>>>()?;
        let (summary, figures) = (serde_json::to_string(&summary)?, serde_json::to_string(&self.figures(BUCKETS))?);
        Ok(format!("{{\"summary\":{summary},\"figures\":{figures},\"chunks\":[{}]}}", chunks.join(",")))
    }

    /// A chunk as JSON, or only its records after a line.
    pub(crate) fn chunk(&self, number: u64, after: Option<u64>) -> io::Result<Option<String>> {
        let (line, scene, lines) = {
            let inner = self.lock();
            let Some(chunk) = number.checked_sub(inner.dropped).and_then(|place| inner.chunks.get(place as usize))
            else {
                return Ok(None);
            };
            (chunk.line, Arc::clone(&chunk.scene), Bytes::of(chunk))
        };
        let lines = lines.load(self.file.as_ref())?;
        let first = after.map_or(line, |after| after.saturating_add(1).max(line));
        let mut text = String::with_capacity(lines.len() + scene.len() + 100);
        text.push_str(&format!("{{\"chunk\":{number},\"line\":{first},\"scene\":"));
        text.push_str(if after.is_some() { "null" } else { &scene });
        text.push_str(",\"records\":[");
        let skip = (first - line) as usize;
        for (place, record) in lines.lines().skip(skip).enumerate() {
            if place > 0 {
                text.push(',');
            }
            text.push_str(if record.trim().is_empty() { "null" } else { record });
        }
        text.push_str("]}");
        Ok(Some(text))
    }

    /// The nearest line of a kind after a line, or before it.
    pub(crate) fn next(&self, mark: Mark, line: u64, back: bool) -> Option<(u64, u64)> {
        let inner = self.lock();
        let in_chunk = |chunk: &Stretch| chunk.marks.next(mark, line, back);
        if back { inner.chunks.iter().rev().find_map(in_chunk) } else { inner.chunks.iter().find_map(in_chunk) }
    }

    pub(crate) fn figures(&self, spans: usize) -> Figures {
        let inner = self.lock();
        figures(inner.chunks.iter().map(|chunk| &chunk.marks), inner.scene.at, spans, inner.capacity)
    }

    /// Takes the first line.
    fn begin(&self, text: &str, bytes: u64) -> Result<(), String> {
        let (header, first) = read_header(text)?;
        let mut inner = self.lock();
        inner.scene = Scene::first(&first);
        inner.capacity = capacity(&header);
        inner.views = first.nodes.iter().any(|node| node.view.is_some());
        inner.header = Some(RawValue::from_string(text.to_owned()).map_err(|error| error.to_string())?);
        (inner.lines, inner.bytes) = (1, bytes);
        Ok(())
    }

    /// Takes another line, of which `bytes` stand in the file. An error says what is wrong with it; nothing may follow.
    fn append(&self, text: &str, bytes: u64) -> Result<(), String> {
        let in_memory = self.file.is_none();
        let mut inner = self.lock();
        inner.written = in_memory.then(Instant::now);
        inner.append(text, bytes, in_memory)
    }

    /// Nothing more will come.
    fn close(&self, problem: Option<String>) {
        let mut inner = self.lock();
        inner.grows = false;
        inner.read = 1.0;
        inner.problem = inner.problem.take().or(problem);
    }
}

/// The units of the resource, if the header says so.
fn capacity(header: &Header) -> Option<u64> {
    ["capacity", "k"].iter().find_map(|name| header.parameters.get(*name)?.as_u64())
}

impl Inner {
    fn append(&mut self, text: &str, bytes: u64, in_memory: bool) -> Result<(), String> {
        let number = self.lines + 1;
        let wrong = |what: String| format!("line {number}: {what}");
        if text.trim().is_empty() {
            let at = self.scene.at;
            self.store(text, bytes, at, in_memory);
            return Ok(());
        }
        let line = Line::read(text).map_err(wrong)?;
        let (clock, at) = line.moment().map_err(wrong)?;
        if self.scene.end.is_some() {
            return Err(wrong("something follows the end".into()));
        }
        if self.scene.line > 1 && clock != self.clock {
            return Err(wrong("it counts in another way than the lines before".into()));
        }
        if at < self.scene.at {
            return Err(wrong("time goes backwards".into()));
        }
        self.clock = clock;
        self.views |= line.view.is_some();
        self.store(text, bytes, at, in_memory);
        let changed = self.scene.apply(number, at, &line);
        self.waiting = (self.waiting + changed.requests).saturating_sub(changed.grants);
        if changed.requests + changed.grants + changed.releases == 0 {
            // Cancelled requests are rare: then everything is counted anew.
            if matches!(line.event, Some(meshlock_core::Event::Cancel { .. })) {
                self.waiting = self.scene.load().0;
            }
        }
        self.in_use += changed.units;
        let load = (self.waiting, self.in_use);
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.messages += u64::from(changed.messages);
            chunk.marks.take(number, at, &line, changed, || load);
        }
        Ok(())
    }

    /// Puts a line into the last chunk, or into a new one.
    fn store(&mut self, text: &str, bytes: u64, at: u64, in_memory: bool) {
        let is_full = |chunk: &Stretch| {
            let least = LEAST_BYTES.max(chunk.scene.len() as u64 * TIMES_SCENE).min(MOST_BYTES);
            chunk.body.length() >= least || chunk.records >= MOST_RECORDS || chunk.messages >= MOST_MESSAGES
        };
        if self.chunks.back().is_none_or(is_full) {
            self.begin_chunk(at, in_memory);
        }
        self.lines += 1;
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.records += 1;
            chunk.to = at;
            match &mut chunk.body {
                Body::File { length, .. } => *length += bytes,
                Body::Memory(lines) => {
                    lines.extend_from_slice(text.as_bytes());
                    lines.push(b'\n');
                    self.kept += text.len() as u64 + 1;
                }
            }
        }
        self.bytes += bytes;
        while self.kept > self.keep && self.chunks.len() > 1 {
            let gone = self.chunks.pop_front();
            self.kept -= gone.map_or(0, |chunk| chunk.body.length() + chunk.scene.len() as u64);
            self.dropped += 1;
        }
    }

    fn begin_chunk(&mut self, at: u64, in_memory: bool) {
        let scene: Arc<str> = serde_json::to_string(&self.scene).unwrap_or_else(|_| "null".into()).into();
        let body = if in_memory {
            self.kept += scene.len() as u64;
            Body::Memory(Vec::new())
        } else {
            Body::File { offset: self.bytes, length: 0 }
        };
        let marks = Marks::default();
        let line = self.lines + 1;
        self.chunks.push_back(Stretch { line, records: 0, messages: 0, from: at, to: at, scene, body, marks });
    }
}

impl Body {
    fn length(&self) -> u64 {
        match self {
            Self::Memory(lines) => lines.len() as u64,
            Self::File { length, .. } => *length,
        }
    }
}

/// The lines of a chunk, copied or still to be read, so that no disk is read with the lock held.
enum Bytes {
    Here(Vec<u8>),
    There { offset: u64, length: u64 },
}

impl Bytes {
    fn of(chunk: &Stretch) -> Self {
        match &chunk.body {
            Body::Memory(lines) => Self::Here(lines.clone()),
            Body::File { offset, length } => Self::There { offset: *offset, length: *length },
        }
    }

    fn load(self, file: Option<&File>) -> io::Result<String> {
        let bytes = match (self, file) {
            (Self::Here(bytes), _) => bytes,
            (Self::There { offset, length }, Some(file)) => {
                let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
                file.read_exact_at(&mut bytes, offset)?;
                bytes
            }
            (Self::There { .. }, None) => Vec::new(),
        };
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

#[cfg(test)]
mod tests;
