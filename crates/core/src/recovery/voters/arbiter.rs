//! Who says who is gone and who may decide: one trait for voters and for whatever stands in for them.
//!
//! An external store with leases and compare-and-swap, such as etcd, can be put behind it: standing is its lease,
//! registration and ratification are writes that compare.

use alloc::vec::Vec;

use super::super::census::Census;
use super::time::Time;
use super::voting::{Act, Voting};
use super::word::Word;

/// A source of facts about who is gone, and of the permission to act and to decide.
pub trait Arbiter {
    /// Asks to take part, before anything else.
    fn register(&mut self, now: Time, census: &Census) -> Vec<Act>;
    /// The heir asks to decide in this census.
    fn ratify(&mut self, now: Time, census: &Census) -> Vec<Act>;
    /// The node has learned facts from elsewhere.
    fn learn(&mut self, now: Time, facts: &Census) -> Vec<Act>;
    /// A neighbour tells something.
    fn hear(&mut self, now: Time, word: Word) -> Vec<Act>;
    /// Time has passed.
    fn wake(&mut self, now: Time) -> Vec<Act>;
    /// When to wake it.
    fn next_wake(&self) -> Option<Time>;
    /// Whether the node may grant at this moment.
    fn may_act(&self, now: Time) -> bool;
}

impl Arbiter for Voting {
    fn register(&mut self, now: Time, census: &Census) -> Vec<Act> {
        self.register(now, census)
    }

    fn ratify(&mut self, now: Time, census: &Census) -> Vec<Act> {
        self.ratify(now, census)
    }

    fn learn(&mut self, now: Time, facts: &Census) -> Vec<Act> {
        self.learn(now, facts)
    }

    fn hear(&mut self, now: Time, word: Word) -> Vec<Act> {
        self.hear(now, word)
    }

    fn wake(&mut self, now: Time) -> Vec<Act> {
        self.wake(now)
    }

    fn next_wake(&self) -> Option<Time> {
        self.next_wake()
    }

    fn may_act(&self, now: Time) -> bool {
        self.standing_until().is_some_and(|until| now < until)
    }
}

/// Without voters: nodes prove their own end by coming back, an operator vouches for those that do not, and nobody else
/// says anything. So everybody may act and every heir may decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unvoted;

impl Arbiter for Unvoted {
    fn register(&mut self, _now: Time, _census: &Census) -> Vec<Act> {
        [Act::Registered].into()
    }

    fn ratify(&mut self, _now: Time, census: &Census) -> Vec<Act> {
        [Act::Ratified(census.clone())].into()
    }

    fn learn(&mut self, _now: Time, _facts: &Census) -> Vec<Act> {
        Vec::new()
    }

    fn hear(&mut self, _now: Time, word: Word) -> Vec<Act> {
        [Act::Impossible(word)].into()
    }

    fn wake(&mut self, _now: Time) -> Vec<Act> {
        Vec::new()
    }

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn may_act(&self, _now: Time) -> bool {
        true
    }
}
