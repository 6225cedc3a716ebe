//! Counts what is sent.

use crate::frames::Frame;
use crate::outcome::{Kind, Totals};

/// What was sent so far, by kind and in all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    kinds: Vec<Kind>,
    pub(crate) all: Totals,
    pub(crate) acks: u64,
    pub(crate) lost: u64,
    pub(crate) rejected: u64,
}

impl Tally {
    pub(crate) fn place(&mut self, name: &'static str) -> usize {
        // A protocol has about ten kinds: looking through them is faster than any map.
        if let Some(place) = self.kinds.iter().position(|kind| std::ptr::eq(kind.name, name) || kind.name == name) {
            return place;
        }
        self.kinds.push(Kind { name, totals: Totals::default() });
        self.kinds.len() - 1
    }

    pub(crate) fn messages(&mut self, kind: usize, count: u64) {
        self.kinds[kind].totals.messages += count;
        self.all.messages += count;
    }

    /// A transmission. It is one of its last message; what rides on it is only bytes.
    pub(crate) fn frame(&mut self, frame: &Frame) {
        self.kinds[frame.kind].totals.frames += 1;
        self.all.frames += 1;
        let riders = frame.riders.iter().map(|rider| (rider.kind, rider.bytes));
        for (kind, bytes) in riders.chain([(frame.kind, frame.bytes)]) {
            self.kinds[kind].totals.bytes += u64::from(bytes);
            self.all.bytes += u64::from(bytes);
        }
    }

    /// By kind, in the order of their names.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let mut kinds = self.kinds.clone();
        kinds.sort_by_key(|kind| kind.name);
        kinds
    }
}
