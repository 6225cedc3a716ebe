//! The member as a [`Protocol`]: what others see of it. All ids are places, whatever the incarnations.

use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::recovery::Resource;
use meshlock_core::view::{Claimant, Origin, Returning, TokenView, View, Waiting};
use meshlock_core::{Effect, Event, GrantId, Misuse, NodeId, Protocol, Rank};

use super::message::{Body, Message};
use super::{FIRST, Phase, Recovering, Rules, place};
use crate::node::Node;

impl Protocol for Recovering {
    type Message = Message;

    fn id(&self) -> NodeId {
        place(self.me())
    }

    fn handle(&mut self, event: Event<Message>) -> Result<Vec<Effect<Message>>, Misuse> {
        self.apply(event)
    }

    fn view(&self) -> View {
        let Some(first) = self.resources.first().filter(|_| self.is_running()) else { return self.view_from_outside() };
        let mut view = first.view();
        if let Some(height) = &mut view.height {
            height.id = place(height.id);
        }
        view.token = view.token.map(token_by_place);
        view.neighbours = view.neighbours.into_iter().map(place).collect();
        view.asked = view.asked.map(place);
        view.queue.iter_mut().for_each(claimant_by_place);
        view.returning.iter_mut().for_each(returning_by_place);
        view.captain = view.captain.map(place);
        view
    }

    fn token_in(&self, from: NodeId, message: &Message) -> Option<TokenView> {
        self.token_of(FIRST, from, message)
    }

    fn returning_in(message: &Message) -> Option<Returning> {
        let Body::Inner { resource: FIRST, message } = &message.body else { return None };
        let mut returning = Node::returning_in(message)?;
        returning_by_place(&mut returning);
        Some(returning)
    }

    fn kind(message: &Message) -> &'static str {
        match &message.body {
            Body::Census(_) => "census",
            Body::Report(_) => "report",
            Body::Inner { message, .. } => Node::kind(message),
        }
    }

    fn is_stale(&self, from: NodeId, message: &Message) -> bool {
        if !self.hears(message.from) {
            return true; // who is gone stays gone
        }
        match &message.body {
            Body::Census(census) => self.is_linked(from, message.from) && self.keeper.census().includes(census),
            Body::Report(report) => self.keeper.is_old(report),
            Body::Inner { resource, message: inner } => {
                let node = usize::try_from(*resource).ok().and_then(|at| self.resources.get(at));
                let is_stale = |node: &Node| node.is_stale(message.from, inner);
                self.is_linked(from, message.from) && node.is_some_and(is_stale)
            }
        }
    }

    fn can_wait(&self, message: &Message, to: NodeId, heard: Option<NodeId>) -> bool {
        let Body::Inner { resource, message } = &message.body else { return false };
        let node = usize::try_from(*resource).ok().and_then(|at| self.resources.get(at));
        node.is_some_and(|node| node.can_wait(message, to, heard))
    }

    fn may_go(&self) -> bool {
        !self.is_running() || self.resources.iter().all(Protocol::may_go)
    }

    fn crashed(&self) -> Option<Self> {
        let phase = if self.phase == Phase::Invited { Phase::Invited } else { Phase::Down };
        let keeper = self.keeper.anew(self.me(), self.kept_census());
        let resources: Option<Vec<Node>> = self.resources.iter().map(|resource| resource.anew(self.me())).collect();
        let fresh = Self::invited(self.me().member(), Default::default(), resources?);
        #[cfg(feature = "mutants")]
        let fresh = Self { saved: self.saved.clone(), ..fresh };
        Some(Self { keeper, phase, defined: self.kept_definition(), planted: self.planted, ..fresh })
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        let mut by_place = ByPlace(visitor);
        self.keeper.visit_counters(&mut by_place);
        for resource in &mut self.resources {
            resource.visit_counters(&mut by_place);
        }
    }

    fn visit_message_counters(message: &mut Message, visitor: &mut dyn CounterVisitor) {
        message.visit_counters(&mut ByPlace(visitor));
    }
}

impl Recovering {
    /// The token of a resource that `message` would bring, if it came now from `from` and would be accepted.
    pub fn token_of(&self, resource: Resource, from: NodeId, message: &Message) -> Option<TokenView> {
        let Body::Inner { resource: brought, message: inner } = &message.body else { return None };
        if *brought != resource || !self.hears(message.from) || !self.is_linked(from, message.from) {
            return None;
        }
        let node = self.resources.get(usize::try_from(resource).ok()?)?;
        node.token_in(message.from, inner).map(token_by_place)
    }

    /// Of a member that does not take part: its clients wait until it does.
    fn view_from_outside(&self) -> View {
        let role = match self.phase {
            Phase::Invited => "invited",
            Phase::Left => "left",
            Phase::Down | Phase::Running | Phase::Leaving => "down",
        };
        let waiting = self.asked.iter().map(|(request, demand)| Waiting {
            request: *request,
            rank: Rank(0),
            units: demand.units,
            session: demand.session,
        });
        View { role: role.to_owned(), waiting: waiting.collect(), ..View::default() }
    }
}

/// Numbers of requests grow at a member, over all of its incarnations.
struct ByPlace<'a>(&'a mut dyn CounterVisitor);

impl CounterVisitor for ByPlace<'_> {
    fn visit(&mut self, line: Line, value: i64) -> i64 {
        self.0.visit(Line { of: line.of.map(place), ..line }, value)
    }
}

/// A grant stays unique: what was granted to a former incarnation is not asked again under its number.
fn grant_by_place(grant: &mut GrantId) {
    grant.node = place(grant.node);
}

fn returning_by_place(returning: &mut Returning) {
    returning.grant.iter_mut().for_each(grant_by_place);
}

fn claimant_by_place(claimant: &mut Claimant) {
    if let Origin::Node(node) = &mut claimant.origin {
        *node = place(*node);
    }
}

fn token_by_place(mut token: TokenView) -> TokenView {
    token.ledger.iter_mut().flatten().for_each(|entry| grant_by_place(&mut entry.grant));
    token.queue.iter_mut().for_each(claimant_by_place);
    token
}
