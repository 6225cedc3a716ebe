//! Voters call, and the rounds of all nodes come back the way the call went: an echo.
//!
//! A voter's round goes to all nodes, as words do, and is a call. Who hears it answers the neighbour that told it first, with
//! its own round and those that its other neighbours bring, once all of them have answered (one that tells the same call
//! has, as far as we are concerned). The voter's answers go back the same way, split where the ways part. So in a mesh at
//! rest a link carries a few frames for each voter and interval, however many nodes there are.
//!
//! Nothing rests on it but the cost. A neighbour that is slow is waited for for [`GATHER_MS`], and what comes late is passed
//! on at once; what is lost with a link is not repeated. A node that gets no answers, or hears no call, tells its rounds to
//! all, and answers find their way by [`ways`](super::Recovery::ways).

use std::collections::{BTreeMap, BTreeSet};

use meshlock_core::NodeId;
use meshlock_core::recovery::voters::{ListId, Voting, Word};

use super::super::alarms::Alarm;
use super::super::{Machine, Now};
use crate::wire::{Answered, Called, Frame, encode};

/// How long a node waits for the rounds of its neighbours before it passes on those that it has.
const GATHER_MS: u64 = 100;

/// The last calls of all voters.
#[derive(Debug, Default)]
pub(super) struct Calls(BTreeMap<u16, Call>);

/// The last call of one voter.
#[derive(Debug)]
struct Call {
    caller: NodeId,
    /// Its round.
    number: u64,
    /// Who told it. `None`: this node calls.
    way: Option<NodeId>,
    /// Neighbours that have not answered.
    missing: BTreeSet<NodeId>,
    /// What is to be passed on.
    rounds: Vec<(NodeId, u64)>,
    /// Until then it waits for those that are missing. `None`: what comes is passed on at once.
    due: Option<Now>,
    /// The round of each member that came here, and who brought it.
    brought: BTreeMap<u16, Brought>,
}

#[derive(Clone, Copy, Debug)]
struct Brought {
    node: NodeId,
    round: u64,
    by: NodeId,
}

impl Calls {
    /// A call as this node knows it; an answer to an earlier one comes too late.
    fn get(&mut self, caller: NodeId, number: u64) -> Option<&mut Call> {
        self.0.get_mut(&caller.member()).filter(|call| (call.caller, call.number) == (caller, number))
    }

    /// Who brought this round of a node to the last call of this node.
    fn brought_by(&self, me: NodeId, node: NodeId, round: u64) -> Option<(u64, NodeId)> {
        let call = self.0.get(&me.member()).filter(|call| call.caller == me)?;
        let brought = call.brought.get(&node.member())?;
        ((brought.node, brought.round) == (node, round)).then_some((call.number, brought.by))
    }

    /// Forgets the calls of those who are gone.
    pub(super) fn retain(&mut self, is_living: impl Fn(NodeId) -> bool) {
        self.0.retain(|_, call| is_living(call.caller));
    }
}

/// Answers of this node's voter, by whom they go to and the list in which they count.
pub(super) type OnTheirWay = BTreeMap<(NodeId, ListId), Answered>;

impl Machine {
    /// This node, which votes, tells all a round.
    pub(super) fn call(&mut self, number: u64) {
        let caller = self.settings.id;
        let Some(recovery) = &mut self.recovery else { return };
        let (missing, rounds, brought) = (BTreeSet::new(), Vec::new(), BTreeMap::new());
        let call = Call { caller, number, way: None, missing, rounds, due: None, brought };
        recovery.calls.0.insert(caller.member(), call);
    }

    /// A neighbour tells a call that this node had not heard; it was told to all others.
    pub(super) fn called(&mut self, now: Now, way: NodeId, caller: NodeId, number: u64) {
        let mut round = None;
        let words = self.vote_silently(now, |voting, time| {
            let (told, acts) = voting.called(time);
            round = told;
            acts
        });
        self.say(words, None);
        let missing: BTreeSet<NodeId> = self.neighbours.keys().copied().filter(|id| *id != way).collect();
        let rounds = round.map(|round| (self.settings.id, round)).into_iter().collect();
        let due = now.plus_ms(GATHER_MS);
        let call = Call { caller, number, way: Some(way), missing, rounds, due: Some(due), brought: BTreeMap::new() };
        let Some(recovery) = &mut self.recovery else { return };
        let before = recovery.calls.0.insert(caller.member(), call);
        before
            .and_then(|before| before.due)
            .into_iter()
            .for_each(|due| self.alarms.unset(due, Alarm::Call(caller.member())));
        self.alarms.set(due, Alarm::Call(caller.member()));
        self.pass_rounds_on(caller.member(), false);
    }

    /// A neighbour tells a call that this node knows: it brings nothing.
    pub(super) fn called_again(&mut self, from: NodeId, caller: NodeId, number: u64) {
        let call = self.recovery.as_mut().and_then(|recovery| recovery.calls.get(caller, number));
        if call.is_some_and(|call| call.missing.remove(&from)) {
            self.pass_rounds_on(caller.member(), false);
        }
    }

    /// A neighbour brings rounds to a call.
    pub(crate) fn on_called(&mut self, now: Now, from: NodeId, called: Called) {
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
        if call.way.is_some() {
            call.rounds.extend(rounds);
            return self.pass_rounds_on(caller.member(), false);
        }
        let mut said = Vec::new();
        for (node, round) in rounds {
            let word = Word::Round { node, round };
            let mut words = self.vote_silently(now, |voting, time| voting.hear(time, word.clone()));
            words.retain(|said| *said != word); // nobody else has to hear it
            said.extend(words);
        }
        self.say(said, None);
    }

    /// Passes on what there is, if nobody is missing or it is time.
    fn pass_rounds_on(&mut self, caller: u16, is_due: bool) {
        let call = self.recovery.as_mut().and_then(|recovery| recovery.calls.0.get_mut(&caller));
        let Some((call, way)) = call.and_then(|call| call.way.map(|way| (call, way))) else { return };
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
    pub(crate) fn call_due(&mut self, caller: u16) {
        self.pass_rounds_on(caller, true);
    }

    /// A neighbour is gone, and brings nothing any more.
    pub(crate) fn call_link_down(&mut self, node: NodeId) {
        let Some(recovery) = &mut self.recovery else { return };
        let waiting =
            recovery.calls.0.iter_mut().filter_map(|(caller, call)| call.missing.remove(&node).then_some(*caller));
        for caller in waiting.collect::<Vec<_>>() {
            self.pass_rounds_on(caller, false);
        }
    }

    /// Whether an answer of this node's voter goes the way of its call; if so, it is among those.
    pub(super) fn goes_the_way_of_the_call(&self, word: &Word, answers: &mut OnTheirWay) -> bool {
        let Word::Answer { list, voter, node, round } = word else { return false };
        let caller = self.settings.id;
        let calls = self.recovery.as_ref().filter(|_| voter.member == caller.member()).map(|recovery| &recovery.calls);
        let brought = calls.and_then(|calls| calls.brought_by(caller, *node, *round));
        let Some((number, way)) = brought.filter(|(_, way)| self.neighbours.contains_key(way)) else { return false };
        let (list, voter) = (*list, *voter);
        let all =
            answers.entry((way, list)).or_insert_with(|| Answered { caller, number, list, voter, rounds: Vec::new() });
        all.rounds.push((*node, *round));
        true
    }

    /// A neighbour tells what a voter answered to those who answered its call.
    pub(crate) fn on_answered(&mut self, now: Now, from: NodeId, answered: Answered) {
        let Answered { caller, number, list, voter, rounds } = answered;
        let me = self.settings.id;
        let call = self.recovery.as_mut().and_then(|recovery| recovery.calls.get(caller, number));
        let Some(call) = call.filter(|call| call.way == Some(from)) else { return };
        let mut ways = BTreeMap::<NodeId, Vec<(NodeId, u64)>>::new();
        let mut own = Vec::new();
        for (node, round) in rounds {
            if node == me {
                own.push(round);
            } else if let Some(brought) = call.brought.get(&node.member()).filter(|brought| brought.node == node) {
                ways.entry(brought.by).or_default().push((node, round));
            }
        }
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
        let is_brought = calls.is_some_and(|calls| calls.brought_by(me, *node, *round).is_some());
        is_brought || (*node == me && voting.is_renewed() && !voting.is_caller(me))
    }
}
