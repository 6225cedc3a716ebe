//! The one trait of all protocols, its events and effects, and the two kinds of mistakes.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use crate::counters::CounterVisitor;
use crate::recovery::{Census, Remake, Row};
use crate::view::{Returning, TokenView, View};
use crate::vocabulary::{Demand, Grant, NodeId, RequestId, Units, Urgency};

/// A protocol instance: one resource at one node.
///
/// A plain value. [`handle`](Self::handle) is the only way to change it; everything else looks.
pub trait Protocol: Clone + Debug + Eq + Hash {
    /// What travels between nodes.
    type Message: Clone + Debug + Eq + Ord + Hash;

    /// The node this instance runs at.
    fn id(&self) -> NodeId;

    /// Applies one event to completion and returns everything it wants done, in order.
    ///
    /// A caller's mistake is an `Err`, a peer's mistake is an [`Effect::Reject`]; either leaves the node unchanged.
    fn handle(&mut self, event: Event<Self::Message>) -> Result<Vec<Effect<Self::Message>>, Misuse>;

    /// What properties, traces and viewers may see.
    fn view(&self) -> View;

    /// The token that `message` would bring to this node, if it came now from `from` and would be accepted.
    fn token_in(&self, from: NodeId, message: &Self::Message) -> Option<TokenView>;

    /// The units on their way back to the token in `message`.
    fn returning_in(message: &Self::Message) -> Option<Returning>;

    /// The word under which `message` is counted.
    fn kind(message: &Self::Message) -> &'static str;

    /// Whether this node would ignore `message` now and in every later state, so that it may be removed at once.
    /// Must be exact: the checker uses it to shrink its space.
    fn is_stale(&self, from: NodeId, message: &Self::Message) -> bool {
        let _ = (from, message);
        false
    }

    /// Whether nobody waits for `message`, which this node has just sent to `to`; `heard` is the sender of the message
    /// that made it do so, if one did. Such a message only confirms what its receiver did, which goes on without it. So a
    /// driver may hold it back for a while to send it together with the next one over the same link, in their order: to a
    /// protocol that is nothing but a slow link.
    fn can_wait(&self, message: &Self::Message, to: NodeId, heard: Option<NodeId>) -> bool {
        let _ = (message, to, heard);
        false
    }

    /// Whether this node can go for good without loss to others: it has neither the token nor a copy that may be the
    /// token, owes no release, and its application neither waits nor is inside. Otherwise its state must be kept.
    fn may_go(&self) -> bool {
        let view = self.view();
        let holds = view.token.is_some() || view.keeps_copy || !view.returning.is_empty();
        !holds && view.waiting.is_empty() && view.holding.is_empty()
    }

    /// What this node reports of its resource under a census that it is about to learn: taken before
    /// [`Event::Census`], without copies that were sent to nodes which are gone. `None` where the protocol cannot
    /// recover.
    fn row(&self, census: &Census) -> Option<Row> {
        let _ = census;
        None
    }

    /// The same resource at another incarnation of this node, which knows nothing and has nothing. `None` where the
    /// protocol cannot recover.
    fn anew(&self, id: NodeId) -> Option<Self> {
        let _ = id;
        None
    }

    /// What is left of this node after a crash: what it has on disk. It starts again with [`Event::Resume`]. `None`
    /// where a crash is not survived.
    fn crashed(&self) -> Option<Self> {
        None
    }

    /// Shows every growing number in this node to `visitor`; see [`crate::counters`].
    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor);

    /// Shows every growing number in `message` to `visitor`.
    fn visit_message_counters(message: &mut Self::Message, visitor: &mut dyn CounterVisitor);
}

/// What can happen to a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Event<M> {
    /// The application asks. The number must be greater than all it used before at this node.
    Request {
        /// The caller's number for it.
        request: RequestId,
        /// What it asks for.
        demand: Demand,
    },
    /// The application no longer wants what it waits for.
    Cancel {
        /// A waiting request.
        request: RequestId,
    },
    /// The application changes the urgency of what it waits for, in either direction.
    Reprioritize {
        /// A waiting request.
        request: RequestId,
        /// Its new urgency.
        urgency: Urgency,
    },
    /// The application gives a grant back, all of it.
    Release {
        /// A granted request.
        request: RequestId,
        /// The units of the grant. Any other number is refused: a grant is not given back in parts.
        units: Units,
    },
    /// A link to a neighbour has come up. Nothing sent over an earlier link to it arrives after this.
    LinkUp {
        /// The other end of the link.
        neighbour: NodeId,
    },
    /// A link has gone down. What was on it, in either direction, may be lost.
    LinkDown {
        /// The other end of the link.
        neighbour: NodeId,
    },
    /// A message has arrived.
    Receive {
        /// The neighbour it came from (for any-to-any protocols: the node that sent it).
        from: NodeId,
        /// Its content.
        message: M,
    },
    /// A timer asked for by [`Effect::Arm`] has run out.
    Expired {
        /// The timer; the node recognises and ignores stale ones.
        timer: Timer,
    },
    /// The resource was defined anew. A version that is not newer than what the node knows is ignored. Grants that were
    /// made stay until they are released; a waiting request that can no longer be granted stays until it is cancelled.
    Resize {
        /// Grows with every definition. Zero is what the node was set up with.
        version: u64,
        /// The new k of h-out-of-k.
        capacity: Units,
    },
    /// This node is about to go: it makes no requests any more and gives away what others need, as far as its protocol
    /// can; see [`Protocol::may_go`]. Its requests must be cancelled or released before.
    Leave,
    /// This node was stopped in order, saved, and goes on. Its links are down since before it was saved, its timers do
    /// not run any more, and what was in flight to it is lost.
    Resume,
    /// More is known of who is gone: nothing of theirs is believed any more, and what they used is free. Their links
    /// are down before this. The row that was reported for this census was taken before it.
    Census {
        /// All that is known; it includes what was told before.
        census: Census,
    },
    /// The token is lost, and this node, the heir, makes it anew. Only after the [`Event::Census`] in which that was
    /// decided.
    Remake {
        /// What it is made of.
        remake: Remake,
    },
}

/// What a node wants done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Effect<M> {
    /// Send to one neighbour (for any-to-any protocols: to any node).
    Send {
        /// The receiver.
        to: NodeId,
        /// The message to send.
        message: M,
    },
    /// Send to some neighbours: one transmission on a radio, one message to each on wires.
    Multicast {
        /// The receivers, in order and each once.
        to: Vec<NodeId>,
        /// The message to send.
        message: M,
    },
    /// Send to every neighbour that is up now: one transmission on a radio. (For any-to-any protocols: to every other
    /// node.)
    Broadcast {
        /// The message to send.
        message: M,
    },
    /// Tell the application that its request is granted.
    Granted {
        /// The units, session and fence that the request gets.
        grant: Grant,
    },
    /// Wake this node later with [`Event::Expired`].
    Arm {
        /// The timer, with the epoch it is armed in.
        timer: Timer,
        /// How long to wait.
        after: Delay,
    },
    /// A peer made a mistake; its message was ignored. To be counted and logged.
    Reject {
        /// The sender of the message.
        from: NodeId,
        /// What was wrong with it.
        reason: Rejection,
    },
}

/// A timer and the epoch it was armed in, so that a late one is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Timer {
    /// Compared with the node's own epoch when it runs out.
    pub epoch: u64,
}

/// A delay to be drawn by the driver, so that the core needs no random source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delay {
    /// At least so many milliseconds.
    pub least_ms: u32,
    /// At most so many.
    pub most_ms: u32,
}

/// A caller's mistake. The node is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Misuse {
    /// A request of nothing.
    #[error("a request must ask for at least one unit")]
    ZeroUnits,
    /// More than can ever be granted.
    #[error("{asked} units asked for, but the resource has only {capacity}")]
    OverCapacity {
        /// What the request asked for.
        asked: Units,
        /// The units of the resource.
        capacity: Units,
    },
    /// Request numbers must grow.
    #[error("request {0} was used before at this node; numbers must grow")]
    RequestNumberUsed(RequestId),
    /// Neither waiting nor granted here.
    #[error("request {0} is not known at this node")]
    UnknownRequest(RequestId),
    /// It waits, it is not granted: cancel it instead.
    #[error("request {0} still waits; cancel it instead of releasing it")]
    NotGranted(RequestId),
    /// It is granted, it no longer waits: release it instead.
    #[error("request {0} is granted already; release it instead")]
    AlreadyGranted(RequestId),
    /// It was released or cancelled before.
    #[error("request {0} is over: it was released or cancelled before")]
    AlreadyOver(RequestId),
    /// A grant is given back whole.
    #[error("request {request} holds {held} units; releasing {asked} of them is not possible, release all")]
    PartialRelease {
        /// The request whose grant it is.
        request: RequestId,
        /// The units of the grant.
        held: Units,
        /// The units of the call.
        asked: Units,
    },
    /// A deadline given to a resource ordered by priority, or the reverse.
    #[error("this resource orders requests the other way: by {}", if *.wants_deadline { "deadline" } else { "priority" })]
    WrongUrgency {
        /// What it wants instead.
        wants_deadline: bool,
    },
    /// A priority outside the levels of this resource.
    #[error("priority {asked} is not one of the levels 1 to {levels}")]
    NoSuchLevel {
        /// What the request asked for.
        asked: i32,
        /// The greatest level.
        levels: u32,
    },
    /// This protocol serves one request per node at a time.
    #[error("this protocol serves one request per node at a time, and one is under way")]
    Busy,
    /// A group protocol needs a session.
    #[error("this protocol needs a session in every request")]
    SessionNeeded,
    /// A protocol without sessions.
    #[error("this protocol has no sessions")]
    NoSessions,
    /// No requests after [`Event::Leave`].
    #[error("this node is leaving and makes no more requests; ask at another one")]
    Leaving,
    /// [`Event::Leave`] while requests of this node wait or are granted.
    #[error("requests of this node still wait or are granted; cancel and release them before leaving")]
    StillBusy,
    /// What this (published) protocol cannot do.
    #[error("this protocol cannot {0}")]
    Unsupported(#[cfg_attr(feature = "serde", serde(skip, default = "unsupported"))] &'static str),
}

#[cfg(feature = "serde")]
fn unsupported() -> &'static str {
    "do this"
}

/// A peer's mistake. The message was ignored and the node is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Rejection {
    /// A message from someone there is no link to, or who is no member.
    #[error("no link to this sender")]
    UnknownSender,
    /// A height that is not the sender's own.
    #[error("the height carries another node's id")]
    ForeignHeight,
    /// A height or number so large that it could not be increased any more.
    #[error("a number is out of range")]
    NumberOutOfRange,
    /// A token while one is here, or one that was accepted before.
    #[error("a second token")]
    SecondToken,
    /// A token given to a node that did not ask, where the protocol never does that.
    #[error("an unrequested token")]
    UnwantedToken,
    /// A claim of no units, or of more than the resource has where that never changes.
    #[error("a claim of an impossible number of units")]
    ImpossibleUnits,
    /// A token whose ledger has a grant with other numbers than it has units.
    #[error("the numbers of a grant's units in the token's ledger are impossible")]
    ImpossibleSlots,
    /// A token whose ledger uses more units than any resource can have. More than its capacity is no mistake: that may
    /// have been lowered since.
    #[error("the token's ledger uses more units than any resource can have")]
    LedgerOverCapacity,
    /// A token whose ledger mixes sessions.
    #[error("the token's ledger mixes sessions")]
    LedgerMixesSessions,
    /// An acknowledgement or answer to something never sent.
    #[error("an answer to nothing that was asked")]
    UnexpectedAnswer,
    /// A message about a node that is no member.
    #[error("a message about an unknown node")]
    UnknownNode,
    /// A message of another protocol than the one this node runs.
    #[error("a message of another protocol")]
    OtherProtocol,
}

impl<M> Event<M> {
    /// The same event with its message replaced.
    pub fn map<N>(self, f: impl FnOnce(M) -> N) -> Event<N> {
        match self.try_map(|message| Ok::<N, core::convert::Infallible>(f(message))) {
            Ok(event) => event,
            Err(never) => match never {},
        }
    }

    /// The same event with its message replaced, if it can be.
    pub fn try_map<N, E>(self, f: impl FnOnce(M) -> Result<N, E>) -> Result<Event<N>, E> {
        Ok(match self {
            Self::Request { request, demand } => Event::Request { request, demand },
            Self::Cancel { request } => Event::Cancel { request },
            Self::Reprioritize { request, urgency } => Event::Reprioritize { request, urgency },
            Self::Release { request, units } => Event::Release { request, units },
            Self::LinkUp { neighbour } => Event::LinkUp { neighbour },
            Self::LinkDown { neighbour } => Event::LinkDown { neighbour },
            Self::Receive { from, message } => Event::Receive { from, message: f(message)? },
            Self::Expired { timer } => Event::Expired { timer },
            Self::Resize { version, capacity } => Event::Resize { version, capacity },
            Self::Leave => Event::Leave,
            Self::Resume => Event::Resume,
            Self::Census { census } => Event::Census { census },
            Self::Remake { remake } => Event::Remake { remake },
        })
    }
}

impl<M> Effect<M> {
    /// The same effect with its message replaced.
    pub fn map<N>(self, f: impl FnOnce(M) -> N) -> Effect<N> {
        match self {
            Self::Send { to, message } => Effect::Send { to, message: f(message) },
            Self::Multicast { to, message } => Effect::Multicast { to, message: f(message) },
            Self::Broadcast { message } => Effect::Broadcast { message: f(message) },
            Self::Granted { grant } => Effect::Granted { grant },
            Self::Arm { timer, after } => Effect::Arm { timer, after },
            Self::Reject { from, reason } => Effect::Reject { from, reason },
        }
    }
}

impl Misuse {
    /// The checks on a demand that every protocol makes.
    pub fn check_units(demand: &Demand, capacity: Units) -> Result<(), Self> {
        if demand.units.0 == 0 {
            return Err(Self::ZeroUnits);
        }
        if demand.units > capacity {
            return Err(Self::OverCapacity { asked: demand.units, capacity });
        }
        Ok(())
    }

    /// The answer to [`Event::Resize`] of a protocol whose capacity never changes.
    pub const fn check_resize(version: u64) -> Result<(), Self> {
        if version == 0 { Ok(()) } else { Err(Self::Unsupported("change its capacity")) }
    }
}
