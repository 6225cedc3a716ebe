//! One voter calls for all: it tells the others the rounds that its call brought, and gives their answers with its own.
//!
//! ```text
//!   first voter      calls; has the rounds of all; tells them to the other voters, down the ways on which their rounds came
//!   another voter    hears them, and answers up the way of the call; need not call itself as long as that goes on
//!   first voter      gives the answers of all voters to all nodes at once, down the ways on which the rounds came
//! ```
//!
//! The first is the one with the smallest member. One that does not hear its calls, or is not told the rounds, calls as
//! if it were alone, so nothing depends on the first: that decides only who calls, as in [`calls`](super::calls). Whoever
//! calls tells all other voters, also those before it: two voters that know different rounds of a node that died do not count
//! each other's suspicions, and where they are the last two of three nobody would declare it gone. For the same reason a voter
//! calls until all others have told it something.
//!
//! What voters are told has the form of what is brought to a call, with a number that no call has: a node that does not
//! know of this does not know the call either, and lets it be. Then the voters behind it call.

use std::collections::BTreeSet;

use meshlock_core::NodeId;

use super::super::{Machine, Now};
use crate::wire::{Answered, Called, Frame, encode};

/// In the number of a call: its rounds are told to the other voters, not brought to the caller.
const TO_VOTERS: u64 = 1 << 63;

/// Answers that the caller holds back, so that those of all voters go together.
#[derive(Debug)]
pub(super) struct Held {
    until: Now,
    /// Voters that have not answered.
    missing: BTreeSet<u16>,
    answers: Vec<(NodeId, Answered)>,
}

impl Machine {
    /// The voters, but for this member.
    fn voters_beside(&self, member: u16) -> impl Iterator<Item = u16> {
        let voters = self.voting().and_then(|voting| voting.list()).map_or(&[][..], |list| list.voters());
        voters.iter().map(|voter| voter.member).filter(move |voter| *voter != member)
    }

    /// Whether there are voters that are to be told what a call of this one brings.
    pub(super) fn tells_others(&self) -> bool {
        self.voters_beside(self.settings.id.member()).next().is_some()
    }

    /// Whether all other voters have told this one what their calls brought, each in its last life: every voter calls when it
    /// comes. One that does not knows only what its own calls bring, so this one must not make rounds that it does not hear of.
    fn all_voters_tell(&self) -> bool {
        let Some(recovery) = &self.recovery else { return false };
        let tells = |voter: u16| {
            let teller = recovery.tellers.get(&voter).copied();
            teller.is_some() && recovery.calls.last_caller(voter).is_none_or(|caller| Some(caller) == teller)
        };
        self.voters_beside(self.settings.id.member()).all(tells)
    }

    /// The caller tells the other voters what it was brought. Which of them it can reach.
    pub(super) fn tell_voters(&mut self, rounds: &[(NodeId, u64)]) -> BTreeSet<u16> {
        let me = self.settings.id;
        let number = self.recovery.as_ref().and_then(|recovery| recovery.calls.number_of(me));
        let Some(number) = number.filter(|_| !rounds.is_empty()) else { return BTreeSet::new() };
        self.pass_to_voters(Called { caller: me, number, rounds: rounds.to_vec() })
    }

    /// Passes on what voters are told, to each neighbour that brought the round of one of them.
    fn pass_to_voters(&mut self, called: Called) -> BTreeSet<u16> {
        let Called { caller, number, rounds } = called;
        let voters: Vec<u16> =
            self.voters_beside(caller.member()).filter(|voter| *voter != self.settings.id.member()).collect();
        let call = self.recovery.as_mut().and_then(|recovery| recovery.calls.get(caller, number));
        let Some(call) = call else { return BTreeSet::new() };
        let by = |voter: &u16| call.brought.get(voter).map(|brought| (*voter, brought.by));
        let reached: Vec<(u16, NodeId)> = voters.iter().filter_map(by).collect();
        let ways: BTreeSet<NodeId> = reached.iter().map(|(_, way)| *way).collect();
        if !ways.is_empty() {
            let frame = encode(&Frame::Called(Called { caller, number: number | TO_VOTERS, rounds }));
            ways.into_iter().for_each(|way| self.post(way, &frame));
        }
        reached.into_iter().map(|(voter, _)| voter).collect()
    }

    /// What the caller tells other voters, and not what is brought to it: passes it on, and hears it if this node votes.
    pub(super) fn unless_told_to_voters(&mut self, now: Now, from: NodeId, called: Called) -> Option<Called> {
        if called.number & TO_VOTERS == 0 {
            return Some(called);
        }
        let number = called.number & !TO_VOTERS;
        let caller = called.caller;
        let me = self.settings.id;
        let recovery = self.recovery.as_mut()?;
        let are_voters =
            recovery.voting.as_ref().is_some_and(|voting| voting.is_caller(me) && voting.is_caller(caller));
        let call = recovery.calls.get(caller, number).filter(|call| call.way == Some(from))?;
        let mut rounds = Vec::new();
        if are_voters {
            let census = recovery.keeper.census();
            rounds.extend(called.rounds.iter().copied().filter(|(node, _)| *node != me && !census.is_gone(*node)));
            call.told.extend(rounds.iter().map(|told| (told.0.member(), *told)));
            recovery.tellers.insert(caller.member(), caller);
        }
        self.pass_to_voters(Called { number, ..called });
        if are_voters && caller.member() < me.member() && self.all_voters_tell() {
            self.vote(now, |voting, time| {
                voting.relieve(time);
                Vec::new()
            });
        }
        self.hear_rounds(now, rounds);
        None
    }

    /// The caller has all rounds: it tells them, and holds its answers until those whom it told have answered too, or until
    /// then. Whether there is anybody to wait for.
    pub(super) fn hold_answers(&mut self, rounds: &[(NodeId, u64)], until: Now) -> bool {
        let missing = self.tell_voters(rounds);
        if missing.is_empty() {
            return false;
        }
        let me = self.settings.id;
        if let Some(call) = self.recovery.as_mut().and_then(|recovery| recovery.calls.of(me)) {
            call.held = Some(Held { until, missing, answers: Vec::new() });
        }
        true
    }

    /// An answer of this node's voter goes there, with those of other voters if it called for them.
    pub(super) fn answer(&mut self, way: NodeId, answered: Answered) {
        let me = self.settings.id;
        let is_own = answered.caller == me;
        let call = self.recovery.as_mut().filter(|_| is_own).and_then(|recovery| recovery.calls.of(me));
        match call.and_then(|call| call.held.as_mut()) {
            Some(held) => held.answers.push((way, answered)),
            None => self.post(way, &encode(&Frame::Answered(answered))),
        }
    }

    /// Another voter answers what the caller told it: that goes up to the caller, and from there to all.
    pub(super) fn on_answered_by_another(&mut self, from: NodeId, answered: Answered) {
        let me = self.settings.id;
        let Some(recovery) = &mut self.recovery else { return };
        let Some(call) = recovery.calls.get(answered.caller, answered.number) else { return };
        if call.brought.get(&answered.voter.member).is_none_or(|brought| brought.by != from) {
            return;
        }
        if let Some(way) = call.way {
            return self.post(way, &encode(&Frame::Answered(answered)));
        }
        let Answered { caller, number, list, voter, rounds } = answered;
        let (ways, _) = call.ways(me, rounds);
        let is_last =
            call.held.as_mut().is_some_and(|held| held.missing.remove(&voter.member) && held.missing.is_empty());
        for (way, rounds) in ways {
            self.answer(way, Answered { caller, number, list, voter, rounds });
        }
        if is_last {
            self.give_answers();
        }
    }

    /// Nobody is waited for any more: the answers go.
    pub(super) fn give_answers(&mut self) {
        let me = self.settings.id;
        let call = self.recovery.as_mut().and_then(|recovery| recovery.calls.of(me));
        let Some(held) = call.and_then(|call| call.held.take()) else { return };
        self.alarms.unset(held.until, super::super::alarms::Alarm::Call(me.member()));
        for (way, answered) in held.answers {
            self.post(way, &encode(&Frame::Answered(answered)));
        }
    }
}
