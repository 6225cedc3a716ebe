//! One node's part in a recovery: what it knows of who is gone, the reports of all others, and the heir's decision.
//!
//! A plain value without I/O. The driver has three duties that nothing in here can check:
//!
//! - a census that grew is durable before anything is done or said because of it, and it goes to every neighbour ahead
//!   of everything else, as it does first on every new link;
//! - all rows are pictured at once, before the next message is handled and before the protocols hear of the census;
//! - nothing of a node that is gone is heard.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::census::{Census, Member};
use super::row::{Remake, Row, is_alive};
use crate::counters::CounterVisitor;
use crate::planted::Planted;
use crate::vocabulary::NodeId;

/// The number of a resource in its mesh.
pub type Resource = u64;

/// What a node says of itself when its census has grown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    /// The census it counts for, and no other.
    pub census: Census,
    /// Who reports.
    pub node: NodeId,
    /// Every resource that it knew then, and what it had of it.
    pub rows: Vec<(Resource, Option<Row>)>,
}

impl Report {
    /// Shows every growing number in its rows to `visitor`; see [`crate::counters`].
    pub fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        for row in self.rows.iter_mut().filter_map(|(_, row)| row.as_mut()) {
            row.visit_counters(visitor);
        }
    }
}

/// One node's part in a recovery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keeper {
    pub(super) me: NodeId,
    pub(super) census: Census,
    /// Of this census, by node; its own included.
    pub(super) reports: BTreeMap<NodeId, Arc<Report>>,
    /// Whether a majority of voters must have seen the census before the heir decides in it.
    ratifies: bool,
    is_ratified: bool,
    is_decided: bool,
    /// The census before this one, for a heir that goes on deciding in it.
    #[cfg(feature = "mutants")]
    pub(super) past: Option<alloc::boxed::Box<Self>>,
    pub(super) planted: Planted,
}

impl Keeper {
    /// A node that knows this much. `ratifies`: there are voters, who must have seen a census before its heir decides.
    pub fn new(me: NodeId, census: Census, ratifies: bool) -> Self {
        Self {
            me,
            census,
            reports: BTreeMap::new(),
            ratifies,
            is_ratified: false,
            is_decided: false,
            #[cfg(feature = "mutants")]
            past: None,
            planted: Planted::default(),
        }
    }

    /// The same member as this incarnation, without any reports.
    #[must_use]
    pub fn anew(&self, me: NodeId, census: Census) -> Self {
        Self { planted: self.planted, ..Self::new(me, census, self.ratifies) }
    }

    /// This node.
    pub const fn me(&self) -> NodeId {
        self.me
    }

    /// All that is known of who is gone.
    pub const fn census(&self) -> &Census {
        &self.census
    }

    /// What will be known with these facts, if any of them is new. To be made durable, then [learned](Self::learn).
    pub fn grown(&self, facts: &Census) -> Option<Census> {
        (!self.census.includes(facts)).then(|| self.census.merged(facts))
    }

    /// Learns a census that has grown. The reports of the former one count no more.
    pub fn learn(&mut self, census: Census) {
        debug_assert!(census.includes(&self.census), "a census only grows");
        self.forget_reports();
        self.census = census;
        (self.is_ratified, self.is_decided) = (false, false);
    }

    /// Whether voters must have seen a census before its heir decides.
    pub const fn ratifies(&self) -> bool {
        self.ratifies
    }

    /// Whether a report is known here already or counts for a census that is over: it will never be news.
    pub fn is_old(&self, report: &Report) -> bool {
        let known = self.census == report.census && self.reports.contains_key(&report.node);
        known || self.is_over(report) || self.census.is_gone(report.node)
    }

    /// Whether others hold this incarnation for gone: it must begin anew as the next.
    pub fn is_gone(&self) -> bool {
        self.census.is_gone(self.me)
    }

    /// The own report, for all others.
    pub fn report(&mut self, rows: Vec<(Resource, Option<Row>)>) -> Arc<Report> {
        let report = Arc::new(Report { census: self.census.clone(), node: self.me, rows });
        self.reports.insert(self.me, Arc::clone(&report));
        report
    }

    /// Goes on where a clean stop ended: with the own report as it was told, and as the heir that has decided or has not.
    /// Whether they count for this census.
    ///
    /// Others keep their reports of this census. A second picture, taken later, beside those is no consistent cut: a
    /// token that moved in between is in none of them, and would be made twice.
    pub fn go_on(&mut self, report: Report, is_decided: bool) -> bool {
        let counts = report.census == self.census && report.node == self.me;
        if counts {
            self.reports.insert(self.me, Arc::new(report));
            self.is_decided = is_decided;
        }
        counts
    }

    /// The own report of this census, once it is made.
    pub fn own_report(&self) -> Option<&Report> {
        self.reports.get(&self.me).map(AsRef::as_ref)
    }

    /// Another node's report. Whether it is new, so that others have to hear it too.
    pub fn hear(&mut self, report: Arc<Report>) -> bool {
        #[cfg(feature = "mutants")]
        self.hear_late(&report);
        let counts = self.counts(&report) && self.census.is_living(report.node);
        counts && report.node != self.me && self.reports.insert(report.node, report).is_none()
    }

    /// All reports of this census that are known here: what a new neighbour has to hear.
    pub fn reports(&self) -> impl Iterator<Item = &Arc<Report>> {
        self.reports.values()
    }

    /// Living nodes whose reports have not come yet.
    pub fn missing(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.census.living().filter(|node| !self.reports.contains_key(node))
    }

    /// Whether it has reported since its census grew and still misses a report.
    pub fn is_open(&self) -> bool {
        !self.reports.is_empty() && self.missing().next().is_some()
    }

    /// Members that left and whose goodbye does not count any more: they must come back or be removed too.
    pub fn doubtful(&self) -> Vec<Member> {
        if self.ratifies { Vec::new() } else { self.awaited_goodbyes() }
    }

    /// Whether this node makes lost tokens anew.
    pub fn is_heir(&self) -> bool {
        self.is_lowest()
    }

    /// Whether nothing is missing for a decision but, with voters, that they ratify the census.
    pub fn is_ready(&self) -> bool {
        self.is_heir() && !self.is_decided && self.has_all_reports() && self.doubtful().is_empty()
    }

    /// Whether voters have to be asked now.
    pub fn wants_ratification(&self) -> bool {
        self.ratifies && !self.is_ratified && self.is_ready()
    }

    /// A majority of voters has seen this census, and knows nothing beyond it.
    pub fn ratified(&mut self, census: &Census) {
        self.is_ratified |= *census == self.census;
    }

    /// Whether the heir of this census has decided. Only the heir knows.
    pub const fn is_decided(&self) -> bool {
        self.is_decided
    }

    /// Where the fences and passes of everything begin that is made anew in this census.
    pub fn first_number(&self) -> u64 {
        Remake::first_number(self.rank())
    }

    /// Shows every growing number in the reports to `visitor`; see [`crate::counters`].
    pub fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        for report in self.reports.values_mut() {
            Arc::make_mut(report).visit_counters(visitor);
        }
    }

    /// The heir's decision, once: the resources whose tokens are lost, and what they are made of anew.
    pub fn decide(&mut self) -> Option<Vec<(Resource, Remake)>> {
        self.decision()
    }
}

/// The rules that can be broken alone; see [`crate::planted`].
pub(super) trait Rules {
    /// Reports of a former census count no more.
    fn forget_reports(&mut self);
    /// Only reports of this very census count.
    fn counts(&self, report: &Report) -> bool;
    /// A report of a former census will never count.
    fn is_over(&self, report: &Report) -> bool;
    /// Everybody who is living has reported.
    fn has_all_reports(&self) -> bool;
    /// There is one heir.
    fn is_lowest(&self) -> bool;
    /// A goodbye that is older than a removal does not count.
    fn awaited_goodbyes(&self) -> Vec<Member>;
    /// A token is alive if one has it, or if it was given away and has arrived nowhere yet.
    fn is_alive(&self, rows: &[(NodeId, &Row)]) -> bool;
    /// Grows with every fact, so that no decision begins with numbers that were used before.
    fn rank(&self) -> u64;
    /// The heir decides once, and only in the census that it is in.
    fn decision(&mut self) -> Option<Vec<(Resource, Remake)>>;
}

impl Rules for Keeper {
    fn forget_reports(&mut self) {
        self.reports.clear();
    }

    fn counts(&self, report: &Report) -> bool {
        report.census == self.census
    }

    fn is_over(&self, report: &Report) -> bool {
        self.census.includes(&report.census) && self.census != report.census
    }

    fn has_all_reports(&self) -> bool {
        self.missing().next().is_none()
    }

    fn is_lowest(&self) -> bool {
        self.census.heir() == Some(self.me)
    }

    fn awaited_goodbyes(&self) -> Vec<Member> {
        self.census.doubtful_goodbyes().collect()
    }

    fn is_alive(&self, rows: &[(NodeId, &Row)]) -> bool {
        is_alive(rows.iter().map(|(_, row)| *row))
    }

    fn rank(&self) -> u64 {
        self.census.rank()
    }

    fn decision(&mut self) -> Option<Vec<(Resource, Remake)>> {
        if !self.is_ready() || (self.ratifies && !self.is_ratified) {
            return None;
        }
        self.is_decided = true;
        let mut rows: BTreeMap<Resource, Vec<(NodeId, &Row)>> = BTreeMap::new();
        for report in self.reports.values() {
            for (resource, row) in &report.rows {
                // Also without a row: a resource that any report knew can be lost, and only such a one.
                let known = rows.entry(*resource).or_default();
                known.extend(row.as_ref().map(|row| (report.node, row)));
            }
        }
        let first = self.first_number();
        let lost = rows.into_iter().filter(|(_, rows)| !self.is_alive(rows));
        let remake = |rows: Vec<(NodeId, &Row)>| {
            let rows = rows.into_iter().map(|(node, row)| (node, row.clone())).collect();
            Remake { first, rows }
        };
        Some(lost.map(|(resource, rows)| (resource, remake(rows))).collect())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::row::Picture;
    use super::*;
    use crate::reverse_link;

    fn node(member: u16) -> NodeId {
        NodeId::of(member, 0)
    }

    fn row(token: bool, copy: Option<u64>, accepted: u64) -> Row {
        Row { token, copy, accepted, picture: Picture::ReverseLink(reverse_link::Picture::default()) }
    }

    /// Three nodes of which the last is gone, at the first of them, with the second one's report.
    fn decision(own: Row, other: Row) -> Vec<(Resource, Remake)> {
        let census = Census::of_living([node(0), node(1), node(2)]).merged(&Census::gone_fact(node(2)));
        let mut keeper = Keeper::new(node(0), census.clone(), false);
        keeper.report(vec![(1, Some(own))]);
        assert!(!keeper.is_ready() && keeper.missing().eq([node(1)]));
        assert!(keeper.hear(Arc::new(Report { census, node: node(1), rows: vec![(1, Some(other))] })));
        let decision = keeper.decide().expect("nothing is missing");
        assert_eq!(keeper.decide(), None, "once");
        decision
    }

    #[test]
    fn a_token_that_no_living_node_has_is_made_anew() {
        let lost = decision(row(false, None, 3), row(false, Some(3), 0));
        assert_eq!(lost.len(), 1, "a copy of what has arrived is only a copy");
        assert_eq!(lost[0].1.rows.len(), 2);
    }

    #[test]
    fn a_token_here_or_on_its_way_is_alive() {
        assert!(decision(row(true, None, 3), row(false, Some(3), 0)).is_empty());
        assert!(decision(row(false, None, 3), row(true, None, 0)).is_empty());
        assert!(decision(row(false, None, 3), row(false, Some(4), 0)).is_empty(), "not arrived yet");
    }

    #[test]
    fn who_stopped_and_goes_on_neither_pictures_nor_decides_again() {
        let census = Census::of_living([node(0), node(1)]);
        let other =
            || Arc::new(Report { census: census.clone(), node: node(1), rows: vec![(1, Some(row(false, None, 0)))] });
        let mut heir = Keeper::new(node(0), census.clone(), false);
        let first = heir.report(vec![(1, Some(row(true, None, 0)))]);
        assert!(heir.hear(other()) && heir.decide() == Some(vec![]));
        for is_decided in [true, false] {
            // The token has gone to the other meanwhile; its report is older than that.
            let mut resumed = Keeper::new(node(0), census.clone(), false);
            assert!(resumed.go_on((*first).clone(), is_decided));
            assert!(resumed.hear(other()));
            assert_eq!(resumed.decide(), (!is_decided).then(Vec::new));
        }
        let mut later = Keeper::new(node(0), census.merged(&Census::gone_fact(node(1))), false);
        assert!(!later.go_on((*first).clone(), true) && later.own_report().is_none());
    }

    #[test]
    fn only_the_heir_decides_and_only_in_its_own_census() {
        let census = Census::of_living([node(0), node(1)]);
        let mut other = Keeper::new(node(1), census.clone(), false);
        other.report(vec![]);
        let mut heir = Keeper::new(node(0), census.clone(), false);
        let report = heir.report(vec![]);
        assert!(other.hear(report) && other.decide().is_none());
        let grown = heir.grown(&Census::living_fact(node(2))).expect("news");
        heir.learn(grown);
        heir.report(vec![]);
        assert!(!heir.hear(Arc::new(Report { census, node: node(1), rows: vec![] })), "of the former census");
        assert!(heir.decide().is_none());
        assert_eq!(heir.grown(&Census::living_fact(node(2))), None);
    }

    #[test]
    fn with_voters_a_decision_needs_their_word_on_this_very_census() {
        let census = Census::of_living([node(0)]);
        let mut heir = Keeper::new(node(0), census.clone(), true);
        heir.report(vec![]);
        assert!(heir.wants_ratification() && heir.decide().is_none());
        heir.ratified(&Census::of_living([node(0), node(1)]));
        assert!(heir.decide().is_none());
        heir.ratified(&census);
        assert_eq!(heir.decide(), Some(vec![]));
    }
}
