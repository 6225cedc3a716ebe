//! One level of a breadth-first search on several threads, with the same result as on one.
//!
//! Each thread takes some states of the level at a time, makes all their steps, and takes what they lead to to the visited
//! states, shard by shard, so that it takes each lock once for many states. A new state remembers the least step that leads
//! there: by the place in the level of the state it leaves, and then by the order of its steps. That is the step by which
//! one thread would have found it first. When the level is done, new states are put in the order of these steps: the next
//! level, as one thread would have made it. If a rule is broken or the limit of states is reached within the level, it is
//! undone and done again by one thread, which ends exactly where it should.
//!
//! Threads share the numbers of nodes, channels, environments and histories (`intern.rs`), and each has its own memory of
//! the steps of single nodes.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::action::Action;
use crate::parts::{self, Pair, Recent};
use crate::space::{Applied, Space};
use crate::store::{State, Step, Store};

/// All threads but the first, and what the first needs to be one of them.
pub(crate) struct Crew {
    others: Vec<(Space, Hand)>,
    own: Hand,
}

/// How a level ended.
pub(crate) enum LevelEnd {
    Together,
    /// It has to be done by one thread alone.
    Alone,
}

/// The states of one level, while they are expanded.
pub(crate) struct Level<'a> {
    store: &'a Store,
    states: &'a [State],
    /// The limit of states.
    most: u64,
    /// The first state that no thread has taken.
    next: AtomicUsize,
    alone: AtomicBool,
    stop: AtomicBool,
    generated: AtomicU64,
    count: AtomicU64,
}

impl<'a> Level<'a> {
    /// A level with fewer states is not worth the start of a thread.
    pub(crate) const LEAST: usize = 400;
    /// So many states a thread takes at a time; fewer where there are few, so that all threads end together.
    const AT_ONCE: usize = 256;

    pub(crate) fn new(store: &'a Store, states: &'a [State], most: u64) -> Self {
        Self {
            store,
            states,
            most,
            next: AtomicUsize::new(0),
            alone: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            generated: AtomicU64::new(0),
            count: AtomicU64::new(0),
        }
    }

    pub(crate) fn generated(&self) -> u64 {
        self.generated.load(Ordering::Relaxed)
    }

    /// How many new states were found.
    pub(crate) fn fresh(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The orders of the steps of a level of so many states are below this.
    pub(crate) const fn orders(states: usize) -> u64 {
        (states as u64) << STEPS
    }

    fn is_over(&self) -> bool {
        self.alone.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    /// Expands states until there are no more of them.
    fn work(&self, space: &mut Space, hand: &mut Hand, mut look: impl FnMut(&Space, &Self) -> bool) {
        let at_once = (self.states.len() / 64).clamp(16, Self::AT_ONCE);
        while !self.is_over() {
            let from = self.next.fetch_add(at_once, Ordering::Relaxed);
            if from >= self.states.len() {
                return;
            }
            let to = (from + at_once).min(self.states.len());
            hand.rows.clear();
            let expanded = (from..to).try_for_each(|place| self.expand(space, hand, place));
            if expanded.and_then(|()| self.take(space, hand)).is_err() {
                self.alone.store(true, Ordering::Relaxed);
                return;
            }
            if self.store.len() as u64 + self.fresh() >= self.most {
                self.alone.store(true, Ordering::Relaxed);
            }
            if !look(space, self) {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Makes all steps of one state. `Err` if something is wrong.
    fn expand(&self, space: &mut Space, hand: &mut Hand, place: usize) -> Result<(), ()> {
        let Hand { actions, row, next, recent, reached, rows, .. } = hand;
        let State { id, pair } = self.states[place];
        self.store.read(pair, row);
        actions.clear();
        space.enabled(row, actions);
        let mut generated = 0;
        for (step, action) in (0..1 << STEPS).zip(actions.iter()) {
            match space.apply(row, *action, next) {
                Ok(Applied::Made { .. }) => generated += 1,
                Ok(Applied::Impossible | Applied::MustWait) => continue,
                Err(_) => return Err(()),
            }
            let to = self.store.pair(next, (row, pair), recent);
            let step = Step { parent: id, action: action.pack(), order: (place as u64) << STEPS | step };
            reached[self.store.shard_of(parts::hash(to))].push((to, step, rows.len()));
            rows.extend_from_slice(next);
        }
        self.generated.fetch_add(generated, Ordering::Relaxed);
        Ok(())
    }

    /// Takes what was reached to the visited states, and looks at what is new. `Err` if something is wrong.
    fn take(&self, space: &mut Space, hand: &mut Hand) -> Result<(), ()> {
        let Hand { first, reached, rows, new, .. } = hand;
        new.clear();
        let shards = reached.len();
        // Each thread begins elsewhere, so that they rarely meet.
        for shard in (*first..shards).chain(0..*first) {
            self.store.reach(shard, &reached[shard], |row| new.push(*row));
            reached[shard].clear();
        }
        self.count.fetch_add(new.len() as u64, Ordering::Relaxed);
        let width = self.store.width();
        new.iter().try_for_each(|row| space.check(&rows[*row..*row + width]).map_err(drop))
    }
}

/// A state has fewer steps than this power of two.
const STEPS: u32 = 24;

/// What one thread writes in.
struct Hand {
    actions: Vec<Action>,
    row: Vec<u32>,
    next: Vec<u32>,
    recent: Recent<2>,
    /// Where steps lead, by shard, with the places of the rows.
    reached: Vec<Vec<(Pair, Step, usize)>>,
    rows: Vec<u32>,
    /// Which of the rows are new.
    new: Vec<usize>,
    /// The shard with which it begins.
    first: usize,
}

impl Hand {
    fn new(store: &Store, first: usize) -> Self {
        let width = store.width();
        Self {
            actions: Vec::new(),
            row: vec![0; width],
            next: vec![0; width],
            recent: Recent::new(),
            reached: vec![Vec::new(); store.shards()],
            rows: Vec::new(),
            new: Vec::new(),
            first,
        }
    }
}

impl Crew {
    pub(crate) fn new(space: &mut Space, store: &Store, threads: usize) -> Self {
        let hand = |thread: usize| Hand::new(store, thread * store.shards() / threads);
        Self { others: (1..threads).map(|thread| (space.share(), hand(thread))).collect(), own: hand(0) }
    }

    pub(crate) fn threads(&self) -> usize {
        self.others.len() + 1
    }

    /// Expands a level. This thread calls `look` now and then, which says whether to go on.
    pub(crate) fn expand(
        &mut self,
        space: &mut Space,
        level: &Level<'_>,
        look: &mut dyn FnMut(&Space, &Level<'_>) -> bool,
    ) -> LevelEnd {
        let Self { others, own } = self;
        std::thread::scope(|scope| {
            for (space, hand) in others {
                scope.spawn(|| level.work(space, hand, |_, _| true));
            }
            level.work(space, own, |space, level| look(space, level));
        });
        if level.alone.load(Ordering::Relaxed) { LevelEnd::Alone } else { LevelEnd::Together }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.others.iter().map(|(space, _)| space.memo_bytes()).sum()
    }
}
