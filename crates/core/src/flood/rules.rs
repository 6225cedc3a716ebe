//! The rules of `docs/protocols/flood.md`: what a node does with what it hears, and with the token.
//!
//! Those in the trait [`Rules`] have a planted bug. With the feature `mutants`, `bug.rs` gives [`Node`] an inherent
//! method of the same name, which `self.give_away(..)` finds first. A product has the rules alone.

use super::recovery::RecoveryRules;
use super::{Caller, Effects, GivenAway, Heard, Message, Node, Token, TokenStamp};
use crate::protocol::{Delay, Effect, Rejection, Timer};
use crate::vocabulary::NodeId;

pub(super) trait Rules {
    /// Heard or seen before, so it is dropped. What is known stays known.
    fn is_known(&self, message: &Message) -> bool;
    /// A token passes by or arrives. A transfer is accepted once.
    fn on_token(&mut self, sent: Sent, token: Token, effects: &mut Effects) -> Result<(), Rejection>;
    /// Whether a token addressed to this node would be kept if it came now.
    fn would_take(&self, from: NodeId, message: &Message, token: &Token) -> bool;
    /// Without a caller inside: the token goes to the next node that wants it, if there is one, and a copy stays here.
    fn give_away(&mut self, effects: &mut Effects);
    /// Writes into the token that the own requests are done with.
    fn mark_served(&self, token: &mut Token);
    /// Queues every other node whose request is not done with, from the next one around, behind those queued before.
    fn queue_unserved(&self, token: &mut Token);
    /// Repeats the own request under the next attempt: relays drop what they know.
    fn ask_again(&mut self, effects: &mut Effects);
    /// A node whose request is in flight, also a cancelled one, sets its timer again: it does not run after a stop, and
    /// the token may have been sent here in vain. It does not ask at once because no link is up yet.
    fn on_resume(&mut self, effects: &mut Effects);
}

/// What a token says of its way.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) to: NodeId,
    pub(super) attempt: u64,
    pub(super) giver: Option<NodeId>,
}

impl Sent {
    fn broadcast(self, token: Token) -> Effect<Message> {
        let Self { to, attempt, giver } = self;
        Effect::Broadcast { message: Message::Token { to, attempt, giver, token } }
    }
}

impl Node {
    pub(super) fn on_message(
        &mut self,
        from: NodeId,
        message: Message,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        if self.is_known(&message) || self.is_void(from, &message) {
            return Ok(());
        }
        if !self.neighbours.contains(&from) {
            return Err(Rejection::UnknownSender);
        }
        message.check_numbers()?;
        match message {
            Message::Request { site, heard } => self.on_request_heard(site, heard, effects),
            Message::Token { to, attempt, giver, token } => self.on_token(Sent { to, attempt, giver }, token, effects),
        }
    }

    fn on_request_heard(&mut self, site: NodeId, heard: Heard, effects: &mut Effects) -> Result<(), Rejection> {
        if site == self.id && heard > self.heard_of(site) {
            return Err(Rejection::NumberOutOfRange); // only this node counts its requests
        }
        self.heard.insert(site, heard);
        if self.token.is_some() {
            self.give_away(effects);
            return Ok(());
        }
        effects.push(Effect::Broadcast { message: Message::Request { site, heard } });
        if let Some(copy) = &self.given_away {
            let again = TokenStamp { transfer: copy.token.transfer, attempt: heard.attempt };
            if copy.to == site && copy.answers == heard.number && again > self.seen {
                self.seen = again;
                let sent = Sent { to: site, attempt: again.attempt, giver: self.named_giver() };
                effects.push(sent.broadcast(copy.token.clone()));
            }
        }
        Ok(())
    }

    pub(super) fn on_timer(&mut self, timer: Timer, effects: &mut Effects) {
        if timer.epoch != self.epoch || !self.asking {
            return; // the token came, or a later timer replaced this one
        }
        self.ask_again(effects);
    }

    /// Floods the own request and sets the timer for the next attempt.
    pub(super) fn ask(&mut self, effects: &mut Effects) {
        let heard = self.heard_of(self.id);
        effects.push(Effect::Broadcast { message: Message::Request { site: self.id, heard } });
        self.arm(1 << heard.attempt.min(MOST_DOUBLINGS), effects);
    }

    /// Sets the timer to so many times the configured delay.
    pub(super) fn arm(&mut self, times: u32, effects: &mut Effects) {
        self.epoch += 1;
        let after = Delay {
            least_ms: self.retry.least_ms.saturating_mul(times),
            most_ms: self.retry.most_ms.saturating_mul(times),
        };
        effects.push(Effect::Arm { timer: Timer { epoch: self.epoch }, after });
    }

    /// With the token: the application enters.
    pub(super) fn enter(&mut self, effects: &mut Effects) {
        let Some(token) = &mut self.token else { return };
        token.fence.0 += 1;
        let fence = token.fence;
        self.caller = Caller::Inside(fence);
        effects.push(Effect::Granted { grant: self.grant(fence) });
    }

    pub(super) fn take_token(&mut self, token: Token, effects: &mut Effects) {
        self.note_arrival(token.transfer);
        self.token = Some(token);
        self.asking = false;
        if self.caller == Caller::Waiting {
            self.enter(effects);
        } else {
            self.give_away(effects); // the request was cancelled
        }
    }
}

impl Rules for Node {
    fn is_known(&self, message: &Message) -> bool {
        match message {
            Message::Request { site, heard } => *heard <= self.heard_of(*site),
            Message::Token { attempt, token, .. } => {
                TokenStamp { transfer: token.transfer, attempt: *attempt } <= self.seen
            }
        }
    }

    fn on_token(&mut self, sent: Sent, token: Token, effects: &mut Effects) -> Result<(), Rejection> {
        let first = token.transfer > self.seen.transfer;
        let is_mine = self.is_mine(sent.to);
        if first && self.token.is_some() {
            return Err(Rejection::SecondToken);
        }
        if first && is_mine && !(self.asking && self.is_answered_by(sent.to, &token)) {
            return Err(Rejection::UnwantedToken);
        }
        self.seen = self.seen.max(TokenStamp { transfer: token.transfer, attempt: sent.attempt });
        if first {
            self.given_away = None;
        }
        if !is_mine {
            effects.push(sent.broadcast(token));
        } else if first {
            self.take_token(token, effects);
        }
        Ok(())
    }

    fn would_take(&self, from: NodeId, message: &Message, token: &Token) -> bool {
        let ignored = self.is_known(message) || self.is_void(from, message);
        let heeded = !ignored && self.neighbours.contains(&from) && message.check_numbers().is_ok();
        heeded && token.transfer > self.seen.transfer && self.token.is_none() && self.asking
    }

    fn give_away(&mut self, effects: &mut Effects) {
        if matches!(self.caller, Caller::Inside(_)) {
            return;
        }
        let Some(mut token) = self.token.take() else { return };
        self.strike_gone(&mut token);
        self.mark_served(&mut token);
        self.queue_unserved(&mut token);
        let Some(to) = token.queue.pop_front() else {
            self.token = Some(token);
            return;
        };
        token.transfer += 1;
        let answers = token.served(to) + 1;
        let heard = self.heard_of(to);
        let attempt = if heard.number == answers { heard.attempt } else { 0 };
        self.seen = TokenStamp { transfer: token.transfer, attempt };
        self.given_away = Some(GivenAway { token: token.clone(), to, answers });
        effects.push(Sent { to, attempt, giver: self.named_giver() }.broadcast(token));
    }

    fn mark_served(&self, token: &mut Token) {
        let own = self.heard_of(self.id).number;
        if own > 0 {
            token.served.insert(self.id, own);
        }
    }

    fn queue_unserved(&self, token: &mut Token) {
        let around = self.heard.range(self.id..).chain(self.heard.range(..self.id));
        for (node, heard) in around.filter(|(node, _)| **node != self.id) {
            if heard.number > token.served(*node) && !token.queue.contains(node) {
                token.queue.push_back(*node);
            }
        }
    }

    fn ask_again(&mut self, effects: &mut Effects) {
        let own = self.heard_of(self.id);
        self.heard.insert(self.id, Heard { attempt: own.attempt + 1, ..own });
        self.ask(effects);
    }

    fn on_resume(&mut self, effects: &mut Effects) {
        self.leaving = false;
        if self.asking {
            self.arm(1, effects);
        }
    }
}

/// The delay between repetitions doubles at most this many times.
const MOST_DOUBLINGS: u64 = 4;
