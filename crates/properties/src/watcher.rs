//! The rules that can be watched from a trace, event by event, wherever it was recorded: those over occurrences, over
//! steps, and that only one node shows a token.
//!
//! Not all nodes need be seen. Whatever breaks a rule among some of them breaks it among all; so what is found is wrong
//! indeed, and what is not found may be hidden at a node that was not seen.
//!
//! Nodes crash. From the first event that says that one is gone, its token does not count, and what its clients held is
//! over; until then both count, because no other node may act as if it were gone. What a node does that is gone and has
//! not heard of it is not looked at: its own driver keeps it from granting, which a trace does not show.

use std::collections::BTreeSet;

use meshlock_core::recovery::Census;
use meshlock_core::view::View;
use meshlock_core::{Effect, Event, Fence, Grant, NodeId};

use crate::history::{History, Occurrence};
use crate::rule::{Rule, RuleSet, Setting, Violation};
use crate::step::check_step;

/// Watches a run from outside.
#[derive(Clone, Debug)]
pub struct Watcher {
    rules: RuleSet,
    setting: Setting,
    history: History,
    holders: BTreeSet<NodeId>,
    /// All that any node has heard of who is gone.
    census: Census,
}

impl Watcher {
    /// Nothing has happened yet.
    pub fn new(rules: RuleSet, setting: Setting) -> Self {
        Self {
            rules,
            setting,
            history: History::new(rules, setting),
            holders: BTreeSet::new(),
            census: Census::default(),
        }
    }

    /// The rules that a repaired protocol keeps and a trace can show; `None` for protocols that no node runs.
    pub fn rules_of(protocol: &str) -> Option<RuleSet> {
        let all = [Rule::UnwantedGrant, Rule::Cancelled, Rule::OneToken];
        let more: &[Rule] = match protocol {
            "reverse-link" => &[Rule::Exclusion, Rule::Numbered, Rule::OneSession, Rule::Fences, Rule::GrantOrder],
            "flood" => &[Rule::Exclusion, Rule::Fences],
            // All members of a session are let in under one fence, and units do not count.
            "group" => &[Rule::OneSession],
            _ => return None,
        };
        Some(all.iter().chain(more).copied().collect())
    }

    pub const fn rules(&self) -> RuleSet {
        self.rules
    }

    /// A node begins to be seen, and may have come a long way before.
    pub fn begins(&mut self, node: NodeId, view: &View) -> Result<(), Violation> {
        // What happened before was not seen, so its order is not known; only what is left of it counts.
        for waiting in &view.waiting {
            let (request, rank) = (waiting.request, waiting.rank);
            let (units, session) = (waiting.units, waiting.session);
            let _ = self.history.observe(&Occurrence::Requested { node, request, rank, units, session });
        }
        for grant in &view.holding {
            let (request, units, session) = (grant.request, grant.units, grant.session);
            let rank = Default::default();
            let _ = self.history.observe(&Occurrence::Requested { node, request, rank, units, session });
            let _ = self.history.observe(&Occurrence::Granted { node, grant: grant.clone() });
        }
        self.look(node, view)
    }

    /// Takes in an event that was not a caller's mistake, with what came of it; the first broken rule is returned.
    pub fn step<M>(
        &mut self,
        node: NodeId,
        event: &Event<M>,
        effects: &[Effect<M>],
        views: Option<(&View, &View)>,
    ) -> Result<(), Violation> {
        if let Event::Census { census } = event {
            self.learn(census);
        }
        if self.census.is_gone(node) {
            return Ok(());
        }
        let mut verdict = Ok(());
        if let Some(occurrence) = self.occurrence(node, event) {
            verdict = self.history.observe(&occurrence);
        }
        let granted: Vec<Grant> = effects.iter().filter_map(granted).collect();
        for grant in &granted {
            verdict = verdict.and(self.history.observe(&Occurrence::Granted { node, grant: grant.clone() }));
        }
        if let Some((before, after)) = views {
            if !granted.is_empty() {
                let step = check_step(self.rules, &self.setting, node, event, (before, after), &granted);
                verdict = verdict.and(step);
            }
            verdict = verdict.and(self.look(node, after));
        }
        verdict
    }

    /// What applications did, as far as the rules care. A change of the capacity belongs here too: nodes hear of it at
    /// different times and it cannot be told from outside when the last has, so the greatest is what may be in use.
    fn occurrence<M>(&mut self, node: NodeId, event: &Event<M>) -> Option<Occurrence> {
        match *event {
            Event::Request { request, demand } => {
                let rank = self.setting.order.rank(demand.urgency, Fence(0)).unwrap_or_default();
                let (units, session) = (demand.units, demand.session);
                Some(Occurrence::Requested { node, request, rank, units, session })
            }
            Event::Cancel { request } => Some(Occurrence::Cancelled { node, request }),
            Event::Reprioritize { request, urgency } => {
                let rank = self.setting.order.rank(urgency, Fence(0)).unwrap_or_default();
                Some(Occurrence::Reprioritized { node, request, rank })
            }
            Event::Release { request, .. } => Some(Occurrence::Released { node, request }),
            Event::Resize { capacity, .. } if capacity > self.setting.capacity => {
                self.setting.capacity = capacity;
                Some(Occurrence::Resized { capacity })
            }
            Event::Resize { .. }
            | Event::Leave
            | Event::Resume
            | Event::Census { .. }
            | Event::Remake { .. }
            | Event::LinkUp { .. }
            | Event::LinkDown { .. }
            | Event::Receive { .. }
            | Event::Expired { .. } => None,
        }
    }

    /// A node hears who is gone.
    fn learn(&mut self, census: &Census) {
        if self.census.includes(census) {
            return;
        }
        self.census = self.census.merged(census);
        let gone = |node: &NodeId| self.census.is_gone(*node);
        self.holders.retain(|node| !gone(node));
        for node in self.history.nodes().into_iter().filter(gone) {
            // An end breaks no rule.
            let _ = self.history.observe(&Occurrence::Crashed { node });
            let _ = self.history.observe(&Occurrence::Ended { node });
        }
    }

    fn look(&mut self, node: NodeId, view: &View) -> Result<(), Violation> {
        if view.token.is_none() || self.census.is_gone(node) {
            self.holders.remove(&node);
            return Ok(());
        }
        let is_new = self.holders.insert(node);
        let other = self.holders.iter().find(|other| **other != node).filter(|_| is_new);
        match other {
            Some(other) if self.rules.has(Rule::OneToken) => {
                let what = format!("2 tokens: node {other} has one, node {node} has one");
                Err(Violation::new(Rule::OneToken, Some(node), what))
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn granted<M>(effect: &Effect<M>) -> Option<Grant> {
    if let Effect::Granted { grant } = effect { Some(grant.clone()) } else { None }
}

#[cfg(test)]
mod tests {
    use meshlock_core::view::TokenView;
    use meshlock_core::{Demand, RequestId, Units};

    use super::*;
    use crate::scene::{SETTING, grant};

    const ANN: NodeId = NodeId(0);
    const BOB: NodeId = NodeId(1);

    fn watcher() -> Watcher {
        Watcher::new(Watcher::rules_of("reverse-link").unwrap(), SETTING)
    }

    fn asks(watcher: &mut Watcher, node: NodeId, granted: bool) -> Result<(), Violation> {
        let event = Event::<()>::Request { request: RequestId(1), demand: Demand::units(1, 5) };
        let effect = Effect::Granted { grant: grant(1, 1) };
        watcher.step(node, &event, if granted { std::slice::from_ref(&effect) } else { &[] }, None)
    }

    #[test]
    fn two_holders_of_one_unit_are_one_too_many() {
        let mut watcher = watcher();
        asks(&mut watcher, ANN, true).unwrap();
        assert_eq!(asks(&mut watcher, BOB, true).unwrap_err().rule, Rule::Exclusion);
    }

    #[test]
    fn what_was_given_back_may_be_granted_again() {
        let mut watcher = watcher();
        asks(&mut watcher, ANN, true).unwrap();
        let release = Event::<()>::Release { request: RequestId(1), units: Units(1) };
        watcher.step(ANN, &release, &[], None).unwrap();
        asks(&mut watcher, BOB, true).unwrap();
    }

    #[test]
    fn a_node_that_began_as_a_holder_counts() {
        let mut watcher = watcher();
        watcher.begins(ANN, &View { holding: vec![grant(7, 1)], ..View::default() }).unwrap();
        assert_eq!(asks(&mut watcher, BOB, true).unwrap_err().rule, Rule::Exclusion);
    }

    fn hears(watcher: &mut Watcher, node: NodeId, census: Census) -> Result<(), Violation> {
        watcher.step(node, &Event::<()>::Census { census }, &[], None)
    }

    #[test]
    fn what_a_node_holds_that_is_gone_is_over_with_the_first_word_of_it() {
        let mut watcher = watcher();
        asks(&mut watcher, ANN, true).unwrap();
        hears(&mut watcher, BOB, Census::gone_fact(ANN)).unwrap();
        asks(&mut watcher, BOB, true).unwrap();
        // Without that word it is one too many.
        let cy = NodeId(2);
        assert_eq!(asks(&mut watcher, cy, true).unwrap_err().rule, Rule::Exclusion);
        // Its next incarnation is another node, and counts.
        let back = NodeId::of(0, 1);
        hears(&mut watcher, BOB, Census::living_fact(back)).unwrap();
        assert_eq!(asks(&mut watcher, back, true).unwrap_err().rule, Rule::Exclusion);
    }

    #[test]
    fn a_token_that_was_lost_and_made_anew_is_no_second_one() {
        let mut watcher = watcher();
        let (none, some) = (View::default(), View { token: Some(TokenView::default()), ..View::default() });
        watcher.begins(ANN, &some).unwrap();
        hears(&mut watcher, BOB, Census::gone_fact(ANN)).unwrap();
        let event = Event::<()>::LinkUp { neighbour: ANN };
        watcher.step(BOB, &event, &[], Some((&none, &some))).unwrap();
        assert_eq!(watcher.step(ANN, &event, &[], Some((&none, &some))), Ok(()), "it has not heard that it is gone");
        let cy = NodeId(2);
        assert_eq!(watcher.step(cy, &event, &[], Some((&none, &some))).unwrap_err().rule, Rule::OneToken);
    }

    #[test]
    fn a_second_token_is_noticed_where_it_comes_up() {
        let mut watcher = watcher();
        let (none, some) = (View::default(), View { token: Some(TokenView::default()), ..View::default() });
        watcher.begins(ANN, &some).unwrap();
        let event = Event::<()>::LinkUp { neighbour: ANN };
        let broken = watcher.step(BOB, &event, &[], Some((&none, &some))).unwrap_err();
        assert_eq!(broken.to_string(), "one-token broken at node 1: 2 tokens: node 0 has one, node 1 has one");
        assert_eq!(watcher.step(ANN, &event, &[], Some((&some, &none))), Ok(()));
    }
}
