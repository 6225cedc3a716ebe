//! Lists of voters: a chain of statements, each of which names the one before.
//!
//! The authority's signature permits a list; a majority of the list before closes that one and so makes it. The first list
//! has the founder alone. The step from there to the voters of the founding needs no key: the charter permits it, so that
//! a mesh gets its voters while the authority's key lies in a safe. All later steps are signed.

use std::collections::BTreeSet;

use ring::digest;
use serde::{Deserialize, Serialize};

use super::signed::Statement;
use super::{Authority, Charter, Identity, Member, MeshError, Recovery};

/// What a voter is known by: random, drawn when its record is made. A voter whose disk was lost is another voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DiskId(pub [u8; 16]);

/// A member that votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Voter {
    /// Its number.
    pub member: Member,
    /// The disk its record is on.
    pub disk: DiskId,
}

/// Which list: the SHA-256 of what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ListHash(pub [u8; 32]);

/// A list of voters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoterList {
    content: Content,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Content {
    number: u32,
    parent: ListHash,
    voters: Vec<Voter>,
}

/// How a list is passed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Form {
    /// With the authority's signature.
    Signed(Vec<u8>),
    /// The second list, permitted by the charter.
    OfFounding(Content),
}

/// Why a list can always be written.
const PLAIN: &str = "bytes and numbers can be written to a vector";

const LIST: Statement = Statement { word: "list of voters", format: 1 };

/// How many voters there may be: majorities of even numbers are no better than those of one less.
pub const COUNTS: [usize; 3] = [1, 3, 5];

/// The number of the list that the charter permits without a signature.
const OF_FOUNDING: u32 = 1;

impl VoterList {
    /// The first list of a mesh: one voter.
    pub fn first(authority: &Authority, voter: Voter) -> Result<Self, MeshError> {
        Self::sign(authority, Content { number: 0, parent: ListHash([0; 32]), voters: vec![voter] })
    }

    /// The list after this one, signed.
    pub fn successor(&self, authority: &Authority, voters: &[Voter]) -> Result<Self, MeshError> {
        Self::sign(authority, self.next_content(voters))
    }

    /// The list after the first one, with the voters of the founding. Nobody signs it; see [`Self::verify`].
    pub fn of_founding(&self, charter: &Charter, voters: &[Voter]) -> Result<Self, MeshError> {
        let content = self.next_content(voters);
        content.check()?;
        content.check_permitted(charter)?;
        Ok(Self { form: Form::OfFounding(content.clone()), content })
    }

    fn next_content(&self, voters: &[Voter]) -> Content {
        let mut voters = voters.to_vec();
        voters.sort_unstable();
        Content { number: self.content.number.saturating_add(1), parent: self.hash(), voters }
    }

    fn sign(authority: &Authority, content: Content) -> Result<Self, MeshError> {
        content.check()?;
        Ok(Self { form: Form::Signed(LIST.sign(authority, &content)?), content })
    }

    /// Reads a list, from wherever it came. It is believed if this mesh's authority signed it, or if it is the second list
    /// and the charter leaves the choice to the members. Whether its voters are those that the charter names is for
    /// members who know names: a certificate says them, a number does not.
    pub fn verify(bytes: &[u8], identity: &Identity, charter: &Charter) -> Result<Self, MeshError> {
        let form = Form::read(bytes)?;
        let content = match &form {
            Form::Signed(signed) => LIST.open(signed, identity)?,
            Form::OfFounding(content) => {
                content.check_permitted(charter)?;
                content.clone()
            }
        };
        content.check()?;
        Ok(Self { content, form })
    }

    /// Reads a list that was verified before it was kept.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, MeshError> {
        let form = Form::read(bytes)?;
        let content: Content = match &form {
            Form::Signed(signed) => LIST.read(signed)?,
            Form::OfFounding(content) => content.clone(),
        };
        content.check()?;
        Ok(Self { content, form })
    }

    /// To be passed on.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.form).expect(PLAIN)
    }

    /// Its number in the chain. The first is 0.
    pub fn number(&self) -> u32 {
        self.content.number
    }

    /// Which list this is. Requests and answers name it.
    pub fn hash(&self) -> ListHash {
        self.content.hash()
    }

    /// The list before.
    pub fn parent(&self) -> ListHash {
        self.content.parent
    }

    /// Who votes, in the order of numbers.
    pub fn voters(&self) -> &[Voter] {
        &self.content.voters
    }

    /// How many voters are a majority.
    pub fn majority(&self) -> usize {
        self.content.voters.len() / 2 + 1
    }

    /// Whether this is a list for the place after `parent`.
    pub fn follows(&self, parent: &Self) -> bool {
        self.content.number.checked_sub(1) == Some(parent.content.number) && self.content.parent == parent.hash()
    }
}

impl Form {
    fn read(bytes: &[u8]) -> Result<Self, MeshError> {
        match postcard::take_from_bytes(bytes) {
            Ok((form, [])) => Ok(form),
            Ok(_) | Err(_) => Err(LIST.wrong("it is damaged")),
        }
    }
}

impl Content {
    fn check(&self) -> Result<(), MeshError> {
        let (members, disks): (BTreeSet<Member>, BTreeSet<DiskId>) =
            self.voters.iter().map(|voter| (voter.member, voter.disk)).unzip();
        if !COUNTS.contains(&self.voters.len()) {
            return Err(LIST.wrong(format!("it has {} voters; there are 1, 3 or 5", self.voters.len())));
        }
        if members.len() < self.voters.len() || disks.len() < self.voters.len() {
            return Err(LIST.wrong("a member or a disk is in it twice"));
        }
        if !self.voters.is_sorted() {
            return Err(LIST.wrong("its voters are not in the order of their numbers"));
        }
        if self.number == 0 && (self.parent != ListHash([0; 32]) || self.voters.len() > 1) {
            return Err(LIST.wrong("the first list has no parent, and one voter"));
        }
        Ok(())
    }

    fn check_permitted(&self, charter: &Charter) -> Result<(), MeshError> {
        let count = match charter.voters().len() {
            0 => 3,
            named => named,
        };
        if charter.recovery() != Recovery::Voters || self.number != OF_FOUNDING || self.voters.len() != count {
            return Err(LIST.wrong("it is not signed, and the mesh was not founded with it"));
        }
        Ok(())
    }

    fn hash(&self) -> ListHash {
        let bytes = postcard::to_stdvec(self).expect(PLAIN);
        let bytes = [b"meshlock list of voters\0".as_slice(), &bytes].concat();
        let mut out = [0; 32];
        out.copy_from_slice(digest::digest(&digest::SHA256, &bytes).as_ref());
        ListHash(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Founding;
    use super::super::testing::found;
    use super::*;

    fn voter(number: u8) -> Voter {
        Voter { member: Member(number.into()), disk: DiskId([number; 16]) }
    }

    fn mesh() -> (Authority, Identity, Charter, VoterList) {
        let (mut authority, ann) = found("hall");
        authority.charter = Some(Founding::default().terms(1));
        let charter = authority.charter().unwrap().unwrap();
        let first = VoterList::first(&authority, voter(0)).unwrap();
        (authority, ann, charter, first)
    }

    #[test]
    fn a_chain_of_lists_is_believed_by_every_member() {
        let (authority, ann, charter, first) = mesh();
        let second = first.of_founding(&charter, &[voter(2), voter(0), voter(1)]).unwrap();
        let third = second.successor(&authority, &[voter(1), voter(2), voter(7)]).unwrap();
        for list in [&first, &second, &third] {
            assert_eq!(VoterList::verify(&list.to_bytes(), &ann, &charter).unwrap(), *list);
            assert_eq!(VoterList::read(&list.to_bytes()).unwrap(), *list);
        }
        assert!(second.follows(&first) && third.follows(&second));
        assert!(!third.follows(&first) && !first.follows(&first));
        assert_eq!((second.number(), second.majority(), second.parent()), (1, 2, first.hash()));
        assert_eq!(second.voters(), [voter(0), voter(1), voter(2)], "in order");
    }

    #[test]
    fn two_lists_for_one_parent_differ() {
        let (authority, _, _, first) = mesh();
        let one = first.successor(&authority, &[voter(1)]).unwrap();
        let other = first.successor(&authority, &[voter(2)]).unwrap();
        assert!(one.follows(&first) && other.follows(&first));
        let child = one.successor(&authority, &[voter(3)]).unwrap();
        assert!(child.follows(&one) && !child.follows(&other));
    }

    #[test]
    fn only_the_step_of_the_founding_needs_no_signature() {
        let (authority, ann, charter, first) = mesh();
        let three = [voter(0), voter(1), voter(2)];
        let second = first.of_founding(&charter, &three).unwrap();
        assert!(second.of_founding(&charter, &three).is_err(), "the third list");
        assert!(first.of_founding(&charter, &[voter(4)]).is_err(), "not three");
        let mut restart = Founding::default().terms(1);
        restart.recovery = Recovery::Restart;
        let restart = Charter::sign(&authority, &restart).unwrap();
        let error = VoterList::verify(&second.to_bytes(), &ann, &restart).expect_err("no voters").to_string();
        assert!(error.contains("not signed"), "{error}");
        let (_, stranger) = found("hall");
        assert!(VoterList::verify(&first.to_bytes(), &stranger, &charter).is_err());
    }

    /// A change of the format gives [`LIST`] the next number; hashes must stay, or chains break.
    #[test]
    fn the_bytes_are_what_they_were() {
        let (_, ann, charter, first) = mesh();
        let second = first.of_founding(&charter, &[voter(0), voter(1), voter(2)]).unwrap();
        let voters: Vec<u8> = (0..3).flat_map(|number| [vec![number], vec![number; 16]].concat()).collect();
        assert_eq!(second.to_bytes(), [&[1, 1], first.hash().0.as_slice(), &[3], &voters].concat());
        let content = [&[0], [0; 32].as_slice(), &[1], &[0; 17]].concat();
        assert!(
            first.to_bytes().starts_with(&[&[0, 150, 1, 1], ann.fingerprint().as_slice(), &[51], &content].concat())
        );
        assert_eq!(first.hash().0[..4], [0xce, 0xbe, 0x63, 0xa0]);
    }

    #[test]
    fn lists_that_make_no_sense_are_refused() {
        let (authority, ann, charter, first) = mesh();
        for (voters, words) in [
            (vec![], "1, 3 or 5"),
            (vec![voter(1), voter(2)], "1, 3 or 5"),
            (vec![voter(1), voter(1), voter(2)], "twice"),
            (vec![voter(1), Voter { disk: DiskId([1; 16]), ..voter(2) }, voter(3)], "twice"),
        ] {
            let error = first.successor(&authority, &voters).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
        let whole = first.to_bytes();
        assert!(VoterList::verify(&whole[..whole.len() - 1], &ann, &charter).is_err());
        assert!(VoterList::verify(&[whole, vec![0]].concat(), &ann, &charter).is_err());
    }
}
