//! Voters call, and the rounds of all nodes come back the way the call went: an echo.
//!
//! A voter's round goes to all nodes, as words do, and is a call. Who hears it answers the neighbour that told it first, with
//! its own round and those that its other neighbours bring, once all of them have answered (one that tells the same call
//! has, as far as we are concerned). The voter's answers go back the same way, split where the ways part. So in a mesh at
//! rest a link carries a few frames for each call and interval, however many nodes there are. One voter calls for all of
//! them ([relief](super::relief)).
//!
//! Nothing rests on it but the cost. A neighbour that is slow is waited for for [`GATHER_MS`], and what comes late is passed
//! on at once; what is lost with a link is not repeated. A node that gets no answers, or hears no call, tells its rounds to
//! all, and answers find their way by [`ways`](super::Recovery::ways).

use std::collections::{BTreeMap, BTreeSet};

use meshlock_core::NodeId;
use meshlock_core::recovery::voters::{ListId, Voting, Word};

use super::super::alarms::Alarm;
use super::super::{Machine, Now};
use super::relief::Held;
use crate::wire::{Answered, Called, Frame, encode};

/// How long a node waits for the rounds of its neighbours before it passes on those that it has.
const GATHER_MS: u64 = 100;

/// How long the caller waits for them, where others are to be told: longer than those whom it waits for.
const CALLER_GATHERS_MS: u64 = 150;

/// Nodes and their rounds.
type Rounds = Vec<(NodeId, u64)>;

/// The last calls of all voters.
#[derive(Debug, Default)]
pub(super) struct Calls(BTreeMap<u16, Call>);

/// The last call of one voter.
#[derive(Debug)]
pub(super) struct Call {
    caller: NodeId,
    /// Its round.
    number: u64,
    /// Who told it. `None`: this node calls.
    pub(super) way: Option<NodeId>,
    /// Neighbours that have not answered.
    missing: BTreeSet<NodeId>,
    /// What is to be passed on.
    rounds: Vec<(NodeId, u64)>,
    /// Until then it waits for those that are missing. `None`: what comes is passed on at once.
    due: Option<Now>,
    /// The round of each member that came here, and who brought it.
    pub(super) brought: BTreeMap<u16, Brought>,
    /// The rounds that the caller told this node, because it votes as well.
    pub(super) told: BTreeMap<u16, (NodeId, u64)>,
    /// At the caller: answers that wait for those of other voters.
    pub(super) held: Option<Held>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Brought {
    pub(super) node: NodeId,
    round: u64,
    pub(super) by: NodeId,
}

impl Call {
    fn new(caller: NodeId, number: u64, way: Option<NodeId>, missing: BTreeSet<NodeId>, due: Option<Now>) -> Self {
        let (rounds, brought, told) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { caller, number, way, missing, rounds, due, brought, told, held: None }
    }

    /// Answers to rounds that came here, by whom they go to; and those to rounds of this node.
    pub(super) fn ways(&self, me: NodeId, rounds: Rounds) -> (BTreeMap<NodeId, Rounds>, Vec<u64>) {
        let mut ways = BTreeMap::<NodeId, Rounds>::new();
        let mut own = Vec::new();
        for (node, round) in rounds {
            if node == me {
                own.push(round);
            } else if let Some(brought) = self.brought.get(&node.member()).filter(|brought| brought.node == node) {
                ways.entry(brought.by).or_default().push((node, round));
            }
        }
        (ways, own)
    }
}

impl Calls {
    /// A call as this node knows it; an answer to an earlier one comes too late.
    pub(super) fn get(&mut self, caller: NodeId, number: u64) -> Option<&mut Call> {
        self.0.get_mut(&caller.member()).filter(|call| (call.caller, call.number) == (caller, number))
    }

    /// The last call of this node.
    pub(super) fn of(&mut self, me: NodeId) -> Option<&mut Call> {
        self.0.get_mut(&me.member()).filter(|call| call.caller == me)
    }

    /// As which incarnation a member called last.
    pub(super) fn last_caller(&self, member: u16) -> Option<NodeId> {
        self.0.get(&member).map(|call| call.caller)
    }

    /// The number of the last call of this node.
    pub(super) fn number_of(&self, me: NodeId) -> Option<u64> {
        self.0.get(&me.member()).filter(|call| call.caller == me).map(|call| call.number)
    }

    /// Who brought this round of a node to the last call of this node.
    fn brought_by(&self, me: NodeId, node: NodeId, round: u64) -> Option<(u64, NodeId)> {
        let call = self.0.get(&me.member()).filter(|call| call.caller == me)?;
        let brought = call.brought.get(&node.member())?;
        ((brought.node, brought.round) == (node, round)).then_some((call.number, brought.by))
    }

    /// The call with which this round of a node was told to this node, and who told it.
    fn told_with(&self, node: NodeId, round: u64) -> Option<(NodeId, u64, NodeId)> {
        let told = |call: &&Call| call.told.get(&node.member()) == Some(&(node, round));
        self.0.values().find(told).and_then(|call| Some((call.caller, call.number, call.way?)))
    }

    /// Forgets the calls of those who are gone.
    pub(super) fn retain(&mut self, is_living: impl Fn(NodeId) -> bool) {
        self.0.retain(|_, call| is_living(call.caller));
    }
}

/// Answers of this node's voter, by whom they go to, who called, and the list in which they count.
pub(super) type OnTheirWay = BTreeMap<(NodeId, NodeId, ListId), Answered>;

impl Machine {
    /// This node, which votes, tells all a round.
    pub(super) fn call(&mut self, now: Now, number: u64) {
        let caller = self.settings.id;
        // What has come of the last one still counts.
        self.gathered(now);
        self.give_answers();
        let gathers = self.tells_others();
        let missing = self.neighbours.keys().copied().filter(|_| gathers).collect();
        let due = gathers.then(|| now.plus_ms(CALLER_GATHERS_MS));
        let Some(recovery) = &mut self.recovery else { return };
        recovery.calls.0.insert(caller.member(), Call::new(caller, number, None, missing, due));
        due.into_iter().for_each(|due| self.alarms.set(due, Alarm::Call(caller.member())));
    }

    /// A neighbour tells a call that this node had not heard; it was told to all others.
    pub(super) fn called(&mut self, now: Now, way: NodeId, caller: NodeId, number: u64) {
        let mut round = None;
        let words = self.vote_silently(now, |voting, time| {
            let (told, acts) = voting.called(time);
            round = told;
            acts
        });
        self.say(now, words, None);
        let missing: BTreeSet<NodeId> = self.neighbours.keys().copied().filter(|id| *id != way).collect();
        let due = now.plus_ms(GATHER_MS);
        let mut call = Call::new(caller, number, Some(way), missing, Some(due));
        call.rounds.extend(round.map(|round| (self.settings.id, round)));
        let Some(recovery) = &mut self.recovery else { return };
        let before = recovery.calls.0.insert(caller.member(), call);
        before
            .and_then(|before| before.due)
            .into_iter()
            .for_each(|due| self.alarms.unset(due, Alarm::Call(caller.member())));
        self.alarms.set(due, Alarm::Call(caller.member()));
        self.pass_rounds_on(now, caller.member(), false);
    }

    /// A neighbour tells a call that this node knows: it brings nothing.
    pub(super) fn called_again(&mut self, now: Now, from: NodeId, caller: NodeId, number: u64) {
        let call = self.recovery.as_mut().and_then(|recovery| recovery.calls.get(caller, number));
        if call.is_some_and(|call| call.missing.remove(&from)) {
            self.pass_rounds_on(now, caller.member(), false);
        }
    }

    /// A neighbour brings rounds to a call.
    pub(crate) fn on_called(&mut self, now: Now, from: NodeId, called: Called) {
        let Some(called) = self.unless_told_to_voters(now, from, called) else { return };
        let Called { caller, number, mut rounds } = called;
        let Some(recovery) = &mut self.recovery else { return };
        let census = recovery.keeper.census();
        let me = self.settings.id;
        rounds.retain(|(node, _)| *node != me && !census.is_gone(*node));
        let Some(call) = recovery.calls.get(caller, number) else { return };
        for (node, round) in &rounds {
            call.brought.insert(node.member(), Brought { node: *node, round: *round, by: from });
        }
        call.missing.remove(&from);
        if call.way.is_some() || call.due.is_some() {
            call.rounds.extend(rounds);
            return self.pass_rounds_on(now, caller.member(), false);
        }
        self.tell_voters(&rounds);
        self.hear_rounds(now, rounds);
    }

    /// The caller has the rounds of all whom it waited for, if it still waits.
    fn gathered(&mut self, now: Now) {
        let me = self.settings.id.member();
        let call = self.recovery.as_mut().and_then(|recovery| recovery.calls.0.get_mut(&me));
        let Some(call) = call.filter(|call| call.way.is_none()) else { return };
        let Some(due) = call.due.take() else { return };
        let rounds = std::mem::take(&mut call.rounds);
        self.alarms.unset(due, Alarm::Call(me));
        let until = now.plus_ms(GATHER_MS);
        if self.hold_answers(&rounds, until) {
            self.alarms.set(until, Alarm::Call(me));
        }
        self.hear_rounds(now, rounds);
    }

    /// This voter hears rounds that others brought or told.
    pub(super) fn hear_rounds(&mut self, now: Now, rounds: Vec<(NodeId, u64)>) {
        let mut said = Vec::new();
        for (node, round) in rounds {
            let word = Word::Round { node, round };
            let mut words = self.vote_silently(now, |voting, time| voting.hear(time, word.clone()));
            words.retain(|said| *said != word); // nobody else has to hear it
            said.extend(words);
        }
        self.say(now, said, None);
    }

    /// Passes on what there is, if nobody is missing or it is time.
    fn pass_rounds_on(&mut self, now: Now, caller: u16, is_due: bool) {
        let call = self.recovery.as_mut().and_then(|recovery| recovery.calls.0.get_mut(&caller));
        let Some(call) = call else { return };
        let Some(way) = call.way else {
            if call.missing.is_empty() || is_due {
                self.gathered(now);
            }
            return;
        };
        let waits = call.due.is_some() && !call.missing.is_empty() && !is_due;
        // The first answer tells that this node has answered; what is late tells rounds only.
        if waits || (call.due.is_none() && call.rounds.is_empty()) {
            return;
        }
        let rounds = std::mem::take(&mut call.rounds);
        let due = call.due.take();
        let frame = encode(&Frame::Called(Called { caller: call.caller, number: call.number, rounds }));
        due.into_iter().for_each(|due| self.alarms.unset(due, Alarm::Call(caller)));
        self.post(way, &frame);
    }

    /// Neighbours were waited for long enough.
    pub(crate) fn call_due(&mut self, now: Now, caller: u16) {
        if caller == self.settings.id.member() {
            self.give_answers(); // before others may be held
        }
        self.pass_rounds_on(now, caller, true);
    }

    /// A neighbour is gone, and brings nothing any more.
    pub(crate) fn call_link_down(&mut self, now: Now, node: NodeId) {
        let Some(recovery) = &mut self.recovery else { return };
        let waiting =
            recovery.calls.0.iter_mut().filter_map(|(caller, call)| call.missing.remove(&node).then_some(*caller));
        for caller in waiting.collect::<Vec<_>>() {
            self.pass_rounds_on(now, caller, false);
        }
    }

    /// Whether an answer of this node's voter goes the way of a call, its own or that of another; if so, it is among those.
    pub(super) fn goes_the_way_of_the_call(&self, word: &Word, answers: &mut OnTheirWay) -> bool {
        let Word::Answer { list, voter, node, round } = word else { return false };
        let me = self.settings.id;
        let calls = self.recovery.as_ref().filter(|_| voter.member == me.member()).map(|recovery| &recovery.calls);
        let own = |calls: &Calls| calls.brought_by(me, *node, *round).map(|(number, way)| (me, number, way));
        let way = calls.and_then(|calls| own(calls).or_else(|| calls.told_with(*node, *round)));
        let Some((caller, number, way)) = way.filter(|(.., way)| self.neighbours.contains_key(way)) else {
            return false;
        };
        let (list, voter) = (*list, *voter);
        let none = || Answered { caller, number, list, voter, rounds: Vec::new() };
        answers.entry((way, caller, list)).or_insert_with(none).rounds.push((*node, *round));
        true
    }

    /// A neighbour tells what a voter answered to those who answered a call.
    pub(crate) fn on_answered(&mut self, now: Now, from: NodeId, answered: Answered) {
        let me = self.settings.id;
        let call = self.recovery.as_mut().and_then(|recovery| recovery.calls.get(answered.caller, answered.number));
        let Some(call) = call else { return };
        if call.way != Some(from) {
            return self.on_answered_by_another(from, answered);
        }
        let Answered { caller, number, list, voter, rounds } = answered;
        let (ways, own) = call.ways(me, rounds);
        for (way, rounds) in ways {
            let frame = encode(&Frame::Answered(Answered { caller, number, list, voter, rounds }));
            self.post(way, &frame);
        }
        for round in own {
            self.vote(now, |voting, time| voting.hear(time, Word::Answer { list, voter, node: me, round }));
        }
    }

    /// Whether a new neighbour need not hear this: a round that a call brought to its voter, or the answer to it.
    pub(super) fn is_settled_by_call(&self, voting: &Voting, word: &Word) -> bool {
        let (Word::Round { node, round } | Word::Answer { node, round, .. }) = word else { return false };
        let me = self.settings.id;
        let calls = self.recovery.as_ref().map(|recovery| &recovery.calls);
        let has_come =
            |calls: &Calls| calls.brought_by(me, *node, *round).is_some() || calls.told_with(*node, *round).is_some();
        calls.is_some_and(has_come) || (*node == me && voting.is_renewed() && !voting.calls())
    }
}
