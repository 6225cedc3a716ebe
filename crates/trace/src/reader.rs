//! Reads a trace line by line, and says what is wrong in which line.

use std::io::{BufRead, Read};
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::LONGEST_LINE;
use crate::error::TraceError;
use crate::header::{Header, VERSION};
use crate::record::{Found, Record};
use crate::sense::Sense;

/// Reads a trace line by line: an iterator of records that ends after the first error.
///
/// Fields it does not know are passed over, and so are blank lines. Whatever the bytes are, it gives records or an
/// error; it never panics and never keeps more than one line.
#[derive(Debug)]
pub struct Reader<R, M = Value> {
    lines: Lines<R>,
    header: Header,
    sense: Sense,
    failed: bool,
    messages: PhantomData<fn() -> M>,
}

#[derive(Deserialize)]
struct Version {
    #[serde(rename = "meshlock-trace")]
    version: Option<Value>,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header of a trace; messages will be plain JSON.
    pub fn new(input: R) -> Result<Self, TraceError> {
        Self::typed(input)
    }

    /// Reads on with messages of another type, now that the header has told which protocol it is.
    pub fn with_messages<M>(self) -> Reader<R, M> {
        let Self { lines, header, sense, failed, .. } = self;
        Reader { lines, header, sense, failed, messages: PhantomData }
    }
}

impl<R: BufRead, M: DeserializeOwned> Reader<R, M> {
    /// Reads the header of a trace; messages will be read as `M`.
    pub fn typed(input: R) -> Result<Self, TraceError> {
        let mut lines = Lines { input, line: 0, bytes: Vec::new(), whole: true };
        if !lines.next()? {
            return Err(TraceError::Empty);
        }
        let line = lines.line;
        let not_a_trace = |reason: String| TraceError::NotATrace { line, reason };
        match lines.parse::<Version>() {
            Ok(Version { version: Some(Value::Number(found)) }) if found.as_u64() == Some(VERSION) => {}
            Ok(Version { version: Some(found) }) => return Err(TraceError::Version { line, found: found.to_string() }),
            Ok(Version { version: None }) => return Err(not_a_trace("the first line has no version".to_owned())),
            Err(TraceError::Json { reason, .. }) => return Err(not_a_trace(reason)),
            Err(other) => return Err(other),
        }
        let header: Header = lines.parse()?;
        let sense = Sense::header(&header, line).map_err(|flaw| TraceError::Flaw { line, flaw })?;
        Ok(Self { lines, header, sense, failed: false, messages: PhantomData })
    }

    /// What the trace says of itself.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The line that was read last.
    pub const fn line(&self) -> u64 {
        self.lines.line
    }

    /// Whether the end record was read. A trace without it was cut off or is still being written.
    pub const fn has_ended(&self) -> bool {
        self.sense.has_ended()
    }

    fn read(&mut self) -> Result<Option<Record<M>>, TraceError> {
        if !self.lines.next()? {
            return Ok(None);
        }
        let line = self.lines.line;
        let found: Found<M> = self.lines.parse()?;
        let record = Record::try_from(found).map_err(|flaw| TraceError::Flaw { line, flaw })?;
        self.sense.check(&record, line).map_err(|flaw| TraceError::Flaw { line, flaw })?;
        self.sense.take(&record);
        Ok(Some(record))
    }
}

impl<R: BufRead, M: DeserializeOwned> Iterator for Reader<R, M> {
    type Item = Result<Record<M>, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let result = self.read();
        self.failed = !matches!(result, Ok(Some(_)));
        result.transpose()
    }
}

/// The lines of a file, one at a time.
#[derive(Debug)]
struct Lines<R> {
    input: R,
    line: u64,
    bytes: Vec<u8>,
    /// Whether the present line has an end.
    whole: bool,
}

impl<R: BufRead> Lines<R> {
    /// Goes on to the next line that is not blank; `false` at the end of the file.
    fn next(&mut self) -> Result<bool, TraceError> {
        loop {
            self.bytes.clear();
            self.line += 1;
            let line = self.line;
            let most = LONGEST_LINE as u64 + 1;
            let read = (&mut self.input).take(most).read_until(b'\n', &mut self.bytes);
            if read.map_err(|source| TraceError::Io { line, source })? == 0 {
                self.line -= 1;
                return Ok(false);
            }
            self.whole = self.bytes.last() == Some(&b'\n');
            if !self.whole && self.bytes.len() > LONGEST_LINE {
                return Err(TraceError::TooLong { line });
            }
            if !self.bytes.iter().all(u8::is_ascii_whitespace) {
                return Ok(true);
            }
        }
    }

    /// The present line as a value.
    fn parse<T: DeserializeOwned>(&self) -> Result<T, TraceError> {
        let line = self.line;
        let text = match str::from_utf8(&self.bytes) {
            Ok(text) => text,
            // A character may be cut in half at the end of the file; that is another mistake than a wrong byte.
            Err(error) if error.error_len().is_none() && !self.whole => return Err(TraceError::CutOff { line }),
            Err(error) => return Err(TraceError::NotUtf8 { line, column: error.valid_up_to() + 1 }),
        };
        let text = text.trim_ascii_end();
        if !text.trim_ascii_start().starts_with('{') {
            // Otherwise an array of fields would do for an object.
            let column = text.len() - text.trim_ascii_start().len() + 1;
            return Err(TraceError::Json { line, column, reason: "expected an object, `{`".to_owned() });
        }
        serde_json::from_str(text).map_err(|error| {
            // Half a number is wrong rather than incomplete to the parser.
            let in_number = error.column() == text.len() && text.ends_with(['-', '.', 'e', 'E', '+']);
            if !self.whole && (error.is_eof() || in_number) {
                return TraceError::CutOff { line };
            }
            let said = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let reason = said.strip_suffix(&place).unwrap_or(&said).to_owned();
            TraceError::Json { line, column: error.column(), reason }
        })
    }
}
