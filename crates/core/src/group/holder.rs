//! What the holder of the token decides, and what it repeats when a process has waited long.

use alloc::boxed::Box;

use crate::group::message::{Message, Start};
use crate::group::node::{Effects, GivenAway, Node};
use crate::group::recovery::RecoveryRules;
use crate::group::rules::Rules;
use crate::group::token::Token;
use crate::protocol::Effect;
use crate::vocabulary::{NodeId, RequestId, Session};

impl Node {
    /// Everything the holder decides. Does nothing without the token.
    pub(super) fn serve(&mut self, effects: &mut Effects) {
        let Some(mut token) = self.token.take() else { return };
        token.followers.retain(|node, number| self.heard.get(node).is_none_or(|record| !record.ends(*number)));
        self.strike_gone_followers(&mut token);
        self.strike_gone_in_queue(&mut token);
        self.take_up(&mut token, effects);
        self.let_in_if_unopposed(&mut token, effects);
        if !self.is_over(&token) {
            self.token = Some(token);
        } else if token.queue.is_empty() {
            token.session = None;
            self.token = Some(token);
        } else {
            self.open_next(token, effects);
        }
    }

    /// All requests for other sessions were withdrawn: those that queued behind them for the open one need not wait.
    fn let_in_if_unopposed(&mut self, token: &mut Token, effects: &mut Effects) {
        if !self.is_open(token) || !token.queue.is_all_for(token.session) {
            return;
        }
        if let Some(entry) = token.queue.take_first() {
            for member in entry.members {
                self.admit(token, member.node, member.number, entry.session, self.id, effects);
            }
        }
    }

    pub(super) fn is_open(&self, token: &Token) -> bool {
        self.inside.is_some() || !token.followers.is_empty()
    }

    /// Opens the session of the first entry; the token goes to its captain.
    fn open_next(&mut self, mut token: Token, effects: &mut Effects) {
        self.age_waiting(&mut token);
        let Some(entry) = token.queue.take_first() else { return self.token = Some(token) };
        self.open_session(&mut token, entry.session);
        let own = entry.members.iter().find(|member| member.node == self.id);
        let Some(captain) = own.or(entry.members.first()).map(|member| member.node) else {
            return self.token = Some(token);
        };
        for member in &entry.members {
            if member.node != captain || captain == self.id {
                self.admit(&mut token, member.node, member.number, entry.session, captain, effects);
            }
        }
        if captain == self.id {
            self.token = Some(token);
        } else {
            token.transfer += 1;
            self.seen = token.transfer;
            self.copy = self.retry.map(|_| Box::new(GivenAway { to: captain, token: token.clone() }));
            effects.push(Effect::Send { to: captain, message: Message::Token(token) });
        }
    }

    /// Lets one request into the open session.
    pub(super) fn admit(
        &mut self,
        token: &mut Token,
        node: NodeId,
        number: RequestId,
        session: Session,
        captain: NodeId,
        effects: &mut Effects,
    ) {
        let fence = token.clock;
        if node == self.id {
            self.enter(number, session, fence, None, effects);
        } else {
            token.followers.insert(node, number);
            let start = Start { node, number, session, fence, captain };
            effects.push(Effect::Send { to: node, message: Message::Start(start) });
        }
    }

    /// A process has waited long: repeats what may have been lost.
    pub(super) fn chase(&self, asker: NodeId, effects: &mut Effects) {
        let Some(token) = &self.token else {
            if let Some(GivenAway { to, token }) = self.copy.as_deref() {
                effects.push(Effect::Send { to: *to, message: Message::Token(token.clone()) });
            }
            return;
        };
        if let (Some(&number), Some(session)) = (token.followers.get(&asker), token.session) {
            let start = Start { node: asker, number, session, fence: token.clock, captain: self.id };
            effects.push(Effect::Send { to: asker, message: Message::Start(start) });
            return;
        }
        let Some(session) = token.queue.session_of(asker) else { return };
        let ask = |(node, number)| Effect::Send { to: node, message: Message::Ask { node, number } };
        if self.inside.is_none() {
            effects.extend(token.followers.iter().map(|(&node, &number)| ask((node, number))));
        }
        if token.session == Some(session) {
            effects.extend(token.queue.others(session).filter(|(node, _)| *node != self.id).map(ask));
        }
    }
}
