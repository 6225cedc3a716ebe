//! One node among voters: its standing, its registration, its ratifications, and its voter if it has one.
//!
//! A plain value. The driver tells it the time and what neighbours say, and carries out the [acts](Act). Nothing is
//! repeated: words stay in the table, and every new link begins with all of them.
//!
//! ```text
//!   driver                         voting
//!     hear(word), wake, ...   ->
//!                             <-   Say(word)        to all neighbours
//!                             <-   Keep(record)     to disk, and then:
//!     kept(record)            ->
//!                             <-   Say(word)        what rests on that record
//! ```
//!
//! A voter's words are held back until its record is durable. If the disk fails, the driver does nothing: every later
//! call offers the record again.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::super::census::{Census, Member};
use super::list::{List, Voter};
use super::record::{StartId, VoterRecord};
#[cfg_attr(feature = "mutants", allow(unused_imports))]
use super::rules::{Duty, Rules};
use super::standing::Standing;
use super::time::{Settings, Span, Time};
use super::voter::Desk;
use super::word::{Key, Word};
use super::words::{Kind, Words};
use crate::planted::Planted;
use crate::vocabulary::NodeId;

/// What the driver has to do, in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Act {
    /// Make this durable, then call [`Voting::kept`] with it.
    Keep(VoterRecord),
    /// Tell all neighbours.
    Say(Word),
    /// These are facts.
    Learn(Census),
    /// This node may take part from now on.
    Registered,
    /// This incarnation may not take part: begin anew, above every count of the facts learned before.
    Rejected,
    /// A majority has seen this census, and knows nothing beyond it.
    Ratified(Census),
    /// A peer said what no honest peer can say. It was ignored.
    Impossible(Word),
}

/// A list that was proposed to follow the one in force, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Proposed {
    /// The list.
    pub list: List,
    /// Whose agreement has not been heard.
    pub missing: Vec<Member>,
    /// Those of its voters that have not said that they could vote with this disk, if these are too many.
    pub unready: Vec<Member>,
}

/// How a node starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Drawn at random.
    pub id: StartId,
    /// The greatest count of itself that its disk knew: all incarnations up to it are certain to have stopped.
    pub knew: u32,
    /// It goes on with saved state, as the incarnation that was registered before, with this
    /// [counter](Voting::counter). It has no standing before a majority answers a new round.
    pub resumes: Option<u64>,
}

/// One node among voters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Voting {
    pub(super) me: NodeId,
    pub(super) settings: Settings,
    pub(super) start: StartId,
    pub(super) knew: u32,
    pub(super) census: Census,
    pub(super) words: Words,
    pub(super) standing: Standing,
    pub(super) is_registered: bool,
    pub(super) is_rejected: bool,
    pub(super) attempt: u64,
    /// What the heir asks the voters to ratify.
    pub(super) ratifying: Option<Census>,
    pub(super) desk: Option<Desk>,
    /// When a voter before this one told it the rounds of all. It decides only who calls.
    pub(super) relieved: Option<Time>,
    pub(super) planted: Planted,
}

impl Voting {
    /// A node that starts. `list`: the last that it knows to be in force. `record`: what is on its disk, if it may vote.
    pub fn new(me: NodeId, start: Start, settings: Settings, list: Option<List>, record: Option<VoterRecord>) -> Self {
        let mut words = Words::default();
        list.into_iter().for_each(|list| words.root(list));
        let counter = start.resumes.unwrap_or(0);
        let mut voting = Self {
            me,
            settings,
            start: start.id,
            knew: start.knew,
            census: Census::default(),
            words,
            standing: Standing::after(counter),
            is_registered: start.resumes.is_some(),
            is_rejected: false,
            attempt: counter,
            ratifying: None,
            desk: None,
            relieved: None,
            planted: Planted::NONE,
        };
        voting.desk = record.map(|record| voting.sit_down(record));
        voting
    }

    /// A neighbour tells the first list of the mesh, which is in force without closings. Who has not heard it cannot open
    /// the list that follows, so it is passed on like any other word.
    pub fn found(&mut self, now: Time, list: List) -> Vec<Act> {
        let is_news = self.words.list(list.id()).is_none();
        self.words.root(list.clone());
        let acts = is_news.then_some(Act::Say(Word::List(list))).into_iter().collect();
        self.settle(now, acts)
    }

    /// The same member as its next incarnation, which is registered anew; its voter stays what it was.
    #[must_use]
    pub fn anew(&self, me: NodeId, start: StartId, knew: u32) -> Self {
        let start = Start { id: start, knew, resumes: None };
        Self::new(me, start, self.settings, self.list().cloned(), self.record())
    }

    /// A list that this node had heard of before it started. It need not be in force.
    pub fn know(&mut self, list: List) {
        self.words.hear(Word::List(list), &self.census);
    }

    // What happens.

    /// Time has passed.
    pub fn wake(&mut self, now: Time) -> Vec<Act> {
        let mut acts = Vec::new();
        if self.makes_rounds() && self.next_round().is_none_or(|due| due <= now) {
            self.make_round(now, &mut acts);
        }
        self.settle(now, acts)
    }

    /// A voter calls: it has made a round, and wants those of all others on the way back. Which round it is to be told, if
    /// there is any: a new one, unless the last is so recent that it serves as well. All others are told too if voters have
    /// not answered for a while, so nothing depends on that way.
    pub fn called(&mut self, now: Time) -> (Option<u64>, Vec<Act>) {
        let mut acts = Vec::new();
        if self.makes_rounds() && !self.calls() && !self.serves_again(now) {
            self.make_round(now, &mut acts);
            if self.standing.is_renewed(&self.settings) {
                acts.clear();
            }
        }
        let acts = self.settle(now, acts);
        (self.standing.last_made().map(|_| self.standing.round()), acts)
    }

    /// A voter that comes before this one calls, and tells it the rounds of all: this one need not call as long as that goes
    /// on. It makes its rounds when it is called, like a node that does not vote, and calls again when none was told it for
    /// a little longer than the time between two calls.
    pub fn relieve(&mut self, now: Time) {
        self.relieved = Some(now);
    }

    /// The driver did not listen for so long: whoever this voter did not hear meanwhile was not silent.
    pub fn was_deaf(&mut self, now: Time, lasted: Span) {
        if let Some(desk) = &mut self.desk {
            desk.heard.postpone(lasted, now);
        }
    }

    /// A neighbour tells something.
    pub fn hear(&mut self, now: Time, word: Word) -> Vec<Act> {
        if !word.is_possible() {
            return [Act::Impossible(word)].into();
        }
        let mut acts = Vec::new();
        if self.words.hear(word.clone(), &self.census) {
            acts.push(Act::Say(word));
            acts = self.settle(now, acts);
        }
        acts
    }

    /// The record is durable.
    pub fn kept(&mut self, now: Time, record: &VoterRecord) -> Vec<Act> {
        let is_newest = self.durable().as_ref() == Some(record);
        if let Some(desk) = &mut self.desk {
            desk.is_kept |= is_newest;
        }
        if is_newest { self.settle(now, Vec::new()) } else { Vec::new() }
    }

    /// The node has learned facts, from whatever source.
    pub fn learn(&mut self, now: Time, facts: &Census) -> Vec<Act> {
        if self.census.includes(facts) {
            return Vec::new();
        }
        self.census = self.census.merged(facts);
        self.words.forget(&self.census);
        self.settle(now, Vec::new())
    }

    /// Asks to take part. [`Act::Registered`] or [`Act::Rejected`] will follow.
    pub fn register(&mut self, now: Time, census: &Census) -> Vec<Act> {
        self.census = self.census.merged(census);
        self.words.news.all = true;
        let word = Word::Register { node: self.me, start: self.start, knew: self.knew };
        self.ask(now, word)
    }

    /// The heir asks to decide in this census. [`Act::Ratified`] will follow, or facts that it did not know.
    pub fn ratify(&mut self, now: Time, census: &Census) -> Vec<Act> {
        if self.ratifying.as_ref() == Some(census) {
            return Vec::new();
        }
        self.attempt += 1;
        self.ratifying = Some(census.clone());
        self.ask(now, Word::Ratify { node: self.me, attempt: self.attempt, census: census.clone() })
    }

    /// Proposes other voters. `None`: no such list is possible, or no list is known that it could follow.
    pub fn change_voters(
        &mut self,
        now: Time,
        voters: impl IntoIterator<Item = Voter>,
        permission: Vec<u8>,
    ) -> Option<(List, Vec<Act>)> {
        let mut list = List::successor(self.words.in_force()?.id(), voters);
        list.permission = permission;
        let acts = list.is_possible().then(|| self.ask(now, Word::List(list.clone())))?;
        Some((list, acts))
    }

    /// The operator wants a member removed. A member that votes must leave the list of voters first.
    pub fn remove(&mut self, now: Time, member: Member, vouched: bool) -> Vec<Act> {
        let word = Word::Removal { member, vouched };
        if self.words.get(&word.key()).is_some() { Vec::new() } else { self.ask(now, word) }
    }

    // What there is to see.

    /// This node.
    pub const fn me(&self) -> NodeId {
        self.me
    }

    /// Whether the rounds of a node are calls: it is a voter of the list in force.
    pub fn is_caller(&self, node: NodeId) -> bool {
        self.list().is_some_and(|list| list.voters().iter().any(|voter| voter.member == node.member()))
    }

    /// Whether this node calls for the rounds of all: it votes, and no voter before it does.
    pub fn calls(&self) -> bool {
        self.serving(Duty::Renew).is_some() && !self.is_relieved()
    }

    /// Whether voters have answered this node lately.
    pub fn is_renewed(&self) -> bool {
        self.standing.is_renewed(&self.settings)
    }

    /// Until when this node may act. `None`: it never could.
    pub const fn standing_until(&self) -> Option<Time> {
        self.standing.until()
    }

    /// Whether voters have this node on record.
    pub const fn is_registered(&self) -> bool {
        self.is_registered
    }

    /// All facts known here.
    pub const fn census(&self) -> &Census {
        &self.census
    }

    /// To be saved with the state of a node that will [resume](Start::resumes).
    pub fn counter(&self) -> u64 {
        self.standing.round().max(self.attempt)
    }

    /// Everything that is remembered: what a new neighbour has to hear.
    pub const fn words(&self) -> &Words {
        &self.words
    }

    /// The voter's record as it must be on disk, if this node may vote.
    pub fn record(&self) -> Option<VoterRecord> {
        self.durable()
    }

    /// The list in force, as far as is known here.
    pub fn list(&self) -> Option<&List> {
        self.words.in_force()
    }

    /// The lists that were proposed to follow the one in force, as far as is known here. Two of them are rivals.
    pub fn proposed(&self) -> Vec<Proposed> {
        let Some(force) = self.list() else { return Vec::new() };
        let follows = |list: &&List| match list.force() {
            Some(_) => list.id() > force.id(),
            None => list.parent() == Some(force.id()),
        };
        let waits = self.words.lists().filter(follows).map(|list| {
            if let Some(forced) = list.force() {
                let missing = |member: &&Member| self.words.get(&Key::Yield(list.id(), **member)).is_none();
                let missing = forced.members.iter().filter(missing).copied().collect();
                return Proposed { list: list.clone(), missing, unready: Vec::new() };
            }
            let agreed = |voter: &&Voter| self.words.get(&Key::Closing(force.id(), **voter, list.id())).is_none();
            let missing = force.voters().iter().filter(agreed).map(|voter| voter.member).collect();
            let said = |voter: &Voter| {
                let ready = self.words.get(&Key::Ready(voter.member));
                matches!(ready, Some(Word::Ready { voter: ready, .. }) if ready == voter)
            };
            let unready = list.voters().iter().filter(|voter| !said(voter) && !force.voters().contains(voter));
            let mut unready: Vec<Member> = unready.map(|voter| voter.member).collect();
            if list.is_majority(list.voters().len() - unready.len()) {
                unready.clear();
            }
            Proposed { list: list.clone(), missing, unready }
        });
        waits.collect()
    }

    /// Who suspects whom: suspicions that no later round has made void.
    pub fn suspicions(&self) -> impl Iterator<Item = (Voter, NodeId)> {
        let open = |word: &Word| {
            if let Word::Suspicion { voter, node, round, .. } = word
                && *round >= self.words.round(*node)
            {
                Some((*voter, *node))
            } else {
                None
            }
        };
        self.words.all().filter_map(open)
    }

    /// Since when this node's voter has not heard each node.
    pub fn silent_since(&self) -> impl Iterator<Item = (NodeId, Time)> {
        self.desk.iter().flat_map(|desk| desk.heard.all())
    }

    /// When [`wake`](Self::wake) should be called, if nothing is heard before.
    pub fn next_wake(&self) -> Option<Time> {
        let round = self.makes_rounds().then(|| self.next_round().unwrap_or_default());
        round.into_iter().chain(self.deadlines()).min()
    }

    // What follows.

    fn ask(&mut self, now: Time, word: Word) -> Vec<Act> {
        let mut acts = Vec::new();
        if self.words.hear(word.clone(), &self.census) {
            acts.push(Act::Say(word));
        }
        self.settle(now, acts)
    }

    fn makes_rounds(&self) -> bool {
        self.is_registered && !self.census.is_gone(self.me)
    }

    /// The rounds of all were told since this voter made its last round.
    fn is_relieved(&self) -> bool {
        self.relieved.is_some_and(|at| self.standing.last_made().is_some_and(|made| made <= at))
    }

    /// When the next round is due, unless a voter calls before. `None`: at once.
    fn next_round(&self) -> Option<Time> {
        let settings = &self.settings;
        let wait = if self.calls() || !self.standing.is_renewed(settings) {
            settings.round
        } else if self.is_relieved() {
            settings.relief()
        } else {
            settings.patience
        };
        self.standing.last_made().map(|made| made.plus(wait))
    }

    /// Draws every conclusion from what is known now.
    fn settle(&mut self, now: Time, mut acts: Vec<Act>) -> Vec<Act> {
        loop {
            self.take_part(now, &mut acts);
            self.learn_from_voters(&mut acts);
            self.vote(now);
            if !self.tell(&mut acts) {
                break;
            }
        }
        if self.desk.as_ref().is_some_and(|desk| !desk.is_kept) {
            acts.extend(self.durable().map(Act::Keep));
        }
        acts
    }

    /// The voter's words become known here and everywhere, once its record is durable. Whether any was news.
    fn tell(&mut self, acts: &mut Vec<Act>) -> bool {
        let told = acts.len();
        let Some(desk) = self.desk.as_mut().filter(|desk| desk.is_kept) else { return false };
        for word in core::mem::take(&mut desk.outbox) {
            if self.words.hear(word.clone(), &self.census) {
                acts.push(Act::Say(word));
            }
        }
        acts.len() > told
    }

    /// As a node that voters have on record.
    fn take_part(&mut self, now: Time, acts: &mut Vec<Act>) {
        if !self.is_registered && self.words.get(&Key::Register(self.me, self.start)).is_some() {
            self.hear_registrations(acts);
        }
        // The first at once, all others when it is time.
        if self.makes_rounds() && self.standing.last_made().is_none() {
            self.make_round(now, acts);
        }
        if let Some(made) = self.answered_round().and_then(|round| self.standing.answered(round)) {
            let from = self.standing_from(made, now);
            self.standing.extend(from.plus(self.settings.standing));
        }
        if self.ratifying.is_some() && self.is_ratified(self.attempt) {
            acts.extend(self.ratifying.take().map(Act::Ratified));
        }
    }

    fn make_round(&mut self, now: Time, acts: &mut Vec<Act>) {
        let word = Word::Round { node: self.me, round: self.standing.make_round(now, &self.settings) };
        if self.words.hear(word.clone(), &self.census) {
            acts.push(Act::Say(word));
        }
    }

    fn hear_registrations(&mut self, acts: &mut Vec<Act>) {
        let answers = self.words.of(Kind::Registration).filter_map(|word| {
            if let Word::Registration { node, start, accepted: false, census, .. } = word {
                Some((*node, *start, census))
            } else {
                None
            }
        });
        let me = (self.me, self.start);
        let rejected =
            answers.filter(|(node, start, _)| (*node, *start) == me).map(|(.., census)| census.clone()).last();
        if let Some(census) = rejected {
            if !self.is_rejected {
                self.is_rejected = true;
                self.learn_fact(census, acts);
                acts.push(Act::Rejected);
            }
        } else if let Some(records) = self.registrations() {
            self.is_registered = true;
            let taken = self.take_over(records);
            self.learn_fact(taken, acts);
            acts.push(Act::Registered);
        }
    }

    /// What a majority of voters says is a fact.
    fn learn_from_voters(&mut self, acts: &mut Vec<Act>) {
        let mut refused = BTreeSet::new();
        let mut removed = BTreeSet::new();
        let mut facts = Vec::new();
        let kinds = [Kind::Refusal, Kind::Ratification, Kind::Removal, Kind::Removed];
        for word in kinds.into_iter().flat_map(|kind| self.words.of(kind)) {
            if let Word::Refusal { node, .. } = word {
                refused.insert(*node);
            } else if let Word::Removal { member, .. } | Word::Removed { member, .. } = word {
                removed.insert(*member);
            } else if let Word::Ratification { node, attempt, beyond: Some(beyond), .. } = word
                && *node == self.me
                && *attempt == self.attempt
                && self.ratifying.is_some()
                && !self.census.includes(beyond)
            {
                facts.push(beyond.clone());
            }
        }
        facts.extend(refused.into_iter().filter(|node| self.is_declared_gone(*node)).map(Census::gone_fact));
        facts.extend(removed.into_iter().filter(|member| self.is_declared_removed(*member)).map(Census::removed_fact));
        for fact in facts {
            self.learn_fact(fact, acts);
        }
    }

    fn learn_fact(&mut self, fact: Census, acts: &mut Vec<Act>) {
        if !self.census.includes(&fact) {
            self.census = self.census.merged(&fact);
            self.words.forget(&self.census);
            acts.push(Act::Learn(fact));
        }
    }

    /// For which list, if for any, a majority of voters says so: each names its list, and counts there only.
    pub(super) fn majority(&self, says: impl Fn(&List, Voter) -> bool) -> Option<&List> {
        let has_majority = |list: &&List| {
            let voters = list.voters().iter().filter(|voter| says(list, **voter));
            list.is_majority(voters.count())
        };
        self.words.lists().filter(|list| self.counts_under(list)).find(has_majority)
    }

    /// The round that a voter has answered under this list.
    pub(super) fn round_answered_by(&self, list: &List, voter: Voter) -> Option<u64> {
        match self.words.get(&Key::Answer(voter, self.me)) {
            Some(Word::Answer { list: named, round, .. }) if *named == list.id() => Some(*round),
            Some(_) | None => None,
        }
    }

    /// What a voter knew under this list when it registered this node.
    pub(super) fn registered_by(&self, list: &List, voter: Voter) -> Option<&Census> {
        match self.words.get(&Key::Registration(voter, self.me, self.start)) {
            Some(Word::Registration { list: named, accepted: true, census, .. }) if *named == list.id() => Some(census),
            Some(_) | None => None,
        }
    }

    /// Whether a voter has agreed to an attempt under this list.
    pub(super) fn ratified_by(&self, list: &List, voter: Voter, asked: u64) -> bool {
        let word = self.words.get(&Key::Ratification(voter, self.me));
        matches!(word, Some(Word::Ratification { list: named, attempt, beyond: None, .. })
            if *named == list.id() && *attempt == asked)
    }

    /// The median of what voters answered: at least a majority of them answered this round or a later one.
    pub(super) fn majority_round(list: &List, mut rounds: Vec<u64>) -> Option<u64> {
        rounds.sort_unstable_by(|one, other| other.cmp(one));
        (1..=rounds.len()).find(|count| list.is_majority(*count)).map(|count| rounds[count - 1])
    }
}
