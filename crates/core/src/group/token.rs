//! The token of the repaired group protocol and the queue in it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::group::Level;
use crate::group::message::{Stamp, Wish};
use crate::protocol::Rejection;
use crate::view::{Claimant, Origin};
use crate::vocabulary::{Fence, NodeId, RequestId, Session, Units};

/// The one token. Its holder decides who enters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// How often it was given away.
    pub transfer: u64,
    /// How many sessions were opened: the fence of all grants in the latest.
    pub clock: Fence,
    /// The session that is open; `None` while all are outside.
    pub session: Option<Session>,
    /// The requests that wait.
    pub queue: Queue,
    /// The last word of every process that was taken up.
    pub accepted: BTreeMap<NodeId, Stamp>,
    /// Who was let in beside the captain and is not known to be out, each with its request.
    pub followers: BTreeMap<NodeId, RequestId>,
}

impl Token {
    /// Whether an honest peer could have sent this.
    pub(super) fn check(&self, is_member: impl Fn(NodeId) -> bool, levels: Level) -> Result<(), Rejection> {
        if self.transfer >= LIMIT || self.clock.0 >= LIMIT || self.accepted.values().any(|s| s.version >= LIMIT) {
            return Err(Rejection::NumberOutOfRange);
        }
        let queued = || self.queue.0.iter().flat_map(|entry| &entry.members);
        if queued().any(|m| !m.level.is_within(levels) || m.age >= levels.0) {
            return Err(Rejection::NumberOutOfRange);
        }
        let named = self.accepted.keys().chain(self.followers.keys()).copied().chain(queued().map(|m| m.node));
        if named.into_iter().any(|node| !is_member(node)) {
            return Err(Rejection::UnknownNode);
        }
        Ok(())
    }
}

/// Numbers from a peer that reach this are refused, so that ours can always be increased.
pub(super) const LIMIT: u64 = u64::MAX / 2;

/// Who waits: one entry per session, by level; among equals the older entry first.
///
/// The level of an entry is the greatest of its members'. A member's level is what it asked for and one more for every
/// opening of a session it has seen here, up to the greatest there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Queue(Vec<Entry>);

/// All who wait for one session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// The session they want.
    pub session: Session,
    /// Who, in order of arrival. Never empty.
    pub members: Vec<Member>,
}

/// One who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Member {
    /// The process.
    pub node: NodeId,
    /// The number of its request.
    pub number: RequestId,
    /// The level it asked for.
    pub level: Level,
    /// The levels it has gained by waiting.
    pub age: u32,
}

impl Entry {
    fn level(&self, levels: Level) -> Level {
        let aged = self.members.iter().map(|member| member.level.0.saturating_add(member.age));
        Level(aged.max().unwrap_or(0)).min(levels)
    }
}

impl Queue {
    /// No request waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this process waits here.
    pub fn has(&self, node: NodeId) -> bool {
        self.session_of(node).is_some()
    }

    /// Adds a request: to the entry of its session, or as a new one at the rear.
    pub(super) fn add(&mut self, node: NodeId, number: RequestId, wish: Wish, levels: Level) {
        let member = Member { node, number, level: wish.level, age: 0 };
        match self.0.iter_mut().find(|entry| entry.session == wish.session) {
            Some(entry) => entry.members.push(member),
            None => self.0.push(Entry { session: wish.session, members: alloc::vec![member] }),
        }
        self.sort(levels);
    }

    /// Gives a waiting request another level; what it gained by waiting it keeps.
    pub(super) fn change(&mut self, node: NodeId, level: Level, levels: Level) {
        for member in self.0.iter_mut().flat_map(|entry| &mut entry.members) {
            if member.node == node {
                member.level = level;
            }
        }
        self.sort(levels);
    }

    /// Takes a process out.
    pub(super) fn remove(&mut self, node: NodeId, levels: Level) {
        self.retain(|member| member != node, levels);
    }

    /// Takes out all processes but these.
    pub(super) fn retain(&mut self, stays: impl Fn(NodeId) -> bool, levels: Level) {
        for entry in &mut self.0 {
            entry.members.retain(|member| stays(member.node));
        }
        self.0.retain(|entry| !entry.members.is_empty());
        self.sort(levels);
    }

    /// One more session opens before all that wait.
    pub(super) fn age(&mut self, levels: Level) {
        for member in self.0.iter_mut().flat_map(|entry| &mut entry.members) {
            member.age = (member.age + 1).min(levels.0.saturating_sub(1));
        }
    }

    /// The session this process waits for.
    pub(super) fn session_of(&self, node: NodeId) -> Option<Session> {
        let waits = |entry: &&Entry| entry.members.iter().any(|member| member.node == node);
        self.0.iter().find(waits).map(|entry| entry.session)
    }

    /// Who waits for another session than this, each with its request.
    pub(super) fn others(&self, session: Session) -> impl Iterator<Item = (NodeId, RequestId)> {
        let others = self.0.iter().filter(move |entry| entry.session != session);
        others.flat_map(|entry| &entry.members).map(|member| (member.node, member.number))
    }

    /// Whether requests wait, and all of them for `session`.
    pub(super) fn is_all_for(&self, session: Option<Session>) -> bool {
        matches!(self.0.as_slice(), [only] if Some(only.session) == session)
    }

    /// Takes the first entry out.
    pub(super) fn take_first(&mut self) -> Option<Entry> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }

    /// Every waiting process, in order of service, at the level of its entry.
    pub(super) fn claimants(&self, levels: Level) -> Vec<Claimant> {
        let claimant = |entry: &Entry, member: &Member| Claimant {
            origin: Origin::Node(member.node),
            rank: entry.level(levels).rank(),
            units: Units(1),
            session: Some(entry.session),
        };
        self.0.iter().flat_map(|entry| entry.members.iter().map(move |member| claimant(entry, member))).collect()
    }

    /// Every waiting process, for renumbering.
    pub(super) fn members_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.0.iter_mut().flat_map(|entry| &mut entry.members)
    }

    /// Moves entries forward past those of strictly lower level. The sort is stable, so equals keep their order.
    fn sort(&mut self, levels: Level) {
        self.0.sort_by_key(|entry| core::cmp::Reverse(entry.level(levels)));
    }
}
