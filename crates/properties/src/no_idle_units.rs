//! When nothing is under way, the most urgent request does not wait beside units that would do for it.
//!
//! Source: the end of the proof of theorem 3 in Jiang (the most urgent node enters as soon as enough units are free);
//! the printed text leaves units idle while its holder is inside (3 steps). The rule closes the gap that `nobody-waits`
//! leaves while a node is inside.
//!
//! Only the most urgent request of the token's part counts: one that does not fit blocks all behind it, by the strict
//! admission rule, and that is not idleness. "Fits" means that the token has enough free units and that no other
//! session is open. Two traps, both of which have raised false alarms before:
//! - **released is not free.** Units still on their way, or held up in another part, are not in the token;
//! - **ties.** Of equally urgent requests any may be first, and a big one at the front blocks a small one behind it.
//!   So either all of them must fit, or the claim that the holder itself has at the front.
//!
//! Joining an open session past a blocked front is allowed, never demanded. Parts without the token are excused.

use meshlock_core::view::{TokenView, Waiting};
use meshlock_core::{Session, Units};

use crate::rule::{Rule, Violation};
use crate::snapshot::{NodeView, Snapshot};

pub(crate) fn check(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    let Some((holder, token)) = snapshot.holders().next() else {
        return Ok(());
    };
    let in_part = || snapshot.waiting().filter(|(place, _)| place.part == holder.part);
    let Some(top) = in_part().map(|(_, waiting)| waiting.rank).max() else {
        return Ok(());
    };
    let first: Vec<(NodeView<'_>, &Waiting)> = in_part().filter(|(_, waiting)| waiting.rank == top).collect();
    let front = holder.view.queue.first().filter(|claim| claim.rank == top);
    let all_fit = first.iter().all(|(_, waiting)| fits(token, waiting.units, waiting.session));
    let front_fits = front.is_some_and(|claim| fits(token, claim.units, claim.session));
    if !all_fit && !front_fits {
        return Ok(());
    }
    let (place, waiting) = first[0];
    let what = format!(
        "request {}.{} is the most urgent and waits for {} units, but {} are free at node {}",
        place.id, waiting.request, waiting.units, token.free, holder.id
    );
    Err(Violation::new(Rule::NoIdleUnits, Some(place.id), what))
}

/// Whether the token's holder could grant this now: the admission rule, seen from outside.
pub(crate) fn fits(token: &TokenView, units: Units, session: Option<Session>) -> bool {
    let differs = |open: Option<Session>| matches!((open, session), (Some(a), Some(b)) if a != b);
    let blocked = match &token.ledger {
        Some(ledger) => ledger.iter().any(|entry| differs(entry.session)),
        None => differs(token.session),
    };
    token.free >= units && !blocked
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;
    use crate::scene::{Scene, attending, claim_of, entry};

    /// k = 3, two units in use at node 1, one free at node 0.
    fn one_free() -> Scene {
        Scene::of(Rule::NoIdleUnits, 4).capacity(3).token(0, 1).ledger(0, &[entry(1, 1, 2)]).uses(1, 1, 2)
    }

    #[test]
    fn a_request_too_big_for_what_is_free_waits_rightly() {
        one_free().waits(2, 1, 5, 2).holds();
    }

    #[test]
    fn a_small_request_behind_a_big_one_waits_rightly() {
        one_free().waits(2, 1, 5, 2).waits(3, 1, 4, 1).holds();
    }

    #[test]
    fn the_most_urgent_request_beside_free_units_breaks_the_rule() {
        one_free().waits(2, 1, 5, 1).waits(3, 1, 4, 2).breaks(
            "no-idle-units broken at node 2: request 2.1 is the most urgent and waits for 1 units, but 1 are free at node 0",
        );
    }

    #[test]
    fn of_equally_urgent_requests_the_big_one_may_be_first() {
        let tie = one_free().waits(2, 1, 5, 2).waits(3, 1, 5, 1);
        tie.clone().holds();
        tie.clone().queue(0, &[claim_of(2, 5, 2), claim_of(3, 5, 1)]).holds();
        tie.queue(0, &[claim_of(3, 5, 1), claim_of(2, 5, 2)]).breaks(
            "no-idle-units broken at node 2: request 2.1 is the most urgent and waits for 2 units, but 1 are free at node 0",
        );
    }

    #[test]
    fn another_session_in_the_ledger_blocks_and_the_same_does_not() {
        let scene = Scene::of(Rule::NoIdleUnits, 3).capacity(3).token(0, 2).ledger(0, &[attending(1, 1, 7)]);
        scene.clone().waits_for(2, 1, 5, 8).holds();
        scene.waits_for(2, 1, 5, 7).breaks(
            "no-idle-units broken at node 2: request 2.1 is the most urgent and waits for 1 units, but 2 are free at node 0",
        );
    }

    #[test]
    fn one_entry_of_another_session_blocks_also_beside_entries_of_none() {
        let scene = Scene::of(Rule::NoIdleUnits, 3).capacity(3).token(0, 1);
        scene.ledger(0, &[entry(1, 2, 1), attending(1, 1, 7)]).waits_for(2, 1, 5, 8).holds();
    }

    #[test]
    fn other_parts_are_excused() {
        one_free().waits(2, 1, 5, 1).parts(&[0, 0, 1, 0]).holds();
        Scene::of(Rule::NoIdleUnits, 2).waits(1, 1, 5, 1).holds();
    }
}
