//! Messages in flight: queued at a transmitter or on the air.

use meshlock_protocols::Message;

use crate::links::Generation;

/// A message in flight to one or more neighbours, and those that go with it.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) from: u32,
    pub(crate) to: Vec<Hop>,
    pub(crate) message: Message,
    pub(crate) kind: usize,
    /// Of the message and the header of the frame.
    pub(crate) bytes: u32,
    /// They arrive before the message, in their order.
    pub(crate) riders: Vec<Rider>,
    /// It is repeated until all receivers acknowledge it.
    pub(crate) acked: bool,
    pub(crate) attempts: u32,
    /// Frames are numbered in the order of sending.
    pub(crate) number: u64,
    /// For messages that go further than to neighbours.
    pub(crate) letter: Option<Letter>,
}

/// A message in the frame of another one, for one of its receivers.
#[derive(Clone, Debug)]
pub(crate) struct Rider {
    pub(crate) to: u32,
    pub(crate) message: Message,
    pub(crate) kind: usize,
    pub(crate) bytes: u32,
}

impl Frame {
    /// The length of all that is in it.
    pub(crate) fn length(&self) -> u32 {
        self.riders.iter().fold(self.bytes, |sum, rider| sum.saturating_add(rider.bytes))
    }

    /// What it brings to a receiver, in order.
    pub(crate) fn messages_for(&self, to: u32) -> impl Iterator<Item = &Message> {
        let riders = self.riders.iter().filter(move |rider| rider.to == to).map(|rider| &rider.message);
        riders.chain([&self.message])
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) node: u32,
    pub(crate) link: Generation,
    pub(crate) delivered: bool,
}

/// The envelope of a message that is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) origin: u32,
    pub(crate) to: u32,
    /// Letters from one node to another are numbered, so that they are opened in order.
    pub(crate) number: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    slots: Vec<Option<Frame>>,
    free: Vec<u32>,
    sent: u64,
}

impl Frames {
    pub(crate) fn next_number(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }

    pub(crate) fn keep(&mut self, frame: Frame) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(frame);
            return slot;
        }
        self.slots.push(Some(frame));
        (self.slots.len() - 1) as u32
    }

    pub(crate) fn take(&mut self, slot: u32) -> Option<Frame> {
        let frame = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(frame)
    }

    pub(crate) const fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// All of them, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.slots.iter().flatten()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Frame> {
        self.slots.iter_mut().flatten()
    }
}
