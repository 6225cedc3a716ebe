//! The visited states, each once, with the step that first led there.

use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::action::{Action, Packed};
use crate::intern::{Lock, next_id};
use crate::parts::{self, Halves, Pair, Recent};
use crate::space::Row;

/// An exact set of states.
///
/// It is divided by hash into shards, each under a lock of its own. With one shard the numbers of states are 0, 1, 2 and so on
/// in the order of discovery.
pub(crate) struct Store {
    halves: Halves,
    shards: Vec<Lock<Shard>>,
    len: usize,
}

/// A visited state: its number, and itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) id: u32,
    pub(crate) pair: Pair,
}

/// A step to a state: where from and how, and its place among all steps of a level, in the order of one thread.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) parent: u32,
    pub(crate) action: Packed,
    pub(crate) order: u64,
}

/// A part of the visited states.
#[derive(Default)]
pub(crate) struct Shard {
    table: HashTable<u32>,
    /// They lie in blocks, so that growing copies nothing.
    blocks: Vec<Vec<Visited>>,
    len: u32,
    /// What was found in the level that several threads are at: from this place on, each with the order of its step.
    level_from: u32,
    orders: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Visited {
    pair: Pair,
    parent: u32,
    action: Packed,
}

const BLOCK: u32 = 1 << 14;

/// How many shards there are for several threads.
const SHARDS: usize = 64;

impl Store {
    /// For one thread, and rows with these halves.
    pub(crate) fn new(halves: [Vec<usize>; 2]) -> Self {
        Self::with_shards(halves, 1)
    }

    /// The same for several threads.
    pub(crate) fn divided(halves: [Vec<usize>; 2]) -> Self {
        Self::with_shards(halves, SHARDS)
    }

    fn with_shards(halves: [Vec<usize>; 2], shards: usize) -> Self {
        Self { halves: Halves::new(halves), shards: (0..shards).map(|_| Lock::default()).collect(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn width(&self) -> usize {
        self.halves.width()
    }

    pub(crate) fn shards(&self) -> usize {
        self.shards.len()
    }

    /// The shard for a hash, by other bits than those that its table goes by.
    pub(crate) fn shard_of(&self, hash: u64) -> usize {
        (hash >> 40) as usize % self.shards.len()
    }

    /// Which of several shards a state is in, and where there.
    fn place_of(&self, id: u32) -> (usize, u32) {
        let shards = next_id(self.shards.len());
        ((id % shards) as usize, id / shards)
    }

    fn visited(&self, id: u32) -> Visited {
        let (shard, place) = self.place_of(id);
        *self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner).get(place)
    }

    /// Writes a visited state into `row`.
    pub(crate) fn read(&self, pair: Pair, row: &mut Row) {
        self.halves.read(pair, row);
    }

    /// The same by its number.
    pub(crate) fn read_state(&self, id: u32, row: &mut Row) {
        self.read(self.visited(id).pair, row);
    }

    pub(crate) fn row(&self, id: u32) -> Vec<u32> {
        let mut row = vec![0; self.width()];
        self.read_state(id, &mut row);
        row
    }

    /// The halves of a row, which differs little from a state that is visited.
    pub(crate) fn pair(&self, row: &Row, near: (&Row, Pair), recent: &mut Recent<2>) -> Pair {
        self.halves.near(row, near, recent)
    }

    pub(crate) fn insert_start(&mut self, row: &Row) -> State {
        let pair = self.halves.of(row);
        // It is the first of its shard, and its own parent.
        let id = next_id(self.shard_of(parts::hash(pair)));
        self.insert(pair, id, Action::Expire { node: 0 }).0
    }

    /// The number of this state, and whether it is new; then it is remembered that `action` led here from `parent`.
    pub(crate) fn insert(&mut self, pair: Pair, parent: u32, action: Action) -> (State, bool) {
        let hash = parts::hash(pair);
        let (shards, at) = (next_id(self.shards.len()), self.shard_of(hash));
        let shard = self.shards[at].get_mut().unwrap_or_else(PoisonError::into_inner);
        let (place, new) = shard.insert(hash, Visited { pair, parent, action: action.pack() });
        self.len += usize::from(new);
        let id = place.checked_mul(shards).and_then(|id| id.checked_add(next_id(at)));
        (State { id: id.expect("memory runs out long before ids do"), pair }, new)
    }

    /// How a state was reached first; the start is its own parent.
    pub(crate) fn path(&self, id: u32) -> Vec<Action> {
        let mut path = Vec::new();
        let mut at = id;
        loop {
            let Visited { parent, action, .. } = self.visited(at);
            if parent == at {
                break;
            }
            path.push(action.unpack());
            at = parent;
        }
        path.reverse();
        path
    }

    pub(crate) fn bytes(&self) -> usize {
        let shard = |shard: &Lock<Shard>| shard.lock().unwrap_or_else(PoisonError::into_inner).bytes();
        self.halves.bytes() + self.shards.iter().map(shard).sum::<usize>()
    }
}

/// What several threads do to it, level by level.
impl Store {
    /// From now on, new states belong to a level.
    pub(crate) fn begin_level(&mut self) {
        for shard in self.shards_mut() {
            shard.level_from = shard.len;
        }
    }

    /// Takes states of one shard that are reached in this level; `new` hears of those that are new.
    pub(crate) fn reach<T>(&self, shard: usize, reached: &[(Pair, Step, T)], mut new: impl FnMut(&T)) {
        let mut shard = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        for (pair, step, what) in reached {
            if shard.reach(*pair, *step) {
                new(what);
            }
        }
    }

    /// The level never was.
    pub(crate) fn undo_level(&mut self) {
        for shard in self.shards_mut() {
            shard.undo_level();
        }
    }

    /// The new states of a level, in the order in which one thread would have found them. Orders are below `end`.
    pub(crate) fn end_level(&mut self, end: u64, threads: usize) -> Vec<State> {
        let found = self.shards_mut().map(|shard| shard.orders.len()).sum::<usize>();
        self.len += found;
        let stride = next_id(self.shards.len());
        let shards: Vec<&Shard> = self.shards_mut().map(|shard| &*shard).collect();
        // In parts, so that what is sorted at a time takes little memory.
        let parts = (found / PART).clamp(threads, 64);
        let border = |part: usize| (u128::from(end) * part as u128 / parts as u128) as u64;
        let next = AtomicUsize::new(0);
        let sorted: Vec<Lock<Vec<State>>> = (0..parts).map(|_| Lock::default()).collect();
        let sort = || {
            while let Some(part) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|part| *part < parts) {
                let mut states = Vec::new();
                for (at, shard) in (0..).zip(&shards) {
                    shard.collect(border(part)..border(part + 1), |place| place * stride + at, &mut states);
                }
                states.sort_unstable_by_key(|(order, _)| *order);
                let states = states.into_iter().map(|(_, state)| state).collect();
                *sorted[part].lock().unwrap_or_else(PoisonError::into_inner) = states;
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(sort);
            }
            sort();
        });
        let mut states = Vec::with_capacity(found);
        for part in sorted {
            states.append(&mut part.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        for shard in self.shards_mut() {
            shard.orders = Vec::new();
        }
        states
    }

    fn shards_mut(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.shards.iter_mut().map(|shard| shard.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}

/// So many new states are sorted at a time.
const PART: usize = 1 << 21;

impl Shard {
    fn get(&self, place: u32) -> &Visited {
        visited(&self.blocks, place)
    }

    fn insert(&mut self, hash: u64, state: Visited) -> (u32, bool) {
        let blocks = &self.blocks;
        let rehash = |place: &u32| parts::hash(visited(blocks, *place).pair);
        match self.table.entry(hash, |place| visited(blocks, *place).pair == state.pair, rehash) {
            Entry::Occupied(known) => (*known.get(), false),
            Entry::Vacant(vacant) => {
                let place = self.len;
                vacant.insert(place);
                self.len += 1;
                if place.is_multiple_of(BLOCK) {
                    // The first block grows as needed, so that small explorations stay small.
                    self.blocks.push(if place == 0 { Vec::new() } else { Vec::with_capacity(BLOCK as usize) });
                }
                self.blocks.last_mut().into_iter().for_each(|block| block.push(state));
                (place, true)
            }
        }
    }

    /// Takes a state that is reached in this level; whether it is new. Of several steps the first one counts.
    fn reach(&mut self, pair: Pair, step: Step) -> bool {
        let Step { parent, action, order } = step;
        let (place, new) = self.insert(parts::hash(pair), Visited { pair, parent, action });
        if new {
            self.orders.push(order);
        } else if let Some(in_level) = place.checked_sub(self.level_from) {
            let known = &mut self.orders[in_level as usize];
            if order < *known {
                *known = order;
                self.blocks[(place / BLOCK) as usize][(place % BLOCK) as usize] = Visited { pair, parent, action };
            }
        }
        new
    }

    fn collect(&self, orders: Range<u64>, id: impl Fn(u32) -> u32, into: &mut Vec<(u64, State)>) {
        for (place, order) in (self.level_from..).zip(&self.orders) {
            if orders.contains(order) {
                into.push((*order, State { id: id(place), pair: self.get(place).pair }));
            }
        }
    }

    fn undo_level(&mut self) {
        while self.len > self.level_from {
            self.len -= 1;
            let place = self.len;
            let hash = parts::hash(self.get(place).pair);
            if let Ok(known) = self.table.find_entry(hash, |known| *known == place) {
                known.remove();
            }
            self.blocks.last_mut().into_iter().for_each(|block| block.truncate(block.len() - 1));
            if place.is_multiple_of(BLOCK) {
                self.blocks.pop();
            }
        }
        self.orders = Vec::new();
    }

    fn bytes(&self) -> usize {
        let blocks = self.blocks.iter().map(|block| block.capacity() * size_of::<Visited>());
        blocks.sum::<usize>() + self.table.capacity() * 8 / 7 * 5 + self.orders.capacity() * 8
    }
}

fn visited(blocks: &[Vec<Visited>], place: u32) -> &Visited {
    &blocks[(place / BLOCK) as usize][(place % BLOCK) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Action = Action::Expire { node: 1 };

    fn insert(store: &mut Store, row: &Row, parent: u32, action: Action) -> (u32, bool) {
        let pair = store.halves.of(row);
        let (state, new) = store.insert(pair, parent, action);
        (state.id, new)
    }

    #[test]
    fn a_state_is_stored_once_with_the_first_way_to_it() {
        let mut store = Store::new([vec![1], vec![0, 2]]);
        assert_eq!(store.insert_start(&[0, 0, 0]).id, 0);
        assert_eq!(insert(&mut store, &[0, 0, 1], 0, STEP), (1, true));
        assert_eq!(insert(&mut store, &[0, 0, 2], 1, Action::Expire { node: 2 }), (2, true));
        assert_eq!(insert(&mut store, &[0, 0, 2], 0, STEP), (2, false));
        assert_eq!(store.path(2), [STEP, Action::Expire { node: 2 }]);
        assert_eq!(store.row(2), [0, 0, 2]);
    }

    #[test]
    fn many_blocks_are_one_set() {
        let mut store = Store::new([vec![0], vec![1]]);
        let many = 3 * BLOCK + 5;
        for round in [true, false] {
            for value in 0..many {
                assert_eq!(insert(&mut store, &[value % 7, value], 0, STEP), (value, round));
            }
        }
        assert_eq!(store.len(), many as usize);
        assert!((0..many).all(|value| store.row(value) == [value % 7, value]));
    }

    #[test]
    fn a_level_has_its_states_in_the_order_of_their_first_steps_or_never_was() {
        let mut store = Store::divided([vec![0], vec![1]]);
        let start = store.insert_start(&[0, 0]);
        let row = |value: u64| [u32::try_from(value % 50).unwrap(), u32::try_from(value).unwrap()];
        for done in [false, true] {
            store.begin_level();
            let mut new = 0;
            // Every state is reached twice, first by the later step.
            for order in (0..2_000).rev() {
                let pair = store.halves.of(&row(1 + order % 1_000));
                let step = Step { parent: start.id, action: Action::Expire { node: 1 }.pack(), order };
                store.reach(store.shard_of(parts::hash(pair)), &[(pair, step, ())], |()| new += 1);
            }
            assert_eq!(new, 1_000);
            if done {
                let states = store.end_level(2_000, 3);
                let rows: Vec<_> = states.iter().map(|state| store.row(state.id)).collect();
                assert_eq!(rows, (1..=1_000).map(|value| row(value).to_vec()).collect::<Vec<_>>());
                assert_eq!((store.len(), store.path(states[9].id)), (1_001, vec![STEP]));
            } else {
                store.undo_level();
                assert_eq!(store.len(), 1);
            }
        }
    }
}
