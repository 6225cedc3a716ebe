//! Rules over what applications see, event by event: a small value that can be stored in a state.

use meshlock_core::counters::CounterVisitor;
use meshlock_core::{Grant, NodeId, Rank, RequestId, Session, Units};

use crate::rule::{RuleSet, Setting, Violation};

/// Something an application did or was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Occurrence {
    /// It asked.
    Requested {
        /// At which node.
        node: NodeId,
        /// Its number.
        request: RequestId,
        /// How urgent.
        rank: Rank,
        /// How many units.
        units: Units,
        /// Which session.
        session: Option<Session>,
    },
    /// It changed the urgency of a waiting request.
    Reprioritized {
        /// At which node.
        node: NodeId,
        /// Its number.
        request: RequestId,
        /// The new rank.
        rank: Rank,
    },
    /// It no longer wants it.
    Cancelled {
        /// At which node.
        node: NodeId,
        /// Its number.
        request: RequestId,
    },
    /// It was granted.
    Granted {
        /// At which node.
        node: NodeId,
        /// What.
        grant: Grant,
    },
    /// It gave it back.
    Released {
        /// At which node.
        node: NodeId,
        /// Its number.
        request: RequestId,
    },
}

/// What has to be remembered to watch the rules over occurrences.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct History {}

impl History {
    /// Nothing has happened yet.
    pub fn new(_rules: RuleSet, _setting: Setting) -> Self {
        Self {}
    }

    /// Takes one occurrence in; the first broken rule is returned.
    pub fn observe(&mut self, _occurrence: &Occurrence) -> Result<(), Violation> {
        Ok(())
    }

    /// Shows the growing numbers it remembers, on the lines the protocols use: requests on `Line::of("request", node)`
    /// and fences on `Line { name: "clock", .. }`.
    pub fn visit_counters(&mut self, _visitor: &mut dyn CounterVisitor, _clock_reach: i64) {}
}
