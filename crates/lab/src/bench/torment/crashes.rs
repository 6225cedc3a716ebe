//! Troubles that take nodes away: crashes, blackouts, members that end for good. And what is done to resources
//! meanwhile.

use std::time::{Duration, Instant};

use meshlock_api::{NewRequest, ResourceInfo};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::cast;
use super::plan::Farewell;
use super::troubles::{Conductor, Outcome, SERVED_WITHIN, of_mutex};
use super::user::{User, live};
use super::verdict::Finding;
use crate::bench::processes::Recovery;

/// A client reads what its node said before it was killed within this time, on any machine.
const HEARD_WITHIN: Duration = Duration::from_secs(1);
/// How long a node tries to reach the registry.
const REGISTRY_PATIENCE: &str = "5s";

impl Conductor {
    pub(super) async fn crash(&mut self, node: usize) -> anyhow::Result<()> {
        self.done.node_kills += 1;
        self.mesh.kill(node).await
    }

    /// Killed, started again, and perhaps both once more.
    pub(super) async fn crash_and_return(&mut self, node: usize, away: Duration, again: Option<Duration>) -> Outcome {
        self.crash(node).await?;
        sleep(away).await;
        if let Some(finding) = self.begin(node).await {
            return Ok(Some(finding));
        }
        let Some(up) = again else { return Ok(None) };
        sleep(up).await;
        self.crash(node).await?;
        Ok(self.begin(node).await)
    }

    /// The second is killed while the first is missed, or just when the mesh repairs itself.
    pub(super) async fn crash_in_repair(
        &mut self,
        first: usize,
        second: usize,
        after: Duration,
        away: Duration,
    ) -> Outcome {
        self.crash(first).await?;
        sleep(after).await;
        self.crash(second).await?;
        sleep(away).await;
        let begun = self.begin(second).await;
        Ok(begun.or(self.begin(first).await))
    }

    /// Power fails.
    pub(super) async fn blackout(&mut self, late: usize, away: Duration) -> Outcome {
        self.done.blackouts += 1;
        self.done.node_kills += self.mesh.len() as u64;
        self.mesh.kill_all().await?;
        for node in (0..self.mesh.len()).filter(|node| *node != late) {
            if let Some(finding) = self.begin(node).await {
                return Ok(Some(finding));
            }
        }
        sleep(away).await;
        Ok(self.begin(late).await)
    }

    /// A member ends for good, and a new one takes its place.
    pub(super) async fn replace(&mut self, node: usize, farewell: Farewell, away: Duration) -> Outcome {
        if node >= self.mesh.len() {
            return Ok(None); // too few for that
        }
        let vouched = farewell != Farewell::Crash || self.mesh.recovery() == Recovery::Restart;
        if farewell == Farewell::CleanStop {
            if let Some(finding) = self.stop(node).await {
                return Ok(Some(finding));
            }
        } else {
            self.crash(node).await?;
        }
        if vouched {
            // Whoever vouches for a node vouches for its clients.
            sleep(HEARD_WITHIN).await;
            let over = self.scene.history.held_until(node);
            sleep(over.saturating_sub(self.scene.history.now())).await;
        }
        if let Err(refused) = self.mesh.expel(node, vouched) {
            // A voter leaves only when others vote in its place, which takes a majority of them; the command says so. Then
            // it comes back as itself.
            self.done.kept += 1;
            self.refusals.insert(refused.to_string());
            return Ok(self.begin(node).await);
        }
        self.done.replaced += 1;
        sleep(away).await;
        self.mesh.admit_another(node)?;
        Ok(self.begin(node).await)
    }

    /// Makes the resource whose capacity changes. It is there before anybody asks for it.
    pub(super) async fn make_resized(&mut self) -> anyhow::Result<Option<Finding>> {
        let until = Instant::now() + self.patience();
        let body = json!({ "kind": "semaphore", "capacity": cast::MOST_CAPACITY }).to_string();
        let (asked, mut line) = (self.scene.history.now(), self.scene.line(0));
        let path = format!("/v1/resources/{}?block_for=10s", cast::RESIZED);
        loop {
            let answer = line.ask("PUT", &path, &body, SERVED_WITHIN).await;
            if answer.as_ref().is_some_and(|answer| matches!(answer.status, 200 | 201)) {
                self.sizes.note(cast::MOST_CAPACITY, asked, Some(self.scene.history.now()));
                return Ok(None);
            }
            if Instant::now() > until {
                return Ok(Some(Finding::new("registry", "a resource cannot be made although all is well")));
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Asks for another capacity; whether the node said that it is done.
    pub(super) async fn resize(&mut self, node: usize, capacity: u32) -> bool {
        let body = json!({ "capacity": capacity }).to_string();
        let path = format!("/v1/resources/{}?block_for={REGISTRY_PATIENCE}", cast::RESIZED);
        let (asked, mut line) = (self.scene.history.now(), self.scene.line(node));
        let answer = line.ask("PATCH", &path, &body, SERVED_WITHIN).await;
        let is_done = answer.is_some_and(|answer| answer.status == 200);
        self.done.resizes += u64::from(is_done);
        self.sizes.note(capacity, asked, is_done.then(|| self.scene.history.now()));
        is_done
    }

    /// When all is well, the capacity can be changed. It is the largest then.
    pub(super) async fn resize_at_last(&mut self) -> Option<Finding> {
        let until = Instant::now() + self.patience();
        while Instant::now() < until {
            if self.resize(0, cast::MOST_CAPACITY).await {
                return self.all_hear_of_the_size(until).await;
            }
            sleep(Duration::from_millis(100)).await;
        }
        let text = format!("the capacity of {} cannot be changed although all faults are over", cast::RESIZED);
        Some(Finding::new("registry", text))
    }

    /// A change is told from node to node; one that has not heard of it yet rightly refuses what does not fit.
    async fn all_hear_of_the_size(&mut self, until: Instant) -> Option<Finding> {
        let path = format!("/v1/resources/{}", cast::RESIZED);
        for node in 0..self.mesh.len() {
            loop {
                let answer = self.scene.line(node).ask("GET", &path, "", SERVED_WITHIN).await;
                let known = answer.and_then(|answer| serde_json::from_slice::<ResourceInfo>(&answer.body).ok());
                if known.is_some_and(|known| known.definition.capacity == cast::MOST_CAPACITY) {
                    break;
                }
                if Instant::now() > until {
                    let text = format!("n{node} does not hear of the new capacity of {}", cast::RESIZED);
                    return Some(Finding::new("registry", text));
                }
                sleep(Duration::from_millis(20)).await;
            }
        }
        None
    }

    /// Makes a resource and lets a client of another node use it. If the registry is out of reach, nothing is made; the
    /// client's request makes it later.
    pub(super) async fn make(&mut self, node: usize, user: usize, flood: bool) -> Outcome {
        let name = self.id("made");
        let body = json!({ "protocol": if flood { "flood" } else { "reverse-link" } }).to_string();
        let path = format!("/v1/resources/{name}?block_for={REGISTRY_PATIENCE}");
        let answer = self.scene.line(node).ask("PUT", &path, &body, SERVED_WITHIN).await;
        self.done.made += u64::from(answer.is_some_and(|answer| answer.status == 201));
        for node in [user, node] {
            let wanted = of_mutex(&name, Duration::from_secs(5));
            let wanted = super::plan::Use { hold: Duration::from_millis(200), ..wanted };
            let (scene, id) = (self.scene.clone(), self.id("maker"));
            self.crowd.spawn(async move { live(&scene, node, id, &wanted).await });
        }
        Ok(None)
    }

    /// Whether all units of every resource can be taken at once: none has leaked.
    pub(super) async fn take_all(&mut self) -> Option<Finding> {
        for resource in cast::common() {
            let Some(capacity) = resource.units() else { continue };
            let lease_ms = Some(10_000);
            let asks =
                NewRequest { resource: resource.name.clone(), units: Some(capacity), lease_ms, ..Default::default() };
            let wanted = super::plan::Use { asks, ..super::troubles::plain(&resource, "", Duration::from_secs(10)) };
            let node = usize::try_from(self.serial).unwrap_or_default() % self.mesh.len();
            let until = Instant::now() + self.patience();
            loop {
                let (scene, id) = (self.scene.clone(), self.id("all"));
                let mut user = User::new(&scene, node, id, &wanted);
                match timeout(until.saturating_duration_since(Instant::now()), user.obtain()).await {
                    Ok(Some(safe_until)) => {
                        user.release(safe_until).await;
                        break;
                    }
                    Ok(None) if Instant::now() < until => sleep(Duration::from_millis(100)).await,
                    Ok(None) | Err(_) => {
                        let status = self.status_of(node, &resource.name).await;
                        let text =
                            format!("all {capacity} units of {} cannot be taken at n{node}: {status}", resource.name);
                        return Some(Finding::new("leak", text));
                    }
                }
            }
        }
        None
    }

    async fn status_of(&self, node: usize, name: &str) -> Value {
        let path = format!("/v1/status?patience=10s&resource={name}");
        let answer = self.scene.line(node).ask("GET", &path, "", SERVED_WITHIN).await;
        answer.and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok()).unwrap_or_default()["resources"]
            .clone()
    }
}
