//! What travels between neighbours, and what makes a message impossible.

use alloc::vec::Vec;

use super::height::Height;
use super::questions::News;
use super::queue::Claim;
use super::token::{Loan, Token};
use crate::protocol::Rejection;
use crate::vocabulary::{Fence, GrantId, NodeId};

/// Every message tells its sender's height, the greatest fence it has heard of where requests age, and what has arrived
/// over this link and was not confirmed yet: no message is sent for that alone, unless its receiver waits for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message {
    /// The sender's height.
    pub height: Height,
    /// The sender's clock: it counts grants.
    pub clock: Fence,
    /// The token has arrived with this pass number. It may have come from another receiver of the same message.
    pub arrived: Option<u64>,
    /// I have these releases of yours now.
    pub received: Vec<GrantId>,
    /// The message itself.
    pub body: Body,
}

/// A message without the sender's height and clock, and without confirmations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Body {
    /// The token, and the claim that its sender still has.
    Token {
        /// The token itself.
        token: Token,
        /// The most urgent claim left behind, so that the token comes back.
        ask: Option<Claim>,
    },
    /// Insert or replace my claim.
    Ask(Claim),
    /// Remove my claim.
    Withdraw,
    /// A grant that was given back. Each hop keeps it until the next one has confirmed it.
    Release(GrantId),
    /// My height, nothing else.
    Link,
    /// The token has arrived at me with this pass number; what I asked before is void.
    Here {
        /// The pass number.
        pass: u64,
    },
    /// Questions to the whole network, and answers.
    News(Vec<News>),
    /// My height, and that I am about to go: do not give me the token to keep.
    Leaving,
}

/// Numbers beyond this could not be stepped safely any more; a node that follows the protocol never gets there.
const GREATEST: u64 = 1 << 62;

impl Message {
    /// What makes this message impossible, whatever the state of its receiver.
    pub(crate) fn fault(&self, from: NodeId) -> Option<Rejection> {
        if self.height.id != from {
            return Some(Rejection::ForeignHeight);
        }
        let heights = [self.height.level, self.height.depth];
        if self.clock.0 > GREATEST
            || self.arrived.is_some_and(|pass| pass > GREATEST)
            || heights.iter().any(|h| h.unsigned_abs() > GREATEST)
        {
            return Some(Rejection::NumberOutOfRange);
        }
        match &self.body {
            Body::Token { token, ask } => token_fault(token).or_else(|| ask.and_then(|claim| claim.fault())),
            Body::Ask(claim) => claim.fault(),
            Body::Here { pass } => (*pass > GREATEST).then_some(Rejection::NumberOutOfRange),
            Body::News(news) => news.iter().any(|item| item.number > GREATEST).then_some(Rejection::NumberOutOfRange),
            Body::Withdraw | Body::Release(_) | Body::Link | Body::Leaving => None,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self.body {
            Body::Token { .. } => "token",
            Body::Ask(_) => "ask",
            Body::Withdraw => "withdraw",
            Body::Release(_) => "release",
            Body::Link => "link",
            Body::Here { .. } => "here",
            Body::News(_) => "news",
            Body::Leaving => "leaving",
        }
    }
}

impl Claim {
    /// A claim of more units than we know of is none: the sender may know a newer capacity.
    fn fault(&self) -> Option<Rejection> {
        if self.units.0 == 0 {
            return Some(Rejection::ImpossibleUnits);
        }
        (self.rank.0.unsigned_abs() > i64::MAX.unsigned_abs()).then_some(Rejection::NumberOutOfRange)
    }
}

fn token_fault(token: &Token) -> Option<Rejection> {
    if token.pass == 0 || token.pass > GREATEST || token.granted.0 > GREATEST || token.base > GREATEST {
        return Some(Rejection::NumberOutOfRange);
    }
    if token.ledger.iter().any(|loan| loan.units.0 == 0) {
        return Some(Rejection::ImpossibleUnits);
    }
    let numbered = |loan: &Loan| loan.slots.is_empty() || loan.slots.count() == u64::from(loan.units.0);
    if token.ledger.iter().any(|loan| !loan.slots.is_well_formed() || !numbered(loan)) {
        return Some(Rejection::ImpossibleSlots);
    }
    if token.used() > u64::from(u32::MAX) {
        return Some(Rejection::LedgerOverCapacity);
    }
    let mut sessions = token.ledger.iter().filter_map(|loan| loan.session);
    let first = sessions.next();
    sessions.any(|session| Some(session) != first).then_some(Rejection::LedgerMixesSessions)
}
