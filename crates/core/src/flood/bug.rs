//! Bugs that can be planted, and the [`Rules`] with these bugs in them; see [`crate::planted`].
//!
//! Each method here takes precedence over the rule of the same name.

use alloc::collections::BTreeMap;

use super::{
    Caller, Effects, Message, Node, Picture, Token, TokenStamp,
    recovery::RecoveryRules,
    rules::{Rules, Sent},
};
use crate::{
    protocol::Rejection,
    recovery::{Census, Remake},
    vocabulary::{Fence, NodeId},
};

crate::bugs! {
    /// Repeats and takes up what was heard or seen before.
    SkipDuplicateCheck,
    /// Accepts every copy of a token that is addressed to it.
    AcceptTokenTwice,
    /// Keeps no copy of the token it gives away.
    ForgetCopy,
    /// Gives the token only to those who are in its queue already.
    NoQueueMerge,
    /// Does not write into the token that its own request is done with.
    ForgetServed,
    /// Repeats a request under the same attempt, which relays drop.
    RepeatWithoutAttempt,
    /// Numbers every transfer 1.
    ResetTransfer,
    /// Goes on after a stop without the timer of its request.
    ForgetTimerOnResume,
    /// Goes on after a stop as if it had asked for nothing.
    ForgetAskingOnResume,
    /// Goes on after a stop without its copy of the token.
    ForgetCopyOnResume,
    /// Heeds requests of nodes that are gone.
    HearRequestOfGone,
    /// Takes or passes on a token whose giver is gone.
    TakeTokenOfGone,
    /// Takes a token that was meant for its former incarnation.
    TakeTokenOfFormerSelf,
    /// Remembers the requests of nodes that are gone.
    KeepRequestsOfGone,
    /// Leaves nodes that are gone in the token's queue.
    KeepGoneInQueue,
    /// Keeps and reports a copy of the token that went to a node that is gone.
    KeepCopyForGone,
    /// Does not report its copy of the token.
    ReportNoCopy,
    /// Does not report which transfers arrived.
    ReportNoArrival,
    /// Reports tokens that passed by, or that it gave away, as arrived.
    ReportSeenAsArrived,
    /// Numbers the transfers of a new token from 1.
    RemakeTransferFromOne,
    /// Begins the fences of a new token from 1.
    RemakeFenceFromOne,
    /// Makes a new token that knows of no request that it is served.
    RemakeWithoutServed,
}

impl Node {
    /// Plants a bug into this node.
    pub fn plant(&mut self, bug: Bug) {
        self.planted = crate::planted::Planted::bug(bug as u8);
    }

    fn has(&self, bug: Bug) -> bool {
        self.planted.has(bug as u8)
    }

    pub(super) fn is_known(&self, message: &Message) -> bool {
        let taken_again =
            self.has(Bug::AcceptTokenTwice) && matches!(message, Message::Token { to, .. } if *to == self.id);
        !taken_again && !self.has(Bug::SkipDuplicateCheck) && Rules::is_known(self, message)
    }

    pub(super) fn on_token(&mut self, sent: Sent, token: Token, effects: &mut Effects) -> Result<(), Rejection> {
        if self.has(Bug::AcceptTokenTwice) && sent.to == self.id && token.transfer <= self.seen.transfer {
            self.seen = self.seen.max(TokenStamp { transfer: token.transfer, attempt: sent.attempt });
            self.take_token(token, effects);
            return Ok(());
        }
        Rules::on_token(self, sent, token, effects)
    }

    pub(super) fn would_take(&self, from: NodeId, message: &Message, token: &Token) -> bool {
        let again = self.has(Bug::AcceptTokenTwice) && token.transfer <= self.seen.transfer;
        again || Rules::would_take(self, from, message, token)
    }

    pub(super) fn give_away(&mut self, effects: &mut Effects) {
        let inside = matches!(self.caller, Caller::Inside(_));
        if self.has(Bug::ResetTransfer)
            && !inside
            && let Some(token) = &mut self.token
        {
            token.transfer = 0;
        }
        Rules::give_away(self, effects);
        if self.has(Bug::ForgetCopy) {
            self.given_away = None;
        }
    }

    pub(super) fn mark_served(&self, token: &mut Token) {
        if !self.has(Bug::ForgetServed) {
            Rules::mark_served(self, token);
        }
    }

    pub(super) fn queue_unserved(&self, token: &mut Token) {
        if !self.has(Bug::NoQueueMerge) {
            Rules::queue_unserved(self, token);
        }
    }

    pub(super) fn ask_again(&mut self, effects: &mut Effects) {
        if self.has(Bug::RepeatWithoutAttempt) { self.ask(effects) } else { Rules::ask_again(self, effects) }
    }

    pub(super) fn on_resume(&mut self, effects: &mut Effects) {
        if self.has(Bug::ForgetCopyOnResume) {
            self.given_away = None;
        }
        if self.has(Bug::ForgetAskingOnResume) {
            self.asking = false;
        }
        if self.has(Bug::ForgetTimerOnResume) {
            self.leaving = false;
        } else {
            Rules::on_resume(self, effects);
        }
    }

    pub(super) fn is_void(&self, from: NodeId, message: &Message) -> bool {
        let heeded = match message {
            Message::Request { .. } => self.has(Bug::HearRequestOfGone),
            Message::Token { .. } => self.has(Bug::TakeTokenOfGone),
        };
        !heeded && RecoveryRules::is_void(self, from, message)
    }

    pub(super) fn is_mine(&self, to: NodeId) -> bool {
        let mine = self.has(Bug::TakeTokenOfFormerSelf) && to.member() == self.id.member();
        mine || RecoveryRules::is_mine(self, to)
    }

    pub(super) fn forget_requests_of_gone(&mut self) {
        if !self.has(Bug::KeepRequestsOfGone) {
            RecoveryRules::forget_requests_of_gone(self);
        }
    }

    pub(super) fn strike_gone(&self, token: &mut Token) {
        if !self.has(Bug::KeepGoneInQueue) {
            RecoveryRules::strike_gone(self, token);
        }
    }

    pub(super) fn live_copy(&self, census: &Census) -> Option<u64> {
        if self.has(Bug::KeepCopyForGone) {
            return self.given_away.as_ref().map(|copy| copy.token.transfer);
        }
        RecoveryRules::live_copy(self, census).filter(|_| !self.has(Bug::ReportNoCopy))
    }

    pub(super) fn drop_copy_for_gone(&mut self) {
        if !self.has(Bug::KeepCopyForGone) {
            RecoveryRules::drop_copy_for_gone(self);
        }
    }

    pub(super) fn latest_arrival(&self) -> u64 {
        match RecoveryRules::latest_arrival(self) {
            _ if self.has(Bug::ReportNoArrival) => 0,
            arrived if self.has(Bug::ReportSeenAsArrived) => arrived.max(self.seen.transfer),
            arrived => arrived,
        }
    }

    pub(super) fn new_transfer(&self, remake: &Remake) -> u64 {
        if self.has(Bug::RemakeTransferFromOne) { 0 } else { RecoveryRules::new_transfer(self, remake) }
    }

    pub(super) fn new_fence(&self, remake: &Remake) -> Fence {
        if self.has(Bug::RemakeFenceFromOne) { Fence(0) } else { RecoveryRules::new_fence(self, remake) }
    }

    pub(super) fn new_served<'a>(&self, pictures: impl Iterator<Item = &'a Picture>) -> BTreeMap<NodeId, u64> {
        if self.has(Bug::RemakeWithoutServed) { BTreeMap::new() } else { RecoveryRules::new_served(self, pictures) }
    }
}
