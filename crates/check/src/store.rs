//! The visited states, each once, with the step that first led there.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::action::{Action, Packed};
use crate::intern::next_id;
use crate::space::Row;

/// An exact set of states in the order of discovery.
pub(crate) struct Store {
    width: usize,
    /// Rows lie side by side in blocks, so that growing copies nothing.
    blocks: Vec<Vec<u32>>,
    parents: Vec<(u32, Packed)>,
    /// By hash; several, so that threads can fill them side by side and growing takes less memory at once.
    tables: Vec<HashTable<u32>>,
    hasher: FixedState,
}

const BLOCK: usize = 1 << 14;

/// How many tables there are.
pub(crate) const TABLES: usize = 32;

/// The table for a hash, by other bits than those that the table itself goes by.
pub(crate) const fn table_of(hash: u64) -> usize {
    (hash >> 40) as usize % TABLES
}

impl Store {
    pub(crate) fn new(width: usize) -> Self {
        let tables = (0..TABLES).map(|_| HashTable::new()).collect();
        Self { width, blocks: Vec::new(), parents: Vec::new(), tables, hasher: FixedState::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }

    pub(crate) fn row(&self, id: u32) -> &Row {
        row_of(&self.blocks, self.width, id)
    }

    pub(crate) fn hash(&self, row: &Row) -> u64 {
        self.hasher.hash_one(row)
    }

    pub(crate) fn find(&self, hash: u64, row: &Row) -> Option<u32> {
        let (blocks, width) = (&self.blocks, self.width);
        self.tables[table_of(hash)].find(hash, |id| row_of(blocks, width, *id) == row).copied()
    }

    /// The number of this state, and whether it is new; then it is remembered that `action` led here from `parent`.
    pub(crate) fn insert(&mut self, row: &Row, parent: u32, action: Action) -> (u32, bool) {
        let hash = self.hash(row);
        if let Some(known) = self.find(hash, row) {
            return (known, false);
        }
        let id = self.append(row, parent, action.pack());
        let (blocks, width, hasher) = (&self.blocks, self.width, &self.hasher);
        let rehash = |id: &u32| hasher.hash_one(row_of(blocks, width, *id));
        self.tables[table_of(hash)].insert_unique(hash, id, rehash);
        (id, true)
    }

    /// Adds a state that is known to be new. It is found only once it is in its table too: see [`Self::tables`].
    pub(crate) fn append(&mut self, row: &Row, parent: u32, action: Packed) -> u32 {
        let id = next_id(self.parents.len());
        self.parents.push((parent, action));
        if (id as usize).is_multiple_of(BLOCK) {
            // The first block grows as needed, so that small explorations stay small.
            self.blocks.push(if id == 0 { Vec::new() } else { Vec::with_capacity(BLOCK * self.width) });
        }
        if let Some(block) = self.blocks.last_mut() {
            block.extend_from_slice(row);
        }
        id
    }

    /// The tables, in the order of [`table_of`], and how to compute the hash of a state that was appended.
    pub(crate) fn tables(&mut self) -> (&mut [HashTable<u32>], impl Fn(&u32) -> u64 + Copy + Sync) {
        let Self { width, blocks, tables, hasher, .. } = self;
        let (width, blocks, hasher) = (*width, &*blocks, &*hasher);
        (tables, move |id: &u32| hasher.hash_one(row_of(blocks, width, *id)))
    }

    /// How a state was reached first; the start is its own parent.
    pub(crate) fn parent(&self, id: u32) -> (u32, Action) {
        let (parent, action) = self.parents[id as usize];
        (parent, action.unpack())
    }

    /// The actions that lead from the start to a state.
    pub(crate) fn path(&self, id: u32) -> Vec<Action> {
        let mut path = Vec::new();
        let mut at = id;
        while at != 0 {
            let (parent, action) = self.parent(at);
            path.push(action);
            at = parent;
        }
        path.reverse();
        path
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.capacity() * 4).sum::<usize>()
            + self.parents.capacity() * 8
            + self.tables.iter().map(|table| table.capacity() * 8 / 7 * 5).sum::<usize>()
    }
}

fn row_of(blocks: &[Vec<u32>], width: usize, id: u32) -> &Row {
    let (block, place) = (id as usize / BLOCK, id as usize % BLOCK);
    &blocks[block][place * width..(place + 1) * width]
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Action = Action::Expire { node: 1 };

    #[test]
    fn a_state_is_stored_once_with_the_first_way_to_it() {
        let mut store = Store::new(3);
        assert_eq!(store.insert(&[0, 0, 0], 0, STEP), (0, true));
        assert_eq!(store.insert(&[0, 0, 1], 0, STEP), (1, true));
        assert_eq!(store.insert(&[0, 0, 2], 1, Action::Expire { node: 2 }), (2, true));
        assert_eq!(store.insert(&[0, 0, 2], 0, STEP), (2, false));
        assert_eq!(store.path(2), [STEP, Action::Expire { node: 2 }]);
        assert_eq!(store.row(2), [0, 0, 2]);
    }

    #[test]
    fn many_blocks_are_one_set() {
        let mut store = Store::new(1);
        let many = u32::try_from(3 * BLOCK + 5).unwrap();
        for round in [true, false] {
            for value in 0..many {
                assert_eq!(store.insert(&[value], 0, STEP), (value, round));
            }
        }
        assert_eq!(store.len(), many as usize);
    }
}
