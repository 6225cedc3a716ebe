//! What happens when nodes are gone, and how a token that was lost with them is made anew.

use crate::counters::CounterVisitor;

/// What a node tells for a new token.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Picture {}

impl Picture {
    /// With the numbers of its row.
    pub(crate) fn visit_counters(
        &mut self,
        _copy: &mut Option<u64>,
        _accepted: &mut u64,
        _visitor: &mut dyn CounterVisitor,
    ) {
    }
}
