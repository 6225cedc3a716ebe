//! Suzuki-Kasami by flooding (the PSAR report): one token, asked for and handed over by broadcasts that every node
//! repeats once, so that neither routes nor a logical structure are needed.
//!
//! Source: R. A. Achaibou, L. Gadouche, S. Djama, "Algorithme d'exclusion mutuelle pour les réseaux dynamiques",
//! PSAR report, 2021. [`published`] is its algorithm 1 as printed, with switches for repairs, for study only. The
//! default, [`Node`], is the same idea with two counters in place of two lists, a timer at the waiting node, and a
//! copy of the token at the node that gave it away last; it also runs on links that lose messages.
//!
//! `docs/protocols/flood.md` has the rules, the guarantees and the differences.

pub mod published;
mod repaired;

pub use repaired::{Bug, Config, GivenAway, Heard, Message, Node, Seen, Token};
