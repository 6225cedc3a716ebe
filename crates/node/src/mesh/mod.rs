//! Who is a member: keys, invitations, removals.
//!
//! A mesh has an authority, a key that its founder keeps. Every member has a certificate of it, which says its number
//! and its name, and all members share a secret by which they find each other without telling strangers anything.

mod identity;

pub use identity::{Identity, Incarnation, Member};
