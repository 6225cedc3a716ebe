//! How recovery is doing, for people: status, health, waiting clients, metrics.

use meshlock_api::{OpenRepair, RecoveryStatus, State};
use meshlock_core::NodeId;

use super::super::{Machine, Now, Request};
use crate::mesh::Member;

/// Names are listed up to here; a wait for more is told by a number.
const MOST_NAMED: usize = 10;

impl Machine {
    /// How recovery is doing here; `None` in a mesh that does not recover.
    pub fn recovery_status(&self, now: Now) -> Option<RecoveryStatus> {
        let recovery = self.recovery.as_ref()?;
        let census = recovery.keeper.census();
        let even = |(member, count): (u16, u32)| (count % 2 == 0 || census.is_removed(member)).then_some(member);
        let gone = census.counts().filter_map(even).map(|member| self.member_name(member));
        let voting = recovery.voting.as_deref();
        let list = voting.and_then(|voting| voting.list());
        let voters = list.map(|list| list.voters().iter().map(|voter| self.member_name(voter.member)).collect());
        let suspected =
            voting.map(|voting| voting.suspicions().map(|(_, node)| node).collect::<std::collections::BTreeSet<_>>());
        Some(RecoveryStatus {
            mode: if voting.is_some() { "voters" } else { "restart" }.to_owned(),
            rank: census.rank(),
            standing_ms: self.standing_until().map(|until| until.ms_since(now)),
            suspended: self.suspended().map(str::to_owned),
            gone: gone.take(MOST_NAMED * 10).collect(),
            voters: voters.unwrap_or_default(),
            suspected: suspected.into_iter().flatten().map(|node| self.member_name(node.member())).collect(),
            repair: self.open_repair(now),
        })
    }

    /// The repair that is open, as far as is known here, and what it waits for.
    pub(crate) fn open_repair(&self, now: Now) -> Option<OpenRepair> {
        let recovery = self.recovery.as_ref()?;
        let keeper = &recovery.keeper;
        let mut missing: Vec<String> = keeper.missing().map(|node| self.member_name(node.member())).collect();
        missing.extend(keeper.doubtful().into_iter().map(|member| self.member_name(member)));
        let asks_voters = keeper.wants_ratification();
        if missing.is_empty() && !asks_voters {
            return None;
        }
        let heir = keeper.census().heir().map(|heir| self.member_name(heir.member()));
        let count = u32::try_from(missing.len()).unwrap_or(u32::MAX);
        missing.truncate(MOST_NAMED);
        Some(OpenRepair { for_ms: now.ms_since(recovery.grew), missing, count, heir, asks_voters })
    }

    /// Why a request that waits is not served, if that has to do with recovery.
    pub(crate) fn waiting_words(&self, now: Now, request: &Request) -> Option<String> {
        if request.state != State::Queued {
            return None;
        }
        if let Some(reason) = self.suspended() {
            return Some(reason.to_owned());
        }
        let number = request.resource.unwrap_or(super::super::registry::REGISTRY);
        let lost = self.is_lost(now, number);
        lost.then(|| self.open_repair(now)).flatten().map(|repair| repair.to_string())
    }

    pub(super) fn member_name(&self, member: u16) -> String {
        if NodeId::of(member, 0).member() == self.settings.id.member() {
            return self.settings.name.clone();
        }
        self.known.get(&Member(member)).map_or_else(|| format!("member {member}"), |known| known.name.clone())
    }
}
