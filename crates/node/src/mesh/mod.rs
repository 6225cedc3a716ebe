//! Who is a member: keys, invitations, removals.
//!
//! A mesh has an authority, a key that its founder keeps. Every member has a certificate of it, which says its number
//! and its name, and all members share a secret by which they find each other without telling strangers anything.
//!
//! | file in a mesh directory | what it is | module |
//! |---|---|---|
//! | `member.toml` | what makes a node a member; secret | [`Identity`] |
//! | `authority.toml` | the authority's key and all members it admitted, at the founder only; secret | [`Authority`] |
//! | `meshlock.toml` | the configuration | [`crate::config`] |
//! | `state/` | what a member must not forget; belongs to the running node | [`state`] |

mod authority;
pub mod certificate;
pub(crate) mod clock;
pub mod directory;
pub(crate) mod durable;
mod error;
#[cfg(test)]
pub(crate) mod faults;
mod identity;
mod invitation;
mod ledger;
mod membership;
pub mod name;
mod removal;
pub(crate) mod secret;
pub mod state;
#[cfg(test)]
pub(crate) mod testing;

pub use authority::{Authority, Issued};
pub use error::MeshError;
pub use identity::{Identity, Incarnation, MEMBER_FILE, Member, is_member};
pub use invitation::Invitation;
pub use ledger::AUTHORITY_FILE;
pub use membership::{Existing, Founded, found, found_default, invite, join};
pub use removal::{Kept, Removal};
