//! What happens when processes are gone, and how a token that was lost with them is made anew.
//!
//! The token comes from its giver itself, whatever carries it. So all that a process that is gone has said is refused,
//! whenever it arrives; and so is the start of a session whose captain is gone, whoever sent it, because the token that
//! it counts in is lost.
//!
//! When the captain is gone, its followers may still be inside. All who are inside are in one session with one fence,
//! the greatest that was ever given: the next session opens only when they are known to be out. So the session goes on
//! under the heir, with those who report that they are inside. Records say the rest: who waits is not among those taken
//! up, and is taken up again.
//!
//! A process that was never told a census does not recover from crashes, and keeps nothing for it. One without timers
//! keeps no copies of the token, and cannot recover.

use alloc::vec::Vec;

use crate::group::message::{Message, Record, Stamp, Start};
use crate::group::node::{Effects, Node};
use crate::group::token::Token;
use crate::protocol::Misuse;
use crate::recovery::{Census, Picture as AnyPicture, Remake, Row};
use crate::vocabulary::{Fence, NodeId, Session};

/// What a process tells for a new token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Picture {
    /// The process.
    pub node: NodeId,
    /// Its latest word, if it ever asked.
    pub record: Option<Record>,
    /// The fence of its grant, if it is inside. The record has the number and the session.
    pub inside: Option<Fence>,
}

/// One who is inside when the token is made anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attendant {
    node: NodeId,
    stamp: Stamp,
    session: Session,
    fence: Fence,
}

impl Node {
    /// Whether processes that are gone are told to this one at all.
    pub(super) fn recovers(&self) -> bool {
        self.census.counts().next().is_some() // whoever is told a census is in it
    }

    /// Whether this process may take part. A census names members, of which the list cannot have later incarnations.
    pub(super) fn knows(&self, node: NodeId) -> bool {
        self.members.include(node) || self.census.is_living(node) || self.census.is_gone(node)
    }

    /// Whether this is dropped for good because of who is gone.
    pub(super) fn is_void(&self, from: NodeId, message: &Message) -> bool {
        self.is_deaf_to(from)
            || match message {
                Message::Start(start) => self.is_void_start(start),
                Message::Token(token) => !self.is_for_me(token),
                Message::Request { .. } | Message::Complete { .. } | Message::Ask { .. } | Message::Have { .. } => {
                    false
                }
            }
    }

    pub(super) fn note_arrival(&mut self, transfer: u64) {
        if self.recovers() {
            self.accepted = transfer;
        }
    }

    pub(super) fn picture(&self, census: &Census) -> Option<Row> {
        self.retry?;
        let record = self.heard.get(&self.id).copied();
        let inside = self.inside.as_ref().and_then(|inside| inside.grant.fence);
        Some(Row {
            token: self.token.is_some(),
            copy: self.live_copy(census),
            accepted: self.latest_arrival(),
            picture: AnyPicture::Group(Picture { node: self.id, record, inside }),
        })
    }

    pub(super) fn on_census(&mut self, census: Census, effects: &mut Effects) -> Result<(), Misuse> {
        if self.retry.is_none() {
            return Err(Misuse::Unsupported("recover without repeating what may be lost"));
        }
        self.census = census;
        self.forget_records_of_gone();
        self.drop_copy_for_gone();
        if let Some(inside) = &mut self.inside {
            inside.tells_all = inside.captain.is_some();
        }
        if self.waits().is_some() {
            self.epoch += 1;
            self.arm(effects); // the token that it waits for may be another one soon
        }
        self.serve(effects);
        Ok(())
    }

    /// The new token. If this process is inside, it is captain now.
    pub(super) fn on_remake(&mut self, remake: &Remake, effects: &mut Effects) -> Result<(), Misuse> {
        if !self.recovers() || self.token.is_some() {
            return Err(Misuse::Unsupported("make a token anew while there is one"));
        }
        let mut attendants = Vec::new();
        for (_, row) in &remake.rows {
            let AnyPicture::Group(Picture { node, record: Some(record), inside }) = row.picture else { continue };
            if self.heard.get(&node).is_none_or(|known| known.stamp < record.stamp) {
                self.heard.insert(node, record);
            }
            if let (Some(fence), Some(wish)) = (inside, record.wish) {
                attendants.push(Attendant { node, stamp: record.stamp, session: wish.session, fence });
            }
        }
        let transfer = self.new_transfer(remake);
        let mut token = Token { transfer, clock: self.new_fence(remake), ..Token::default() };
        self.let_attendants_stay(&mut token, &attendants);
        self.seen = self.seen.max(transfer);
        self.note_arrival(transfer);
        self.copy = None;
        if let Some(inside) = &mut self.inside {
            (inside.captain, inside.tells_all) = (None, false);
        }
        self.token = Some(token);
        self.serve(effects);
        Ok(())
    }
}

/// See [`Rules`](super::rules::Rules): those of them that are about processes that are gone.
pub(super) trait RecoveryRules {
    /// What a process that is gone has said is dropped.
    fn is_deaf_to(&self, from: NodeId) -> bool;
    /// A start is void when its captain is gone: the token that it counts in is lost.
    fn is_void_start(&self, start: &Start) -> bool;
    /// A token is for one incarnation of its receiver: the one whose request it has taken up.
    fn is_for_me(&self, token: &Token) -> bool;
    /// Records of processes that are gone are forgotten, so that they are not taken up.
    fn forget_records_of_gone(&mut self);
    /// Followers that are gone are out: their clients' grants are over.
    fn strike_gone_followers(&self, token: &mut Token);
    /// A session that only processes that are gone have asked for is not opened, nor is one of them captain.
    fn strike_gone_in_queue(&self, token: &mut Token);
    /// The transfer of the copy that is kept here, unless it went to a process that is gone.
    fn live_copy(&self, census: &Census) -> Option<u64>;
    /// A copy of the token for a process that is gone is dropped. If the token is lost, it is made anew.
    fn drop_copy_for_gone(&mut self);
    /// The greatest transfer that arrived *here*: a copy of it, or of an earlier one, is no token any more.
    fn latest_arrival(&self) -> u64;
    /// Above all that was ever reported, so that no process takes the new token for an old one.
    fn new_transfer(&self, remake: &Remake) -> u64;
    /// Above all that the lost token gave.
    fn new_fence(&self, remake: &Remake) -> Fence;
    /// The session of those who are inside goes on, under its fence.
    fn let_attendants_stay(&self, token: &mut Token, attendants: &[Attendant]);
}

impl RecoveryRules for Node {
    fn is_deaf_to(&self, from: NodeId) -> bool {
        self.census.is_gone(from)
    }

    fn is_void_start(&self, start: &Start) -> bool {
        self.census.is_gone(start.captain)
    }

    fn is_for_me(&self, token: &Token) -> bool {
        !self.recovers() || token.accepted.contains_key(&self.id)
    }

    fn forget_records_of_gone(&mut self) {
        let (me, census) = (self.id, &self.census);
        self.heard.retain(|node, _| *node == me || !census.is_gone(*node));
    }

    fn strike_gone_followers(&self, token: &mut Token) {
        token.followers.retain(|node, _| !self.census.is_gone(*node));
    }

    fn strike_gone_in_queue(&self, token: &mut Token) {
        if self.recovers() {
            token.queue.retain(|node| !self.census.is_gone(node), self.levels);
            // Nobody takes them up again: the census goes ahead of the token.
            token.accepted.retain(|node, _| !self.census.is_gone(*node));
        }
    }

    fn live_copy(&self, census: &Census) -> Option<u64> {
        let copy = self.copy.as_ref().filter(|copy| !census.is_gone(copy.to));
        copy.map(|copy| copy.token.transfer)
    }

    fn drop_copy_for_gone(&mut self) {
        let census = &self.census;
        self.copy = self.copy.take().filter(|copy| !census.is_gone(copy.to));
    }

    fn latest_arrival(&self) -> u64 {
        self.accepted
    }

    fn new_transfer(&self, remake: &Remake) -> u64 {
        remake.first.max(remake.greatest_pass() + 1)
    }

    fn new_fence(&self, remake: &Remake) -> Fence {
        Fence(remake.first)
    }

    fn let_attendants_stay(&self, token: &mut Token, attendants: &[Attendant]) {
        let Some(fence) = attendants.iter().map(|attendant| attendant.fence).max() else { return };
        token.clock = fence;
        for Attendant { node, stamp, session, .. } in attendants {
            token.session = Some(*session);
            token.accepted.insert(*node, *stamp);
            if *node != self.id {
                token.followers.insert(*node, stamp.number);
            }
        }
    }
}

/// For the fields of saved nodes that are written only where processes recover.
#[cfg(feature = "serde")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(super) const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
