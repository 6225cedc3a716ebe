//! The voter's part: renews, suspects, refuses, registers, ratifies, removes, and follows the lists.
//!
//! Everything is concluded again from the record and the words at hand: a voter that restarts, or opens a list, answers
//! what is open without being asked again.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::super::census::{Census, Member};
use super::heard::Heard;
use super::list::{Forced, List, ListId, Voter};
use super::looked;
use super::record::{Facts, VoterRecord};
use super::rules::{Duty, Rules};
use super::time::{Span, Time};
use super::voting::Voting;
use super::word::{Key, Word};
use super::words::{Kind, News};
use crate::vocabulary::NodeId;

/// A voter at work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Desk {
    pub(super) record: VoterRecord,
    /// Whether the record is on disk.
    pub(super) is_kept: bool,
    /// What may be said as soon as it is.
    pub(super) outbox: Vec<Word>,
    pub(super) heard: Heard,
    /// Since when no incarnation of a member is renewed.
    pub(super) barred_since: BTreeMap<Member, Time>,
    /// When newcomers were put on record last, and whether others have come since.
    pub(super) registered: Option<Time>,
    pub(super) is_gathering: bool,
}

impl Voting {
    /// A voter starts with what it has on disk.
    pub(super) fn sit_down(&mut self, record: VoterRecord) -> Desk {
        for word in &record.opened_with {
            self.words.hear(word.clone(), &self.census);
        }
        for list in [&record.list, &record.successor].into_iter().flatten() {
            self.words.hear(Word::List(list.clone()), &self.census);
        }
        if let Some(list) = &record.list {
            self.words.root(list.clone());
        }
        Desk {
            record,
            is_kept: true,
            outbox: Vec::new(),
            heard: Heard::default(),
            barred_since: BTreeMap::new(),
            registered: None,
            is_gathering: false,
        }
    }

    /// Does all duties that are open.
    ///
    /// What it looks at are the lists, the few questions that are open, and of all nodes only those of which there is
    /// [news](News) or whose silence has become long enough.
    pub(super) fn vote(&mut self, now: Time) {
        if self.desk.is_none() {
            self.words.news = News::default();
            return;
        }
        self.say_ready();
        self.give_up();
        self.open_lists(now);
        self.grow();
        self.close_list();
        if let Some((list, voter)) = self.serving(Duty::Renew) {
            self.renew(now, list, voter);
        }
        if let Some((list, voter)) = self.serving(Duty::Record) {
            self.register_newcomers(now, list, voter);
            self.ratify_decisions(list, voter);
            self.remove_members(now, list, voter);
        }
        let news = core::mem::take(&mut self.words.news);
        if let Some((list, voter)) = self.serving(Duty::Refuse) {
            self.watch(now, &news);
            let nodes = self.nodes_to_judge(now, news);
            self.suspect(now, list, voter, &nodes);
            self.refuse(now, list, voter, &nodes);
        }
    }

    /// When this voter will have waited for W: for a node that it does not suspect yet, or for a member to be removed.
    /// And when it puts newcomers on record.
    pub(super) fn deadlines(&self) -> impl Iterator<Item = Time> {
        let serving = self.serving(Duty::Refuse);
        let desk = self.desk.iter().filter(move |_| serving.is_some());
        let silence = self.silence();
        let suspected = move |node: NodeId| {
            let round = self.words.round(node);
            let key = serving.map(|(list, voter)| Key::Suspicion(list, voter, node));
            key.and_then(|key| self.words.get(&key)).is_some_and(|word| word.age().1 >= round)
        };
        let waits = desk.flat_map(move |desk| {
            let silent = desk.heard.next(|node| !suspected(node)).into_iter();
            let barred = desk.record.facts.barred.iter().filter_map(|member| desk.barred_since.get(member)).copied();
            silent.chain(barred)
        });
        let gathering = self.desk.iter().filter(move |desk| serving.is_some() && desk.is_gathering);
        let gathered = gathering.filter_map(|desk| desk.registered.map(|last| last.plus(self.settings.gather)));
        waits.map(move |since| since.plus(silence)).chain(gathered)
    }

    /// Says a word when the record is durable, unless it was said. Whether it was not.
    fn voter_says(&mut self, word: Word) -> bool {
        let key = word.key();
        let is_said = self.words.get(&key).is_some_and(|said| said.age() >= word.age());
        let Some(desk) = self.desk.as_mut().filter(|_| !is_said) else { return false };
        let is_due = desk.outbox.iter().any(|due| due.key() == key && due.age() >= word.age());
        if !is_due {
            desk.outbox.push(word);
        }
        !is_due
    }

    /// Changes the record, which then has to be kept.
    pub(super) fn amend(&mut self, amend: impl FnOnce(&mut VoterRecord)) {
        if let Some(desk) = &mut self.desk {
            let before = desk.record.clone();
            amend(&mut desk.record);
            if desk.record != before {
                desk.is_kept = false;
                self.words.news.all = true;
            }
        }
    }

    pub(super) fn facts(&self) -> Option<&Facts> {
        self.desk.as_ref().map(|desk| &desk.record.facts)
    }

    fn say_ready(&mut self) {
        let Some(disk) = self.desk.as_ref().map(|desk| desk.record.disk) else { return };
        let voter = Voter { member: self.me.member(), disk };
        self.voter_says(Word::Ready { node: self.me, voter });
    }

    /// A founder that votes alone proposes two more, once they are there.
    fn grow(&mut self) {
        let (Some(list), Some(facts)) = (self.words.in_force(), self.facts()) else { return };
        let is_alone = self.settings.grows && list.parent().is_none() && list.voters().len() == 1;
        if !is_alone || self.role(list).is_none() || self.words.lists().any(|other| other.parent() == Some(list.id())) {
            return;
        }
        let others = self.words.of(Kind::Ready).filter_map(|word| {
            if let Word::Ready { node, voter } = word
                && facts.census.is_living(*node)
                && *node != self.me
            {
                Some(*voter)
            } else {
                None
            }
        });
        let voters: Vec<Voter> = list.voters().iter().copied().chain(others.take(2)).collect();
        if voters.len() == 3 {
            let list = List::successor(list.id(), voters);
            self.voter_says(Word::List(list));
        }
    }

    /// Lists before this one were given up, on disk, for a forced one.
    pub(super) fn floor(&self) -> Option<ListId> {
        let record = &self.desk.as_ref()?.record;
        [&record.list, &record.successor].into_iter().flatten().filter_map(|list| list.id().era()).max()
    }

    /// A forced list was signed: nothing counts or is done any more under any list before it. Whoever opens it is told all
    /// that is known here.
    fn give_up(&mut self) {
        let floor = self.floor();
        let later = self.words.lists().filter(|list| list.force().is_some() && Some(list.id()) > floor).last();
        if let Some(list) = later.cloned() {
            self.amend(|record| record.successor = Some(list));
        }
        if let Some(word) = self.yielding() {
            self.voter_says(word);
        }
    }

    fn open_lists(&mut self, now: Time) {
        let (open, floor) = (self.desk.as_ref().and_then(|desk| desk.record.list.as_ref()).map(List::id), self.floor());
        let is_later = |id: ListId| Some(id) > open && Some(id) >= floor;
        let mut later: Vec<List> = self.words.lists().filter(|list| is_later(list.id())).cloned().collect();
        later.retain(|list| self.role(list).is_some());
        for list in later {
            if let Some(records) = self.opens_with(&list) {
                self.open(list, records, now);
            }
        }
    }

    fn close_list(&mut self) {
        let lists: Vec<List> = self.words.lists().cloned().collect();
        for list in lists {
            if self.may_close(&list) {
                self.amend(|record| record.successor = Some(list));
                if let Some(word) = self.closing() {
                    self.voter_says(word);
                }
            }
        }
        // Again, after a start.
        if let Some(word) = self.closing() {
            self.voter_says(word);
        }
    }

    fn renew(&mut self, now: Time, list: ListId, voter: Voter) {
        let news = &self.words.news;
        let mut rounds: Vec<(NodeId, u64)> = if news.all {
            self.rounds().collect()
        } else {
            news.nodes.iter().map(|node| (*node, self.words.round(*node))).filter(|(_, round)| *round > 0).collect()
        };
        rounds.retain(|(node, _)| self.may_renew(*node));
        for (node, round) in rounds {
            if self.voter_says(Word::Answer { list, voter, node, round })
                && let Some(desk) = &mut self.desk
            {
                desk.heard.note(node, now);
            }
        }
    }

    fn rounds(&self) -> impl Iterator<Item = (NodeId, u64)> {
        let rounds = self.words.of(Kind::Round);
        rounds.filter_map(|word| if let Word::Round { node, round } = word { Some((*node, *round)) } else { None })
    }

    fn register_newcomers(&mut self, now: Time, list: ListId, voter: Voter) {
        let newcomers = self.words.of(Kind::Register).filter_map(|word| {
            if let Word::Register { node, start, knew } = word { Some((*node, *start, *knew)) } else { None }
        });
        let newcomers: Vec<_> = newcomers.collect();
        let Some(desk) = &mut self.desk else { return };
        let is_too_soon = desk.registered.is_some_and(|last| now < last.plus(self.settings.gather));
        desk.is_gathering = false;
        let mut accepted = Vec::new();
        for (node, start, knew) in newcomers {
            let Some(facts) = self.facts() else { return };
            let living = Census::living_fact(node);
            let on_record = facts.census.count(node.member());
            let other_start = facts.starts.get(&node).is_some_and(|known| *known != Some(start));
            let is_barred = facts.barred.contains(&node.member());
            if facts.census.is_gone(node) || is_barred || other_start || facts.banned.contains(&node) {
                let census = facts.census.clone();
                self.voter_says(Word::Registration { list, voter, node, start, accepted: false, census });
                continue;
            }
            // It continues the count on record, or the last one on record was silent for so long that it has stopped.
            let former = NodeId::of(node.member(), (on_record / 2) as u16);
            let continues = on_record % 2 == 0 || on_record <= knew || former == node;
            let is_said =
                self.words.get(&Key::Registration(voter, node, start)).is_some_and(|said| said.list() >= Some(list));
            if !is_said && (continues || self.is_silent(now, former)) {
                if is_too_soon {
                    self.desk.iter_mut().for_each(|desk| desk.is_gathering = true);
                    continue;
                }
                let mut facts = facts.clone();
                facts.census = facts.census.merged(&living);
                facts.starts.insert(node, Some(start));
                facts.tidy();
                self.keep_newcomer(facts);
                accepted.push((node, start));
            }
        }
        let gathers = self.settings.gather > Span(0) && !accepted.is_empty();
        self.desk.iter_mut().filter(|_| gathers).for_each(|desk| desk.registered = Some(now));
        // They hear of each other at once, so that their censuses are the same.
        for (node, start) in accepted {
            let Some(facts) = self.facts() else { return };
            let census = facts.census.merged(&Census::living_fact(node));
            self.voter_says(Word::Registration { list, voter, node, start, accepted: true, census });
        }
    }

    fn ratify_decisions(&mut self, list: ListId, voter: Voter) {
        let asked = self.words.of(Kind::Ratify).filter_map(|word| {
            if let Word::Ratify { node, attempt, census } = word {
                Some((*node, *attempt, census.clone()))
            } else {
                None
            }
        });
        for (node, attempt, census) in asked.collect::<Vec<_>>() {
            let answer = |beyond| Word::Ratification { list, voter, node, attempt, beyond };
            let said = self.words.get(&Key::Ratification(voter, node));
            if said.is_some_and(|said| said.age() >= answer(None).age()) {
                continue;
            }
            if self.knows_enough(&census) {
                self.keep_ratified(&census);
                self.voter_says(answer(None));
            } else {
                let beyond = self.facts().map(|facts| facts.census.clone());
                self.voter_says(answer(beyond));
            }
        }
    }

    fn remove_members(&mut self, now: Time, list: ListId, voter: Voter) {
        let asked = self.words.of(Kind::Removal).filter_map(|word| {
            if let Word::Removal { member, vouched } = word { Some((*member, *vouched)) } else { None }
        });
        let mut asked: Vec<(Member, bool)> = asked.collect();
        // Whom a forced list leaves out is barred without a word.
        let barred = self.facts().into_iter().flat_map(|facts| &facts.barred);
        let unasked = barred.filter(|member| !asked.iter().any(|(asked, _)| asked == *member));
        let unasked: Vec<(Member, bool)> = unasked.map(|member| (*member, false)).collect();
        asked.extend(unasked);
        for (member, vouched) in asked {
            if self.words.list(list).is_some_and(|list| list.voters().iter().any(|voter| voter.member == member)) {
                continue;
            }
            // To amend costs a copy of the record, and there may be many members.
            let is_on_record = |facts: &Facts| facts.barred.contains(&member) || facts.census.is_removed(member);
            if !self.facts().is_some_and(is_on_record) {
                self.amend(|record| _ = record.facts.barred.insert(member));
            }
            if let Some(desk) = &mut self.desk {
                desk.barred_since.entry(member).or_insert(now);
            }
            if self.may_remove(now, member, vouched) {
                self.amend(|record| {
                    record.facts.census = record.facts.census.merged(&Census::removed_fact(member));
                    record.facts.tidy();
                });
                self.voter_says(Word::Removed { list, voter, member });
            }
        }
    }

    /// Begins to wait for every node that it has not waited for yet, and takes over that nodes are gone.
    fn watch(&mut self, now: Time, news: &News) {
        let first = self.first_heard(now);
        let new: Vec<NodeId> = if news.all {
            self.rounds().map(|(node, _)| node).collect()
        } else {
            news.nodes.iter().copied().filter(|node| self.words.round(*node) > 0).collect()
        };
        let census = &self.census;
        let Some(desk) = &mut self.desk else { return };
        let on_record = &desk.record.facts.census;
        let is_watched = |node: NodeId| !census.is_gone(node) && !on_record.is_gone(node);
        let living = census.living().chain(on_record.living()).filter(|_| news.all).inspect(|_| looked::note());
        for node in living.chain(new).filter(|node| is_watched(*node)) {
            desk.heard.wait_for(node, first);
        }
        if !news.all {
            return; // nobody is gone who was not before
        }
        desk.heard.retain(is_watched);
        let gone: Vec<NodeId> = desk.record.facts.banned.iter().copied().filter(|node| census.is_gone(*node)).collect();
        if gone.is_empty() {
            return;
        }
        self.amend(|record| {
            for node in gone {
                record.facts.census = record.facts.census.merged(&Census::gone_fact(node));
                record.refused.remove(&node);
            }
            record.facts.tidy();
        });
    }

    pub(super) fn is_silent(&self, now: Time, node: NodeId) -> bool {
        let heard = self.desk.as_ref().and_then(|desk| desk.heard.get(node));
        heard.is_some_and(|heard| heard.plus(self.silence()) <= now)
    }

    /// Whom to suspect or to refuse may be found among these, in order: all others are as they were.
    fn nodes_to_judge(&mut self, now: Time, news: News) -> Vec<NodeId> {
        let silence = self.silence();
        let Some(desk) = &mut self.desk else { return Vec::new() };
        let silent = desk.heard.notice(silence, now);
        if news.all {
            return desk.heard.all().map(|(node, _)| node).collect();
        }
        let mut nodes = news.nodes;
        nodes.retain(|node| desk.heard.get(*node).is_some());
        nodes.extend(silent);
        nodes.into_iter().collect()
    }

    fn suspect(&mut self, now: Time, list: ListId, voter: Voter, nodes: &[NodeId]) {
        for node in nodes {
            let node = *node;
            if self.is_silent(now, node) {
                let round = self.words.round(node);
                self.voter_says(Word::Suspicion { list, voter, node, round });
            }
        }
    }

    fn refuse(&mut self, now: Time, list: ListId, voter: Voter, nodes: &[NodeId]) {
        let Some(contents) = self.words.list(list).cloned() else { return };
        for node in nodes {
            let node = *node;
            let is_refused = self.desk.as_ref().is_some_and(|desk| desk.record.refused.contains(&node));
            if is_refused || self.may_refuse(now, &contents, node) {
                self.amend(|record| {
                    record.refused.insert(node);
                    record.facts.banned.insert(node);
                });
                self.voter_says(Word::Refusal { list, voter, node });
            }
        }
    }

    /// Whether a majority of a list suspects a node, as far as no later round makes it void.
    pub(super) fn is_suspected(&self, list: &List, node: NodeId) -> bool {
        let known = self.words.round(node);
        let suspects = |voter: &&Voter| {
            let word = self.words.get(&Key::Suspicion(list.id(), **voter, node));
            word.is_some_and(|word| word.age().1 >= known)
        };
        list.is_majority(list.voters().iter().filter(suspects).count())
    }

    fn is_ready(&self, voter: Voter) -> bool {
        let serves = self.desk.iter().filter_map(|desk| desk.record.list.as_ref());
        let said = matches!(self.words.get(&Key::Ready(voter.member)), Some(Word::Ready { voter: ready, .. }) if *ready == voter);
        said || serves.into_iter().any(|list| list.voters().contains(&voter))
    }
}

impl Rules for Voting {
    fn counts_under(&self, list: &List) -> bool {
        self.floor().is_none_or(|floor| list.id() >= floor)
    }

    fn answered_round(&self) -> Option<u64> {
        let of_list = |list: &List| {
            let rounds = list.voters().iter().filter_map(|voter| self.round_answered_by(list, *voter)).collect();
            Self::majority_round(list, rounds)
        };
        self.words.lists().filter(|list| self.counts_under(list)).filter_map(of_list).max()
    }

    fn standing_from(&self, made: Time, _now: Time) -> Time {
        made
    }

    fn serves_again(&mut self, now: Time) -> bool {
        let half = Span(self.settings.round.0 / 2);
        self.standing.last_made().is_some_and(|made| now < made.plus(half))
    }

    fn registrations(&self) -> Option<Vec<Census>> {
        let list = self.majority(|list, voter| self.registered_by(list, voter).is_some())?;
        Some(list.voters().iter().filter_map(|voter| self.registered_by(list, *voter)).cloned().collect())
    }

    fn take_over(&self, records: Vec<Census>) -> Census {
        records.iter().fold(self.census.clone(), |all, record| all.merged(record))
    }

    fn is_ratified(&self, attempt: u64) -> bool {
        self.majority(|list, voter| self.ratified_by(list, voter, attempt)).is_some()
    }

    fn is_declared_gone(&self, node: NodeId) -> bool {
        self.majority(|list, voter| self.words.get(&Key::Refusal(list.id(), voter, node)).is_some()).is_some()
    }

    fn is_declared_removed(&self, member: Member) -> bool {
        self.majority(|list, voter| self.words.get(&Key::Removed(list.id(), voter, member)).is_some()).is_some()
    }

    fn role(&self, list: &List) -> Option<Voter> {
        let voter = Voter { member: self.me.member(), disk: self.desk.as_ref()?.record.disk };
        list.voters().contains(&voter).then_some(voter)
    }

    fn serving(&self, _duty: Duty) -> Option<(ListId, Voter)> {
        let record = &self.desk.as_ref()?.record;
        let list = record.list.as_ref().filter(|_| record.successor.is_none())?;
        Some((list.id(), self.role(list)?))
    }

    fn durable(&self) -> Option<VoterRecord> {
        self.desk.as_ref().map(|desk| desk.record.clone())
    }

    fn silence(&self) -> Span {
        self.settings.silence
    }

    fn first_heard(&self, now: Time) -> Time {
        now
    }

    fn may_renew(&self, node: NodeId) -> bool {
        let Some(facts) = self.facts() else { return false };
        let is_over = facts.census.is_gone(node) || self.census.is_gone(node);
        !is_over && !facts.banned.contains(&node) && !facts.barred.contains(&node.member())
    }

    fn may_refuse(&self, now: Time, list: &List, node: NodeId) -> bool {
        self.is_silent(now, node) && self.is_suspected(list, node)
    }

    fn keep_newcomer(&mut self, facts: Facts) {
        self.amend(|record| record.facts = facts);
    }

    fn knows_enough(&self, census: &Census) -> bool {
        self.facts().is_some_and(|facts| census.includes(&facts.census))
    }

    fn keep_ratified(&mut self, census: &Census) {
        self.amend(|record| {
            record.facts.census = record.facts.census.merged(census);
            record.facts.tidy();
        });
    }

    fn may_remove(&self, now: Time, member: Member, vouched: bool) -> bool {
        let since = self.desk.as_ref().and_then(|desk| desk.barred_since.get(&member));
        vouched || since.is_some_and(|since| since.plus(self.silence()) <= now)
    }

    fn may_close(&self, successor: &List) -> bool {
        let Some(record) = self.desk.as_ref().map(|desk| &desk.record) else { return false };
        let Some(list) = record.list.as_ref().filter(|_| record.successor.is_none()) else { return false };
        let ready = successor.voters().iter().filter(|voter| self.is_ready(**voter)).count();
        let follows = successor.parent() == Some(list.id()) && successor.force().is_none();
        follows && self.role(list).is_some() && successor.is_majority(ready)
    }

    fn closing(&self) -> Option<Word> {
        let record = &self.desk.as_ref()?.record;
        let (list, successor) =
            (record.list.as_ref()?, record.successor.as_ref().filter(|list| list.force().is_none())?);
        let facts = record.facts.clone();
        Some(Word::Closing { list: list.id(), voter: self.role(list)?, successor: successor.id(), facts })
    }

    fn yielding(&self) -> Option<Word> {
        let record = &self.desk.as_ref()?.record;
        let member = self.me.member();
        let list = record
            .successor
            .as_ref()
            .filter(|list| list.force().is_some_and(|force| force.members.contains(&member)))?;
        let mut facts = record.facts.clone();
        facts.merge(&Facts { census: self.census.clone(), ..Facts::default() });
        Some(Word::Yield { list: list.id(), member, facts })
    }

    fn left_out(&self, list: &List) -> Vec<Member> {
        list.force().into_iter().flat_map(Forced::lost).collect()
    }

    fn opens_with(&self, list: &List) -> Option<Vec<Facts>> {
        if list.force().is_some() {
            return self.words.is_made(list).then(|| self.words.yields(list).map(|(_, facts)| facts.clone()).collect());
        }
        let parent = self.words.list(list.parent()?)?;
        let closings: Vec<Facts> = self.words.closings(parent, list.id()).map(|(_, facts)| facts.clone()).collect();
        parent.is_majority(closings.len()).then_some(closings)
    }

    fn open(&mut self, list: List, records: Vec<Facts>, _now: Time) {
        let parent = list.parent().and_then(|parent| self.words.list(parent)).cloned();
        let closings = parent.iter().flat_map(|parent| self.words.closings(parent, list.id()));
        let closings: Vec<Word> = closings.chain(self.words.yields(&list)).map(|(word, _)| word.clone()).collect();
        let root = list.clone();
        let lists = parent.into_iter().chain([list.clone()]).map(Word::List);
        let opened_with = lists.chain(closings).collect();
        let left_out = self.left_out(&list);
        self.amend(|record| {
            records.iter().for_each(|facts| record.facts.merge(facts));
            record.facts.barred.extend(left_out);
            record.facts.tidy();
            (record.list, record.successor) = (Some(list), None);
            record.refused.clear();
            record.opened_with = opened_with;
        });
        if let Some(desk) = &mut self.desk {
            desk.heard.clear();
            desk.barred_since.clear();
        }
        self.words.root(root);
    }
}
