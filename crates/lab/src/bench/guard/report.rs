//! What came of it.

use std::io::Write;
use std::time::Duration;

use anyhow::ensure;
use meshlock_api::duration;
use serde::Serialize;

use super::Args;
use super::store::History;
use super::torment::Done;
use meshlock_cli::style::{self, styled};

#[derive(Debug, Serialize)]
pub(super) struct Report {
    nodes: u16,
    clients: u16,
    lease_ms: u64,
    think_ms: u64,
    fences: bool,
    recovery: &'static str,
    standing_ms: u64,
    seed: u64,
    seconds: f64,
    /// Writes that their clients know of.
    acknowledged: u64,
    /// Writes whose clients were killed before they could note them.
    unacknowledged: u64,
    counter: u64,
    /// Writes that the counter does not show.
    pub(super) lost: u64,
    /// Refused because of their fence, when they were to write.
    refused_writes: u64,
    /// Refused because of their fence, when they were to read.
    refused_reads: u64,
    /// Requests that ended before they were granted, because their clients were stopped.
    failed_requests: u64,
    #[serde(flatten)]
    done: Done,
    entries_per_second: f64,
}

impl Report {
    pub(super) fn make(
        args: &Args,
        lasted: Duration,
        done: &Done,
        history: &History,
        logs: &str,
    ) -> anyhow::Result<Self> {
        let (writes, counter) = history.writes_and_counter();
        let noted = |word: &str| logs.lines().filter(|line| line.split(' ').next() == Some(word)).count() as u64;
        let acknowledged = noted("wrote");
        let unacknowledged = writes.checked_sub(acknowledged);
        ensure!(unacknowledged.is_some(), "{acknowledged} writes were acknowledged, but the file has only {writes}");
        Ok(Self {
            nodes: args.nodes,
            clients: args.clients,
            lease_ms: u64::try_from(args.lease.as_millis()).unwrap_or(u64::MAX),
            think_ms: u64::try_from(args.think.as_millis()).unwrap_or(u64::MAX),
            fences: !args.no_fences,
            recovery: args.recovery.word(),
            standing_ms: u64::try_from(args.standing.as_millis()).unwrap_or(u64::MAX),
            seed: args.seed,
            seconds: lasted.as_secs_f64(),
            acknowledged,
            unacknowledged: unacknowledged.unwrap_or_default(),
            counter,
            // A write is the counter that was read and one more; so the counter is how many writes led to it, one upon
            // the other, and all others are lost.
            lost: writes.saturating_sub(counter),
            refused_writes: noted("refused-write"),
            refused_reads: noted("refused-read"),
            failed_requests: noted("failed"),
            done: *done,
            entries_per_second: writes as f64 / lasted.as_secs_f64().max(0.001),
        })
    }

    pub(super) fn print(&self) -> anyhow::Result<()> {
        let mut out = anstream::stdout().lock();
        let verdict = match (self.lost, self.fences) {
            (0, _) => styled(style::GOOD, "nothing was lost".to_owned()),
            (lost, true) => styled(style::ALARM, format!("{lost} updates were lost")),
            (lost, false) => styled(style::KNOWN, format!("{lost} updates were lost, as they may be without fences")),
        };
        let writes = self.acknowledged + self.unacknowledged;
        let share = 100.0 * self.lost as f64 / (writes.max(1) as f64);
        writeln!(out, "{verdict}\n")?;
        let lines = [
            ("nodes, clients", format!("{}, {}", self.nodes, self.clients)),
            ("lease, thinking", format!("{}, {}", time(self.lease_ms), time(self.think_ms))),
            ("fences", if self.fences { "on" } else { "off" }.to_owned()),
            ("seed", self.seed.to_string()),
            ("lasted", time((self.seconds * 1000.0) as u64)),
            ("acknowledged writes", self.acknowledged.to_string()),
            ("writes of clients killed before they knew", self.unacknowledged.to_string()),
            ("counter", self.counter.to_string()),
            ("lost updates", format!("{} ({share:.1} %)", self.lost)),
            ("refused late writes", self.refused_writes.to_string()),
            ("refused late reads", self.refused_reads.to_string()),
            ("requests that ended unserved", self.failed_requests.to_string()),
            ("clients killed", self.done.kills.to_string()),
            ("clients stopped past their lease", self.done.pauses.to_string()),
            ("recovery", self.recovery.to_owned()),
            ("nodes killed", self.done.node_kills.to_string()),
            ("nodes stopped past their standing", self.done.node_pauses.to_string()),
            ("changes of links", self.done.link_changes.to_string()),
            ("entries per second", format!("{:.1}", self.entries_per_second)),
        ];
        for (what, how_many) in lines {
            writeln!(out, "  {what:<42} {how_many:>14}")?;
        }
        Ok(out.flush()?)
    }
}

fn time(milliseconds: u64) -> String {
    duration::display(Duration::from_millis(milliseconds))
}
