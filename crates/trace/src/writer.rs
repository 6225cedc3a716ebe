//! Writes a trace line by line.

use std::io::{self, Write};

use serde::Serialize;

use crate::LONGEST_LINE;
use crate::error::TraceError;
use crate::header::{Header, VERSION};
use crate::record::Record;
use crate::sense::Sense;

/// Writes a trace line by line. Give it a buffered output; a line goes out in one piece.
///
/// What would make no sense to a reader is refused and not written; the trace can be written on.
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: W,
    /// The lines written so far.
    lines: u64,
    sense: Sense,
}

#[derive(Serialize)]
struct FirstLine<'a> {
    #[serde(rename = "meshlock-trace")]
    version: u64,
    #[serde(flatten)]
    header: &'a Header,
}

impl<W: Write> Writer<W> {
    /// Begins a trace with its header.
    pub fn new(mut output: W, header: &Header) -> Result<Self, TraceError> {
        let sense = Sense::header(header, 1).map_err(|flaw| TraceError::Flaw { line: 1, flaw })?;
        write_line(&mut output, 1, &FirstLine { version: VERSION, header })?;
        Ok(Self { output, lines: 1, sense })
    }

    /// Writes one record and returns its line, by which later records may name it as their cause.
    pub fn write<M: Serialize>(&mut self, record: &Record<M>) -> Result<u64, TraceError> {
        let line = self.lines + 1;
        self.sense.check(record, line).map_err(|flaw| TraceError::Flaw { line, flaw })?;
        write_line(&mut self.output, line, record)?;
        self.sense.take(record);
        self.lines = line;
        Ok(line)
    }

    /// Hands on what the output may still keep to itself.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.output.flush().map_err(|source| TraceError::Io { line: self.lines, source })
    }

    /// Flushes and gives the output back. A trace that came to its end has an end record; this adds none.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.flush()?;
        Ok(self.output)
    }
}

fn write_line(output: &mut impl Write, line: u64, value: &impl Serialize) -> Result<(), TraceError> {
    let failed = |source: io::Error| TraceError::Io { line, source };
    let mut bytes = serde_json::to_vec(value).map_err(|error| failed(error.into()))?;
    if bytes.len() > LONGEST_LINE {
        return Err(TraceError::TooLong { line });
    }
    bytes.push(b'\n');
    output.write_all(&bytes).map_err(failed)
}
