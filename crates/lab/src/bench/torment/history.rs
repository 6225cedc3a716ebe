//! What clients saw: for every request when it was asked, granted and given up, by the one clock of the torment.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Time since the torment began.
pub(super) type Time = Duration;

/// What holds for the clients of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) capacity: u32,
    pub(super) fences: Fences,
}

/// What a fence counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fences {
    OfGrants,
    /// All who attend one session together have the same.
    OfSessions,
}

/// Who else may be inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Company {
    /// Anybody, as long as there are units.
    Anybody,
    /// Those of the same session.
    Session(String),
    Nobody,
}

/// One request, as its client saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Claim {
    pub(super) id: String,
    pub(super) node: usize,
    pub(super) resource: String,
    pub(super) units: u32,
    pub(super) company: Company,
    /// Before the question was sent.
    pub(super) asked: Time,
    pub(super) grant: Option<Grant>,
    /// When the client stopped using it: before it said so, or when it was killed.
    pub(super) left: Option<Time>,
    pub(super) end: Option<End>,
    /// When anything was last heard or done.
    pub(super) changed: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Grant {
    /// When the client knew of it.
    pub(super) known: Time,
    pub(super) fence: u64,
    /// Until when the client may rely on it: the lease, counted from before the last question that was answered.
    pub(super) safe_until: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct End {
    pub(super) at: Time,
    pub(super) how: How,
}

/// How a request ended for its client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) enum How {
    /// The node said so: `RELEASED`, `EXPIRED` and so on.
    Told(String),
    /// The node refused it: the status and the reason.
    Refused(u16, String),
    /// The client gave up, because the node did not answer for a lease.
    Unanswered,
    /// The client was killed.
    Killed,
}

impl Claim {
    /// When the client held it without any doubt.
    pub(super) fn held(&self) -> Option<(Time, Time)> {
        let grant = self.grant?;
        let until = self.left.map_or(grant.safe_until, |left| left.min(grant.safe_until));
        (grant.known < until).then_some((grant.known, until))
    }
}

/// All claims of a round.
#[derive(Debug)]
pub(super) struct History {
    began: Instant,
    claims: Mutex<Vec<Claim>>,
}

impl History {
    pub(super) fn new(began: Instant) -> Self {
        Self { began, claims: Mutex::default() }
    }

    pub(super) fn now(&self) -> Time {
        self.began.elapsed()
    }

    fn claims(&self) -> MutexGuard<'_, Vec<Claim>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request that is about to be made. The number is its handle.
    pub(super) fn open(&self, id: String, node: usize, resource: &str, units: u32, company: Company) -> usize {
        let now = self.now();
        let mut claims = self.claims();
        let resource = resource.to_owned();
        let (grant, left, end) = (None, None, None);
        claims.push(Claim { id, node, resource, units, company, asked: now, grant, left, end, changed: now });
        claims.len() - 1
    }

    /// Notes what was heard.
    pub(super) fn note(&self, handle: usize, change: impl FnOnce(&mut Claim, Time)) {
        let now = self.now();
        if let Some(claim) = self.claims().get_mut(handle) {
            change(claim, now);
            claim.changed = now;
        }
    }

    /// Notes how it ended, unless that is known already.
    pub(super) fn end(&self, handle: usize, how: How) {
        self.note(handle, |claim, now| {
            claim.left.get_or_insert(now);
            claim.end.get_or_insert(End { at: now, how });
        });
    }

    /// Notes how all of a resource ended that have not.
    pub(super) fn end_open(&self, resource: &str, how: How) {
        let now = self.now();
        for claim in self.claims().iter_mut().filter(|claim| claim.resource == resource && claim.end.is_none()) {
            claim.left.get_or_insert(now);
            claim.end = Some(End { at: now, how: how.clone() });
        }
    }

    pub(super) fn snapshot(&self) -> Vec<Claim> {
        self.claims().clone()
    }

    /// Until when clients of a node may rely on what it granted, as far as they know now.
    pub(super) fn held_until(&self, node: usize) -> Time {
        let claims = self.claims();
        let held = claims.iter().filter(|claim| claim.node == node).filter_map(Claim::held);
        held.map(|(_, until)| until).max().unwrap_or_default()
    }

    /// Requests that have not ended, on resources where nothing was heard for so long.
    pub(super) fn stuck(&self, silence: Duration) -> Vec<Claim> {
        let now = self.now();
        let claims = self.claims();
        let mut heard: BTreeMap<&str, Time> = BTreeMap::new();
        for claim in claims.iter() {
            // Waiting is no progress: only who is served or ends counts.
            let changed = claim.end.as_ref().map(|end| end.at).or(claim.grant.map(|_| claim.changed));
            let last = heard.entry(&claim.resource).or_default();
            *last = changed.unwrap_or_default().max(*last);
        }
        let is_stuck = |claim: &&Claim| {
            let heard = heard.get(claim.resource.as_str()).copied().unwrap_or_default();
            claim.end.is_none() && now.saturating_sub(heard.max(claim.asked)) > silence
        };
        claims.iter().filter(is_stuck).cloned().collect()
    }
}
