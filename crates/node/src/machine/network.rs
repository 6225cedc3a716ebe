//! Links and frames.

use meshlock_api::What;
use meshlock_core::{Event, NodeId};

use super::{Machine, Neighbour, Now};
use crate::links::Peer;
use crate::wire::{Frame, Payload, decode, encode};

impl Machine {
    /// A link has come up. Whatever was sent over an earlier link to the same node does not arrive any more.
    pub fn link_up(&mut self, now: Now, peer: &Peer) {
        if self.neighbours.contains_key(&peer.node) {
            self.link_down(now, peer.node, "replaced by a new link");
        }
        let neighbour = Neighbour { name: peer.name.clone(), address: peer.address };
        self.neighbours.insert(peer.node, neighbour);
        self.counts.links_up += 1;
        self.events.tell(now, || What::LinkUp { node: peer.name.clone() });
        let catalogue = encode(&self.catalogue());
        self.post(peer.node, &catalogue);
        for number in self.numbers() {
            self.link_step(now, number, Event::LinkUp { neighbour: peer.node });
        }
    }

    /// A link is gone, and whatever was on it may be lost.
    pub fn link_down(&mut self, now: Now, node: NodeId, reason: &str) {
        let Some(gone) = self.neighbours.remove(&node) else { return };
        self.counts.links_down += 1;
        self.events.tell(now, || What::LinkDown { node: gone.name, reason: reason.to_owned() });
        for number in self.numbers() {
            self.link_step(now, number, Event::LinkDown { neighbour: node });
        }
        self.query_link_down(node);
    }

    /// A frame has arrived. An error says why the link has to be closed.
    pub fn receive(&mut self, now: Now, from: NodeId, bytes: &[u8]) -> Result<(), String> {
        if !self.neighbours.contains_key(&from) {
            return Ok(()); // of a link that is gone
        }
        match decode::<Frame>(bytes).map_err(|error| error.to_string())? {
            Frame::Catalogue(entries) => {
                for entry in entries {
                    self.learn(now, from, entry)?;
                }
            }
            Frame::Protocol { resource, message } => {
                let Some(known) = self.resources.get_mut(&resource) else {
                    return Err(format!("a message about resource {resource}, which was never announced"));
                };
                if !known.instance.understands(&message) {
                    return Err(format!("a message of another protocol than that of resource {resource}"));
                }
                known.counts.received += 1;
                self.link_step(now, resource, Event::Receive { from, message });
            }
            Frame::Query(query) => self.on_query(now, from, query),
            Frame::Report(report) => self.on_report(report),
            Frame::Done { origin, number } => self.on_done(from, origin, number),
            Frame::Removals(removals) => self.removals.extend(removals.into_iter().take(1_000)),
        }
        Ok(())
    }

    /// An event that cannot be a caller's mistake.
    pub(crate) fn link_step(&mut self, now: Now, resource: u32, event: Event<Payload>) {
        if let Err(misuse) = self.step(now, resource, event) {
            self.note(format!("resource {resource} refused a step: {misuse}"));
        }
    }

    fn numbers(&self) -> Vec<u32> {
        self.resources.keys().copied().collect()
    }

    /// All neighbours.
    pub fn neighbour_ids(&self) -> impl Iterator<Item = NodeId> {
        self.neighbours.keys().copied()
    }

    /// The names and addresses of all neighbours.
    pub fn neighbour_names(&self) -> Vec<(String, String)> {
        self.neighbours.values().map(|peer| (peer.name.clone(), peer.address.to_string())).collect()
    }
}
