//! Values that several threads look up and add to.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::HashTable;

use super::slots::Slots;
use super::{Lock, Place};

pub(super) struct Shared<T, F> {
    items: Slots<(T, F)>,
    len: AtomicU32,
    /// By hash, so that threads rarely meet at one lock.
    tables: [Lock<HashTable<Place>>; TABLES],
}

const TABLES: usize = 16;

/// The table for a hash, by other bits than those that the table itself goes by.
const fn table_of(hash: u64) -> usize {
    (hash >> 40) as usize % TABLES
}

impl<T, F> Shared<T, F> {
    /// What one thread has seen so far.
    pub(super) fn of(items: Vec<(T, F)>, known: HashTable<Place>) -> Self {
        let len = AtomicU32::new(super::next_id(items.len()));
        let slots = Slots::new();
        (0..).zip(items).for_each(|(id, item)| slots.put(id, item));
        let mut tables = [const { HashTable::new() }; TABLES];
        for place in known {
            tables[table_of(place.hash)].insert_unique(place.hash, place, |place| place.hash);
        }
        Self { items: slots, len, tables: tables.map(Lock::new) }
    }

    pub(super) fn get(&self, id: u32) -> &(T, F) {
        self.items.get(id)
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed) as usize
    }

    /// The number of a value, and whether it is new: then `made` makes it.
    pub(super) fn insert<K>(
        &self,
        hash: u64,
        key: K,
        is: impl Fn(&K, &T) -> bool,
        made: impl FnOnce(K) -> (T, F),
    ) -> (u32, bool) {
        // A thread that panicked ends the exploration; what it left is whole.
        let mut table = self.tables[table_of(hash)].lock().unwrap_or_else(PoisonError::into_inner);
        let same = |place: &Place| place.hash == hash && is(&key, &self.get(place.id).0);
        if let Some(place) = table.find(hash, same) {
            return (place.id, false);
        }
        let item = made(key);
        let id = self.len.fetch_add(1, Ordering::Relaxed);
        assert!(id != u32::MAX, "memory runs out long before ids do");
        self.items.put(id, item);
        table.insert_unique(hash, Place { hash, id }, |place| place.hash);
        (id, true)
    }
}
