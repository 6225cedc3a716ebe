//! What happens when nodes are gone: what they used is struck, and a token that was lost with them is made anew.
//!
//! A node that was never told a census does not recover from crashes, and keeps nothing for it.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use super::capacity::Capacity;
use super::height::Height;
use super::message::Body;
use super::node::{Effects, FREE_TURNS, Node};
use super::questions::{About, Inquiry, News};
use super::token::{Loan, Token};
use crate::recovery::{Census, Picture as AnyPicture, Remake, Row};
use crate::vocabulary::{Fence, GrantId, NodeId, RequestId};

/// What a node tells for a new token.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Picture {
    /// What its clients hold.
    pub in_use: Vec<Loan>,
    /// Its height, once it has heard of the token.
    pub height: Option<Height>,
    /// The newest capacity that it knows.
    pub capacity: Capacity,
    /// How many grants it has heard of; stays zero where requests do not age.
    pub clock: Fence,
}

impl Node {
    /// Whether nodes that are gone are told to this one at all.
    pub(super) fn recovers(&self) -> bool {
        self.census != Census::default()
    }

    pub(super) fn picture(&self, census: &Census) -> Row {
        let loan = |grant: &crate::vocabulary::Grant| Loan {
            grant: GrantId { node: self.config.id, request: grant.request },
            units: grant.units,
            session: grant.session,
            slots: grant.slots.clone(),
        };
        let copy = self.limbo.as_ref().filter(|limbo| !census.is_gone(limbo.to)).map(|limbo| limbo.copy.pass);
        let clock = self.token.as_ref().map_or(self.clock, |token| token.granted.max(self.clock));
        let picture = Picture {
            in_use: self.holding.iter().map(loan).collect(),
            height: (!self.height.is_unset()).then_some(self.height),
            capacity: self.capacity,
            clock,
        };
        Row { token: self.token.is_some(), copy, accepted: self.arrived(), picture: AnyPicture::ReverseLink(picture) }
    }

    pub(super) fn on_census(&mut self, census: Census, out: &mut Effects) {
        self.census = census;
        let gone: Vec<NodeId> = self.peers.keys().copied().filter(|id| self.census.is_gone(*id)).collect();
        for neighbour in gone {
            self.on_link_down(neighbour, out);
        }
        self.drop_copy_for_gone(out);
        self.forget_questions_of_gone();
        self.send_releases_again();
        self.strike_what_is_over();
    }

    /// The new token, with everything that living clients use.
    pub(super) fn on_remake(&mut self, remake: &Remake, out: &mut Effects) {
        let pictures = || {
            remake.rows.iter().filter_map(|(_, row)| match &row.picture {
                AnyPicture::ReverseLink(picture) => Some(picture),
                AnyPicture::Flood(_) | AnyPicture::Group(_) => None,
            })
        };
        for picture in pictures() {
            self.capacity.keep_newer(picture.capacity);
        }
        let granted = pictures().map(|picture| picture.clock).max().unwrap_or_default();
        let pass = self.new_pass(remake);
        let base = self.new_base(remake, granted);
        let ledger = self.new_ledger(pictures());
        let token = Token { pass, granted, base, ledger, joined: 0, owed: None, capacity: self.capacity };
        self.token = Some(Box::new(token));
        self.accepted = pass;
        self.learn_decided(pass);
        let lowest = pictures().filter_map(|picture| picture.height).min();
        let first = Height { level: 0, depth: 0, id: self.config.id };
        self.height = lowest.map_or(first, |lowest| lowest.just_below(self.config.id));
        self.asked = None;
        self.free_turns = FREE_TURNS;
        self.strike_what_is_over();
        self.broadcast(Body::Here { pass }, out);
        self.forget_lower_claims();
    }
}

/// See [`Rules`](super::rules::Rules): those of them that are about nodes that are gone.
pub(super) trait RecoveryRules {
    /// A copy of the token for one who is gone is dropped: no late answer may bring it back. If the token is lost, it is
    /// made anew.
    fn drop_copy_for_gone(&mut self, out: &mut Effects);
    /// Questions of those who are gone are forgotten, and not passed on.
    fn forget_questions_of_gone(&mut self);
    /// Releases since the token was here last are sent again: who had them in custody may be gone.
    fn send_releases_again(&mut self);
    /// With the token: what the gone used is free, and so is what this node's own clients do not hold any more, since
    /// the release of that may have been lost.
    fn strike_what_is_over(&mut self);
    /// What has arrived here, not what this node promised to refuse: the giver may not have heard of the promise.
    fn arrived(&self) -> u64;
    /// Fences begin at the number of this repair: the lost token may have given more than anybody has heard of.
    fn new_base(&self, remake: &Remake, granted: Fence) -> u64;
    /// Above all that was ever reported, so that no node takes the new token for an old one.
    fn new_pass(&self, remake: &Remake) -> u64;
    /// Everything that clients of living nodes hold.
    fn new_ledger<'a>(&self, pictures: impl Iterator<Item = &'a Picture>) -> Vec<Loan>;
}

impl RecoveryRules for Node {
    fn drop_copy_for_gone(&mut self, out: &mut Effects) {
        if self.limbo.as_ref().is_none_or(|limbo| !self.census.is_gone(limbo.to)) {
            return;
        }
        self.limbo = None;
        let me = self.config.id;
        if matches!(self.questions.wants_to_know(me), Some(About::Pass { .. })) {
            let closed = News { origin: me, number: self.questions.known_number(me), inquiry: Inquiry::Confirmed };
            self.questions.record(closed);
            self.broadcast(Body::News(vec![closed]), out);
        }
    }

    fn forget_questions_of_gone(&mut self) {
        let census = &self.census;
        self.questions.forget(|origin| census.is_gone(origin));
    }

    fn send_releases_again(&mut self) {
        for grant in core::mem::take(&mut self.returned) {
            if !self.custody.has(grant) {
                self.custody.take(grant);
            }
            self.returned.push(grant);
        }
    }

    fn strike_what_is_over(&mut self) {
        let Some(token) = &mut self.token else { return };
        let me = self.config.id;
        let own: BTreeSet<RequestId> = self.holding.iter().map(|grant| grant.request).collect();
        let census = &self.census;
        let over = |grant: GrantId| census.is_gone(grant.node) || (grant.node == me && !own.contains(&grant.request));
        token.ledger.retain(|loan| !over(loan.grant));
        if token.ledger.is_empty() {
            token.joined = 0;
        }
        self.returned.clear();
    }

    fn arrived(&self) -> u64 {
        self.accepted
    }

    fn new_base(&self, remake: &Remake, granted: Fence) -> u64 {
        remake.first.saturating_sub(granted.0)
    }

    fn new_pass(&self, remake: &Remake) -> u64 {
        remake.first.max(remake.greatest_pass() + 1)
    }

    fn new_ledger<'a>(&self, pictures: impl Iterator<Item = &'a Picture>) -> Vec<Loan> {
        pictures.flat_map(|picture| &picture.in_use).cloned().collect()
    }
}
