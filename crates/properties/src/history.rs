//! Rules over what applications see, event by event: a small value that can be stored in a state.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::view::View;
use meshlock_core::{Grant, GrantId, NodeId, Rank, RequestId, Session, Slots, Units};

use crate::rule::{Rule, RuleSet, Setting, Violation};
use crate::snapshot::Snapshot;
use crate::waiters::Waiters;
use crate::{backfill, cancelled, exclusion, fences, forgotten, numbered, one_session, overtaking, ranks, repaired};

/// Something an application did or was told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Occurrence {
    /// A client made a request.
    Requested {
        node: NodeId,
        request: RequestId,
        rank: Rank,
        units: Units,
        session: Option<Session>,
    },
    /// It changed the urgency of a waiting request.
    Reprioritized {
        node: NodeId,
        request: RequestId,
        rank: Rank,
    },
    Cancelled {
        node: NodeId,
        request: RequestId,
    },
    Granted {
        node: NodeId,
        grant: Grant,
    },
    /// What was granted came in its turn, or past a more urgent request; see [`turns`](crate::turns).
    Turn {
        grant: GrantId,
        /// Whether a more urgent request was left waiting at its granter.
        passes: bool,
    },
    Released {
        node: NodeId,
        request: RequestId,
    },
    /// The node crashed. Its clients ask no more; what they hold they still hold.
    Crashed {
        node: NodeId,
    },
    /// The clients of a node that crashed have nothing any more.
    Ended {
        node: NodeId,
    },
    /// The heir of a census has decided.
    Decided {
        node: NodeId,
        /// Where the numbers of that census begin.
        first: u64,
        /// The pass of the token that it made, if it made one that counts passes.
        pass: Option<u64>,
    },
    /// The resource was defined anew: from now on grants may bring the units in use up to this. While some nodes know
    /// the new definition and others do not, that is the greater of both.
    Resized {
        capacity: Units,
    },
}

/// What has to be remembered to watch the rules over occurrences.
///
/// The checker stores one in every state, so it keeps only what its rules need: two ways to the same situation must
/// end in equal histories. What waits and what is in use is also known to the nodes and splits no states; the order
/// of arrival (overtaking), old cancellations and the last fence do, and are kept only where they are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    rules: RuleSet,
    setting: Setting,
    waiting: Waiters,
    /// Ordered by id.
    in_use: Vec<InUse>,
    /// By id; only the latest of each node, see `cancelled.rs`.
    cancelled: Vec<GrantId>,
    greatest_fence: Option<fences::Greatest>,
    /// Where the numbers of the last decision begin.
    last_decision: Option<u64>,
    /// What grants may bring the units in use up to.
    capacity: Units,
    /// How many passed since the last grant in its turn; stays 0 if backfill is not watched.
    passed: u32,
}

/// A grant that was not given back yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InUse {
    pub(crate) id: GrantId,
    pub(crate) units: Units,
    pub(crate) session: Option<Session>,
    pub(crate) slots: Slots,
}

/// Rules and setting are the same in every state of one run and would only cost time.
impl Hash for History {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.waiting.hash(state);
        self.in_use.hash(state);
        self.cancelled.hash(state);
        self.greatest_fence.hash(state);
        self.last_decision.hash(state);
        self.capacity.hash(state);
        self.passed.hash(state);
    }
}

impl History {
    /// Nothing has happened yet.
    pub fn new(rules: RuleSet, setting: Setting) -> Self {
        Self::with(Waiters::few(rules.has(Rule::Overtaking)), rules, setting)
    }

    /// The same for a run in which thousands may wait at a time. Not for states: it is dearer to clone and compare.
    pub fn of_many(rules: RuleSet, setting: Setting) -> Self {
        Self::with(Waiters::many(rules.has(Rule::Overtaking)), rules, setting)
    }

    fn with(waiting: Waiters, rules: RuleSet, setting: Setting) -> Self {
        let (in_use, cancelled) = (Vec::new(), Vec::new());
        let (greatest_fence, last_decision) = (None, None);
        let capacity = setting.capacity;
        Self { rules, setting, waiting, in_use, cancelled, greatest_fence, last_decision, capacity, passed: 0 }
    }

    /// Takes one occurrence in; the first broken rule is returned.
    ///
    /// The occurrence is taken in also when it breaks a rule, so that a long run can be watched on. A release of
    /// what is not in use, or a change of what does not wait, changes nothing.
    pub fn observe(&mut self, occurrence: &Occurrence) -> Result<(), Violation> {
        match *occurrence {
            Occurrence::Requested { node, request, .. } => self.wait(GrantId { node, request }),
            Occurrence::Reprioritized { node, request, .. } => {
                self.passed = 0;
                self.wait_anew(GrantId { node, request });
            }
            Occurrence::Cancelled { node, request } => {
                let id = GrantId { node, request };
                self.waiting.remove(id);
                self.passed = 0;
                if self.rules.has(Rule::Cancelled) {
                    cancelled::remember(&mut self.cancelled, id);
                }
            }
            Occurrence::Granted { node, ref grant } => return self.grant(node, grant),
            Occurrence::Turn { grant, passes } if self.rules.has(Rule::Backfill) => {
                return backfill::count(&mut self.passed, grant, passes, self.setting.passes);
            }
            Occurrence::Turn { .. } => {}
            Occurrence::Released { node, request } => {
                let id = GrantId { node, request };
                self.in_use.retain(|used| used.id != id);
            }
            Occurrence::Crashed { node } => {
                self.passed = 0;
                self.waiting.remove_all_of(node);
            }
            Occurrence::Ended { node } => self.in_use.retain(|used| used.id.node != node),
            Occurrence::Decided { node, first, pass } if self.rules.has(Rule::Ranks) => {
                self.passed = 0;
                return ranks::check(
                    &mut self.last_decision,
                    self.greatest_fence,
                    node,
                    ranks::Decision { first, pass },
                );
            }
            Occurrence::Decided { .. } => self.passed = 0,
            Occurrence::Resized { capacity } => self.capacity = capacity,
        }
        Ok(())
    }

    /// The nodes of which something waits or is in use.
    pub(crate) fn nodes(&self) -> BTreeSet<NodeId> {
        let waiting = self.waiting.ids().map(|id| id.node);
        waiting.chain(self.in_use.iter().map(|used| used.id.node)).collect()
    }

    /// Compares what waits with what the nodes show; the first that has forgotten something is returned.
    pub fn check_known<'a>(&self, view: impl Fn(NodeId) -> Option<&'a View>) -> Result<(), Violation> {
        if !self.rules.has(Rule::Forgotten) {
            return Ok(());
        }
        let seen = self.waiting.ids().filter_map(|id| view(id.node).map(|view| (id, view)));
        seen.into_iter().try_for_each(|(id, view)| forgotten::check(id, view))
    }

    /// The same for one node.
    pub fn check_known_at(&self, node: NodeId, view: &View) -> Result<(), Violation> {
        if !self.rules.has(Rule::Forgotten) {
            return Ok(());
        }
        self.waiting.of(node).try_for_each(|id| forgotten::check(id, view))
    }

    /// Compares what is in use with what the one token says.
    pub fn check_in_use(&self, snapshot: &Snapshot<'_>) -> Result<(), Violation> {
        if self.rules.has(Rule::Ledger) {
            repaired::check_ledger(&self.in_use, snapshot)?;
        }
        if self.rules.has(Rule::Repaired) { repaired::check_repaired(&self.in_use, snapshot) } else { Ok(()) }
    }

    /// Shows the growing numbers it remembers, on the lines the protocols use: requests on `Line::of("request", node)`
    /// and fences on `Line { name: "clock", .. }`.
    pub fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor, clock_reach: i64) {
        // Renumbering keeps the order of a line, so what is sorted by id stays sorted.
        let mut show = |id: &mut GrantId| visitor.number(Line::of("request", id.node), &mut id.request.0);
        self.waiting.visit(&mut show);
        let in_use = self.in_use.iter_mut().map(|used| &mut used.id);
        in_use.chain(&mut self.cancelled).for_each(show);
        if let Some((fence, _)) = &mut self.greatest_fence {
            visitor.number(Line { name: "clock", of: None, reach: clock_reach }, &mut fence.0);
        }
    }

    fn wait(&mut self, id: GrantId) {
        if ![Rule::UnwantedGrant, Rule::Overtaking, Rule::Forgotten].into_iter().any(|rule| self.rules.has(rule)) {
            return;
        }
        self.waiting.insert(id);
    }

    /// For overtaking, a request whose urgency changes is a new one; see `overtaking.rs`.
    fn wait_anew(&mut self, id: GrantId) {
        if self.rules.has(Rule::Overtaking) && self.waiting.remove(id).is_some() {
            self.waiting.insert(id);
        }
    }

    fn grant(&mut self, node: NodeId, grant: &Grant) -> Result<(), Violation> {
        let id = GrantId { node, request: grant.request };
        let waited = self.waiting.remove(id);
        let mut verdict = Ok(());
        if self.rules.has(Rule::Cancelled) {
            verdict = verdict.and(cancelled::check(&self.cancelled, id));
        }
        if self.rules.has(Rule::UnwantedGrant) {
            verdict = verdict.and(cancelled::check_wanted(waited.is_some(), id));
        }
        if let Some(place) = waited.filter(|_| self.rules.has(Rule::Overtaking)) {
            let earlier = self.waiting.earlier(place);
            verdict = verdict.and(overtaking::count(earlier, id, self.setting.overtaking_bound));
        }
        if self.rules.has(Rule::Fences) || self.rules.has(Rule::Ranks) {
            let fences = fences::check(&mut self.greatest_fence, id, grant);
            verdict = verdict.and(if self.rules.has(Rule::Fences) { fences } else { Ok(()) });
        }
        if self.rules.has(Rule::Numbered) {
            let all = self.setting.numbered;
            verdict = verdict.and(numbered::check(&self.in_use, id, grant, self.capacity, all));
        }
        let remembered = [Rule::Exclusion, Rule::OneSession, Rule::Numbered, Rule::Ledger, Rule::Repaired];
        if remembered.into_iter().any(|rule| self.rules.has(rule)) {
            let place = self.in_use.partition_point(|used| used.id < id);
            self.in_use
                .insert(place, InUse { id, units: grant.units, session: grant.session, slots: grant.slots.clone() });
        }
        if self.rules.has(Rule::Exclusion) {
            verdict = verdict.and(exclusion::check(&self.in_use, self.capacity));
        }
        if self.rules.has(Rule::OneSession) {
            verdict = verdict.and(one_session::check(&self.in_use, id));
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use meshlock_core::Fence;

    use super::*;
    use crate::scene::{SETTING, grant};

    const ANN: NodeId = NodeId(0);

    fn requested(request: u64) -> Occurrence {
        let request = RequestId(request);
        Occurrence::Requested { node: ANN, request, rank: Rank(0), units: Units(1), session: None }
    }

    fn granted(request: u64, fence: u64) -> Occurrence {
        Occurrence::Granted { node: ANN, grant: Grant { fence: Some(Fence(fence)), ..grant(request, 1) } }
    }

    #[test]
    fn what_is_not_watched_is_not_remembered() {
        let mut history = History::new(RuleSet::NONE, SETTING);
        let new = history.clone();
        let cancelled = Occurrence::Cancelled { node: ANN, request: RequestId(2) };
        for occurrence in [requested(1), requested(2), cancelled, granted(1, 1)] {
            history.observe(&occurrence).unwrap();
        }
        assert_eq!(history, new);
    }

    #[test]
    fn the_order_of_requests_is_forgotten_unless_overtaking_is_watched() {
        let after = |rules: RuleSet, order: [u64; 2]| {
            let mut history = History::new(rules, SETTING);
            for request in order {
                history.observe(&requested(request)).unwrap();
            }
            history
        };
        let short = RuleSet::ALL.without(Rule::Overtaking);
        assert_eq!(after(short, [1, 2]), after(short, [2, 1]));
        assert_ne!(after(RuleSet::ALL, [1, 2]), after(RuleSet::ALL, [2, 1]));
    }

    #[test]
    fn a_broken_rule_is_reported_and_watching_goes_on() {
        let mut history = History::new(RuleSet::ALL, SETTING);
        assert_eq!(history.observe(&granted(1, 5)).unwrap_err().rule, Rule::UnwantedGrant);
        history.observe(&requested(2)).unwrap();
        let released = Occurrence::Released { node: ANN, request: RequestId(1) };
        history.observe(&released).unwrap();
        assert_eq!(history.observe(&granted(2, 5)).unwrap_err().rule, Rule::Fences);
    }

    #[test]
    fn every_growing_number_is_shown_on_its_line() {
        #[derive(Default)]
        struct Lines(Vec<(Line, i64)>);
        impl CounterVisitor for Lines {
            fn visit(&mut self, line: Line, value: i64) -> i64 {
                self.0.push((line, value));
                value + 10
            }
        }
        let mut history = History::new(RuleSet::ALL, SETTING);
        let cancelled = Occurrence::Cancelled { node: ANN, request: RequestId(2) };
        for occurrence in [requested(1), requested(2), requested(3), cancelled, granted(1, 7)] {
            history.observe(&occurrence).unwrap();
        }
        let mut seen = Lines::default();
        history.visit_counters(&mut seen, 4);
        let requests = Line::of("request", ANN);
        let clock = Line { name: "clock", of: None, reach: 4 };
        assert_eq!(seen.0, [(requests, 3), (requests, 1), (requests, 2), (clock, 7)]);
        assert_eq!(history.waiting.ids().next().unwrap().request, RequestId(13));
        assert_eq!(history.greatest_fence, Some((Fence(17), None)));
    }
}
