//! What follows from a node's state, whatever the event was: every event ends in [`Node::settle`].
//!
//! Each step does nothing unless its guard holds, so handlers only note what they learned.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::height::Height;
use super::message::Body;
use super::node::{Effects, FREE_TURNS, Limbo, Node};
use super::peers::{MOST_UNCONFIRMED, Peer};
use super::questions::{About, Inquiry, News};
use super::queue::{Claim, Claimer, Entry};
use super::recovery::RecoveryRules;
use super::rules::Rules;
use super::token::{Owed, Token};
use crate::protocol::{Effect, Misuse};
use crate::slots::Slots;
use crate::vocabulary::{Grant, GrantId, NodeId, RequestId, Units};

impl Node {
    pub(super) fn settle(&mut self, out: &mut Effects) {
        self.answer_questions(out); // first: a promise may tell us that our copy of the token is only a copy
        if self.token.is_some() {
            self.agree_on_capacity();
            self.hand_in_releases();
            self.dispatch(out);
            self.pass_on_if_leaving(out);
        }
        if self.token.is_none() {
            self.take_back_dead_ask(out);
            self.ask_about_copy(out);
            self.look_if_lowest(out);
            self.merge_releases();
            self.send_releases(out);
            self.keep_asking(out);
        }
        // Most messages tell the height anyway. What we have just learned may show that a neighbour has it wrong.
        self.tell_height(Body::Link, out);
        self.confirm_at_once(out);
    }

    /// Serves the queue for as long as its front may enter, here or at a neighbour.
    fn dispatch(&mut self, out: &mut Effects) {
        loop {
            self.settle_debt();
            let Some(token) = &self.token else { return };
            let Some(front) = self.first_in_line(token) else { return };
            let next = if self.may_enter(token, &front.claim) {
                Some(front)
            } else {
                self.joiner(token, &front.claim).or_else(|| self.passer(token, &front))
            };
            let passes = next.is_some_and(|next| next != front && !token.excludes(&front.claim));
            if passes {
                // A neighbour counts it when it enters there.
                let enters = next.filter(|next| matches!(next.claimer, Claimer::Local { .. }));
                self.owe(&front.claim, enters.map(|entry| entry.claim).as_ref());
            }
            match next {
                Some(Entry { claimer: Claimer::Local { request, .. }, claim }) => self.enter(request, &claim, out),
                Some(Entry { claimer: Claimer::Peer(peer), claim }) => {
                    self.queue.remove_peer(peer);
                    let to = self.shortcut(peer, &claim);
                    self.pass(to, out);
                }
                None => return, // the token waits here for a release or a more urgent claim
            }
            if next != Some(front)
                && !passes
                && let Some(token) = &mut self.token
            {
                token.joined = (token.joined + 1).min(self.config.joins);
            }
        }
    }

    /// A claim that may join the running session past a front that has to wait for its end.
    fn joiner(&self, token: &Token, front: &Claim) -> Option<Entry> {
        if !self.may_join(token) || !token.excludes(front) {
            return None;
        }
        let joins = |e: &&Entry| e.claim.session == token.session() && token.admits(&e.claim);
        self.queue.iter().find(joins).copied()
    }

    /// The front of the queue, or the claim that smaller ones were let past: also if it came here later than equals.
    fn first_in_line(&self, token: &Token) -> Option<Entry> {
        let front = self.queue.front()?;
        let owed = token.owed.as_ref().filter(|owed| owed.rank >= front.claim.rank);
        let passed = owed.and_then(|owed| self.queue.iter().find(|entry| owed.is(&entry.claim)));
        Some(*passed.unwrap_or(front))
    }

    /// A smaller claim that may be granted past a front that waits for units.
    fn passer(&self, token: &Token, front: &Entry) -> Option<Entry> {
        let owed = token.owed.unwrap_or(Owed::new(&front.claim));
        if token.excludes(&front.claim) || !self.may_pass(&owed) {
            return None;
        }
        // Looked up once: the queue and the ledger may both be long.
        let free = token.free();
        let fits = |entry: &&Entry| free >= entry.claim.units && *entry != front && token.admits(&entry.claim);
        if free == Units(0) { None } else { self.queue.iter().find(fits).copied() }
    }

    /// Where the token goes for a neighbour's claim: straight to the origin, if that is a neighbour too. The teller will
    /// hear from the origin, and tell us its next claim.
    fn shortcut(&self, teller: NodeId, claim: &Claim) -> NodeId {
        let known = claim.alone && self.peers.get(&claim.origin).is_some_and(|origin| origin.height.is_some());
        if known { claim.origin } else { teller }
    }

    /// Partial reversal: goes above the neighbours that were turned least often, stays below the others.
    pub(super) fn raise_if_lowest(&mut self, out: &mut Effects) {
        if !self.is_stranded() {
            return;
        }
        let heights = || self.peers.values().filter_map(|peer| peer.height);
        let Some(least) = heights().map(|h| h.level).min() else { return };
        let level = least + 1;
        let beside = heights().filter(|h| h.level == level).map(|h| h.depth).min();
        if let Some(limbo) = &mut self.limbo {
            limbo.raised_from.get_or_insert(self.height);
        }
        self.height = Height { level, depth: beside.map_or(0, |depth| depth - 1), id: self.config.id };
        self.broadcast(Body::Link, out);
        self.forget_lower_claims();
    }

    /// Links have to be turned: there is no way down, and the token is neither here nor on its way over a link.
    pub(super) fn is_stranded(&self) -> bool {
        self.token.is_none() && self.limbo.as_ref().is_none_or(|limbo| limbo.doubtful) && self.is_lowest()
    }

    /// What has to be asked about the copy that is kept here, if it may be the token.
    fn doubt_about(&self) -> Option<About> {
        let limbo = self.limbo.as_ref().filter(|limbo| limbo.doubtful)?;
        Some(About::Pass { pass: limbo.copy.pass, to: limbo.to })
    }

    pub(super) fn has_dead_ask(&self) -> bool {
        self.asked.is_some_and(|(asked, _)| self.queue.is_empty() || !self.is_below(asked))
    }

    /// A pass is decided. If the copy kept here is of that pass or an earlier one, its token has arrived.
    pub(super) fn learn_decided(&mut self, pass: u64) {
        self.decided = self.decided.max(pass);
        if self.limbo.as_ref().is_some_and(|limbo| limbo.copy.pass <= pass) {
            self.limbo = None;
        }
    }
}

impl Rules for Node {
    fn enqueue(&mut self, entry: Entry) {
        self.queue.insert(entry);
    }

    fn on_cancel(&mut self, request: RequestId) -> Result<(), Misuse> {
        self.waiting(request)?;
        self.queue.remove_local(request);
        Ok(())
    }

    fn put_claim(&mut self, neighbour: NodeId, claim: Claim) {
        self.queue.put_peer(neighbour, claim);
    }

    fn on_ask(&mut self, from: NodeId, claim: Claim) {
        let Some(peer) = self.peers.get(&from) else { return };
        if peer.expecting.is_some() {
            return; // stale: sent before the token reached it
        }
        if peer.height.is_some_and(|height| height < self.height) {
            return; // it will learn that it is below us, and ask elsewhere
        }
        self.put_claim(from, claim);
    }

    fn tell_claim_again(&mut self, holder: NodeId, out: &mut Effects) {
        if let Some((_, claim)) = self.asked.filter(|(asked, _)| *asked == holder) {
            self.send(holder, Body::Ask(claim), out);
        }
    }

    fn agree_on_capacity(&mut self) {
        if let Some(token) = &mut self.token {
            self.capacity.keep_newer(token.capacity);
            token.capacity = self.capacity;
        }
    }

    fn hand_in_releases(&mut self) {
        let Some(token) = &mut self.token else { return };
        for grant in self.custody.hand_in() {
            token.strike(grant);
        }
        self.returned.clear();
    }

    fn may_enter(&self, token: &Token, claim: &Claim) -> bool {
        token.admits(claim)
    }

    fn may_join(&self, token: &Token) -> bool {
        token.joined < self.config.joins
    }

    fn may_pass(&self, owed: &Owed) -> bool {
        owed.passed < self.config.passes
    }

    fn owe(&mut self, front: &Claim, enters: Option<&Claim>) {
        let Some(token) = &mut self.token else { return };
        let owed = token.owed.get_or_insert(Owed::new(front));
        let Some(claim) = enters else { return };
        let to = if owed.is(claim) { Owed::new(front) } else { *owed };
        *owed = Owed { passed: owed.passed.saturating_add(1), ..to };
    }

    fn settle_debt(&mut self) {
        let Some(token) = &mut self.token else { return };
        // A more urgent claim of the node that told of it may hide it.
        let stands = |owed: &Owed| self.queue.iter().any(|e| owed.is(&e.claim) || e.claim.rank > owed.rank);
        token.owed = token.owed.filter(stands);
    }

    fn number(&self, token: &Token, claim: &Claim) -> Slots {
        if self.config.numbered { token.lowest_free(claim.units) } else { Slots::NONE }
    }

    fn enter(&mut self, request: RequestId, claim: &Claim, out: &mut Effects) {
        let Some(slots) = self.token.as_ref().map(|token| self.number(token, claim)) else { return };
        let Some(token) = &mut self.token else { return };
        let fence = token.lend(GrantId { node: self.config.id, request }, claim, slots.clone());
        token.owed = token.owed.filter(|owed| !owed.is(claim));
        let granted = token.granted;
        self.hear_clock(granted);
        self.queue.remove_local(request);
        let grant = Grant { request, units: claim.units, session: claim.session, fence: Some(fence), slots };
        self.holding.push(grant.clone());
        out.push(Effect::Granted { grant });
    }

    fn pass(&mut self, to: NodeId, out: &mut Effects) {
        let Some(mut token) = self.token.take() else { return };
        token.pass += 1;
        self.queue.remove_peer(to);
        let ask = self.queue.to_tell();
        self.asked = ask.map(|claim| (to, claim));
        let predicted = self.height.just_below(to);
        if let Some(peer) = self.peers.get_mut(&to) {
            (peer.height, peer.expecting) = (Some(predicted), Some(token.pass));
        }
        self.limbo = Some(Box::new(Limbo { copy: token.clone(), to, raised_from: None, doubtful: false }));
        self.send(to, Body::Token { token, ask }, out);
    }

    /// Claims still travel through a node that leaves while its links are up, so the token may come by again. Two
    /// neighbours that leave do not pass it to each other without end: links keep the order, so each has said that it
    /// leaves before it passes the token.
    fn pass_on_if_leaving(&mut self, out: &mut Effects) {
        if !self.leaving || self.token.is_none() {
            return;
        }
        let stays = |(_, peer): &(&NodeId, &Peer)| peer.height.is_some() && !peer.leaving;
        if let Some(to) = self.peers.iter().find(stays).map(|(id, _)| *id) {
            self.pass(to, out);
        }
    }

    fn take_back_dead_ask(&mut self, out: &mut Effects) {
        if self.has_dead_ask()
            && let Some((asked, _)) = self.asked.take()
        {
            self.send(asked, Body::Withdraw, out);
        }
    }

    fn look_if_lowest(&mut self, out: &mut Effects) {
        if !self.is_stranded() {
            return;
        }
        // Also with a copy in doubt: most passes that were not confirmed have arrived all the same.
        if self.free_turns > 0 {
            self.free_turns -= 1;
            self.raise_if_lowest(out);
        } else if self.questions.wants_to_know(self.config.id).is_none() {
            self.inquire(self.doubt_about().unwrap_or(About::Where), out);
        }
    }

    fn merge_releases(&mut self) {
        self.custody.merge_unsent();
    }

    fn send_releases(&mut self, out: &mut Effects) {
        let Some(next) = self.lowest_below() else { return };
        for grant in self.custody.send_all(next) {
            self.send(next, Body::Release(grant), out);
        }
    }

    fn keep_release(&mut self, grant: GrantId) {
        self.custody.take(grant);
    }

    fn keep_asking(&mut self, out: &mut Effects) {
        let Some(claim) = self.queue.to_tell() else { return };
        let Some(to) = self.asked.map(|(asked, _)| asked).or_else(|| self.lowest_below()) else { return };
        if self.asked.is_none_or(|(_, told)| !told.stands_for(&claim)) {
            self.asked = Some((to, claim));
            self.send(to, Body::Ask(claim), out);
        }
    }

    fn on_token(&mut self, from: NodeId, height: Height, token: Token, ask: Option<Claim>, out: &mut Effects) {
        let pass = token.pass;
        if pass <= self.decided {
            return;
        }
        self.hear_clock(token.granted);
        self.go_below(height);
        self.token = Some(token);
        self.asked = None;
        self.free_turns = FREE_TURNS;
        if let Some(peer) = self.peers.get_mut(&from) {
            // It knows our height: just below its own.
            (peer.height, peer.expecting, peer.told) = (Some(height), None, self.height);
            peer.unconfirmed_pass = Some(pass);
        }
        self.queue.remove_peer(from);
        if let Some(claim) = ask {
            self.put_claim(from, claim);
        }
        self.tell_height(Body::Here { pass }, out);
        self.learn_decided(pass);
        if self.recovers() {
            self.accepted = pass;
            self.strike_what_is_over();
        }
    }

    fn go_below(&mut self, giver: Height) {
        self.height = giver.just_below(self.config.id);
    }

    fn doubt(&mut self, neighbour: NodeId, _out: &mut Effects) {
        if let Some(limbo) = self.limbo.as_mut().filter(|limbo| limbo.to == neighbour) {
            limbo.doubtful = true;
        }
    }

    fn ask_about_copy(&mut self, out: &mut Effects) {
        let others_look = || self.questions.open_ones().any(|news| news.inquiry == Inquiry::Open(About::Where));
        if (self.leaving || others_look())
            && self.questions.wants_to_know(self.config.id).is_none()
            && let Some(about) = self.doubt_about()
        {
            self.inquire(about, out);
        }
    }

    fn confirm_pass(&mut self, to: &[NodeId]) -> Option<u64> {
        to.iter().filter_map(|id| self.peers.get_mut(id)?.unconfirmed_pass.take()).max()
    }

    fn confirm_releases(&mut self, to: NodeId) -> Vec<GrantId> {
        self.peers.get_mut(&to).map(|peer| core::mem::take(&mut peer.unconfirmed)).unwrap_or_default()
    }

    fn confirm_at_once(&mut self, out: &mut Effects) {
        let owed = |peer: &Peer| peer.unconfirmed_pass.is_some() || !peer.unconfirmed.is_empty();
        let waits = |peer: &Peer| peer.unconfirmed.len() >= MOST_UNCONFIRMED || (peer.leaving && owed(peer));
        let waiting: Vec<NodeId> = self.peers.iter().filter(|(_, peer)| waits(peer)).map(|(id, _)| *id).collect();
        for neighbour in waiting {
            self.send(neighbour, Body::Link, out);
        }
    }

    fn promise_to_refuse(&mut self, pass: u64) {
        self.learn_decided(pass);
    }

    fn recover_token(&mut self, out: &mut Effects) {
        let Some(limbo) = self.limbo.take() else { return };
        self.token = Some(limbo.copy);
        self.go_back_down(limbo.raised_from);
        self.free_turns = FREE_TURNS;
        if self.recovers() {
            self.strike_what_is_over();
        }
        if let Some((asked, _)) = self.asked.take() {
            self.send(asked, Body::Withdraw, out);
        }
        self.queue.remove_peers(|_| true);
        self.broadcast(Body::Here { pass: self.decided }, out);
    }

    fn go_back_down(&mut self, raised_from: Option<Height>) {
        self.height = raised_from.unwrap_or(self.height);
    }

    fn tell_height(&mut self, body: Body, out: &mut Effects) {
        let hears = |(_, peer): &(&NodeId, &Peer)| peer.must_hear(self.height);
        let to = self.peers.iter().filter(hears).map(|(id, _)| *id).collect();
        self.multicast(to, body, out);
    }

    fn tell_open_questions(&mut self, neighbour: NodeId, out: &mut Effects) {
        let open: Vec<News> = self.questions.open_ones().collect();
        if !open.is_empty() {
            self.send(neighbour, Body::News(open), out);
        }
    }

    fn on_resume(&mut self) {
        self.leaving = false;
    }
}
