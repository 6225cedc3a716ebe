//! What was measured.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use meshlock_api::duration;
use meshlock_cli::style::{self, styled};

use super::Args;
use super::faults::Fault;
use crate::bench::processes::Recovery;

/// The times of all rounds.
#[derive(Debug)]
pub(super) struct Report {
    command: String,
    /// What 99 of 100 should be at most, where something was promised.
    goal: Option<Duration>,
    pub(super) times: Vec<Duration>,
}

/// Restarted within two seconds, with nothing held.
const RESTARTED_GOAL: Duration = Duration::from_secs(3);
/// On top of 1.1 standings.
const BEYOND_STANDING: Duration = Duration::from_secs(1);

impl Report {
    /// Nothing measured yet.
    pub(super) fn new(args: &Args) -> Self {
        let goal = match (args.fault, args.recovery) {
            (Fault::IdleRestarted, _) => Some(RESTARTED_GOAL),
            (
                Fault::Killed | Fault::Restarted | Fault::Paused | Fault::Partition | Fault::GrantOnly,
                Recovery::Voters,
            ) => Some(args.standing.mul_f64(1.1) + BEYOND_STANDING),
            (
                Fault::Killed | Fault::Restarted | Fault::Paused | Fault::Partition | Fault::GrantOnly,
                Recovery::Restart | Recovery::None,
            )
            | (Fault::Bystander | Fault::Heir | Fault::Power | Fault::FullDisk | Fault::CleanStop, _) => None,
        };
        Self { command: args.command(), goal, times: Vec::new() }
    }

    /// The time that this share of all rounds does not exceed.
    fn at(&self, share: f64) -> Duration {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() as f64 * share).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// For programs.
    pub(super) fn document(&self) -> Value {
        let seconds = |time: Duration| (time.as_secs_f64() * 1_000.0).round() / 1_000.0;
        let times: Vec<f64> = self.times.iter().copied().map(seconds).collect();
        json!({
            "command": self.command,
            "rounds": self.times.len(),
            "median_s": seconds(self.at(0.5)),
            "most_99_s": seconds(self.at(0.99)),
            "worst_s": seconds(self.at(1.0)),
            "goal_s": self.goal.map(seconds),
            "within_goal": self.goal.map(|goal| self.times.iter().filter(|time| **time <= goal).count()),
            "optimised": !cfg!(debug_assertions),
            "times_s": times,
        })
    }

    /// For people.
    pub(super) fn print(&self) -> anyhow::Result<()> {
        let mut out = anstream::stdout().lock();
        writeln!(out, "{}\n", self.command)?;
        let figure = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        let mut lines = vec![
            ("rounds", self.times.len().to_string()),
            ("median", figure(self.at(0.5))),
            ("99 of 100 at most", figure(self.at(0.99))),
            ("worst", figure(self.at(1.0))),
        ];
        if let Some(goal) = self.goal {
            let within = self.times.iter().filter(|time| **time <= goal).count();
            let style = if within == self.times.len() { style::GOOD } else { style::KNOWN };
            let text = format!("{within} of {} within {}", self.times.len(), duration::display(goal));
            lines.push(("goal", styled(style, text).to_string()));
        }
        for (what, how_much) in lines {
            writeln!(out, "  {what:<20} {how_much}")?;
        }
        Ok(out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(times: impl Iterator<Item = u64>) -> Report {
        let times = times.map(Duration::from_secs).collect();
        Report { command: "x".into(), goal: Some(Duration::from_secs(98)), times }
    }

    #[test]
    fn figures_are_those_of_the_sorted_times() {
        let hundred = report((1..=100).rev());
        let at = |share| hundred.at(share).as_secs();
        assert_eq!((at(0.5), at(0.99), at(1.0)), (50, 99, 100));
        assert_eq!(hundred.document()["within_goal"], 98);
        // Of 50 the worst is the 99th of a hundred.
        assert_eq!(report(1..=50).at(0.99).as_secs(), 50);
        assert_eq!(report(0..0).document()["rounds"], 0);
    }
}
