//! Voters: who stands, who is declared gone, who is registered, what is ratified.
//!
//! Messages to and from voters are not simulated: in a mesh they are tables on frames that travel anyway. Their timing
//! is. A node and a voter hear each other if both run and a path of links joins them; an answer takes as long as a
//! message there and back. What voters have on disk is one record, which a majority in one part of the network reads and
//! writes. All clocks drift: a node counts its standing by its own, and a voter waits by the fastest that is allowed.

use meshlock_core::recovery::Census;
use meshlock_core::{Event, NodeId};

use super::World;
use super::leave::Presence;
use crate::agenda::{Ballot, Due};
use crate::observe::Observer;
use crate::outcome::Declaration;
use crate::random::{Purpose, Streams};
use crate::scenario::{Network, Scenario, Voting};
use crate::time::{Span, Time};

/// What voters know, and the standing of all nodes.
#[derive(Clone, Debug)]
pub(super) struct Voters {
    voting: Voting,
    /// On their disks.
    record: Census,
    /// By voter and node: when it heard of that node last.
    heard: Vec<Vec<Time>>,
    /// By voter: when it started.
    started: Vec<Time>,
    /// By node: how fast its clock runs.
    rates: Vec<f64>,
    /// By node: the end of its standing, in true time.
    until: Vec<Time>,
    stands: Vec<bool>,
    /// By node: it asks voters to be registered, or to ratify its census, and waits for the answer.
    asks: Vec<bool>,
    /// How long a message takes over a link.
    hop: Span,
    /// When a node tells voters first.
    phases: Vec<Span>,
}

/// Rounds in the time of a standing.
const ROUNDS: f64 = 6.0;
/// The size of what goes to voters and back, on a radio.
const BYTES: f64 = 200.0;

impl Voters {
    pub(super) fn new(voting: Voting, scenario: &Scenario, streams: Streams) -> Self {
        let nodes = scenario.nodes;
        let mut clocks: Vec<_> = (0..nodes).map(|node| streams.stream(Purpose::Clock, node)).collect();
        let rates: Vec<f64> = clocks.iter_mut().map(|clock| 1.0 + clock.between(-voting.drift, voting.drift)).collect();
        let every = voting.standing.seconds() / ROUNDS;
        let hop = match &scenario.network {
            Network::Radio(radio) => 8.0 * BYTES / radio.bandwidth + radio.latency.seconds(),
            Network::Wired(wired) => wired.delay.mean(),
        };
        Self {
            record: Census::of_living((0..nodes).map(NodeId)),
            heard: vec![vec![Time::ZERO; nodes as usize]; voting.voters as usize],
            started: vec![Time::ZERO; voting.voters as usize],
            until: rates.iter().map(|rate| Time::ZERO + lasts(voting.standing, *rate)).collect(),
            stands: vec![true; nodes as usize],
            asks: vec![false; nodes as usize],
            hop: Span::from_seconds(hop),
            phases: clocks.iter_mut().map(|clock| Span::from_seconds(clock.between(0.0, every))).collect(),
            rates,
            voting,
        }
    }

    pub(super) fn standing_ends(&self, node: u32) -> Time {
        self.until[node as usize]
    }

    pub(super) fn stands(&self, node: u32) -> bool {
        self.stands[node as usize]
    }

    /// Whether voters hold this incarnation for gone.
    pub(super) fn refuse(&self, incarnation: NodeId) -> bool {
        self.record.is_gone(incarnation)
    }

    /// The time between two rounds of a node.
    fn every(&self, node: u32) -> Span {
        lasts(Span::from_seconds(self.voting.standing.seconds() / ROUNDS), self.rates[node as usize])
    }

    /// The standing that a round made now will give.
    fn standing_from(&self, node: u32, now: Time) -> Time {
        now + lasts(self.voting.standing, self.rates[node as usize])
    }

    /// How long the fastest voter waits.
    fn wait(&self) -> Span {
        lasts(self.voting.wait, 1.0 + self.voting.drift)
    }
}

/// How long a time by a clock of this rate really is.
fn lasts(span: Span, rate: f64) -> Span {
    Span::from_seconds(span.seconds() / rate)
}

impl World {
    /// Puts everybody's first round on the agenda.
    pub(super) fn plan_rounds(&mut self) {
        let Some(voters) = self.faults.as_ref().and_then(|faults| faults.voters.as_ref()) else { return };
        let (phases, until, wait) = (voters.phases.clone(), voters.until.clone(), voters.wait());
        for (node, (phase, until)) in (0..).zip(phases.into_iter().zip(until)) {
            let life = self.life(node);
            self.agenda.add(Time::ZERO + phase, Due::from(Ballot::Round { node, life }));
            self.agenda.add(until, Due::from(Ballot::Expires { node, life }));
            self.agenda.add(Time::ZERO + wait, Due::from(Ballot::Suspect { node, life }));
        }
    }

    pub(super) fn vote(&mut self, ballot: Ballot, observer: &mut dyn Observer) {
        match ballot {
            // Of a former incarnation, or of a node that is down: its return starts its own.
            Ballot::Round { node, life } | Ballot::Answered { node, life, .. } | Ballot::Expires { node, life }
                if life != self.life(node) || self.is_gone(node) => {}
            Ballot::Round { node, .. } => self.round(node),
            Ballot::Answered { node, until, .. } => self.stand(node, until),
            Ballot::Expires { node, .. } => self.expire(node, observer),
            Ballot::Suspect { node, life } => self.suspect(node, life),
            Ballot::Tell { voter } => self.tell_voter(voter, observer),
            Ballot::Register { node } => self.register(node, observer),
            Ballot::Ratify { node } => self.ratify(node, observer),
        }
    }

    fn voters(&mut self) -> Option<&mut Voters> {
        self.faults.as_mut().and_then(|faults| faults.voters.as_mut())
    }

    fn known(&self) -> Option<&Voters> {
        self.faults.as_ref().and_then(|faults| faults.voters.as_ref())
    }

    /// Voters that a node can reach, with the number of hops, the nearest first.
    fn in_contact(&self, node: u32) -> Vec<(u32, u32)> {
        let Some(voters) = self.known() else { return Vec::new() };
        let hops = self.links.hops_from(node);
        let reached = (0..voters.voting.voters).filter(|voter| !self.is_gone(*voter));
        let mut reached: Vec<(u32, u32)> = reached.map(|voter| (hops[voter as usize], voter)).collect();
        reached.retain(|(hops, _)| *hops != u32::MAX);
        reached.sort_unstable();
        reached
    }

    /// How long it takes until a majority of voters has answered a node, if one is in reach.
    fn answer_takes(&self, node: u32) -> Option<Span> {
        let voters = self.known()?;
        let (hops, _) = *self.in_contact(node).get(voters.voting.majority() - 1)?;
        Some(Span(voters.hop.0.saturating_mul(2 * u64::from(hops))))
    }

    /// A node tells all voters in reach that it is there.
    fn round(&mut self, node: u32) {
        let now = self.now;
        let life = self.life(node);
        let Some(voters) = self.known() else { return };
        self.agenda.add(now + voters.every(node), Due::from(Ballot::Round { node, life }));
        let Some(member) = self.member(node) else { return };
        let (me, running) = (member.me(), member.is_running());
        if !running {
            return self.try_to_register(node);
        }
        let answer = self.answer_takes(node);
        let reached = self.in_contact(node);
        let Some(voters) = self.voters() else { return };
        if !voters.refuse(me) {
            for (_, voter) in reached {
                voters.heard[voter as usize][node as usize] = now;
            }
            let until = voters.standing_from(node, now);
            match answer {
                Some(_) if voters.stands(node) => voters.until[node as usize] = until,
                Some(after) => self.agenda.add(now + after, Due::from(Ballot::Answered { node, life, until })),
                None => {}
            }
        }
        self.try_to_ratify(node);
    }

    fn stand(&mut self, node: u32, until: Time) {
        let now = self.now;
        let life = self.life(node);
        let Some(voters) = self.voters() else { return };
        voters.until[node as usize] = until.max(voters.until[node as usize]);
        if until <= now || std::mem::replace(&mut voters.stands[node as usize], true) {
            return;
        }
        self.agenda.add(until, Due::from(Ballot::Expires { node, life }));
        self.clients.welcome(node, now, &mut self.agenda);
    }

    /// A node without word of most voters stops: what its clients hold is over.
    fn expire(&mut self, node: u32, observer: &mut dyn Observer) {
        let now = self.now;
        let life = self.life(node);
        let Some(voters) = self.voters() else { return };
        let until = voters.until[node as usize];
        if !voters.stands(node) {
            return;
        }
        if until > now {
            return self.agenda.add(until, Due::from(Ballot::Expires { node, life }));
        }
        voters.stands[node as usize] = false;
        self.end_clients(node, observer);
        // Unless another node waits for the token and is in reach, it is of no use here.
        let keeps_token = self.has_token(node);
        if let Some(faults) = self.faults.as_mut().filter(|_| keeps_token) {
            faults.begin_outage(now);
        }
    }

    /// A majority of voters, in one part of the network.
    pub(super) fn quorum(&self) -> Option<Vec<u32>> {
        let voting = self.known()?.voting;
        let parts = self.links.parts();
        let running: Vec<u32> = (0..voting.voters).filter(|voter| !self.is_gone(*voter)).collect();
        let together = |part: u32| -> Vec<u32> {
            running.iter().copied().filter(|voter| parts[*voter as usize] == part).collect()
        };
        running.iter().map(|voter| together(parts[*voter as usize])).find(|all| all.len() >= voting.majority())
    }

    /// Whether a majority of voters has heard nothing of an incarnation for too long.
    fn suspect(&mut self, node: u32, life: u16) {
        let me = NodeId::of(NodeId(node).member(), life);
        let now = self.now;
        let quorum = self.quorum();
        let Some(voters) = self.known().filter(|voters| !voters.refuse(me)) else { return };
        let Some(quorum) = quorum else {
            let again = now + voters.every(node);
            return self.agenda.add(again, Due::from(Ballot::Suspect { node, life }));
        };
        let silent = |voter: &u32| {
            let heard = voters.heard[*voter as usize][node as usize];
            heard.max(voters.started[*voter as usize]) + voters.wait()
        };
        let mut waits: Vec<Time> = quorum.iter().map(silent).collect();
        waits.sort_unstable();
        let due = waits.get(voters.voting.majority() - 1).copied().unwrap_or(Time::NEVER);
        if due > now {
            return self.agenda.add(due, Due::from(Ballot::Suspect { node, life }));
        }
        self.declare(node, me, &quorum);
    }

    fn declare(&mut self, node: u32, me: NodeId, quorum: &[u32]) {
        let now = self.now;
        let hops = quorum.first().map(|first| self.links.hops_from(*first));
        let far = |voter: &u32| hops.as_ref().map_or(0, |hops| u64::from(hops[*voter as usize]));
        let most = quorum.iter().map(far).max().unwrap_or(0);
        let wrongly = self.takes_part(node);
        if let Some(faults) = &mut self.faults {
            faults.seen.facts.push(now);
            faults.seen.declared.push(Declaration { at: now, node: NodeId(node), wrongly });
        }
        let Some(voters) = self.voters() else { return };
        voters.record = voters.record.merged(&Census::gone_fact(me));
        // They tell each other of their suspicion, then of their refusal.
        let found = now + Span(voters.hop.0.saturating_mul(2 * most));
        for voter in quorum {
            self.agenda.add(found, Due::from(Ballot::Tell { voter: *voter }));
        }
    }

    fn tell_voter(&mut self, voter: u32, observer: &mut dyn Observer) {
        let record = self.known().map(|voters| voters.record.clone());
        if let Some(census) = record.filter(|_| !self.is_gone(voter)) {
            let _ = self.handle(voter, Event::Census { census }, observer);
        }
    }

    /// A node that crashed runs again, and is no member yet.
    pub(super) fn return_to_voters(&mut self, node: u32) {
        let now = self.now;
        let Some(voters) = self.voters() else { return };
        voters.stands[node as usize] = false;
        voters.asks[node as usize] = false;
        if let Some(started) = voters.started.get_mut(node as usize) {
            *started = now;
        }
        self.round(node);
    }

    /// Asks to be registered, if a majority is in reach.
    pub(super) fn try_to_register(&mut self, node: u32) {
        self.ask_voters(node, Ballot::Register { node });
    }

    fn ask_voters(&mut self, node: u32, ballot: Ballot) {
        let after = self.answer_takes(node);
        let now = self.now;
        let (Some(voters), Some(after)) = (self.voters(), after) else { return };
        if !std::mem::replace(&mut voters.asks[node as usize], true) {
            self.agenda.add(now + after, Due::from(ballot));
        }
    }

    /// Whether voters answer a node now; whatever it asked them is over.
    fn is_answered(&mut self, node: u32) -> bool {
        if let Some(voters) = self.voters() {
            voters.asks[node as usize] = false;
        }
        self.presence[node as usize] == Presence::Here && self.answer_takes(node).is_some()
    }

    /// Voters write down that a node comes as its next incarnation, and it learns what they know.
    fn register(&mut self, node: u32, observer: &mut dyn Observer) {
        if !self.is_answered(node) || self.takes_part(node) {
            return;
        }
        let Some(record) = self.known().map(|voters| voters.record.clone()) else { return };
        let _ = self.handle(node, Event::Census { census: record }, observer);
        // Its clients are welcome as soon as it stands.
        let now = self.now;
        if let Some(voters) = self.voters() {
            voters.until[node as usize] = voters.standing_from(node, now);
            voters.stands[node as usize] = true;
        }
        self.begin_anew(node, observer);
        let Some(me) = self.member(node).map(meshlock_protocols::Recovering::me) else { return };
        let life = self.life(node);
        let Some(voters) = self.voters() else { return };
        voters.record = voters.record.merged(&Census::living_fact(me));
        voters.heard.iter_mut().for_each(|heard| heard[node as usize] = now);
        let (until, wait, every) = (voters.until[node as usize], voters.wait(), voters.every(node));
        self.agenda.add(now + every, Due::from(Ballot::Round { node, life }));
        self.agenda.add(until, Due::from(Ballot::Expires { node, life }));
        self.agenda.add(now + wait, Due::from(Ballot::Suspect { node, life }));
    }

    /// Shows the census to voters, if this is the heir and nothing else is missing for its decision.
    pub(super) fn try_to_ratify(&mut self, node: u32) {
        if self.member(node).is_some_and(|member| member.is_running() && member.keeper().wants_ratification()) {
            self.ask_voters(node, Ballot::Ratify { node });
        }
    }

    /// Voters who know nothing beyond a census write it down and agree; otherwise they say what they know.
    fn ratify(&mut self, node: u32, observer: &mut dyn Observer) {
        if !self.is_answered(node) {
            return;
        }
        let Some(member) = self.member(node).filter(|member| member.keeper().wants_ratification()) else { return };
        let census = member.keeper().census().clone();
        let Some(voters) = self.voters() else { return };
        if census.includes(&voters.record) {
            voters.record = census.clone();
        }
        let census = voters.record.merged(&census);
        let _ = self.handle(node, Event::Census { census }, observer);
    }

    /// Whether voters will change something by themselves, as long as links stay as they are.
    pub(super) fn voters_are_busy(&self) -> bool {
        let (Some(quorum), Some(voters)) = (self.quorum(), self.known()) else { return false };
        let parts = self.links.parts();
        let part = quorum.first().map(|voter| parts[*voter as usize]);
        let nodes = (0..self.nodes.len() as u32).filter_map(|node| Some((node, self.member(node)?)));
        nodes.into_iter().any(|(node, member)| {
            let in_contact = !self.is_gone(node) && Some(parts[node as usize]) == part;
            let living = !voters.refuse(member.me());
            if in_contact {
                !member.is_running() || !living || !voters.stands(node) || member.keeper().wants_ratification()
            } else {
                living
            }
        })
    }
}
