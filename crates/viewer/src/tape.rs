//! A trace in chunks, from a file or from somebody who writes it now.

use std::io;
use std::sync::Arc;

/// A trace in chunks, each with everything as it was at its beginning.
#[derive(Debug)]
pub struct Tape {}

/// Writes a tape: give it whole lines, the header first. What is written can be seen at once.
#[derive(Debug)]
pub struct TapeWriter {}

impl Tape {
    /// A tape that somebody will write. Of more than `keep` bytes the oldest chunks are dropped.
    pub fn written(keep: usize) -> (Arc<Self>, TapeWriter) {
        let _ = keep;
        (Arc::new(Self {}), TapeWriter {})
    }
}

impl io::Write for TapeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
