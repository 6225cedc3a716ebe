//! Looks at the whole network: its rules and its figures.

use meshlock_core::view::{Returning, TokenView, View};
use meshlock_core::{GrantId, NodeId, Protocol};
use meshlock_properties::{Flight, Rule, RuleSet, Snapshot, Violation, check_snapshot};
use meshlock_protocols::{Message, Node};

use super::World;
use crate::links::Links;
use crate::outcome::NetworkSeen;
use crate::time::{Span, Time};
use crate::watch::Watch;

impl World {
    /// Checks the rules over the whole network. In a quiet one more must hold.
    pub(crate) fn look_at_rules(&mut self, quiet: bool) {
        if !quiet && self.is_fine_at_a_glance() {
            return;
        }
        for verdict in self.verdicts(quiet) {
            self.watch.judge(verdict, self.now);
        }
    }

    /// What the rules say of all nodes at once.
    fn verdicts(&self, quiet: bool) -> [Result<(), Violation>; 2] {
        let mut views: Vec<View> = self.nodes.iter().map(Protocol::view).collect();
        for (node, view) in (0..).zip(&mut views) {
            self.see_through_recovery(node, view);
        }
        let nodes: Vec<(NodeId, &View)> = self.nodes.iter().map(Protocol::id).zip(&views).collect();
        let mut flights = self.flights();
        flights.retain(|(_, to, ..)| !self.is_refused(*to));
        flights.iter_mut().filter_map(|flight| flight.3.as_mut()).for_each(|token| self.strike_gone(token));
        let flights: Vec<Flight<'_>> = flights.iter().map(flight).collect();
        let parts = if self.manner.direct { vec![0; nodes.len()] } else { self.links.parts() };
        let snapshot = Snapshot { nodes: &nodes, flights: &flights, quiet, parts: &parts };
        // What the gone had is neither here nor there until all know that they are gone.
        let rules = self.watch.rules;
        let rules = if self.is_repaired() { rules } else { rules.without(Rule::Conservation) };
        // What is lost is made anew, and who is not registered is served, when the parts of the network meet again or
        // enough voters do.
        let waits = [Rule::NobodyWaits, Rule::NoIdleUnits, Rule::MostUrgentKnown];
        let has_token = nodes.iter().any(|(_, view)| view.token.is_some()) || flights.iter().any(|f| f.token.is_some());
        let excused = if self.cannot_repair(&parts, has_token) { &waits[..] } else { &[] };
        let rules = excused.iter().fold(rules, |rules, rule| rules.without(*rule));
        let verdict = check_snapshot(rules, &self.watch.setting, &snapshot);
        [verdict, self.watch.history.check_known(|id| views.get(id.0 as usize))]
    }

    /// Whether a look at all nodes, one after the other, shows that no rule is broken. False if one may be: then all of
    /// them have to be seen at once, which takes a view of each.
    ///
    /// Rules over a network that is not quiet compare nodes only by what they hold, carry or have of the token, so those
    /// that have nothing of it need not be kept.
    fn is_fine_at_a_glance(&self) -> bool {
        let Watch { rules, setting, history, .. } = &self.watch;
        let beyond = [Rule::Followers, Rule::Roles];
        if self.faults.is_some() || beyond.into_iter().any(|rule| rules.has(rule)) {
            return false;
        }
        let one_node = if rules.has(Rule::Queues) { RuleSet::NONE.with(Rule::Queues) } else { RuleSet::NONE };
        let mut kept: Vec<(NodeId, View)> = Vec::new();
        for node in &self.nodes {
            let (id, view) = (node.id(), node.view());
            let alone = Snapshot { nodes: &[(id, &view)], flights: &[], quiet: false, parts: &[] };
            if check_snapshot(one_node, setting, &alone).is_err() || history.check_known_at(id, &view).is_err() {
                return false;
            }
            if view.token.is_some() || !view.holding.is_empty() || !view.returning.is_empty() {
                kept.push((id, view));
            }
        }
        let flights = self.flights();
        let flights: Vec<Flight<'_>> = flights.iter().map(flight).collect();
        let held = kept.iter().filter_map(|(_, view)| view.token.as_ref());
        if held.chain(flights.iter().filter_map(|flight| flight.token)).any(|token| !token.queue.is_empty()) {
            return false; // what it carries is compared with what waits anywhere
        }
        let nodes: Vec<(NodeId, &View)> = kept.iter().map(|(id, view)| (*id, view)).collect();
        let snapshot = Snapshot { nodes: &nodes, flights: &flights, quiet: false, parts: &[] };
        check_snapshot(*rules, setting, &snapshot).is_ok()
    }

    /// Whether voters hold a node for gone that runs and has not heard so: it does not act any more.
    fn is_refused(&self, node: u32) -> bool {
        let voters = self.faults.as_ref().and_then(|faults| faults.voters.as_ref());
        let member = self.member(node).filter(|member| member.is_running());
        member.is_some_and(|member| voters.is_some_and(|voters| voters.refuse(member.me())))
    }

    /// A node that is down or was declared gone takes no part in queues.
    fn see_through_recovery(&self, node: u32, view: &mut View) {
        if self.faults.is_none() {
            return;
        }
        if self.is_gone(node) {
            // Without recovery it keeps what it had, but nobody can ask it any more.
            (view.height, view.asked) = (None, None);
            view.queue.clear();
            view.waiting.clear();
        }
        if self.is_refused(node) {
            let waiting = std::mem::take(&mut view.waiting);
            *view = View { role: "refused".to_owned(), waiting, ..View::default() };
        }
        if let Some(token) = &mut view.token {
            self.strike_gone(token);
        }
    }

    /// What former incarnations of nodes used is struck from a ledger as soon as it arrives.
    fn strike_gone(&self, token: &mut TokenView) {
        let Some(ledger) = token.ledger.as_mut().filter(|_| self.faults.is_some()) else { return };
        let gone = |id: GrantId| self.clients.life_of(id).is_some_and(|life| life < self.life(id.node.0));
        let mut struck = 0;
        ledger.retain(|entry| {
            let over = gone(entry.grant);
            struck += if over { entry.units.0 } else { 0 };
            !over
        });
        token.free.0 += struck;
    }

    /// Every message that will arrive if nothing happens to its link, and matters to a rule.
    pub(super) fn flights(&self) -> Vec<FlightSeen> {
        let mut flights = Vec::new();
        let mut note = |from: u32, to: u32, message: &Message| {
            let token = self.nodes[to as usize].token_in(NodeId(from), message);
            let returning = Node::returning_in(message);
            if token.is_some() || returning.is_some() {
                flights.push((from, to, Node::kind(message), token, returning));
            }
        };
        for frame in self.frames.iter() {
            let alive = |hop: &&crate::frames::Hop| self.is_under_way(frame.from, **hop) && !hop.delivered;
            match frame.letter {
                Some(letter) if frame.to.iter().any(|hop| !hop.delivered) => {
                    note(letter.origin, letter.to, &frame.message);
                }
                Some(_) => {}
                None => {
                    for hop in frame.to.iter().filter(alive) {
                        frame.messages_for(hop.node).for_each(|message| note(frame.from, hop.node, message));
                    }
                }
            }
        }
        for (from, rider) in self.held.messages() {
            note(from, rider.to, &rider.message);
        }
        for (_, letter, message) in &self.letters.stranded {
            note(letter.origin, letter.to, message);
        }
        for ((origin, to, _), message) in &self.letters.early {
            note(*origin, *to, message);
        }
        flights
    }
}

/// From, to, kind, the token it brings, the units it brings back.
pub(super) type FlightSeen = (u32, u32, &'static str, Option<TokenView>, Option<Returning>);

fn flight((from, to, kind, token, returning): &FlightSeen) -> Flight<'_> {
    Flight { from: NodeId(*from), to: NodeId(*to), kind, token: token.as_ref(), returning: *returning }
}

#[derive(Clone, Debug)]
pub(super) struct Figures {
    every: Span,
    samples: u64,
    connected: u64,
    parts: u64,
    hops: u64,
    pairs: u64,
    diameter: u32,
    /// Links times nanoseconds.
    link_time: f64,
    since: Time,
    changes: u64,
}

/// How often the network is looked at in a run, and from how many nodes.
const SAMPLES: u64 = 100;
const SOURCES: usize = 16;

impl Figures {
    pub(super) fn new(duration: Span) -> Self {
        Self {
            every: Span((duration.0 / SAMPLES).max(1_000_000)),
            samples: 0,
            connected: 0,
            parts: 0,
            hops: 0,
            pairs: 0,
            diameter: 0,
            link_time: 0.0,
            since: Time::ZERO,
            changes: 0,
        }
    }

    /// Any node reaches any other.
    pub(super) fn direct(nodes: usize, lost: u64) -> NetworkSeen {
        let mean_degree = nodes.saturating_sub(1) as f64;
        NetworkSeen { mean_degree, connected: 1.0, parts: 1.0, mean_hops: 1.0, diameter: 1, link_changes: 0, lost }
    }

    pub(super) fn every(&self) -> Span {
        self.every
    }

    /// Called before a link changes.
    pub(super) fn link_changes(&mut self, now: Time, up: usize) {
        self.changes += 1;
        self.pass(now, up);
    }

    fn pass(&mut self, now: Time, up: usize) {
        self.link_time += up as f64 * now.since(self.since).seconds();
        self.since = now;
    }

    pub(super) fn sample(&mut self, links: &Links, present: impl Fn(u32) -> bool) {
        let step = (links.nodes() / SOURCES).max(1);
        let seen = links.survey((0..links.nodes() as u32).step_by(step));
        // An absent node has no links, and so is a part of its own that does not count.
        let absent = (0..links.nodes() as u32).filter(|node| !present(*node)).count() as u64;
        let count = seen.parts - absent;
        self.samples += 1;
        self.parts += count;
        self.connected += u64::from(count <= 1);
        self.hops += seen.hops;
        self.pairs += seen.pairs;
        self.diameter = self.diameter.max(seen.diameter);
    }

    pub(super) fn seen(&mut self, now: Time, up: usize, nodes: usize, lost: u64) -> NetworkSeen {
        self.pass(now, up);
        let share = |sum: u64, of: u64| if of == 0 { 0.0 } else { sum as f64 / of as f64 };
        let node_time = nodes as f64 * now.seconds();
        NetworkSeen {
            mean_degree: if node_time > 0.0 { 2.0 * self.link_time / node_time } else { 0.0 },
            connected: share(self.connected, self.samples),
            parts: share(self.parts, self.samples),
            mean_hops: share(self.hops, self.pairs),
            diameter: self.diameter,
            link_changes: self.changes,
            lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use meshlock_core::Protocol;

    use crate::build::world;
    use crate::scenario::{Name, Over, Scenario, Text};
    use crate::time::{Span, Time};

    /// How many looks found nothing at a glance, and how many looks there were; a glance must never miss what is there.
    fn glances(name: Name, text: &Text, every: u64) -> (usize, usize) {
        let mut scenario = Scenario { nodes: 12, ..Scenario::reference() };
        scenario.protocol.name = name;
        scenario.protocol.text = text.clone();
        scenario.protocol.over = if name.speaks_to_neighbours() { Over::Links } else { Over::Routing };
        let (mut fine, mut looks) = (0, 0);
        for seed in 0..2 {
            let mut world = world(&scenario, seed).unwrap();
            let end = Time::ZERO + Span::from_seconds(2.0);
            let mut steps = 0;
            while world.now() < end && world.events() < 3_000 && world.step(&mut ()) {
                steps += 1;
                if steps % every == 0 {
                    for node in world.nodes() {
                        let (before, view) = (node.view_before_step(), node.view());
                        assert_eq!((before.token, before.waiting), (view.token, view.waiting), "{name}");
                    }
                    let glance = world.is_fine_at_a_glance();
                    let verdicts = world.verdicts(false);
                    assert!(!glance || verdicts.iter().all(Result::is_ok), "{name} {text:?} {seed}: {verdicts:?}");
                    fine += usize::from(glance);
                    looks += 1;
                }
            }
        }
        (fine, looks)
    }

    #[test]
    fn a_glance_finds_nothing_where_nothing_is() {
        for name in [Name::ReverseLink, Name::Central] {
            let (fine, looks) = glances(name, &Text::Repaired, 1);
            assert!(looks > 20 && fine == looks, "{name}: {fine} of {looks}");
        }
    }

    #[test]
    fn a_glance_agrees_with_a_look_at_texts_that_break_rules() {
        for name in [Name::ReverseLink, Name::Flood, Name::Group] {
            let (_, looks) = glances(name, &Text::PRINTED, 1);
            assert!(looks > 20, "{name}: {looks}");
        }
    }

    #[test]
    fn a_glance_sees_a_second_token_and_a_request_that_was_lost() {
        let scenario = Scenario { nodes: 12, ..Scenario::reference() };
        let mut world = world(&scenario, 1).unwrap();
        while !world.nodes().iter().any(|node| !node.view().waiting.is_empty()) {
            assert!(world.step(&mut ()), "nobody ever waits");
        }
        assert!(world.is_fine_at_a_glance());
        let sound = world.nodes.clone();
        let holder = sound.iter().position(|node| node.view().token.is_some()).unwrap();
        world.nodes[(holder + 1) % 12] = sound[holder].clone();
        assert!(!world.is_fine_at_a_glance(), "two tokens");
        world.nodes.clone_from(&sound);
        let waits = sound.iter().position(|node| !node.view().waiting.is_empty()).unwrap();
        let fresh = scenario.protocol.setup().network(12, &[]).unwrap();
        world.nodes[waits].clone_from(&fresh[waits]);
        assert!(!world.is_fine_at_a_glance(), "a request that its node has forgotten");
    }
}
