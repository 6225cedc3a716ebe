//! Values that stay where they are, while threads add more.

use std::sync::OnceLock;

/// Values by number. Blocks double in size and never move, so a reference to a value lasts.
pub(super) struct Slots<T> {
    blocks: [OnceLock<Box<[OnceLock<T>]>>; BLOCKS],
}

const FIRST: u32 = 16;
/// The last of them ends where numbers of 32 bits end, less the first block.
pub(crate) const BLOCKS: usize = 28;

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        Self { blocks: [const { OnceLock::new() }; BLOCKS] }
    }

    pub(super) fn get(&self, id: u32) -> &T {
        let (block, place) = spot(id);
        let known = self.blocks[block].get().and_then(|block| block[place].get());
        known.expect("a number is handed out after its value was put in")
    }

    /// Puts a value in. Every number is used once.
    pub(super) fn put(&self, id: u32, value: T) {
        let (block, place) = spot(id);
        let block = self.blocks[block].get_or_init(|| (0..spot_len(block)).map(|_| OnceLock::new()).collect());
        let fresh = block[place].set(value).is_ok();
        debug_assert!(fresh, "number {id} was used twice");
    }
}

/// How many numbers a block has.
pub(crate) const fn spot_len(block: usize) -> usize {
    (FIRST as usize) << block
}

/// The block of a number, and its place there.
pub(crate) fn spot(id: u32) -> (usize, usize) {
    let from_first = id.wrapping_add(FIRST);
    let block = (from_first | FIRST).ilog2() - FIRST.ilog2();
    (block as usize, (from_first - (FIRST << block)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_spot_of_its_own() {
        assert_eq!(spot(0), (0, 0));
        assert_eq!(spot(15), (0, 15));
        assert_eq!(spot(16), (1, 0));
        assert_eq!(spot(47), (1, 31));
        assert_eq!(spot(48), (2, 0));
        assert_eq!(spot(u32::MAX - FIRST).0, BLOCKS - 1);
        let slots = Slots::new();
        (0..1000).for_each(|id| slots.put(id, id * 7));
        assert!((0..1000).all(|id| *slots.get(id) == id * 7));
    }
}
