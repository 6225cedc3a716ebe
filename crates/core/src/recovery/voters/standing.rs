//! A node's lease with a majority of voters: while it has standing, nobody can declare it gone.
//!
//! It ends T after the moment when a round was *made*, once a majority has answered that round. Counted from the answer
//! it would outlast what the voters wait for, by the time that the round was under way.

use alloc::collections::BTreeMap;

use super::time::{Settings, Span, Time};

/// Rounds, and what follows from the answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Standing {
    round: u64,
    /// When the last rounds were made. Those that could give no standing any more are forgotten.
    made: BTreeMap<u64, Time>,
    /// The greatest round that a majority has answered.
    answered: u64,
    until: Option<Time>,
}

impl Standing {
    /// Goes on counting after this round; none of its answers count.
    pub fn after(round: u64) -> Self {
        Self { round, answered: round, ..Self::default() }
    }

    /// The last round.
    pub const fn round(&self) -> u64 {
        self.round
    }

    /// When the last round was made, if that was in this run.
    pub fn last_made(&self) -> Option<Time> {
        self.made.get(&self.round).copied()
    }

    /// Whether a majority has answered the last round, or one that was made not long before it.
    pub fn is_renewed(&self, settings: &Settings) -> bool {
        let (Some(made), Some(until)) = (self.last_made(), self.until) else { return false };
        made.plus(settings.standing) <= until.plus(Span(settings.round.0.saturating_mul(2)))
    }

    /// Makes a round.
    pub fn make_round(&mut self, now: Time, settings: &Settings) -> u64 {
        self.made.retain(|_, made| made.plus(settings.standing) > now);
        self.round += 1;
        self.made.insert(self.round, now);
        self.round
    }

    /// Counts the last round from now on.
    #[cfg(feature = "mutants")]
    pub(super) fn make_last_again(&mut self, now: Time) {
        self.made.insert(self.round, now);
    }

    /// When the first round was made that a majority has answered now, if that is news: all of these voters have
    /// answered it or a later one.
    pub fn answered(&mut self, round: u64) -> Option<Time> {
        let made = self.made.get(&round).copied().filter(|_| round > self.answered)?;
        self.answered = round;
        self.made.retain(|made, _| *made >= round);
        Some(made)
    }

    /// Standing until then, if that is later than before.
    pub fn extend(&mut self, until: Time) {
        self.until = self.until.max(Some(until));
    }

    /// Until when the node may act.
    pub const fn until(&self) -> Option<Time> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_answered_once_and_in_order() {
        let settings = Settings::of_standing(Span(600));
        let mut standing = Standing::default();
        assert_eq!(standing.last_made(), None);
        assert_eq!(standing.make_round(Time(5), &settings), 1);
        assert_eq!(standing.last_made(), Some(Time(5)));
        assert_eq!(standing.make_round(Time(105), &settings), 2);
        assert_eq!(standing.answered(2), Some(Time(105)));
        assert_eq!((standing.answered(2), standing.answered(1)), (None, None), "no news");
        assert_eq!(standing.answered(9), None, "never made");
    }

    #[test]
    fn a_standing_is_renewed_until_rounds_stay_without_an_answer() {
        let settings = Settings::of_standing(Span(600));
        let mut standing = Standing::default();
        assert!(!standing.is_renewed(&settings), "never");
        standing.make_round(Time(0), &settings);
        assert!(!standing.is_renewed(&settings), "not yet");
        standing.extend(Time(600));
        for (at, is_renewed) in [(100, true), (200, true), (201, false), (300, false)] {
            standing.make_round(Time(at), &settings);
            assert_eq!(standing.is_renewed(&settings), is_renewed, "{at}");
        }
    }

    #[test]
    fn rounds_of_the_past_give_no_standing() {
        let settings = Settings::of_standing(Span(600));
        let mut standing = Standing::default();
        for at in 0..1000 {
            standing.make_round(Time(at * 100), &settings);
        }
        assert!(standing.made.len() <= 6);
        assert_eq!(standing.answered(3), None);
        assert_eq!(Standing::after(7).answered(7), None);
    }
}
