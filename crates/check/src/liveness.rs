//! Bad infinite runs on fair schedules: messages that circulate forever, and requests that starve.
//!
//! A run is weakly fair if every obligatory action that stays possible happens infinitely often. Obligatory are: the
//! delivery at a channel, a notice, the release of a grant, a definition that others know, the start of a stopped node,
//! a timer with nothing else in flight. Requests, cancellations, changes of links, new definitions, losses, early
//! timers, leaving and stopping are never obligatory. In a finite graph a bad fair run exists if and only if some
//! strongly connected component of the bad part of the graph has a step and, for every obligatory action, a step that
//! takes it or a state in which it is not possible: a part of a component cannot be fair if the whole is not.
//!
//! An action that has to wait for a full channel (see [`crate::model::Model::wait_when_full`]) counts as possible: a run
//! that never takes it is not fair.
//!
//! The search looks for nodes that starve. Where a node may have several requests at once, one of them could starve
//! while others of the same node are served; the search does not see that.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_core::NodeId;
use meshlock_properties::{Rule, Violation};

use crate::action::Action;
use crate::bits::Bits;
use crate::components::{self, Components};
use crate::explore::End;
use crate::finding::Finding;
use crate::graph::Graph;
use crate::intern::next_id;
use crate::members::Incident;
use crate::report::Verdict;
use crate::space::{Row, Space};
use crate::store::Store;

mod lasso;
#[cfg(test)]
mod tests;

/// Searches the complete graph of a model for bad fair runs.
pub(crate) fn search(space: &Space, store: &Store, graph: &Graph) -> End {
    let rules = space.model.rules;
    let mut victims = Vec::new();
    if rules.has(Rule::MessagesEnd) {
        victims.push(None);
    }
    if rules.has(Rule::Starvation) {
        victims.extend((0..space.layout.nodes).map(Some));
    }
    if victims.is_empty() {
        return End::Stopped(Verdict::Holds);
    }
    // An infinite run goes round in circles, and where requests are bounded most graphs have none.
    let circles = components::on_circles(graph.len(), |state, nth| graph.target(state, nth));
    if circles.is_empty() {
        return End::Stopped(Verdict::Holds);
    }
    for victim in victims {
        let bad = Bad::new(space, store, graph, victim);
        if bad.within(&circles).find().is_none() {
            continue;
        }
        // Of several components, the one shown is the first that a search of the whole graph comes to.
        let Some(component) = bad.find() else { continue };
        let (rule, what) = match victim {
            None => (Rule::MessagesEnd, "messages alone can go on forever, although every one of them is delivered"),
            Some(_) => (Rule::Starvation, "it can wait forever, although everything else that must happen happens"),
        };
        return bad.end(&component, rule, what);
    }
    End::Stopped(Verdict::Holds)
}

/// The part of the graph that is bad if a run never leaves it.
struct Bad<'a> {
    space: &'a Space,
    store: &'a Store,
    graph: &'a Graph,
    /// The node that waits; without one, runs of messages alone are bad.
    victim: Option<usize>,
    /// The states that belong to it.
    states: Bits,
}

impl<'a> Bad<'a> {
    fn new(space: &'a Space, store: &'a Store, graph: &'a Graph, victim: Option<usize>) -> Self {
        let waits = space.local.nodes_that_wait();
        let is_bad = |row: &Row| match victim {
            Some(node) => waits.has(row[node]),
            None => space.in_flight(row) || space.environment_facts(row).notices,
        };
        let mut states = Bits::none(graph.len());
        let mut row = vec![0; store.width()];
        for state in 0..next_id(graph.len()) {
            store.read_state(state, &mut row);
            if is_bad(&row) {
                states.add(state);
            }
        }
        Self { space, store, graph, victim, states }
    }

    /// The same within these states only.
    fn within(&self, states: &Bits) -> Self {
        let Self { space, store, graph, victim, .. } = *self;
        Self { space, store, graph, victim, states: self.states.and(states) }
    }
    /// The states of the first fair component.
    fn find(&self) -> Option<Vec<u32>> {
        let states = next_id(self.graph.len());
        let mut components = Components::new(states as usize);
        let mut found = None;
        for root in 0..states {
            if !self.states.has(root) {
                continue;
            }
            components.visit(
                root,
                |state, place| {
                    let range = self.graph.range(state);
                    let at = range.start.checked_add(place).filter(|at| *at < range.end)?;
                    Some(self.leads_to(at))
                },
                |component| {
                    if found.is_none() && self.is_fair(component) {
                        found = Some(component.to_vec());
                    }
                },
            );
            if found.is_some() {
                break;
            }
        }
        found
    }

    /// Where the step at a place of the graph leads, if it stays in the bad part.
    fn leads_to(&self, at: u32) -> Option<u32> {
        let bad = match self.victim {
            Some(node) => self.graph.granted(at) >> node & 1 == 0,
            None => self.graph.is_arrival(at),
        };
        self.graph.to(at).filter(|to| bad && self.states.has(*to))
    }

    /// The steps that leave a state and stay in the bad part, with where they lead.
    fn kept(&self, state: u32) -> impl Iterator<Item = (Action, u32)> + '_ {
        self.graph.range(state).filter_map(|at| Some((self.graph.action(at), self.leads_to(at)?)))
    }

    /// The obligations of a state: the classes of obligatory actions that are possible in it.
    fn obligations(&self, state: u32) -> BTreeSet<Class> {
        self.graph.actions(state).filter_map(|action| self.class(state, action)).collect()
    }

    fn class(&self, state: u32, action: Action) -> Option<Class> {
        match action {
            Action::Deliver { channel, place } => {
                // Where channels keep no order, fairness is owed to every message, not only to the channel.
                let content = self.store.row(state)[self.space.layout.channel(channel.into())];
                let message = || self.space.channels.iter(content).nth(place.into());
                let message = if self.space.model.fifo { None } else { message() };
                Some(Class::Channel(channel, message))
            }
            Action::Notice { link, end } => Some(Class::Notice(link, end)),
            Action::Release { node, place } => self.victim.map(|_| Class::Release(node, place)),
            Action::Expire { node } => self.victim.map(|_| Class::Timer(node)),
            Action::ExpireEarly { .. }
            | Action::Request { .. }
            | Action::Cancel { .. }
            | Action::Reprioritize { .. }
            | Action::Cut { .. }
            | Action::Form { .. }
            | Action::Lose { .. }
            | Action::Resize { .. }
            | Action::Leave { .. }
            | Action::Stop { .. } => None,
            Action::Start { node } => self.victim.map(|_| Class::Start(node)),
            Action::Member { incident, node, .. } => {
                self.victim.filter(|_| incident.is_obligatory()).map(|_| Class::Member(incident, node))
            }
            Action::Learn { node } => self.victim.map(|_| Class::Learn(node)),
        }
    }

    fn is_fair(&self, component: &[u32]) -> bool {
        let inside = |(_, to): &(Action, u32)| component.binary_search(to).is_ok();
        if component.len() == 1 && !self.kept(component[0]).any(|step| inside(&step)) {
            return false;
        }
        let mut always = self.obligations(component[0]);
        for state in component {
            if always.is_empty() {
                break;
            }
            let here = self.obligations(*state);
            always.retain(|class| here.contains(class));
            for (action, _) in self.kept(*state).filter(inside) {
                if let Some(class) = self.class(*state, action) {
                    always.remove(&class);
                }
            }
        }
        always.is_empty() && !self.is_excused(component)
    }

    /// A node that is cut off from the token has to wait.
    fn is_excused(&self, component: &[u32]) -> bool {
        let Some(victim) = self.victim else { return false };
        let apart = |state: &u32| {
            let row = self.store.row(*state);
            let parts = self.space.parts(&row);
            let token_near = (0..self.space.layout.nodes)
                .any(|node| parts[node] == parts[victim] && self.space.local.view(row[node]).token.is_some());
            parts.iter().any(|part| *part != parts[victim]) && !token_near
        };
        component.iter().all(apart)
    }

    fn end(&self, component: &[u32], rule: Rule, what: &str) -> End {
        let node = self.victim.map(|node| NodeId(next_id(node)));
        let entry = component[0];
        let mut path = self.store.path(entry);
        let cycle_from = Some(path.len());
        path.extend(lasso::cycle(self, component));
        End::Broken { path, finding: Finding::Rule(Violation { rule, node, what: what.to_owned() }), cycle_from }
    }
}

/// A kind of action that a fair run takes in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Channel(u16, Option<u32>),
    Notice(u16, u8),
    Release(u8, u8),
    Timer(u8),
    Learn(u8),
    Start(u8),
    Member(Incident, u8),
}

/// The states of a component with their places.
type Places = BTreeMap<u32, usize>;
