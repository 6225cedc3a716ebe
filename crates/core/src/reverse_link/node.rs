//! The node: its state, and what happens on each event. Every event ends in [`settle`](super::settle).

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::capacity::Capacity;
use super::custody::Custody;
use super::height::Height;
use super::message::{Body, Message};
use super::peers::Peer;
use super::questions::Questions;
use super::queue::{Claim, Queue};
use super::rules::Rules;
use super::token::Token;
use crate::planted::Planted;
use crate::protocol::{Effect, Event, Misuse, Rejection};
use crate::recovery::Census;
use crate::sorted::Sorted;
use crate::view::Claimant;
use crate::vocabulary::{Aging, Fence, Grant, GrantId, NodeId, Order, RequestId, Units};

/// What all nodes of a resource agree on, and who this one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Config {
    /// This node.
    pub id: NodeId,
    /// Whether the token starts here. Exactly one node of a resource may say so.
    pub starts_with_token: bool,
    /// The k of h-out-of-k at first; [`Event::Resize`] changes it.
    pub capacity: Units,
    /// How waiting requests are ordered.
    pub order: Order,
    /// How many requests may join the running session past a front that waits for another one, while that session
    /// lasts. Zero: no request passes the front.
    pub joins: u32,
    /// How many requests may pass a front that waits for more units than are free, until it is granted. Zero: none.
    #[cfg_attr(feature = "serde", serde(default))]
    pub passes: u32,
    /// Whether a grant says which units it has, as long as there are at most [`MOST_NUMBERED`].
    ///
    /// [`MOST_NUMBERED`]: crate::slots::MOST_NUMBERED
    #[cfg_attr(feature = "serde", serde(default))]
    pub numbered: bool,
}

impl Config {
    /// A mutex with strict priorities: k = 1, no joining.
    pub const fn mutex(id: NodeId, starts_with_token: bool) -> Self {
        let order = Order::Priority { aging: Aging(0) };
        Self { id, starts_with_token, capacity: Units(1), order, joins: 0, passes: 0, numbered: false }
    }
}

/// Saved nodes have a field more, which is always null: the first that wrote this format had it.
#[cfg(feature = "serde")]
impl serde::Serialize for Config {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("Config", 8)?;
        fields.serialize_field("id", &self.id)?;
        fields.serialize_field("starts_with_token", &self.starts_with_token)?;
        fields.serialize_field("capacity", &self.capacity)?;
        fields.serialize_field("order", &self.order)?;
        fields.serialize_field("joins", &self.joins)?;
        fields.serialize_field("passes", &self.passes)?;
        fields.serialize_field("numbered", &self.numbered)?;
        fields.serialize_field("planted", &())?;
        fields.end()
    }
}

/// The token was sent and is not known to have arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Limbo {
    /// A copy of what was sent.
    pub(super) copy: Token,
    /// The receiver.
    pub(super) to: NodeId,
    /// Our height at that time, if we have raised ourselves since: it is still below all others if the token did not
    /// arrive.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(super) raised_from: Option<Height>,
    /// The link has failed, so this node cannot know whether it arrived. Resolved by an answer to [`About::Pass`].
    pub(super) doubtful: bool,
}

/// One resource at one node. See the [module's documentation](super) for the idea.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Node {
    pub(super) config: Config,
    pub(super) height: Height,
    pub(super) peers: Sorted<NodeId, Peer>,
    pub(super) queue: Queue,
    /// The neighbour that was told our most urgent claim, and what it was told. Never while the token is here.
    pub(super) asked: Option<(NodeId, Claim)>,
    /// The token, if it is here.
    pub(super) token: Option<Token>,
    /// The token we gave away last, until it is known to have arrived. Never while the token is here.
    /// Boxed, like all that few nodes of a large network have.
    pub(super) limbo: Option<Box<Limbo>>,
    /// The greatest pass that is decided as far as we know: it arrived somewhere, or we promised to refuse it.
    pub(super) decided: u64,
    pub(super) custody: Custody,
    pub(super) questions: Questions,
    /// How often we may still turn our links round without asking first whether the token is in reach at all.
    pub(super) free_turns: u8,
    /// The greatest fence heard of; stays zero where requests do not age.
    pub(super) clock: Fence,
    pub(super) holding: Vec<Grant>,
    /// The greatest request number used.
    pub(super) last_request: Option<RequestId>,
    /// The newest that is known here. The token may carry an older or a newer one.
    pub(super) capacity: Capacity,
    /// The greatest pass that arrived here. Only where nodes recover.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(super) accepted: u64,
    /// Grants given back since the token was here last. Only where nodes recover.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(super) returned: Vec<GrantId>,
    /// Who is gone. Not saved: it is told again.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) census: Census,
    /// It is about to go. Not saved: a node that comes back stays.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) leaving: bool,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) planted: Planted,
}

/// Looking for the token costs a message to the whole network, turning links one to the neighbours. So a node that has
/// met a sign of the token turns its links this often before it looks.
pub(super) const FREE_TURNS: u8 = 4;

pub(super) type Effects = Vec<Effect<Message>>;

impl Node {
    /// A node without links.
    pub fn new(config: Config) -> Self {
        let first = Height { level: 0, depth: 0, id: config.id };
        Self {
            config,
            height: if config.starts_with_token { first } else { Height::unset(config.id) },
            peers: Sorted::new(),
            queue: Queue::default(),
            asked: None,
            token: config.starts_with_token.then(|| Token::new(Capacity::first(config.capacity))),
            limbo: None,
            decided: 0,
            custody: Custody::default(),
            questions: Questions::default(),
            free_turns: FREE_TURNS,
            clock: Fence(0),
            holding: Vec::new(),
            last_request: None,
            capacity: Capacity::first(config.capacity),
            accepted: 0,
            returned: Vec::new(),
            census: Census::default(),
            leaving: false,
            planted: Planted::default(),
        }
    }

    /// The newest capacity that is known here.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// The same, with fences that begin above this one if the token is here: for a resource that is made anew after its
    /// first token was lost with all nodes that could have had it.
    #[must_use]
    pub fn with_fences_above(mut self, fence: Fence) -> Self {
        if let Some(token) = &mut self.token {
            token.base = token.base.max(fence.0);
        }
        self
    }

    /// The same with its units numbered or not, from the next grant on: what an older version saved does not say.
    #[must_use]
    pub fn with_numbers(mut self, numbered: bool) -> Self {
        self.config.numbered = numbered;
        self
    }

    /// The token, if it is here.
    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// The claims it knows, most urgent first.
    pub fn claimants(&self) -> impl Iterator<Item = Claimant> + '_ {
        self.queue.claimants()
    }

    /// The height of this node.
    pub fn height(&self) -> Height {
        self.height
    }

    /// The token was sent over a link that failed, and no answer has said yet whether it arrived.
    pub fn in_doubt(&self) -> bool {
        self.limbo.as_ref().is_some_and(|limbo| limbo.doubtful)
    }

    /// As far as this node can tell, the token is not in its part of the network: it has no neighbour, has never heard of
    /// the token, or a question about the token is open. False again as soon as the token is found.
    pub fn is_cut_off(&self) -> bool {
        let asks = || self.questions.open_ones().next().is_some();
        self.token.is_none() && (self.peers.is_empty() || self.height.is_unset() || asks())
    }

    pub(super) fn apply(&mut self, event: Event<Message>) -> Result<Effects, Misuse> {
        let mut out = Vec::new();
        match event {
            Event::Request { request, demand } => self.on_request(request, demand)?,
            Event::Cancel { request } => self.on_cancel(request)?,
            Event::Reprioritize { request, urgency } => self.on_reprioritize(request, urgency)?,
            Event::Release { request, units } => self.on_release(request, units)?,
            Event::LinkUp { neighbour } => self.on_link_up(neighbour, &mut out),
            Event::LinkDown { neighbour } => self.on_link_down(neighbour, &mut out),
            Event::Receive { from, message } => {
                if let Some(reason) = self.objection(from, &message) {
                    return Ok(vec![Effect::Reject { from, reason }]);
                }
                self.on_message(from, message, &mut out);
            }
            Event::Expired { timer: _ } => return Ok(out), // this protocol has no timers
            Event::Resize { version, capacity: units } => self.on_resize(Capacity { version, units }),
            Event::Leave => self.on_leave(&mut out)?,
            Event::Resume => self.on_resume(),
            Event::Census { census } => self.on_census(census, &mut out),
            Event::Remake { remake } => self.on_remake(&remake, &mut out),
        }
        self.settle(&mut out);
        Ok(out)
    }

    fn on_message(&mut self, from: NodeId, message: Message, out: &mut Effects) {
        let Message { height, clock, arrived, received, body } = message;
        self.hear_clock(clock);
        self.hear_confirmations(from, arrived, &received);
        if let Body::Token { token, ask } = body {
            return self.on_token(from, height, token, ask, out);
        }
        self.note_height(from, height, out);
        match body {
            Body::Token { .. } => {}
            Body::Ask(claim) => self.on_ask(from, claim),
            Body::Withdraw => self.queue.remove_peer(from),
            Body::Release(grant) => self.on_release_of(from, grant),
            Body::Link => {}
            Body::Here { pass } => {
                self.queue.remove_peer(from);
                self.tell_claim_again(from, out);
                self.learn_decided(pass);
                self.free_turns = FREE_TURNS;
            }
            Body::News(news) => self.on_news(from, news, out),
            Body::Leaving => {
                if let Some(peer) = self.peers.get_mut(&from) {
                    peer.leaving = true;
                }
            }
        }
    }

    /// The clock runs only where requests age.
    pub(super) fn hear_clock(&mut self, clock: Fence) {
        if matches!(self.config.order, Order::Priority { aging } if aging.0 > 0) {
            self.clock = self.clock.max(clock);
        }
    }

    /// A mistake of the sender that can be seen from here.
    fn objection(&self, from: NodeId, message: &Message) -> Option<Rejection> {
        if !self.peers.contains_key(&from) {
            return Some(Rejection::UnknownSender);
        }
        message.fault(from).or_else(|| match &message.body {
            Body::Token { token, .. } if self.token.is_some() && token.pass > self.decided => {
                Some(Rejection::SecondToken)
            }
            Body::News(news) if news.iter().any(|item| self.is_forged(item)) => Some(Rejection::UnexpectedAnswer),
            Body::Token { .. }
            | Body::Ask(_)
            | Body::Withdraw
            | Body::Release(_)
            | Body::Link
            | Body::Here { .. }
            | Body::News(_)
            | Body::Leaving => None,
        })
    }
}
