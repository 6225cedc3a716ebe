//! One request of a client that goes by the book: it renews in time, stops when it is told to, and relies on nothing
//! after its lease is over by its own clock. What it sees is noted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::history::{Grant, History, How, Time};
use super::plan::{Ending, Use};
use crate::bench::wire::{Answer, Wire};

/// How long one question waits at the node.
const POLL: Duration = Duration::from_secs(2);
/// How long to leave a node alone that does not answer.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a node may be silent before the connection is given up: longer than it is ever paused.
const SILENCE: Duration = Duration::from_secs(20);

/// What all clients have in common.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) history: Arc<History>,
    pub(super) sockets: Arc<[PathBuf]>,
}

impl Scene {
    pub(super) fn line(&self, node: usize) -> Line {
        Line { socket: self.sockets[node].clone(), wire: None }
    }
}

/// A way to a node that is opened again when it was closed.
#[derive(Debug)]
pub(super) struct Line {
    socket: PathBuf,
    wire: Option<Wire>,
}

impl Line {
    /// The answer, or nothing if there is no node at the moment.
    pub(super) async fn ask(&mut self, method: &str, path: &str, body: &str, patience: Duration) -> Option<Answer> {
        let asked = async {
            let mut wire = match self.wire.take() {
                Some(wire) => wire,
                None => Wire::connect(Path::new(&self.socket)).await.ok()?,
            };
            let answer = wire.ask(method, path, body).await.ok()?;
            Some((wire, answer))
        };
        let (wire, answer) = timeout(patience, asked).await.ok()??;
        self.wire = Some(wire);
        Some(answer)
    }
}

/// One request, from before it is asked until its end is noted.
pub(super) async fn live(scene: &Scene, node: usize, id: String, wanted: &Use) {
    let mut user = User::new(scene, node, id, wanted);
    match wanted.ending {
        Ending::Vanish(after) => {
            let vanished = timeout(after, user.go()).await.is_err();
            drop(user.line); // no word is said
            if vanished {
                scene.history.end(user.handle, How::Killed);
            }
        }
        Ending::Release | Ending::Cancel(_) | Ending::Overstay => user.go().await,
    }
}

/// A request under way.
pub(super) struct User<'a> {
    history: &'a History,
    wanted: &'a Use,
    line: Line,
    id: String,
    handle: usize,
    lease: Duration,
}

impl<'a> User<'a> {
    pub(super) fn new(scene: &'a Scene, node: usize, id: String, wanted: &'a Use) -> Self {
        let asks = &wanted.asks;
        let units = asks.units.unwrap_or(1);
        let handle = scene.history.open(id.clone(), node, &asks.resource, units, wanted.company.clone());
        let lease = Duration::from_millis(asks.lease_ms.unwrap_or(meshlock_api::resource::DEFAULT_LEASE_MS));
        Self { history: &scene.history, wanted, line: scene.line(node), id, handle, lease }
    }

    async fn go(&mut self) {
        if let Some(safe_until) = self.obtain().await {
            let safe_until = match self.wanted.ending {
                Ending::Overstay => {
                    sleep(self.lease.mul_f64(1.3)).await;
                    Some(safe_until)
                }
                Ending::Release | Ending::Cancel(_) | Ending::Vanish(_) => self.hold(safe_until).await,
            };
            if let Some(safe_until) = safe_until {
                self.release(safe_until).await;
            }
        }
    }

    /// Asks until it is granted; until when it is safe then. Nothing if it ended.
    pub(super) async fn obtain(&mut self) -> Option<Time> {
        let mut asks = self.wanted.asks.clone();
        asks.id = Some(self.id.clone());
        let body = serde_json::to_string(&asks).unwrap_or_default();
        let began = self.history.now();
        let mut heard = began;
        let mut change = self.wanted.change;
        let cancel = match self.wanted.ending {
            Ending::Cancel(after) => Some(began + after),
            Ending::Release | Ending::Vanish(_) | Ending::Overstay => None,
        };
        loop {
            let before = self.history.now();
            if cancel.is_some_and(|due| due <= before) {
                self.release(before + self.lease).await;
                return None;
            }
            if let Some((_, urgency)) = change.take_if(|(after, _)| began + *after <= before) {
                let body = json!({ "urgency": urgency }).to_string();
                self.line.ask("PATCH", &format!("/v1/requests/{}", self.id), &body, SILENCE).await;
            }
            let next = [cancel, change.map(|(after, _)| began + after)].into_iter().flatten().min();
            let poll = next.map_or(POLL, |due| due.saturating_sub(before).clamp(Duration::from_millis(1), POLL));
            let path = format!("/v1/requests?block_for={}ms", poll.as_millis());
            let Some(answer) = self.line.ask("POST", &path, &body, poll + SILENCE).await else {
                if self.history.now() - heard > self.lease {
                    self.history.end(self.handle, How::Unanswered);
                    return None;
                }
                sleep(PAUSE).await;
                continue;
            };
            heard = self.history.now();
            match standing(&answer) {
                Standing::Queued => self.history.note(self.handle, |_, _| ()),
                Standing::Granted { fence, expires_in } => {
                    let safe_until = before + expires_in;
                    let grant = |known| Grant { known, fence, safe_until };
                    self.history.note(self.handle, |claim, now| claim.grant = Some(grant(now)));
                    return Some(safe_until);
                }
                Standing::Over(how) => {
                    let refused = matches!(how, How::Refused(..));
                    self.history.end(self.handle, how);
                    if refused {
                        sleep(PAUSE).await; // as a client should that was refused
                    }
                    return None;
                }
            }
        }
    }

    /// Holds and renews for as long as wanted; until when it is safe then. Nothing if it was lost.
    async fn hold(&mut self, mut safe_until: Time) -> Option<Time> {
        let end = self.history.now() + self.wanted.hold;
        // A node may grant for less than was asked for; what it told is what counts.
        let mut due = third(self.history.now(), safe_until);
        loop {
            let now = self.history.now();
            if now >= end {
                return Some(safe_until);
            }
            if now >= safe_until {
                self.history.end(self.handle, How::Unanswered);
                return None;
            }
            if now < due {
                sleep(due.min(end).min(safe_until).saturating_sub(now)).await;
                continue;
            }
            let patience = safe_until.saturating_sub(now);
            match self.line.ask("POST", &format!("/v1/requests/{}/renew", self.id), "", patience).await {
                None => sleep(PAUSE.min(self.lease / 20)).await,
                Some(answer) => match standing(&answer) {
                    Standing::Granted { expires_in, .. } => {
                        safe_until = now + expires_in;
                        due = third(now, safe_until);
                        self.history.note(self.handle, |claim, _| {
                            if let Some(grant) = &mut claim.grant {
                                grant.safe_until = safe_until;
                            }
                        });
                    }
                    // Told to stop, not that it is over: whoever stops says so.
                    Standing::Over(How::Told(state)) if state == "REVOKED" => return Some(safe_until),
                    Standing::Over(how) => {
                        self.history.end(self.handle, how);
                        return None;
                    }
                    Standing::Queued => {
                        self.history.end(self.handle, How::Told("QUEUED after it was granted".to_owned()));
                        return None;
                    }
                },
            }
        }
    }

    /// Stops using it, or waiting for it, and says so until the node has heard it or the lease is over.
    pub(super) async fn release(&mut self, safe_until: Time) {
        self.history.note(self.handle, |claim, now| claim.left = Some(now));
        loop {
            let answer = self.line.ask("DELETE", &format!("/v1/requests/{}", self.id), "", SILENCE).await;
            let how = match answer.as_ref().map(standing) {
                Some(Standing::Over(how)) => how,
                Some(Standing::Granted { .. } | Standing::Queued) => How::Told("not over after DELETE".to_owned()),
                None if self.history.now() > safe_until => How::Unanswered,
                None => {
                    sleep(PAUSE).await;
                    continue;
                }
            };
            return self.history.end(self.handle, how);
        }
    }
}

/// When a third of the time is over.
fn third(from: Time, until: Time) -> Time {
    from + until.saturating_sub(from) / 3
}

/// What an answer says about a request.
enum Standing {
    Queued,
    Granted { fence: u64, expires_in: Duration },
    Over(How),
}

fn standing(answer: &Answer) -> Standing {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let number = |name: &str| body[name].as_u64().unwrap_or_default();
    match body["state"].as_str() {
        Some("QUEUED") => Standing::Queued,
        Some("GRANTED") => {
            Standing::Granted { fence: number("fence"), expires_in: Duration::from_millis(number("expires_in_ms")) }
        }
        Some(state) => Standing::Over(How::Told(state.to_owned())),
        None => Standing::Over(How::Refused(answer.status, body["message"].as_str().unwrap_or_default().to_owned())),
    }
}
