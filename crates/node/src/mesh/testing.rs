//! A mesh for tests.

use super::{Authority, Identity};

/// A new mesh and its founder, ann.
pub(crate) fn found(mesh: &str) -> (Authority, Identity) {
    let mut authority = Authority::found(mesh).unwrap();
    let ann = member_of(&mut authority, "ann");
    (authority, ann)
}

/// One more member.
pub(crate) fn member_of(authority: &mut Authority, name: &str) -> Identity {
    authority.admit(name).unwrap()
}
