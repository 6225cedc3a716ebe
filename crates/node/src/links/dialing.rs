//! Dials known addresses until the node stops, and members whose beacons are heard once for each beacon.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::lookup_host;
use tokio::time::sleep;

use super::context::{Context, REMOVED, STOPPED};
use super::link::{Life, dial};
use super::transport::Failure;
use super::waiting::{HOLD_OFF, Waits};
use crate::mesh::Member;

/// A link that lived this long was a success: waits begin short again after it.
const GOOD_LIFE: Duration = Duration::from_secs(5);

/// When two members lose each other both dial; the one with the larger number lets the other begin, which saves a
/// second link that one of them has to close.
const HEAD_START: Duration = Duration::from_millis(100);

/// How often an address that is the node itself is tried again: it may have been given to another.
const MYSELF_AGAIN: Duration = Duration::from_secs(60);

/// The most addresses of one member that are tried at the same time because of beacons.
const MOST_ATTEMPTS: usize = 4;

/// Dials `host:port` until everything stops.
pub(super) async fn keep_dialing(context: Arc<Context>, target: String) {
    let seed = target.bytes().fold(context.run, |seed, byte| seed.rotate_left(9) ^ u64::from(byte));
    let mut target = Target::new(target, seed);
    tokio::select! {
        () = context.stopped() => {}
        () = target.keep(&context) => {}
    }
}

struct Target {
    name: String,
    /// Who answered there last.
    known: Option<Member>,
    /// What went wrong last time, so that it is told once only.
    complaint: String,
    waits: Waits,
}

impl Target {
    fn new(name: String, seed: u64) -> Self {
        Self { name, known: None, complaint: String::new(), waits: Waits::new(seed) }
    }

    async fn keep(&mut self, context: &Arc<Context>) {
        loop {
            if let Some(member) = self.known {
                self.wait_for_need(context, member).await;
            }
            let wait = match self.try_once(context).await {
                Ok(life) => self.after(context.me, &life),
                Err(failure) => {
                    self.complain(&failure);
                    self.waits.next()
                }
            };
            tokio::select! {
                () = sleep(wait) => {}
                () = context.rules_changed() => {}
            }
        }
    }

    /// Waits until a member that was found at this address has no link and may have one. One that was removed never may,
    /// but another may be found there: the same machine with a new invitation.
    async fn wait_for_need(&mut self, context: &Context, member: Member) {
        let began = Instant::now();
        loop {
            context.table.unlinked(member).await;
            context.admitted_or_removed(member).await;
            if context.refusal(member) == Some(REMOVED) {
                self.known = None;
                return;
            }
            if member < context.me {
                tokio::select! {
                    () = context.table.linked(member) => {}
                    () = sleep(HEAD_START) => {}
                }
            }
            if !context.table.is_linked(member) && context.refusal(member).is_none() {
                break;
            }
        }
        if began.elapsed() > GOOD_LIFE {
            self.waits.begin_again();
        }
    }

    async fn try_once(&self, context: &Arc<Context>) -> Result<Life, Failure> {
        let addresses = lookup_host(&self.name).await.map_err(|error| {
            Failure::harmless(format!("cannot find {}: {error}; a peer is written host:port", self.name))
        })?;
        let mut last = Failure::harmless(format!("{} has no address", self.name));
        for address in addresses {
            // In a task of its own: the caller may be cancelled, a link ends in its own way.
            let own = Arc::clone(context);
            match tokio::spawn(async move { dial(&own, address).await }).await {
                Ok(Ok(life)) => return Ok(life),
                Ok(Err(failure)) => last = failure,
                Err(error) => last = Failure::harmless(error.to_string()),
            }
        }
        Err(last)
    }

    /// How long to wait after a connection.
    fn after(&mut self, me: Member, life: &Life) -> Duration {
        self.complaint.clear();
        self.known = life.member.filter(|member| *member != me);
        if life.member == Some(me) {
            return MYSELF_AGAIN;
        }
        if life.lasting {
            return HOLD_OFF;
        }
        if life.lived > GOOD_LIFE {
            self.waits.begin_again();
        }
        tracing::debug!(peer = self.name, reason = life.reason, "dialed");
        self.waits.next()
    }

    fn complain(&mut self, failure: &Failure) {
        if failure.reason == STOPPED || failure.reason == self.complaint {
            tracing::debug!(peer = self.name, reason = failure.reason, "cannot reach");
            return;
        }
        if failure.suspicious {
            tracing::warn!(peer = self.name, reason = failure.reason, "cannot reach; trying on");
        } else {
            tracing::info!(peer = self.name, reason = failure.reason, "cannot reach; trying on");
        }
        self.complaint.clone_from(&failure.reason);
    }
}

/// A member of this mesh says that it is there: dials it unless that is needless. Whether a link to it is missing.
pub(super) fn heard(context: &Arc<Context>, member: Member, address: SocketAddr) -> bool {
    let needless = member == context.me || context.table.is_linked(member) || context.refusal(member).is_some();
    if needless || context.is_held_off(address) {
        return false;
    }
    let alone = {
        let mut attempts = context.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let tried = attempts.entry(member).or_default();
        if tried.len() >= MOST_ATTEMPTS || !tried.insert(address) {
            return true;
        }
        tried.len() == 1
    };
    let attempt = Attempt { context: Arc::clone(context), member, address };
    tokio::spawn(async move {
        let context = &attempt.context;
        if member < context.me || !alone {
            tokio::select! {
                () = context.stopped() => return,
                () = context.table.linked(member) => return,
                () = sleep(HEAD_START) => {}
            }
        }
        if let Err(failure) = dial(context, address).await {
            tracing::debug!(member = member.0, %address, reason = failure.reason, "a beacon, but no link");
        }
    });
    true
}

/// Forgets an attempt when it is over.
struct Attempt {
    context: Arc<Context>,
    member: Member,
    address: SocketAddr,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let mut attempts = self.context.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tried) = attempts.get_mut(&self.member) {
            tried.remove(&self.address);
            if tried.is_empty() {
                attempts.remove(&self.member);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hello::NoHello;
    use super::*;

    const ME: Member = Member(1);
    const OTHER: Member = Member(2);

    fn ended(member: Member, failure: Failure) -> Life {
        let Failure { reason, lasting, .. } = failure;
        Life { member: Some(member), lived: Duration::ZERO, reason, lasting }
    }

    #[test]
    fn after_a_version_mismatch_the_dialer_holds_off_for_30_seconds() {
        let mut target = Target::new("far:7700".into(), 1);
        let mismatch = || ended(OTHER, NoHello::OtherVersion("it speaks version 1".into()).into());
        let broken = || ended(OTHER, Failure::harmless("the connection broke"));
        for _ in 0..3 {
            assert_eq!(target.after(ME, &mismatch()), Duration::from_secs(30));
        }
        assert!(target.after(ME, &broken()) < Duration::from_secs(1), "any other end is tried again soon");
        let senseless = ended(OTHER, NoHello::Senseless("no hello".into()).into());
        assert!(target.after(ME, &senseless) < Duration::from_secs(1));
        assert_eq!(target.after(ME, &ended(ME, Failure::harmless("itself"))), MYSELF_AGAIN);
    }
}
