//! The rules of `docs/protocols/group.md` that have a planted bug.
//!
//! They are methods of a trait only because of the checker's own tests: with the feature `mutants`, `bug.rs` gives
//! [`Node`] an inherent method of the same name for each of them, which `self.take_up(..)` finds first. A product has
//! the rules alone.

use alloc::vec::Vec;

use crate::group::message::{Message, Record, Start};
use crate::group::node::{Effects, Inside, Node};
use crate::group::token::{LIMIT, Token};
use crate::protocol::{Effect, Misuse, Rejection};
use crate::vocabulary::{Fence, NodeId, RequestId, Session, Units};

pub(super) trait Rules {
    /// Every process keeps the latest record that it hears of each other one, with the token or without.
    fn on_message(&mut self, from: NodeId, message: Message, effects: &mut Effects) -> Result<(), Rejection>;
    /// A process that leaves its critical section tells its captain.
    fn on_release(&mut self, request: RequestId, units: Units, effects: &mut Effects) -> Result<(), Misuse>;
    /// A start lets a process in if it still waits for that request.
    fn on_start(&mut self, start: Start, effects: &mut Effects) -> Result<(), Rejection>;
    /// A start for a request that is inside or over.
    fn is_stale_start(&self, start: &Start) -> bool;
    /// A process that is asked about a request it is past answers with its latest record.
    fn on_ask(&self, from: NodeId, node: NodeId, number: RequestId, effects: &mut Effects) -> Result<(), Rejection>;
    /// A token is taken once: its transfer must be newer than all given or taken here.
    fn has_seen(&self, token: &Token) -> bool;
    /// The holder takes up every record that is newer than what the token knows.
    fn take_up(&mut self, token: &mut Token, effects: &mut Effects);
    /// A request joins the open session unless others wait.
    fn may_join(&self, token: &Token, session: Session) -> bool;
    /// The captain and all followers are out, so the next session may open.
    fn is_over(&self, token: &Token) -> bool;
    /// Every request in the queue gains one level with each session that opens before it.
    fn age_waiting(&self, token: &mut Token);
    /// The token names the session that is open, and counts it.
    fn open_session(&self, token: &mut Token, session: Session);
    /// Timers do not run after a stop: one that waits sets its timer again.
    fn on_resume(&mut self, effects: &mut Effects);
}

impl Rules for Node {
    fn on_message(&mut self, from: NodeId, message: Message, effects: &mut Effects) -> Result<(), Rejection> {
        if self.is_void(from, &message) {
            return Ok(());
        }
        if from == self.id || !self.knows(from) {
            return Err(Rejection::UnknownSender);
        }
        match message {
            Message::Request { node, .. } | Message::Complete { node, .. } if node != from => {
                Err(Rejection::UnknownNode)
            }
            Message::Request { record, again, .. } => self.on_record(from, record, again, effects),
            Message::Complete { stamp, .. } => self.on_record(from, Record { stamp, wish: None }, false, effects),
            Message::Start(start) => self.on_start(start, effects),
            Message::Ask { node, number } => self.on_ask(from, node, number, effects),
            Message::Token(token) => self.on_token(from, token, effects),
            Message::Have { transfer } => self.on_have(from, transfer),
        }
    }

    fn on_release(&mut self, request: RequestId, units: Units, effects: &mut Effects) -> Result<(), Misuse> {
        let Some(Inside { grant, captain, tells_all }) =
            self.inside.clone().filter(|inside| inside.grant.request == request)
        else {
            self.check_waiting(request)?;
            return Err(Misuse::NotGranted(request));
        };
        if units != grant.units {
            return Err(Misuse::PartialRelease { request, held: grant.units, asked: units });
        }
        self.inside = None;
        if let Some(own) = self.heard.get_mut(&self.id) {
            *own = own.changed(None);
            let own = *own;
            if let Some(captain) = captain.filter(|_| !tells_all) {
                effects
                    .push(Effect::Send { to: captain, message: Message::Complete { node: self.id, stamp: own.stamp } });
            } else if tells_all {
                self.say(own, false, effects);
            }
        }
        self.serve(effects);
        Ok(())
    }

    fn on_start(&mut self, start: Start, effects: &mut Effects) -> Result<(), Rejection> {
        if start.node != self.id || start.captain == self.id || !self.knows(start.captain) {
            return Err(Rejection::UnknownNode);
        }
        if start.fence.0 >= LIMIT {
            return Err(Rejection::NumberOutOfRange);
        }
        let own = self.heard.get(&self.id).copied().filter(|own| own.stamp.number >= start.number);
        let own = own.ok_or(Rejection::UnexpectedAnswer)?;
        if !own.ends(start.number) && self.inside.is_none() {
            if own.wish.is_none_or(|wish| wish.session != start.session) {
                return Err(Rejection::UnexpectedAnswer);
            }
            self.enter(start.number, start.session, start.fence, Some(start.captain), effects);
        }
        Ok(())
    }

    fn is_stale_start(&self, start: &Start) -> bool {
        let past = self.heard.get(&self.id).is_some_and(|own| own.ends(start.number));
        past || self.inside.as_ref().is_some_and(|inside| inside.grant.request == start.number)
    }

    fn on_ask(&self, from: NodeId, node: NodeId, number: RequestId, effects: &mut Effects) -> Result<(), Rejection> {
        if node != self.id {
            return Err(Rejection::UnknownNode);
        }
        let own = self.heard.get(&self.id).copied().filter(|own| own.stamp.number >= number);
        let own = own.ok_or(Rejection::UnexpectedAnswer)?;
        if own.ends(number) {
            let message = Message::Request { node: self.id, record: own, again: false };
            effects.push(Effect::Send { to: from, message });
        }
        Ok(())
    }

    fn has_seen(&self, token: &Token) -> bool {
        token.transfer <= self.seen
    }

    fn take_up(&mut self, token: &mut Token, effects: &mut Effects) {
        let is_news =
            |node: &NodeId, record: &Record| token.accepted.get(node).is_none_or(|stamp| *stamp < record.stamp);
        let heard = self.heard.iter().map(|(&node, &record)| (node, record));
        let news: Vec<_> = heard.filter(|(node, record)| is_news(node, record)).collect();
        for (node, Record { stamp, wish }) in news {
            let before = token.accepted.get(&node).copied();
            token.accepted.insert(node, stamp);
            let Some(wish) = wish else {
                token.queue.remove(node, self.levels);
                continue;
            };
            if before.is_some_and(|before| before.number == stamp.number) {
                token.queue.change(node, wish.level, self.levels);
                continue;
            }
            token.queue.remove(node, self.levels); // an earlier request, withdrawn since
            if self.may_join(token, wish.session) {
                self.admit(token, node, stamp.number, wish.session, self.id, effects);
            } else {
                token.queue.add(node, stamp.number, wish, self.levels);
            }
        }
    }

    fn may_join(&self, token: &Token, session: Session) -> bool {
        self.is_open(token) && token.queue.is_empty() && token.session == Some(session)
    }

    fn is_over(&self, token: &Token) -> bool {
        self.inside.is_none() && token.followers.is_empty()
    }

    fn age_waiting(&self, token: &mut Token) {
        token.queue.age(self.levels);
    }

    fn open_session(&self, token: &mut Token, session: Session) {
        token.session = Some(session);
        token.clock = Fence(token.clock.0 + 1);
    }

    fn on_resume(&mut self, effects: &mut Effects) {
        self.leaving = false;
        if self.waits().is_some() {
            self.epoch += 1;
            self.arm(effects);
        }
    }
}
