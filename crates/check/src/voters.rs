//! Models of voters: the very types that a node runs, with clocks that differ and words that are late or never come.
//!
//! Three questions, each with its own rule:
//!
//! - *standing*: a node that is declared gone or removed has no standing. One node makes rounds; everything that voters
//!   refuse is believed at once by an observer, as the fastest of all others would.
//! - *records*: a newcomer that is registered and a decision that is ratified are never unaware of each other. One node
//!   registers, while the heir asks for a decision that rests on a fact which the newcomer does not know.
//! - *token*: the same with the decision that follows. The newcomer may have taken the token before its holder crashed;
//!   the heir makes it anew only if no report has it, and there are never two.
//!
//! Every word that was ever said may arrive at any time, any number of times, in any order, or never. Voters crash and
//! restart with their disk or without it. Lists are signed from the start, and each voter hears of them at any time.
//! There are two clocks, one of the asking node and one of all voters, which may be apart by `skew` ticks.

mod memory;
mod repair;
mod suite;
mod world;

pub use suite::{Standard, all, large, named};
pub use world::{Plant, Question, Step, VoterModel, World};
