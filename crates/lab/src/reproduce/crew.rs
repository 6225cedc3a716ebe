//! Measures claims one after the other, beside the thread that watches: for the clock, and for Ctrl-C.
//!
//! A claim that is being measured when Ctrl-C comes is given up as it is: half of its runs would make a wrong finding.
//! Its threads end with the command.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use meshlock_reproduce::page::Measured;
use meshlock_reproduce::{Claim, Effort, Finding, Lab};

use meshlock_cli::status_line::StatusLine;
use meshlock_cli::style::{ALARM, FAINT, GOOD, KNOWN, styled};
use meshlock_cli::text::time;

#[derive(Default)]
pub(super) struct Ended {
    pub(super) measured: Vec<Measured>,
    /// Claims that could not be measured, and why.
    pub(super) failed: Vec<(&'static str, String)>,
    pub(super) interrupted: bool,
}

impl Ended {
    /// The claims without a finding.
    pub(super) fn missing(&self, wanted: &[Claim]) -> Vec<&'static str> {
        let is_there = |id: &str| self.measured.iter().any(|one| one.claim.id == id);
        wanted.iter().map(|claim| claim.id).filter(|id| !is_there(id)).collect()
    }
}

/// Measures claims until all are done or `cancel` is set. Whenever one is done, all so far are given to `keep`.
pub(super) fn measure(
    claims: &[Claim],
    (effort, jobs): (Effort, usize),
    cancel: &AtomicBool,
    quiet: bool,
    keep: &mut dyn FnMut(&Ended),
) -> Ended {
    let (sender, findings) = channel();
    let owned = claims.to_vec();
    std::thread::spawn(move || work(&owned, effort, jobs, &sender));
    let mut ended = Ended::default();
    let mut status = StatusLine::new(quiet);
    let start = Instant::now();
    let mut began = start;
    let mut rest = claims.iter();
    let mut now = rest.next();
    while let Some(claim) = now {
        let place = claims.len() - rest.len();
        status.show(&format!("{} ({place} of {})  {}  {}", claim.id, claims.len(), time(start.elapsed()), claim.says));
        // After Ctrl-C, what has been found already still counts.
        let is_cancelled = cancel.load(Ordering::Acquire);
        let patience = if is_cancelled { Duration::ZERO } else { BETWEEN_LOOKS };
        let finding = match findings.recv_timeout(patience) {
            Ok(finding) => finding,
            Err(RecvTimeoutError::Timeout) if is_cancelled => {
                ended.interrupted = true;
                break;
            }
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => Err("its thread has ended".to_owned()),
        };
        status.print(&line(claim, &finding, began.elapsed()));
        match finding {
            Ok(finding) => ended.measured.push(Measured { claim: *claim, finding }),
            Err(why) => ended.failed.push((claim.id, why)),
        }
        keep(&ended);
        began = Instant::now();
        now = rest.next();
    }
    status.clear();
    ended
}

/// The findings in the order of the claims.
fn work(claims: &[Claim], effort: Effort, jobs: usize, findings: &Sender<Result<Finding, String>>) {
    let lab = Lab::new(effort, jobs, || true);
    for claim in claims {
        let finding = catch_unwind(AssertUnwindSafe(|| (claim.measure)(&lab))).map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked").to_owned()
        });
        if findings.send(finding).is_err() {
            return;
        }
    }
}

fn line(claim: &Claim, finding: &Result<Finding, String>, took: Duration) -> String {
    let verdict = match finding {
        Ok(finding) => {
            let conclusion = claim.conclusion(finding);
            if claim.surprises(finding).is_empty() {
                let style = if conclusion.is_good() { GOOD } else { KNOWN };
                styled(style, conclusion.words()).to_string()
            } else {
                styled(ALARM, format!("{}; not as expected", conclusion.words())).to_string()
            }
        }
        Err(_) => styled(ALARM, "failed").to_string(),
    };
    format!("{:<6} {verdict}  {}", claim.id, styled(FAINT, time(took)))
}

/// How soon Ctrl-C is noticed, and how often the clock goes on.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
