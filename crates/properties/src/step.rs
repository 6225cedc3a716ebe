//! Rules over one step of one node.

use meshlock_core::view::View;
use meshlock_core::{Grant, NodeId};

use crate::rule::{RuleSet, Setting, Violation};

/// Checks one step that granted something: `before` and `after` are the node's views around it.
pub fn check_step(
    _rules: RuleSet,
    _setting: &Setting,
    _node: NodeId,
    _before: &View,
    _after: &View,
    _granted: &[Grant],
) -> Result<(), Violation> {
    Ok(())
}
