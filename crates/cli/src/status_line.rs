//! How far something has come, on standard error: one line that is written over and over on a terminal, whole lines
//! elsewhere.

use std::io::{self, IsTerminal, Write};

/// One line that tells how far something has come.
pub struct StatusLine {
    destination: Destination,
    shown: bool,
}

/// What standard error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Nothing is to be shown.
    Nowhere,
    /// A line can be written over.
    Terminal,
    /// It cannot.
    File,
}

impl StatusLine {
    /// Nothing is shown so far.
    pub fn new(quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let destination = match (quiet, io::stderr().is_terminal() && !dumb) {
            (true, _) => Destination::Nowhere,
            (false, true) => Destination::Terminal,
            (false, false) => Destination::File,
        };
        Self { destination, shown: false }
    }

    /// What standard error is.
    pub const fn destination(&self) -> Destination {
        self.destination
    }

    /// On a terminal: writes over what was shown before.
    pub fn show(&mut self, line: &str) {
        // A terminal or file that cannot be written to is no reason to end anything.
        if self.destination == Destination::Terminal {
            let _ = write!(io::stderr(), "\r{ERASE_LINE}{}", cut(line, width()));
            self.shown = true;
        }
    }

    /// A line that stays, unless nothing is to be shown.
    pub fn print(&mut self, line: &str) {
        self.clear();
        if self.destination != Destination::Nowhere {
            let _ = writeln!(anstream::stderr(), "{line}");
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r{ERASE_LINE}");
            self.shown = false;
        }
    }
}

/// The columns of the terminal.
fn width() -> usize {
    terminal_size::terminal_size_of(io::stderr()).map_or(80, |(terminal_size::Width(columns), _)| columns.into())
}

/// A line that would go on below cannot be taken away again. The last columns are left to the `^C` that a terminal shows.
fn cut(line: &str, width: usize) -> String {
    let room = width.saturating_sub(3).max(1);
    if line.chars().count() <= room {
        return line.to_owned();
    }
    line.chars().take(room - 1).chain(['…']).collect()
}

const ERASE_LINE: &str = "\x1b[2K";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut() {
        assert_eq!(cut("twelve chars", 15), "twelve chars");
        assert_eq!(cut("twelve chars", 14), "twelve cha…");
        assert_eq!(cut("twelve chars", 0), "…");
    }
}
