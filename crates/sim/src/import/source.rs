//! The bytes of a recording: unpacked, counted by lines, and turned into numbers within the limits of a world.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::import::error::ImportError;
use crate::time::{Span, Time};

/// A line longer than this is no line of a recording.
const LONGEST_LINE: u64 = 1 << 28;
/// 31 years, in seconds.
const LATEST: f64 = 1e9;
/// In metres: beyond it a double cannot tell a micrometre.
const FARTHEST: f64 = 1e9;

/// A line of a file, for error messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    /// From 1; 0 if it is not about a line.
    pub(super) line: usize,
}

impl Place<'_> {
    pub(super) fn error(self, reason: impl Into<String>, help: impl Into<String>) -> ImportError {
        ImportError { file: self.file.to_owned(), line: self.line, reason: reason.into(), help: help.into() }
    }

    pub(super) fn number(self, text: &str, what: &str) -> Result<f64, ImportError> {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) | Err(_) => {
                Err(self.error(format!("{} is no number", shown(text)), format!("{what} is expected here")))
            }
        }
    }

    pub(super) fn metres(self, text: &str) -> Result<f64, ImportError> {
        let metres = self.number(text, "a coordinate in metres")?;
        if metres.abs() <= FARTHEST {
            return Ok(metres);
        }
        Err(self
            .error(format!("{} m is too far away", shown(text)), "coordinates within a million kilometres are read"))
    }

    pub(super) fn time(self, text: &str) -> Result<Time, ImportError> {
        let seconds = self.number(text, "a time in seconds")?;
        self.moment(seconds)
    }

    pub(super) fn moment(self, seconds: f64) -> Result<Time, ImportError> {
        if (0.0..=LATEST).contains(&seconds) {
            return Ok(Time::ZERO + Span::from_seconds(seconds));
        }
        Err(self.error(format!("{seconds} s is no time of a recording"), "times are from 0 to 1000000000 seconds"))
    }
}

/// The lines of a text. What is no UTF-8 (in comments, mostly) is replaced.
pub(super) struct Lines<'a> {
    file: &'a str,
    reader: Box<dyn BufRead + 'a>,
    line: usize,
    buffer: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self { file, reader: unpacked(bytes), line: 0, buffer: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Result<Option<(Place<'a>, Cow<'_, str>)>, ImportError> {
        self.line += 1;
        let place = Place { file: self.file, line: self.line };
        self.buffer.clear();
        let length = (&mut self.reader).take(LONGEST_LINE).read_until(b'\n', &mut self.buffer);
        match length.map_err(|error| damaged(place, &error))? {
            0 => Ok(None),
            length if length as u64 == LONGEST_LINE => Err(place.error("this line has no end", "is this a text file?")),
            _ => Ok(Some((place, String::from_utf8_lossy(self.buffer.trim_ascii())))),
        }
    }
}

/// The bytes, unpacked if they were packed by gzip, which is seen by how they begin.
pub(super) fn unpacked<'a>(bytes: &'a [u8]) -> Box<dyn BufRead + 'a> {
    match bytes {
        [0x1f, 0x8b, ..] => Box::new(BufReader::new(MultiGzDecoder::new(bytes))),
        _ => Box::new(bytes),
    }
}

/// Bytes come from memory, so what fails is the unpacking.
pub(super) fn damaged(place: Place<'_>, error: &io::Error) -> ImportError {
    place.error(format!("the packed file is damaged from here on ({error})"), "unpack it with gzip to see what is left")
}

/// A piece of the file, not too long, in quotes.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}
