//! Who is a member: keys, invitations, removals; and what a member keeps on disk.
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
pub mod charter;
pub(crate) mod clock;
pub mod directory;
pub(crate) mod durable;
mod error;
#[cfg(test)]
pub(crate) mod faults;
mod identity;
mod invitation;
pub mod keep;
mod ledger;
mod membership;
pub mod name;
pub mod promises;
mod removal;
mod sealed;
pub(crate) mod secret;
mod signed;
pub mod state;
#[cfg(test)]
pub(crate) mod testing;
pub mod voters;

pub use authority::{Authority, Issued};
pub use charter::{Charter, Founding, Recovery};
pub use error::MeshError;
pub use identity::{Identity, Incarnation, MEMBER_FILE, Member, is_member};
pub use invitation::Invitation;
pub use keep::Keep;
pub use ledger::{AUTHORITY_FILE, Departure};
pub use membership::{Existing, Founded, found, found_default, found_default_with, found_with, invite, join};
pub use promises::Promises;
pub(crate) use removal::RemovalKey;
pub use removal::{Kept, Removal, removed_words};
