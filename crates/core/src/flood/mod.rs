//! Suzuki-Kasami by flooding: one token, asked for and handed over by broadcasts that every node repeats once, so that
//! neither routes nor a logical structure are needed. `docs/protocols/flood.md` has rules, guarantees and differences.
//!
//! Source: R. A. Achaibou, L. Gadouche, S. Djama, "Algorithme d'exclusion mutuelle pour les réseaux dynamiques", PSAR
//! report, 2021. [`Node`] is the idea of its algorithm 1 with two counters in place of two lists, a timer at the waiting
//! node, and a copy of the token at the node that gave it away last. So it also runs on links that lose messages.
//!
//! ```text
//!   ann (token)            bob                      cy
//!      |                    |  <-- REQUEST(cy,1,0) --|   cy floods its wish and sets a timer
//!      | <- REQUEST(cy,1,0) |  -- REQUEST(cy,1,0) -> |   bob repeats what is news; cy knows its own and drops it
//!      |-- TOKEN(cy,..) --> |                        |   ann keeps a copy of what it gave away
//!      | <-- TOKEN(cy,..) --|  -- TOKEN(cy,..) -----> |  bob repeats it; cy enters
//! ```
//!
//! Every node keeps the greatest `(number, attempt)` heard of every node and the greatest `(transfer, attempt)` of a
//! token seen; what is not greater is dropped. So a flood ends, a transfer of the token is accepted once, and nothing
//! needs to be acknowledged: the node to which the token goes is always one that waits, and a waiting node repeats its
//! request under the next attempt until the token is there. The repetition tells the last giver, which kept a copy,
//! that the token did not arrive; the copy has the same transfer number, so at most one of all copies is accepted.
//!
//! Cancelling. A request that was flooded cannot be called back. The node goes on asking until the token comes, does
//! not enter, counts the request as done and gives the token on. If its application asks again before that, the new
//! request takes the place of the old one: the token that comes answers the node, whichever request waits by then.
//!
//! Repetitions back off: the first after the configured delay, each further one after twice the one before, up to
//! sixteen times the configured delay.
//!
//! A node that crashes is survived where nodes are told who is gone ([`Event::Census`]); `recovery.rs` has the rules. Where
//! they are not, no node may be lost for good while it has the token or the only copy of it. A node that goes on under its
//! former id remembers its state. One resource of one unit, one request at a time at each node, served in the order in which
//! holders hear of them; urgencies are ignored.

#![cfg_attr(feature = "mutants", allow(unused_imports, reason = "`bug.rs` shadows the methods of `Rules`"))]

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::planted::Planted;
use crate::protocol::{Delay, Effect, Event, Misuse};
use crate::recovery::Census;
use crate::slots::Slots;
use crate::vocabulary::{Demand, Fence, Grant, NodeId, RequestId, Units};

#[cfg(feature = "mutants")]
mod bug;
mod look;
mod message;
mod recovery;
mod rules;
#[cfg(test)]
mod tests;

#[cfg(feature = "mutants")]
pub use bug::Bug;
pub use message::{GivenAway, Heard, Message, Token, TokenStamp};
pub use recovery::Picture;
use rules::Rules;

/// How a node is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Config {
    /// This node.
    pub id: NodeId,
    /// Exactly one node of the network starts with the token.
    pub starts_with_token: bool,
    /// How long a waiting node waits before it asks again for the first time.
    pub retry: Delay,
}

impl Config {
    /// A node that asks again after one to two seconds.
    pub const fn new(id: NodeId) -> Self {
        let retry = Delay { least_ms: 1_000, most_ms: 2_000 };
        Self { id, starts_with_token: false, retry }
    }

    /// The node that starts with the token.
    pub const fn with_token(self) -> Self {
        Self { starts_with_token: true, ..self }
    }
}

/// What the application at this node is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
enum Caller {
    Away,
    Waiting,
    Inside(Fence),
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Node {
    id: NodeId,
    retry: Delay,
    /// Written as null: the format of saved nodes has it.
    planted: Planted,
    /// For views and rejections only: a flood goes to all that hear it.
    neighbours: BTreeSet<NodeId>,
    /// The latest request heard of every node, this one included. Never goes back.
    heard: BTreeMap<NodeId, Heard>,
    /// The latest token seen. Never goes back.
    seen: TokenStamp,
    token: Option<Token>,
    /// Invariant: only while the token is not here.
    given_away: Option<GivenAway>,
    caller: Caller,
    /// Its own request is under way and the token has not come yet. Invariants: only while the token is not here;
    /// always while the caller waits; also after it cancelled.
    asking: bool,
    /// The caller's number of its latest request.
    request: RequestId,
    /// Of the latest timer; earlier ones are void.
    epoch: u64,
    /// The greatest transfer that arrived here, for this node; 0 where nodes do not recover. Unlike `seen` it does not
    /// count tokens that passed by or were given away.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "recovery::is_zero"))]
    accepted: u64,
    /// Who is gone. Not saved: it is told again.
    #[cfg_attr(feature = "serde", serde(skip))]
    census: Census,
    /// It is about to go. Not saved: a node that comes back stays.
    #[cfg_attr(feature = "serde", serde(skip))]
    leaving: bool,
}

type Effects = Vec<Effect<Message>>;

impl Node {
    /// A node that has heard nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            id: config.id,
            retry: config.retry,
            planted: Planted::default(),
            neighbours: BTreeSet::new(),
            heard: BTreeMap::new(),
            seen: TokenStamp::default(),
            token: config.starts_with_token.then(Token::default),
            given_away: None,
            caller: Caller::Away,
            asking: false,
            request: RequestId(0),
            epoch: 0,
            accepted: 0,
            census: Census::default(),
            leaving: false,
        }
    }

    /// The same, with fences that begin above this one if the token is here: for a resource that is made anew after its
    /// first token was lost with all nodes that could have had it.
    #[must_use]
    pub fn with_fences_above(mut self, fence: Fence) -> Self {
        if let Some(token) = &mut self.token {
            token.fence = token.fence.max(fence);
        }
        self
    }

    /// Whether the token is here.
    pub fn holds_token(&self) -> bool {
        self.token.is_some()
    }

    fn heard_of(&self, node: NodeId) -> Heard {
        self.heard.get(&node).copied().unwrap_or_default()
    }

    fn apply(&mut self, event: Event<Message>) -> Result<Effects, Misuse> {
        let mut effects = Vec::new();
        match event {
            Event::Request { request, demand } => self.on_request(request, &demand, &mut effects)?,
            Event::Cancel { request } => self.on_cancel(request)?,
            Event::Reprioritize { request, .. } => self.on_reprioritize(request)?,
            Event::Release { request, units } => self.on_release(request, units, &mut effects)?,
            Event::LinkUp { neighbour } => drop(self.neighbours.insert(neighbour)),
            Event::LinkDown { neighbour } => drop(self.neighbours.remove(&neighbour)),
            Event::Receive { from, message } => {
                if let Err(reason) = self.on_message(from, message, &mut effects) {
                    effects.push(Effect::Reject { from, reason });
                }
            }
            Event::Expired { timer } => self.on_timer(timer, &mut effects),
            Event::Resize { version, .. } => Misuse::check_resize(version)?,
            Event::Leave if self.caller != Caller::Away => return Err(Misuse::StillBusy),
            Event::Leave => self.leaving = true,
            Event::Resume => self.on_resume(&mut effects),
            Event::Census { census } => self.on_census(census, &mut effects),
            Event::Remake { remake } => self.on_remake(&remake, &mut effects)?,
        }
        debug_assert!(self.caller != Caller::Waiting || self.asking, "a caller waits only while its node asks");
        Ok(effects)
    }

    fn on_request(&mut self, request: RequestId, demand: &Demand, effects: &mut Effects) -> Result<(), Misuse> {
        if self.leaving {
            return Err(Misuse::Leaving);
        }
        Misuse::check_units(demand, Units(1))?;
        if demand.session.is_some() {
            return Err(Misuse::NoSessions);
        }
        if self.caller != Caller::Away {
            return Err(Misuse::Busy);
        }
        if request <= self.request {
            return Err(Misuse::RequestNumberUsed(request));
        }
        self.request = request;
        if self.asking {
            self.caller = Caller::Waiting; // it takes the place of the request that was cancelled
            return Ok(());
        }
        let number = self.heard_of(self.id).number + 1;
        self.heard.insert(self.id, Heard { number, attempt: 0 });
        if self.token.is_some() {
            self.enter(effects);
        } else {
            self.caller = Caller::Waiting;
            self.asking = true;
            self.ask(effects);
        }
        Ok(())
    }

    fn on_cancel(&mut self, request: RequestId) -> Result<(), Misuse> {
        self.check_latest(request)?;
        match self.caller {
            Caller::Waiting => self.caller = Caller::Away,
            Caller::Inside(_) => return Err(Misuse::AlreadyGranted(request)),
            Caller::Away => return Err(Misuse::AlreadyOver(request)),
        }
        Ok(())
    }

    fn on_reprioritize(&self, request: RequestId) -> Result<(), Misuse> {
        self.check_latest(request)?;
        match self.caller {
            Caller::Waiting => Err(Misuse::Unsupported("change the urgency of a request: it ignores urgencies")),
            Caller::Inside(_) => Err(Misuse::AlreadyGranted(request)),
            Caller::Away => Err(Misuse::AlreadyOver(request)),
        }
    }

    fn on_release(&mut self, request: RequestId, units: Units, effects: &mut Effects) -> Result<(), Misuse> {
        self.check_latest(request)?;
        match self.caller {
            Caller::Inside(_) if units == Units(1) => {}
            Caller::Inside(_) => return Err(Misuse::PartialRelease { request, held: Units(1), asked: units }),
            Caller::Waiting => return Err(Misuse::NotGranted(request)),
            Caller::Away => return Err(Misuse::AlreadyOver(request)),
        }
        self.caller = Caller::Away;
        self.give_away(effects);
        Ok(())
    }

    fn grant(&self, fence: Fence) -> Grant {
        Grant { request: self.request, units: Units(1), session: None, fence: Some(fence), slots: Slots::NONE }
    }

    /// Only the latest request can still be of interest: there is one at a time.
    fn check_latest(&self, request: RequestId) -> Result<(), Misuse> {
        match request {
            _ if request == self.request && request.0 > 0 => Ok(()),
            _ if request < self.request => Err(Misuse::AlreadyOver(request)),
            _ => Err(Misuse::UnknownRequest(request)),
        }
    }
}
