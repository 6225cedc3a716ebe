//! Halves of rows, each stored once and known by a number.
//!
//! Half of the network, with what it has sent, is in far fewer conditions than the whole, so a half is shared by many
//! states: a state is kept as the numbers of its two halves, 8 bytes whatever its width, and exactly.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError};

use hashbrown::HashTable;

use crate::intern::{BLOCKS, Lock, spot, spot_len};
use crate::space::Row;

/// A state, by the numbers of its halves.
pub(crate) type Pair = [u32; 2];

/// The halves of all rows. Threads look up and add side by side.
pub(crate) struct Halves {
    sides: [Side; 2],
}

impl Halves {
    /// `places` are those of the one half and of the other; see [`crate::layout::Layout::halves`].
    pub(crate) fn new(places: [Vec<usize>; 2]) -> Self {
        Self { sides: places.map(Side::new) }
    }

    pub(crate) fn width(&self) -> usize {
        self.sides.iter().map(|side| side.places.len()).sum()
    }

    /// The halves of a row. A half that is as in `near`, whose halves are known, is not looked up.
    pub(crate) fn pair(&self, row: &Row, near: (&Row, Pair), recent: &mut Recent) -> Pair {
        let (near, known) = near;
        let mut pair = known;
        for ((side, id), recent) in self.sides.iter().zip(&mut pair).zip(&mut recent.0) {
            if side.places.iter().any(|place| row[*place] != near[*place]) {
                *id = side.id(row, recent);
            }
        }
        pair
    }

    /// The halves of a row of which nothing is known.
    pub(crate) fn pair_of(&self, row: &Row) -> Pair {
        [0, 1].map(|side| self.sides[side].id(row, &mut []))
    }

    pub(crate) fn read(&self, pair: Pair, row: &mut Row) {
        for (side, id) in self.sides.iter().zip(pair) {
            for (place, kept) in side.places.iter().zip(side.half(id)) {
                row[*place] = kept.load(Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.sides.iter().map(Side::bytes).sum()
    }
}

/// Halves that one thread met lately, by hash: it finds them again without a lock.
pub(crate) struct Recent([Vec<u32>; 2]);

impl Recent {
    pub(crate) fn new() -> Self {
        Self([vec![NONE; RECENT], vec![NONE; RECENT]])
    }

    /// Nothing is remembered: for one thread alone, to which a lock costs little.
    pub(crate) const fn nothing() -> Self {
        Self([Vec::new(), Vec::new()])
    }
}

const RECENT: usize = 1 << 14;
const NONE: u32 = u32::MAX;

/// All halves of one side.
struct Side {
    /// Where its numbers stand in a row.
    places: Vec<usize>,
    len: AtomicU32,
    /// Blocks double in size and never move. What a number stands for is written before the number is handed on, which
    /// takes a lock or the end of a thread, so single numbers need no order.
    blocks: [OnceLock<Box<[AtomicU32]>>; BLOCKS],
    /// By hash, so that threads rarely meet at one lock.
    tables: [Lock<HashTable<u32>>; TABLES],
}

const TABLES: usize = 64;

impl Side {
    fn new(places: Vec<usize>) -> Self {
        Self {
            places,
            len: AtomicU32::new(0),
            blocks: [const { OnceLock::new() }; BLOCKS],
            tables: [const { Lock::new(HashTable::new()) }; TABLES],
        }
    }

    /// The number of this half of a row, which is added if it is new.
    fn id(&self, row: &Row, recent: &mut [u32]) -> u32 {
        let hash = self.places.iter().fold(SEED, |hash, place| mix(hash, row[*place]));
        let slot = hash as usize & (RECENT - 1);
        if let Some(id) = recent.get(slot).filter(|id| **id != NONE && self.is(**id, row)) {
            return *id;
        }
        let id = self.look_up(hash, row);
        if let Some(slot) = recent.get_mut(slot) {
            *slot = id;
        }
        id
    }

    fn look_up(&self, hash: u64, row: &Row) -> u32 {
        let table = &self.tables[(hash >> 40) as usize % TABLES];
        // A thread that panicked ends the exploration; what it left is whole.
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = table.find(hash, |id| self.is(*id, row)) {
            return *id;
        }
        let id = self.len.fetch_add(1, Ordering::Relaxed);
        assert!(id != NONE, "memory runs out long before ids do");
        let (block, at) = spot(id);
        let (width, numbers) = (self.places.len(), spot_len(block) * self.places.len());
        let block = self.blocks[block].get_or_init(|| (0..numbers).map(|_| AtomicU32::new(0)).collect());
        for (kept, place) in block[at * width..].iter().zip(&self.places) {
            kept.store(row[*place], Ordering::Relaxed);
        }
        table.insert_unique(hash, id, |id| {
            self.half(*id).iter().fold(SEED, |hash, kept| mix(hash, kept.load(Ordering::Relaxed)))
        });
        id
    }

    fn half(&self, id: u32) -> &[AtomicU32] {
        let (block, at) = spot(id);
        let block = self.blocks[block].get().expect("a number is handed out after its half was put in");
        let width = self.places.len();
        &block[at * width..(at + 1) * width]
    }

    fn is(&self, id: u32, row: &Row) -> bool {
        self.half(id).iter().zip(&self.places).all(|(kept, place)| kept.load(Ordering::Relaxed) == row[*place])
    }

    fn bytes(&self) -> usize {
        let blocks = self.blocks.iter().filter_map(OnceLock::get).map(|block| block.len() * 4);
        let table =
            |table: &Lock<HashTable<u32>>| table.lock().unwrap_or_else(PoisonError::into_inner).capacity() * 8 / 7 * 5;
        blocks.chain(self.tables.iter().map(table)).sum()
    }
}

const SEED: u64 = 0x243f_6a88_85a3_08d3;

/// One number more in a hash.
const fn mix(hash: u64, number: u32) -> u64 {
    let wide = (hash ^ number as u64) as u128 * 0x9e37_79b9_7f4a_7c15;
    wide as u64 ^ (wide >> 64) as u64
}

/// The hash of a state.
pub(crate) const fn hash(pair: Pair) -> u64 {
    mix(mix(SEED, pair[0]), pair[1])
}
