//! Who came and who is gone: one count for each member, which only grows.
//!
//! A member runs as incarnation 0, 1, 2 and so on. Its count is 0 before it is invited, `2i + 1` while incarnation `i`
//! is living, `2i + 2` when `i` is gone. A member that was removed is marked beside its count and never comes back. Two
//! censuses merge by maximum, so facts may arrive in any order, twice, or together.

use alloc::collections::{BTreeMap, BTreeSet};

use super::shared::Shared;
use crate::vocabulary::NodeId;

/// The number of a member, whatever its incarnation.
pub type Member = u16;

/// The greatest count: the last incarnation is gone.
const GREATEST: u32 = 1 << 17;

/// Before there was recovery, a founder that had never met another member began its fences at multiples of 2^40 after
/// each crash. So ranks, whose fences are multiples of 2^32, begin above that, for so many crashes.
const FORMER_CRASHES: u32 = 1 << 10;

/// Who came and who is gone. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Census {
    counts: Shared<BTreeMap<Member, u32>>,
    removed: Shared<BTreeSet<Member>>,
    /// Who said goodbye: its count then, and how many removals it knew of.
    goodbyes: Shared<BTreeMap<Member, (u32, u32)>>,
}

impl Census {
    /// These nodes are living, and nothing else is known.
    pub fn of_living(nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let mut census = Self::default();
        for node in nodes {
            census.raise(node.member(), living(node));
        }
        census
    }

    /// The fact that this incarnation is living. So all before it are gone.
    pub fn living_fact(node: NodeId) -> Self {
        Self::of_living([node])
    }

    /// The fact that this incarnation is gone.
    pub fn gone_fact(node: NodeId) -> Self {
        Self { counts: Shared::new([(node.member(), living(node) + 1)].into()), ..Self::default() }
    }

    /// The fact that a member was removed for good.
    pub fn removed_fact(member: Member) -> Self {
        Self { removed: Shared::new([member].into()), ..Self::default() }
    }

    /// What `node` says when it leaves in order, with nothing left that others need: all that it knows, and that it is
    /// gone itself.
    #[must_use]
    pub fn goodbye(&self, node: NodeId) -> Self {
        let mut said = self.merged(&Self::gone_fact(node));
        let removals = said.removals();
        said.goodbyes.make_mut().insert(node.member(), (living(node) + 1, removals));
        said
    }

    /// Both together: the maximum of each count.
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        let mut merged = self.clone();
        for (member, count) in &*other.counts {
            merged.raise(*member, *count);
        }
        if !other.removed.is_subset(&merged.removed) {
            merged.removed.make_mut().extend(&*other.removed);
        }
        for (member, said) in &*other.goodbyes {
            if merged.goodbyes.get(member) < Some(said) {
                merged.goodbyes.make_mut().insert(*member, *said);
            }
        }
        merged
    }

    /// Whether everything in `other` is known here.
    pub fn includes(&self, other: &Self) -> bool {
        let counts = other.counts.iter().all(|(member, count)| self.count(*member) >= *count);
        counts
            && other.removed.is_subset(&self.removed)
            && other.goodbyes.iter().all(|(member, said)| self.goodbyes.get(member) >= Some(said))
    }

    /// The count of a member; 0 if it was never heard of.
    pub fn count(&self, member: Member) -> u32 {
        self.counts.get(&member).copied().unwrap_or(0)
    }

    /// Whether this very incarnation is living, as far as is known.
    pub fn is_living(&self, node: NodeId) -> bool {
        self.count(node.member()) == living(node) && !self.is_removed(node.member())
    }

    /// Whether this incarnation is gone: it will not grant again, and what its clients held is over.
    pub fn is_gone(&self, node: NodeId) -> bool {
        self.count(node.member()) > living(node) || self.is_removed(node.member())
    }

    /// Whether a member was removed for good.
    pub fn is_removed(&self, member: Member) -> bool {
        self.removed.contains(&member)
    }

    /// The living incarnation of every member that has one, in order.
    pub fn living(&self) -> impl Iterator<Item = NodeId> + '_ {
        let living = self.counts.iter().filter(|(member, count)| *count % 2 == 1 && !self.is_removed(**member));
        living.map(|(member, count)| NodeId::of(*member, (count / 2) as u16))
    }

    /// Every member that was ever heard of, with its count.
    pub fn counts(&self) -> impl Iterator<Item = (Member, u32)> + '_ {
        self.counts.iter().map(|(member, count)| (*member, *count))
    }

    /// The one who makes lost tokens anew: the lowest living number.
    pub fn heir(&self) -> Option<NodeId> {
        self.living().next()
    }

    /// Grows with every fact about who came and who is gone: the sum of all counts and removals, above what former
    /// versions have used.
    pub fn rank(&self) -> u64 {
        let former = (self.count(0) / 2).min(FORMER_CRASHES) + 1;
        let counts: u64 = self.counts.values().map(|count| u64::from(*count)).sum();
        counts + u64::from(self.removals()) + (u64::from(former) << 8)
    }

    /// Whether no incarnation of any member was ever gone.
    pub fn is_pristine(&self) -> bool {
        self.removed.is_empty() && self.counts.values().all(|count| *count <= 1)
    }

    fn removals(&self) -> u32 {
        u32::try_from(self.removed.len()).unwrap_or(u32::MAX)
    }

    /// Members that said goodbye before a removal they did not know of. Such a goodbye does not count: who left may have
    /// come back through the removed member, and no other has heard of it.
    pub fn doubtful_goodbyes(&self) -> impl Iterator<Item = Member> + '_ {
        let removals = self.removals();
        let doubtful = move |(member, (count, knew)): &(&Member, &(u32, u32))| {
            self.count(**member) == *count && !self.is_removed(**member) && *knew < removals
        };
        self.goodbyes.iter().filter(doubtful).map(|(member, _)| *member)
    }

    fn raise(&mut self, member: Member, count: u32) {
        if self.count(member) < count {
            self.counts.make_mut().insert(member, count);
        }
    }

    /// A mistake that no honest peer makes: a count that is out of range.
    pub fn is_possible(&self) -> bool {
        let goodbyes = self.goodbyes.values().all(|(count, _)| *count <= GREATEST && count % 2 == 0);
        self.counts.values().all(|count| (1..=GREATEST).contains(count)) && goodbyes
    }
}

fn living(node: NodeId) -> u32 {
    2 * u32::from(node.incarnation()) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(member: u16, incarnation: u16) -> NodeId {
        NodeId::of(member, incarnation)
    }

    #[test]
    fn facts_merge_in_any_order() {
        let facts = [
            Census::of_living([node(0, 0), node(1, 0), node(2, 0)]),
            Census::living_fact(node(1, 3)),
            Census::gone_fact(node(1, 2)),
            Census::removed_fact(2),
            Census::of_living([node(0, 0)]).goodbye(node(0, 0)),
        ];
        let forwards = facts.iter().fold(Census::default(), |all, fact| all.merged(fact));
        let backwards = facts.iter().rev().fold(Census::default(), |all, fact| all.merged(fact));
        assert_eq!(forwards, backwards);
        assert_eq!(forwards.living().collect::<alloc::vec::Vec<_>>(), [node(1, 3)]);
        assert!(facts.iter().all(|fact| forwards.includes(fact)));
        assert!(!facts[0].includes(&facts[1]));
    }

    #[test]
    fn a_later_incarnation_proves_that_the_former_is_gone() {
        let census = Census::living_fact(node(4, 1));
        assert!(census.is_gone(node(4, 0)) && census.is_living(node(4, 1)));
        assert!(!census.is_gone(node(4, 2)) && !census.is_living(node(4, 2)), "not heard of");
    }

    #[test]
    fn the_removed_never_come_back() {
        let census = Census::removed_fact(7).merged(&Census::living_fact(node(7, u16::MAX)));
        assert!(census.is_removed(7) && census.is_gone(node(7, u16::MAX)));
    }

    #[test]
    fn a_goodbye_counts_until_a_removal_that_it_did_not_know_of() {
        let left = Census::of_living([node(0, 0), node(1, 0), node(2, 0)]).goodbye(node(1, 0));
        assert_eq!(left.doubtful_goodbyes().count(), 0);
        let removed = left.merged(&Census::removed_fact(2));
        assert!(removed.doubtful_goodbyes().eq([1]));
        let back = removed.merged(&Census::living_fact(node(1, 1)));
        assert_eq!(back.doubtful_goodbyes().count(), 0);
        assert_eq!(back.goodbye(node(1, 1)).doubtful_goodbyes().count(), 0);
    }

    #[test]
    fn rank_grows_with_every_fact() {
        let census = Census::of_living([node(0, 0), node(1, 0)]);
        for fact in [Census::gone_fact(node(1, 0)), Census::living_fact(node(1, 1)), Census::removed_fact(0)] {
            assert!(census.merged(&fact).rank() > census.rank());
        }
    }
}
