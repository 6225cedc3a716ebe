//! Nodes that crash and return, and what becomes of their clients.
//!
//! A crash takes everything but the disk: the node's links go down with what is on them, what waits at it is lost, and
//! its clients are on their own. A client that is inside stays there until it is done, or until its lease is over by its
//! own clock. The node returns as its next incarnation, but not before all leases that it had promised are over.

use std::collections::BTreeSet;

use meshlock_core::recovery::row::is_alive;
use meshlock_core::recovery::{Census, Row};
use meshlock_core::{Event, Grant, NodeId, Protocol};
use meshlock_protocols::{Node, Recovering};

use super::leave::Presence;
use super::vote::Voters;
use super::{Medium, World};
use crate::agenda::Due;
use crate::observe::Observer;
use crate::outcome::{CrashesSeen, Outage};
use crate::random::{Purpose, Stream, Streams};
use crate::scenario::{Crashes, Recovery, Scenario};
use crate::time::{Span, Time};

/// Crashes to come, and what they did.
#[derive(Clone, Debug)]
pub(super) struct Faults {
    plan: Crashes,
    streams: Vec<Stream>,
    /// Wires that would be up if both of their ends ran, the lower id first.
    latent: BTreeSet<(u32, u32)>,
    /// By node: whether it took part after its last event, and whether it had decided as the heir.
    was: Vec<Was>,
    /// Grants of nodes without standing: no client is told.
    withheld: Vec<(u32, Grant)>,
    pub(super) voters: Option<Voters>,
    pub(super) seen: CrashesSeen,
    /// Since when nothing can be granted.
    outage: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Was {
    running: bool,
    decided: bool,
}

/// A node renews the lease of its client so many times in its length.
const RENEWALS: u64 = 3;
/// How long an operator waits if there is no node to tell.
const AGAIN: Span = Span::from_millis(1_000);

impl Faults {
    pub(super) fn new(plan: &Crashes, scenario: &Scenario, streams: Streams) -> Self {
        let voters = match plan.recovery {
            Recovery::Voters(voting) => Some(Voters::new(voting, scenario, streams)),
            Recovery::None | Recovery::Restart { .. } => None,
        };
        Self {
            plan: plan.clone(),
            streams: (0..scenario.nodes).map(|node| streams.stream(Purpose::Crash, node)).collect(),
            latent: BTreeSet::new(),
            was: vec![Was { running: true, decided: false }; scenario.nodes as usize],
            withheld: Vec::new(),
            voters,
            seen: CrashesSeen::default(),
            outage: None,
        }
    }

    /// What crashes did until now.
    pub(super) fn seen(&self) -> CrashesSeen {
        let mut seen = self.seen.clone();
        seen.outages.extend(self.outage.map(|start| Outage { start, end: None }));
        seen
    }

    pub(super) fn begin_outage(&mut self, now: Time) {
        self.outage.get_or_insert(now);
    }

    fn end_outage(&mut self, now: Time) {
        if let Some(start) = self.outage.take() {
            self.seen.outages.push(Outage { start, end: Some(now) });
        }
    }
}

impl World {
    /// Puts the first crashes on the agenda.
    pub(super) fn plan_faults(&mut self) {
        let Some(faults) = &self.faults else { return };
        for (index, crash) in faults.plan.script.iter().enumerate() {
            self.agenda.add(Time::ZERO + crash.at, Due::ScriptedCrash { index: index as u32 });
        }
        for node in 0..self.nodes.len() as u32 {
            self.plan_crash(node);
        }
        self.plan_rounds();
    }

    /// When a node that begins now crashes. None does after clients stop asking.
    fn plan_crash(&mut self, node: u32) {
        let life = self.life(node);
        let Some(faults) = self.faults.as_mut().filter(|faults| faults.plan.per_hour > 0.0) else { return };
        let mean = 3_600.0 / faults.plan.per_hour;
        let at = self.now + Span::from_seconds(faults.streams[node as usize].exponential(mean));
        if at < self.end {
            self.agenda.add(at, Due::Crash { node, life });
        }
    }

    pub(super) fn crash_at_random(&mut self, node: u32, life: u16, observer: &mut dyn Observer) {
        if life != self.life(node) {
            return; // it began anew since, and that was planned anew
        }
        let Some(faults) = &mut self.faults else { return };
        let stream = &mut faults.streams[node as usize];
        // Both are drawn always, so that the next crash does not depend on what is done with them.
        let (back, never) = (faults.plan.back.draw_span(stream), stream.happens(faults.plan.never));
        self.crash(node, (!never).then_some(back), observer);
    }

    pub(super) fn scripted_crash(&mut self, index: u32, observer: &mut dyn Observer) {
        let script = self.faults.as_ref().and_then(|faults| faults.plan.script.get(index as usize).copied());
        if let Some(crash) = script {
            self.crash(crash.node, crash.back, observer);
        }
    }

    /// A node crashes, and returns after this time if ever.
    fn crash(&mut self, node: u32, back: Option<Span>, observer: &mut dyn Observer) {
        let place = node as usize;
        if self.presence[place] != Presence::Here {
            return;
        }
        let takes_all = self.takes_all(node);
        let leases = self.orphan_clients(node);
        if let Some(rest) = self.nodes[place].crashed() {
            self.nodes[place] = rest;
        }
        self.presence[place] = Presence::Down;
        self.unlink(node, observer);
        observer.crashed(self.now, NodeId(node), self.position(NodeId(node)));
        let Some(faults) = &mut self.faults else { return };
        faults.was[place] = Was { running: false, decided: false };
        faults.seen.crashed.push(self.now);
        if takes_all {
            faults.begin_outage(self.now);
        }
        let due = match (faults.plan.recovery, back) {
            (Recovery::Restart { .. } | Recovery::Voters(_), Some(back)) => Some((back, Due::Return { node })),
            (Recovery::Restart { removal }, None) => Some((removal, Due::Remove { node })),
            (Recovery::Voters(_), None) | (Recovery::None, _) => None,
        };
        if let Some((after, due)) = due {
            self.agenda.add((self.now + after).max(leases), due);
        }
    }

    /// Whether nothing can be granted without what a node has: the token, also on its way from or to it, or all units.
    fn takes_all(&self, node: u32) -> bool {
        let held = self.clients.open_at(node).into_iter().filter(|index| self.clients.is_held(*index));
        let units: u64 = held.clone().map(|index| u64::from(self.clients.demand(index).1.units.0)).sum();
        let excludes = if self.setup.name.has_sessions_only() {
            held.count() > 0
        } else {
            units >= u64::from(self.watch.setting.capacity.0)
        };
        let flies =
            |(from, to, _, token, _): &super::look::FlightSeen| token.is_some() && (*from == node || *to == node);
        excludes || self.has_token(node) || self.flights().iter().any(flies)
    }

    pub(super) fn has_token(&self, node: u32) -> bool {
        self.nodes[node as usize].view().token.is_some()
    }

    /// Clients of a node that crashes: who waits is lost, who is inside holds on. The end of the latest lease.
    fn orphan_clients(&mut self, node: u32) -> Time {
        let mut latest = Time::ZERO;
        for index in self.clients.open_at(node) {
            if self.clients.is_orphan(index) {
                continue; // of an incarnation before
            }
            if self.clients.is_held(index) {
                let (over, believed) = self.lease_end(node, index);
                self.clients.orphan(index);
                self.agenda.add(over, Due::LeaseOver { request: index });
                latest = latest.max(believed);
                continue;
            }
            if !self.clients.leave_queue(index) {
                self.watch.cancelled(self.clients.demand(index).0, self.now);
            }
            self.clients.cancelled(index, self.now, &mut self.agenda);
            if let Some(faults) = &mut self.faults {
                faults.seen.refused.push(self.now);
            }
        }
        self.clients.forget_queue(node);
        latest
    }

    /// When the lease that a client was promised last is over, and when its node believes so.
    fn lease_end(&self, node: u32, index: u32) -> (Time, Time) {
        let Some(faults) = &self.faults else { return (self.now, self.now) };
        let lease = faults.plan.lease;
        let granted = self.clients.requests[index as usize].granted.unwrap_or(self.now);
        let every = (lease.0 / RENEWALS).max(1);
        let renewed = granted + Span(self.now.since(granted).0 / every * every);
        let standing = faults.voters.as_ref().map_or(Time::NEVER, |voters| voters.standing_ends(node));
        let over = (renewed + lease).min(standing);
        (over, over.min(renewed + faults.plan.believed_lease))
    }

    /// The client of a node that crashed stops, done or not.
    pub(super) fn lease_over(&mut self, index: u32) {
        if !self.clients.is_held(index) {
            return;
        }
        self.watch.released(self.clients.demand(index).0, self.now);
        self.clients.released(index, self.now, &mut self.agenda);
        if let Some(faults) = &mut self.faults {
            faults.seen.cut_short.push(self.now);
        }
    }

    /// All links of a node that crashed go down.
    fn unlink(&mut self, node: u32, observer: &mut dyn Observer) {
        if let Medium::Air { reach, .. } = &mut self.medium {
            reach.silence(node);
        }
        let neighbours: Vec<u32> = self.links.of(node).collect();
        for neighbour in neighbours {
            self.set_link(node, neighbour, false, observer);
            self.note_link(node, neighbour, true);
        }
    }

    /// A wire to a node that is down comes up as soon as that runs again.
    pub(super) fn note_link(&mut self, a: u32, b: u32, up: bool) {
        let down = [a, b].into_iter().any(|node| self.presence[node as usize] == Presence::Down);
        let Some(faults) = self.faults.as_mut().filter(|_| matches!(self.medium, Medium::Wire { .. })) else { return };
        let pair = (a.min(b), a.max(b));
        if up && down {
            faults.latent.insert(pair);
        } else if !up {
            faults.latent.remove(&pair);
        }
    }

    /// The links that a node finds when it starts.
    fn relink(&mut self, node: u32, observer: &mut dyn Observer) {
        let moment = self.frozen.unwrap_or(self.now);
        let neighbours: Vec<u32> = match (&mut self.medium, &self.faults) {
            (Medium::Air { reach, .. }, _) => reach.rouse(node, moment),
            (Medium::Wire { .. }, Some(faults)) => {
                let ends = faults.latent.iter().filter(|(a, b)| *a == node || *b == node);
                ends.map(|(a, b)| a + b - node).collect()
            }
            (Medium::Wire { .. }, None) => Vec::new(),
        };
        for neighbour in neighbours {
            if self.is_gone(neighbour) {
                continue;
            }
            self.set_link(node, neighbour, true, observer);
            if let Some(faults) = &mut self.faults {
                faults.latent.remove(&(node.min(neighbour), node.max(neighbour)));
            }
        }
        if let Medium::Air { reach, .. } = &mut self.medium
            && self.frozen.is_none()
        {
            reach.review(node, &self.links, self.now, &mut self.agenda);
        }
    }

    /// A node that crashed runs again.
    pub(super) fn come_back(&mut self, node: u32, observer: &mut dyn Observer) {
        self.presence[node as usize] = Presence::Here;
        if let Some(leg) = self.leg(NodeId(node)).copied() {
            observer.moved(self.now, NodeId(node), &leg);
        }
        if self.faults.as_ref().is_some_and(|faults| faults.voters.is_some()) {
            self.relink(node, observer);
            self.return_to_voters(node);
        } else {
            self.begin_anew(node, observer);
            self.relink(node, observer);
        }
    }

    /// A node takes part as its next incarnation.
    pub(super) fn begin_anew(&mut self, node: u32, observer: &mut dyn Observer) {
        if let Some(faults) = &mut self.faults {
            faults.seen.facts.push(self.now);
            faults.was[node as usize].running = true;
        }
        let next = self.life(node).saturating_add(1);
        self.clients.renew(node, next);
        // A member that can crash can come back: that was made sure of before the run.
        let _ = self.handle(node, Event::Resume, observer);
        self.clients.welcome(node, self.now, &mut self.agenda);
        self.plan_crash(node);
    }

    /// An operator vouches that a node will not run again, and tells some node that does.
    pub(super) fn be_removed(&mut self, node: u32, observer: &mut dyn Observer) {
        let Some(told) = (0..self.nodes.len() as u32).find(|other| self.takes_part(*other)) else {
            return self.agenda.add(self.now + AGAIN, Due::Remove { node });
        };
        if let Some(faults) = &mut self.faults {
            faults.seen.facts.push(self.now);
        }
        let census = Census::removed_fact(NodeId(node).member());
        let _ = self.handle(told, Event::Census { census }, observer);
    }

    /// A node as a member of a mesh that recovers.
    pub(super) fn member(&self, node: u32) -> Option<&Recovering> {
        if let Node::Recovering(member) = &self.nodes[node as usize] { Some(member) } else { None }
    }

    /// The number of the incarnation that runs, or ran last.
    pub(super) fn life(&self, node: u32) -> u16 {
        self.member(node).map_or(0, |member| member.me().incarnation())
    }

    /// Whether a node runs and is a member.
    pub(super) fn takes_part(&self, node: u32) -> bool {
        !self.is_gone(node) && self.member(node).is_none_or(Recovering::is_running)
    }

    /// Whether clients may ask here now.
    pub(super) fn serves(&self, node: u32) -> bool {
        let stands = |faults: &Faults| faults.voters.as_ref().is_none_or(|voters| voters.stands(node));
        self.faults.as_ref().is_none_or(|faults| stands(faults) && self.takes_part(node))
    }

    pub(super) fn turn_away(&mut self, client: u32) {
        if let Some(faults) = &mut self.faults {
            faults.seen.refused.push(self.now);
        }
        self.clients.turn_away(client, self.now, &mut self.agenda);
    }

    /// Whether a client may be told of a grant. One that a node without standing makes is given back.
    pub(super) fn may_grant(&mut self, node: u32, grant: &Grant) -> bool {
        let serves = self.serves(node);
        let Some(faults) = &mut self.faults else { return true };
        if serves {
            faults.end_outage(self.now);
        } else {
            faults.withheld.push((node, grant.clone()));
        }
        serves
    }

    /// After a node has handled an event: whether it has ended, made a token anew, or granted what it may not.
    pub(super) fn look_after(&mut self, node: u32, observer: &mut dyn Observer) {
        self.give_withheld_back(observer);
        let Some(member) = self.member(node) else { return };
        let keeper = member.keeper();
        let is = Was { running: member.is_running(), decided: keeper.is_decided() };
        let rows = || keeper.reports().flat_map(|report| &report.rows).filter_map(|(_, row)| row.as_ref());
        let remade = |was: Was| is.decided && !was.decided && !is_alive(rows().collect::<Vec<&Row>>().into_iter());
        let Some(faults) = &self.faults else { return };
        let was = faults.was[node as usize];
        let (remade, ended) = (remade(was), was.running && !is.running && !self.is_gone(node));
        if let Some(faults) = &mut self.faults {
            faults.was[node as usize] = is;
            faults.seen.remade.extend(remade.then_some(self.now));
        }
        if ended {
            self.end_clients(node, observer);
            self.try_to_register(node);
        }
        self.try_to_ratify(node);
    }

    fn give_withheld_back(&mut self, observer: &mut dyn Observer) {
        let withheld = self.faults.as_mut().map(|faults| std::mem::take(&mut faults.withheld)).unwrap_or_default();
        for (node, grant) in withheld {
            let Some(index) = self.clients.find_open(node, grant.request) else { continue };
            self.watch.cancelled(self.clients.demand(index).0, self.now);
            self.clients.cancelled(index, self.now, &mut self.agenda);
            if let Some(faults) = &mut self.faults {
                faults.seen.refused.push(self.now);
            }
            let _ = self.handle(node, Event::Release { request: grant.request, units: grant.units }, observer);
            self.serve_next(node, observer);
        }
    }

    /// A node revokes what its clients hold; they stop at once.
    pub(super) fn end_clients(&mut self, node: u32, observer: &mut dyn Observer) {
        for index in self.clients.open_at(node) {
            if self.clients.is_held(index) && !self.clients.is_orphan(index) {
                if let Some(faults) = &mut self.faults {
                    faults.seen.cut_short.push(self.now);
                }
                self.release(index, observer);
            }
        }
    }

    /// Whether some node is still to come back, or a repair goes on by itself.
    pub(crate) fn is_recovering(&self) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.voters.is_some()) && self.voters_are_busy()
    }

    /// Whether no node is to come back or to be removed.
    pub(crate) fn none_is_expected(&self) -> bool {
        let lasts = |node: u32| self.presence[node as usize] == Presence::Down && !self.is_known_to_be_gone(node);
        let recovers = self.faults.as_ref().is_some_and(|faults| faults.plan.recovery != Recovery::None);
        !recovers || !(0..self.nodes.len() as u32).any(lasts)
    }

    /// Whether some node that takes part knows that this one is gone.
    fn is_known_to_be_gone(&self, node: u32) -> bool {
        let Some(me) = self.member(node).map(Recovering::me) else { return false };
        let others = (0..self.nodes.len() as u32).filter(|other| self.takes_part(*other));
        let mut members = others.filter_map(|other| self.member(other));
        members.any(|member| member.keeper().census().is_gone(me))
    }

    /// Whether nothing can be repaired as long as links stay as they are: no majority of voters is together, or without
    /// voters, members are in several parts and there is something to repair. `has_token`: a token is alive.
    pub(super) fn cannot_repair(&self, parts: &[u32], has_token: bool) -> bool {
        let Some(faults) = self.faults.as_ref().filter(|faults| !faults.seen.crashed.is_empty()) else { return false };
        if faults.voters.is_some() {
            return self.quorum().is_none();
        }
        if has_token && self.is_repaired() {
            return false;
        }
        let mut running = (0..).zip(parts).filter(|(node, _)| !self.is_gone(*node)).map(|(_, part)| *part);
        let first = running.next();
        running.any(|part| Some(part) != first)
    }

    /// Whether all that take part know of everybody who does not: then nothing of theirs is left.
    pub(super) fn is_repaired(&self) -> bool {
        if self.faults.is_none() {
            return true;
        }
        let all = || (0..self.nodes.len() as u32).filter_map(|node| self.member(node).map(|member| (node, member)));
        let Some((_, first)) = all().find(|(node, _)| self.takes_part(*node)) else { return false };
        let census = first.keeper().census();
        all().all(|(node, member)| {
            if self.takes_part(node) {
                member.keeper().census() == census && census.is_living(member.me())
            } else {
                census.is_gone(member.me())
            }
        })
    }
}
