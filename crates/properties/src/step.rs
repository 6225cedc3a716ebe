//! Rules over one step of one node.

use meshlock_core::view::View;
use meshlock_core::{Event, Grant, GrantId, NodeId};

use crate::grant_order::{self, Step};
use crate::rule::{Rule, RuleSet, Setting, Violation};

/// Checks one step that granted something: its event, the node's views around it, and the grants in their order.
/// Of the view before it only the token and what waits is asked for.
pub fn check_step<M>(
    rules: RuleSet,
    setting: &Setting,
    node: NodeId,
    event: &Event<M>,
    (before, after): (&View, &View),
    granted: &[Grant],
) -> Result<(), Violation> {
    let step = Step { setting, node, before, after, granted };
    if rules.has(Rule::GrantOrder) { grant_order::check(&step, event) } else { Ok(()) }
}

/// The grants of such a step in their order, and whether each went past a more urgent request. See [`Rule::Backfill`].
pub fn turns<M>(
    setting: &Setting,
    node: NodeId,
    event: &Event<M>,
    (before, after): (&View, &View),
    granted: &[Grant],
) -> Vec<(GrantId, bool)> {
    let step = Step { setting, node, before, after, granted };
    granted.iter().map(|grant| (GrantId { node, request: grant.request }, step.passes(event, grant))).collect()
}
