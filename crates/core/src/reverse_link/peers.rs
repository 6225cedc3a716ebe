//! What a node knows of its neighbours, and what it tells them.
//!
//! Every message carries the sender's height, so each one updates what a neighbour knows of it. It also confirms what
//! came from there, so that the neighbour can forget its copies.

use alloc::vec::Vec;

use super::height::Height;
use super::message::{Body, Message};
use super::node::{Effects, Node};
use super::questions::News;
use super::rules::Rules;
use crate::protocol::Effect;
use crate::vocabulary::{GrantId, NodeId};

/// What a node knows about a neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Peer {
    /// Unknown until its first message. If it is of level 0 and below ours, it may have fallen further since.
    pub(super) height: Option<Height>,
    /// It was sent the token with this pass number. What it says until it confirms that is stale. (Nodes once saved the
    /// height that they expected under this name; links are new when a saved node goes on.)
    #[cfg_attr(feature = "serde", serde(default, rename = "expecting_pass"))]
    pub(super) expecting: Option<u64>,
    /// Our height as the neighbour knows it, once everything in flight has arrived.
    pub(super) told: Height,
    /// It said that it leaves.
    pub(super) leaving: bool,
    /// The pass under which it gave us the token, if it was not told since that it arrived.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(super) unconfirmed_pass: Option<u64>,
    /// Releases that it gave us and that were not confirmed since.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(super) unconfirmed: Vec<GrantId>,
}

/// A neighbour that has given us so many releases since we last sent it anything hears of them at once. Until then it
/// keeps a copy of each, for the case that the link fails.
pub const MOST_UNCONFIRMED: usize = 2;

impl Peer {
    /// Whether the neighbour must hear that our height is `now`: which end of the link is lower has changed, or we
    /// are on another level, which it needs to know exactly in order to turn its own links.
    pub(super) fn must_hear(&self, now: Height) -> bool {
        let turned = self.height.is_none_or(|height| (height < self.told) != (height < now));
        self.told.level != now.level || (turned && self.told != now)
    }
}

impl Node {
    pub(super) fn on_link_up(&mut self, neighbour: NodeId, out: &mut Effects) {
        if self.peers.contains_key(&neighbour) {
            self.on_link_down(neighbour, out); // a new link replaces the old one, and what was on that is lost
        }
        let peer = Peer {
            height: None,
            expecting: None,
            told: self.height,
            leaving: false,
            unconfirmed_pass: None,
            unconfirmed: Vec::new(),
        };
        self.peers.insert(neighbour, peer);
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
        self.queue.remove_peer(neighbour);
        self.custody.link_down(neighbour);
        if self.asked.is_some_and(|(asked, _)| asked == neighbour) {
            self.asked = None;
        }
        self.doubt(neighbour, out);
    }

    /// A neighbour says what has arrived.
    pub(super) fn hear_confirmations(&mut self, from: NodeId, arrived: Option<u64>, received: &[GrantId]) {
        if let Some(pass) = arrived {
            self.learn_decided(pass);
            if let Some(peer) = self.peers.get_mut(&from) {
                peer.expecting = peer.expecting.filter(|expected| *expected > pass);
            }
        }
        for grant in received {
            self.custody.confirmed(from, *grant);
        }
    }

    pub(super) fn on_release_of(&mut self, from: NodeId, grant: GrantId) {
        self.keep_release(grant);
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.unconfirmed.push(grant);
        }
    }

    /// Believes what a neighbour says about its height, unless it was said before our token reached it.
    pub(super) fn note_height(&mut self, from: NodeId, height: Height, out: &mut Effects) {
        let Some(peer) = self.peers.get_mut(&from) else { return };
        if height.is_unset() || peer.expecting.is_some() {
            return;
        }
        peer.height = Some(height);
        if self.height.is_unset() {
            self.height = height.just_above(self.config.id);
            self.broadcast(Body::Link, out);
        }
        self.forget_lower_claims();
    }

    /// Every neighbour's height is known and none is below us.
    pub(super) fn is_lowest(&self) -> bool {
        let above = |peer: &Peer| peer.height.is_some_and(|height| height > self.height);
        !self.peers.is_empty() && self.peers.values().all(above)
    }

    pub(super) fn is_below(&self, neighbour: NodeId) -> bool {
        self.peers.get(&neighbour).is_some_and(|peer| peer.height.is_some_and(|height| height < self.height))
    }

    pub(super) fn lowest_below(&self) -> Option<NodeId> {
        let height_of = |(id, peer): (&NodeId, &Peer)| peer.height.map(|height| (height, *id));
        let (height, id) = self.peers.iter().filter_map(height_of).min()?;
        (height < self.height).then_some(id)
    }

    /// A neighbour below us does not ask us, whatever it said before.
    pub(super) fn forget_lower_claims(&mut self) {
        let (peers, height) = (&self.peers, self.height);
        let below = |id| peers.get(&id).is_some_and(|peer| peer.height.is_some_and(|h| h < height));
        self.queue.remove_peers(below);
    }

    /// With all that is to be confirmed to this neighbour.
    pub(super) fn send(&mut self, to: NodeId, body: Body, out: &mut Effects) {
        let mut message = self.telling(&[to], body);
        message.received = self.confirm_releases(to);
        out.push(Effect::Send { to, message });
    }

    pub(super) fn broadcast(&mut self, body: Body, out: &mut Effects) {
        if self.peers.is_empty() {
            return;
        }
        let all: Vec<NodeId> = self.peers.keys().copied().collect();
        let message = self.telling(&all, body);
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
                peer.told = self.height;
            }
        }
        let arrived = self.confirm_pass(to);
        Message { height: self.height, clock: self.clock, arrived, received: Vec::new(), body }
    }
}
