//! How far a run has come, on standard error: one line that is written over and over on a terminal, a line now and then
//! elsewhere, nothing for a short run.

use std::time::Duration;

use meshlock_check::{Observer, Progress, Way};

use meshlock_cli::status_line::{Destination, StatusLine};
use meshlock_cli::text::{count, memory, rate, several, time};

/// Shows how far one model has come.
pub(super) struct Ticker {
    name: String,
    /// How many walks there will be, if it is walked.
    walks: Option<u64>,
    status: StatusLine,
    /// The time in the run of the last line.
    last: Duration,
}

impl Ticker {
    /// For a model of this name that is looked at in this way.
    pub(super) fn new(name: &str, way: &Way, quiet: bool) -> Self {
        let walks = match way {
            Way::Explore { .. } => None,
            Way::Walk { walks, .. } => Some(*walks),
        };
        Self { name: name.to_owned(), walks, status: StatusLine::new(quiet), last: Duration::ZERO }
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        self.status.clear();
    }

    fn tell(&mut self, elapsed: Duration, line: &str) {
        match self.status.destination() {
            Destination::Nowhere => {}
            Destination::Terminal => self.status.show(&format!("{}  {line}", self.name)),
            Destination::File if elapsed >= self.last + BETWEEN_LINES => {
                self.status.print(&format!("{}: {line}", self.name));
                self.last = elapsed;
            }
            Destination::File => {}
        }
    }
}

impl Observer for Ticker {
    fn progress(&mut self, progress: &Progress) {
        let line = match self.walks {
            None => explored(progress),
            Some(walks) => walked(progress, walks),
        };
        self.tell(progress.elapsed, &line);
    }
}

fn explored(progress: &Progress) -> String {
    let known = progress.broken_at.map(|steps| format!("  a rule is broken in {steps} steps; looking for the run"));
    format!(
        "{} states  {} unique  depth {}  {}  {}  {}{}",
        count(progress.generated),
        count(progress.unique),
        progress.depth,
        rate(progress.rate()),
        memory(progress.bytes),
        time(progress.elapsed),
        known.unwrap_or_default(),
    )
}

fn walked(progress: &Progress, walks: u64) -> String {
    format!(
        "{} of {}  {} steps  {}  {}",
        count(walks.saturating_sub(progress.frontier)),
        several(walks, "walk"),
        count(progress.generated),
        rate(progress.rate()),
        time(progress.elapsed),
    )
}

/// A little less than ten seconds: reports come a little less than a second apart.
const BETWEEN_LINES: Duration = Duration::from_millis(9_500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_how_deep_how_fast_and_how_large() {
        let elapsed = Duration::from_secs(2);
        let progress = Progress {
            generated: 1_000_000,
            unique: 400_000,
            depth: 17,
            elapsed,
            bytes: 90 << 20,
            ..Progress::default()
        };
        assert_eq!(explored(&progress), "1,000,000 states  400,000 unique  depth 17  200k/s  90 MiB  2.00s");
        let known = explored(&Progress { broken_at: Some(41), ..progress });
        assert!(known.ends_with("  2.00s  a rule is broken in 41 steps; looking for the run"), "{known}");
        let progress = Progress { generated: 5_000, unique: 5_000, frontier: 17, elapsed, ..Progress::default() };
        assert_eq!(walked(&progress, 20), "3 of 20 walks  5,000 steps  2500/s  2.00s");
    }
}
