//! Writes a tape while pages read it.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use meshlock_trace::LONGEST_LINE;

use super::Tape;

/// Writes a tape: give it whole lines, the header first. What is written can be seen at once; when it is dropped, the
/// tape is at its end.
#[derive(Debug)]
pub struct TapeWriter {
    tape: Arc<Tape>,
    partial: Vec<u8>,
    begun: bool,
    pace: Option<Pace>,
}

impl Tape {
    /// A tape that will be written. Of more than `keep` bytes the oldest chunks are dropped.
    pub fn written(keep: usize) -> (Arc<Self>, TapeWriter) {
        let tape = Arc::new(Self::empty(keep as u64, None));
        // What is written has been read.
        tape.lock().read = 1.0;
        let writer = TapeWriter { tape: Arc::clone(&tape), partial: Vec::new(), begun: false, pace: None };
        (tape, writer)
    }
}

impl TapeWriter {
    /// A writer of more than so many bytes a second has to wait, so that pages can follow: with a second's worth in
    /// reserve. A simulation then simply goes slower. What is so at the very beginning is not waited for.
    pub fn at_most(mut self, bytes_per_second: u32) -> Self {
        self.pace = Some(Pace::new(bytes_per_second, Instant::now()));
        self
    }

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
        if let Some(pace) = &mut self.pace
            && self.tape.last() > 0
        {
            thread::sleep(pace.spend(bytes.len(), Instant::now()));
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

/// How fast a writer may write.
#[derive(Debug)]
struct Pace {
    per_second: f64,
    /// What may be written at once; less than nothing if too much was.
    left: f64,
    since: Instant,
}

impl Pace {
    fn new(bytes_per_second: u32, now: Instant) -> Self {
        let per_second = f64::from(bytes_per_second.max(1));
        Self { per_second, left: per_second, since: now }
    }

    /// So much was written: how long to wait before more is.
    fn spend(&mut self, bytes: usize, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.since).as_secs_f64();
        self.since = now;
        self.left = (self.left + passed * self.per_second).min(self.per_second) - bytes as f64;
        Duration::try_from_secs_f64(-self.left / self.per_second).unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_writes_too_much_waits_as_long_as_it_takes() {
        let start = Instant::now();
        let mut pace = Pace::new(1_000, start);
        let mut clock = start;
        for _ in 0..100 {
            clock += pace.spend(100, clock);
        }
        // A second's worth was in reserve.
        assert_eq!((clock - start).as_millis(), 9_000);
        // Who writes little never waits, and saves no more than a second's worth.
        clock += Duration::from_secs(60);
        assert_eq!(pace.spend(900, clock), Duration::ZERO);
        assert_eq!(pace.spend(300, clock), Duration::from_millis(200));
    }
}
