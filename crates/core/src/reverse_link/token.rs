//! The token: who uses what, and the one rule that decides who may enter.

use alloc::vec::Vec;

use super::capacity::Capacity;
use super::queue::Claim;
use crate::slots::{MOST_NUMBERED, Slots};
use crate::view::{LedgerView, TokenView};
use crate::vocabulary::{Fence, GrantId, NodeId, Rank, Session, Units};

/// How many grants can be in use at a time, whatever the capacity: the token travels in one frame with all of them.
/// When it is full the next one waits for a release, as for units.
pub const MOST_LOANS: usize = 30_000;

/// A grant that the token knows to be in use, or whose release has not come back yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Loan {
    /// The grant.
    pub grant: GrantId,
    /// The units it uses.
    pub units: Units,
    /// The session it attends, if any.
    pub session: Option<Session>,
    /// Which units, where they are numbered. They are free when this is struck, not before.
    #[cfg_attr(feature = "serde", serde(default))]
    pub slots: Slots,
}

/// A claim that smaller ones were let past. The one that stands for it in a queue is known by what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Owed {
    /// The node that made the request.
    pub origin: NodeId,
    /// Its urgency.
    pub rank: Rank,
    /// The units it waits for.
    pub units: Units,
    /// How many were granted before it that it was ahead of.
    pub passed: u32,
}

impl Owed {
    /// Nothing has passed it yet.
    pub(super) fn new(claim: &Claim) -> Self {
        Self { origin: claim.origin, rank: claim.rank, units: claim.units, passed: 0 }
    }

    /// Whether this claim stands for it.
    pub(super) fn is(&self, claim: &Claim) -> bool {
        (self.origin, self.rank, self.units) == (claim.origin, claim.rank, claim.units)
    }
}

/// The one token of a resource. Only its holder grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// How often it was given away.
    pub pass: u64,
    /// How many grants were made, as far as is known after repairs: requests age by it.
    pub granted: Fence,
    /// Everything in use, in order of granting. Invariant: every grant in use anywhere is in here.
    pub ledger: Vec<Loan>,
    /// How many requests joined the running session past a blocked front.
    pub joined: u32,
    /// The front that was passed by smaller requests, and how often. Until it is granted it is the front everywhere.
    #[cfg_attr(feature = "serde", serde(default))]
    pub owed: Option<Owed>,
    /// The units there are to grant. The ledger may use more, if this was lowered since.
    pub capacity: Capacity,
    /// The fence of a grant is its number and this. A token that was made anew begins far above the lost one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub base: u64,
}

impl Token {
    /// The token at the start.
    pub fn new(capacity: Capacity) -> Self {
        Self { capacity, ..Self::default() }
    }

    /// Units that are in the ledger.
    pub fn used(&self) -> u64 {
        self.ledger.iter().map(|loan| u64::from(loan.units.0)).sum()
    }

    /// Units that may be granted: none while more are in the ledger than there are now, or while the ledger is full.
    pub fn free(&self) -> Units {
        if self.ledger.len() >= MOST_LOANS {
            return Units(0);
        }
        Units(u32::try_from(u64::from(self.capacity.units.0).saturating_sub(self.used())).unwrap_or(0))
    }

    /// The session that is running, if any.
    pub fn session(&self) -> Option<Session> {
        self.ledger.iter().find_map(|loan| loan.session)
    }

    /// Whether a claim may enter now: enough units are free and no other session runs.
    ///
    /// Any rule of this kind is safe: the ledger has everyone who is in, only the holder grants, and taking entries
    /// out of the ledger never makes the rest inadmissible.
    pub fn admits(&self, claim: &Claim) -> bool {
        self.free() >= claim.units && !self.excludes(claim)
    }

    /// Whether another session than the claim's is running.
    pub fn excludes(&self, claim: &Claim) -> bool {
        match (self.session(), claim.session) {
            (Some(running), Some(wanted)) => running != wanted,
            (None, _) | (_, None) => false,
        }
    }

    /// The lowest numbers that no grant in the ledger has. All of them are below the capacity, since the claim is
    /// admitted: the ledger and the claim together have no more units than that. Above [`MOST_NUMBERED`] there are none.
    pub fn lowest_free(&self, units: Units) -> Slots {
        if self.capacity.units.0 > MOST_NUMBERED {
            return Slots::NONE;
        }
        Slots::lowest_free(units.0, self.ledger.iter().map(|loan| &loan.slots))
    }

    /// Enters a grant into the ledger and gives it its fence.
    pub fn lend(&mut self, grant: GrantId, claim: &Claim, slots: Slots) -> Fence {
        if claim.session.is_some() && self.session().is_none() {
            self.joined = 0;
        }
        self.granted.0 += 1;
        self.ledger.push(Loan { grant, units: claim.units, session: claim.session, slots });
        self.fence()
    }

    /// The fence of the latest grant.
    pub const fn fence(&self) -> Fence {
        Fence(self.base.wrapping_add(self.granted.0))
    }

    /// Takes a released grant out of the ledger. A second copy of the same release finds nothing.
    pub fn strike(&mut self, grant: GrantId) {
        self.ledger.retain(|loan| loan.grant != grant);
    }

    /// What others may see of it.
    pub fn view(&self) -> TokenView {
        let line = |Loan { grant, units, session, slots }: &Loan| LedgerView {
            grant: *grant,
            units: *units,
            session: *session,
            slots: slots.clone(),
        };
        TokenView {
            pass: Some(self.pass),
            free: self.free(),
            capacity: Some(self.capacity.units),
            ledger: Some(self.ledger.iter().map(line).collect()),
            session: self.session(),
            ..TokenView::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::vocabulary::RequestId;

    const K: Units = Units(3);

    fn full() -> Token {
        Token::new(Capacity::first(K))
    }

    fn claim(units: u32, session: Option<u64>) -> Claim {
        Claim { alone: true, origin: NodeId(0), rank: Rank(0), units: Units(units), session: session.map(Session) }
    }

    fn id(request: u64) -> GrantId {
        GrantId { node: NodeId(0), request: RequestId(request) }
    }

    #[test]
    fn units_decide_where_there_are_no_sessions() {
        let mut token = full();
        token.lend(id(1), &claim(2, None), Slots::NONE);
        assert!(token.admits(&claim(1, None)));
        assert!(!token.admits(&claim(2, None)));
    }

    #[test]
    fn one_session_keeps_the_others_out_until_its_last_member_has_left() {
        let mut token = full();
        token.lend(id(1), &claim(1, Some(7)), Slots::NONE);
        token.lend(id(2), &claim(1, Some(7)), Slots::NONE);
        token.strike(id(1));
        assert!(!token.admits(&claim(1, Some(8))));
        assert!(token.admits(&claim(1, Some(7))));
        assert!(token.admits(&claim(1, None)), "a request without a session excludes none");
        token.strike(id(2));
        assert!(token.admits(&claim(1, Some(8))));
    }

    #[test]
    fn a_release_counts_once() {
        let mut token = full();
        token.lend(id(1), &claim(1, None), Slots::NONE);
        token.lend(id(2), &claim(1, None), Slots::NONE);
        token.strike(id(1));
        token.strike(id(1));
        assert_eq!(token.free(), Units(2));
    }

    #[test]
    fn a_full_ledger_admits_none_until_one_has_left() {
        let mut token = Token::new(Capacity::first(Units(1_000_000)));
        for request in 0..MOST_LOANS as u64 {
            assert!(request % 1_000 > 0 || token.admits(&claim(1, None)));
            token.lend(id(request), &claim(1, None), Slots::NONE);
        }
        assert!(!token.admits(&claim(1, None)));
        token.strike(id(7));
        assert!(token.admits(&claim(1, None)));
    }

    #[test]
    fn fences_grow_with_every_grant() {
        let mut token = full();
        let first = token.lend(id(1), &claim(1, None), Slots::NONE);
        token.strike(id(1));
        assert!(token.lend(id(2), &claim(1, None), Slots::NONE) > first);
    }

    #[test]
    fn nothing_is_granted_until_what_is_in_use_fits_a_lowered_capacity() {
        let mut token = full();
        token.lend(id(1), &claim(2, None), Slots::NONE);
        token.lend(id(2), &claim(1, None), Slots::NONE);
        token.capacity = Capacity { version: 1, units: Units(2) };
        assert_eq!(token.free(), Units(0));
        token.strike(id(1));
        assert_eq!(token.free(), Units(1));
        assert!(token.admits(&claim(1, None)));
    }

    #[test]
    fn a_slot_is_free_when_its_grant_is_struck() {
        let mut token = full();
        for (request, units, expected) in [(1, 1, "0"), (2, 2, "1,2")] {
            let slots = token.lowest_free(Units(units));
            assert_eq!(slots.to_string(), expected);
            token.lend(id(request), &claim(units, None), slots);
        }
        token.strike(id(1));
        assert_eq!(token.lowest_free(Units(1)).to_string(), "0");
    }

    #[test]
    fn a_removed_slot_is_given_out_no_more_and_what_is_admitted_has_enough() {
        let mut token = full();
        for request in 0..3 {
            let slots = token.lowest_free(Units(1));
            token.lend(id(request), &claim(1, None), slots);
        }
        token.capacity = Capacity { version: 1, units: Units(2) };
        token.strike(id(0));
        assert!(!token.admits(&claim(1, None)), "slots 1 and 2 are in use");
        token.strike(id(1));
        assert!(token.admits(&claim(1, None)));
        let slots = token.lowest_free(Units(1));
        assert_eq!(slots.to_string(), "0");
        token.lend(id(3), &claim(1, None), slots);
        token.strike(id(2));
        assert_eq!(token.lowest_free(Units(1)).to_string(), "1");
    }

    #[test]
    fn units_beyond_the_limit_have_no_numbers_and_leave_enough_below_it() {
        let mut token = Token::new(Capacity::first(Units(MOST_NUMBERED + 1)));
        let slots = token.lowest_free(Units(5));
        assert_eq!(slots, Slots::NONE);
        token.lend(id(1), &claim(5, None), slots);
        token.capacity = Capacity { version: 1, units: Units(MOST_NUMBERED) };
        let slots = token.lowest_free(token.free());
        assert_eq!((slots.count(), slots.last()), (u64::from(MOST_NUMBERED) - 5, Some(MOST_NUMBERED - 6)));
    }
}
