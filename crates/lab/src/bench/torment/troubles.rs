//! Troubles, carried out one after the other while clients go on.

use std::collections::BTreeSet;
use std::process::Child;
use std::time::{Duration, Instant};

use meshlock_api::{NewRequest, Urgency};
use rustix::process::Signal;
use serde::Serialize;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::cast::{self, Resource, Usage};
use super::first_link;
use super::history::{Company, How};
use super::plan::{Ending, LONG_OWNER, Trouble, Use};
use super::sizes::Sizes;
use super::user::{Scene, User, live};
use super::verdict::Finding;
use crate::bench::processes::{Mesh, Recovery, ended, first_line, send};

/// How long the next one may wait for a resource that nobody holds. It is milliseconds; this is for busy machines and
/// for links that come back, and nodes that lost their standing and get it again.
pub(super) const SERVED_WITHIN: Duration = Duration::from_secs(60);
/// The lease of a waiter that is killed: what it blocks must be seen.
const LONG_LEASE: Duration = Duration::from_secs(120);
/// The lease of a holder that is killed or paused.
const SHORT_LEASE: Duration = Duration::from_secs(1);
/// How long a node may take to notice that a waiting client is gone.
const NOTICED_WITHIN: Duration = Duration::from_secs(3);
/// More questions than the 1,024 that a node once remembered.
const QUESTIONS: usize = 1_100;
/// How often the others then ask, two clients of each at once.
const BURSTS: usize = 5;

/// What was done.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Done {
    pub(super) bad_links: u64,
    pub(super) node_pauses: u64,
    pub(super) clean_stops: u64,
    pub(super) clients_killed: u64,
    pub(super) clients_paused: u64,
    pub(super) questions: u64,
    pub(super) full_disks: u64,
    /// Disks that should have been full, where the system does not let them be.
    pub(super) full_disks_skipped: u64,
    pub(super) crowds: u64,
    pub(super) node_kills: u64,
    /// All nodes were killed at once; they are counted above too.
    pub(super) blackouts: u64,
    /// Nodes that lost all links.
    pub(super) isolated: u64,
    /// Members that ended for good, with another in their place.
    pub(super) replaced: u64,
    /// Members that were not removed, because their removal was refused.
    pub(super) kept: u64,
    pub(super) resizes: u64,
    pub(super) made: u64,
}

/// How much longer everybody may wait for a node that was killed: without voters it waits at its next start until the leases
/// of its former clients are over, and the others wait for that node. With voters no lease is longer than a standing.
pub(super) fn former_leases(recovery: Recovery) -> Duration {
    match recovery {
        Recovery::Voters => Duration::ZERO,
        Recovery::Restart | Recovery::None => LONG_LEASE,
    }
}

/// Carries them out.
pub(super) struct Conductor {
    pub(super) mesh: Mesh,
    pub(super) scene: Scene,
    pub(super) done: Done,
    /// Clients of crowds.
    pub(super) crowd: JoinSet<()>,
    /// Tells requests apart.
    pub(super) serial: u64,
    /// What is known of the resource whose capacity changes.
    pub(super) sizes: Sizes,
    /// Why members were not removed, in the words of the command.
    pub(super) refusals: BTreeSet<String>,
}

pub(super) type Outcome = anyhow::Result<Option<Finding>>;

impl Conductor {
    pub(super) fn new(mesh: Mesh, scene: Scene) -> Self {
        let (done, sizes, refusals) = Default::default();
        Self { mesh, scene, done, crowd: JoinSet::new(), serial: 0, sizes, refusals }
    }

    pub(super) async fn carry_out(&mut self, trouble: Trouble) -> Outcome {
        match trouble {
            Trouble::Loss { link, percent, both, lasts } => {
                if let Some(link) = self.mesh.links().get(link) {
                    link.lose(percent, both, lasts);
                    self.done.bad_links += 1;
                }
                Ok(None)
            }
            Trouble::PauseNode { node, lasts } => {
                self.mesh.signal(node, Signal::STOP);
                sleep(lasts).await;
                self.mesh.signal(node, Signal::CONT);
                self.done.node_pauses += 1;
                Ok(None)
            }
            Trouble::StopNode { node, away } => {
                if let Some(finding) = self.stop(node).await {
                    return Ok(Some(finding));
                }
                sleep(away).await;
                Ok(self.begin(node).await)
            }
            Trouble::StopWaiting { holder, node } => self.stop_waiting(holder, node).await,
            Trouble::KillWaiter { stage, holder, waiter, next } => {
                self.kill_waiter(&stage_name(stage), holder, waiter, next).await
            }
            Trouble::LoseHolder { stage, holder, next, kill } => {
                self.lose_holder(&stage_name(stage), holder, next, kill).await
            }
            Trouble::StatusStorm { node } => Ok(self.storm(node).await),
            Trouble::Crowd { node, resource, size } => {
                self.gather(node, resource, size);
                Ok(None)
            }
            Trouble::Pile { stage, node, next, size } => self.pile(&stage_name(stage), node, next, size).await,
            Trouble::FirstLink => {
                self.serial += 1;
                let outcome = first_link::run(&self.mesh, self.serial).await?;
                self.count_disk(outcome.is_some());
                Ok(outcome.flatten())
            }
            Trouble::FullDisk { node, lasts } => {
                let is_full = self.mesh.fill_disk(node, true);
                self.count_disk(is_full);
                if is_full {
                    sleep(lasts).await;
                    self.mesh.fill_disk(node, false);
                }
                Ok(None)
            }
            Trouble::Crash { node, away, again } => self.crash_and_return(node, away, again).await,
            Trouble::CrashInRepair { first, second, after, away } => {
                self.crash_in_repair(first, second, after, away).await
            }
            Trouble::Blackout { late, away } => self.blackout(late, away).await,
            Trouble::Isolate { node, lasts } => {
                self.mesh.links_of(node).for_each(|link| link.lose(100, true, lasts));
                self.done.isolated += 1;
                sleep(lasts).await;
                Ok(None)
            }
            Trouble::Replace { node, farewell, away } => self.replace(node, farewell, away).await,
            Trouble::Resize { node, capacity } => {
                self.resize(node, capacity).await;
                Ok(None)
            }
            Trouble::Make { node, user, flood } => self.make(node, user, flood).await,
        }
    }

    fn count_disk(&mut self, is_full: bool) {
        self.done.full_disks += u64::from(is_full);
        self.done.full_disks_skipped += u64::from(!is_full);
    }

    pub(super) async fn stop(&mut self, node: usize) -> Option<Finding> {
        self.done.clean_stops += 1;
        match self.mesh.stop(node).await {
            Ok(status) if status.success() => None,
            Ok(status) => {
                let text = format!("n{node} was stopped by SIGTERM and ended with {status}:\n{}", self.mesh.log(node));
                Some(Finding::new("stop", text))
            }
            Err(error) => Some(Finding::new("stop", format!("n{node}: {error:#}\n{}", self.mesh.log(node)))),
        }
    }

    pub(super) async fn begin(&mut self, node: usize) -> Option<Finding> {
        let error = self.mesh.begin(node).await.err()?;
        Some(Finding::new("start", format!("n{node} does not start again: {error:#}\n{}", self.mesh.log(node))))
    }

    /// n0 holds, a client of n1 waits, n1 stops, n0 gives back, n1 starts again: everybody can be served.
    async fn stop_waiting(&mut self, holder: usize, node: usize) -> Outcome {
        let flood = cast::stages().iter().position(|stage| stage.protocol == "flood").unwrap_or_default();
        let name = stage_name(flood);
        let scene = self.scene.clone();
        let (held, waits) = (of_mutex(&name, LONG_LEASE), of_mutex(&name, LONG_LEASE));
        let mut user = User::new(&scene, holder, self.id("holder"), &held);
        let Ok(Some(safe_until)) = timeout(self.patience(), user.obtain()).await else {
            return Ok(Some(self.unserved(&name, holder, "before anything was done")));
        };
        let id = self.id("waiter");
        let waiting = tokio::spawn({
            let scene = scene.clone();
            async move { live(&scene, node, id, &waits).await }
        });
        self.until_queued(node, &name).await;
        let stopped = self.stop(node).await;
        waiting.abort(); // or it would ask anew
        user.release(safe_until).await;
        end_all_of(&scene, &name);
        let started = self.begin(node).await;
        if let Some(finding) = stopped.or(started) {
            return Ok(Some(finding));
        }
        for next in 0..self.mesh.len() {
            if !self.is_served(&name, next).await {
                let what = format!("after n{node} was stopped cleanly while its client waited, and started again");
                return Ok(Some(self.unserved(&name, next, &what)));
            }
        }
        Ok(None)
    }

    /// A client that was killed while it waited costs nobody anything.
    async fn kill_waiter(&mut self, name: &str, holder: usize, waiter: usize, next: usize) -> Outcome {
        let scene = self.scene.clone();
        let held = of_mutex(name, LONG_LEASE);
        let mut user = User::new(&scene, holder, self.id("holder"), &held);
        let Ok(Some(safe_until)) = timeout(self.patience(), user.obtain()).await else {
            return Ok(Some(self.unserved(name, holder, "before anything was done")));
        };
        let mut child = self.mesh.client(waiter, &["lock", name, "--lease", "120s"])?;
        self.until_queued(waiter, name).await;
        kill(&mut child);
        self.done.clients_killed += 1;
        sleep(NOTICED_WITHIN).await;
        user.release(safe_until).await;
        if self.is_served(name, next).await {
            return Ok(None);
        }
        let what = format!("after the holder gave it back and the only waiter, at n{waiter}, had been killed before");
        Ok(Some(self.unserved(name, next, &what)))
    }

    /// A client that is killed or paused while it holds is followed by the next after its lease.
    async fn lose_holder(&mut self, name: &str, holder: usize, next: usize, with_kill: bool) -> Outcome {
        let mut child = self.mesh.client(holder, &["lock", name, "--lease", "1s"])?;
        let granted = timeout(self.patience(), first_line(child.stdout.take())).await;
        if !matches!(&granted, Ok(Ok(line)) if line.contains("granted")) {
            kill(&mut child);
            return Ok(Some(self.unserved(name, holder, "by a command that asked for it")));
        }
        if with_kill {
            kill(&mut child);
            self.done.clients_killed += 1;
        } else {
            send(&child, Signal::STOP);
            self.done.clients_paused += 1;
        }
        let served = self.is_served(name, next).await;
        if !with_kill {
            send(&child, Signal::CONT);
            let end = ended(&mut child, SERVED_WITHIN).await;
            kill(&mut child);
            if served && end.is_none_or(|status| status.code() != Some(LOST)) {
                let text = format!("`meshlock lock` was paused past its lease and then ended with {end:?}, not {LOST}");
                return Ok(Some(Finding::new("lost holder", text)));
            }
        }
        let how = if with_kill { "killed" } else { "paused" };
        let lease = SHORT_LEASE.as_secs();
        Ok((!served)
            .then(|| self.unserved(name, next, &format!("after its holder was {how}, with a lease of {lease} s"))))
    }

    /// Many questions at one node, then two at once at every other.
    async fn storm(&mut self, node: usize) -> Option<Finding> {
        let mut askers = JoinSet::new();
        for _ in 0..4 {
            let mut line = self.scene.line(node);
            askers.spawn(async move {
                for _ in 0..QUESTIONS / 4 {
                    line.ask("GET", "/v1/status?patience=1s", "", SERVED_WITHIN).await;
                }
            });
        }
        askers.join_all().await;
        self.done.questions += QUESTIONS as u64;
        for _ in 0..BURSTS {
            let mut pairs = JoinSet::new();
            for asker in (0..2 * self.mesh.len()).map(|asker| asker / 2).filter(|asker| *asker != node) {
                let mut line = self.scene.line(asker);
                pairs
                    .spawn(async move { line.ask("GET", "/v1/status?patience=1s", "", SERVED_WITHIN).await.is_some() });
            }
            self.done.questions += pairs.len() as u64;
            let answered = pairs.join_all().await;
            let silent = answered.iter().filter(|answered| !**answered).count();
            if silent > 0 {
                let text = format!("{silent} of {} `status` at once had no answer within 60 s", answered.len());
                return Some(Finding::new("status", text));
            }
        }
        None
    }

    fn gather(&mut self, node: usize, resource: usize, size: usize) {
        let Some(resource) = cast::common().into_iter().nth(resource) else { return };
        let mut wanted = plain(&resource, "crowd", Duration::from_secs(10));
        wanted.asks.owner = Some("c".repeat(LONG_OWNER));
        for _ in 0..size {
            let (scene, wanted, id) = (self.scene.clone(), wanted.clone(), self.id("crowd"));
            self.crowd.spawn(async move { live(&scene, node, id, &wanted).await });
        }
        self.done.crowds += 1;
    }

    /// Thousands of requests wait at one node: the mesh still knows who holds, and all of them can be cancelled.
    async fn pile(&mut self, name: &str, node: usize, next: usize, size: usize) -> Outcome {
        let scene = self.scene.clone();
        let held = of_mutex(name, LONG_LEASE);
        let mut user = User::new(&scene, node, self.id("holder"), &held);
        let Ok(Some(safe_until)) = timeout(self.patience(), user.obtain()).await else {
            return Ok(Some(self.unserved(name, node, "before anything was done")));
        };
        let mut line = scene.line(node);
        let ids: Vec<String> = (0..size).map(|_| self.id("pile")).collect();
        for id in &ids {
            let owner = Some("p".repeat(LONG_OWNER));
            let lease_ms = u64::try_from(LONG_LEASE.as_millis()).ok();
            let asks = NewRequest { id: Some(id.clone()), lease_ms, owner, ..held.asks.clone() };
            line.ask("POST", "/v1/requests", &serde_json::to_string(&asks)?, SERVED_WITHIN).await;
        }
        let seen = self.is_seen_held(next, name).await;
        for id in &ids {
            line.ask("DELETE", &format!("/v1/requests/{id}"), "", SERVED_WITHIN).await;
        }
        user.release(safe_until).await;
        self.done.crowds += 1;
        let text = || format!("{name} is held at n{node} and {size} wait there; `status` at n{next} shows no holder");
        Ok((!seen).then(|| Finding::new("status", text())))
    }

    /// Whether the status of the mesh at a node shows a holder.
    async fn is_seen_held(&self, node: usize, name: &str) -> bool {
        let mut line = self.scene.line(node);
        let until = Instant::now() + self.patience();
        while Instant::now() < until {
            let path = format!("/v1/status?patience=10s&resource={name}");
            let answer = line.ask("GET", &path, "", SERVED_WITHIN).await;
            let body = answer.and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok()).unwrap_or_default();
            if body["resources"][0]["in_use"].as_u64().unwrap_or_default() > 0 {
                return true;
            }
            sleep(Duration::from_millis(200)).await;
        }
        false
    }

    /// Whether one more client gets a resource in time.
    async fn is_served(&mut self, name: &str, node: usize) -> bool {
        let wanted = of_mutex(name, Duration::from_secs(10));
        let until = Instant::now() + self.patience();
        loop {
            let scene = self.scene.clone();
            let mut user = User::new(&scene, node, self.id("next"), &wanted);
            match timeout(until.saturating_duration_since(Instant::now()), user.obtain()).await {
                Ok(Some(safe_until)) => {
                    user.release(safe_until).await;
                    return true;
                }
                // A node that was just started may refuse for a moment.
                Ok(None) if Instant::now() < until => sleep(Duration::from_millis(100)).await,
                Ok(None) | Err(_) => {
                    end_all_of(&scene, name);
                    return false;
                }
            }
        }
    }

    /// Waits until a request for a resource waits at a node. If it never does, what follows says little, and no harm.
    async fn until_queued(&self, node: usize, name: &str) {
        let mut line = self.scene.line(node);
        let until = Instant::now() + SERVED_WITHIN;
        while Instant::now() < until {
            let answer = line.ask("GET", "/v1/requests", "", SERVED_WITHIN).await;
            let body = answer.and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok()).unwrap_or_default();
            let waits = |request: &Value| request["resource"] == name && request["state"] == "QUEUED";
            if body.as_array().is_some_and(|requests| requests.iter().any(waits)) {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// How long the next one may wait for a resource.
    pub(super) fn patience(&self) -> Duration {
        SERVED_WITHIN + former_leases(self.mesh.recovery())
    }

    fn unserved(&self, name: &str, node: usize, what: &str) -> Finding {
        let within = self.patience().as_secs();
        Finding::new("unserved", format!("{name} was not granted at n{node} within {within} s, {what}"))
    }

    /// An id that was never used.
    pub(super) fn id(&mut self, who: &str) -> String {
        self.serial += 1;
        format!("{who}-{}", self.serial)
    }
}

/// The code of `meshlock lock` when it lost what it held.
const LOST: i32 = 123;

fn stage_name(stage: usize) -> String {
    cast::stages().into_iter().nth(stage).map(|stage| stage.name).unwrap_or_default()
}

/// A request for a mutex with nothing special about it.
pub(super) fn of_mutex(name: &str, lease: Duration) -> Use {
    let lease_ms = u64::try_from(lease.as_millis()).ok();
    Use {
        pause: Duration::ZERO,
        asks: NewRequest { resource: name.to_owned(), lease_ms, ..NewRequest::default() },
        company: Company::Nobody,
        hold: Duration::ZERO,
        change: None,
        ending: Ending::Release,
    }
}

/// The same for any resource. Where there are sessions, this one is attended.
pub(super) fn plain(resource: &Resource, session: &str, lease: Duration) -> Use {
    let mut wanted = of_mutex(&resource.name, lease);
    match resource.usage {
        Usage::Mutex | Usage::Readers => {}
        Usage::Units(_) | Usage::Resized => wanted.company = Company::Anybody,
        Usage::Deadlines(_) => {
            wanted.asks.urgency = Some(Urgency::Deadline(0));
            wanted.company = Company::Anybody;
        }
        Usage::Sessions => {
            wanted.asks.session = Some(session.to_owned());
            wanted.company = Company::Session(session.to_owned());
        }
    }
    wanted
}

/// Those of a scene whose clients are gone.
fn end_all_of(scene: &Scene, name: &str) {
    scene.history.end_open(name, How::Killed);
}

/// No process is left behind.
fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
