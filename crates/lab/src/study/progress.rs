//! How far a study has come, on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use meshlock_study::conduct::{Status, StudyObserver};
use meshlock_study::plan::Plan;

use meshlock_cli::text::{count, time};

/// Shows how far a study has come.
pub(super) struct Ticker {
    name: String,
    start: Instant,
    /// Replications are added in rounds, each with its own count of runs: how many are missing in this one, and when it
    /// began.
    round: (usize, Duration),
    place: Place,
}

enum Place {
    Nowhere,
    Terminal(ProgressBar),
    /// When the next line is due.
    File(Duration),
}

impl Ticker {
    pub(super) fn new(plan: &Plan, quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let place = match (quiet, io::stderr().is_terminal() && !dumb) {
            (true, _) => Place::Nowhere,
            (false, true) => Place::Terminal(bar()),
            (false, false) => Place::File(BETWEEN_LINES),
        };
        Self { name: plan.name.clone(), start: Instant::now(), round: (0, Duration::ZERO), place }
    }

    /// Takes the bar away.
    pub(super) fn clear(&self) {
        if let Place::Terminal(bar) = &self.place {
            bar.finish_and_clear();
        }
    }
}

impl StudyObserver for Ticker {
    fn look(&mut self, plan: &Plan, status: &Status<'_>) {
        let elapsed = self.start.elapsed();
        if self.round.0 != status.missing {
            self.round = (status.missing, elapsed);
        }
        let in_round = elapsed.saturating_sub(self.round.1);
        match &mut self.place {
            Place::Nowhere => {}
            Place::Terminal(bar) => {
                bar.set_length(status.missing as u64);
                bar.set_position(status.executed as u64);
                bar.set_message(message(plan, status, in_round));
            }
            Place::File(due) if elapsed >= *due => {
                // A file that cannot be written to is no reason to end a study.
                let line = format!("{}: {}", self.name, line(plan, status, elapsed, in_round));
                let _ = writeln!(io::stderr(), "{line}");
                *due = elapsed + BETWEEN_LINES;
            }
            Place::File(_) => {}
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    // The template is a constant that is tried in a test; without it the bar is merely plainer.
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// What runs, and how fast.
fn message(plan: &Plan, status: &Status<'_>, in_round: Duration) -> String {
    let rate = status.simulated / in_round.as_secs_f64().max(1e-3);
    let running = status.running.first().map_or_else(String::new, |job| plan.points[job.point].name());
    format!("{rate:.0} simulated s/s  {running}")
}

/// Everything in one line.
fn line(plan: &Plan, status: &Status<'_>, elapsed: Duration, in_round: Duration) -> String {
    let left = match status.executed {
        0 => String::new(),
        executed => {
            let each = in_round.as_secs_f64() / executed as f64;
            let left = each * status.missing.saturating_sub(executed) as f64;
            format!(", about {} left", time(Duration::from_secs_f64(left)))
        }
    };
    let (done, all) = (count(status.done as u64), count(status.all as u64));
    format!("{done} of {all} runs after {}{left}, {}", time(elapsed), message(plan, status, in_round))
}

const TEMPLATE: &str = "[{bar:24}] {pos}/{len} runs  {elapsed}  eta {eta}  {wide_msg}";
const BETWEEN_LINES: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_one() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
