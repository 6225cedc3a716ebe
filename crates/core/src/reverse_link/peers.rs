//! What a node knows of its neighbours, and what it tells them.
//!
//! Every message carries the sender's height, so each one updates what a neighbour knows of it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::height::{Height, Rung};
use super::message::{Body, Message};
use super::node::{Effects, Node};
use super::questions::News;
use super::rules::Rules;
use crate::protocol::Effect;
use crate::vocabulary::NodeId;

/// What a node knows about a neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Peer {
    /// Unknown until its first message. If it is of level 0 and below ours, it may have fallen further since.
    pub(super) height: Option<Rung>,
    /// It was sent the token and will say so from this height. What it says before that is stale.
    pub(super) expecting: Option<Box<Height>>,
    /// Our height as the neighbour knows it, once everything in flight has arrived.
    pub(super) told: Rung,
    /// It said that it leaves.
    pub(super) leaving: bool,
}

impl Peer {
    /// The height of this neighbour, whose id is the key that leads to it.
    pub(super) fn height(&self, id: NodeId) -> Option<Height> {
        self.height.map(|rung| rung.of(id))
    }

    /// Whether the neighbour must hear that our height is `now`: which end of the link is lower has changed, or we
    /// are on another level, which it needs to know exactly in order to turn its own links.
    pub(super) fn must_hear(&self, id: NodeId, now: Height) -> bool {
        let told = self.told.of(now.id);
        let turned = self.height(id).is_none_or(|height| (height < told) != (height < now));
        told.level != now.level || (turned && told != now)
    }
}

impl Node {
    pub(super) fn on_link_up(&mut self, neighbour: NodeId, out: &mut Effects) {
        if self.peers.contains_key(&neighbour) {
            self.on_link_down(neighbour, out); // a new link replaces the old one, and what was on that is lost
        }
        self.peers.insert(neighbour, Peer { height: None, expecting: None, told: self.height.rung(), leaving: false });
        if self.leaving {
            self.send(neighbour, Body::Leaving, out);
        } else if !self.height.is_unset() {
            self.send(neighbour, Body::Link, out);
        }
        self.tell_open_questions(neighbour, out);
    }

    pub(super) fn on_link_down(&mut self, neighbour: NodeId, out: &mut Effects) {
        if self.peers.remove(&neighbour).is_none() {
            return;
        }
        self.remove_claim(neighbour);
        self.custody.link_down(neighbour);
        if self.asked.is_some_and(|(asked, _)| asked == neighbour) {
            self.asked = None;
        }
        self.doubt(neighbour, out);
    }

    /// Believes what a neighbour says about its height, unless it was said before our token reached it.
    pub(super) fn note_height(&mut self, from: NodeId, height: Height, out: &mut Effects) {
        let Some(peer) = self.peers.get_mut(&from) else { return };
        if height.is_unset() || peer.expecting.as_deref().is_some_and(|expected| *expected != height) {
            return;
        }
        (peer.height, peer.expecting) = (Some(height.rung()), None);
        if self.height.is_unset() {
            self.height = height.just_above(self.config.id);
            self.broadcast(Body::Link, out);
        }
        self.forget_lower_claims();
    }

    /// Every neighbour's height is known and none is below us.
    pub(super) fn is_lowest(&self) -> bool {
        let above = |(id, peer): (&NodeId, &Peer)| peer.height(*id).is_some_and(|height| height > self.height);
        !self.peers.is_empty() && self.peers.iter().all(above)
    }

    pub(super) fn is_below(&self, neighbour: NodeId) -> bool {
        self.peers.get(&neighbour).is_some_and(|peer| peer.height(neighbour).is_some_and(|height| height < self.height))
    }

    pub(super) fn lowest_below(&self) -> Option<NodeId> {
        let lowest = self.peers.iter().filter_map(|(id, peer)| peer.height(*id)).min()?;
        (lowest < self.height).then_some(lowest.id)
    }

    /// A neighbour below us does not ask us, whatever it said before.
    pub(super) fn forget_lower_claims(&mut self) {
        let (peers, height) = (&self.peers, self.height);
        let below = |id| peers.get(&id).is_some_and(|peer| peer.height(id).is_some_and(|h| h < height));
        self.queue.remove_peers(below);
    }

    /// A neighbour does not ask us any more.
    pub(super) fn remove_claim(&mut self, of: NodeId) {
        self.queue.remove_peer(of);
        self.remove_passed_by(of);
    }

    pub(super) fn remove_passed_by(&mut self, of: NodeId) {
        if let Some(limbo) = &mut self.limbo {
            limbo.passed_by = limbo.passed_by.filter(|(teller, _)| *teller != of);
        }
    }

    pub(super) fn send(&mut self, to: NodeId, body: Body, out: &mut Effects) {
        let message = self.telling(&[to], body);
        out.push(Effect::Send { to, message });
    }

    pub(super) fn broadcast(&mut self, body: Body, out: &mut Effects) {
        if self.peers.is_empty() {
            return;
        }
        for peer in self.peers.values_mut() {
            peer.told = self.height.rung();
        }
        let message = self.telling(&[], body);
        out.push(Effect::Broadcast { message });
    }

    pub(super) fn multicast(&mut self, to: Vec<NodeId>, body: Body, out: &mut Effects) {
        match to.as_slice() {
            [] => {}
            [only] => self.send(*only, body, out),
            many => {
                let message = self.telling(many, body);
                out.push(Effect::Multicast { to, message });
            }
        }
    }

    pub(super) fn tell_others(&mut self, but: NodeId, news: &[News], out: &mut Effects) {
        let others = self.peers.keys().copied().filter(|peer| *peer != but).collect();
        self.multicast(others, Body::News(news.to_vec()), out);
    }

    /// A message for these neighbours, which will know our height by it.
    fn telling(&mut self, to: &[NodeId], body: Body) -> Message {
        for id in to {
            if let Some(peer) = self.peers.get_mut(id) {
                peer.told = self.height.rung();
            }
        }
        Message { height: self.height, clock: self.clock, body }
    }
}
