//! All protocols that meshlock can check and simulate, behind one type.
//!
//! | module | what it is |
//! |---|---|
//! | [`list`] | the names: the one list of protocols |
//! | [`node`] | [`Node`] and [`Message`]: one enum of all nodes, one of all messages |
//! | [`setup`] | from a name, a text and parameters to nodes |
//! | [`printed`] | the printed texts, line by line, with each repair of a defect to be switched on alone |
//! | [`baselines`] | the classics to compare with, each as its authors meant it: central, Raymond, and so on |
//! | [`recovering`] | any node beside its census, as a mesh runs it: it survives crashes |
//! | [`repairs`] | which defects of a printed text are repaired |
//!
//! What a node runs is in `meshlock-core`. The printed texts are wrong in known ways (see `docs/errata.md`) and the
//! classics tolerate no faults: they are here to be studied, never to be run on a network.

pub mod baselines;
pub mod list;
pub mod node;
pub mod printed;
pub mod recovering;
pub mod repairs;
pub mod setup;
#[cfg(feature = "mutants")]
#[doc(hidden)]
pub mod toys;

pub use list::{Name, Text};
pub use node::{Message, Node};
pub use recovering::Recovering;
pub use setup::{Setup, SetupError};
