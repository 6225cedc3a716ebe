//! What must hold of a lock protocol, one rule per file, usable event by event.

pub mod history;
pub mod rule;
pub mod snapshot;
pub mod step;

pub use history::{History, Occurrence};
pub use rule::{Rule, RuleSet, Setting, Violation};
pub use snapshot::{Flight, Snapshot, check_snapshot};
pub use step::check_step;
