//! What is due later, sorted only as far as it has to be: a hierarchical timing wheel.
//!
//! Time is cut into ticks. An entry lies in the ring of the highest group of bits in which its tick differs from the
//! wheel's own, in the slot of the value of that group. When the wheel turns to the first slot that has entries, these go to
//! finer rings, or out if their tick is the wheel's. Entries of equal times are always in the same slot, in the order in
//! which they were added: they go into it in this order and leave it together.

use super::Due;
use crate::time::Time;

/// A tick is 2^17 nanoseconds, 0.13 ms: of the order of what a frame takes.
const TICK: u32 = 17;
/// A ring has a slot for each value of so many bits.
const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// Enough for all 64 bits of a time.
const RINGS: usize = (u64::BITS - TICK).div_ceil(BITS) as usize;
/// A slot that was emptied keeps room for so many entries, so that a small run allocates nothing.
const KEPT: usize = 16;

/// From so many entries on a slot grows by a quarter at a time, not to twice its size.
const LARGE: usize = 1_024;

#[derive(Clone, Debug)]
pub(super) struct Wheel {
    /// Entries of this tick, or earlier, are not in it.
    tick: u64,
    /// From the finest to the coarsest.
    rings: Vec<Ring>,
}

#[derive(Clone, Debug)]
struct Ring {
    slots: [Vec<(Time, Due)>; SLOTS],
    /// A bit for each slot that has entries.
    used: u64,
}

impl Default for Wheel {
    fn default() -> Self {
        let ring = || Ring { slots: std::array::from_fn(|_| Vec::new()), used: 0 };
        Self { tick: 0, rings: std::iter::repeat_with(ring).take(RINGS).collect() }
    }
}

impl Wheel {
    /// Takes an entry in, unless it is too early for that.
    pub(super) fn add(&mut self, at: Time, due: Due) -> bool {
        let tick = at.0 >> TICK;
        if tick <= self.tick {
            return false;
        }
        let ring = (tick ^ self.tick).ilog2() / BITS;
        let slot = (tick >> (ring * BITS)) as usize % SLOTS;
        let ring = &mut self.rings[ring as usize];
        let entries = &mut ring.slots[slot];
        if entries.len() == entries.capacity() && entries.len() >= LARGE {
            entries.reserve_exact(entries.len() / 4);
        }
        entries.push((at, due));
        ring.used |= 1 << slot;
        true
    }

    /// The time of its first entry.
    pub(super) fn first(&self) -> Option<Time> {
        let (ring, slot) = self.first_slot()?;
        self.rings[ring].slots[slot].iter().map(|(at, _)| *at).min()
    }

    /// Turns to its first entry and gives out all of that tick, in the order in which they were added.
    pub(super) fn turn(&mut self, mut out: impl FnMut(Time, Due)) {
        let mut given = false;
        while let Some((ring, slot)) = self.first_slot().filter(|_| !given) {
            // All that is finer is empty, so the wheel loses nothing by turning to where the slot begins.
            let bits = ring as u32 * BITS;
            self.tick = (self.tick >> bits >> BITS << BITS | slot as u64) << bits;
            self.rings[ring].used &= !(1 << slot);
            let mut entries = std::mem::take(&mut self.rings[ring].slots[slot]);
            for (at, due) in entries.drain(..) {
                if !self.add(at, due) {
                    out(at, due);
                    given = true;
                }
            }
            if entries.capacity() <= KEPT {
                self.rings[ring].slots[slot] = entries;
            }
        }
    }

    /// Where the earliest entries are: finer rings have the earlier ones.
    fn first_slot(&self) -> Option<(usize, usize)> {
        let ring = self.rings.iter().position(|ring| ring.used != 0)?;
        Some((ring, self.rings[ring].used.trailing_zeros() as usize))
    }
}
