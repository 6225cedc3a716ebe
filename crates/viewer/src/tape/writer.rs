//! Writes a tape while somebody looks at it.

use std::io;
use std::sync::Arc;

use meshlock_trace::LONGEST_LINE;

use super::Tape;

/// Writes a tape: give it whole lines, the header first. What is written can be seen at once; when it is dropped, the
/// tape is at its end.
#[derive(Debug)]
pub struct TapeWriter {
    tape: Arc<Tape>,
    partial: Vec<u8>,
    begun: bool,
}

impl Tape {
    /// A tape that somebody will write. Of more than `keep` bytes the oldest chunks are dropped.
    pub fn written(keep: usize) -> (Arc<Self>, TapeWriter) {
        let tape = Arc::new(Self::empty(keep as u64, None));
        // What is written has been read.
        tape.lock().read = 1.0;
        let writer = TapeWriter { tape: Arc::clone(&tape), partial: Vec::new(), begun: false };
        (tape, writer)
    }
}

impl TapeWriter {
    fn line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.partial);
        let text = std::str::from_utf8(&line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let taken = if self.begun { self.tape.append(text, 0) } else { self.tape.begin(text, 0) };
        self.begun = true;
        taken.map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))
    }
}

impl io::Write for TapeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, whole) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            self.partial.extend_from_slice(text);
            if self.partial.len() > LONGEST_LINE {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long for a trace"));
            }
            if whole && let Err(error) = self.line() {
                self.tape.close(Some(error.to_string()));
                return Err(error);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for TapeWriter {
    fn drop(&mut self) {
        self.tape.close(None);
    }
}
