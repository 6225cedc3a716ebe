//! Parts of rows, each stored once and known by a number.
//!
//! Half of the network, with what it has sent, is in far fewer conditions than the whole, so a half is shared by many
//! states: a state is kept as the numbers of its two halves, 8 bytes whatever its width, and exactly. Quarters are fewer
//! still: a few of them make up all states, so nothing but their four numbers, 16 bytes, is needed for a state.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError};

use hashbrown::HashTable;

use crate::intern::{BLOCKS, Lock, spot, spot_len};
use crate::space::Row;

/// A state, by the numbers of its halves.
pub(crate) type Pair = [u32; 2];

/// A state, by the numbers of its quarters.
pub(crate) type Quad = [u32; 4];

/// The halves of all rows.
pub(crate) type Halves = Parts<2>;

/// Their quarters.
pub(crate) type Quarters = Parts<4>;

/// The parts of all rows. Threads look up and add side by side.
pub(crate) struct Parts<const N: usize> {
    sides: [Side; N],
}

impl<const N: usize> Parts<N> {
    /// `places` are those of each part; see [`crate::layout::Layout::halves`].
    pub(crate) fn new(places: [Vec<usize>; N]) -> Self {
        Self { sides: places.map(Side::new) }
    }

    pub(crate) fn width(&self) -> usize {
        self.sides.iter().map(|side| side.places.len()).sum()
    }

    /// The parts of a row. A part that is as in `near`, whose parts are known, is not looked up.
    pub(crate) fn near(&self, row: &Row, near: (&Row, [u32; N]), recent: &mut Recent<N>) -> [u32; N] {
        let (near, known) = near;
        let mut parts = known;
        for ((side, id), recent) in self.sides.iter().zip(&mut parts).zip(&mut recent.0) {
            if side.places.iter().any(|place| row[*place] != near[*place]) {
                *id = side.id(row, recent);
            }
        }
        parts
    }

    /// The parts of a row of which nothing is known.
    pub(crate) fn of(&self, row: &Row) -> [u32; N] {
        std::array::from_fn(|side| self.sides[side].id(row, &mut []))
    }

    pub(crate) fn read(&self, parts: [u32; N], row: &mut Row) {
        for (side, id) in self.sides.iter().zip(parts) {
            for (place, kept) in side.places.iter().zip(side.half(id)) {
                row[*place] = kept.load(Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.sides.iter().map(Side::bytes).sum()
    }
}

/// Parts that one thread met lately, by hash: it finds them again without a lock.
pub(crate) struct Recent<const N: usize>([Vec<u32>; N]);

impl<const N: usize> Recent<N> {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| vec![NONE; RECENT]))
    }

    /// Nothing is remembered: for one thread alone, to which a lock costs little.
    pub(crate) const fn nothing() -> Self {
        Self([const { Vec::new() }; N])
    }
}

const RECENT: usize = 1 << 14;
const NONE: u32 = u32::MAX;

/// All parts of one side.
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
pub(crate) fn hash<const N: usize>(parts: [u32; N]) -> u64 {
    parts.iter().fold(SEED, |hash, part| mix(hash, *part))
}
