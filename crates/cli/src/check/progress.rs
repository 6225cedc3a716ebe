//! How far a run has come, on standard error: one line that is written over and over on a terminal, a line now and then
//! elsewhere, nothing for a short run.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use meshlock_check::{Observer, Progress, WalkProgress};

use crate::text::{count, memory, rate, several, time};

/// Shows how far one model has come.
pub(super) struct Ticker {
    name: String,
    place: Place,
    /// The time in the run of the last line.
    last: Duration,
    shown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    Terminal,
    File,
}

impl Ticker {
    /// For a model of this name.
    pub(super) fn new(name: &str, quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let place = match (quiet, io::stderr().is_terminal() && !dumb) {
            (true, _) => Place::Nowhere,
            (false, true) => Place::Terminal,
            (false, false) => Place::File,
        };
        Self { name: name.to_owned(), place, last: Duration::ZERO, shown: false }
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        if self.shown && self.place == Place::Terminal {
            let _ = write!(io::stderr(), "\r{ERASE_LINE}");
            self.shown = false;
        }
    }

    fn tell(&mut self, elapsed: Duration, line: &str) {
        // A terminal or file that cannot be written to is no reason to end an exploration.
        match self.place {
            Place::Nowhere => {}
            Place::Terminal => {
                let _ = write!(io::stderr(), "\r{ERASE_LINE}{}", cut(&format!("{}  {line}", self.name), width()));
                self.shown = true;
            }
            Place::File if elapsed >= self.last + BETWEEN_LINES => {
                let _ = writeln!(io::stderr(), "{}: {line}", self.name);
                self.last = elapsed;
            }
            Place::File => {}
        }
    }
}

impl Observer for Ticker {
    fn progress(&mut self, progress: &Progress) {
        self.tell(progress.elapsed, &explored(progress));
    }

    fn walked(&mut self, progress: &WalkProgress) {
        self.tell(progress.elapsed, &walked(progress));
    }
}

fn explored(progress: &Progress) -> String {
    format!(
        "{} states  {} unique  depth {}  {}  {}  {}",
        count(progress.generated),
        count(progress.unique),
        progress.depth,
        rate(progress.rate()),
        memory(progress.bytes),
        time(progress.elapsed),
    )
}

fn walked(progress: &WalkProgress) -> String {
    let per_second = progress.steps as f64 / progress.elapsed.as_secs_f64().max(1e-9);
    format!(
        "{}  {} steps  {} grants  {}  {}",
        several(progress.walks, "walk"),
        count(progress.steps),
        count(progress.grants),
        rate(per_second),
        time(progress.elapsed),
    )
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

/// A little less than ten seconds: reports come a little less than a second apart.
const BETWEEN_LINES: Duration = Duration::from_millis(9_500);
const ERASE_LINE: &str = "\x1b[2K";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_how_deep_how_fast_and_how_large() {
        let elapsed = Duration::from_secs(2);
        let progress =
            Progress { generated: 1_000_000, unique: 400_000, depth: 17, frontier: 9, elapsed, bytes: 90 << 20 };
        assert_eq!(explored(&progress), "1,000,000 states  400,000 unique  depth 17  200k/s  90 MiB  2.00s");
        let progress = WalkProgress { walks: 3, steps: 5_000, deliveries: 0, grants: 77, link_changes: 0, elapsed };
        assert_eq!(walked(&progress), "3 walks  5,000 steps  77 grants  2500/s  2.00s");
    }

    #[test]
    fn a_line_that_is_too_long_is_cut() {
        assert_eq!(cut("twelve chars", 15), "twelve chars");
        assert_eq!(cut("twelve chars", 14), "twelve cha…");
        assert_eq!(cut("twelve chars", 0), "…");
    }
}
