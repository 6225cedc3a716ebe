//! Suzuki-Kasami by flooding (the PSAR report): one token, asked for and handed over by broadcasts that every node
//! repeats once, so that neither routes nor a logical structure are needed.
//!
//! Source: R. A. Achaibou, L. Gadouche, S. Djama, "Algorithme d'exclusion mutuelle pour les réseaux dynamiques",
//! PSAR report, 2021. [`Node`] is the same idea as its algorithm 1, with two counters in place of two lists, a timer at the waiting node, and a
//! copy of the token at the node that gave it away last; it also runs on links that lose messages.
//!
//! `docs/protocols/flood.md` has the rules, the guarantees and the differences.

mod repaired;

#[cfg(feature = "mutants")]
pub use repaired::Bug;
pub use repaired::{Config, GivenAway, Heard, Message, Node, Token, TokenStamp};
