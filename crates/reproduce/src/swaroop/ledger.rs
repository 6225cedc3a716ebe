//! What every entry cost and in which role it was made, from every event of a run.

use crate::prelude::*;
use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol, Session};
use meshlock_protocols::{Message, Node};
use meshlock_sim::observe::Observer;
use meshlock_sim::outcome::Outcome;
use meshlock_sim::scenario::Scenario;
use meshlock_sim::time::Time;

/// How a process got in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// By the token, which came to it.
    Captain,
    /// By a start.
    Follower,
    /// The token was there: no request was sent, or its own was the next.
    Holder,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) node: NodeId,
    pub(super) session: Option<Session>,
    pub(super) asked: Time,
    pub(super) granted: Time,
    pub(super) released: Option<Time>,
    pub(super) role: Role,
    /// How many were asked.
    pub(super) requests: u64,
    /// All messages that were sent for it: requests, token or start, complete.
    pub(super) messages: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    pub(super) entries: Vec<Entry>,
    /// The most entries of the token's queue ever seen, if it is looked at.
    longest_queue: usize,
    looks_at_queue: bool,
    /// By node: what is asked for and not yet left.
    open: Vec<Open>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Open {
    session: Option<Session>,
    asked: Time,
    requests: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing is asked for; a printed text may let it in all the same, which is no entry.
    #[default]
    Over,
    Waits,
    /// Inside, with the place in `entries`.
    Inside(usize),
}

impl Ledger {
    fn of_nodes(nodes: &[Node]) -> Self {
        Self { open: vec![Open::default(); nodes.len()], ..Self::default() }
    }

    pub(super) fn costliest(&self, role: Role) -> Option<u64> {
        self.of(role).map(|entry| entry.messages).max()
    }

    pub(super) fn of(&self, role: Role) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.role == role)
    }

    fn enter(&mut self, node: NodeId, now: Time, role: Role) {
        let waits = |open: &&mut Open| open.stage == Stage::Waits;
        let Some(open) = self.open.get_mut(node.0 as usize).filter(waits) else { return };
        let Open { session, asked, requests, .. } = *open;
        open.stage = Stage::Inside(self.entries.len());
        let messages = requests + u64::from(role != Role::Holder);
        self.entries.push(Entry { node, session, asked, granted: now, released: None, role, requests, messages });
    }

    fn leave(&mut self, node: NodeId, now: Time, completes: u64) {
        let Some(open) = self.open.get_mut(node.0 as usize) else { return };
        let Stage::Inside(place) = std::mem::take(&mut open.stage) else { return };
        if let Some(entry) = self.entries.get_mut(place) {
            entry.released = Some(now);
            entry.messages += completes;
        }
    }

    /// An entry of the queue is a run of claimants for one session; a process that comes twice belongs to two.
    fn look_at_queue(&mut self, node: &Node) {
        let Some(token) = node.view().token else { return };
        let mut seen: Vec<_> = Vec::new();
        let mut last = None;
        let mut entries = 0;
        for claimant in token.queue {
            if last != Some(claimant.session) || seen.contains(&claimant.origin) {
                entries += 1;
            }
            last = Some(claimant.session);
            seen.push(claimant.origin);
        }
        self.longest_queue = self.longest_queue.max(entries);
    }
}

impl Observer for Ledger {
    fn handled(&mut self, now: Time, node: &Node, event: Event<Message>, effects: Result<&[Effect<Message>], Misuse>) {
        if effects.is_err() {
            return;
        }
        let (id, place) = (node.id(), node.id().0 as usize);
        if let Event::Request { demand, .. } = &event
            && let Some(open) = self.open.get_mut(place)
        {
            *open = Open { session: demand.session, asked: now, requests: 0, stage: Stage::Waits };
        }
        let requests = sent(node, effects, |kind| kind.starts_with("request"));
        if let Some(open) = self.open.get_mut(place).filter(|open| open.stage == Stage::Waits) {
            open.requests += requests;
        }
        let role = match received(&event) {
            Some((_, "token")) => Role::Captain,
            Some((_, "start")) => Role::Follower,
            Some(_) | None => Role::Holder,
        };
        if matches!(event, Event::Release { .. }) {
            self.leave(id, now, sent(node, effects, |kind| kind.starts_with("complete")));
        }
        if effects.is_ok_and(|effects| effects.iter().any(|effect| matches!(effect, Effect::Granted { .. }))) {
            self.enter(id, now, role);
        }
        if self.looks_at_queue {
            self.look_at_queue(node);
        }
    }
}

/// The most entries that the queue of the token ever had in runs with seeds 1 to `seeds`, and how these ended.
pub(super) fn longest_queue(scenario: &Scenario, seeds: u64) -> (usize, Runs) {
    let runs = watch(scenario, seeds, |nodes| Ledger { looks_at_queue: true, ..Ledger::of_nodes(nodes) });
    let longest = runs.iter().map(|(ledger, _)| ledger.longest_queue).max().unwrap_or(0);
    (longest, Runs::of(runs.iter().map(|(_, outcome)| outcome)))
}

pub(super) fn watched(scenario: &Scenario, seeds: u64) -> Vec<(Ledger, Outcome)> {
    watch(scenario, seeds, Ledger::of_nodes)
}
