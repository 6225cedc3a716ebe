//! Lists of voters. Each has one parent; a majority of the parent's voters closes it for one successor.
//!
//! A voter is a member together with a disk: what it promised is on that disk. A lost disk is another voter, and needs
//! another list. The id of a list is made of its contents and its parent's id, so two lists with one number are told
//! apart. Who may make a list is checked by the driver, by the signature that it carries in `permission`; what makes it
//! valid is the closing of its parent.

use alloc::vec::Vec;

use super::super::census::Member;

/// Made at random together with a voter's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DiskId(pub u64);

/// One who votes: a member, whatever its incarnation, as long as it has this disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Voter {
    /// The member.
    pub member: Member,
    /// Where it keeps its record.
    pub disk: DiskId,
}

/// Which list: its place in the chain, and a digest of all that it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ListId {
    /// 0 for the founding list, and one more than its parent for any other.
    pub number: u32,
    /// Of contents and parent. It tells honest lists apart; against forgery there is the signature.
    pub digest: u64,
}

/// Who votes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct List {
    id: ListId,
    parent: Option<ListId>,
    voters: Vec<Voter>,
    /// The authority's signature, for the driver. Empty for the founding list and for the step that it permits.
    pub permission: Vec<u8>,
}

/// The most voters of a list.
const MOST: usize = 5;
/// No mesh changes its voters that often.
const LAST_NUMBER: u32 = 1 << 30;

impl List {
    /// The first list of a mesh.
    pub fn founding(voters: impl IntoIterator<Item = Voter>) -> Self {
        Self::new(None, voters)
    }

    /// A list that may follow `parent`.
    pub fn successor(parent: ListId, voters: impl IntoIterator<Item = Voter>) -> Self {
        Self::new(Some(parent), voters)
    }

    fn new(parent: Option<ListId>, voters: impl IntoIterator<Item = Voter>) -> Self {
        let mut voters: Vec<Voter> = voters.into_iter().collect();
        voters.sort_unstable();
        let id = ListId { number: 0, digest: 0 };
        let list = Self { id, parent, voters, permission: Vec::new() };
        Self { id: list.computed_id(), ..list }
    }

    /// Its name in all requests and answers.
    pub const fn id(&self) -> ListId {
        self.id
    }

    fn computed_id(&self) -> ListId {
        let number = self.parent.map_or(0, |parent| parent.number.saturating_add(1));
        let parent = self.parent.map_or([0, 0], |parent| [u64::from(parent.number), parent.digest]);
        let voters = self.voters.iter().flat_map(|voter| [u64::from(voter.member), voter.disk.0]);
        let digest = parent.into_iter().chain(voters).fold(FNV_OFFSET, digest);
        ListId { number, digest }
    }

    /// The list it may follow.
    pub const fn parent(&self) -> Option<ListId> {
        self.parent
    }

    /// In order.
    pub fn voters(&self) -> &[Voter] {
        &self.voters
    }

    /// Whether so many of its voters are more than half of them.
    pub fn is_majority(&self, voters: usize) -> bool {
        voters * 2 > self.voters.len()
    }

    /// Whether the founding configuration permits it: the founder alone becomes one of three. All others need a signature.
    pub fn is_founding_step(&self, parent: &Self) -> bool {
        let grows = parent.parent.is_none() && parent.voters.len() == 1 && self.voters.len() == 3;
        grows && self.parent == Some(parent.id()) && self.voters.contains(&parent.voters[0])
    }

    /// A list that an honest peer may send: 1, 3 or 5 different members with different disks.
    pub fn is_possible(&self) -> bool {
        let voters = &self.voters;
        let members = voters.windows(2).all(|two| two[0].member < two[1].member);
        let disks = voters.iter().enumerate().all(|(at, one)| voters[..at].iter().all(|other| other.disk != one.disk));
        let parent = self.parent.is_none_or(|parent| parent.number < LAST_NUMBER);
        let is_named = self.id == self.computed_id();
        is_named
            && voters.len() % 2 == 1
            && voters.len() <= MOST
            && members
            && disks
            && parent
            && self.permission.len() <= 1024
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a.
fn digest(seen: u64, next: u64) -> u64 {
    next.to_le_bytes().into_iter().fold(seen, |seen, byte| (seen ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voter(member: u16) -> Voter {
        Voter { member, disk: DiskId(u64::from(member) + 10) }
    }

    #[test]
    fn rival_lists_have_different_ids() {
        let first = List::founding([voter(0)]);
        let one = List::successor(first.id(), [voter(0), voter(1), voter(2)]);
        let two = List::successor(first.id(), [voter(0), voter(1), voter(3)]);
        assert_ne!(one.id(), two.id());
        assert_eq!((one.id().number, two.id().number), (1, 1));
        let other_disk = Voter { disk: DiskId(99), ..voter(2) };
        assert_ne!(one.id(), List::successor(first.id(), [voter(0), voter(1), other_disk]).id());
        assert_eq!(one.id(), List::successor(first.id(), [voter(2), voter(0), voter(1)]).id(), "in any order");
    }

    #[test]
    fn impossible_lists_are_told() {
        let possible = |voters: &[Voter]| List::founding(voters.iter().copied()).is_possible();
        assert!(possible(&[voter(0)]) && possible(&[voter(0), voter(1), voter(2)]));
        assert!(!possible(&[]) && !possible(&[voter(0), voter(1)]));
        assert!(!possible(&[voter(0), voter(0), voter(1)]));
        let same_disk = Voter { disk: voter(0).disk, ..voter(1) };
        assert!(!possible(&[voter(0), same_disk, voter(2)]));
        let last = ListId { number: u32::MAX, digest: 0 };
        assert!(!List::successor(last, [voter(0)]).is_possible());
    }

    #[test]
    fn founding_permits_one_step_from_one_to_three() {
        let first = List::founding([voter(0)]);
        let three = List::successor(first.id(), [voter(0), voter(1), voter(2)]);
        assert!(three.is_founding_step(&first));
        let without = List::successor(first.id(), [voter(1), voter(2), voter(3)]);
        assert!(!without.is_founding_step(&first));
        assert!(!List::successor(three.id(), [voter(0)]).is_founding_step(&three));
    }

    #[test]
    fn more_than_half_is_a_majority() {
        let three = List::founding([voter(0), voter(1), voter(2)]);
        assert!(!three.is_majority(1) && three.is_majority(2));
        assert!(!List::founding([voter(0)]).is_majority(0));
    }
}
