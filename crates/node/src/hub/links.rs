//! What links tell a node.

use std::time::Instant;

use tokio::sync::mpsc::error::TrySendError;

use super::{Hub, since_1970_ms};
use crate::links::{DoubleIdentity, FrameReceiver, LinkId, LinkUser, Peer, frame_queue};

impl LinkUser for Hub {
    fn up(&self, link: LinkId, peer: &Peer) -> Result<FrameReceiver, String> {
        let (sender, receiver) = frame_queue();
        self.with_inner(|inner, now| {
            if inner.killed {
                return Err("this node was killed".to_owned());
            }
            let replaced = inner.senders.insert(peer.node, sender);
            if let Err(reason) = inner.machine.link_up(now, peer) {
                inner.senders.remove(&peer.node);
                inner.senders.extend(replaced.map(|sender| (peer.node, sender)));
                return Err(reason);
            }
            inner.links.insert(link, peer.node);
            if let Some(greeting) = &inner.greeting {
                inner.machine.post(peer.node, greeting);
            }
            Ok(receiver)
        })
    }

    fn received(&self, link: LinkId, frame: &[u8]) -> Result<(), String> {
        let removals = self.with_inner(|inner, now| {
            let Some(from) = inner.links.get(&link).copied() else { return Ok(Vec::new()) };
            inner.machine.set_clock(now, since_1970_ms());
            inner.machine.receive(now, from, frame)?;
            Ok::<_, String>(inner.machine.take_removals())
        })?;
        for removal in removals {
            // A node that verifies none, because it ends, lets them go.
            if let Err(TrySendError::Full(_)) = self.removals.try_send(removal) {
                return Err("it tells of more removals than this node can verify".to_owned());
            }
        }
        Ok(())
    }

    fn down(&self, link: LinkId, reason: &str) {
        self.with_inner(|inner, now| {
            let Some(node) = inner.links.remove(&link) else { return };
            inner.senders.remove(&node);
            inner.machine.link_down(now, node, reason);
        });
    }

    fn alarm(&self, double: &DoubleIdentity) {
        self.lock().alarms.insert(double.member, (Instant::now(), double.to_string()));
    }
}
