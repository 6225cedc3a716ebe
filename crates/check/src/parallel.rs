//! One level of a breadth-first search on several threads, with the same result as on one.
//!
//! The states of all levels up to this one are only read. New states go into a set that is divided by hash, each part under
//! a lock of its own, together with the least step that leads there: by the number of the state it leaves, and then by the
//! order of its steps. That is the step by which one thread would have found it first. When the level is done, new states
//! are put in the order of these steps, so they get the numbers that one thread would have given them. If a rule is broken
//! or the limit of states is reached within the level, it is done again by one thread, which ends exactly where it should.
//!
//! Threads share the numbers of nodes, channels, environments and histories (`intern.rs`), and each has its own memory of
//! the steps of single nodes.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use hashbrown::HashTable;

use crate::action::{Action, Packed};
use crate::space::{Applied, Row, Space};
use crate::store::{Store, TABLES, table_of};

#[expect(clippy::disallowed_types, reason = "threads of one exploration share the new states of a level")]
type Lock<T> = std::sync::Mutex<T>;

/// The spaces of all threads but the first.
pub(crate) struct Crew {
    others: Vec<Space>,
}

/// How a level ended.
pub(crate) enum LevelEnd {
    Together,
    /// It has to be done by one thread alone.
    Alone,
}

/// The states of one level, and what was found of the next.
pub(crate) struct Level<'a> {
    store: &'a Store,
    states: Range<u32>,
    /// The limit of states.
    most: u64,
    /// The first state that no thread has taken.
    next: AtomicU32,
    alone: AtomicBool,
    stop: AtomicBool,
    generated: AtomicU64,
    count: AtomicU64,
    found: Vec<Lock<Found>>,
}

/// New states of one table.
#[derive(Default)]
struct Found {
    table: HashTable<u32>,
    hashes: Vec<u64>,
    rows: Vec<u32>,
    ways: Vec<Way>,
}

/// How a new state is reached.
struct Way {
    parent: u32,
    /// The number of the step among those of its state.
    step: u32,
    action: Packed,
}

/// What a level has found.
pub(crate) struct Done {
    pub(crate) generated: u64,
    found: Vec<Found>,
}

impl<'a> Level<'a> {
    /// A level with fewer states is not worth the start of a thread.
    pub(crate) const LEAST: u32 = 400;
    /// So many states a thread takes at a time.
    const AT_ONCE: u32 = 64;

    pub(crate) fn new(store: &'a Store, states: Range<u32>, most: u64) -> Self {
        Self {
            store,
            most,
            next: AtomicU32::new(states.start),
            states,
            alone: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            generated: AtomicU64::new(0),
            count: AtomicU64::new(0),
            found: (0..TABLES).map(|_| Lock::default()).collect(),
        }
    }

    pub(crate) fn generated(&self) -> u64 {
        self.generated.load(Ordering::Relaxed)
    }

    /// How many new states were found.
    pub(crate) fn fresh(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> usize {
        let width = self.store.row(0).len();
        self.fresh() as usize * (width * 6 + size_of::<Way>() * 3 / 2 + 24)
    }

    pub(crate) fn done(self) -> Done {
        let whole = |found: Lock<Found>| found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let found = self.found.into_iter().map(whole).collect();
        Done { generated: self.generated.into_inner(), found }
    }

    fn is_over(&self) -> bool {
        self.alone.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    /// Expands states until there are no more of them.
    fn work(&self, space: &mut Space, mut look: impl FnMut(&Space, &Self) -> bool) {
        let width = space.layout.width();
        let mut hand = Hand { actions: Vec::new(), row: vec![0; width], next: vec![0; width] };
        while !self.is_over() {
            let from = self.next.fetch_add(Self::AT_ONCE, Ordering::Relaxed);
            if from >= self.states.end {
                return;
            }
            let mut generated = 0;
            for state in from..from.saturating_add(Self::AT_ONCE).min(self.states.end) {
                if self.expand(space, &mut hand, state, &mut generated).is_err() {
                    self.alone.store(true, Ordering::Relaxed);
                    return;
                }
            }
            self.generated.fetch_add(generated, Ordering::Relaxed);
            if self.store.len() as u64 + self.fresh() >= self.most {
                self.alone.store(true, Ordering::Relaxed);
            }
            if !look(space, self) {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// `Err` if something is wrong.
    fn expand(&self, space: &mut Space, hand: &mut Hand, state: u32, generated: &mut u64) -> Result<(), ()> {
        let Hand { actions, row, next } = hand;
        row.copy_from_slice(self.store.row(state));
        actions.clear();
        space.enabled(row, actions);
        for (step, action) in (0..).zip(actions.iter()) {
            match space.apply(row, *action, next) {
                Ok(Applied::Made { .. }) => *generated += 1,
                Ok(Applied::Impossible | Applied::MustWait) => continue,
                Err(_) => return Err(()),
            }
            let hash = self.store.hash(next);
            if self.store.find(hash, next).is_some() {
                continue;
            }
            if self.reach(hash, next, Way { parent: state, step, action: action.pack() }) {
                self.count.fetch_add(1, Ordering::Relaxed);
                space.check(next).map_err(drop)?;
            }
        }
        Ok(())
    }

    /// Takes a state that is not in the store; whether it is new here too.
    fn reach(&self, hash: u64, row: &Row, way: Way) -> bool {
        let found = self.found[table_of(hash)].lock();
        let Found { table, hashes, rows, ways } = &mut *found.unwrap_or_else(std::sync::PoisonError::into_inner);
        let width = row.len();
        let row_of = |place: u32| &rows[place as usize * width..(place as usize + 1) * width];
        if let Some(place) = table.find(hash, |place| hashes[*place as usize] == hash && row_of(*place) == row) {
            let known = &mut ways[*place as usize];
            if (way.parent, way.step) < (known.parent, known.step) {
                *known = way;
            }
            return false;
        }
        let place = crate::intern::next_id(ways.len());
        table.insert_unique(hash, place, |place| hashes[*place as usize]);
        hashes.push(hash);
        rows.extend_from_slice(row);
        ways.push(way);
        true
    }
}

/// What one thread writes in.
struct Hand {
    actions: Vec<Action>,
    row: Vec<u32>,
    next: Vec<u32>,
}

impl Crew {
    pub(crate) fn new(space: &mut Space, threads: usize) -> Self {
        Self { others: (1..threads).map(|_| space.share()).collect() }
    }

    /// Expands a level. This thread calls `look` now and then, which says whether to go on.
    pub(crate) fn expand(
        &mut self,
        space: &mut Space,
        level: &Level<'_>,
        look: &mut dyn FnMut(&Space, &Level<'_>) -> bool,
    ) -> LevelEnd {
        std::thread::scope(|scope| {
            for other in &mut self.others {
                scope.spawn(|| level.work(other, |_, _| true));
            }
            level.work(space, |space, level| look(space, level));
        });
        if level.alone.load(Ordering::Relaxed) { LevelEnd::Alone } else { LevelEnd::Together }
    }

    /// Gives new states their numbers and puts them into the store.
    pub(crate) fn merge(&self, done: Done, store: &mut Store) {
        let width = store.row(0).len();
        let mut ids: Vec<Vec<u32>> = done.found.iter().map(|found| vec![0; found.ways.len()]).collect();
        for Place { table, place, .. } in self.in_order(&done.found) {
            let (table, place) = (table as usize, place as usize);
            let Found { rows, ways, .. } = &done.found[table];
            let Way { parent, action, .. } = ways[place];
            let id = store.append(&rows[place * width..(place + 1) * width], parent, action);
            ids[table][place] = id;
        }
        let (tables, rehash) = store.tables();
        let mut work: Vec<_> = tables.iter_mut().zip(done.found.iter().zip(&ids)).collect();
        let share = work.len().div_ceil(self.others.len() + 1);
        std::thread::scope(|scope| {
            let fill = move |work: &mut [Filling<'_>]| {
                for (table, (found, ids)) in work {
                    table.reserve(ids.len(), rehash);
                    for (hash, id) in found.hashes.iter().zip(*ids) {
                        table.insert_unique(*hash, *id, rehash);
                    }
                }
            };
            let mut shares = work.chunks_mut(share);
            let own = shares.next();
            shares.for_each(|share| drop(scope.spawn(move || fill(share))));
            own.into_iter().for_each(fill);
        });
    }

    /// All new states in the order in which one thread would have found them.
    fn in_order(&self, found: &[Found]) -> Vec<Place> {
        let mut places = Vec::with_capacity(found.iter().map(|found| found.ways.len()).sum());
        for (table, found) in (0..).zip(found) {
            let place = |(place, way): (u32, &Way)| Place { parent: way.parent, step: way.step, table, place };
            places.extend((0..).zip(&found.ways).map(place));
        }
        let share = places.len().div_ceil(self.others.len() + 1).max(1);
        // Each thread sorts a share; what is left is to merge sorted runs, which a sort that looks for them does fast.
        std::thread::scope(|scope| {
            let mut shares = places.chunks_mut(share);
            let own = shares.next();
            shares.for_each(|share| drop(scope.spawn(|| share.sort_unstable())));
            own.into_iter().for_each(|share| share.sort_unstable());
        });
        places.sort();
        places
    }

    pub(crate) fn bytes(&self) -> usize {
        self.others.iter().map(Space::memo_bytes).sum()
    }
}

/// A table of the store, and what is to be put into it with its numbers.
type Filling<'a> = (&'a mut HashTable<u32>, (&'a Found, &'a Vec<u32>));

/// A new state by its way, and where it lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    parent: u32,
    step: u32,
    table: u32,
    place: u32,
}
