//! Who may vote: the authority's permission for a list of voters.
//!
//! A list names the one before it. The authority's signature permits a list; a majority of the list before closes that one
//! and so makes it. The first list has the founder alone. The step from there to three voters needs no key: the founding
//! permits it, so that a mesh gets its voters while the authority's key lies in a safe. All later steps are signed.
//!
//! If a majority of the voters is lost for good, nobody can close their list. Then a person names the lost, and the
//! authority signs a forced list: it is valid when all other members have given up the lists before it.

use std::path::Path;

use meshlock_core::recovery::voters::{Forced, List, ListId, Proposed, Voter};
use serde::{Deserialize, Serialize};

use super::error::damaged;
use super::sealed::Kind;
use super::signed::Statement;
use super::{Authority, Identity, Member, MeshError, durable, keep};

const LIST: Statement = Statement { word: "list of voters", format: 1 };
const FORCED: Statement = Statement { word: "forced list of voters", format: 1 };

/// How many voters there may be: majorities of even numbers are no better than those of one less.
pub const COUNTS: [usize; 3] = [1, 3, 5];

/// The authority's permission for a list, to be passed on with it.
pub fn permit(authority: &Authority, list: &List) -> Result<Vec<u8>, MeshError> {
    if !list.is_possible() {
        return Err(LIST.wrong("there are 1, 3 or 5 different voters"));
    }
    match list.force() {
        None => LIST.sign(authority, &(list.parent(), list.voters())),
        Some(force) => FORCED.sign(authority, &(list.parent(), list.voters(), force)),
    }
}

/// Whether the authority of this member's mesh permits a list.
pub fn is_permitted(list: &List, identity: &Identity) -> bool {
    match list.force() {
        None => {
            let said = LIST.open::<(Option<ListId>, Vec<Voter>)>(&list.permission, identity);
            said.is_ok_and(|(parent, voters)| parent == list.parent() && voters == list.voters())
        }
        Some(force) => {
            let said = FORCED.open::<(Option<ListId>, Vec<Voter>, Forced)>(&list.permission, identity);
            said.is_ok_and(|said| (said.0, said.1.as_slice(), &said.2) == (list.parent(), list.voters(), force))
        }
    }
}

const KNOWN: Kind = Kind { word: "known voters", format: 2 };
const PROPOSED: Kind = Kind { word: "proposed voters", format: 1 };

/// What a running node knows of voters: for commands in its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The list in force.
    pub list: List,
    /// Members that could vote, each with its disk. The voters of the list are among them if they were heard.
    pub ready: Vec<Voter>,
    /// What was proposed to follow that list, and what it waits for.
    pub proposed: Vec<Proposed>,
}

impl Known {
    /// What the node of a directory wrote last. `None` if it never ran with voters.
    pub fn load(dir: &Path) -> Result<Option<Self>, MeshError> {
        read(KNOWN, dir, "voters-known")
    }

    /// A signed list that was proposed to follow the one in force. Voters may have agreed to it, so no other may be signed
    /// for the same voters: each of them agrees to one list, and then neither might ever get a majority. Where one votes
    /// alone there is nothing to split.
    pub fn pending(&self, dir: &Path) -> Result<Option<List>, MeshError> {
        let left_here = proposed(dir)?;
        let all = || left_here.iter().chain(self.proposed.iter().map(|proposed| &proposed.list));
        let forced = all().filter(|list| list.force().is_some() && list.id() > self.list.id());
        if let Some(forced) = forced.max_by_key(|list| list.id()) {
            return Ok(Some(forced.clone()));
        }
        let may_split = self.list.voters().len() > 1;
        Ok(all().find(|list| may_split && list.parent() == Some(self.list.id())).cloned())
    }

    /// Why a proposed list does not vote yet, as far as is known. `name`: what members are called.
    pub fn what_is_missing(&self, list: &List, name: impl Fn(Member) -> String) -> String {
        let names = |members: &[u16]| members.iter().map(|member| name(Member(*member))).collect::<Vec<_>>().join(", ");
        let Some(found) = self.proposed.iter().find(|proposed| proposed.list.id() == list.id()) else {
            return "the node of this directory has not told the voters yet".to_owned();
        };
        let mut words = Vec::new();
        if !found.missing.is_empty() {
            let what = if list.force().is_some() { "did not give up the former voters" } else { "did not agree" };
            words.push(format!("{} {what} yet", names(&found.missing)));
        }
        if !found.unready.is_empty() {
            words.push(format!("{} could not vote with the disk that was proposed", names(&found.unready)));
        }
        for rival in self.proposed.iter().filter(|rival| rival.list.id() != list.id()) {
            let voters: Vec<u16> = rival.list.voters().iter().map(|voter| voter.member).collect();
            words.push(format!("{} were proposed too, so voters may have agreed to them", names(&voters)));
        }
        words.join("; ")
    }

    /// For commands in this directory.
    pub fn store(&self, dir: &Path) -> Result<(), MeshError> {
        write(KNOWN, dir, "voters-known", self)
    }

    /// Whether a member votes.
    pub fn votes(&self, member: Member) -> bool {
        self.list.voters().iter().any(|voter| voter.member == member.0)
    }

    /// Who is to vote if this member no longer does: the other voters, filled up with members that could vote; as many as
    /// now, or the next lower number that there may be. `own`, the node that proposes it, stays if it votes. None if there
    /// is no other.
    pub fn without(&self, member: Member, own: Option<Member>, is_member: impl Fn(Member) -> bool) -> Vec<Member> {
        self.among(own, |other| other != member && is_member(other))
    }

    /// The same for any members that go on.
    pub fn among(&self, own: Option<Member>, goes_on: impl Fn(Member) -> bool) -> Vec<Member> {
        let mut others: Vec<Member> = Vec::new();
        for voter in self.list.voters().iter().chain(&self.ready) {
            let other = Member(voter.member);
            if goes_on(other) && !others.contains(&other) {
                others.push(other);
            }
        }
        others.sort_by_key(|other| (!self.votes(*other), own != Some(*other)));
        let most = others.len().min(self.list.voters().len());
        let count = COUNTS.into_iter().rev().find(|count| *count <= most).unwrap_or(0);
        others.truncate(count);
        others
    }

    /// A signed list that follows the one in force.
    pub fn successor(&self, authority: &Authority, members: &[(Member, String)]) -> Result<List, MeshError> {
        let mut list = List::successor(self.list.id(), self.disks(members)?);
        list.permission = permit(authority, &list)?;
        Ok(list)
    }

    /// A signed list that takes the place of the one in force, or of a forced one `before`, with these voters. All members
    /// that were not removed go on, but for those that are `lost`.
    pub fn forced(
        &self,
        authority: &Authority,
        voters: &[(Member, String)],
        lost: &[Member],
        before: Option<&List>,
    ) -> Result<List, MeshError> {
        let parent = before.map_or(self.list.id(), |before| before.id().max(self.list.id()));
        let members = authority.issued.iter().filter(|issued| !issued.removed && !lost.contains(&issued.member));
        let members = members.map(|issued| issued.member.0);
        let mut list = List::forced(parent, self.disks(voters)?, members, authority.given_out());
        list.permission = permit(authority, &list)?;
        Ok(list)
    }

    /// As whom these members vote.
    fn disks(&self, members: &[(Member, String)]) -> Result<Vec<Voter>, MeshError> {
        let disk = |(member, name): &(Member, String)| {
            let known = self.ready.iter().chain(self.list.voters()).find(|voter| voter.member == member.0);
            known.copied().ok_or_else(|| {
                LIST.wrong(format!(
                    "{name} has not been heard since this node began: start its node first, then repeat this"
                ))
            })
        };
        members.iter().map(disk).collect()
    }
}

/// Leaves a signed list to the node of a directory, which tells it to the voters.
pub fn propose(dir: &Path, list: &List) -> Result<(), MeshError> {
    write(PROPOSED, dir, "voters-proposed", list)
}

/// A list that was left here.
pub fn proposed(dir: &Path) -> Result<Option<List>, MeshError> {
    read(PROPOSED, dir, "voters-proposed")
}

/// It was told.
pub fn forget_proposed(dir: &Path) -> Result<(), MeshError> {
    durable::remove(&keep::state_file(dir, "voters-proposed"))
}

fn read<T: for<'a> Deserialize<'a>>(kind: Kind, dir: &Path, name: &str) -> Result<Option<T>, MeshError> {
    let path = keep::state_file(dir, name);
    let Some(bytes) = kind.read(&path)? else { return Ok(None) };
    postcard::from_bytes(&bytes).map(Some).map_err(|error| damaged(&path, error.to_string()))
}

fn write<T: Serialize>(kind: Kind, dir: &Path, name: &str, value: &T) -> Result<(), MeshError> {
    let bytes = postcard::to_stdvec(value).map_err(|error| LIST.wrong(error.to_string()))?;
    kind.write(&keep::state_file(dir, name), &bytes)
}

#[cfg(test)]
mod tests {
    use meshlock_core::recovery::voters::DiskId;

    use super::super::testing::found;
    use super::*;

    fn voter(number: u16) -> Voter {
        Voter { member: number, disk: DiskId(number.into()) }
    }

    #[test]
    fn a_list_is_permitted_by_the_signature_of_this_mesh_and_no_other() {
        let (authority, ann) = found("hall");
        let first = List::founding([voter(0)]);
        let mut list = List::successor(first.id(), [voter(0), voter(4), voter(7)]);
        assert!(!is_permitted(&list, &ann), "not signed");
        list.permission = permit(&authority, &list).unwrap();
        assert!(is_permitted(&list, &ann));
        let (_, stranger) = found("hall");
        assert!(!is_permitted(&list, &stranger));
        let mut other = List::successor(first.id(), [voter(0), voter(4), voter(8)]);
        other.permission.clone_from(&list.permission);
        assert!(!is_permitted(&other, &ann), "a signature of another list");
        assert!(permit(&authority, &List::successor(first.id(), [voter(0), voter(1)])).is_err());
    }

    #[test]
    fn a_forced_list_is_permitted_with_all_that_it_says() {
        let (mut authority, ann) = found("hall");
        for name in ["bob", "cy", "dora"] {
            authority.admit(name).unwrap();
        }
        let known = Known {
            list: List::founding([voter(0), voter(1), voter(2)]),
            ready: vec![voter(0), voter(3)],
            proposed: Vec::new(),
        };
        let list = known.forced(&authority, &[(Member(0), "ann".into())], &[Member(1), Member(2)], None).unwrap();
        let force = list.force().unwrap();
        assert_eq!((force.members.as_slice(), force.before), (&[0, 3][..], 4));
        assert!(is_permitted(&list, &ann) && list.is_possible());
        let others = [
            List::forced(known.list.id(), [voter(0)], [0, 2, 3], 4),
            List::forced(known.list.id(), [voter(0)], [0, 3], 5),
            List::forced(known.list.id(), [voter(3)], [0, 3], 4),
            List::successor(known.list.id(), [voter(0)]),
        ];
        for mut other in others {
            other.permission.clone_from(&list.permission);
            assert!(!is_permitted(&other, &ann), "{other:?}");
        }
        let ordinary = known.successor(&authority, &[(Member(0), "ann".into())]).unwrap();
        let mut disguised = list.clone();
        disguised.permission.clone_from(&ordinary.permission);
        assert!(!is_permitted(&disguised, &ann));
        // One more is lost: the next one takes its place, and stays what it is on disk.
        let next =
            known.forced(&authority, &[(Member(0), "ann".into())], &[Member(1), Member(2), Member(3)], Some(&list));
        let next = next.unwrap();
        assert!(next.id() > list.id() && is_permitted(&next, &ann));
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("state")).unwrap();
        propose(place.path(), &next).unwrap();
        assert_eq!(proposed(place.path()).unwrap(), Some(next.clone()));
        assert_eq!(known.pending(place.path()).unwrap(), Some(next));
    }

    #[test]
    fn who_votes_without_a_member() {
        let known = |voters: &[u16], ready: &[u16]| Known {
            list: List::founding(voters.iter().copied().map(voter)),
            ready: ready.iter().copied().map(voter).collect(),
            proposed: Vec::new(),
        };
        let without = |known: &Known, member, own| -> Vec<u16> {
            let others = known.without(Member(member), Some(Member(own)), |other| other != Member(9));
            others.into_iter().map(|other| other.0).collect()
        };
        assert_eq!(without(&known(&[0, 1, 2], &[0, 1, 2, 9, 4]), 1, 0), [0, 2, 4], "9 was removed");
        assert_eq!(without(&known(&[0, 1, 2], &[0, 2, 4]), 1, 4), [0, 2, 4], "who votes goes on");
        assert_eq!(without(&known(&[0, 1, 2], &[0, 1, 2]), 1, 2), [2], "two cannot vote; the one that tells it stays");
        assert_eq!(without(&known(&[0, 1, 2, 3, 4], &[]), 3, 0), [0, 1, 2]);
        assert_eq!(without(&known(&[1], &[1, 0]), 1, 0), [0]);
        assert_eq!(without(&known(&[1], &[1, 9]), 1, 9), [0_u16; 0]);
    }

    #[test]
    fn a_list_is_left_to_the_node_of_the_directory() {
        let (authority, ann) = found("hall");
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("state")).unwrap();
        assert_eq!((Known::load(place.path()).unwrap(), proposed(place.path()).unwrap()), (None, None));
        let known =
            Known { list: List::founding([voter(0)]), ready: vec![voter(0), voter(1), voter(2)], proposed: Vec::new() };
        known.store(place.path()).unwrap();
        let known = Known::load(place.path()).unwrap().unwrap();
        let named = |numbers: &[u16]| numbers.iter().map(|n| (Member(*n), format!("n{n}"))).collect::<Vec<_>>();
        let error = known.successor(&authority, &named(&[0, 1, 9])).expect_err("never heard").to_string();
        assert!(error.contains("n9 has not been heard"), "{error}");
        let list = known.successor(&authority, &named(&[2, 0, 1])).unwrap();
        assert!(is_permitted(&list, &ann) && list.parent() == Some(known.list.id()));
        propose(place.path(), &list).unwrap();
        assert_eq!(proposed(place.path()).unwrap(), Some(list));
        forget_proposed(place.path()).unwrap();
        assert_eq!(proposed(place.path()).unwrap(), None);
    }
}
