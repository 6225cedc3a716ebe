//! A tape that is a file: indexed while one can already look, and followed while it is still being written.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use meshlock_trace::LONGEST_LINE;

use super::Tape;
use crate::line::Line;

/// How often a file without an end is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// Why a file cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot read it")]
    Io(#[from] io::Error),
    #[error("{0}")]
    NoTrace(String),
    #[error("it is empty; a trace begins with a header, so perhaps it is still to be written")]
    Empty,
}

impl Tape {
    /// Opens a trace file. Its index is made in the background; a file that has no end yet is followed while it grows.
    pub fn open(path: &Path) -> Result<Arc<Self>, OpenError> {
        if path.is_dir() {
            return Err(OpenError::NoTrace("it is a folder; name a file in it".into()));
        }
        let mut lines = Lines { input: BufReader::with_capacity(1 << 18, File::open(path)?), text: Vec::new() };
        let tape = Arc::new(Self::empty(u64::MAX, Some(File::open(path)?)));
        let first = lines.next()?.ok_or(OpenError::Empty)?;
        tape.begin(lines.text()?, first).map_err(OpenError::NoTrace)?;
        let weak = Arc::downgrade(&tape);
        thread::Builder::new().name("index".into()).spawn(move || index(&weak, lines))?;
        Ok(tape)
    }
}

/// Reads to the end of the file, and on while it grows, as long as a page is open.
fn index(tape: &Weak<Tape>, mut lines: Lines) {
    loop {
        let Some(tape) = tape.upgrade() else { return };
        let size = lines.input.get_ref().metadata().map_or(0, |found| found.len()).max(1);
        match lines.next().map_err(|error| error.to_string()).and_then(|found| match found {
            None => Ok(false),
            Some(bytes) => tape.append(lines.text().map_err(|error| error.to_string())?, bytes).map(|()| true),
        }) {
            Err(problem) => return tape.close(Some(problem)),
            Ok(true) => {
                let mut inner = tape.lock();
                inner.read = (inner.bytes as f64 / size as f64).min(1.0);
            }
            Ok(false) => {
                lines.take_end(&tape);
                let mut inner = tape.lock();
                inner.read = 1.0;
                if inner.scene.end.is_some() {
                    inner.grows = false;
                    return;
                }
                drop(inner);
                drop(tape);
                thread::sleep(LOOK_AGAIN);
            }
        }
    }
}

/// The whole lines of a file; one that has no end yet is not given before it has.
struct Lines {
    input: BufReader<File>,
    text: Vec<u8>,
}

impl Lines {
    /// Reads the next whole line; its length in the file. Nothing if there is none yet.
    fn next(&mut self) -> io::Result<Option<u64>> {
        if self.text.last() == Some(&b'\n') {
            self.text.clear();
        }
        let room = (LONGEST_LINE + 1).saturating_sub(self.text.len()) as u64;
        self.input.by_ref().take(room).read_until(b'\n', &mut self.text)?;
        if self.text.last() == Some(&b'\n') {
            return Ok(Some(self.text.len() as u64));
        }
        if self.text.len() > LONGEST_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long for a trace"));
        }
        Ok(None)
    }

    /// The last line of a file may lack its end; if it is the end of the trace, nothing is missing.
    fn take_end(&mut self, tape: &Tape) {
        let is_end = |text: &str| Line::read(text).is_ok_and(|line| line.end.is_some());
        if self.text().is_ok_and(is_end) {
            // A flaw in it would be told as a trace without an end.
            let _ = self.text().map(|text| tape.append(text, text.len() as u64));
            self.text.clear();
        }
    }

    fn text(&self) -> io::Result<&str> {
        let line = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        std::str::from_utf8(line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}
