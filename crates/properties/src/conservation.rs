//! Free units, units in use and units on their way back add up to k, and the ledger has every grant in use.
//!
//! Source: what the proof of theorem 1 in Jiang leans on (the token starts with k, every entry takes its units from it,
//! every release brings them back). For tokens with a ledger it is ours: that the ledger contains everyone in use is
//! what makes any admission rule over it safe.
//!
//! Checked in every state with exactly one visible token. Without any (a transfer in doubt) it is not known what is
//! free and there is nothing to compare; with two, `one-token` is broken and sums mean nothing.
//!
//! With a ledger, three things must hold, and they imply the sum:
//! - every grant in use stands in it once, with its units and session;
//! - every entry is in use at its node, or its release is carried by a node or a message: nothing leaks;
//! - what is free is k less the entries, and nothing if k was lowered below them. Where k changes it is the token's.
//!
//! A release may exist in several copies, and copies of a release that has arrived may still be about; only what the
//! ledger names counts. Without a ledger releases are mere numbers, and the plain sum must come out; copies that name
//! their grant count once.
//!
//! When all is quiet, nothing is carried any more in the token's part: a node connected to the token can bring units
//! back, and units that never arrive are lost as surely as forgotten ones. Nodes of another part are excused, they
//! cannot.

use meshlock_core::view::{LedgerView, Returning, TokenView};
use meshlock_core::{Grant, GrantId};

use crate::rule::{Rule, Setting, Violation};
use crate::snapshot::{NodeView, Snapshot};

pub(crate) fn check(setting: &Setting, snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    let mut tokens = snapshot.tokens();
    let (Some(token), None) = (tokens.next(), tokens.next()) else {
        return Ok(());
    };
    match &token.ledger {
        Some(ledger) => check_ledger(setting, snapshot, token, ledger)?,
        None => check_sum(setting, snapshot, token)?,
    }
    if snapshot.quiet { check_arrived(snapshot, token) } else { Ok(()) }
}

fn check_ledger(
    setting: &Setting,
    snapshot: &Snapshot<'_>,
    token: &TokenView,
    ledger: &[LedgerView],
) -> Result<(), Violation> {
    for place in snapshot.places() {
        for grant in &place.view.holding {
            let id = GrantId { node: place.id, request: grant.request };
            if !ledger.iter().any(|entry| entry.grant == id && agrees(entry, grant)) {
                let what = format!("grant {id} of {} units is in use, but the ledger does not say so", grant.units);
                return broken(Some(place), what);
            }
        }
    }
    for (i, entry) in ledger.iter().enumerate() {
        let id = entry.grant;
        if ledger[..i].iter().any(|other| other.grant == id) {
            return broken(None, format!("the ledger has grant {id} twice"));
        }
        let used =
            snapshot.place(id.node).is_some_and(|place| place.view.holding.iter().any(|g| g.request == id.request));
        if !used && !all_returning(snapshot).any(|returning| returning.grant == Some(id)) {
            return broken(None, format!("the ledger has grant {id}, but it is neither in use nor on its way back"));
        }
    }
    let booked: u64 = ledger.iter().map(|entry| u64::from(entry.units.0)).sum();
    let capacity = token.capacity.unwrap_or(setting.capacity);
    if u64::from(token.free.0) != u64::from(capacity.0).saturating_sub(booked) {
        let what = format!("{} units free and {booked} in the ledger, of {capacity}", token.free);
        return broken(None, what);
    }
    Ok(())
}

fn check_sum(setting: &Setting, snapshot: &Snapshot<'_>, token: &TokenView) -> Result<(), Violation> {
    let grants = snapshot.places().flat_map(|place| &place.view.holding);
    let used: u64 = grants.map(|grant| u64::from(grant.units.0)).sum();
    let mut named: Vec<GrantId> = Vec::new();
    let mut back: u64 = 0;
    for returning in all_returning(snapshot) {
        match returning.grant {
            Some(id) if named.contains(&id) => continue,
            Some(id) => named.push(id),
            None => {}
        }
        back += u64::from(returning.units.0);
    }
    if u64::from(token.free.0) + used + back == u64::from(setting.capacity.0) {
        return Ok(());
    }
    let what = format!("{} units free, {used} in use, {back} on their way back, of {}", token.free, setting.capacity);
    broken(None, what)
}

/// In the quiet, no node that is connected to the token carries a release that it does not know of.
fn check_arrived(snapshot: &Snapshot<'_>, token: &TokenView) -> Result<(), Violation> {
    let Some((holder, _)) = snapshot.holders().next() else {
        return Ok(());
    };
    for place in snapshot.places().filter(|place| place.part == holder.part) {
        let owed = place.view.returning.iter().find(|returning| match (&token.ledger, returning.grant) {
            (Some(ledger), Some(id)) => ledger.iter().any(|entry| entry.grant == id),
            (Some(_), None) | (None, _) => true,
        });
        if let Some(returning) = owed {
            let what = format!("{} released units stay here, and nothing brings them to the token", returning.units);
            return broken(Some(place), what);
        }
    }
    Ok(())
}

fn agrees(entry: &LedgerView, grant: &Grant) -> bool {
    entry.units == grant.units && entry.session == grant.session
}

fn all_returning<'a>(snapshot: &'a Snapshot<'_>) -> impl Iterator<Item = Returning> + 'a {
    let carried = snapshot.places().flat_map(|place| place.view.returning.iter().copied());
    carried.chain(snapshot.flights.iter().filter_map(|flight| flight.returning))
}

fn broken(place: Option<NodeView<'_>>, what: String) -> Result<(), Violation> {
    Err(Violation::new(Rule::Conservation, place.map(|place| place.id), what))
}

#[cfg(test)]
mod tests;
