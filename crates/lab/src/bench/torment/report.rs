//! What came of it.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use meshlock_api::duration;
use serde::Serialize;

use super::health::Use;
use super::history::{Claim, How};
use super::troubles::Done;
use super::verdict::Finding;
use meshlock_cli::style::{self, styled};

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) nodes: usize,
    pub(super) seed: u64,
    pub(super) seconds: f64,
    pub(super) rounds: u64,
    pub(super) requests: u64,
    pub(super) grants: u64,
    /// Requests that ended unserved: cancelled, timed out, refused by a node that stops.
    pub(super) unserved: u64,
    /// Grants that were lost: their clients were killed or overstayed, or their node stopped.
    pub(super) lost: u64,
    pub(super) packets_lost: u64,
    pub(super) recovery: String,
    /// Tokens that were lost and made anew.
    pub(super) remade: u64,
    /// How often a node learned that another is gone.
    pub(super) declared: u64,
    /// How often a node learned that it is gone itself, and began anew.
    pub(super) begun_anew: u64,
    #[serde(flatten)]
    pub(super) done: Done,
    /// Why members were not removed.
    pub(super) refusals: BTreeSet<String>,
    /// What each node used in the end.
    pub(super) uses: Vec<Use>,
    pub(super) findings: Vec<Finding>,
    /// The command that does the same again.
    pub(super) repeat: String,
    /// Where logs and the history are, if anything was found.
    pub(super) kept: Option<String>,
}

impl Report {
    pub(super) fn count(&mut self, claims: &[Claim]) {
        self.requests += claims.len() as u64;
        let granted = claims.iter().filter(|claim| claim.grant.is_some());
        let released = |claim: &&Claim| {
            claim.end.as_ref().is_some_and(|end| matches!(&end.how, How::Told(state) if state == "RELEASED"))
        };
        let grants = granted.clone().count() as u64;
        self.grants += grants;
        self.lost += grants - granted.filter(released).count() as u64;
        self.unserved += claims.len() as u64 - grants;
    }

    pub(super) fn print(&self) -> anyhow::Result<()> {
        let mut out = anstream::stdout().lock();
        match self.findings.len() {
            0 => writeln!(out, "{}\n", styled(style::GOOD, "nothing was found"))?,
            1 => writeln!(out, "{}\n", styled(style::ALARM, "one fault was found"))?,
            many => writeln!(out, "{}\n", styled(style::ALARM, format!("{many} faults were found")))?,
        }
        for finding in self.findings.iter().take(SHOWN) {
            writeln!(out, "  {} {}", styled(style::STRONG, finding.rule), finding.text.replace('\n', "\n    "))?;
        }
        if self.findings.len() > SHOWN {
            writeln!(out, "  and {} more", self.findings.len() - SHOWN)?;
        }
        if !self.findings.is_empty() {
            writeln!(out, "\n  again     {}", self.repeat)?;
            writeln!(out, "  files     {}\n", self.kept.as_deref().unwrap_or("none"))?;
        }
        let most = |value: fn(&Use) -> u64| self.uses.iter().map(value).max().unwrap_or_default();
        let lines = [
            ("nodes, seed", format!("{}, {}", self.nodes, self.seed)),
            ("lasted", duration::display(Duration::from_secs(self.seconds as u64))),
            ("rounds", self.rounds.to_string()),
            ("requests", self.requests.to_string()),
            ("grants", self.grants.to_string()),
            ("requests that ended unserved", self.unserved.to_string()),
            ("grants that were lost", self.lost.to_string()),
            ("bad links, packets lost", format!("{}, {}", self.done.bad_links, self.packets_lost)),
            ("nodes paused, stopped cleanly", format!("{}, {}", self.done.node_pauses, self.done.clean_stops)),
            ("clients killed, paused", format!("{}, {}", self.done.clients_killed, self.done.clients_paused)),
            ("recovery", self.recovery.clone()),
            ("nodes killed, in blackouts", format!("{}, {}", self.done.node_kills, self.done.blackouts)),
            ("nodes isolated, replaced", format!("{}, {}", self.done.isolated, self.done.replaced)),
            ("removals that were refused", self.done.kept.to_string()),
            ("tokens made anew", self.remade.to_string()),
            ("nodes that began anew", self.begun_anew.to_string()),
            ("resources made, resized", format!("{}, {}", self.done.made, self.done.resizes)),
            ("crowds, full disks", format!("{}, {}", self.done.crowds, self.done.full_disks)),
            ("questions about the mesh", self.done.questions.to_string()),
            ("largest memory in the end", format!("{} MiB", most(|one| one.vitals.resident) >> 20)),
            (
                "most tasks, open files",
                format!("{}, {}", most(|one| one.tasks.unwrap_or(0)), most(|one| one.vitals.files)),
            ),
        ];
        for (what, how_many) in lines {
            writeln!(out, "  {what:<32} {how_many:>14}")?;
        }
        for refused in self.refusals.iter().take(SHOWN) {
            writeln!(out, "\n  refused: {refused}")?;
        }
        if self.done.full_disks_skipped > 0 {
            writeln!(out, "\n  skipped: this system lets no disk seem full, so nothing was tried with one")?;
        }
        Ok(out.flush()?)
    }
}

/// So many findings are printed; `--json` has all.
const SHOWN: usize = 10;
