//! Voters: the rules are [`Voting`]'s, this carries them out.
//!
//! Words go to all neighbours, except that a voter's answer goes back the way the question came: nobody else needs it, and
//! there are several for each node in every round. Most rounds are no words at all: they answer a voter's
//! [call](super::calls). A voter's record is on disk before what rests on it is said. Facts are
//! learned like those from any other source. Standing decides whether this node may grant.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_core::NodeId;
use meshlock_core::recovery::Census;
use meshlock_core::recovery::voters::{Act, List, Span, Time, Voting, Word};

use super::super::alarms::Alarm;
use super::super::{Machine, Now};
use super::calls::OnTheirWay;
use crate::links::{LONGEST_FRAME, Outgoing};
use crate::mesh::Member;
use crate::mesh::voters::Known;
use crate::wire::{Frame, encode};

/// How many words go into one frame at most, if they fit: most are below 100 bytes.
const MOST_WORDS: usize = 200;

/// Words in frames that links take at once. One word with a census of all members that there can be fits.
fn frames_of(words: &[Word]) -> Vec<Outgoing> {
    let mut frames = Vec::new();
    for part in words.chunks(MOST_WORDS) {
        let frame = encode(&Frame::Words(part.to_vec()));
        if frame.len() <= LONGEST_FRAME || part.len() == 1 {
            frames.push(frame);
        } else {
            let (first, second) = part.split_at(part.len() / 2);
            frames.extend(frames_of(first));
            frames.extend(frames_of(second));
        }
    }
    frames
}

/// When something could not be made durable, it is tried again after this.
const DISK_AGAIN_MS: u64 = 1_000;

/// A node whose alarm is handled so late did not listen meanwhile.
const DEAF_MS: u64 = 100;

impl Now {
    /// As voters count.
    pub(crate) const fn time(self) -> Time {
        Time(self.0 / 1_000_000)
    }

    /// Not later than this moment of voters' time.
    pub(crate) const fn of(time: Time) -> Self {
        Self(time.0.saturating_mul(1_000_000))
    }
}

impl Machine {
    pub(crate) fn voting(&self) -> Option<&Voting> {
        self.recovery.as_ref().and_then(|recovery| recovery.voting.as_deref())
    }

    /// Does something with the voters, if there are any, and carries out what comes of it.
    pub(crate) fn vote(&mut self, now: Now, what: impl FnOnce(&mut Voting, Time) -> Vec<Act>) {
        let words = self.vote_silently(now, what);
        self.say(now, words, None);
    }

    /// The same, but for the words that are to be said, which are returned.
    pub(super) fn vote_silently(&mut self, now: Now, what: impl FnOnce(&mut Voting, Time) -> Vec<Act>) -> Vec<Word> {
        if self.is_silent() {
            return Vec::new();
        }
        let Some(recovery) = &mut self.recovery else { return Vec::new() };
        let Some(voting) = &mut recovery.voting else { return Vec::new() };
        // Whoever waited for a disk or a processor has not listened: others may have said what was not heard yet.
        let late_ms = recovery.voting_alarm.map_or(0, |due| now.0.saturating_sub(due.0) / 1_000_000);
        if late_ms >= DEAF_MS {
            voting.was_deaf(now.time(), Span(late_ms));
        }
        let acts = what(voting, now.time());
        let words = self.carry_out(now, acts);
        self.look_at_standing(now);
        words
    }

    /// Does what is to be done, up to the words that are to be said.
    fn carry_out(&mut self, now: Now, acts: Vec<Act>) -> Vec<Word> {
        let mut words = Vec::new();
        let mut acts = std::collections::VecDeque::from(acts);
        while let Some(act) = acts.pop_front() {
            match act {
                Act::Say(word) => words.push(word),
                Act::Keep(record) => {
                    let Some(recovery) = &mut self.recovery else { return words };
                    match recovery.disk.keep_voter(&record) {
                        Ok(()) => {
                            let kept = recovery.voting.as_mut().map(|voting| voting.kept(now.time(), &record));
                            acts.extend(kept.into_iter().flatten());
                        }
                        Err(error) => self.disk_failed(now, &error),
                    }
                }
                Act::Learn(facts) => {
                    if let Err(error) = self.learn_facts(now, &facts) {
                        self.disk_failed(now, &error);
                    }
                }
                Act::Registered => self.remarks.push("a majority of voters has this node on record".to_owned()),
                Act::Rejected => self.expel(now, "voters know a later incarnation of this node than its disk does"),
                Act::Ratified(census) => {
                    if let Some(recovery) = &mut self.recovery {
                        recovery.keeper.ratified(&census);
                    }
                    self.repair(now);
                }
                Act::Impossible(word) => {
                    self.counts.rejected += 1;
                    self.note(format!("ignored what no honest voter says: {word:?}"));
                }
            }
        }
        words
    }

    /// Tells neighbours, but not the one from whom the words came.
    pub(super) fn say(&mut self, now: Now, words: Vec<Word>, except: Option<NodeId>) {
        let (mut for_all, mut on_its_way) = (Vec::new(), BTreeMap::<NodeId, Vec<Word>>::new());
        let mut answers = OnTheirWay::new();
        for word in words {
            if self.goes_the_way_of_the_call(&word, &mut answers) {
                continue;
            }
            if let Word::Round { node, round } = &word
                && *node == self.settings.id
                && self.voting().is_some_and(|voting| voting.is_caller(*node))
            {
                self.call(now, *round);
            }
            let asker = if let Word::Answer { node, .. } = &word { Some(*node) } else { None };
            if asker == Some(self.settings.id) {
                continue; // it has arrived
            }
            match asker.and_then(|asker| self.way_to(asker)).filter(|way| Some(*way) != except) {
                Some(way) => on_its_way.entry(way).or_default().push(word),
                None => for_all.push(word),
            }
        }
        let frames = frames_of(&for_all);
        let all: Vec<NodeId> = self.neighbours.keys().copied().filter(|id| Some(*id) != except).collect();
        for neighbour in all {
            let own = on_its_way.remove(&neighbour).map(|own| frames_of(&[for_all.as_slice(), &own].concat()));
            own.as_ref().unwrap_or(&frames).iter().for_each(|frame| self.post(neighbour, frame));
        }
        for ((way, ..), answered) in answers {
            self.answer(way, answered);
        }
    }

    /// The neighbour that told the latest round of a node first, if it is still one.
    fn way_to(&self, node: NodeId) -> Option<NodeId> {
        let way = self.recovery.as_ref()?.ways.get(&node.member())?;
        self.neighbours.contains_key(way).then_some(*way)
    }

    fn disk_failed(&mut self, now: Now, error: &str) {
        self.note(format!("{error}: what rests on it is not done, and it is tried again"));
        self.alarms.set(now.plus_ms(DISK_AGAIN_MS), Alarm::Voting);
    }

    /// A neighbour tells words.
    pub(crate) fn on_words(&mut self, now: Now, from: NodeId, words: Vec<Word>) {
        let (mut passed_on, mut own, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for word in words {
            if let Word::List(list) = &word
                && !self.permits(list)
            {
                let name = self.name_of(from).unwrap_or_default();
                self.note(format!("ignored a list of voters from {name}: the mesh's authority did not sign it"));
                continue;
            }
            let heard = word.clone();
            if let Word::Round { node, round } = &word {
                self.called_again(now, from, *node, *round);
            }
            let said = if let Word::List(list) = &word
                && self.is_founding(list)
            {
                self.vote_silently(now, |voting, time| voting.found(time, list.clone()))
            } else {
                self.vote_silently(now, |voting, time| voting.hear(time, word))
            };
            for word in said {
                let is_news = word == heard;
                if let (true, Word::Round { node, round }, Some(recovery)) = (is_news, &word, &mut self.recovery) {
                    recovery.ways.insert(node.member(), from);
                    let is_caller = recovery.voting.as_ref().is_some_and(|voting| voting.is_caller(*node));
                    calls.extend(is_caller.then_some((*node, *round)));
                }
                if is_news { passed_on.push(word) } else { own.push(word) }
            }
        }
        self.say(now, passed_on, Some(from));
        self.say(now, own, None);
        for (caller, number) in calls {
            self.called(now, from, caller, number);
        }
    }

    /// The first list of a mesh has the founder alone. Who knows no list yet begins with it.
    fn is_founding(&self, list: &List) -> bool {
        let first = list.is_possible() && list.parent().is_none() && list.voters().len() == 1;
        first && self.voting().is_some_and(|voting| voting.list().is_none())
    }

    /// Whether a list may be at all: the first, the step that it permits, or one that the authority signed.
    fn permits(&self, list: &List) -> bool {
        let Some(recovery) = &self.recovery else { return false };
        let parent = |id| self.voting().and_then(|voting| voting.words().list(id));
        match list.parent() {
            None => list.voters().len() == 1,
            Some(id) => {
                let grows = parent(id).is_some_and(|parent| list.is_founding_step(parent));
                // Until the parent is known, a list without a signature cannot be told from a founding step.
                let is_unsigned = list.permission.is_empty() && list.force().is_none();
                grows || is_unsigned || recovery.disk.permits(list)
            }
        }
    }

    /// What a new neighbour has to hear of voters.
    pub(crate) fn word_frames(&self) -> Vec<Outgoing> {
        let Some(voting) = self.voting() else { return Vec::new() };
        let is_open = |word: &&Word| !self.is_settled_by_call(voting, word);
        let words: Vec<Word> = voting.words().all().filter(is_open).cloned().collect();
        frames_of(&words)
    }

    /// The list in force, those who could vote, and what is proposed, where there are voters.
    pub fn voters_known(&self) -> Option<Known> {
        let voting = self.voting()?;
        let ready = |word: &Word| if let Word::Ready { voter, .. } = word { Some(*voter) } else { None };
        let ready = voting.words().all().filter_map(ready).collect();
        Some(Known { list: voting.list()?.clone(), ready, proposed: voting.proposed() })
    }

    /// An operator wants other voters. To be repeated until they vote: what is told now may be lost with this incarnation,
    /// and nothing is told while clients of the former run may still hold on. An error says why these can never follow.
    pub fn propose_voters(&mut self, now: Now, list: List) -> Result<(), String> {
        if !self.permits(&list) || list.permission.is_empty() {
            return Err("the mesh's authority did not sign this list of voters".to_owned());
        }
        let Some(voting) = self.voting() else { return Err("this mesh has no voters".to_owned()) };
        if list.force().is_some() {
            let is_later = |other: &List| other.force().is_some() && other.id() > list.id();
            if voting.list().is_some_and(|force| force.id() >= list.id()) || voting.words().lists().any(is_later) {
                return Err("another list was forced since this one was signed; repeat the command".to_owned());
            }
            self.vote(now, |voting, time| voting.hear(time, Word::List(list)));
            return Ok(());
        }
        let Some(in_force) = voting.list().filter(|force| list.parent() == Some(force.id())) else {
            return Err("the voters have changed since this list was signed; repeat `meshlock mesh voters`".to_owned());
        };
        // Each voter agrees to one of two, so that neither might get a majority, ever.
        let is_split = in_force.voters().len() > 1;
        if is_split && voting.proposed().iter().any(|rival| rival.list.id() != list.id()) {
            return Err("others were proposed before, and voters may have agreed to them".to_owned());
        }
        self.vote(now, |voting, time| voting.hear(time, Word::List(list)));
        Ok(())
    }

    /// Facts that could not be stored are tried again, and voters and standing are looked at.
    pub(crate) fn voting_due(&mut self, now: Now) {
        self.end_silence(now);
        if self.is_silent() {
            return;
        }
        let known = self.voting().map(|voting| voting.census().clone());
        if let Some(census) = known.filter(|_| !self.is_expelled())
            && let Err(error) = self.learn_facts(now, &census)
        {
            self.disk_failed(now, &error);
        }
        self.vote(now, Voting::wake);
    }

    /// Grants or does not, as the standing is; and sets the alarm for when that may change.
    pub(crate) fn look_at_standing(&mut self, now: Now) {
        let Some(voting) = self.voting() else { return };
        let until = voting.standing_until().map(Now::of);
        let next = voting.next_wake().map(|at| Now::of(at).max(Now(now.0.saturating_add(1))));
        let has_standing = until.is_some_and(|until| now < until) && !self.is_expelled();
        let reason = if has_standing {
            String::new()
        } else if let Some(forced) = self.forced_words() {
            forced
        } else if voting.is_registered() {
            "this node cannot reach a majority of the mesh's voters, so others may take it for gone".to_owned()
        } else {
            "this node waits until a majority of the mesh's voters has it on record".to_owned()
        };
        self.set_voting_alarm(next.into_iter().chain(until.filter(|until| now < *until)).min());
        if has_standing {
            self.resume_granting(now);
        } else {
            self.suspend(now, &reason);
        }
    }

    /// Whom a list waits for that a person forced, because a majority of the voters was lost.
    fn forced_words(&self) -> Option<String> {
        let proposed = self.voting()?.proposed().into_iter().rfind(|proposed| proposed.list.force().is_some())?;
        let missing: Vec<String> = proposed.missing.iter().map(|member| self.member_name(*member)).collect();
        Some(format!("other voters were forced, and wait until {} gave up the former ones", missing.join(", ")))
    }

    fn set_voting_alarm(&mut self, at: Option<Now>) {
        let Some(recovery) = &mut self.recovery else { return };
        let before = std::mem::replace(&mut recovery.voting_alarm, at);
        if before != at {
            before.into_iter().for_each(|before| self.alarms.unset(before, Alarm::Voting));
            at.into_iter().for_each(|at| self.alarms.set(at, Alarm::Voting));
        }
    }

    /// Until when this node has standing, where there are voters.
    pub(crate) fn standing_until(&self) -> Option<Now> {
        self.voting().map(|voting| voting.standing_until().map_or(Now::default(), Now::of))
    }

    /// An operator removed these members. `gone`: for some of them a person vouches that they have stopped for good, and
    /// all who were invited by then. Without voters only that is a fact. Whether the voters were told: not while clients of
    /// the former run may still hold on.
    pub fn remove_members(&mut self, now: Now, removed: &BTreeSet<Member>, gone: &Census) -> Result<bool, String> {
        if self.voting().is_none() {
            return if removed.is_empty() { Ok(true) } else { self.learn_facts(now, gone).map(|()| true) };
        }
        if self.is_silent() {
            return Ok(removed.is_empty());
        }
        for member in removed {
            if self.census().is_some_and(|census| !census.is_removed(member.0)) {
                let vouched = gone.is_removed(member.0);
                self.vote(now, |voting, time| voting.remove(time, member.0, vouched));
            }
        }
        Ok(true)
    }
}
