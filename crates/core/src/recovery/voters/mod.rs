//! Voters: who may act, who is gone, who came, and who may decide, by majority.
//!
//! | module | what it is |
//! |---|---|
//! | [`voting`] | one node among voters: all of the below behind one type |
//! | [`standing`] | a node's lease with a majority of voters |
//! | [`list`] | lists of voters, which follow each other |
//! | [`record`] | what a voter has on disk |
//! | [`word`], [`words`] | what is told to everybody, and the table of what one node remembers |
//! | [`time`] | the driver's clock, and how long everybody waits |
//! | [`arbiter`] | what may stand in for voters |
//!
//! No consensus engine is needed: voters only keep facts that grow. `docs/recovery-voters.md` explains the rules and what
//! breaks without each of them.

pub mod arbiter;
#[cfg(feature = "mutants")]
mod bug;
mod heard;
pub mod list;
mod looked;
pub mod record;
mod rules;
pub mod standing;
pub mod time;
mod voter;
pub mod voting;
pub mod word;
pub mod words;

pub use arbiter::{Arbiter, Unvoted};
#[cfg(feature = "mutants")]
#[doc(hidden)]
pub use bug::Bug;
pub use list::{DiskId, Forced, List, ListId, Voter};
pub use record::{Facts, StartId, VoterRecord};
pub use standing::Standing;
pub use time::{Settings, Span, Time};
pub use voting::{Act, Proposed, Start, Voting};
pub use word::{Key, Word};
pub use words::Words;

#[cfg(test)]
mod tests;
