//! Several messages in one frame: what nobody waits for is held back and goes with the next message on its link.
//!
//! Only where the scenario says for how long at most. Then all messages from one neighbour to another come through here,
//! so a link keeps their order: those of one event go together, and with them what was held back before. Which message
//! can wait says its protocol ([`Protocol::can_wait`]), to real nodes too. To a protocol this is a slow link, and the
//! checker explores all of these.

use std::collections::BTreeMap;

use meshlock_core::{NodeId, Protocol};
use meshlock_protocols::{Message, Node};

use super::{Medium, World};
use crate::agenda::Due;
use crate::frames::{Frame, Hop, Rider};
use crate::observe::Observer;
use crate::time::{Span, Time};

/// What is not sent yet.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// For how long at most; `None`: nothing is held back, and every message is a frame.
    most: Option<Span>,
    /// By sender and receiver. None without messages or an alarm.
    parcels: BTreeMap<(u32, u32), Parcel>,
    /// Those that go when the present event has been handled, in their order.
    due: Vec<(u32, u32)>,
}

/// The next frame from one neighbour to another.
#[derive(Clone, Debug, Default)]
struct Parcel {
    messages: Vec<Rider>,
    /// When the first of them was sent.
    since: Time,
    /// Not all of them can wait.
    is_due: bool,
    /// The agenda has it.
    has_alarm: bool,
}

impl Held {
    pub(super) const fn new(most: Option<Span>) -> Self {
        Self { most, parcels: BTreeMap::new(), due: Vec::new() }
    }

    pub(super) const fn is_off(&self) -> bool {
        self.most.is_none()
    }

    /// All messages, with their senders.
    pub(super) fn messages(&self) -> impl Iterator<Item = (u32, &Rider)> {
        self.parcels.iter().flat_map(|((from, _), parcel)| parcel.messages.iter().map(|rider| (*from, rider)))
    }

    fn take(&mut self, from: u32, to: u32) -> Vec<Rider> {
        let Some(parcel) = self.parcels.get_mut(&(from, to)) else { return Vec::new() };
        let messages = std::mem::take(&mut parcel.messages);
        parcel.is_due = false;
        if !parcel.has_alarm {
            self.parcels.remove(&(from, to));
        }
        messages
    }
}

impl World {
    /// Sends to neighbours, because of a message `heard` from one of them if it was one.
    pub(super) fn address(
        &mut self,
        from: u32,
        to: Vec<Hop>,
        message: Message,
        heard: Option<NodeId>,
        observer: &mut dyn Observer,
    ) {
        if self.held.is_off() || self.manner.direct {
            return self.dispatch(from, to, message, true, None, observer);
        }
        if to.len() <= 1 || matches!(self.medium, Medium::Wire { .. }) {
            for hop in &to {
                self.hold(from, hop.node, message.clone(), heard);
            }
            return;
        }
        // One transmission to all of them, which takes along what waits for each.
        let riders = to.iter().flat_map(|hop| self.held.take(from, hop.node)).collect();
        let (kind, bytes) = self.count(&message, to.len());
        let frame = Frame { from, to, message, kind, bytes, riders, acked: true, attempts: 0, number: 0, letter: None };
        self.launch(frame, observer);
    }

    fn count(&mut self, message: &Message, receivers: usize) -> (usize, u32) {
        let kind = self.tally.place(Node::kind(message));
        self.tally.messages(kind, receivers as u64);
        (kind, self.length(message))
    }

    fn hold(&mut self, from: u32, to: u32, message: Message, heard: Option<NodeId>) {
        let Some(most) = self.held.most else { return };
        let can_wait = self.nodes[from as usize].can_wait(&message, NodeId(to), heard);
        let (kind, bytes) = self.count(&message, 1);
        let parcel = self.held.parcels.entry((from, to)).or_default();
        if parcel.messages.is_empty() {
            parcel.since = self.now;
        }
        parcel.messages.push(Rider { to, message, kind, bytes });
        if can_wait && !parcel.has_alarm {
            parcel.has_alarm = true;
            self.agenda.add(self.now + most, Due::Held { from, to });
        } else if !can_wait && !parcel.is_due {
            parcel.is_due = true;
            self.held.due.push((from, to));
        }
    }

    /// An event has been handled: what it sent goes.
    pub(super) fn ship_due(&mut self, observer: &mut dyn Observer) {
        for (from, to) in std::mem::take(&mut self.held.due) {
            self.ship(from, to, observer);
        }
    }

    /// What is held back between two nodes goes at once. Whether there was anything.
    pub(super) fn ship_between(&mut self, a: u32, b: u32, observer: &mut dyn Observer) -> bool {
        let there = self.ship(a, b, observer);
        self.ship(b, a, observer) || there
    }

    fn ship(&mut self, from: u32, to: u32, observer: &mut dyn Observer) -> bool {
        let mut riders = self.held.take(from, to);
        let Some(Rider { message, kind, bytes, .. }) = riders.pop() else { return false };
        // What is held back goes with its link, so there is one.
        let Some(link) = self.links.generation(from, to) else { return false };
        let to = vec![Hop { node: to, link, delivered: false }];
        let frame = Frame { from, to, message, kind, bytes, riders, acked: true, attempts: 0, number: 0, letter: None };
        self.launch(frame, observer);
        true
    }

    /// The time of a message that was held back may be over. A later one waits on.
    pub(super) fn hold_no_longer(&mut self, from: u32, to: u32, observer: &mut dyn Observer) {
        let Some(most) = self.held.most else { return };
        let Some(parcel) = self.held.parcels.get_mut(&(from, to)) else { return };
        parcel.has_alarm = false;
        if !parcel.messages.is_empty() && parcel.since + most > self.now {
            parcel.has_alarm = true;
            self.agenda.add(parcel.since + most, Due::Held { from, to });
        } else {
            self.ship(from, to, observer);
        }
    }

    /// A link has failed: what was held back is lost like everything on it.
    pub(super) fn lose_held(&mut self, a: u32, b: u32, observer: &mut dyn Observer) {
        for (from, to) in [(a, b), (b, a)] {
            for Rider { message, .. } in self.held.take(from, to) {
                self.lose(from, to, &message, observer);
            }
        }
    }
}
