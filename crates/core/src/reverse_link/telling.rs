//! What a node tells whom. Every message carries the sender's height, so each one updates what a neighbour knows of it.

use alloc::vec::Vec;

use super::bug::Bug;
use super::height::Height;
use super::message::{Body, Message};
use super::node::{Effects, Node, Peer};
use super::questions::News;
use crate::protocol::Effect;
use crate::vocabulary::NodeId;

impl Peer {
    /// Whether the neighbour must hear that our height is `now`: which end of the link is lower has changed, or we
    /// are on another level, which it needs to know exactly in order to turn its own links.
    fn must_hear(&self, now: Height) -> bool {
        let turned = self.height.is_none_or(|height| (height < self.told) != (height < now));
        self.told.level != now.level || (turned && self.told != now)
    }
}

impl Node {
    pub(crate) fn send(&mut self, to: NodeId, body: Body, out: &mut Effects) {
        if let Some(peer) = self.peers.get_mut(&to) {
            peer.told = self.height;
        }
        out.push(Effect::Send { to, message: self.message(body) });
    }

    pub(crate) fn broadcast(&mut self, body: Body, out: &mut Effects) {
        if self.peers.is_empty() {
            return;
        }
        for peer in self.peers.values_mut() {
            peer.told = self.height;
        }
        out.push(Effect::Broadcast { message: self.message(body) });
    }

    fn multicast(&mut self, to: Vec<NodeId>, body: Body, out: &mut Effects) {
        match to.as_slice() {
            [] => return,
            [only] => return self.send(*only, body, out),
            many => {
                for id in many {
                    if let Some(peer) = self.peers.get_mut(id) {
                        peer.told = self.height;
                    }
                }
            }
        }
        out.push(Effect::Multicast { to, message: self.message(body) });
    }

    /// Tells our height to those who must hear it, and to one neighbour in any case.
    pub(crate) fn tell_height(&mut self, also: Option<NodeId>, body: Body, out: &mut Effects) {
        let height = self.height;
        let turned = |peer: &Peer| peer.must_hear(height) && !self.bug(Bug::TellOnlyGiver);
        let hears = |(id, peer): &(&NodeId, &Peer)| also == Some(**id) || turned(peer);
        let to = self.peers.iter().filter(hears).map(|(id, _)| *id).collect();
        self.multicast(to, body, out);
    }

    pub(crate) fn tell_others(&mut self, but: NodeId, news: &[News], out: &mut Effects) {
        let others = self.peers.keys().copied().filter(|peer| *peer != but).collect();
        self.multicast(others, Body::News(news.to_vec()), out);
    }

    fn message(&self, body: Body) -> Message {
        Message { height: self.height, clock: self.clock, body }
    }
}
