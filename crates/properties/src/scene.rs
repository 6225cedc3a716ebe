//! The cast of the tests: tales of what applications see, and scenes of a whole network.

use meshlock_core::reverse_link::Height;
use meshlock_core::view::{Claimant, LedgerView, Origin, Returning, TokenView, View, Waiting};
use meshlock_core::{Aging, Fence, Grant, GrantId, NodeId, Order, Rank, RequestId, Session, Slots, Units};

use crate::history::{History, Occurrence};
use crate::rule::{Rule, RuleSet, Setting, Violation};
use crate::snapshot::{Flight, Snapshot, check_snapshot};

/// One unit, strict priority, no joining.
pub(crate) const SETTING: Setting = Setting {
    capacity: Units(1),
    order: Order::Priority { aging: Aging(0) },
    joins: 0,
    overtaking_bound: 0,
    passes: 0,
    numbered: false,
};

pub(crate) fn grant(request: u64, units: u32) -> Grant {
    Grant { request: RequestId(request), units: Units(units), session: None, fence: None, slots: Slots::NONE }
}

pub(crate) fn grant_id(node: u32, request: u64) -> GrantId {
    GrantId { node: NodeId(node), request: RequestId(request) }
}

pub(crate) fn entry(node: u32, request: u64, units: u32) -> LedgerView {
    LedgerView { grant: grant_id(node, request), units: Units(units), session: None, slots: Slots::NONE }
}

/// A ledger entry of one unit in a session.
pub(crate) fn attending(node: u32, request: u64, session: u64) -> LedgerView {
    LedgerView { session: Some(Session(session)), ..entry(node, request, 1) }
}

pub(crate) fn released(node: u32, request: u64, units: u32) -> Returning {
    Returning { grant: Some(grant_id(node, request)), units: Units(units) }
}

pub(crate) fn claim_of(node: u32, rank: i64, units: u32) -> Claimant {
    Claimant { origin: Origin::Node(NodeId(node)), rank: Rank(rank), units: Units(units), session: None }
}

pub(crate) fn own_claim(request: u64, rank: i64) -> Claimant {
    Claimant { origin: Origin::Local(RequestId(request)), rank: Rank(rank), units: Units(1), session: None }
}

pub(crate) fn wait(request: u64, rank: i64) -> Waiting {
    Waiting { request: RequestId(request), rank: Rank(rank), units: Units(1), session: None }
}

pub(crate) fn height(node: u32) -> Height {
    Height { level: 0, depth: node.into(), id: NodeId(node) }
}

/// What applications see, watched for one rule. The first violation is kept.
#[derive(Clone)]
pub(crate) struct Tale {
    rule: Rule,
    setting: Setting,
    history: History,
    verdict: Result<(), Violation>,
}

impl Tale {
    pub(crate) fn of(rule: Rule) -> Self {
        Self::with(rule, SETTING)
    }

    pub(crate) fn capacity(self, capacity: u32) -> Self {
        Self::with(self.rule, Setting { capacity: Units(capacity), ..self.setting })
    }

    pub(crate) fn overtaking_bound(self, overtaking_bound: u32) -> Self {
        Self::with(self.rule, Setting { overtaking_bound, ..self.setting })
    }

    pub(crate) fn passes(self, passes: u32) -> Self {
        Self::with(self.rule, Setting { passes, ..self.setting })
    }

    pub(crate) fn all_numbered(self) -> Self {
        Self::with(self.rule, Setting { numbered: true, ..self.setting })
    }

    fn with(rule: Rule, setting: Setting) -> Self {
        Self { rule, setting, history: History::new(RuleSet::NONE.with(rule), setting), verdict: Ok(()) }
    }

    pub(crate) fn asks(&mut self, node: u32, request: u64) -> &mut Self {
        let GrantId { node, request } = grant_id(node, request);
        self.happens(Occurrence::Requested { node, request, rank: Rank(0), units: Units(1), session: None })
    }

    pub(crate) fn reprioritizes(&mut self, node: u32, request: u64) -> &mut Self {
        let GrantId { node, request } = grant_id(node, request);
        self.happens(Occurrence::Reprioritized { node, request, rank: Rank(1) })
    }

    pub(crate) fn cancels(&mut self, node: u32, request: u64) -> &mut Self {
        let GrantId { node, request } = grant_id(node, request);
        self.happens(Occurrence::Cancelled { node, request })
    }

    pub(crate) fn granted(&mut self, node: u32, request: u64, units: u32) -> &mut Self {
        self.happens(Occurrence::Granted { node: NodeId(node), grant: grant(request, units) })
    }

    pub(crate) fn turn(&mut self, node: u32, request: u64, passes: bool) -> &mut Self {
        self.happens(Occurrence::Turn { grant: grant_id(node, request), passes })
    }

    pub(crate) fn numbered(&mut self, node: u32, request: u64, units: u32, slots: &[u32]) -> &mut Self {
        let grant = Grant { slots: slots.iter().copied().collect(), ..grant(request, units) };
        self.happens(Occurrence::Granted { node: NodeId(node), grant })
    }

    pub(crate) fn entered(&mut self, node: u32, request: u64, session: u64) -> &mut Self {
        let grant = Grant { session: Some(Session(session)), ..grant(request, 1) };
        self.happens(Occurrence::Granted { node: NodeId(node), grant })
    }

    pub(crate) fn fenced(&mut self, node: u32, request: u64, fence: u64) -> &mut Self {
        let grant = Grant { fence: Some(Fence(fence)), ..grant(request, 1) };
        self.happens(Occurrence::Granted { node: NodeId(node), grant })
    }

    pub(crate) fn entered_with_fence(&mut self, node: u32, request: u64, session: u64, fence: u64) -> &mut Self {
        let grant = Grant { session: Some(Session(session)), fence: Some(Fence(fence)), ..grant(request, 1) };
        self.happens(Occurrence::Granted { node: NodeId(node), grant })
    }

    pub(crate) fn decided(&mut self, node: u32, first: u64, pass: Option<u64>) -> &mut Self {
        self.happens(Occurrence::Decided { node: NodeId(node), first, pass })
    }

    pub(crate) fn released(&mut self, node: u32, request: u64) -> &mut Self {
        let GrantId { node, request } = grant_id(node, request);
        self.happens(Occurrence::Released { node, request })
    }

    pub(crate) fn resized(&mut self, capacity: u32) -> &mut Self {
        self.happens(Occurrence::Resized { capacity: Units(capacity) })
    }

    fn happens(&mut self, occurrence: Occurrence) -> &mut Self {
        let verdict = self.history.observe(&occurrence);
        if self.verdict.is_ok() {
            self.verdict = verdict;
        }
        self
    }

    pub(crate) fn holds(&self) {
        assert_eq!(self.verdict, Ok(()));
    }

    pub(crate) fn breaks(&self, expected: &str) {
        assert_eq!(self.verdict.as_ref().map_err(ToString::to_string), Err(expected.to_owned()));
    }
}

/// A whole network at one moment: connected, quiet and idle, without a token, unless said otherwise.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) rules: RuleSet,
    setting: Setting,
    views: Vec<View>,
    flights: Vec<Flying>,
    quiet: bool,
    parts: Vec<u32>,
}

#[derive(Clone)]
struct Flying {
    from: NodeId,
    to: NodeId,
    kind: &'static str,
    token: Option<TokenView>,
    returning: Option<Returning>,
}

impl Flying {
    fn flight(&self) -> Flight<'_> {
        let Self { from, to, kind, ref token, returning } = *self;
        Flight { from, to, kind, token: token.as_ref(), returning }
    }
}

impl Scene {
    pub(crate) fn of(rule: Rule, nodes: usize) -> Self {
        let (rules, setting) = (RuleSet::NONE.with(rule), SETTING);
        Self {
            rules,
            setting,
            views: vec![View::default(); nodes],
            flights: vec![],
            quiet: true,
            parts: vec![0; nodes],
        }
    }

    pub(crate) fn capacity(mut self, capacity: u32) -> Self {
        self.setting.capacity = Units(capacity);
        self
    }

    pub(crate) fn at(mut self, node: u32, change: impl FnOnce(&mut View)) -> Self {
        change(&mut self.views[node as usize]);
        self
    }

    pub(crate) fn token(self, node: u32, free: u32) -> Self {
        self.at(node, |view| view.token = Some(TokenView { free: Units(free), ..TokenView::default() }))
    }

    pub(crate) fn ledger(self, node: u32, ledger: &[LedgerView]) -> Self {
        self.at(node, |view| view.token.as_mut().unwrap().ledger = Some(ledger.to_vec()))
    }

    pub(crate) fn waits(self, node: u32, request: u64, rank: i64, units: u32) -> Self {
        self.at(node, |view| view.waiting.push(Waiting { units: Units(units), ..wait(request, rank) }))
    }

    pub(crate) fn waits_for(self, node: u32, request: u64, rank: i64, session: u64) -> Self {
        self.at(node, |view| view.waiting.push(Waiting { session: Some(Session(session)), ..wait(request, rank) }))
    }

    pub(crate) fn uses(self, node: u32, request: u64, units: u32) -> Self {
        self.at(node, |view| view.holding.push(grant(request, units)))
    }

    pub(crate) fn attends(self, node: u32, request: u64, session: u64) -> Self {
        self.at(node, |view| view.holding.push(Grant { session: Some(Session(session)), ..grant(request, 1) }))
    }

    pub(crate) fn releases(self, node: u32, request: u64) -> Self {
        self.at(node, |view| view.holding.retain(|grant| grant.request != RequestId(request)))
    }

    pub(crate) fn queue(self, node: u32, queue: &[Claimant]) -> Self {
        self.at(node, |view| view.queue = queue.to_vec())
    }

    pub(crate) fn asks(self, node: u32, asked: u32) -> Self {
        self.at(node, |view| view.asked = Some(NodeId(asked)))
    }

    pub(crate) fn heights(mut self) -> Self {
        for (node, view) in (0..).zip(&mut self.views) {
            view.height = Some(height(node));
        }
        self
    }

    /// Which nodes are connected.
    pub(crate) fn parts(mut self, parts: &[u32]) -> Self {
        assert_eq!(parts.len(), self.views.len());
        self.parts = parts.to_vec();
        self
    }

    pub(crate) fn busy(mut self) -> Self {
        self.quiet = false;
        self
    }

    pub(crate) fn flies(self, from: u32, to: u32, kind: &'static str) -> Self {
        self.fly(from, to, kind, None, None)
    }

    pub(crate) fn token_flies(self, from: u32, to: u32, free: u32) -> Self {
        self.flies_with(from, to, TokenView { free: Units(free), ..TokenView::default() })
    }

    pub(crate) fn flies_with(self, from: u32, to: u32, token: TokenView) -> Self {
        self.fly(from, to, "token", Some(token), None)
    }

    pub(crate) fn return_flies(self, from: u32, to: u32, returning: Returning) -> Self {
        self.fly(from, to, "release", None, Some(returning))
    }

    pub(crate) fn fly(
        mut self,
        from: u32,
        to: u32,
        kind: &'static str,
        token: Option<TokenView>,
        returning: Option<Returning>,
    ) -> Self {
        self.flights.push(Flying { from: NodeId(from), to: NodeId(to), kind, token, returning });
        self.quiet = false;
        self
    }

    fn verdict(&self) -> Result<(), String> {
        let nodes: Vec<_> = (0..).map(NodeId).zip(&self.views).collect();
        let flights: Vec<_> = self.flights.iter().map(Flying::flight).collect();
        let snapshot = Snapshot { nodes: &nodes, flights: &flights, quiet: self.quiet, parts: &self.parts };
        check_snapshot(self.rules, &self.setting, &snapshot).map_err(|violation| violation.to_string())
    }

    pub(crate) fn holds(self) {
        assert_eq!(self.verdict(), Ok(()));
    }

    pub(crate) fn breaks(self, expected: &str) {
        assert_eq!(self.verdict(), Err(expected.to_owned()));
    }
}
