//! When nothing is in flight, no request waits that could be served.
//!
//! Source: every request is eventually served (bounded delay in Jiang, theorem 3; freedom from starvation in Swaroop
//! and Singh, section V.B), in the form in which it can be read off a single state: if no message, link notice or
//! useful timer is left, the protocol will do nothing more by itself, so a request that waits now waits until a node
//! leaves. With bounded requests every run ends in quiet states, so that every lost request and every deadlock shows
//! here.
//!
//! A waiting request is excused if
//! - **a node in its part is inside.** That may be what it waits for. If it is not, `no-idle-units` and `occupancy` say
//!   so now, or this rule does after the last one has left;
//! - **the network is split and the token is not in its part.** No protocol can help then. But the token must exist:
//!   held by a node, or kept as a copy by one that gave it away and does not know of its arrival. If neither is to be
//!   found anywhere the token is gone, and healing the network will not bring it back;
//! - **the network is split and what blocks it is in another part:** the token's ledger has a grant that is in use
//!   there, or whose release is carried there and by no node here. Where the token has no ledger: a node there is
//!   inside, owes units or follows a captain, or the holder still counts followers and none is in its part.
//!
//! Nothing is excused in a network of one part with no node inside. If there is no token in such a network, it is gone,
//! and this is reported also while a node is inside: in the quiet, no transfer can be in doubt. Protocols in which one
//! enters by permission have no token to lose, and say so in their views.

use meshlock_core::view::{LedgerView, TokenView};

use crate::rule::{Rule, Violation};
use crate::snapshot::{NodeView, Snapshot};

pub(crate) fn check(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    if snapshot.waiting().next().is_none() {
        return Ok(());
    }
    let split = snapshot.is_split();
    let by_permission = snapshot.places().any(|place| place.view.by_permission);
    let in_doubt = split && snapshot.places().any(|place| place.view.keeps_copy);
    let gone = !by_permission && snapshot.tokens().next().is_none() && !in_doubt;
    for (place, waiting) in snapshot.waiting() {
        let why = if gone {
            "the token is gone"
        } else if snapshot.places().any(|other| other.part == place.part && !other.view.holding.is_empty()) {
            continue;
        } else {
            match snapshot.holders().find(|(holder, _)| holder.part == place.part) {
                None if split => continue,
                Some((holder, token)) if split && blocked_from_afar(snapshot, holder, token) => continue,
                None | Some(_) => "no node is inside",
            }
        };
        let what = format!("request {}.{} waits, and {why}", place.id, waiting.request);
        return Err(Violation::new(Rule::NobodyWaits, Some(place.id), what));
    }
    Ok(())
}

/// Whether something in another part keeps the holder from granting.
fn blocked_from_afar(snapshot: &Snapshot<'_>, holder: NodeView<'_>, token: &TokenView) -> bool {
    let mut afar = snapshot.places().filter(|place| place.part != holder.part);
    match &token.ledger {
        Some(ledger) => ledger.iter().any(|entry| is_afar(snapshot, holder, entry)),
        None => {
            let counts_followers = holder.view.followers.or(token.followers).is_some_and(|followers| followers > 0);
            counts_followers
                || afar.any(|place| {
                    !place.view.holding.is_empty() || !place.view.returning.is_empty() || place.view.captain.is_some()
                })
        }
    }
}

/// Whether the grant is in use in another part, or its release is carried there and by no node of the holder's part.
fn is_afar(snapshot: &Snapshot<'_>, holder: NodeView<'_>, entry: &LedgerView) -> bool {
    let carries =
        |place: NodeView<'_>| place.view.returning.iter().any(|returning| returning.grant == Some(entry.grant));
    let uses = |place: NodeView<'_>| {
        place.id == entry.grant.node && place.view.holding.iter().any(|grant| grant.request == entry.grant.request)
    };
    let (mut here, mut there) = (false, false);
    for place in snapshot.places() {
        if place.part == holder.part {
            here |= carries(place);
        } else {
            there |= carries(place) || uses(place);
        }
    }
    there && !here
}

#[cfg(test)]
mod tests {
    use meshlock_core::NodeId;

    use crate::rule::Rule;
    use crate::scene::{Scene, entry, released};

    /// Three nodes, k = 1; node 2 waits.
    fn waiting() -> Scene {
        Scene::of(Rule::NobodyWaits, 3).waits(2, 1, 5, 1)
    }

    const STUCK: &str = "nobody-waits broken at node 2: request 2.1 waits, and no node is inside";
    const GONE: &str = "nobody-waits broken at node 2: request 2.1 waits, and the token is gone";

    #[test]
    fn none_waits_or_one_is_inside() {
        Scene::of(Rule::NobodyWaits, 3).token(0, 1).holds();
        waiting().token(0, 0).uses(1, 1, 1).holds();
    }

    #[test]
    fn a_request_forgotten_by_an_idle_holder_breaks_the_rule() {
        waiting().token(0, 1).breaks(STUCK);
        waiting().token(2, 1).breaks(STUCK);
    }

    #[test]
    fn a_token_that_is_gone_breaks_the_rule() {
        waiting().breaks(GONE);
        waiting().uses(1, 1, 1).breaks(GONE);
        waiting().at(0, |view| view.keeps_copy = true).breaks(GONE);
    }

    #[test]
    fn where_one_enters_by_permission_there_is_no_token_to_miss() {
        let scene = waiting().at(0, |view| view.by_permission = true);
        scene.clone().uses(1, 1, 1).holds();
        scene.breaks(STUCK);
    }

    #[test]
    fn a_part_without_the_token_is_excused() {
        waiting().token(0, 1).parts(&[0, 0, 1]).holds();
        waiting().token(0, 1).parts(&[0, 1, 0]).breaks(STUCK);
    }

    #[test]
    fn in_a_split_network_the_token_may_be_in_doubt_but_not_gone() {
        waiting().at(0, |view| view.keeps_copy = true).parts(&[0, 0, 1]).holds();
        waiting().parts(&[0, 0, 1]).breaks(GONE);
    }

    #[test]
    fn a_node_inside_another_part_is_no_excuse_by_itself() {
        waiting().token(0, 1).ledger(0, &[]).uses(1, 1, 1).parts(&[0, 1, 0]).breaks(STUCK);
    }

    #[test]
    fn units_in_use_or_released_in_another_part_are_an_excuse() {
        let scene = waiting().token(0, 0).ledger(0, &[entry(1, 1, 1)]);
        scene.clone().uses(1, 1, 1).parts(&[0, 1, 0]).holds();
        let released_there = scene.at(1, |view| view.returning.push(released(1, 1, 1)));
        released_there.clone().parts(&[0, 1, 0]).holds();
        released_there.clone().breaks(STUCK);
        let copy_here = released_there.at(0, |view| view.returning.push(released(1, 1, 1)));
        copy_here.parts(&[0, 1, 0]).breaks(STUCK);
    }

    #[test]
    fn a_grant_that_leaked_from_the_other_part_is_no_excuse() {
        waiting().token(0, 0).ledger(0, &[entry(1, 1, 1)]).parts(&[0, 1, 0]).breaks(STUCK);
    }

    #[test]
    fn a_follower_in_another_part_is_an_excuse() {
        waiting().token(0, 0).attends(1, 1, 7).parts(&[0, 1, 0]).holds();
        waiting().token(0, 0).at(1, |view| view.captain = Some(NodeId(0))).parts(&[0, 1, 0]).holds();
        let counting = waiting().token(0, 0).at(0, |view| view.followers = Some(1));
        counting.clone().parts(&[0, 1, 0]).holds();
        counting.breaks(STUCK);
        waiting().token(0, 0).at(0, |view| view.followers = Some(0)).parts(&[0, 1, 0]).breaks(STUCK);
    }

    #[test]
    fn one_of_several_out_of_reach_is_enough() {
        let scene = Scene::of(Rule::NobodyWaits, 4).waits(2, 1, 5, 1).token(0, 0).parts(&[0, 1, 0, 2]);
        scene.clone().attends(1, 1, 7).holds();
        scene.breaks(STUCK);
    }
}
