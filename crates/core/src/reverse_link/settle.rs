//! What follows from a node's state, whatever the event was: the end of every event.
//!
//! Each step does nothing unless its guard holds, so that handlers only note what they learned.

use alloc::vec;
use alloc::vec::Vec;

use super::bug::Bug;
use super::height::Height;
use super::message::Body;
use super::node::{Effects, Limbo, Node, Peer};
use super::questions::{About, Inquiry, News};
use super::queue::{Claim, Claimer, Entry};
use super::token::Token;
use crate::protocol::Effect;
use crate::vocabulary::{Fence, Grant, GrantId, NodeId, RequestId};

impl Node {
    pub(crate) fn settle(&mut self, out: &mut Effects) {
        self.answer_questions(out); // first: a promise may tell us that our copy of the token is only a copy
        if self.token.is_some() {
            self.agree_on_capacity();
            self.hand_in_releases();
            self.dispatch(out);
            self.pass_on_if_leaving(out);
        }
        if self.token.is_none() {
            self.take_back_dead_ask(out);
            self.look_if_lowest(out);
            self.send_releases(out);
            self.keep_asking(out);
        }
        // Most messages tell the height anyway. What we have just learned may show that somebody has it wrong.
        self.tell_height(None, Body::Link, out);
    }

    /// The token and its holder tell each other the newer capacity.
    fn agree_on_capacity(&mut self) {
        if let Some(token) = &mut self.token {
            self.capacity.keep_newer(token.capacity);
            token.capacity = self.capacity;
        }
    }

    fn hand_in_releases(&mut self) {
        let twice = self.bug(Bug::CountReleaseTwice);
        let Some(token) = &mut self.token else { return };
        for grant in self.custody.hand_in() {
            token.strike(grant);
            if twice && !token.ledger.is_empty() {
                token.ledger.remove(0);
            }
        }
    }

    /// Serves the queue for as long as its front may enter here or at a neighbour.
    fn dispatch(&mut self, out: &mut Effects) {
        while let Some(token) = &self.token {
            let Some(front) = self.queue.front().copied() else { return };
            let next = if self.may_enter(token, &front.claim) { Some(front) } else { self.joiner(token, &front.claim) };
            match next {
                Some(Entry { claimer: Claimer::Local { request, .. }, claim }) => self.enter(request, &claim, out),
                Some(Entry { claimer: Claimer::Peer(peer), claim }) => {
                    self.queue.remove_peer(peer);
                    let to = self.shortcut(peer, &claim);
                    self.pass(to, (to != peer).then_some((peer, claim)), out);
                }
                None => return, // the token waits here for a release or for somebody more urgent
            }
            if next != Some(front)
                && let Some(token) = &mut self.token
            {
                token.joined = (token.joined + 1).min(self.config.joins);
            }
        }
    }

    /// Where the token goes for a claim of a neighbour: straight to the node that wants it, if that is a neighbour too.
    /// The one that told us will hear from it, and tell us its next claim.
    fn shortcut(&self, peer: NodeId, claim: &Claim) -> NodeId {
        let known = claim.alone && self.peers.get(&claim.origin).is_some_and(|origin| origin.height.is_some());
        if known { claim.origin } else { peer }
    }

    fn may_enter(&self, token: &Token, claim: &Claim) -> bool {
        let units = self.bug(Bug::IgnoreUnits) || token.free() >= claim.units;
        let session = self.bug(Bug::IgnoreSessions) || !token.excludes(claim);
        units && session
    }

    /// Somebody who may join the running session past a front that has to wait for its end.
    fn joiner(&self, token: &Token, front: &Claim) -> Option<Entry> {
        let capped = token.joined >= self.config.joins && !self.bug(Bug::JoinWithoutCap);
        if capped || !token.excludes(front) {
            return None;
        }
        let joins = |e: &&Entry| e.claim.session == token.session() && token.admits(&e.claim);
        self.queue.iter().find(joins).copied()
    }

    fn enter(&mut self, request: RequestId, claim: &Claim, out: &mut Effects) {
        let local = self.holding.len() as u64 + 1;
        let local_fences = self.bug(Bug::LocalFences);
        let Some(token) = &mut self.token else { return };
        let mut fence = token.lend(GrantId { node: self.config.id, request }, claim);
        if local_fences {
            fence = Fence(local);
        }
        let granted = token.granted;
        if self.clock_runs() {
            self.clock = self.clock.max(granted);
        }
        self.queue.remove_local(request);
        let grant = Grant { request, units: claim.units, session: claim.session, fence: Some(fence) };
        self.holding.push(grant);
        out.push(Effect::Granted { grant });
    }

    /// Gives the token to a neighbour, and with it the most urgent claim that stays behind.
    pub(super) fn pass(&mut self, to: NodeId, passed_by: Option<(NodeId, Claim)>, out: &mut Effects) {
        let Some(mut token) = self.token.take() else { return };
        token.pass += 1;
        if self.bug(Bug::ForgetPreempted) {
            self.queue.remove_all_local();
        }
        self.queue.remove_peer(to);
        let ask = self.queue.to_tell().filter(|_| !self.bug(Bug::DropAskBehindToken));
        self.asked = self.queue.to_tell().map(|claim| (to, claim));
        let predicted = self.height.just_below(to);
        if let Some(peer) = self.peers.get_mut(&to) {
            (peer.height, peer.expecting) = (Some(predicted), Some(predicted));
        }
        if !self.bug(Bug::NoCopy) {
            self.limbo = Some(Limbo { copy: token.clone(), to, passed_by, doubtful: false });
        }
        self.send(to, Body::Token { token, ask }, out);
    }

    /// An ask is dead if nobody here wants anything, or if the node that was asked is gone or no longer below us:
    /// it has dropped our claim, or will.
    fn take_back_dead_ask(&mut self, out: &mut Effects) {
        let Some((asked, _)) = self.asked else { return };
        let reversed = !self.is_below(asked) && !self.bug(Bug::KeepAskAfterReversal);
        let too_early = self.bug(Bug::RaiseBeforeTakingBack) && self.is_lowest();
        if self.queue.is_empty() || (reversed && !too_early) {
            self.asked = None;
            if !self.bug(Bug::NeverWithdraw) {
                self.send(asked, Body::Withdraw, out);
            }
        }
    }

    /// Without a way down: turn links, if there was a sign of the token lately; otherwise find out first whether it is
    /// in this part of the network at all.
    fn look_if_lowest(&mut self, out: &mut Effects) {
        if !self.is_stranded() {
            return;
        }
        if self.free_turns > 0 || self.bug(Bug::RaiseWithoutLooking) {
            self.free_turns = self.free_turns.saturating_sub(1);
            self.raise_if_lowest(out);
        } else if self.questions.wants_to_know(self.config.id).is_none() {
            self.inquire(About::Where, out);
        }
    }

    /// Partial reversal: goes above the neighbours that were turned least often, stays below the others.
    pub(crate) fn raise_if_lowest(&mut self, out: &mut Effects) {
        if !self.is_stranded() {
            return;
        }
        let heights = || self.peers.values().filter_map(|peer| peer.height);
        let Some(least) = heights().map(|h| h.level).min() else { return };
        let level = least + 1;
        let beside = heights().filter(|h| h.level == level).map(|h| h.depth).min();
        self.height = Height { level, depth: beside.map_or(0, |depth| depth - 1), id: self.config.id };
        self.broadcast(Body::Link, out);
        self.forget_lower_claims();
    }

    fn send_releases(&mut self, out: &mut Effects) {
        let Some(next) = self.lowest_below() else { return };
        for grant in self.custody.send_all(next) {
            self.send(next, Body::Release(grant), out);
            if self.bug(Bug::ForgetCustody) {
                self.custody.forget(grant);
            }
        }
    }

    /// Makes sure that the node that was asked, or else the lowest below us, knows exactly our most urgent claim.
    fn keep_asking(&mut self, out: &mut Effects) {
        let Some(mut claim) = self.queue.to_tell() else { return };
        let Some(to) = self.asked.map(|(asked, _)| asked).or_else(|| self.lowest_below()) else { return };
        if self.asked.is_some_and(|(_, told)| told.stands_for(&claim))
            || (self.bug(Bug::NeverUpdateAsk) && self.asked.is_some())
        {
            return;
        }
        self.asked = Some((to, claim));
        if self.bug(Bug::AgeWithoutCarrying) {
            claim.rank.0 -= i64::try_from(self.clock.0).unwrap_or(0);
        }
        self.send(to, Body::Ask(claim), out);
    }

    /// Asks everybody.
    pub(crate) fn inquire(&mut self, about: About, out: &mut Effects) {
        let news = self.questions.open(self.config.id, about);
        self.broadcast(Body::News(vec![news]), out);
    }

    /// A pass is known to be decided. If we still keep a copy of an earlier one, that one has arrived.
    pub(crate) fn learn_decided(&mut self, pass: u64) {
        self.decided = self.decided.max(pass);
        if self.limbo.as_ref().is_some_and(|limbo| limbo.copy.pass <= pass) {
            self.limbo = None;
        }
    }

    /// Answers what this node can answer, and what it has found out itself.
    fn answer_questions(&mut self, out: &mut Effects) {
        let mut answers = Vec::new();
        // One at a time: to promise something is to learn something, which may answer the next.
        while let Some(answer) = self.next_answer() {
            self.questions.record(answer);
            answers.push(answer);
        }
        if !answers.is_empty() {
            self.broadcast(Body::News(answers), out);
        }
    }

    fn next_answer(&mut self) -> Option<News> {
        let open: Vec<News> = self.questions.open_ones().collect();
        open.into_iter().find_map(|news| {
            let Inquiry::Open(about) = news.inquiry else { return None };
            self.answer(about).map(|inquiry| News { inquiry, ..news })
        })
    }

    fn answer(&mut self, about: About) -> Option<Inquiry> {
        match about {
            About::Where => (self.token.is_some() || self.limbo.is_some()).then_some(Inquiry::Confirmed),
            About::Pass { pass, .. } if self.decided >= pass => Some(Inquiry::Confirmed),
            About::Pass { pass, to } if to == self.config.id => {
                if !self.bug(Bug::NoPromise) {
                    self.learn_decided(pass);
                }
                Some(Inquiry::Denied)
            }
            About::Pass { .. } => None,
        }
    }

    /// Whether links have to be turned: no way down, and neither the token nor a copy of it here.
    fn is_stranded(&self) -> bool {
        self.token.is_none() && self.limbo.is_none() && self.is_lowest()
    }

    /// Every neighbour's height is known and none is below us.
    fn is_lowest(&self) -> bool {
        let above = |peer: &Peer| peer.height.is_some_and(|height| height > self.height);
        !self.peers.is_empty() && self.peers.values().all(above)
    }

    fn is_below(&self, neighbour: NodeId) -> bool {
        self.peers.get(&neighbour).is_some_and(|peer| peer.height.is_some_and(|height| height < self.height))
    }

    fn lowest_below(&self) -> Option<NodeId> {
        let height_of = |(id, peer): (&NodeId, &Peer)| peer.height.map(|height| (height, *id));
        let (height, id) = self.peers.iter().filter_map(height_of).min()?;
        (height < self.height).then_some(id)
    }

    /// A neighbour below us does not ask us, whatever it said before.
    pub(crate) fn forget_lower_claims(&mut self) {
        let (peers, height) = (&self.peers, self.height);
        let below = |id| peers.get(&id).is_some_and(|peer| peer.height.is_some_and(|h| h < height));
        self.queue.remove_peers(below);
    }
}
