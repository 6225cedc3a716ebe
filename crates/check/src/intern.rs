//! Every value is stored once and known by a small number, so that states are short rows of numbers.

use std::hash::{BuildHasher, Hash};
use std::mem::size_of;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};

/// A map whose hasher is the same in every run.
pub(crate) type FixedMap<K, V> = HashMap<K, V, FixedState>;

/// Values known by the order in which they were first seen.
pub(crate) struct Interner<T> {
    items: Vec<T>,
    hashes: Vec<u64>,
    table: HashTable<u32>,
    hasher: FixedState,
}

impl<T: Eq + Hash> Interner<T> {
    pub(crate) fn new() -> Self {
        Self { items: Vec::new(), hashes: Vec::new(), table: HashTable::new(), hasher: FixedState::default() }
    }

    /// The number of this value, and whether it is new.
    pub(crate) fn insert(&mut self, item: T) -> (u32, bool) {
        let hash = self.hasher.hash_one(&item);
        match self.find(hash, &item) {
            Some(id) => (id, false),
            None => (self.add(hash, item), true),
        }
    }

    /// The same for a value that is copied only if it is new.
    pub(crate) fn insert_ref(&mut self, item: &T) -> u32
    where
        T: Clone,
    {
        let hash = self.hasher.hash_one(item);
        match self.find(hash, item) {
            Some(id) => id,
            None => self.add(hash, item.clone()),
        }
    }

    fn find(&self, hash: u64, item: &T) -> Option<u32> {
        let same = |id: &u32| self.hashes[*id as usize] == hash && self.items[*id as usize] == *item;
        self.table.find(hash, same).copied()
    }

    fn add(&mut self, hash: u64, item: T) -> u32 {
        let id = next_id(self.items.len());
        self.items.push(item);
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.table.insert_unique(hash, id, |other| hashes[*other as usize]);
        id
    }

    pub(crate) fn get(&self, id: u32) -> &T {
        &self.items[id as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// The memory of the tables, with `heap` bytes outside of each value.
    pub(crate) fn bytes(&self, heap: usize) -> usize {
        self.items.capacity() * size_of::<T>() + self.items.len() * heap + self.hashes.capacity() * 8 + {
            self.table.capacity() * 6
        }
    }
}

/// Sequences of numbers, built like lists: a sequence is its first number and the number of the rest.
pub(crate) struct Sequences {
    cells: Interner<Cell>,
    lengths: Vec<u16>,
    appended: FixedMap<(u32, u32), u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Cell {
    head: u32,
    rest: u32,
}

impl Sequences {
    pub(crate) const EMPTY: u32 = 0;

    pub(crate) fn new() -> Self {
        let mut cells = Interner::new();
        cells.insert(Cell { head: u32::MAX, rest: u32::MAX });
        Self { cells, lengths: vec![0], appended: FixedMap::default() }
    }

    pub(crate) fn len(&self, sequence: u32) -> usize {
        self.lengths[sequence as usize].into()
    }

    /// The first number of a sequence that is not empty, and the rest.
    pub(crate) fn split(&self, sequence: u32) -> Option<(u32, u32)> {
        if sequence == Self::EMPTY {
            return None;
        }
        let cell = self.cells.get(sequence);
        Some((cell.head, cell.rest))
    }

    pub(crate) fn cons(&mut self, head: u32, rest: u32) -> u32 {
        let (id, new) = self.cells.insert(Cell { head, rest });
        if new {
            self.lengths.push(self.lengths[rest as usize].saturating_add(1));
        }
        id
    }

    /// The sequence with one number more at its end.
    pub(crate) fn append(&mut self, sequence: u32, item: u32) -> u32 {
        let Some((head, rest)) = self.split(sequence) else {
            return self.cons(item, Self::EMPTY);
        };
        if let Some(&known) = self.appended.get(&(sequence, item)) {
            return known;
        }
        let longer_rest = self.append(rest, item);
        let longer = self.cons(head, longer_rest);
        self.appended.insert((sequence, item), longer);
        longer
    }

    /// The sequence with one number more at its place in order, for channels that keep no order. `less` compares what
    /// the numbers stand for, so that the place of a message is the same in all tables.
    pub(crate) fn insert_sorted(&mut self, sequence: u32, item: u32, less: &impl Fn(u32, u32) -> bool) -> u32 {
        match self.split(sequence) {
            Some((head, rest)) if less(head, item) => {
                let longer_rest = self.insert_sorted(rest, item, less);
                self.cons(head, longer_rest)
            }
            Some(_) | None => self.cons(item, sequence),
        }
    }

    /// The number at a place, and the sequence without it.
    pub(crate) fn take(&mut self, sequence: u32, place: usize) -> Option<(u32, u32)> {
        let (head, rest) = self.split(sequence)?;
        if place == 0 {
            return Some((head, rest));
        }
        let (item, shorter_rest) = self.take(rest, place - 1)?;
        Some((item, self.cons(head, shorter_rest)))
    }

    pub(crate) fn iter(&self, sequence: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = sequence;
        std::iter::from_fn(move || {
            let (head, rest) = self.split(at)?;
            at = rest;
            Some(head)
        })
    }

    pub(crate) fn build(&mut self, items: &[u32]) -> u32 {
        items.iter().rev().fold(Self::EMPTY, |rest, item| self.cons(*item, rest))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.cells.bytes(0) + self.lengths.capacity() * 2 + map_bytes(&self.appended)
    }
}

/// The memory of a map's table.
pub(crate) fn map_bytes<K, V>(map: &FixedMap<K, V>) -> usize {
    map.capacity() * 8 / 7 * (size_of::<(K, V)>() + 1)
}

/// A place in one byte. A broken protocol may hold more than 255 grants at one node; trying the last one of them is
/// enough.
pub(crate) fn tiny(place: usize) -> u8 {
    u8::try_from(place).unwrap_or(u8::MAX)
}

/// Ids are `u32`: four thousand million states are more than any machine that runs this can hold.
pub(crate) fn next_id(len: usize) -> u32 {
    u32::try_from(len).expect("memory runs out long before ids do")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_number() {
        let mut names = Interner::new();
        assert_eq!(names.insert("ann"), (0, true));
        assert_eq!(names.insert("bob"), (1, true));
        assert_eq!(names.insert("ann"), (0, false));
        assert_eq!(*names.get(1), "bob");
        assert_eq!(names.len(), 2);
    }

    #[test]
    fn a_sequence_is_the_same_however_it_was_built() {
        let mut sequences = Sequences::new();
        let a = sequences.append(Sequences::EMPTY, 7);
        let ab = sequences.append(a, 8);
        let abc = sequences.append(ab, 9);
        assert_eq!(sequences.build(&[7, 8, 9]), abc);
        assert_eq!(sequences.len(abc), 3);
        let (item, without) = sequences.take(abc, 1).unwrap();
        assert_eq!(item, 8);
        assert_eq!(sequences.iter(without).collect::<Vec<_>>(), [7, 9]);
        assert_eq!(sequences.take(abc, 3), None);
        let (first, rest) = sequences.split(abc).unwrap();
        assert_eq!((first, sequences.build(&[8, 9])), (7, rest));
    }

    #[test]
    fn without_order_the_sequence_does_not_remember_it() {
        let mut sequences = Sequences::new();
        let mut built = |items: [u32; 3]| {
            let less = |a, b| a < b;
            items.into_iter().fold(Sequences::EMPTY, |sequence, item| sequences.insert_sorted(sequence, item, &less))
        };
        assert_eq!(built([3, 1, 2]), built([2, 3, 1]));
    }
}
