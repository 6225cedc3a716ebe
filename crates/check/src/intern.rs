//! Every value is stored once and known by a small number, so that states are short rows of numbers.

mod shared;
mod slots;

use std::hash::{BuildHasher, Hash};
use std::mem::size_of;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};

use shared::Shared;
pub(crate) use slots::{BLOCKS, spot, spot_len};

#[expect(clippy::disallowed_types, reason = "threads of one exploration share what they have seen")]
pub(crate) type Lock<T> = std::sync::Mutex<T>;

pub(crate) type Guard<'a, T> = std::sync::MutexGuard<'a, T>;

/// Threads that wait for each other wait for this.
pub(crate) type Signal = std::sync::Condvar;

/// A map whose hasher is the same in every run.
pub(crate) type FixedMap<K, V> = HashMap<K, V, FixedState>;

/// Values known by small numbers, each with what was computed from it.
///
/// They belong to one thread until they are shared: then every thread of an exploration has a copy of the interner, and a
/// number means the same to all. Which number a value gets depends on who saw it first.
pub(crate) struct Interner<T, F = ()> {
    values: Values<T, F>,
    hasher: FixedState,
}

enum Values<T, F> {
    Own { items: Vec<(T, F)>, table: HashTable<Place> },
    Shared(Arc<Shared<T, F>>),
}

/// A value that is known, by its hash.
#[derive(Clone, Copy)]
struct Place {
    hash: u64,
    id: u32,
}

impl<T: Eq + Hash> Interner<T> {
    /// The number of this value, and whether it is new.
    pub(crate) fn insert(&mut self, item: T) -> (u32, bool) {
        self.insert_with(item, |_| ())
    }

    /// The same for a value that is copied only if it is new.
    pub(crate) fn insert_ref(&mut self, item: &T) -> u32
    where
        T: Clone,
    {
        self.insert_ref_with(item, |_| ())
    }
}

impl<T: Eq + Hash, F> Interner<T, F> {
    pub(crate) fn new() -> Self {
        Self { values: Values::Own { items: Vec::new(), table: HashTable::new() }, hasher: FixedState::default() }
    }

    /// The number of this value, and whether it is new; then `facts` is computed from it.
    pub(crate) fn insert_with(&mut self, item: T, facts: impl FnOnce(&T) -> F) -> (u32, bool) {
        let hash = self.hasher.hash_one(&item);
        self.values.insert(
            hash,
            item,
            |item, same| item == same,
            |item| {
                let facts = facts(&item);
                (item, facts)
            },
        )
    }

    /// The same for a value that is copied only if it is new.
    pub(crate) fn insert_ref_with(&mut self, item: &T, facts: impl FnOnce(&T) -> F) -> u32
    where
        T: Clone,
    {
        let hash = self.hasher.hash_one(item);
        self.values.insert(hash, item, |item, same| *item == same, |item| (item.clone(), facts(item))).0
    }

    /// The same values for another thread.
    pub(crate) fn share(&mut self) -> Self {
        if let Values::Own { items, table } = &mut self.values {
            let shared = Shared::of(std::mem::take(items), std::mem::take(table));
            self.values = Values::Shared(Arc::new(shared));
        }
        let values = match &self.values {
            Values::Shared(shared) => Values::Shared(Arc::clone(shared)),
            Values::Own { .. } => return Self::new(),
        };
        Self { values, hasher: self.hasher.clone() }
    }

    const fn is_shared(&self) -> bool {
        matches!(self.values, Values::Shared(_))
    }

    pub(crate) fn get(&self, id: u32) -> &T {
        &self.values.get(id).0
    }

    /// What was computed from this value.
    pub(crate) fn facts(&self, id: u32) -> &F {
        &self.values.get(id).1
    }

    /// While other threads add values, not all below this number are there yet.
    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Values::Own { items, .. } => items.len(),
            Values::Shared(shared) => shared.len(),
        }
    }

    /// The memory of the tables, with `heap` bytes outside of each value.
    pub(crate) fn bytes(&self, heap: usize) -> usize {
        self.len() * (size_of::<(T, F)>() * 3 / 2 + heap + size_of::<Place>() * 3 / 2)
    }
}

impl<T, F> Values<T, F> {
    fn get(&self, id: u32) -> &(T, F) {
        match self {
            Self::Own { items, .. } => &items[id as usize],
            Self::Shared(shared) => shared.get(id),
        }
    }

    /// The number of a value, and whether it is new: then `made` makes it.
    fn insert<K>(
        &mut self,
        hash: u64,
        key: K,
        is: impl Fn(&K, &T) -> bool,
        made: impl FnOnce(K) -> (T, F),
    ) -> (u32, bool) {
        match self {
            Self::Own { items, table } => {
                let same = |place: &Place| place.hash == hash && is(&key, &items[place.id as usize].0);
                if let Some(place) = table.find(hash, same) {
                    return (place.id, false);
                }
                let id = next_id(items.len());
                items.push(made(key));
                table.insert_unique(hash, Place { hash, id }, |place| place.hash);
                (id, true)
            }
            Self::Shared(shared) => shared.insert(hash, key, is, made),
        }
    }
}

/// Sequences of numbers, built like lists: a sequence is its first number and the number of the rest.
pub(crate) struct Sequences {
    /// Each with its length.
    cells: Interner<Cell, u16>,
    /// The same for this thread alone, where cells are shared.
    built: FixedMap<Cell, u32>,
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
        cells.insert_with(Cell { head: u32::MAX, rest: u32::MAX }, |_| 0);
        Self::of(cells)
    }

    fn of(cells: Interner<Cell, u16>) -> Self {
        Self { cells, built: FixedMap::default(), appended: FixedMap::default() }
    }

    /// The same sequences for another thread.
    pub(crate) fn share(&mut self) -> Self {
        Self::of(self.cells.share())
    }

    pub(crate) fn len(&self, sequence: u32) -> usize {
        (*self.cells.facts(sequence)).into()
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
        let Self { cells, built, .. } = self;
        let length = cells.facts(rest).saturating_add(1);
        let cell = Cell { head, rest };
        if !cells.is_shared() {
            return cells.insert_with(cell, |_| length).0;
        }
        *built.entry(cell).or_insert_with(|| cells.insert_with(cell, |_| length).0)
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
        self.cells.bytes(0) + self.memo_bytes()
    }

    /// The memory of what is not shared with other threads.
    pub(crate) fn memo_bytes(&self) -> usize {
        map_bytes(&self.built) + map_bytes(&self.appended)
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
        let mut names: Interner<&str> = Interner::new();
        assert_eq!(names.insert("ann"), (0, true));
        assert_eq!(names.insert("bob"), (1, true));
        assert_eq!(names.insert("ann"), (0, false));
        assert_eq!(*names.get(1), "bob");
        assert_eq!(names.len(), 2);
    }

    #[test]
    fn threads_that_see_the_same_values_know_them_by_the_same_numbers() {
        let mut squares: Interner<u64, u64> = Interner::new();
        let before = squares.insert_with(77, |i| i * i).0;
        let threads = [0, 1_000, 4_000].map(|from| (from, squares.share()));
        let see = |(from, mut squares): (u64, Interner<u64, u64>)| {
            (0..5_000).map(|i| (i * 7 + from) % 5_000).map(|i| squares.insert_with(i, |i| i * i).0).max()
        };
        let most = std::thread::scope(|scope| {
            let threads = threads.map(|thread| scope.spawn(|| see(thread)));
            threads.into_iter().map(|thread| thread.join().unwrap()).max()
        });
        assert_eq!((squares.len(), most), (5_000, Some(Some(4_999))));
        assert_eq!(*squares.get(before), 77);
        for value in 0..5_000 {
            let (id, new) = squares.insert_with(value, |_| 0);
            assert_eq!((new, *squares.get(id), *squares.facts(id)), (false, value, value * value));
        }
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
