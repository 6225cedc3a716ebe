//! Which units of a resource a grant has: their numbers, from 0.
//!
//! They are kept as runs, because the lowest free units are given out first and mostly follow each other. A unit is in
//! one run of one grant at most, so all runs of a ledger together are never more than [`MOST_NUMBERED`].

use alloc::vec::Vec;
use core::fmt;

/// Units are numbered up to this capacity, beyond it they are only counted: the token travels in one frame, also if
/// every second unit of every grant belongs to another one.
pub const MOST_NUMBERED: u32 = 4_096;

/// The numbers of some units, ascending. Empty where units are not numbered.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Slots {
    /// The first unit of each run and how many follow each other. Never two runs that touch.
    runs: Vec<(u32, u32)>,
}

impl Slots {
    /// No numbers.
    pub const NONE: Self = Self { runs: Vec::new() };

    /// Whether there is none: units are not numbered here.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.runs.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|(first, count)| *first..first.saturating_add(*count))
    }

    /// The greatest number.
    pub fn last(&self) -> Option<u32> {
        self.runs.last().map(|(first, count)| first.saturating_add(count.saturating_sub(1)))
    }

    /// The smallest number that both have.
    pub fn shared_with(&self, other: &Self) -> Option<u32> {
        let shared = |a: &(u32, u32), b: &(u32, u32)| {
            let first = a.0.max(b.0);
            (first < a.0.saturating_add(a.1) && first < b.0.saturating_add(b.1)).then_some(first)
        };
        self.runs.iter().find_map(|run| other.runs.iter().find_map(|theirs| shared(run, theirs)))
    }

    /// The same, or none if there are more runs of numbers that follow each other than this.
    #[must_use]
    pub fn unless_longer(self, runs: usize) -> Self {
        if self.runs.len() > runs { Self::NONE } else { self }
    }

    /// Whether they are as [`FromIterator`] makes them: what a peer sends need not be.
    pub(crate) fn is_well_formed(&self) -> bool {
        let fits = |(first, count): &(u32, u32)| *count > 0 && first.checked_add(*count).is_some();
        self.runs.iter().all(fits) && self.runs.windows(2).all(|pair| pair[0].0 + pair[0].1 < pair[1].0)
    }

    /// The lowest numbers that none of `taken` has.
    pub(crate) fn lowest_free<'a>(count: u32, taken: impl Iterator<Item = &'a Self>) -> Self {
        let mut map = Map([0; WORDS]);
        for slot in taken.flat_map(|slots| &slots.runs) {
            map.mark(*slot);
        }
        map.unmarked().take(count as usize).collect()
    }
}

impl FromIterator<u32> for Slots {
    /// Of numbers that ascend.
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for number in numbers {
            match runs.last_mut() {
                Some((first, count)) if *first + *count == number => *count += 1,
                Some(_) | None => runs.push((number, 1)),
            }
        }
        Self { runs }
    }
}

impl fmt::Display for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, slot) in self.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{slot}")?;
        }
        Ok(())
    }
}

const WORDS: usize = MOST_NUMBERED as usize / 64;

/// A bit for each unit that can be numbered.
struct Map([u64; WORDS]);

impl Map {
    fn mark(&mut self, (first, count): (u32, u32)) {
        for slot in first..first.saturating_add(count).min(MOST_NUMBERED) {
            self.0[slot as usize / 64] |= 1 << (slot % 64);
        }
    }

    fn unmarked(&self) -> impl Iterator<Item = u32> + '_ {
        (0..MOST_NUMBERED).filter(|slot| self.0[*slot as usize / 64] & (1 << (slot % 64)) == 0)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    fn slots(numbers: &[u32]) -> Slots {
        numbers.iter().copied().collect()
    }

    #[test]
    fn numbers_that_follow_each_other_are_one_run() {
        let some = slots(&[0, 1, 2, 5]);
        assert_eq!(some.runs, [(0, 3), (5, 1)]);
        assert_eq!(some.iter().collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert_eq!((some.count(), some.last(), some.to_string()), (4, Some(5), "0,1,2,5".to_string()));
        assert_eq!((Slots::NONE.count(), Slots::NONE.last(), Slots::NONE.is_empty()), (0, None, true));
    }

    #[test]
    fn the_lowest_free_fill_the_gaps_first() {
        let taken = [slots(&[0, 3]), slots(&[2, 5])];
        assert_eq!(Slots::lowest_free(3, taken.iter()), slots(&[1, 4, 6]));
        assert_eq!(Slots::lowest_free(2, [].into_iter()), slots(&[0, 1]));
    }

    #[test]
    fn the_last_number_is_below_the_limit() {
        let all_but_one = (0..MOST_NUMBERED - 1).collect();
        assert_eq!(Slots::lowest_free(1, [&all_but_one].into_iter()), slots(&[MOST_NUMBERED - 1]));
        let all = (0..MOST_NUMBERED).collect();
        assert_eq!(Slots::lowest_free(1, [&all].into_iter()), Slots::NONE);
    }

    #[test]
    fn what_two_share_is_found() {
        assert_eq!(slots(&[0, 1, 4]).shared_with(&slots(&[2, 3, 4, 5])), Some(4));
        assert_eq!(slots(&[0, 1]).shared_with(&slots(&[2, 3])), None);
        assert_eq!(Slots::NONE.shared_with(&slots(&[0])), None);
    }

    #[test]
    fn nonsense_from_a_peer_is_recognised_and_does_no_harm() {
        for runs in [vec![(0, 0)], vec![(u32::MAX, 2)], vec![(0, 2), (2, 1)], vec![(4, 1), (1, 1)]] {
            let slots = Slots { runs };
            assert!(!slots.is_well_formed(), "{slots:?}");
            Slots::lowest_free(1, [&slots].into_iter());
        }
        assert!(slots(&[0, 1, 7]).is_well_formed() && Slots::NONE.is_well_formed());
    }
}
