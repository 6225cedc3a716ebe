//! Bugs that can be planted, and the [`Rules`] with these bugs in them; see [`crate::planted`].
//!
//! Each method here takes precedence over the rule of the same name.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{
    census::Member,
    keeper::{Keeper, Report, Resource, Rules},
    row::{Remake, Row},
};
use crate::vocabulary::NodeId;

crate::bugs! {
    /// The heir decides without the reports of others.
    DecideAlone,
    /// Reports of a former census count.
    BelieveOldReports,
    /// The heir also decides in the census before.
    DecideForThePast,
    /// Everybody takes itself for the heir.
    EveryoneInherits,
    /// A token that is on its way counts as lost.
    IgnoreCopies,
    /// A copy of a token that has arrived counts as the token.
    BelieveCopies,
    /// A goodbye counts although somebody was removed since.
    BelieveOldGoodbyes,
    /// A removal does not raise the rank.
    RankWithoutRemovals,
    /// The rank counts the living only, so that it falls when one of them is gone.
    RankOfTheLiving,
}

impl Keeper {
    /// Plants a bug into this node.
    pub fn plant(&mut self, bug: Bug) {
        self.planted = crate::planted::Planted::bug(bug as u8);
    }

    fn has(&self, bug: Bug) -> bool {
        self.planted.has(bug as u8)
    }

    pub(super) fn forget_reports(&mut self) {
        if self.has(Bug::DecideForThePast) {
            let mut former = self.clone();
            former.past = None;
            self.past = Some(Box::new(former));
        }
        if !self.has(Bug::BelieveOldReports) {
            Rules::forget_reports(self);
        }
    }

    pub(super) fn counts(&self, report: &Report) -> bool {
        let is_old = self.census.includes(&report.census);
        Rules::counts(self, report) || (self.has(Bug::BelieveOldReports) && is_old)
    }

    pub(super) fn is_over(&self, report: &Report) -> bool {
        let believed = self.has(Bug::BelieveOldReports) || self.has(Bug::DecideForThePast);
        !believed && Rules::is_over(self, report)
    }

    pub(super) fn has_all_reports(&self) -> bool {
        (self.has(Bug::DecideAlone) && self.reports.contains_key(&self.me)) || Rules::has_all_reports(self)
    }

    pub(super) fn is_lowest(&self) -> bool {
        self.has(Bug::EveryoneInherits) || Rules::is_lowest(self)
    }

    pub(super) fn awaited_goodbyes(&self) -> Vec<Member> {
        if self.has(Bug::BelieveOldGoodbyes) { Vec::new() } else { Rules::awaited_goodbyes(self) }
    }

    pub(super) fn is_alive(&self, rows: &[(NodeId, &Row)]) -> bool {
        if self.has(Bug::IgnoreCopies) {
            rows.iter().any(|(_, row)| row.token)
        } else if self.has(Bug::BelieveCopies) {
            rows.iter().any(|(_, row)| row.token || row.copy.is_some())
        } else {
            Rules::is_alive(self, rows)
        }
    }

    pub(super) fn rank(&self) -> u64 {
        let census = &self.census;
        if self.has(Bug::RankWithoutRemovals) {
            let removed = census.counts().filter(|(member, _)| census.is_removed(*member)).count();
            Rules::rank(self) - removed as u64
        } else if self.has(Bug::RankOfTheLiving) {
            census.living().map(|node| u64::from(census.count(node.member()))).sum()
        } else {
            Rules::rank(self)
        }
    }

    pub(super) fn decision(&mut self) -> Option<Vec<(Resource, Remake)>> {
        let past = self.past.as_mut().and_then(|past| Rules::decision(&mut **past));
        past.or_else(|| Rules::decision(self))
    }

    /// For [`Bug::DecideForThePast`]: a report of the census before.
    pub(super) fn hear_late(&mut self, report: &Arc<Report>) {
        if let Some(past) = &mut self.past {
            past.hear(Arc::clone(report));
        }
    }
}
