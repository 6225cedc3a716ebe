//! A small mesh that crashes, for tests: nodes of one protocol with their keepers, and everything on its way between them.
//!
//! A story tells it what happens, step by step; a [walk](Stage::walk) lets chance decide. After every step of a walk the
//! stage checks that one token is usable at most, that callers inside exclude each other and that fences grow; at its
//! end everything arrives, timers run out, callers leave, and then nobody may wait.
//!
//! Voters are one record that never fails: it keeps who was declared gone and who came back, and ratifies a census that
//! knows all of that.
//!
//! Every packet brings the census of its sender, which is learned before it: the same as a census ahead of everything
//! else on links that keep the order, and it also serves networks that do not.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::{Census, Keeper, Member, Report, Row};
use crate::protocol::{Effect, Event, Protocol, Timer};
use crate::vocabulary::{Demand, Grant, NodeId, RequestId};

/// How nodes reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// Everybody reaches everybody, in any order. What was sent to one who crashed arrives at who comes back.
    Anyone,
    /// Neighbours in a row, in order.
    Line,
    /// All are neighbours, in order.
    Full,
}

enum Body<M> {
    Nothing,
    Report(Arc<Report>),
    Message(M),
}

struct Packet<M> {
    from: NodeId,
    to: NodeId,
    census: Census,
    body: Body<M>,
}

/// Makes the node with this id; the second says whether the token begins there.
pub(crate) type Make<'a, P> = dyn Fn(NodeId, bool) -> P + 'a;

pub(crate) struct Stage<'a, P: Protocol> {
    make: &'a Make<'a, P>,
    demand: fn(Member, u64) -> Demand,
    network: Network,
    size: Member,
    nodes: BTreeMap<Member, P>,
    keepers: BTreeMap<Member, Keeper>,
    /// Declared gone, but still running: these grant nothing any more, and have not heard why.
    fenced: BTreeSet<Member>,
    /// What survives a crash.
    disks: BTreeMap<Member, (u16, Census)>,
    /// What the voters know.
    record: Census,
    /// In order of sending.
    packets: Vec<Packet<P::Message>>,
    timers: BTreeSet<(NodeId, Timer)>,
    asked: u64,
    /// Who is inside; of one who crashed, until it is told to be gone.
    pub(crate) held: Vec<(NodeId, Grant)>,
    latest: Option<Grant>,
    pub(crate) remade: usize,
    wrong: Option<String>,
}

impl<'a, P: Protocol> Stage<'a, P> {
    pub(crate) fn new(
        size: Member,
        network: Network,
        make: &'a Make<'a, P>,
        demand: fn(Member, u64) -> Demand,
    ) -> Self {
        let ids: Vec<_> = (0..size).map(|member| NodeId::of(member, 0)).collect();
        let census = Census::of_living(ids.iter().copied());
        let mut stage = Self {
            make,
            demand,
            network,
            size,
            nodes: ids.iter().map(|id| (id.member(), make(*id, id.member() == 0))).collect(),
            keepers: ids.iter().map(|id| (id.member(), Keeper::new(*id, Census::default(), true))).collect(),
            fenced: BTreeSet::new(),
            disks: ids.iter().map(|id| (id.member(), (0, Census::default()))).collect(),
            record: census.clone(),
            packets: Vec::new(),
            timers: BTreeSet::new(),
            asked: 0,
            held: Vec::new(),
            latest: None,
            remade: 0,
            wrong: None,
        };
        for member in 0..size {
            stage.links_up(member);
        }
        for member in 0..size {
            stage.learns(member, &census);
        }
        stage.settles();
        assert_eq!(stage.remade, 0, "nothing is lost yet");
        stage
    }

    pub(crate) fn node(&self, member: Member) -> &P {
        &self.nodes[&member]
    }

    pub(crate) fn id(&self, member: Member) -> NodeId {
        self.node(member).id()
    }

    pub(crate) fn row(&self, member: Member) -> Row {
        self.node(member).row(self.keepers[&member].census()).expect("it recovers")
    }

    pub(crate) fn inside(&self) -> Vec<Member> {
        self.held.iter().map(|(node, _)| node.member()).collect()
    }

    pub(crate) fn token_at(&self) -> Vec<Member> {
        let with_token = self.nodes.iter().filter(|(_, node)| node.view().token.is_some());
        with_token.map(|(member, _)| *member).collect()
    }

    fn neighbours(&self, member: Member) -> Vec<Member> {
        let near = |other: &Member| match self.network {
            Network::Anyone | Network::Full => true,
            Network::Line => other.abs_diff(member) == 1,
        };
        (0..self.size).filter(|other| *other != member && near(other)).collect()
    }

    fn is_up(&self, member: Member) -> bool {
        self.nodes.contains_key(&member)
    }

    /// It is up, and not fenced.
    fn serves(&self, member: Member) -> bool {
        self.is_up(member) && !self.fenced.contains(&member)
    }
}

/// What happens.
impl<P: Protocol> Stage<'_, P> {
    pub(crate) fn asks(&mut self, member: Member) {
        self.asked += 1;
        let demand = (self.demand)(member, self.asked);
        self.event(member, Event::Request { request: RequestId(self.asked), demand });
    }

    pub(crate) fn releases(&mut self, member: Member) {
        let id = self.id(member);
        let at = self.held.iter().position(|(node, _)| *node == id).expect("it is inside");
        let (_, grant) = self.held.remove(at);
        self.event(member, Event::Release { request: grant.request, units: grant.units });
    }

    pub(crate) fn timers_fire(&mut self, member: Member) {
        let due: Vec<_> = self.timers.iter().copied().filter(|(node, _)| node.member() == member).collect();
        for (node, timer) in due {
            self.timers.remove(&(node, timer));
            if self.nodes.get(&member).is_some_and(|up| up.id() == node) {
                self.event(member, Event::Expired { timer });
            }
        }
    }

    /// The node is no more. What it sent may still arrive.
    pub(crate) fn crashes(&mut self, member: Member) {
        self.nodes.remove(&member);
        self.keepers.remove(&member);
        self.fenced.remove(&member);
        if self.network != Network::Anyone {
            self.packets.retain(|packet| packet.to.member() != member);
        }
    }

    /// A member is declared gone, which `at` hears first. Its clients have stopped. If it still runs, it stops when it
    /// hears of that; until then it may pass on what it likes.
    pub(crate) fn is_gone(&mut self, member: Member, at: Member) {
        let gone = NodeId::of(member, self.disks[&member].0);
        self.held.retain(|(node, _)| *node != gone);
        if self.is_up(member) {
            self.fenced.insert(member);
        }
        self.record = self.record.merged(&Census::gone_fact(gone));
        self.learns(at, &Census::gone_fact(gone));
    }

    /// A node that crashed comes back as its next incarnation, with what it has on disk, and registers.
    pub(crate) fn returns(&mut self, member: Member) {
        let (incarnation, census) = self.disks[&member].clone();
        self.held.retain(|(node, _)| *node != NodeId::of(member, incarnation));
        let me = NodeId::of(member, incarnation + 1);
        let census = census.merged(&self.record);
        self.record = self.record.merged(&Census::living_fact(me));
        self.disks.insert(member, (incarnation + 1, census.clone()));
        self.nodes.insert(member, (self.make)(me, false));
        self.keepers.insert(member, Keeper::new(me, census.clone(), true));
        self.learns(member, &census.merged(&Census::living_fact(me)));
        self.links_up(member);
    }

    /// The oldest packet from a node to a member arrives.
    pub(crate) fn delivers(&mut self, from: NodeId, to: Member) {
        let at = self.packets.iter().position(|packet| packet.from == from && packet.to.member() == to);
        self.arrives(at.expect("something is on its way"));
    }

    /// All protocol messages on their way that fit are lost.
    pub(crate) fn loses(&mut self, fits: impl Fn(&P::Message) -> bool) {
        self.packets.retain(|packet| !matches!(&packet.body, Body::Message(message) if fits(message)));
    }

    /// Takes what is on its way from a node to a member, for later.
    pub(crate) fn intercepts(&mut self, from: NodeId, to: Member) -> Vec<(NodeId, P::Message)> {
        let mut taken = Vec::new();
        for packet in core::mem::take(&mut self.packets) {
            match packet.body {
                Body::Message(message) if packet.from == from && packet.to.member() == to => {
                    taken.push((packet.from, message));
                }
                Body::Nothing | Body::Report(_) | Body::Message(_) => self.packets.push(packet),
            }
        }
        taken
    }

    /// Everything arrives, in order.
    pub(crate) fn settles(&mut self) {
        for _ in 0..20_000 {
            if self.packets.is_empty() {
                return;
            }
            self.arrives(0);
        }
        self.wrong.get_or_insert("messages without end".into());
    }

    fn arrives(&mut self, at: usize) {
        let Packet { from, to, census, body } = self.packets.remove(at);
        let member = to.member();
        if self.keepers.get(&member).is_none_or(|keeper| self.is_refused(keeper, from)) {
            return;
        }
        self.learns(member, &census);
        if !self.is_up(member) {
            return;
        }
        match body {
            Body::Nothing => {}
            Body::Report(report) => {
                if self.keepers.get_mut(&member).is_some_and(|keeper| keeper.hear(Arc::clone(&report))) {
                    self.tell_all(member, || Body::Report(Arc::clone(&report)));
                    self.decides(member);
                }
            }
            Body::Message(message) => {
                let is_at_its_goal = self.id(member) == to;
                let rejected = self.event(member, Event::Receive { from, message });
                if rejected && is_at_its_goal {
                    self.wrong.get_or_insert(format!("{to} rejected a message of {from}"));
                }
            }
        }
    }

    /// Nothing of the gone is heard on a link. Where anybody reaches anybody it is for the protocol to refuse it.
    fn is_refused(&self, keeper: &Keeper, from: NodeId) -> bool {
        self.network != Network::Anyone && keeper.census().is_gone(from)
    }

    pub(crate) fn learns(&mut self, member: Member, facts: &Census) {
        let (Some(keeper), Some(node)) = (self.keepers.get_mut(&member), self.nodes.get(&member)) else { return };
        let Some(census) = keeper.grown(facts) else { return };
        if census.is_gone(node.id()) {
            return self.crashes(member);
        }
        let row = node.row(&census);
        keeper.learn(census.clone());
        let report = keeper.report(vec![(1, row)]);
        if let Some(disk) = self.disks.get_mut(&member) {
            disk.1 = census.clone();
        }
        if self.network != Network::Anyone {
            let lost: Vec<_> = node.view().neighbours.into_iter().filter(|other| census.is_gone(*other)).collect();
            for neighbour in lost {
                self.event(member, Event::LinkDown { neighbour });
            }
        }
        self.tell_all(member, || Body::Nothing);
        self.tell_all(member, || Body::Report(Arc::clone(&report)));
        self.event(member, Event::Census { census });
        self.decides(member);
    }

    fn decides(&mut self, member: Member) {
        let Some(keeper) = self.keepers.get_mut(&member) else { return };
        if keeper.wants_ratification() {
            let census = keeper.census().clone();
            if !census.includes(&self.record) {
                let more = self.record.clone();
                return self.learns(member, &more);
            }
            self.record = census.clone();
            keeper.ratified(&census);
        }
        let decision = keeper.decide();
        for (_, remake) in decision.into_iter().flatten() {
            self.remade += 1;
            self.event(member, Event::Remake { remake });
        }
    }

    /// Links to all neighbours that are up: both ends tell what they know.
    fn links_up(&mut self, member: Member) {
        for other in self.neighbours(member) {
            if !self.is_up(other) {
                continue;
            }
            for (a, b) in [(member, other), (other, member)] {
                let neighbour = self.id(b);
                if self.network != Network::Anyone {
                    self.event(a, Event::LinkUp { neighbour });
                }
                let reports: Vec<_> = self.keepers[&a].reports().cloned().collect();
                self.send(a, neighbour, Body::Nothing);
                for report in reports {
                    self.send(a, neighbour, Body::Report(report));
                }
            }
        }
    }

    fn send(&mut self, from: Member, to: NodeId, body: Body<P::Message>) {
        let census = self.keepers[&from].census().clone();
        self.packets.push(Packet { from: self.id(from), to, census, body });
    }

    /// To every neighbour, as whom the sender takes it for.
    fn tell_all(&mut self, from: Member, body: impl Fn() -> Body<P::Message>) {
        for other in self.neighbours(from) {
            let living = self.keepers[&from].census().living().find(|node| node.member() == other);
            if let Some(to) = living.or_else(|| self.nodes.get(&other).map(P::id)) {
                self.send(from, to, body());
            }
        }
    }

    /// One event at a node, and all that follows from it. Whether a message was rejected.
    fn event(&mut self, member: Member, event: Event<P::Message>) -> bool {
        let node = self.nodes.get_mut(&member).expect("it is up");
        let id = node.id();
        let effects = match node.handle(event) {
            Ok(effects) => effects,
            Err(misuse) => {
                self.wrong.get_or_insert(format!("{id} was misused: {misuse}"));
                return false;
            }
        };
        let mut rejected = false;
        for effect in effects {
            match effect {
                Effect::Send { to, message } => self.send(member, to, Body::Message(message)),
                Effect::Multicast { to, message } => {
                    for to in to {
                        self.send(member, to, Body::Message(message.clone()));
                    }
                }
                Effect::Broadcast { message } => self.tell_all(member, || Body::Message(message.clone())),
                Effect::Granted { grant } => self.enters(id, grant),
                Effect::Arm { timer, .. } => drop(self.timers.insert((id, timer))),
                Effect::Reject { .. } => rejected = true,
            }
        }
        rejected
    }

    fn enters(&mut self, node: NodeId, grant: Grant) {
        if self.fenced.contains(&node.member()) {
            return;
        }
        let joins =
            |other: &Grant| (other.session, other.fence) == (grant.session, grant.fence) && grant.session.is_some();
        if let Some((other, held)) = self.held.iter().find(|(_, held)| !joins(held)) {
            self.wrong.get_or_insert(format!("{node} has {grant:?} beside {other} with {held:?}"));
        }
        if let Some(latest) = self.latest.as_ref().filter(|latest| latest.fence >= grant.fence && !joins(latest)) {
            self.wrong.get_or_insert(format!("{node} has {grant:?} after {latest:?}"));
        }
        if self.held.iter().any(|(other, _)| *other == node) {
            self.wrong.get_or_insert(format!("{node} has two grants"));
        }
        self.latest = Some(grant.clone());
        self.held.push((node, grant));
    }
}

/// What chance decides, and how much of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chances {
    pub(crate) steps: usize,
    pub(crate) crashes: usize,
    pub(crate) losses: usize,
    pub(crate) early_timers: usize,
    pub(crate) cancels: usize,
}

impl<P: Protocol> Stage<'_, P> {
    /// Lets chance decide, then brings everything to its end. What was wrong, if anything was.
    pub(crate) fn walk(&mut self, seed: u64, mut chances: Chances) -> Result<(), String> {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..chances.steps {
            self.step(&mut dice, &mut chances);
            self.check()?;
        }
        self.everybody_is_served()
    }

    fn step(&mut self, dice: &mut Dice, chances: &mut Chances) {
        let member = dice.below(usize::from(self.size)) as Member;
        let is_busy = self.nodes.get(&member).is_some_and(|node| {
            let view = node.view();
            !view.waiting.is_empty() || !view.holding.is_empty()
        });
        let serving: Vec<_> = self.nodes.keys().copied().filter(|other| self.serves(*other)).collect();
        let is_spare = serving.len() > 1 && serving.contains(&member);
        match dice.below(12) {
            0 | 1 if self.serves(member) && !is_busy => self.asks(member),
            2 if self.serves(member) && self.held.iter().any(|(node, _)| *node == self.id(member)) => {
                self.releases(member);
            }
            3 if chances.crashes > 0 && is_spare && dice.below(3) == 0 => {
                chances.crashes -= 1;
                self.crashes(member);
            }
            4 if !self.is_up(member) && dice.below(2) == 0 => self.returns(member),
            5 if (!self.is_up(member) || (is_spare && chances.crashes > 0)) && dice.below(3) == 0 => {
                chances.crashes -= usize::from(is_spare);
                let others: Vec<_> = serving.into_iter().filter(|other| *other != member).collect();
                self.is_gone(member, others[dice.below(others.len())]);
            }
            6 if chances.early_timers > 0 && self.is_up(member) => {
                chances.early_timers -= 1;
                self.timers_fire(member);
            }
            7 if chances.losses > 0 && !self.packets.is_empty() => {
                let at = dice.below(self.packets.len());
                if matches!(self.packets[at].body, Body::Message(_)) {
                    chances.losses -= 1;
                    self.packets.remove(at);
                }
            }
            8 if chances.cancels > 0 && self.serves(member) => {
                if let Some(waiting) = self.node(member).view().waiting.first() {
                    chances.cancels -= 1;
                    self.event(member, Event::Cancel { request: waiting.request });
                }
            }
            _ if !self.packets.is_empty() => {
                let at = dice.below(self.packets.len());
                let (from, to) = (self.packets[at].from, self.packets[at].to);
                let first = |packet: &Packet<_>| packet.from == from && packet.to == to;
                let oldest = self.packets.iter().position(first).unwrap_or(at);
                self.arrives(if self.network == Network::Anyone { at } else { oldest });
            }
            _ => {}
        }
    }

    fn check(&mut self) -> Result<(), String> {
        let mut usable: BTreeSet<(NodeId, Option<u64>)> = BTreeSet::new();
        for node in self.nodes.values().filter(|node| self.serves(node.id().member())) {
            usable.extend(node.view().token.map(|token| (node.id(), token.pass)));
        }
        for Packet { from, to, census, body } in &self.packets {
            let (Body::Message(message), Some(node)) = (body, self.nodes.get(&to.member())) else { continue };
            if !self.serves(to.member()) {
                continue;
            }
            let mut receiver = node.clone();
            let keeper = &self.keepers[&to.member()];
            if self.is_refused(keeper, *from) {
                continue;
            }
            let known = keeper.census();
            if !known.includes(census) {
                // It learns that first.
                let learned = known.merged(census);
                receiver.handle(Event::Census { census: learned }).map_err(|misuse| format!("{misuse}"))?;
            }
            usable.extend(receiver.token_in(*from, message).map(|token| (node.id(), token.pass)));
        }
        if usable.len() > 1 {
            self.wrong.get_or_insert(format!("tokens at {usable:?}"));
        }
        self.wrong.clone().map_or(Ok(()), Err)
    }

    /// All come back, everything arrives, and all who ask are served.
    fn everybody_is_served(&mut self) -> Result<(), String> {
        for member in core::mem::take(&mut self.fenced) {
            self.crashes(member);
        }
        for member in 0..self.size {
            if !self.is_up(member) {
                self.returns(member);
            }
        }
        for round in 0..4 * usize::from(self.size) + 8 {
            self.settles();
            self.check()?;
            for member in self.inside() {
                self.releases(member);
                self.settles();
                self.check()?;
            }
            for member in self.nodes.keys().copied().collect::<Vec<_>>() {
                if round == 2 && self.node(member).view().waiting.is_empty() && !self.inside().contains(&member) {
                    self.asks(member);
                }
                self.timers_fire(member);
            }
        }
        let waiting: Vec<_> = self.nodes.values().filter(|node| !node.view().waiting.is_empty()).map(P::id).collect();
        match self.token_at().as_slice() {
            _ if !waiting.is_empty() => Err(format!("{waiting:?} wait for ever")),
            [_] => Ok(()),
            at => Err(format!("tokens at {at:?} in the end")),
        }
    }
}

/// A sequence that looks like chance, the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) as usize) % limit
    }
}
