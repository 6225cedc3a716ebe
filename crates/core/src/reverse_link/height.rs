//! The height of a node: links point from the higher node to the lower, so all paths lead down to the token.

use core::fmt;

use crate::vocabulary::NodeId;

/// `(h1, h2, id)` of the paper, compared in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Height {
    /// h1: how often the node had to turn its links round. Zero for every node that held the token since.
    pub level: i64,
    /// h2: falls by one with each pass of the token.
    pub depth: i64,
    /// Breaks ties.
    pub id: NodeId,
}

/// A height without its node, where that is known: a node has two of them for every neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Rung {
    pub(super) level: i64,
    pub(super) depth: i64,
}

impl Rung {
    /// The height of this node.
    pub(super) const fn of(self, id: NodeId) -> Height {
        Height { level: self.level, depth: self.depth, id }
    }
}

/// The level of a node that has not heard of the token yet.
const UNSET: i64 = 1 << 40;

impl Height {
    /// The height of a node that has not heard of the token yet. It is above all others, and no node acts on it.
    pub const fn unset(id: NodeId) -> Self {
        Self { level: UNSET, depth: 0, id }
    }

    /// Whether its node has not heard of the token yet.
    pub const fn is_unset(self) -> bool {
        self.level == UNSET
    }

    pub(super) const fn rung(self) -> Rung {
        Rung { level: self.level, depth: self.depth }
    }

    /// The height of `node` when it first hears of the token, from a neighbour of this height.
    pub const fn just_above(self, node: NodeId) -> Self {
        Self { level: self.level, depth: self.depth.saturating_add(1), id: node }
    }

    /// The height of `node` when it gets the token from a node of this height.
    pub const fn just_below(self, node: NodeId) -> Self {
        Self { level: self.level, depth: self.depth.saturating_sub(1), id: node }
    }
}

impl fmt::Display for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{},{})", self.level, self.depth, self.id)
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_as_a_height_is_read_as_a_rung() {
        let saved = serde_json::to_string(&Height { level: 2, depth: -7, id: NodeId(3) }).unwrap();
        assert_eq!(serde_json::from_str::<Rung>(&saved).unwrap(), Rung { level: 2, depth: -7 });
    }
}
