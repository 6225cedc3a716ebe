//! A node that is about to go: it gives the token away, to wait for requests and releases at a neighbour that stays.
//!
//! Claims still travel through it while its links are up, so the token may come by again. Two neighbours that leave do
//! not hand the token to each other without end: links keep the order, so whoever gives it away has said before that it
//! leaves.

use super::bug::Bug;
use super::message::Body;
use super::node::{Effects, Node, Peer};
use crate::protocol::Misuse;
use crate::vocabulary::NodeId;

impl Node {
    pub(super) fn on_leave(&mut self, out: &mut Effects) -> Result<(), Misuse> {
        if !self.holding.is_empty() || !self.queue.waiting().is_empty() {
            return Err(Misuse::StillBusy);
        }
        if !self.leaving {
            self.leaving = true;
            self.broadcast(Body::Leaving, out);
        }
        Ok(())
    }

    /// It has come back. There are no timers here, and what was sent before is asked about over the new links.
    pub(super) fn on_resume(&mut self) {
        self.leaving = false;
        if self.bug(Bug::ForgetCopyOnResume) {
            self.limbo = None;
        }
        if self.bug(Bug::ForgetCustodyOnResume) {
            self.custody = Default::default();
        }
    }

    /// A neighbour is about to go.
    pub(super) fn on_leaving(&mut self, neighbour: NodeId) {
        if let Some(peer) = self.peers.get_mut(&neighbour) {
            peer.leaving = true;
        }
    }

    /// With the token, and nothing to do with it here.
    pub(super) fn pass_on_if_leaving(&mut self, out: &mut Effects) {
        if !self.leaving || self.token.is_none() || self.bug(Bug::LeaveWithToken) {
            return;
        }
        let stays = |(_, peer): &(&NodeId, &Peer)| peer.height.is_some() && !peer.leaving;
        if let Some(to) = self.peers.iter().find(stays).map(|(id, _)| *id) {
            self.pass(to, None, out);
        }
    }
}
