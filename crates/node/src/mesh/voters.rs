//! Who may vote: the authority's permission for a list of voters.
//!
//! A list names the one before it. The authority's signature permits a list; a majority of the list before closes that one
//! and so makes it. The first list has the founder alone. The step from there to three voters needs no key: the founding
//! permits it, so that a mesh gets its voters while the authority's key lies in a safe. All later steps are signed.

use meshlock_core::recovery::voters::{List, ListId, Voter};

use super::signed::Statement;
use super::{Authority, Identity, MeshError};

const LIST: Statement = Statement { word: "list of voters", format: 1 };

/// How many voters there may be: majorities of even numbers are no better than those of one less.
pub const COUNTS: [usize; 3] = [1, 3, 5];

/// The authority's permission for a list, to be passed on with it.
pub fn permit(authority: &Authority, list: &List) -> Result<Vec<u8>, MeshError> {
    if !list.is_possible() {
        return Err(LIST.wrong("there are 1, 3 or 5 different voters"));
    }
    LIST.sign(authority, &(list.parent(), list.voters()))
}

/// Whether the authority of this member's mesh permits a list.
pub fn is_permitted(list: &List, identity: &Identity) -> bool {
    let said = LIST.open::<(Option<ListId>, Vec<Voter>)>(&list.permission, identity);
    said.is_ok_and(|(parent, voters)| parent == list.parent() && voters == list.voters())
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
}
