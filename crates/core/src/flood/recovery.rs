//! What happens when nodes are gone, and how a token that was lost with them is made anew.
//!
//! A flood takes many hops. So it is not the link that counts but who gave the token away: a token whose giver is gone
//! is refused, whichever living neighbour passes it on. By then the giver's copy is gone too, and either the receiver
//! had the token before it heard of that, and reports it, or the token is lost for certain and is made anew.
//!
//! Nobody living is inside when the token is lost, because the token is wherever a caller is inside. So the new one
//! needs nothing but the requests that are served. Ids of nodes tell incarnations apart, and the token says which
//! request of each is served; so it also says which request of its receiver it answers.
//!
//! A node that was never told a census does not recover from crashes, and keeps nothing for it.

use alloc::collections::BTreeMap;

use super::message::TRANSFERS;
use super::{Effects, Heard, Message, Node, Token, TokenStamp};
use crate::counters::CounterVisitor;
use crate::protocol::Misuse;
use crate::recovery::{Census, Picture as AnyPicture, Remake, Row};
use crate::vocabulary::{Fence, NodeId};

/// What a node tells for a new token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Picture {
    /// The node.
    pub site: NodeId,
    /// Its latest request, and how often that was repeated.
    pub own: Heard,
    /// That request is not served yet.
    pub asking: bool,
}

impl Picture {
    /// With the numbers of its row.
    pub(crate) fn visit_counters(
        &mut self,
        copy: &mut Option<u64>,
        accepted: &mut u64,
        visitor: &mut dyn CounterVisitor,
    ) {
        visitor.visit(TRANSFERS, 0);
        for transfer in copy.iter_mut().chain([accepted]) {
            visitor.number(TRANSFERS, transfer);
        }
        self.own.visit_counters(self.site, visitor);
    }
}

impl Node {
    /// Whether nodes that are gone are told to this one at all.
    fn recovers(&self) -> bool {
        self.census.counts().next().is_some() // whoever is told a census is in it
    }

    /// What a token that leaves here says of its giver.
    pub(super) fn named_giver(&self) -> Option<NodeId> {
        self.recovers().then_some(self.id)
    }

    pub(super) fn note_arrival(&mut self, transfer: u64) {
        if self.recovers() {
            self.accepted = transfer;
        }
    }

    /// Whether a token for this node answers the request that it has under way. Looked at only where nodes recover: a
    /// token that was made of a wrong row must not be taken for one that was asked for.
    pub(super) fn is_answered_by(&self, to: NodeId, token: &Token) -> bool {
        !self.recovers() || token.served(to) + 1 == self.heard_of(self.id).number
    }

    pub(super) fn picture(&self, census: &Census) -> Row {
        let picture = Picture { site: self.id, own: self.heard_of(self.id), asking: self.asking };
        Row {
            token: self.token.is_some(),
            copy: self.live_copy(census),
            accepted: self.latest_arrival(),
            picture: AnyPicture::Flood(picture),
        }
    }

    pub(super) fn on_census(&mut self, census: Census, effects: &mut Effects) {
        self.census = census;
        self.neighbours.retain(|node| !self.census.is_gone(*node));
        self.forget_requests_of_gone();
        self.drop_copy_for_gone();
        if self.asking {
            self.arm(1, effects); // the token that it waits for may be another one soon
        }
    }

    /// The new token: the caller here enters if it waits, otherwise the next who asks gets it.
    pub(super) fn on_remake(&mut self, remake: &Remake, effects: &mut Effects) -> Result<(), Misuse> {
        if !self.recovers() || self.token.is_some() {
            return Err(Misuse::Unsupported("make a token anew while there is one"));
        }
        let pictures = || {
            remake.rows.iter().filter_map(|(_, row)| match &row.picture {
                AnyPicture::Flood(picture) => Some(picture),
                AnyPicture::ReverseLink(_) | AnyPicture::Group(_) => None,
            })
        };
        for Picture { site, own, .. } in pictures().filter(|picture| picture.asking) {
            let heard = self.heard_of(*site).max(*own);
            self.heard.insert(*site, heard);
        }
        let transfer = self.new_transfer(remake);
        let (fence, served) = (self.new_fence(remake), self.new_served(pictures()));
        self.seen = self.seen.max(TokenStamp { transfer, attempt: 0 });
        self.given_away = None;
        self.take_token(Token { transfer, fence, served, ..Token::default() }, effects);
        Ok(())
    }
}

/// See [`Rules`](super::rules::Rules): those of them that are about nodes that are gone.
pub(super) trait RecoveryRules {
    /// What a node that is gone has said, or would pass on, is dropped: its requests, and the tokens it gave away.
    fn is_void(&self, from: NodeId, message: &Message) -> bool;
    /// A token is for one incarnation of its receiver.
    fn is_mine(&self, to: NodeId) -> bool;
    /// Requests of nodes that are gone are forgotten, so that the token is not given to them.
    fn forget_requests_of_gone(&mut self);
    /// Nor do they stay in the token. No other node queues them again: the census goes ahead of the token.
    fn strike_gone(&self, token: &mut Token);
    /// The transfer of the copy that is kept here, unless it went to a node that is gone.
    fn live_copy(&self, census: &Census) -> Option<u64>;
    /// A copy of the token for a node that is gone is dropped. If the token is lost, it is made anew.
    fn drop_copy_for_gone(&mut self);
    /// The greatest transfer that arrived *here*: a copy of it, or of an earlier one, is no token any more.
    fn latest_arrival(&self) -> u64;
    /// Above all that was ever reported, so that no node takes the new token for an old one.
    fn new_transfer(&self, remake: &Remake) -> u64;
    /// Above all that the lost token gave.
    fn new_fence(&self, remake: &Remake) -> Fence;
    /// Every request that is not under way is served.
    fn new_served<'a>(&self, pictures: impl Iterator<Item = &'a Picture>) -> BTreeMap<NodeId, u64>;
}

impl RecoveryRules for Node {
    fn is_void(&self, from: NodeId, message: &Message) -> bool {
        let origin_is_gone = match message {
            Message::Request { site, .. } => self.census.is_gone(*site),
            Message::Token { giver, .. } => giver.is_some_and(|giver| self.census.is_gone(giver)),
        };
        origin_is_gone || self.census.is_gone(from)
    }

    fn is_mine(&self, to: NodeId) -> bool {
        to == self.id
    }

    fn forget_requests_of_gone(&mut self) {
        let (me, census) = (self.id, &self.census);
        self.heard.retain(|node, _| *node == me || !census.is_gone(*node));
    }

    fn strike_gone(&self, token: &mut Token) {
        token.queue.retain(|node| !self.census.is_gone(*node));
        token.served.retain(|node, _| !self.census.is_gone(*node));
    }

    fn live_copy(&self, census: &Census) -> Option<u64> {
        let copy = self.given_away.as_ref().filter(|copy| !census.is_gone(copy.to));
        copy.map(|copy| copy.token.transfer)
    }

    fn drop_copy_for_gone(&mut self) {
        let census = &self.census;
        self.given_away = self.given_away.take().filter(|copy| !census.is_gone(copy.to));
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

    fn new_served<'a>(&self, pictures: impl Iterator<Item = &'a Picture>) -> BTreeMap<NodeId, u64> {
        let served = |picture: &Picture| (picture.site, picture.own.number.saturating_sub(picture.asking.into()));
        pictures.map(served).filter(|(_, number)| *number > 0).collect()
    }
}

/// For the fields of saved nodes that are written only where nodes recover.
#[cfg(feature = "serde")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(super) const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
