//! Bugs that can be planted, and the [`Rules`] with these bugs in them; see [`crate::planted`].
//!
//! Each method here takes precedence over the rule of the same name.

use super::{Caller, Effects, Message, Node, Token, TokenStamp, rules::Rules};
use crate::{protocol::Rejection, vocabulary::NodeId};

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

    pub(super) fn on_token(
        &mut self,
        to: NodeId,
        attempt: u64,
        token: Token,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        if self.has(Bug::AcceptTokenTwice) && to == self.id && token.transfer <= self.seen.transfer {
            self.seen = self.seen.max(TokenStamp { transfer: token.transfer, attempt });
            self.take_token(token, effects);
            return Ok(());
        }
        Rules::on_token(self, to, attempt, token, effects)
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
}
