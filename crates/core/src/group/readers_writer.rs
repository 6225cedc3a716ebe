//! Readers and writers as sessions: readers share one, every writer has its own.
//!
//! Readers are let in together, because they ask for the same session. A writer has a session of its own, so it
//! excludes readers and other writers.
//!
//! **Fairness.** Neither side starves. Readers that come while a writer waits do not join the readers inside: they
//! queue. All readers that are queued when reading is opened again enter together. A request is overtaken in the queue
//! only by more urgent ones, and every opening makes it more urgent by one level. With n processes and K levels none
//! sees more than `n - 1 + max(K - 2, 0)` openings after its request was taken up. Writers are preferred by giving
//! them a higher priority, and the same bound holds.
//!
//! **Not offered.** A reader cannot become a writer without leaving (two of them would wait for each other), and a
//! writer that wants to go on as reader has to ask again, and others may come first.
//!
//! ```
//! use meshlock_core::NodeId;
//! use meshlock_core::group::readers_writer::{Access, read, write};
//!
//! let reading = read(1);
//! let writing = write(NodeId(7), 2);
//! assert_eq!(reading.session.and_then(Access::of), Some(Access::Read));
//! assert_eq!(writing.session.and_then(Access::of), Some(Access::Write(NodeId(7))));
//! ```

use crate::vocabulary::{Demand, NodeId, Session};

/// What a session stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Access {
    /// Together with all other readers.
    Read,
    /// Alone.
    Write(NodeId),
}

impl Access {
    /// What a session stands for; `None` for a number that no node's session has.
    pub const fn of(session: Session) -> Option<Self> {
        match session.0.checked_sub(1) {
            None => Some(Self::Read),
            Some(node) if node <= u32::MAX as u64 => Some(Self::Write(NodeId(node as u32))),
            Some(_) => None,
        }
    }

    /// The session that stands for this.
    pub const fn session(self) -> Session {
        match self {
            Self::Read => Session(0),
            Self::Write(node) => Session(node.0 as u64 + 1),
        }
    }
}

/// A demand to read.
pub const fn read(priority: i32) -> Demand {
    Demand::session(Access::Read.session().0, priority)
}

/// A demand to write, for the process that makes it.
pub const fn write(node: NodeId, priority: i32) -> Demand {
    Demand::session(Access::Write(node).session().0, priority)
}

#[cfg(test)]
mod tests;
