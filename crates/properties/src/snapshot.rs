//! Rules over the whole network at one moment.

use meshlock_core::NodeId;
use meshlock_core::view::{Returning, TokenView, View, Waiting};

use crate::rule::{Rule, RuleSet, Setting, Violation};
use crate::{
    conservation, followers, leaving, most_urgent_known, no_idle_units, nobody_waits, occupancy, one_token, queues,
    roles,
};

/// The whole network at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot<'a> {
    /// Ordered by id.
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
pub fn check_snapshot(rules: RuleSet, setting: &Setting, snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    if rules.has(Rule::OneToken) {
        one_token::check(snapshot)?;
    }
    if rules.has(Rule::Conservation) {
        conservation::check(setting, snapshot)?;
    }
    if rules.has(Rule::Followers) {
        followers::check(snapshot)?;
    }
    if rules.has(Rule::Queues) {
        queues::check_once(snapshot)?;
        queues::check_carried(snapshot)?;
    }
    if rules.has(Rule::Roles) {
        roles::check(snapshot)?;
    }
    if !snapshot.quiet {
        return Ok(());
    }
    if rules.has(Rule::NobodyWaits) {
        nobody_waits::check(snapshot)?;
    }
    if rules.has(Rule::NoIdleUnits) {
        no_idle_units::check(snapshot)?;
    }
    if rules.has(Rule::Occupancy) {
        occupancy::check(snapshot)?;
    }
    if rules.has(Rule::MostUrgentKnown) {
        most_urgent_known::check(snapshot)?;
    }
    if rules.has(Rule::Queues) {
        queues::check_agreement(snapshot)?;
    }
    if rules.has(Rule::Leaving) {
        leaving::check(snapshot)?;
    }
    Ok(())
}

/// A node as the rules see it.
#[derive(Clone, Copy)]
pub(crate) struct NodeView<'a> {
    pub(crate) id: NodeId,
    pub(crate) part: u32,
    pub(crate) view: &'a View,
}

impl<'a> Snapshot<'a> {
    pub(crate) fn places(&self) -> impl Iterator<Item = NodeView<'a>> {
        let parts = self.parts;
        let place = move |(i, (id, view)): (usize, &(NodeId, &'a View))| NodeView {
            id: *id,
            part: parts.get(i).copied().unwrap_or(0),
            view,
        };
        self.nodes.iter().enumerate().map(place)
    }

    pub(crate) fn place(&self, id: NodeId) -> Option<NodeView<'a>> {
        let i = self.nodes.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        let (id, view) = self.nodes[i];
        Some(NodeView { id, part: self.parts.get(i).copied().unwrap_or(0), view })
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = (NodeView<'a>, &'a Waiting)> {
        self.places().flat_map(|place| place.view.waiting.iter().map(move |waiting| (place, waiting)))
    }

    pub(crate) fn holders(&self) -> impl Iterator<Item = (NodeView<'a>, &'a TokenView)> {
        self.places().filter_map(|place| place.view.token.as_ref().map(|token| (place, token)))
    }

    /// Every usable token, held or on its way.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &'a TokenView> {
        self.holders().map(|(_, token)| token).chain(self.flights.iter().filter_map(|flight| flight.token))
    }

    /// Whether the network has fallen into parts.
    pub(crate) fn is_split(&self) -> bool {
        self.parts.windows(2).any(|pair| pair[0] != pair[1])
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::{Rule, RuleSet};
    use crate::scene::Scene;

    #[test]
    fn rules_of_quiet_moments_wait_for_quiet() {
        let stuck = Scene::of(Rule::NobodyWaits, 2).token(0, 1).waits(1, 1, 5, 1);
        stuck.clone().busy().holds();
        stuck.breaks("nobody-waits broken at node 1: request 1.1 waits, and no node is inside");
    }

    #[test]
    fn a_rule_outside_the_set_is_not_checked() {
        let mut stuck = Scene::of(Rule::NobodyWaits, 2).token(0, 1).waits(1, 1, 5, 1);
        stuck.rules = RuleSet::ALL.without(Rule::NobodyWaits).without(Rule::NoIdleUnits).without(Rule::MostUrgentKnown);
        stuck.holds();
    }
}
