//! Bugs that can be planted, and the [`Rules`] with these bugs in them; see [`crate::planted`].
//!
//! Each method here takes precedence over the rule of the same name.

use alloc::vec::Vec;

use super::super::census::{Census, Member};
use super::list::{List, ListId, Voter};
use super::record::{Facts, VoterRecord};
use super::rules::{Duty, Rules};
use super::time::{Span, Time};
use super::voting::Voting;
use super::word::{Key, Word};
use crate::vocabulary::NodeId;

crate::bugs! {
    /// Voters wait no longer than the standing lasts.
    ShortSilence,
    /// Standing counts from the answer, not from the asking.
    CountFromAnswer,
    /// A round with which a second call is answered counts from that call.
    CountFromCall,
    /// One answer gives standing.
    StandingByOne,
    /// One refusal is a fact.
    GoneByOne,
    /// A voter that starts takes everybody for silent.
    ForgetStart,
    /// Refusals are not on disk.
    RefuseInMemory,
    /// Nodes that were refused are renewed.
    RenewRefused,
    /// A voter refuses whom others suspected, although it heard it since.
    RefuseByHearsay,
    /// A voter refuses without waiting.
    RefuseAtOnce,
    /// A node that resumes acts before it was answered.
    ResumeUnanswered,
    /// Answers under two lists are added up.
    AddUpAnswers,
    /// Refusals under two lists are added up.
    AddUpRefusals,
    /// A voter that has closed its list still renews.
    RenewAfterClosing,
    /// A voter that has closed its list still refuses.
    RefuseAfterClosing,
    /// Refusals do not move along as bans.
    ForgetBans,
    /// Refusals move along as refusals that count at once.
    BansCountAtOnce,
    /// A voter of both lists goes on counting silence when it opens the second.
    KeepTimers,
    /// A new voter counts silence from before it opened.
    NewVoterTimers,
    /// The request for a removal is believed.
    BelieveRemoval,
    /// A removal does not wait for standing to end.
    RemoveAtOnce,

    /// Who comes does not register.
    SkipRegistration,
    /// One voter's registration is enough.
    RegisterWithOne,
    /// The newcomer does not take over what voters know.
    TakeOverNothing,
    /// Newcomers are answered without being recorded.
    RegisterWithoutRecord,
    /// The heir does not ask.
    SkipRatification,
    /// One voter's agreement is enough.
    RatifyWithOne,
    /// Voters agree to any census.
    RatifyWithoutComparing,
    /// Voters agree without recording.
    RatifyWithoutRecord,
    /// Registrations and ratifications under two lists are added up.
    AddUpRecords,
    /// A list is opened without the records of the one before.
    OpenEmpty,
    /// One closing is enough to open a list.
    OpenByOne,
    /// Voters tell their records for the next list before they close theirs.
    TellBeforeClosing,
    /// A voter that has closed its list still registers and ratifies.
    RecordAfterClosing,
    /// Closings are not on disk.
    CloseInMemory,
    /// A voter closes its list for every successor.
    CloseTwice,
    /// A voter closes a list that it has not opened.
    CloseUnopened,
    /// A member that lost its disk goes on as the same voter.
    ReplaceDisk,
    /// The same, after it has asked all other voters.
    ReplaceDiskByAsking,
    /// Who opens a list does not keep the closings for others.
    DropClosings,
    /// A forced list opens with what its voters know, without the other members.
    ForceByVoters,
    /// A member that has given up a list still counts answers under it.
    CountGivenUp,
    /// A member tells only what it has on record as a voter when it gives up a list, not what it knows as a node.
    YieldWithoutCensus,
    /// A voter that has given up its list for a forced one still serves under it.
    ServeGivenUp,
    /// That a list was given up is not on disk.
    GiveUpInMemory,
    /// Who opens a forced list renews whom it leaves out.
    ForgetLeftOut,
}

impl Voting {
    /// Plants a bug into this node.
    pub fn plant(&mut self, bug: Bug) {
        self.planted = crate::planted::Planted::bug(bug as u8);
    }

    fn has(&self, bug: Bug) -> bool {
        self.planted.has(bug as u8)
    }

    /// Voters of any list that say so, under any list.
    fn added_up(&self, says: impl Fn(&List, Voter) -> bool) -> usize {
        let all = self.words.lists().flat_map(|list| list.voters().iter().map(move |voter| (list, *voter)));
        let saying: alloc::collections::BTreeSet<Voter> =
            all.filter(|(list, voter)| says(list, *voter)).map(|(_, voter)| voter).collect();
        saying.len()
    }

    fn is_enough(&self, voters: usize) -> bool {
        self.words.lists().any(|list| list.is_majority(voters))
    }

    pub(super) fn counts_under(&self, list: &List) -> bool {
        self.has(Bug::CountGivenUp) || Rules::counts_under(self, list)
    }

    pub(super) fn yielding(&self) -> Option<Word> {
        let mut word = Rules::yielding(self)?;
        if self.has(Bug::YieldWithoutCensus)
            && let Word::Yield { facts, .. } = &mut word
        {
            facts.clone_from(&self.desk.as_ref()?.record.facts);
        }
        Some(word)
    }

    pub(super) fn left_out(&self, list: &List) -> Vec<Member> {
        if self.has(Bug::ForgetLeftOut) { Vec::new() } else { Rules::left_out(self, list) }
    }

    pub(super) fn answered_round(&self) -> Option<u64> {
        let all = || self.words.lists().flat_map(|list| list.voters().iter().map(move |voter| (list, *voter)));
        let rounds = || all().filter_map(|(list, voter)| self.round_answered_by(list, voter));
        if self.has(Bug::StandingByOne) {
            rounds().max()
        } else if self.has(Bug::ResumeUnanswered) && self.standing.until().is_none() && self.standing.round() > 0 {
            Some(self.standing.round())
        } else if self.has(Bug::AddUpAnswers) {
            let found = self.words.lists().filter_map(|list| Self::majority_round(list, rounds().collect()));
            found.max()
        } else {
            Rules::answered_round(self)
        }
    }

    pub(super) fn standing_from(&self, made: Time, now: Time) -> Time {
        if self.has(Bug::CountFromAnswer) { now } else { Rules::standing_from(self, made, now) }
    }

    pub(super) fn serves_again(&mut self, now: Time) -> bool {
        let serves = Rules::serves_again(self, now);
        if serves && self.has(Bug::CountFromCall) {
            self.standing.make_last_again(now);
        }
        serves
    }

    pub(super) fn registrations(&self) -> Option<Vec<Census>> {
        let accepted = |list: &List, voter| self.registered_by(list, voter).is_some();
        let enough = self.has(Bug::SkipRegistration)
            || (self.has(Bug::RegisterWithOne) && self.added_up(accepted) > 0)
            || (self.has(Bug::AddUpRecords) && self.is_enough(self.added_up(accepted)));
        if enough {
            let all = self.words.lists().flat_map(|list| list.voters().iter().map(move |voter| (list, *voter)));
            Some(all.filter_map(|(list, voter)| self.registered_by(list, voter)).cloned().collect())
        } else {
            Rules::registrations(self)
        }
    }

    pub(super) fn take_over(&self, records: Vec<Census>) -> Census {
        let records = if self.has(Bug::TakeOverNothing) { Vec::new() } else { records };
        Rules::take_over(self, records)
    }

    pub(super) fn is_ratified(&self, attempt: u64) -> bool {
        let agreed = |list: &List, voter| self.ratified_by(list, voter, attempt);
        self.has(Bug::SkipRatification)
            || (self.has(Bug::RatifyWithOne) && self.added_up(agreed) > 0)
            || (self.has(Bug::AddUpRecords) && self.is_enough(self.added_up(agreed)))
            || Rules::is_ratified(self, attempt)
    }

    pub(super) fn is_declared_gone(&self, node: NodeId) -> bool {
        let refused = |list: &List, voter| self.words.get(&Key::Refusal(list.id(), voter, node)).is_some();
        (self.has(Bug::GoneByOne) && self.added_up(refused) > 0)
            || (self.has(Bug::AddUpRefusals) && self.is_enough(self.added_up(refused)))
            || Rules::is_declared_gone(self, node)
    }

    pub(super) fn is_declared_removed(&self, member: Member) -> bool {
        self.has(Bug::BelieveRemoval) || Rules::is_declared_removed(self, member)
    }

    pub(super) fn role(&self, list: &List) -> Option<Voter> {
        if self.has(Bug::ReplaceDisk) || self.has(Bug::ReplaceDiskByAsking) {
            self.desk.as_ref()?;
            list.voters().iter().copied().find(|voter| voter.member == self.me.member())
        } else {
            Rules::role(self, list)
        }
    }

    pub(super) fn serving(&self, duty: Duty) -> Option<(ListId, Voter)> {
        let record = &self.desk.as_ref()?.record;
        let is_given_up = || record.successor.as_ref().is_some_and(|list| list.force().is_some());
        if self.has(Bug::ServeGivenUp) && is_given_up() {
            let list = record.list.as_ref()?;
            return Some((list.id(), self.role(list)?));
        }
        let goes_on = match duty {
            Duty::Renew => self.has(Bug::RenewAfterClosing),
            Duty::Refuse => self.has(Bug::RefuseAfterClosing),
            Duty::Record => self.has(Bug::RecordAfterClosing),
        };
        let replaced = self.has(Bug::ReplaceDisk) || self.has(Bug::ReplaceDiskByAsking);
        if goes_on {
            let list = record.list.as_ref()?;
            Some((list.id(), self.role(list)?))
        } else if replaced && record.list.is_none() {
            let list = self.words.in_force()?;
            Some((list.id(), self.role(list)?))
        } else {
            Rules::serving(self, duty)
        }
    }

    pub(super) fn durable(&self) -> Option<VoterRecord> {
        let mut record = Rules::durable(self)?;
        if self.has(Bug::RefuseInMemory) {
            record.facts.banned.retain(|node| !record.refused.contains(node));
            record.refused.clear();
        }
        if self.has(Bug::CloseInMemory) {
            record.successor = None;
        }
        if self.has(Bug::GiveUpInMemory) {
            record.successor = record.successor.filter(|list| list.force().is_none());
        }
        Some(record)
    }

    pub(super) fn silence(&self) -> Span {
        if self.has(Bug::ShortSilence) { self.settings.standing } else { Rules::silence(self) }
    }

    pub(super) fn first_heard(&self, now: Time) -> Time {
        if self.has(Bug::ForgetStart) { Time(0) } else { Rules::first_heard(self, now) }
    }

    pub(super) fn may_renew(&self, node: NodeId) -> bool {
        let is_over = self.census.is_gone(node) || self.facts().is_none_or(|facts| facts.census.is_gone(node));
        (self.has(Bug::RenewRefused) && !is_over) || Rules::may_renew(self, node)
    }

    pub(super) fn may_refuse(&self, now: Time, list: &List, node: NodeId) -> bool {
        let by_any = |voter: &&Voter| self.words.get(&Key::Suspicion(list.id(), **voter, node)).is_some();
        let is_hearsay = || list.is_majority(list.voters().iter().filter(by_any).count());
        (self.has(Bug::RefuseAtOnce) && self.words.round(node) > 0)
            || (self.has(Bug::RefuseByHearsay) && is_hearsay())
            || Rules::may_refuse(self, now, list, node)
    }

    pub(super) fn keep_newcomer(&mut self, facts: Facts) {
        if !self.has(Bug::RegisterWithoutRecord) {
            Rules::keep_newcomer(self, facts);
        }
    }

    pub(super) fn knows_enough(&self, census: &Census) -> bool {
        self.has(Bug::RatifyWithoutComparing) || Rules::knows_enough(self, census)
    }

    pub(super) fn keep_ratified(&mut self, census: &Census) {
        if !self.has(Bug::RatifyWithoutRecord) {
            Rules::keep_ratified(self, census);
        }
    }

    pub(super) fn may_remove(&self, now: Time, member: Member, vouched: bool) -> bool {
        self.has(Bug::RemoveAtOnce) || Rules::may_remove(self, now, member, vouched)
    }

    pub(super) fn may_close(&self, successor: &List) -> bool {
        let open = self.desk.as_ref().and_then(|desk| desk.record.list.as_ref());
        if self.has(Bug::TellBeforeClosing) {
            false
        } else if self.has(Bug::CloseTwice)
            && let Some((list, voter)) = open.and_then(|list| Some((list.id(), self.role(list)?)))
        {
            let key = Key::Closing(list, voter, successor.id());
            let is_due = self.desk.iter().any(|desk| desk.outbox.iter().any(|word| word.key() == key));
            successor.parent() == Some(list) && !is_due && self.words.get(&key).is_none()
        } else {
            Rules::may_close(self, successor)
        }
    }

    pub(super) fn closing(&self) -> Option<Word> {
        let record = &self.desk.as_ref()?.record;
        let successor = |list: &List| self.words.lists().find(|other| other.parent() == Some(list.id()));
        let early = if self.has(Bug::TellBeforeClosing) {
            record.list.as_ref()
        } else if self.has(Bug::CloseUnopened) {
            let number = record.list.as_ref().map(|list| list.id().number);
            let is_later = |list: &&List| Some(list.id().number) > number && self.role(list).is_some();
            self.words.lists().filter(is_later).find(|list| successor(list).is_some())
        } else {
            None
        };
        if let Some(list) = early
            && let (Some(successor), Some(voter)) = (successor(list), self.role(list))
        {
            let facts = record.facts.clone();
            return Some(Word::Closing { list: list.id(), voter, successor: successor.id(), facts });
        }
        Rules::closing(self)
    }

    pub(super) fn opens_with(&self, list: &List) -> Option<Vec<Facts>> {
        if self.has(Bug::ForceByVoters) && list.force().is_some() {
            let of_voters = list.voters().iter().map(|voter| self.words.get(&Key::Yield(list.id(), voter.member)));
            let facts = of_voters
                .map(|word| if let Some(Word::Yield { facts, .. }) = word { Some(facts.clone()) } else { None });
            facts.collect()
        } else if self.has(Bug::OpenByOne) {
            let parent = self.words.list(list.parent()?)?;
            let closings: Vec<Facts> = self.words.closings(parent, list.id()).map(|(_, facts)| facts.clone()).collect();
            (!closings.is_empty()).then_some(closings)
        } else {
            Rules::opens_with(self, list)
        }
    }

    pub(super) fn open(&mut self, list: List, mut records: Vec<Facts>, now: Time) {
        let is_new = self.desk.as_ref().is_none_or(|desk| desk.record.list.is_none());
        let heard = self.desk.as_ref().map(|desk| desk.heard.clone()).unwrap_or_default();
        let refused: Vec<NodeId> = records.iter().flat_map(|facts| facts.banned.iter().copied()).collect();
        if self.has(Bug::OpenEmpty) {
            let census = Census::default();
            records.iter_mut().for_each(|facts| facts.census = census.clone());
        }
        if self.has(Bug::ForgetBans) {
            records.iter_mut().for_each(|facts| facts.banned.clear());
            self.amend(|record| record.facts.banned.clear());
        }
        let (parent, opened) = (list.parent(), list.id());
        Rules::open(self, list, records, now);
        if self.has(Bug::BansCountAtOnce) {
            self.amend(|record| record.refused.extend(refused));
        }
        if self.has(Bug::DropClosings) {
            self.amend(|record| record.opened_with.clear());
            let voters = parent.and_then(|parent| self.words.list(parent)).map(|list| list.voters().to_vec());
            for voter in voters.unwrap_or_default() {
                if let Some(parent) = parent {
                    self.words.drop_word(&Key::Closing(parent, voter, opened));
                }
            }
        }
        let living: Vec<NodeId> = self.census.living().collect();
        if let Some(desk) = &mut self.desk {
            if self.planted.has(Bug::KeepTimers as u8) && !is_new {
                desk.heard = heard;
            }
            if self.planted.has(Bug::NewVoterTimers as u8) && is_new {
                desk.heard = living.into_iter().map(|node| (node, Time(0))).collect();
            }
        }
    }
}
