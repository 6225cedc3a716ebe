//! Members crash and are replaced: everything in use stays in the ledger, and every repair comes to an end.
//!
//! Source: ours (`docs/recovery.md`). Two rules about tokens with a ledger, over what applications see and what the
//! nodes show:
//! - **ledger**, in every state with one visible token: it has all that is in use. Clients of a node that crashed use
//!   what they were granted until their time is over, so `conservation`, which asks the nodes, cannot say this. The other
//!   half of `conservation` does not hold here: what the gone used stays in the ledger until the holder has heard of it.
//!   A token without a ledger grants to one, or to a session: then all who are inside have one fence, because a guard
//!   that has seen a greater one refuses the others;
//! - **repaired**, when nothing is under way, no member is missing and the network has one part: there is one token,
//!   and its ledger is exactly what is in use. This is where a token that was never made anew shows, and units that
//!   leaked. That all members know the same census is compared by the checker.
//!
//! With no token or two there is nothing to compare a ledger with; `one-token` and `repaired` speak up.

use meshlock_core::view::LedgerView;

use crate::history::InUse;
use crate::rule::{Rule, Violation};
use crate::snapshot::Snapshot;

/// Everything in use is in the ledger of the one token.
pub(crate) fn check_ledger(in_use: &[InUse], snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    let mut tokens = snapshot.tokens();
    let (Some(token), None) = (tokens.next(), tokens.next()) else { return Ok(()) };
    let Some(ledger) = &token.ledger else { return check_one_fence(snapshot) };
    match in_use.iter().find(|used| !ledger.iter().any(|entry| is_entry(entry, used))) {
        Some(used) => {
            let what = format!("grant {} of {} units is in use, but the ledger does not say so", used.id, used.units);
            Err(Violation::new(Rule::Ledger, Some(used.id.node), what))
        }
        None => Ok(()),
    }
}

/// All who are inside have the same fence.
fn check_one_fence(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    let mut fences =
        snapshot.places().flat_map(|place| place.view.holding.iter().map(move |grant| (place.id, grant.fence)));
    let Some((first, fence)) = fences.next() else { return Ok(()) };
    let other = fences.find_map(|(node, other)| Some((node, other.filter(|_| other != fence)?)));
    other.map_or(Ok(()), |(node, other)| {
        let what = format!("it is inside with fence {other}, and node {first} with another one");
        Err(Violation::new(Rule::Ledger, Some(node), what))
    })
}

/// In the quiet there is one token, and its ledger has nothing that is not in use.
pub(crate) fn check_repaired(in_use: &[InUse], snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    if !snapshot.quiet || snapshot.is_split() || snapshot.nodes.is_empty() {
        return Ok(());
    }
    let broken = |what: String| Err(Violation::new(Rule::Repaired, None, what));
    let Some(token) = snapshot.tokens().next() else {
        return broken("no member is missing, and there is no token".to_owned());
    };
    let leaked = token.ledger.iter().flatten().find(|entry| !in_use.iter().any(|used| is_entry(entry, used)));
    leaked.map_or(Ok(()), |entry| broken(format!("the ledger has grant {}, which is not in use", entry.grant)))
}

fn is_entry(entry: &LedgerView, used: &InUse) -> bool {
    entry.grant == used.id && entry.units == used.units
}
