//! How long a request will still wait, from how long grants lasted: with its range, or not at all.

use std::collections::VecDeque;

/// How many grants are remembered.
const MOST: usize = 64;
/// Fewer say nothing.
const FEWEST: usize = 5;

/// How long the latest grants of a resource to clients of this node lasted, in milliseconds; those that were given back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holds(VecDeque<u64>);

/// A time that is as likely too short as too long, and the range in which eight of ten such grants would end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) low_ms: u64,
    pub(crate) middle_ms: u64,
    pub(crate) high_ms: u64,
}

/// Who has to be done before a request is granted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    /// Somebody holds now; how long already, if it is known.
    pub(crate) holds: Option<Option<u64>>,
    /// How many others wait and come before.
    pub(crate) ahead: u64,
    /// How many can hold at once.
    pub(crate) at_once: u64,
    /// How long the request has waited.
    pub(crate) waited_ms: u64,
}

impl Holds {
    pub(crate) fn add(&mut self, ms: u64) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(ms);
    }

    /// Nothing without a basis: too few grants, or a holder that holds for longer than any of them did.
    pub(crate) fn estimate(&self, before: Before) -> Option<Estimate> {
        let all: Vec<u64> = self.0.iter().copied().collect();
        let whole = range(all.clone())?;
        let now = match before.holds {
            None => Estimate { low_ms: 0, middle_ms: 0, high_ms: 0 },
            Some(Some(held)) => range(all.into_iter().filter(|hold| *hold > held).map(|hold| hold - held).collect())?,
            // Anything from the beginning to the end of a grant.
            Some(None) => Estimate { low_ms: 0, middle_ms: whole.middle_ms / 2, high_ms: whole.high_ms },
        };
        let plus = |now: u64, each: u64| now.saturating_add(each.saturating_mul(before.ahead) / before.at_once.max(1));
        let high_ms = plus(now.high_ms, whole.high_ms);
        // It has waited for longer than it should have: what was is no measure of what is.
        if before.waited_ms > high_ms.saturating_add(whole.high_ms) {
            return None;
        }
        let (low_ms, middle_ms) = (plus(now.low_ms, whole.low_ms), plus(now.middle_ms, whole.middle_ms));
        Some(Estimate { low_ms, middle_ms, high_ms })
    }
}

fn range(mut all: Vec<u64>) -> Option<Estimate> {
    if all.len() < FEWEST {
        return None;
    }
    all.sort_unstable();
    let at = |tenths: usize| all.get((all.len() - 1) * tenths / 10).copied().unwrap_or_default();
    Some(Estimate { low_ms: at(1), middle_ms: at(5), high_ms: at(9) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(all: impl IntoIterator<Item = u64>) -> Holds {
        let mut holds = Holds::default();
        all.into_iter().for_each(|ms| holds.add(ms));
        holds
    }

    fn next(held: Option<u64>) -> Before {
        Before { holds: Some(held), ahead: 0, at_once: 1, waited_ms: 0 }
    }

    #[test]
    fn too_few_grants_are_no_basis() {
        assert_eq!(holds([5; 4]).estimate(next(Some(0))), None);
        assert!(holds([5; 5]).estimate(next(Some(0))).is_some());
    }

    #[test]
    fn a_holder_that_outlasts_all_that_were_leaves_no_estimate() {
        let short = holds([5; 20]);
        assert_eq!(short.estimate(next(Some(4))).map(|it| it.high_ms), Some(1));
        assert_eq!(short.estimate(next(Some(6_000))), None, "5 ms to go of a hold of 6 s is worse than nothing");
    }

    #[test]
    fn what_was_held_already_counts() {
        let mixed = holds((1..=20).map(|number| number * 1_000));
        let (fresh, late) = (mixed.estimate(next(Some(0))).unwrap(), mixed.estimate(next(Some(10_000))).unwrap());
        assert!(fresh.low_ms < fresh.middle_ms && fresh.middle_ms < fresh.high_ms, "{fresh:?}");
        assert_eq!((fresh.middle_ms, late.middle_ms), (10_000, 5_000), "of those beyond 10 s");
    }

    #[test]
    fn those_ahead_take_their_turns_as_many_at_once_as_there_are_places() {
        let ahead = |ahead, at_once| {
            let before = Before { holds: None, ahead, at_once, waited_ms: 0 };
            holds([1_000; 9]).estimate(before).unwrap().middle_ms
        };
        assert_eq!((ahead(0, 1), ahead(3, 1), ahead(4, 2)), (0, 3_000, 2_000));
    }

    #[test]
    fn who_has_waited_for_longer_than_expected_is_told_nothing_more() {
        let before = |waited_ms| Before { holds: Some(None), ahead: 0, at_once: 1, waited_ms };
        assert!(holds([1_000; 9]).estimate(before(1_500)).is_some());
        assert_eq!(holds([1_000; 9]).estimate(before(2_001)), None);
    }

    #[test]
    fn only_the_latest_grants_are_remembered() {
        let holds = holds((0..MOST as u64 + 36).map(|number| if number < 36 { 1 } else { 9 }));
        assert_eq!((holds.0.len(), holds.0.front()), (MOST, Some(&9)));
    }
}
