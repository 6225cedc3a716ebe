//! Messages on the air and on wires.
//!
//! A radio transmits one frame at a time. Its receivers are the neighbours at the moment of sending, as long as their
//! links last. A unicast is acknowledged and repeated; a broadcast only if the protocol relies on its links. While a
//! frame waits for acknowledgements nothing else is sent, so a link keeps the order of its messages. Acknowledgements
//! go out at once, beside the receiver's own queue. A wire carries any number of messages at a time.

use std::collections::BTreeMap;

use meshlock_core::{Event, NodeId, Protocol};
use meshlock_protocols::{Message, Node};
use serde::Serialize;

use super::{Medium, World};
use crate::agenda::Due;
use crate::frames::{Frame, Hop, Letter};
use crate::observe::Observer;
use crate::scenario::{MessageSize, Radio};
use crate::time::{Span, Time};

/// When the last message over each wire arrives, in each direction.
pub(super) type Arrivals = BTreeMap<(u32, u32), Time>;

impl World {
    /// Sends to one node, because of a message `heard` from a neighbour if it was one.
    pub(super) fn send(
        &mut self,
        from: u32,
        to: u32,
        message: Message,
        heard: Option<NodeId>,
        observer: &mut dyn Observer,
    ) {
        if self.manner.routed {
            return self.post(from, to, message, observer);
        }
        let link = if self.manner.direct { Some(0) } else { self.links.generation(from, to) };
        let Some(link) = link.filter(|_| (to as usize) < self.nodes.len() && !self.is_gone(to) && !self.is_gone(from))
        else {
            return self.lose(from, to, &message, observer);
        };
        self.address(from, vec![Hop { node: to, link, delivered: false }], message, heard, observer);
    }

    /// Sends to some neighbours at once.
    pub(super) fn multicast(
        &mut self,
        from: u32,
        to: &[NodeId],
        message: Message,
        heard: Option<NodeId>,
        observer: &mut dyn Observer,
    ) {
        if self.manner.routed || self.manner.direct {
            return to.iter().for_each(|to| self.send(from, to.0, message.clone(), heard, observer));
        }
        let mut hops = Vec::with_capacity(to.len());
        for NodeId(node) in to.iter().copied() {
            match self.links.generation(from, node) {
                Some(link) => hops.push(Hop { node, link, delivered: false }),
                None => self.lose(from, node, &message, observer),
            }
        }
        self.address(from, hops, message, heard, observer);
    }

    /// Sends to all neighbours, or to all nodes where any node can be reached.
    pub(super) fn broadcast(&mut self, from: u32, message: Message, observer: &mut dyn Observer) {
        let all_nodes = 0..self.nodes.len() as u32;
        if self.manner.routed {
            for to in all_nodes.filter(|to| *to != from) {
                self.post(from, to, message.clone(), observer);
            }
            return;
        }
        let hop = |(node, link)| Hop { node, link, delivered: false };
        let to: Vec<Hop> = if self.manner.direct {
            all_nodes
                .filter(|to| *to != from && !self.is_gone(*to) && !self.is_gone(from))
                .map(|to| hop((to, 0)))
                .collect()
        } else {
            self.links.with_generations(from).iter().copied().map(hop).collect()
        };
        if self.manner.relies_on_links {
            return self.address(from, to, message, None, observer);
        }
        // Nothing that has to arrive rides on what is not repeated, and nothing is overtaken.
        self.ship_due(observer);
        self.dispatch(from, to, message, false, None, observer);
    }

    pub(super) fn dispatch(
        &mut self,
        from: u32,
        to: Vec<Hop>,
        message: Message,
        acked: bool,
        letter: Option<Letter>,
        observer: &mut dyn Observer,
    ) {
        if to.is_empty() {
            return;
        }
        let kind = self.tally.place(Node::kind(&message));
        // A letter is one message, however often it is passed on.
        if letter.is_none_or(|letter| letter.origin == from) {
            self.tally.messages(kind, to.len() as u64);
        }
        let bytes = self.length(&message);
        let frame = Frame { from, to, message, kind, bytes, riders: Vec::new(), acked, attempts: 0, number: 0, letter };
        self.launch(frame, observer);
    }

    /// How long a message is in a frame that goes anyway.
    pub(super) fn length(&self, message: &Message) -> u32 {
        match self.message_size {
            MessageSize::Fixed(bytes) => bytes,
            MessageSize::Encoded { .. } => encoded_size(message),
        }
    }

    /// Puts a frame without its header on the air or on wires.
    pub(super) fn launch(&mut self, frame: Frame, observer: &mut dyn Observer) {
        let header = if let MessageSize::Encoded { header } = self.message_size { header } else { 0 };
        let frame = Frame { bytes: frame.bytes.saturating_add(header), number: self.frames.next_number(), ..frame };
        if matches!(self.medium, Medium::Air { .. }) {
            let from = frame.from;
            let slot = self.frames.keep(frame);
            self.outboxes[from as usize].push_back(slot);
            self.transmit(from, observer);
        } else {
            self.put_on_wires(frame);
        }
    }

    /// Each receiver has a wire of its own.
    fn put_on_wires(&mut self, frame: Frame) {
        let Medium::Wire { wired, arrivals } = &mut self.medium else { return };
        for hop in &frame.to {
            let mut at = self.now + wired.delay.draw_span(&mut self.channel);
            if wired.fifo {
                let last = arrivals.entry((frame.from, hop.node)).or_default();
                at = at.max(*last);
                *last = at;
            }
            self.tally.frame(&frame);
            let slot = self.frames.keep(Frame { to: vec![*hop], ..frame.clone() });
            self.agenda.add(at, Due::Land { frame: slot });
        }
    }

    pub(super) fn wake(&mut self, node: u32, observer: &mut dyn Observer) {
        self.outboxes[node as usize].awaited = false;
        self.transmit(node, observer);
    }

    /// Transmits the next frame of a node, if there is one and its transmitter is free.
    fn transmit(&mut self, node: u32, observer: &mut dyn Observer) {
        while self.is_free(node) {
            let Some(slot) = self.outboxes[node as usize].pop_front() else { return };
            let Some(mut frame) = self.frames.take(slot) else { continue };
            self.drop_gone(&mut frame, observer);
            let Medium::Air { radio, .. } = &self.medium else { return };
            if frame.to.is_empty() {
                continue;
            }
            let sent = self.now + airtime(radio, frame.length());
            self.tally.frame(&frame);
            frame.attempts += 1;
            let outbox = &mut self.outboxes[node as usize];
            (outbox.on_the_air, outbox.free_at) = (frame.acked, sent);
            let lands = sent + radio.latency;
            let slot = self.frames.keep(frame);
            self.agenda.add(lands, Due::Land { frame: slot });
        }
    }

    /// Whether a node may transmit now; if it has something and may do so later, that is put on the agenda.
    fn is_free(&mut self, node: u32) -> bool {
        let outbox = &mut self.outboxes[node as usize];
        if outbox.on_the_air || outbox.is_empty() {
            return false;
        }
        if outbox.free_at <= self.now {
            return true;
        }
        if !outbox.awaited {
            outbox.awaited = true;
            self.agenda.add(outbox.free_at, Due::Free { node });
        }
        false
    }

    /// Receivers whose link has failed since will not get it.
    fn drop_gone(&mut self, frame: &mut Frame, observer: &mut dyn Observer) {
        let mut place = 0;
        while let Some(hop) = frame.to.get(place).copied() {
            if self.is_under_way(frame.from, hop) {
                place += 1;
                continue;
            }
            frame.to.remove(place);
            if !hop.delivered {
                self.miss(frame, hop.node, observer);
            }
        }
    }

    /// Whether what was sent to this receiver can still come there.
    pub(super) fn is_under_way(&self, from: u32, hop: Hop) -> bool {
        if self.manner.direct {
            return !self.is_gone(hop.node);
        }
        self.links.generation(from, hop.node) == Some(hop.link)
    }

    /// A receiver does not get a frame. A routed message tries another path.
    fn miss(&mut self, frame: &Frame, to: u32, observer: &mut dyn Observer) {
        match frame.letter {
            Some(letter) => self.forward(frame.from, letter, frame.message.clone(), observer),
            None => frame.messages_for(to).for_each(|message| self.lose(frame.from, to, message, observer)),
        }
    }

    pub(super) fn lose(&mut self, from: u32, to: u32, message: &Message, observer: &mut dyn Observer) {
        self.tally.lost += 1;
        observer.lost(self.now, NodeId(from), NodeId(to), message);
    }

    /// A frame arrives where its links are still the same.
    pub(super) fn land(&mut self, slot: u32, observer: &mut dyn Observer) {
        let Some(mut frame) = self.frames.take(slot) else { return };
        self.drop_gone(&mut frame, observer);
        let error = match &self.medium {
            Medium::Air { radio, .. } => radio.error,
            Medium::Wire { wired, .. } => wired.loss,
        };
        let mut acks = 0;
        let mut place = 0;
        while let Some(hop) = frame.to.get(place).copied() {
            let heard = error == 0.0 || !self.channel.happens(error);
            let is_new = heard && !hop.delivered;
            frame.to[place].delivered |= heard;
            acks += u64::from(heard && frame.acked);
            let confirmed = heard && (!frame.acked || error == 0.0 || !self.channel.happens(error));
            if confirmed {
                frame.to.remove(place);
            } else {
                place += 1;
            }
            if is_new {
                self.arrive(&frame, hop.node, observer);
            }
        }
        if matches!(self.medium, Medium::Air { .. }) {
            self.tally.acks += acks;
        }
        self.settle(frame, acks, observer);
    }

    fn arrive(&mut self, frame: &Frame, at: u32, observer: &mut dyn Observer) {
        match frame.letter {
            Some(letter) => self.pass_on(at, letter, frame.message.clone(), observer),
            None => {
                for message in frame.messages_for(at) {
                    self.receive(at, frame.from, message.clone(), observer);
                }
            }
        }
    }

    pub(super) fn receive(&mut self, at: u32, from: u32, message: Message, observer: &mut dyn Observer) {
        // A message is never a caller's mistake.
        let _ = self.handle(at, Event::Receive { from: NodeId(from), message }, observer);
    }

    /// After a transmission: repeats it for receivers that did not answer, or gives them up.
    fn settle(&mut self, frame: Frame, acks: u64, observer: &mut dyn Observer) {
        let from = frame.from;
        let Medium::Air { radio, .. } = &self.medium else {
            return frame.to.iter().for_each(|hop| self.miss(&frame, hop.node, observer));
        };
        let (retries, answer) = (radio.retries, airtime(radio, radio.ack));
        if frame.acked {
            let outbox = &mut self.outboxes[from as usize];
            outbox.on_the_air = false;
            outbox.free_at = self.now + Span(answer.0.saturating_mul(acks.max(1))) + radio.latency;
            if !frame.to.is_empty() && frame.attempts <= retries {
                let slot = self.frames.keep(frame);
                self.outboxes[from as usize].push_front(slot);
                return self.transmit(from, observer);
            }
        }
        for hop in &frame.to {
            if !hop.delivered {
                self.miss(&frame, hop.node, observer);
            }
            if frame.acked && self.manner.relies_on_links {
                self.reset(from, hop.node, observer);
            }
        }
        self.transmit(from, observer);
    }

    /// Delivers what is between two nodes at once, as long as there is anything: their link is about to fail gently.
    pub(super) fn flush(&mut self, a: u32, b: u32, observer: &mut dyn Observer) {
        // Messages answer messages; a printed text may do so endlessly.
        for _ in 0..1_000 {
            let between = |frame: &Frame| {
                let to = if frame.from == a { b } else { a };
                let ends = frame.from == a || frame.from == b;
                ends && frame.to.iter().any(|hop| hop.node == to && !hop.delivered)
            };
            let first = self.frames.iter_mut().filter(|frame| between(frame)).min_by_key(|frame| frame.number);
            let Some(frame) = first else {
                if self.ship_between(a, b, observer) {
                    continue;
                }
                return;
            };
            let to = if frame.from == a { b } else { a };
            for hop in frame.to.iter_mut().filter(|hop| hop.node == to) {
                hop.delivered = true;
            }
            let frame = frame.clone();
            self.arrive(&frame, to, observer);
        }
    }
}

/// How long a radio needs for so many bytes.
fn airtime(radio: &Radio, bytes: u32) -> Span {
    Span::from_seconds(f64::from(bytes) * 8.0 / radio.bandwidth)
}

fn encoded_size<M: Serialize>(message: &M) -> u32 {
    // What cannot be encoded counts its header only; no message of ours is such.
    postcard::experimental::serialized_size(message).map_or(0, |size| u32::try_from(size).unwrap_or(u32::MAX))
}
