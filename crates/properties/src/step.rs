//! Rules over one step of one node.

use meshlock_core::view::View;
use meshlock_core::{Event, Grant, NodeId};

use crate::grant_order::{self, Step};
use crate::rule::{Rule, RuleSet, Setting, Violation};

/// Checks one step that granted something: `before` and `after` are the node's views around it.
///
/// Where the event is at hand, [`check_event_step`] sees more: here, a request that was made or changed in this very
/// step has no rank that could be compared.
pub fn check_step(
    rules: RuleSet,
    setting: &Setting,
    node: NodeId,
    before: &View,
    after: &View,
    granted: &[Grant],
) -> Result<(), Violation> {
    let step = Step { setting, node, before, after, granted };
    if rules.has(Rule::GrantOrder) { grant_order::check(&step) } else { Ok(()) }
}

/// Checks one step that granted something, knowing what caused it.
pub fn check_event_step<M>(
    rules: RuleSet,
    setting: &Setting,
    node: NodeId,
    event: &Event<M>,
    before: &View,
    after: &View,
    granted: &[Grant],
) -> Result<(), Violation> {
    let step = Step { setting, node, before, after, granted };
    if rules.has(Rule::GrantOrder) { grant_order::check_event(&step, event) } else { Ok(()) }
}
