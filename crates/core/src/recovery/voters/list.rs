//! Lists of voters. Each has one parent; a majority of the parent's voters closes it for one successor.
//!
//! A voter is a member together with a disk: what it promised is on that disk. A lost disk is another voter, and needs
//! another list. The id of a list is made of its contents and its parent's id, so two lists with one number are told
//! apart. Who may make a list is checked by the driver, by the signature that it carries in `permission`; what makes it
//! valid is the closing of its parent.
//!
//! A *forced* list is for a parent that no majority can close any more. It names all members that go on, and is valid when
//! each of them has given up every list before it. Its number is above all that could follow those.

use alloc::boxed::Box;
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
pub struct List {
    id: ListId,
    parent: Option<ListId>,
    voters: Vec<Voter>,
    forced: Option<Box<Forced>>,
    /// The authority's signature, for the driver. Empty for the founding list and for the step that it permits.
    pub permission: Vec<u8>,
}

/// What a forced list says beside its voters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Forced {
    /// The members that go on, in order. Voters are among them.
    pub members: Vec<Member>,
    /// All other members with numbers below this one are removed for good.
    pub before: u32,
}

impl Forced {
    /// Who does not go on.
    pub fn lost(&self) -> impl Iterator<Item = Member> + '_ {
        let numbers = (0..self.before).map_while(|number| Member::try_from(number).ok());
        numbers.filter(|member| self.members.binary_search(member).is_err())
    }

    fn is_possible(&self, voters: &[Voter]) -> bool {
        let goes_on = |member: Member| self.members.binary_search(&member).is_ok();
        let last = self.members.last().is_some_and(|last| u32::from(*last) < self.before);
        self.members.is_sorted_by(|one, other| one < other)
            && last
            && self.before <= u32::from(Member::MAX) + 1
            && voters.iter().all(|voter| goes_on(voter.member))
    }
}

/// The most voters of a list.
const MOST: usize = 5;
/// No mesh changes its voters that often.
const LAST_NUMBER: u32 = 1 << 30;
/// Forced lists have multiples of this as numbers, so that each is above all lists that may have followed its parent.
const ERA: u32 = 1 << 16;

impl ListId {
    /// Whether it can only be that of a forced list.
    pub const fn is_forced(self) -> bool {
        self.number > 0 && self.number.is_multiple_of(ERA)
    }

    /// Lists below this one are given up by whoever has opened this one.
    pub(super) const fn era(self) -> Option<Self> {
        if self.is_forced() {
            Some(self)
        } else if self.number > ERA {
            Some(Self { number: self.number / ERA * ERA, digest: 0 })
        } else {
            None
        }
    }
}

impl List {
    /// The first list of a mesh.
    pub fn founding(voters: impl IntoIterator<Item = Voter>) -> Self {
        Self::new(None, voters, None)
    }

    /// A list that may follow `parent`.
    pub fn successor(parent: ListId, voters: impl IntoIterator<Item = Voter>) -> Self {
        Self::new(Some(parent), voters, None)
    }

    /// A list that takes the place of `parent` and of all that followed it, although no majority closes it. All members
    /// with numbers below `before` that are not among `members` are removed for good.
    pub fn forced(
        parent: ListId,
        voters: impl IntoIterator<Item = Voter>,
        members: impl IntoIterator<Item = Member>,
        before: u32,
    ) -> Self {
        let mut members: Vec<Member> = members.into_iter().collect();
        members.sort_unstable();
        Self::new(Some(parent), voters, Some(Box::new(Forced { members, before })))
    }

    fn new(parent: Option<ListId>, voters: impl IntoIterator<Item = Voter>, forced: Option<Box<Forced>>) -> Self {
        let mut voters: Vec<Voter> = voters.into_iter().collect();
        voters.sort_unstable();
        let id = ListId { number: 0, digest: 0 };
        let list = Self { id, parent, voters, forced, permission: Vec::new() };
        Self { id: list.computed_id(), ..list }
    }

    /// Its name in all requests and answers.
    pub const fn id(&self) -> ListId {
        self.id
    }

    fn computed_id(&self) -> ListId {
        let number = match (&self.forced, self.parent) {
            (None, parent) => parent.map_or(0, |parent| parent.number.saturating_add(1)),
            (Some(_), parent) => (parent.map_or(0, |parent| parent.number) / ERA + 1).saturating_mul(ERA),
        };
        let parent = self.parent.map_or([0, 0], |parent| [u64::from(parent.number), parent.digest]);
        let voters = self.voters.iter().flat_map(|voter| [u64::from(voter.member), voter.disk.0]);
        let forced = self.forced.iter().flat_map(|forced| {
            let members = forced.members.iter().map(|member| u64::from(*member));
            [u64::from(forced.before)].into_iter().chain(members)
        });
        let digest = parent.into_iter().chain(voters).chain(forced).fold(FNV_OFFSET, digest);
        ListId { number, digest }
    }

    /// The list it may follow.
    pub const fn parent(&self) -> Option<ListId> {
        self.parent
    }

    /// What it says beside its voters, if it is forced.
    pub fn force(&self) -> Option<&Forced> {
        self.forced.as_deref()
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
        grows && self.forced.is_none() && self.parent == Some(parent.id()) && self.voters.contains(&parent.voters[0])
    }

    /// A list that an honest peer may send: 1, 3 or 5 different members with different disks.
    pub fn is_possible(&self) -> bool {
        let voters = &self.voters;
        let members = voters.windows(2).all(|two| two[0].member < two[1].member);
        let disks = voters.iter().enumerate().all(|(at, one)| voters[..at].iter().all(|other| other.disk != one.disk));
        let parent = self.parent.is_none_or(|parent| parent.number < LAST_NUMBER);
        let is_named = self.id == self.computed_id();
        let forced = match &self.forced {
            None => !self.id.is_forced(),
            Some(forced) => self.parent.is_some() && forced.is_possible(voters),
        };
        // A signature has all that it is for beside it.
        let longest = 1024 + self.forced.as_ref().map_or(0, |forced| 4 * forced.members.len());
        is_named
            && forced
            && voters.len() % 2 == 1
            && voters.len() <= MOST
            && members
            && disks
            && parent
            && self.permission.len() <= longest
    }
}

/// Only forced lists have a fifth field; all others are written as before there were any.
#[cfg(feature = "serde")]
mod written {
    use core::fmt;

    use serde::de::{Error, SeqAccess, Visitor};
    use serde::ser::SerializeStruct;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{List, ListId};

    const FIELDS: &[&str] = &["id", "parent", "voters", "permission", "forced"];

    impl Serialize for List {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let fields = FIELDS.len() - usize::from(self.forced.is_none());
            let mut out = serializer.serialize_struct("List", fields)?;
            out.serialize_field(FIELDS[0], &self.id)?;
            out.serialize_field(FIELDS[1], &self.parent)?;
            out.serialize_field(FIELDS[2], &self.voters)?;
            out.serialize_field(FIELDS[3], &self.permission)?;
            if let Some(forced) = &self.forced {
                out.serialize_field(FIELDS[4], forced)?;
            }
            out.end()
        }
    }

    impl<'de> Deserialize<'de> for List {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_struct("List", FIELDS, Fields)
        }
    }

    struct Fields;

    impl<'de> Visitor<'de> for Fields {
        type Value = List;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of voters")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List, A::Error> {
            fn next<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(seq: &mut A, at: usize) -> Result<T, A::Error> {
                seq.next_element()?.ok_or_else(|| A::Error::invalid_length(at, &"a list of voters"))
            }
            let id: ListId = next(&mut seq, 0)?;
            let (parent, voters, permission) = (next(&mut seq, 1)?, next(&mut seq, 2)?, next(&mut seq, 3)?);
            let forced = if id.is_forced() { Some(next(&mut seq, 4)?) } else { None };
            Ok(List { id, parent, voters, forced, permission })
        }
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
    fn a_forced_list_is_above_all_that_may_have_followed_its_parent() {
        let first = List::founding([voter(0), voter(1), voter(2)]);
        let next = List::successor(first.id(), [voter(0)]);
        let forced = List::forced(first.id(), [voter(2)], [4, 2], 6);
        assert!(forced.is_possible() && forced.id() > next.id() && forced.id().is_forced());
        assert!(forced.force().unwrap().lost().eq([0, 1, 3, 5]));
        assert_ne!(forced.id(), List::forced(first.id(), [voter(2)], [2], 6).id());
        assert_ne!(forced.id(), List::forced(first.id(), [voter(2)], [4, 2], 7).id());
        let again = List::forced(forced.id(), [voter(2)], [2], 6);
        let after = List::successor(forced.id(), [voter(4)]);
        assert!(again.is_possible() && after.is_possible() && again.id() > after.id());
        assert_eq!((first.id().era(), forced.id().era()), (None, Some(forced.id())));
        assert!(after.id().era() < Some(after.id()) && after.id().era() > Some(next.id()));
        let impossible = [
            List::forced(first.id(), [voter(1)], [2], 6),
            List::forced(first.id(), [voter(2)], [2, 2], 6),
            List::forced(first.id(), [voter(2)], [2, 6], 6),
            List::forced(first.id(), [voter(2)], [2], (1 << 16) + 1),
            List::forced(first.id(), [], [], 6),
            List { forced: None, ..forced.clone() },
            List { forced: forced.forced, ..next },
        ];
        assert!(impossible.iter().all(|list| !list.is_possible()), "{impossible:?}");
        let last_of_era = ListId { number: ERA - 1, digest: 0 };
        assert!(!List::successor(last_of_era, [voter(0)]).is_possible(), "it would pass for a forced one");
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
