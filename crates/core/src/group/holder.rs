//! What the holder of the token decides, and what is done again when somebody has waited long.

use alloc::vec::Vec;

use crate::group::Bug;
use crate::group::message::{Message, Record, Start};
use crate::group::node::{Copy, Effects, Node};
use crate::group::token::Token;
use crate::protocol::Effect;
use crate::vocabulary::{Fence, NodeId, RequestId, Session};

impl Node {
    /// Everything the holder decides. Does nothing without the token.
    pub(super) fn serve(&mut self, effects: &mut Effects) {
        let Some(mut token) = self.token.take() else { return };
        token.followers.retain(|node, number| self.heard.get(node).is_none_or(|record| !record.ends(*number)));
        self.take_up(&mut token, effects);
        self.let_in_if_unopposed(&mut token, effects);
        let followers_gone = token.followers.is_empty() || self.planted.has(Bug::OpenOverFollowers);
        if self.inside.is_some() || !followers_gone {
            self.token = Some(token);
        } else if token.queue.is_empty() {
            token.session = None;
            self.token = Some(token);
        } else {
            self.open_next(token, effects);
        }
    }

    /// Takes up every record that is newer than what the token knows.
    fn take_up(&mut self, token: &mut Token, effects: &mut Effects) {
        let is_news =
            |node: &NodeId, record: &Record| token.accepted.get(node).is_none_or(|stamp| *stamp < record.stamp);
        let heard = self.heard.iter().map(|(&node, &record)| (node, record));
        let news: Vec<_> = heard.filter(|(node, record)| is_news(node, record)).collect();
        for (node, Record { stamp, wish }) in news {
            let before = token.accepted.get(&node).copied();
            if !self.planted.has(Bug::ForgetAccepted) {
                token.accepted.insert(node, stamp);
            }
            let Some(wish) = wish else {
                token.queue.remove(node, self.levels);
                continue;
            };
            if before.is_some_and(|before| before.number == stamp.number) {
                token.queue.change(node, wish.level, self.levels);
                continue;
            }
            token.queue.remove(node, self.levels); // an earlier request, withdrawn since
            let open = self.inside.is_some() || !token.followers.is_empty();
            let alone = token.queue.is_empty() || self.planted.has(Bug::JoinWhileOthersWait);
            if open && alone && token.session == Some(wish.session) {
                self.admit(token, node, stamp.number, wish.session, self.id, effects);
            } else {
                token.queue.add(node, stamp.number, wish, self.levels);
            }
        }
    }

    /// Whoever wanted another session has withdrawn: those who queued behind it for the open one need not wait.
    fn let_in_if_unopposed(&mut self, token: &mut Token, effects: &mut Effects) {
        let open = self.inside.is_some() || !token.followers.is_empty();
        if !open || !token.queue.is_all_for(token.session) {
            return;
        }
        if let Some(entry) = token.queue.take_first() {
            for member in entry.members {
                self.admit(token, member.node, member.number, entry.session, self.id, effects);
            }
        }
    }

    /// Opens the session of the first entry; the token goes to its captain.
    fn open_next(&mut self, mut token: Token, effects: &mut Effects) {
        if !self.planted.has(Bug::AgeNothing) {
            token.queue.age(self.levels);
        }
        let Some(entry) = token.queue.take_first() else { return self.token = Some(token) };
        if token.session.is_none() || !self.planted.has(Bug::SessionNotSet) {
            token.session = Some(entry.session);
        }
        token.clock = Fence(token.clock.0 + 1);
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
            self.copy = self.retry.map(|_| Copy { to: captain, token: token.clone() });
            effects.push(Effect::Send { to: captain, message: Message::Token(token) });
        }
    }

    /// Lets one request into the open session.
    fn admit(
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

    /// Somebody has waited long: does again what may have been lost.
    pub(super) fn chase(&self, asker: NodeId, effects: &mut Effects) {
        let Some(token) = &self.token else {
            if let Some(Copy { to, token }) = &self.copy {
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
