//! Where in a file something stands, and the error that shows it.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file, or `--set`.
    pub file: String,
    /// From 1; 0 if it is not about a line.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// How many characters are marked, from `column` on.
    pub width: usize,
    pub message: String,
    pub help: String,
    /// The line itself; for `--set` the assignment.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Whole,
    Bytes {
        start: usize,
        /// The one behind the last.
        end: usize,
    },
    /// A `--set` with this assignment.
    Set(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

/// Something wrong at a place, before the source is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) place: Place,
    pub(super) message: String,
    pub(super) help: String,
}

impl Problem {
    pub(super) fn new(place: &Place, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { place: place.clone(), message: message.into(), help: help.into() }
    }
}

impl Source {
    pub(super) fn error(&self, problem: Problem) -> FileError {
        let Problem { place, message, help } = problem;
        let no_line = |file: &str, text: String| (file.to_owned(), 0, 0, 0, text);
        let (file, line, column, width, text) = match place {
            Place::Whole => no_line(&self.name, String::new()),
            Place::Set(assignment) => no_line("--set", assignment),
            Place::Bytes { start, end } => self.position(start, end),
        };
        FileError { file, line, column, width, message, help, text }
    }

    fn position(&self, start: usize, end: usize) -> (String, usize, usize, usize, String) {
        let start = floor(&self.text, start);
        let end = floor(&self.text, end).max(start);
        let first = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let last = self.text[start..].find('\n').map_or(self.text.len(), |newline| start + newline);
        let line = self.text[..start].matches('\n').count() + 1;
        let column = self.text[first..start].chars().count() + 1;
        let width = self.text[start..end.min(last)].trim_end().chars().count().max(1);
        (self.name.clone(), line, column, width, self.text[first..last].trim_end().to_owned())
    }
}

/// The last boundary between characters at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        if self.line == 0 {
            let space = if self.text.is_empty() { "" } else { " " };
            write!(f, " --> {}{space}{}", self.file, self.text)?;
            return if self.help.is_empty() { Ok(()) } else { write!(f, "\n  = help: {}", self.help) };
        }
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs stay tabs, so that the marker stands below what it marks.
        let before = self.text.chars().take(self.column - 1);
        let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(f, "{margin}--> {}:{}:{}", self.file, self.line, self.column)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.text)?;
        write!(f, "{margin} | {indent}{}", "^".repeat(self.width))?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "\n{margin} = help: {}", self.help) }
    }
}

impl std::error::Error for FileError {}
