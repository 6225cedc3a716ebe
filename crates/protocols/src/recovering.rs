//! A node that recovers from crashes, with its resources: what a member of a mesh is, without network and disk.
//!
//! To its driver its id never changes: it is the place of a member, `NodeId::of(member, 0)`. Inside it is one incarnation
//! after the other, and the protocols of its resources know their peers as incarnations. It brings a [`Keeper`] and
//! the protocols together as every driver must:
//!
//! ```text
//!   link up:           CENSUS, then the reports of this census            to that neighbour
//!   CENSUS from it:    learn; once each has heard the other's incarnation, the protocols hear of the link
//!   the census grows:  picture every resource; CENSUS to all; own REPORT; then the protocols hear of it
//!   REPORT, new:       to all others; the heir that has them all decides
//!   own count above:   begin anew, as the next incarnation
//! ```
//!
//! A link carries frames of several incarnations one after the other if a node begins anew while it is up. A frame is
//! handled only if both ends know each other's incarnation, so nothing that was meant for a former one is believed.
//!
//! [`Event::Census`] brings facts from outside: that a member was removed, or what the voters know. If voters answer
//! with exactly the census of this node, they have ratified it. [`Event::Leave`] ends in a goodbye.
//!
//! Applications use the first resource. If there are others, each request is also made there, and what is granted there
//! is given back at once: so their tokens travel too, each at its own time.

#![cfg_attr(feature = "mutants", allow(unused_imports, reason = "`bug.rs` shadows the methods of `Rules`"))]

#[cfg(feature = "mutants")]
mod bug;
mod look;
mod message;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use meshlock_core::planted::Planted;
use meshlock_core::recovery::{Census, Keeper, Member, Report, Resource, Row};
use meshlock_core::{Demand, Effect, Event, Grant, Misuse, NodeId, Protocol, Rejection, RequestId, Units};

#[cfg(feature = "mutants")]
pub use bug::Bug;
pub use message::{Body, Message};

use crate::node::Node;

/// A member of a mesh: its census, the protocols of its resources, and who is at the other ends of its links.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recovering {
    keeper: Keeper,
    phase: Phase,
    /// Of this incarnation, or of the last one while it does not run.
    resources: Vec<Node>,
    /// By the place of the neighbour.
    links: BTreeMap<NodeId, Link>,
    /// What waits, as it was asked: it is asked again when this node begins anew.
    asked: BTreeMap<RequestId, Demand>,
    /// The newest definition of the first resource that it was told: version and capacity. A node has it on disk, in its
    /// catalogue.
    defined: Option<(u64, Units)>,
    /// What has still to be told where the census is not told first, and whether with this event.
    #[cfg(feature = "mutants")]
    untold: Option<(bool, Effects)>,
    /// What a clean stop saved, if it is not deleted when it is used.
    #[cfg(feature = "mutants")]
    saved: Option<Box<Self>>,
    planted: Planted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Has an invitation and has never run.
    Invited,
    Running,
    /// Goes as soon as it has nothing that others need.
    Leaving,
    /// Said goodbye.
    Left,
    /// Crashed or gone. It comes back as the next incarnation.
    Down,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Link {
    /// Who it is, once it has said so.
    peer: Option<NodeId>,
    /// It knows this incarnation too, and the protocols know of the link.
    is_up: bool,
}

type Effects = Vec<Effect<Message>>;

/// The member of a node, as its driver knows it.
const fn place(node: NodeId) -> NodeId {
    NodeId::of(node.member(), 0)
}

impl Recovering {
    /// A member that runs, in a mesh of these members, all in their first incarnation. `resources` are its nodes of them.
    pub fn founding(member: Member, members: impl IntoIterator<Item = Member>, resources: Vec<Node>) -> Self {
        let census = Census::of_living(members.into_iter().map(|member| NodeId::of(member, 0)));
        let mut founder = Self::invited(member, census.clone(), resources);
        founder.phase = Phase::Running;
        for resource in &mut founder.resources {
            let told = resource.handle(Event::Census { census: census.clone() });
            debug_assert_eq!(told, Ok(Vec::new()), "a node without links has nothing to say");
        }
        founder
    }

    /// A member that has not run yet. Its invitation names all members that were invited before.
    pub fn invited(member: Member, invitation: Census, resources: Vec<Node>) -> Self {
        let keeper = Keeper::new(NodeId::of(member, 0), invitation, false);
        Self {
            keeper,
            phase: Phase::Invited,
            resources,
            links: BTreeMap::new(),
            asked: BTreeMap::new(),
            defined: None,
            #[cfg(feature = "mutants")]
            untold: None,
            #[cfg(feature = "mutants")]
            saved: None,
            planted: Planted::default(),
        }
    }

    /// The same in a mesh with voters: they must have seen a census before its heir decides, and a node that is gone
    /// comes back only after [`Event::Resume`], when it is registered.
    #[must_use]
    pub fn with_voters(mut self) -> Self {
        self.keeper = Keeper::new(self.keeper.me(), self.keeper.census().clone(), true);
        self
    }

    pub const fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// The incarnation that runs, or ran last.
    pub const fn me(&self) -> NodeId {
        self.keeper.me()
    }

    pub const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Leaving)
    }

    /// Whether it left in order, with a goodbye.
    pub fn has_left(&self) -> bool {
        self.phase == Phase::Left
    }

    pub fn resources(&self) -> &[Node] {
        &self.resources
    }

    fn apply(&mut self, event: Event<Message>) -> Result<Effects, Misuse> {
        let mut out = Vec::new();
        match event {
            Event::LinkUp { neighbour } => self.on_link_up(neighbour, &mut out)?,
            Event::LinkDown { neighbour } => self.on_link_down(neighbour, &mut out)?,
            Event::Receive { from, message } => self.on_message(from, message, &mut out)?,
            Event::Census { census } => {
                let facts = self.told_by_others(census);
                self.keeper.ratified(&facts); // only voters ratify: the same census of a neighbour does not
                self.on_facts(&facts, &mut out)?;
            }
            Event::Resume if self.is_running() => {
                self.go_on(&mut out);
                self.tell_all(&Event::Resume, &mut out)?;
            }
            Event::Resume => self.start(&mut out)?,
            Event::Remake { .. } => return Err(Misuse::Unsupported("be told what its heir decides")),
            Event::Leave if self.is_running() && self.is_busy() => return Err(Misuse::StillBusy),
            Event::Leave if self.is_running() => {
                self.tell_all(&Event::Leave, &mut out)?;
                self.phase = Phase::Leaving;
            }
            Event::Expired { .. } if !self.is_running() => {} // of an incarnation that is over
            Event::Request { .. }
            | Event::Cancel { .. }
            | Event::Reprioritize { .. }
            | Event::Release { .. }
            | Event::Resize { .. }
            | Event::Leave
                if !self.is_running() =>
            {
                return Err(Misuse::Leaving);
            }
            Event::Request { request, demand } => {
                self.tell(FIRST, Event::Request { request, demand }, &mut out)?;
                let waits = !out.iter().any(|effect| matches!(effect, Effect::Granted { .. }));
                self.asked.extend(waits.then_some((request, demand)));
                self.tell_others(&Event::Request { request, demand }, &mut out);
            }
            Event::Cancel { request } => {
                self.tell(FIRST, Event::Cancel { request }, &mut out)?;
                self.asked.remove(&request);
                self.tell_others(&Event::Cancel { request }, &mut out);
            }
            Event::Reprioritize { request, urgency } => {
                self.tell(FIRST, Event::Reprioritize { request, urgency }, &mut out)?;
                if let Some(demand) = self.asked.get_mut(&request) {
                    demand.urgency = urgency;
                }
                self.tell_others(&Event::Reprioritize { request, urgency }, &mut out);
            }
            Event::Release { request, units } => self.tell(FIRST, Event::Release { request, units }, &mut out)?,
            Event::Expired { timer } => self.tell(FIRST, Event::Expired { timer }, &mut out)?,
            Event::Resize { version, capacity } => {
                self.defined = self.defined.max(Some((version, capacity)));
                self.tell(FIRST, Event::Resize { version, capacity }, &mut out)?;
            }
            Event::Leave => {}
        }
        self.decide(&mut out)?;
        self.go_if_leaving(&mut out);
        #[cfg(feature = "mutants")]
        self.tell_late(&mut out);
        Ok(out)
    }

    fn on_link_up(&mut self, neighbour: NodeId, out: &mut Effects) -> Result<(), Misuse> {
        self.on_link_down(neighbour, out)?; // a new link replaces the old one
        self.links.insert(neighbour, Link::default());
        if self.is_running() {
            let reports = self.keeper.reports().map(|report| Body::Report(Arc::clone(report)));
            let bodies = [Body::Census(self.keeper.census().clone())].into_iter().chain(reports);
            let from = self.me();
            out.extend(bodies.map(|body| Effect::Send { to: neighbour, message: Message { from, body } }));
        }
        Ok(())
    }

    fn on_link_down(&mut self, neighbour: NodeId, out: &mut Effects) -> Result<(), Misuse> {
        match self.links.remove(&neighbour) {
            Some(Link { peer: Some(peer), is_up: true }) => self.tell_all(&Event::LinkDown { neighbour: peer }, out),
            Some(_) | None => Ok(()),
        }
    }

    fn on_message(&mut self, from: NodeId, message: Message, out: &mut Effects) -> Result<(), Misuse> {
        if let Some(reason) = self.objection(from, &message) {
            out.push(Effect::Reject { from, reason });
            return Ok(());
        }
        let Message { from: sender, body } = message;
        if !self.hears(sender) {
            return Ok(());
        }
        match body {
            Body::Census(census) => self.on_census(from, sender, census, out),
            Body::Report(report) => {
                if self.is_running() && self.keeper.hear(Arc::clone(&report)) {
                    let others = self.links.keys().copied().filter(|other| *other != from).collect();
                    self.multicast(others, Body::Report(report), out);
                }
                Ok(())
            }
            Body::Inner { resource, message } => {
                #[cfg(feature = "mutants")]
                self.link_with_gone(from, sender, out)?;
                if self.is_linked(from, sender) {
                    self.tell(resource, Event::Receive { from: sender, message: *message }, out)?;
                }
                Ok(())
            }
        }
    }

    /// A mistake of the sender that can be seen from here.
    fn objection(&self, from: NodeId, message: &Message) -> Option<Rejection> {
        if !self.links.contains_key(&from) || message.from.member() != from.member() {
            return Some(Rejection::UnknownSender);
        }
        match &message.body {
            Body::Census(census) => (!census.is_possible()).then_some(Rejection::NumberOutOfRange),
            Body::Report(report) => (!report.census.is_possible()).then_some(Rejection::NumberOutOfRange),
            Body::Inner { resource, .. } => {
                let known = usize::try_from(*resource).is_ok_and(|at| at < self.resources.len());
                (!known).then_some(Rejection::OtherProtocol)
            }
        }
    }

    /// Whether this node and that incarnation of a neighbour know each other over this link.
    fn is_linked(&self, neighbour: NodeId, peer: NodeId) -> bool {
        self.is_running() && self.links.get(&neighbour) == Some(&Link { peer: Some(peer), is_up: true })
    }

    fn on_census(&mut self, from: NodeId, sender: NodeId, census: Census, out: &mut Effects) -> Result<(), Misuse> {
        let former = self.links.insert(from, Link { peer: Some(sender), is_up: self.is_linked(from, sender) });
        if let Some(Link { peer: Some(peer), is_up: true }) = former.filter(|link| link.peer != Some(sender)) {
            self.tell_all(&Event::LinkDown { neighbour: peer }, out)?;
        }
        self.on_facts(&census, out)?;
        let knows_me = census.is_living(self.me()) && self.keeper.census().is_living(sender);
        if self.is_running() && knows_me && !self.is_linked(from, sender) {
            self.links.insert(from, Link { peer: Some(sender), is_up: true });
            self.tell_all(&Event::LinkUp { neighbour: sender }, out)?;
        }
        Ok(())
    }

    fn on_facts(&mut self, facts: &Census, out: &mut Effects) -> Result<(), Misuse> {
        let Some(grown) = self.keeper.grown(facts) else { return Ok(()) };
        let rows = self.pictures(&grown);
        self.keeper.learn(grown);
        if !self.is_running() {
            return Ok(()); // it is on disk
        }
        if self.must_begin_anew() {
            return self.end(out);
        }
        self.publish(rows, out);
        let gone: Vec<(NodeId, NodeId)> = self.links_to_gone().collect();
        for (neighbour, peer) in gone {
            self.links.insert(neighbour, Link { peer: Some(peer), is_up: false });
            self.tell_all(&Event::LinkDown { neighbour: peer }, out)?;
        }
        self.tell_all(&Event::Census { census: self.keeper.census().clone() }, out)
    }

    fn links_to_gone(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let up =
            self.links.iter().filter_map(|(neighbour, link)| Some((*neighbour, link.peer.filter(|_| link.is_up)?)));
        up.filter(|(_, peer)| self.keeper.census().is_gone(*peer))
    }

    fn pictures(&self, census: &Census) -> Vec<(Resource, Option<Row>)> {
        (FIRST..).zip(&self.resources).map(|(resource, node)| (resource, node.row(census))).collect()
    }

    /// This incarnation is gone: with voters, it waits until it is registered as the next one.
    fn end(&mut self, out: &mut Effects) -> Result<(), Misuse> {
        self.phase = Phase::Down;
        self.links.values_mut().for_each(|link| link.is_up = false);
        if self.keeper.ratifies() { Ok(()) } else { self.start(out) }
    }

    fn start(&mut self, out: &mut Effects) -> Result<(), Misuse> {
        if self.keeper.census().is_removed(self.me().member()) {
            return Ok(()); // for good
        }
        #[cfg(feature = "mutants")]
        if self.use_saved_again() {
            return self.tell_all(&Event::Resume, out);
        }
        let me = self.next_incarnation();
        let fresh: Option<Vec<Node>> = self.resources.iter().map(|resource| resource.anew(me)).collect();
        self.resources = fresh.ok_or(Misuse::Unsupported("come back after a crash"))?;
        let census = self.known_at_start().merged(&Census::living_fact(me));
        self.keeper = self.keeper.anew(me, census.clone());
        self.phase = Phase::Running;
        self.links.values_mut().for_each(|link| link.is_up = false);
        if let Some((version, capacity)) = self.defined {
            self.tell(FIRST, Event::Resize { version, capacity }, out)?;
        }
        self.publish(self.pictures(&census), out);
        self.tell_all(&Event::Census { census }, out)?;
        for (request, demand) in self.asked.clone() {
            self.tell(FIRST, Event::Request { request, demand }, out)?;
            self.tell_others(&Event::Request { request, demand }, out);
        }
        Ok(())
    }

    fn decide(&mut self, out: &mut Effects) -> Result<(), Misuse> {
        let decision = if self.is_running() { self.keeper.decide() } else { None };
        for (resource, remake) in decision.into_iter().flatten() {
            self.tell(resource, Event::Remake { remake }, out)?;
        }
        Ok(())
    }

    fn go_if_leaving(&mut self, out: &mut Effects) {
        // A goodbye that no neighbour hears is none.
        let is_heard = self.links.values().any(|link| link.is_up);
        if self.phase == Phase::Leaving && is_heard && self.resources.iter().all(Protocol::may_go) {
            self.phase = Phase::Left;
            self.say_goodbye(out);
            self.links.values_mut().for_each(|link| link.is_up = false);
        }
    }

    /// Tells one of its protocols, and takes what that wants done to the outside.
    fn tell(&mut self, resource: Resource, event: Event<crate::Message>, out: &mut Effects) -> Result<(), Misuse> {
        let node = usize::try_from(resource).ok().and_then(|at| self.resources.get_mut(at));
        let effects = node.map_or(Ok(Vec::new()), |node| node.handle(event))?;
        let from = self.me();
        let wrap = |message| Message { from, body: Body::Inner { resource, message: Box::new(message) } };
        for effect in effects {
            match effect {
                Effect::Send { to, message } => out.push(Effect::Send { to: place(to), message: wrap(message) }),
                Effect::Multicast { to, message } => {
                    let to = to.into_iter().map(place).collect();
                    out.push(Effect::Multicast { to, message: wrap(message) });
                }
                Effect::Broadcast { message } => {
                    let up = self.links.iter().filter(|(_, link)| link.is_up).map(|(neighbour, _)| *neighbour);
                    out.push(Effect::Multicast { to: up.collect(), message: wrap(message) });
                }
                Effect::Granted { grant } if resource == FIRST => {
                    self.asked.remove(&grant.request);
                    out.push(Effect::Granted { grant });
                }
                Effect::Granted { grant } => {
                    let Grant { request, units, .. } = grant;
                    self.tell(resource, Event::Release { request, units }, out)?;
                }
                Effect::Arm { timer, after } => out.push(Effect::Arm { timer, after }),
                Effect::Reject { from, reason } => out.push(Effect::Reject { from: place(from), reason }),
            }
        }
        Ok(())
    }

    /// The same for all but the first resource. There a request may be over before it is in the first.
    fn tell_others(&mut self, event: &Event<crate::Message>, out: &mut Effects) {
        for resource in FIRST + 1..self.resources.len() as Resource {
            let told = self.tell(resource, event.clone(), out);
            debug_assert!(matches!(told, Ok(()) | Err(Misuse::AlreadyOver(_))), "{told:?}");
        }
    }

    fn is_busy(&self) -> bool {
        self.resources.iter().map(Protocol::view).any(|view| !view.waiting.is_empty() || !view.holding.is_empty())
    }

    fn tell_all(&mut self, event: &Event<crate::Message>, out: &mut Effects) -> Result<(), Misuse> {
        let resources = self.resources.len() as Resource;
        (FIRST..resources).try_for_each(|resource| self.tell(resource, event.clone(), out))
    }

    fn multicast(&self, to: Vec<NodeId>, body: Body, out: &mut Effects) {
        if !to.is_empty() {
            out.push(Effect::Multicast { to, message: Message { from: self.me(), body } });
        }
    }

    fn broadcast(&self, body: Body, out: &mut Effects) {
        self.multicast(self.links.keys().copied().collect(), body, out);
    }
}

const FIRST: Resource = 0;

/// The rules that can be broken alone; see [`meshlock_core::planted`].
trait Rules {
    /// Nothing of an incarnation that is gone is heard.
    fn hears(&self, sender: NodeId) -> bool;
    /// The census goes to all neighbours ahead of everything else, then what is here now.
    fn publish(&mut self, rows: Vec<(Resource, Option<Row>)>, out: &mut Effects);
    /// Who comes back is another incarnation, so that everybody notices the loss.
    fn next_incarnation(&self) -> NodeId;
    /// The census is on disk.
    fn kept_census(&self) -> Census;
    /// So is how the resource is defined.
    fn kept_definition(&self) -> Option<(u64, Units)>;
    /// The census on disk at a start; at the first one it is the invitation, which names all who were invited before.
    fn known_at_start(&self) -> Census;
    /// Facts from outside; a removal names all who were invited.
    fn told_by_others(&self, facts: Census) -> Census;
    /// Who is gone begins anew.
    fn must_begin_anew(&self) -> bool;
    /// Who leaves with nothing that others need says so, with all that it knows.
    fn say_goodbye(&mut self, out: &mut Effects);
    /// Who goes on after a clean stop has saved its own report and, as an heir, that it has decided. Reports of others,
    /// and what the voters ratified, it hears again.
    fn go_on(&mut self, out: &mut Effects);
}

impl Rules for Recovering {
    fn kept_definition(&self) -> Option<(u64, Units)> {
        self.defined
    }

    fn hears(&self, sender: NodeId) -> bool {
        !self.keeper.census().is_gone(sender)
    }

    fn publish(&mut self, rows: Vec<(Resource, Option<Row>)>, out: &mut Effects) {
        self.broadcast(Body::Census(self.keeper.census().clone()), out);
        let report: Arc<Report> = self.keeper.report(rows);
        self.broadcast(Body::Report(report), out);
    }

    fn next_incarnation(&self) -> NodeId {
        let me = self.me();
        match self.phase {
            Phase::Invited => me,
            Phase::Running | Phase::Leaving | Phase::Left | Phase::Down => {
                NodeId::of(me.member(), me.incarnation().saturating_add(1))
            }
        }
    }

    fn kept_census(&self) -> Census {
        self.keeper.census().clone()
    }

    fn known_at_start(&self) -> Census {
        self.keeper.census().clone()
    }

    fn told_by_others(&self, facts: Census) -> Census {
        facts
    }

    fn must_begin_anew(&self) -> bool {
        self.keeper.is_gone()
    }

    fn say_goodbye(&mut self, out: &mut Effects) {
        let said = self.keeper.census().goodbye(self.me());
        self.broadcast(Body::Census(said.clone()), out);
        self.keeper.learn(said);
    }

    fn go_on(&mut self, _out: &mut Effects) {
        let told = self.keeper.own_report().cloned().map(|report| (report, self.keeper.is_decided()));
        self.keeper = self.keeper.anew(self.me(), self.keeper.census().clone());
        if let Some((report, is_decided)) = told {
            self.keeper.go_on(report, is_decided);
        }
    }
}
