//! Links and frames.

use meshlock_api::What;
use meshlock_core::recovery::Census;
use meshlock_core::{Event, NodeId};

use super::{Machine, Neighbour, Now};
use crate::links::Peer;
use crate::wire::{
    About, Answered, Called, Frame, LONGEST_WHOLE, MOST_REMOVALS, MOST_ROUNDS, Number, Payload, Query, Removals,
    decode, encode,
};

impl Machine {
    /// A link has come up. Whatever was sent over an earlier link to the same node does not arrive any more.
    ///
    /// An error refuses the link: what the other end proves by being there could not be made durable.
    pub fn link_up(&mut self, now: Now, peer: &Peer) -> Result<(), String> {
        if self.is_expelled() {
            return Err("this node begins anew".to_owned());
        }
        if self.neighbours.contains_key(&peer.node) {
            self.link_down(now, peer.node, "replaced by a new link");
        }
        // Who comes as the next incarnation proves that the former is gone. Where there are voters, they say who comes.
        if self.voting().is_none() {
            self.learn_facts(now, &Census::living_fact(peer.node))?;
        }
        let (name, address) = (peer.name.clone(), peer.address);
        self.neighbours.insert(peer.node, Neighbour { name, address, pieces: Vec::new(), is_partner: false });
        self.note_linked(now, peer.node, &peer.name);
        self.counts.links_up += 1;
        self.events.tell(now, || What::LinkUp { node: peer.name.clone() });
        for part in self.census_frame().into_iter().chain(self.catalogue()) {
            let frame = encode(&part);
            self.post(peer.node, &frame);
        }
        for frame in self.word_frames().into_iter().chain(self.report_frames()) {
            self.post(peer.node, &frame);
        }
        if self.is_partner(peer.node) {
            self.link(now, peer.node);
        }
        Ok(())
    }

    /// The protocols hear of a neighbour that takes part.
    pub(crate) fn link(&mut self, now: Now, node: NodeId) {
        let Some(neighbour) = self.neighbours.get_mut(&node) else { return };
        neighbour.is_partner = true;
        for number in self.numbers() {
            self.link_step(now, number, Event::LinkUp { neighbour: node });
        }
    }

    /// A neighbour takes no part any more, though the link may be up.
    pub(crate) fn unlink(&mut self, now: Now, node: NodeId) {
        let Some(neighbour) = self.neighbours.get_mut(&node).filter(|neighbour| neighbour.is_partner) else { return };
        neighbour.is_partner = false;
        for number in self.numbers() {
            self.link_step(now, number, Event::LinkDown { neighbour: node });
        }
    }

    /// A link is gone, and whatever was on it may be lost.
    pub fn link_down(&mut self, now: Now, node: NodeId, reason: &str) {
        self.unlink(now, node);
        let Some(gone) = self.neighbours.remove(&node) else { return };
        self.counts.links_down += 1;
        self.note_linked(now, node, &gone.name);
        self.events.tell(now, || What::LinkDown { node: gone.name, reason: reason.to_owned() });
        self.query_link_down(node);
        self.call_link_down(now, node);
    }

    /// A frame has arrived. An error says why the link has to be closed.
    pub fn receive(&mut self, now: Now, from: NodeId, bytes: &[u8]) -> Result<(), String> {
        if !self.neighbours.contains_key(&from) {
            return Ok(()); // of a link that is gone
        }
        if self.census().is_some_and(|census| census.is_gone(from)) {
            return Ok(()); // it will hear that it is gone, and begin anew
        }
        let mut frame = decode::<Frame>(bytes).map_err(|error| error.to_string())?;
        if let Frame::Piece { last, bytes } = &frame {
            let whole = self.add_piece(from, bytes)?;
            if !last {
                return Ok(());
            }
            frame = decode::<Frame>(&std::mem::take(whole)).map_err(|error| error.to_string())?;
        }
        self.understand(now, from, frame)
    }

    /// What has come of a frame in pieces, with the next one.
    fn add_piece(&mut self, from: NodeId, bytes: &[u8]) -> Result<&mut Vec<u8>, String> {
        let Some(neighbour) = self.neighbours.get_mut(&from) else { return Err("no such link".into()) };
        if neighbour.pieces.len() + bytes.len() > LONGEST_WHOLE {
            return Err(format!("a frame in pieces of more than {LONGEST_WHOLE} bytes"));
        }
        neighbour.pieces.extend_from_slice(bytes);
        Ok(&mut neighbour.pieces)
    }

    fn understand(&mut self, now: Now, from: NodeId, frame: Frame) -> Result<(), String> {
        match frame {
            Frame::Piece { .. } => return Err("a piece of a piece".into()),
            Frame::Catalogue(entries) => {
                for entry in entries {
                    self.learn(now, from, entry)?;
                }
            }
            Frame::Protocol { resource, message } => {
                if self.is_gone(resource) {
                    return Ok(());
                }
                let Some(known) = self.resources.get_mut(&resource) else {
                    return Err(format!("a message about resource {resource}, which was never announced"));
                };
                if !known.instance.understands(&message) {
                    return Err(format!("a message of another protocol than that of resource {resource}"));
                }
                known.counts.received += 1;
                if !self.neighbours.get(&from).is_some_and(|neighbour| neighbour.is_partner) {
                    return Err("a message of a protocol before it takes part".into());
                }
                self.link_step(now, resource, Event::Receive { from, message });
            }
            Frame::Query(Query { about: About::Revoke(wanted), .. }) if !wanted.is_possible() => {
                return Err("a revocation with texts that are too long".into());
            }
            Frame::Query(query) => self.on_query(now, from, query),
            Frame::Report(report) => self.on_report(now, report),
            Frame::Done { origin, number } => self.on_done(from, origin, number),
            Frame::Removals(Removals::Signed(signed)) if signed.len() > MOST_REMOVALS => {
                return Err(format!("{} removals in one frame, but {MOST_REMOVALS} is the limit", signed.len()));
            }
            Frame::Removals(removals) => self.removals.push((from, removals)),
            Frame::Census(census) if !census.is_possible() => return Err("an impossible census".into()),
            Frame::Census(census) => {
                self.learn_facts(now, &census)?;
                self.heard_census(now);
            }
            Frame::Repair(report) => self.on_repair(now, from, *report),
            Frame::Words(words) => self.on_words(now, from, words),
            Frame::Called(Called { rounds, .. }) | Frame::Answered(Answered { rounds, .. })
                if rounds.len() > MOST_ROUNDS =>
            {
                return Err(format!(
                    "{} rounds in one frame, but there are {MOST_ROUNDS} members at most",
                    rounds.len()
                ));
            }
            Frame::Called(called) => self.on_called(now, from, called),
            Frame::Answered(answered) => self.on_answered(now, from, answered),
        }
        Ok(())
    }

    /// An event that cannot be a caller's mistake.
    pub(crate) fn link_step(&mut self, now: Now, resource: Number, event: Event<Payload>) {
        if let Err(misuse) = self.step(now, resource, event) {
            self.note(format!("resource {resource} refused a step: {misuse}"));
        }
    }

    pub(crate) fn numbers(&self) -> Vec<Number> {
        self.resources.keys().copied().collect()
    }

    /// The neighbours that take part.
    pub(crate) fn partners(&self) -> impl Iterator<Item = NodeId> {
        self.neighbours.iter().filter(|(_, neighbour)| neighbour.is_partner).map(|(id, _)| *id)
    }

    /// All neighbours.
    pub fn neighbour_ids(&self) -> impl Iterator<Item = NodeId> {
        self.neighbours.keys().copied()
    }
}
