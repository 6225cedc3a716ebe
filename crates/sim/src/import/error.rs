//! What is wrong with a recording, where, and what would be right.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    pub file: String,
    /// From 1; 0 if it is not about a line.
    pub line: usize,
    pub reason: String,
    pub help: String,
}

/// `cars.tcl:12: "fast" is no number; a speed in metres per second is expected`.
impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, reason, help } = self;
        match line {
            0 => write!(f, "{file}: {reason}; {help}"),
            _ => write!(f, "{file}:{line}: {reason}; {help}"),
        }
    }
}

impl std::error::Error for ImportError {}
