//! What nodes use: never too much, and next to nothing when nobody asks for anything.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use tokio::time::sleep;

use super::user::Scene;
use super::verdict::Finding;
use crate::bench::processes::Pids;
use crate::bench::vitals::{self, Vitals};
use crate::bench::wire::Wire;

/// More than any node needs here; one that reaches it will not stop by itself.
const MOST_MEMORY: u64 = 512 << 20;
/// How long nodes may take to see each other again.
const COMPLETE_WITHIN: Duration = Duration::from_secs(40);
/// How often memory is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a look at the processor takes.
const WINDOW: Duration = Duration::from_secs(1);
/// How long a node may have work left when nobody asks for anything.
const QUIET_WITHIN: Duration = Duration::from_secs(20);
/// The share of a processor that a quiet node may use; it is about a hundredth.
const MOST_IDLE: f64 = 0.1;
/// How many more tasks, threads and files than in the beginning a quiet node may have.
const MOST_MORE: u64 = 40;
/// How much more memory than after the first rounds. Requests are remembered for ten minutes.
const MOST_GROWTH: u64 = 96 << 20;

/// What a node used when the torment began, and after the first rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Baseline {
    nodes: Vec<Use>,
    /// The largest memory of any node after the rounds in which it is expected to grow.
    pub(super) grown: Option<u64>,
}

/// What a node uses.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Use {
    #[serde(flatten)]
    pub(super) vitals: Vitals,
    /// Tasks of its runtime, where it tells.
    pub(super) tasks: Option<u64>,
}

/// What all nodes use now. Those that do not run use nothing.
pub(super) async fn look(pids: &Pids, sockets: &[PathBuf]) -> Vec<Use> {
    let mut all = Vec::new();
    for (pid, socket) in pids.iter().zip(sockets) {
        let vitals = vitals::of(pid.load(Ordering::Relaxed)).unwrap_or_default();
        all.push(Use { vitals, tasks: tasks(socket).await });
    }
    all
}

async fn tasks(socket: &std::path::Path) -> Option<u64> {
    let asked = async { Wire::connect(socket).await.ok()?.ask("GET", "/metrics", "").await.ok() };
    let answer = tokio::time::timeout(Duration::from_secs(10), asked).await.ok()??;
    let text = String::from_utf8(answer.body).ok()?;
    text.lines().find_map(|line| line.strip_prefix("meshlock_tasks "))?.trim().parse().ok()
}

impl Baseline {
    pub(super) async fn take(pids: &Pids, sockets: &[PathBuf]) -> Self {
        Self { nodes: look(pids, sockets).await, grown: None }
    }
}

/// Returns when a node has ended by itself or has far too much memory.
pub(super) async fn watch(pids: &Pids) -> Finding {
    loop {
        for (node, pid) in pids.iter().enumerate() {
            let pid = pid.load(Ordering::Relaxed);
            if pid == 0 {
                continue;
            }
            match vitals::of(pid) {
                Some(vitals) if vitals.resident > MOST_MEMORY => {
                    let megabytes = vitals.resident >> 20;
                    return Finding::new("memory", format!("n{node} has {megabytes} MiB and goes on growing"));
                }
                // A process that has ended is there until somebody asks how, and has no memory.
                None if pids[node].load(Ordering::Relaxed) == pid && has_ended(pid) => {
                    return Finding::new("crash", format!("n{node} ended by itself"));
                }
                Some(_) | None => {}
            }
        }
        sleep(LOOK_EVERY).await;
    }
}

fn has_ended(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:\tZ"))
}

/// What is wrong with nodes that have nothing to do.
pub(super) async fn quiet(pids: &Pids, sockets: &[PathBuf], baseline: &Baseline) -> Vec<Finding> {
    let until = Instant::now() + QUIET_WITHIN;
    loop {
        let before = look(pids, sockets).await;
        let began = Instant::now();
        sleep(WINDOW).await;
        let after = look(pids, sockets).await;
        let findings = judge(&before, &after, began.elapsed(), baseline);
        if findings.is_empty() || Instant::now() > until {
            return findings;
        }
    }
}

fn judge(before: &[Use], after: &[Use], lasted: Duration, baseline: &Baseline) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (node, (before, now)) in before.iter().zip(after).enumerate() {
        let first = baseline.nodes.get(node).copied().unwrap_or_default();
        let used = now.vitals.processor.saturating_sub(before.vitals.processor);
        let share = used.as_secs_f64() / lasted.as_secs_f64();
        if share > MOST_IDLE {
            let text = format!("n{node} uses {:.0} % of a processor although nobody asks for anything", share * 100.0);
            findings.push(Finding::new("busy", text));
        }
        for (what, first, now) in [
            ("tasks", first.tasks.unwrap_or_default(), now.tasks.unwrap_or_default()),
            ("threads", first.vitals.threads, now.vitals.threads),
            ("open files", first.vitals.files, now.vitals.files),
        ] {
            if now > first + MOST_MORE {
                findings.push(Finding::new("leak", format!("n{node} had {first} {what} in the beginning, now {now}")));
            }
        }
        if let Some(grown) = baseline.grown.filter(|grown| now.vitals.resident > grown + MOST_GROWTH) {
            let (then, now) = (grown >> 20, now.vitals.resident >> 20);
            findings.push(Finding::new("leak", format!("n{node} has {now} MiB, after {then} in the first rounds")));
        }
    }
    findings
}

/// Whether every node sees every other, when all are there. One that waits for the leases of former clients has no links.
pub(super) async fn complete(scene: &Scene, former_leases: Duration) -> Option<Finding> {
    let within = COMPLETE_WITHIN + former_leases;
    let until = Instant::now() + within;
    let nodes = scene.sockets.len();
    for node in 0..nodes {
        let mut line = scene.line(node);
        loop {
            let answer = line.ask("GET", "/v1/status?patience=10s", "", COMPLETE_WITHIN).await;
            let body = answer.and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok()).unwrap_or_default();
            let seen = body["nodes"].as_array().map_or(0, Vec::len);
            if seen == nodes {
                break;
            }
            if Instant::now() > until {
                let text = format!("`status` at n{node} shows {seen} of {nodes} nodes, {} s after", within.as_secs());
                return Some(Finding::new("status", text + " all faults were over"));
            }
            sleep(Duration::from_millis(200)).await;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(processor: u64, resident: u64, tasks: Option<u64>) -> Use {
        let vitals = Vitals { processor: Duration::from_millis(processor), resident, threads: 4, files: 20 };
        Use { vitals, tasks }
    }

    #[test]
    fn what_a_quiet_node_must_not_do_is_told() {
        let first = uses(0, 1 << 20, Some(30));
        let mut baseline = Baseline { nodes: vec![first], grown: None };
        let rules = |baseline: &Baseline, now: Use| {
            let found = judge(&[uses(1_000, 0, None)], &[now], Duration::from_secs(1), baseline);
            found.into_iter().map(|finding| finding.rule).collect::<Vec<_>>()
        };
        assert_eq!(rules(&baseline, uses(1_010, 300 << 20, Some(60))), [""; 0]);
        assert_eq!(rules(&baseline, uses(1_900, 0, None)), ["busy"]);
        assert_eq!(rules(&baseline, uses(1_010, 0, Some(71))), ["leak"]);
        baseline.grown = Some(100 << 20);
        assert_eq!(rules(&baseline, uses(1_010, 196 << 20, None)), [""; 0]);
        assert_eq!(rules(&baseline, uses(1_010, 197 << 20, None)), ["leak"]);
    }
}
