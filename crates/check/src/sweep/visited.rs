//! The states of one stage that were visited, and nothing but them.

use crate::parts::{Quad, hash};

/// An exact set of states. It grows shard by shard, so that little of it is there twice while it does.
pub(crate) struct Visited {
    shards: Vec<Shard>,
}

#[derive(Default)]
struct Shard {
    slots: Vec<Quad>,
    len: usize,
}

/// No state has parts with this number.
const FREE: Quad = [u32::MAX; 4];
const SHARDS: usize = 16;

impl Visited {
    pub(crate) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }

    /// Forgets everything, and gives the memory back.
    pub(crate) fn clear(&mut self) {
        self.shards.iter_mut().for_each(|shard| *shard = Shard::default());
    }

    /// Adds states; `new` hears the places of those that were not there.
    pub(crate) fn insert(&mut self, states: &[Quad], mut new: impl FnMut(usize)) {
        // Each state is somewhere else in memory. Looking at all of them first lets the waits for memory overlap.
        let touched = states.iter().fold(0, |touched, state| {
            let hash = hash(*state);
            let shard = &self.shards[shard_of(hash)];
            touched ^ shard.slots.get(shard.home(hash)).map_or(0, |slot| slot[0])
        });
        std::hint::black_box(touched);
        for (place, state) in states.iter().enumerate() {
            let hash = hash(*state);
            if self.shards[shard_of(hash)].insert(hash, *state) {
                new(place);
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.slots.capacity() * size_of::<Quad>()).sum()
    }
}

/// By other bits than those that the slots go by.
const fn shard_of(hash: u64) -> usize {
    (hash >> 32) as usize % SHARDS
}

impl Shard {
    /// Where the search for a state begins.
    const fn home(&self, hash: u64) -> usize {
        (((hash & 0xffff_ffff) * self.slots.len() as u64) >> 32) as usize
    }

    fn insert(&mut self, hash: u64, state: Quad) -> bool {
        if self.len * 5 >= self.slots.len() * 4 {
            self.grow();
        }
        let new = self.put(hash, state);
        self.len += usize::from(new);
        new
    }

    /// There is a free slot.
    fn put(&mut self, hash: u64, state: Quad) -> bool {
        let mut at = self.home(hash);
        loop {
            let slot = &mut self.slots[at];
            if *slot == state {
                return false;
            }
            if *slot == FREE {
                *slot = state;
                return true;
            }
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
    }

    fn grow(&mut self) {
        let more = (self.slots.len() * 3 / 2).max(8);
        let before = std::mem::replace(&mut self.slots, vec![FREE; more]);
        for state in before.into_iter().filter(|state| *state != FREE) {
            self.put(hash(state), state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_new_once() {
        let mut visited = Visited::new();
        let states: Vec<Quad> = (0..20_000).map(|n| [n % 7, n / 7, 3, n % 1_000]).collect();
        for expected in [20_000, 0] {
            let mut new = 0;
            for some in states.chunks(300) {
                visited.insert(some, |_| new += 1);
            }
            assert_eq!(new, expected);
        }
        assert!(visited.bytes() < 20_000 * 16 * 2, "{}", visited.bytes());
        visited.clear();
        let mut new = Vec::new();
        visited.insert(&[states[3], states[3], states[4]], |place| new.push(place));
        assert_eq!(new, [0, 2]);
        assert!(visited.bytes() <= 2 * 8 * 16, "{}", visited.bytes());
    }
}
