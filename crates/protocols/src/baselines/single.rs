//! What the baselines with one request per node share: the caller and its mistakes, views, and the [`Protocol`].
//!
//! An [`Algorithm`] only says what to do when its application asks and leaves and when a message comes. It answers
//! through a [`Turn`], which knows the node, the others and what the caller is doing.

use meshlock_core::Slots;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::vec::Vec;

use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::planted::Planted;
use meshlock_core::protocol::{Effect, Event, Misuse, Protocol, Rejection};
use meshlock_core::view::{Claimant, Origin, Returning, TokenView, View, Waiting};
use meshlock_core::vocabulary::{Demand, Fence, Grant, NodeId, Rank, RequestId, Units};

/// One algorithm at one node, without the caller.
pub trait Algorithm: Clone + Debug + Eq + Hash {
    type Message: Clone + Debug + Eq + Ord + Hash;
    type Bug: Copy + Debug + Eq + Hash;
    /// What all nodes agree on besides who they are.
    type Setting;

    /// Nodes enter by the permission of the others; there is no token.
    const BY_PERMISSION: bool;

    /// Before anything has happened. Where there is a token, the member with the smallest id has it.
    fn start(id: NodeId, members: &BTreeSet<NodeId>, setting: Self::Setting) -> Self;

    /// The k of h-out-of-k.
    fn capacity(&self) -> Units {
        Units(1)
    }

    fn ask(&mut self, turn: &mut Turn<'_, Self>);

    /// The caller has left and gave back these units.
    fn leave(&mut self, units: Units, turn: &mut Turn<'_, Self>);

    /// A message of another member. On `Err` nothing has changed.
    fn receive(&mut self, from: NodeId, message: Self::Message, turn: &mut Turn<'_, Self>) -> Result<(), Rejection>;

    fn token(&self, _caller: &Caller) -> Option<TokenView> {
        None
    }

    /// The token that this message would bring if it came now, and would be accepted.
    fn token_in(&self, _from: NodeId, _message: &Self::Message, _around: Around<'_>) -> Option<TokenView> {
        None
    }

    /// The node that has the outstanding request, where there is one such node.
    fn asked(&self) -> Option<NodeId> {
        None
    }

    /// The waiting nodes, itself included, as far as this node keeps a queue.
    fn queue(&self) -> Vec<NodeId> {
        Vec::new()
    }

    /// The word under which a message is counted.
    fn kind(message: &Self::Message) -> &'static str;

    /// Whether the node ignores this message of a member now and at any later time.
    fn is_stale(&self, _from: NodeId, _message: &Self::Message) -> bool {
        false
    }

    /// Shows every growing number; see [`meshlock_core::counters`].
    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor);

    /// Shows every growing number of a message.
    fn visit_message_counters(message: &mut Self::Message, visitor: &mut dyn CounterVisitor);
}

/// What the application at a node is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Neither waiting nor inside.
    Away,
    /// Its request is not granted yet.
    Waiting(Units),
    /// It uses what it was granted.
    Inside(Units, Option<Fence>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    /// The latest number used.
    last: Option<RequestId>,
    phase: Phase,
}

impl Caller {
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// It has asked and is not granted yet.
    pub fn waits(&self) -> bool {
        matches!(self.phase, Phase::Waiting(_))
    }

    pub fn is_inside(&self) -> bool {
        matches!(self.phase, Phase::Inside(..))
    }

    /// What it waits for or uses.
    pub fn units(&self) -> Units {
        match self.phase {
            Phase::Away => Units(0),
            Phase::Waiting(units) | Phase::Inside(units, _) => units,
        }
    }

    /// Begins to wait, unless that is a mistake.
    fn begin(&mut self, request: RequestId, demand: &Demand, capacity: Units) -> Result<(), Misuse> {
        Misuse::check_units(demand, capacity)?;
        if demand.session.is_some() {
            return Err(Misuse::NoSessions);
        }
        if self.phase != Phase::Away {
            return Err(Misuse::Busy);
        }
        if self.last.is_some_and(|last| request <= last) {
            return Err(Misuse::RequestNumberUsed(request));
        }
        *self = Self { last: Some(request), phase: Phase::Waiting(demand.units) };
        Ok(())
    }

    /// Refuses to change or cancel a request that does not wait.
    fn check_waiting(&self, request: RequestId) -> Result<(), Misuse> {
        match (self.last, self.phase) {
            (Some(last), Phase::Waiting(_)) if last == request => Ok(()),
            (Some(last), Phase::Inside(..)) if last == request => Err(Misuse::AlreadyGranted(request)),
            (Some(last), _) if request <= last => Err(Misuse::AlreadyOver(request)),
            (Some(_) | None, _) => Err(Misuse::UnknownRequest(request)),
        }
    }

    /// Leaves, unless that is a mistake.
    fn end(&mut self, request: RequestId, units: Units) -> Result<(), Misuse> {
        match (self.last, self.phase) {
            (Some(last), Phase::Inside(held, _)) if last == request => {
                if held != units {
                    return Err(Misuse::PartialRelease { request, held, asked: units });
                }
                self.phase = Phase::Away;
                Ok(())
            }
            (Some(_) | None, _) => {
                self.check_waiting(request)?;
                Err(Misuse::NotGranted(request))
            }
        }
    }

    fn grant(&self) -> Option<Grant> {
        match (self.last, self.phase) {
            (Some(request), Phase::Inside(units, fence)) => {
                Some(Grant { request, units, session: None, fence, slots: Slots::NONE })
            }
            (Some(_) | None, _) => None,
        }
    }
}

/// What surrounds an algorithm at its node.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub caller: &'a Caller,
    pub others: &'a BTreeSet<NodeId>,
}

/// One event at one node: what an algorithm may look at, and what it wants done.
pub struct Turn<'a, A: Algorithm> {
    pub id: NodeId,
    pub others: &'a BTreeSet<NodeId>,
    caller: &'a mut Caller,
    planted: Planted<A::Bug>,
    effects: Vec<Effect<A::Message>>,
}

impl<A: Algorithm> Turn<'_, A> {
    pub fn caller(&self) -> &Caller {
        self.caller
    }

    pub fn around(&self) -> Around<'_> {
        Around { caller: self.caller, others: self.others }
    }

    pub fn has(&self, bug: A::Bug) -> bool {
        self.planted.has(bug)
    }

    pub fn send(&mut self, to: NodeId, message: A::Message) {
        self.effects.push(Effect::Send { to, message });
    }

    /// Sends to all other members, one by one.
    pub fn send_to_all(&mut self, message: &A::Message) {
        self.effects.extend(self.others.iter().map(|&to| Effect::Send { to, message: message.clone() }));
    }

    /// The caller enters. Nothing happens unless it waits.
    pub fn enter(&mut self, fence: Option<Fence>) {
        let Phase::Waiting(units) = self.caller.phase else { return };
        self.caller.phase = Phase::Inside(units, fence);
        self.effects.extend(self.caller.grant().map(|grant| Effect::Granted { grant }));
    }
}

/// An algorithm with its caller: one resource at one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node<A: Algorithm> {
    id: NodeId,
    others: BTreeSet<NodeId>,
    caller: Caller,
    planted: Planted<A::Bug>,
    algorithm: A,
}

impl<A: Algorithm> Node<A> {
    /// A node before anything has happened. Members and setting must be the same everywhere.
    pub fn new(id: NodeId, members: impl IntoIterator<Item = NodeId>, setting: A::Setting) -> Self {
        let mut members: BTreeSet<_> = members.into_iter().chain([id]).collect();
        let algorithm = A::start(id, &members, setting);
        members.remove(&id);
        let caller = Caller { last: None, phase: Phase::Away };
        Self { id, others: members, caller, planted: Planted::NONE, algorithm }
    }

    #[cfg(feature = "mutants")]
    #[doc(hidden)]
    pub fn plant(&mut self, bug: A::Bug) {
        self.planted = Planted::bug(bug);
    }

    /// Lets the algorithm act and collects what it wants done.
    fn act<T>(&mut self, act: impl FnOnce(&mut A, &mut Turn<'_, A>) -> T) -> (T, Vec<Effect<A::Message>>) {
        let Self { id, others, caller, planted, algorithm } = self;
        let mut turn = Turn { id: *id, others, caller, planted: *planted, effects: Vec::new() };
        let result = act(algorithm, &mut turn);
        (result, turn.effects)
    }

    fn on_message(&mut self, from: NodeId, message: A::Message) -> Vec<Effect<A::Message>> {
        let (verdict, effects) = if self.others.contains(&from) {
            self.act(|algorithm, turn| algorithm.receive(from, message, turn))
        } else {
            (Err(Rejection::UnknownSender), Vec::new())
        };
        match verdict {
            Ok(()) => effects,
            Err(reason) => [Effect::Reject { from, reason }].into(),
        }
    }
}

impl<A: Algorithm> Protocol for Node<A> {
    type Message = A::Message;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<A::Message>) -> Result<Vec<Effect<A::Message>>, Misuse> {
        match event {
            Event::Request { request, demand } => {
                self.caller.begin(request, &demand, self.algorithm.capacity())?;
                Ok(self.act(|algorithm, turn| algorithm.ask(turn)).1)
            }
            Event::Release { request, units } => {
                self.caller.end(request, units)?;
                Ok(self.act(|algorithm, turn| algorithm.leave(units, turn)).1)
            }
            Event::Cancel { request } => {
                self.caller.check_waiting(request)?;
                Err(Misuse::Unsupported("cancel a request: what was sent cannot be called back"))
            }
            Event::Reprioritize { request, .. } => {
                self.caller.check_waiting(request)?;
                Err(Misuse::Unsupported("change the urgency of a request: it ignores urgencies"))
            }
            Event::Receive { from, message } => Ok(self.on_message(from, message)),
            // Any node reaches any other and no message is lost: links and timers do not matter here.
            Event::LinkUp { .. } | Event::LinkDown { .. } | Event::Expired { .. } => Ok(Vec::new()),
            Event::Resize { version, .. } => Misuse::check_resize(version).map(|()| Vec::new()),
            Event::Leave => Err(Misuse::Unsupported("leave")),
            Event::Resume => Err(Misuse::Unsupported("go on after a stop")),
            Event::Census { .. } | Event::Remake { .. } => Err(Misuse::Unsupported("recover")),
        }
    }

    fn view(&self) -> View {
        let token = self.algorithm.token(&self.caller);
        let role = match self.caller.phase {
            Phase::Inside(..) => "inside",
            Phase::Waiting(_) => "waiting",
            Phase::Away if token.is_some() => "holder",
            Phase::Away => "idle",
        };
        let waiting = self.caller.last.filter(|_| self.caller.waits()).map(|request| Waiting {
            request,
            rank: Rank(0),
            units: self.caller.units(),
            session: None,
        });
        let claimant = |node: NodeId| match waiting {
            Some(own) if node == self.id => claim(Origin::Local(own.request)),
            Some(_) | None => claim(Origin::Node(node)),
        };
        View {
            role: role.into(),
            token,
            by_permission: A::BY_PERMISSION,
            neighbours: self.others.iter().copied().collect(),
            asked: self.algorithm.asked(),
            queue: self.algorithm.queue().into_iter().map(claimant).collect(),
            waiting: waiting.into_iter().collect(),
            holding: self.caller.grant().into_iter().collect(),
            ..View::default()
        }
    }

    fn token_in(&self, from: NodeId, message: &A::Message) -> Option<TokenView> {
        let Self { others, caller, algorithm, .. } = self;
        others.contains(&from).then(|| algorithm.token_in(from, message, Around { caller, others })).flatten()
    }

    fn returning_in(_message: &A::Message) -> Option<Returning> {
        None
    }

    fn kind(message: &A::Message) -> &'static str {
        A::kind(message)
    }

    fn is_stale(&self, from: NodeId, message: &A::Message) -> bool {
        self.others.contains(&from) && self.algorithm.is_stale(from, message)
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        if let Some(last) = &mut self.caller.last {
            visitor.number(Line::of("request", self.id), &mut last.0);
        }
        if let Phase::Inside(_, Some(fence)) = &mut self.caller.phase {
            visitor.number(Line::CLOCK, &mut fence.0);
        }
        self.algorithm.visit_counters(visitor);
    }

    fn visit_message_counters(message: &mut A::Message, visitor: &mut dyn CounterVisitor) {
        A::visit_message_counters(message, visitor);
    }
}

/// A claim for one unit, without urgency.
fn claim(origin: Origin) -> Claimant {
    Claimant { origin, rank: Rank(0), units: Units(1), session: None }
}

/// A token of one unit without a ledger, and the members that it carries in its queue.
pub(super) fn token_view(caller: &Caller, queue: impl Iterator<Item = NodeId>) -> TokenView {
    let free = Units(u32::from(!caller.is_inside()));
    TokenView { free, queue: queue.map(|node| claim(Origin::Node(node))).collect(), ..TokenView::default() }
}
