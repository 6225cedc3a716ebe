//! How the checker keeps growing numbers from making its space infinite.
//!
//! Heights, passes, fences and request numbers grow without end, so no state would ever come back. But protocols
//! only compare such numbers and step them by one (ranks: by a bounded amount). Then renumbering every number of one
//! [`Line`] so that the order is kept, small gaps are kept, and large gaps are cut to the line's `reach` changes
//! nothing that a protocol can do. A protocol shows its numbers through [`CounterVisitor`]; the checker calls it
//! twice, first to collect, then to renumber.

use crate::vocabulary::NodeId;

/// A set of numbers that are compared only with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// The name of what is counted.
    pub name: &'static str,
    /// Whose, where every node counts for itself.
    pub of: Option<NodeId>,
    /// Gaps larger than this make no difference. At least 2, so that neighbours stay neighbours and others do not
    /// become so.
    pub reach: i64,
}

impl Line {
    /// Fences, and the clocks that count grants.
    pub const CLOCK: Self = Self::stepping("clock");
    /// Ranks with their sign turned: virtual deadlines. Where requests age they lie on the line of the clock, and the
    /// checker takes its reach from the largest spread of priorities times aging; elsewhere they do not grow and are
    /// left alone.
    pub const DUE: Self = Self::stepping("due");

    /// A line of numbers that only step by one.
    pub const fn stepping(name: &'static str) -> Self {
        Self { name, of: None, reach: 2 }
    }

    /// The same, one line for each node.
    pub const fn of(name: &'static str, node: NodeId) -> Self {
        Self { name, of: Some(node), reach: 2 }
    }
}

/// Sees every growing number of a state and may replace it.
pub trait CounterVisitor {
    /// Returns what to put in place of `value`.
    fn visit(&mut self, line: Line, value: i64) -> i64;
}

impl dyn CounterVisitor + '_ {
    /// Visits an unsigned number in place.
    ///
    /// # Panics
    /// If the number does not fit into 63 bits, which no exploration reaches.
    pub fn number(&mut self, line: Line, value: &mut u64) {
        let signed = i64::try_from(*value).expect("explored counters stay small");
        *value = u64::try_from(self.visit(line, signed)).expect("renumbering keeps counters from 0 up");
    }
}
