//! When nothing is in flight, no request waits for a session while no other session is in use or wanted.
//!
//! Source: concurrent occupancy (Joung 1998; Swaroop and Singh, sections I and V.C): if all who ask want the same session, they
//! attend it together, and none has to wait until another one leaves.
//!
//! A waiting request is excused if the token is not in its part, or if another session is in its way:
//! - any node is in another session, also in a part out of reach;
//! - a request in its part waits for another one (the session must be allowed to end, so joining may stop);
//! - the holder has a claim for another one from a node of another part, which it cannot know to be void;
//! - the ledger has an entry of another one, whose release is still out. If that could have arrived, `conservation`
//!   and `nobody-waits` say so;
//! - the network is split and the holder counts followers: an invitation or a farewell may be lost beyond the gap.
//!
//! With a ledger units count too. Then the rule only speaks if every request of the part would fit, because one that
//! does not may stand in front; which of them is first is the business of `no-idle-units`.

use meshlock_core::Session;
use meshlock_core::view::{Claimant, Origin, TokenView};

use crate::no_idle_units::fits;
use crate::rule::{Rule, Violation};
use crate::snapshot::{NodeView, Snapshot};

pub(crate) fn check(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    for (place, waiting) in snapshot.waiting() {
        let Some(session) = waiting.session else {
            continue;
        };
        let Some((holder, token)) = snapshot.holders().find(|(holder, _)| holder.part == place.part) else {
            continue;
        };
        if is_contested(snapshot, holder, token, session) || is_short_of_units(snapshot, holder, token) {
            continue;
        }
        let what = format!(
            "request {}.{} waits for session {session}, the only one in use or wanted",
            place.id, waiting.request
        );
        return Err(Violation::new(Rule::Occupancy, Some(place.id), what));
    }
    Ok(())
}

fn is_contested(snapshot: &Snapshot<'_>, holder: NodeView<'_>, token: &TokenView, session: Session) -> bool {
    let other = |theirs: Option<Session>| theirs.is_some_and(|theirs| theirs != session);
    let used = snapshot.places().any(|place| place.view.holding.iter().any(|grant| other(grant.session)));
    let wanted = snapshot.waiting().any(|(place, waiting)| place.part == holder.part && other(waiting.session));
    let booked = token.ledger.iter().flatten().any(|entry| other(entry.session));
    let claimed = holder
        .view
        .queue
        .iter()
        .chain(&token.queue)
        .any(|claim| other(claim.session) && is_from_afar(snapshot, holder, claim));
    let followers = holder.view.followers.or(token.followers).unwrap_or(0);
    used || wanted || booked || claimed || (followers > 0 && snapshot.is_split())
}

fn is_from_afar(snapshot: &Snapshot<'_>, holder: NodeView<'_>, claim: &Claimant) -> bool {
    match claim.origin {
        Origin::Local(_) => false,
        Origin::Node(id) => snapshot.place(id).is_none_or(|place| place.part != holder.part),
    }
}

fn is_short_of_units(snapshot: &Snapshot<'_>, holder: NodeView<'_>, token: &TokenView) -> bool {
    let mut waiting = snapshot.waiting().filter(|(place, _)| place.part == holder.part);
    token.ledger.is_some() && waiting.any(|(_, waiting)| !fits(token, waiting.units, None))
}

#[cfg(test)]
mod tests {
    use meshlock_core::view::{Claimant, Origin};
    use meshlock_core::{NodeId, Session};

    use crate::rule::Rule;
    use crate::scene::{Scene, attending, claim_of};

    /// A group protocol (no ledger): node 0 is captain of session 7, node 2 wants to join.
    fn joiner() -> Scene {
        Scene::of(Rule::Occupancy, 4).token(0, 0).attends(0, 1, 7).waits_for(2, 1, 5, 7)
    }

    const ALONE: &str = "occupancy broken at node 2: request 2.1 waits for session 7, the only one in use or wanted";

    #[test]
    fn who_waits_for_the_only_session_breaks_the_rule() {
        joiner().breaks(ALONE);
        Scene::of(Rule::Occupancy, 4).token(0, 0).waits_for(2, 1, 5, 7).breaks(ALONE);
    }

    #[test]
    fn another_session_in_use_or_wanted_is_a_reason_to_wait() {
        Scene::of(Rule::Occupancy, 4).token(0, 0).attends(0, 1, 8).waits_for(2, 1, 5, 7).holds();
        joiner().waits_for(3, 1, 5, 8).holds();
    }

    #[test]
    fn a_request_without_a_session_blocks_none() {
        joiner().waits(3, 1, 9, 1).breaks(ALONE);
    }

    #[test]
    fn in_a_split_network_only_what_can_be_known_is_an_excuse() {
        joiner().parts(&[0, 0, 1, 0]).holds();
        let wanted_afar = joiner().waits_for(3, 1, 5, 8).parts(&[0, 0, 0, 1]);
        wanted_afar.clone().breaks(ALONE);
        let mut claim = claim_of(3, 5, 1);
        claim.session = Some(Session(8));
        wanted_afar.at(0, |view| view.token.as_mut().unwrap().queue = vec![claim]).holds();
        let same = claim_of(3, 5, 1);
        let afar = joiner().parts(&[0, 0, 0, 1]);
        afar.clone().queue(0, &[Claimant { session: Some(Session(7)), ..same }]).breaks(ALONE);
        afar.queue(0, &[Claimant { origin: Origin::Node(NodeId(9)), ..claim }]).holds();
        joiner().queue(0, &[claim]).breaks(ALONE);
        joiner().attends(3, 1, 8).parts(&[0, 0, 0, 1]).holds();
        joiner().at(0, |view| view.followers = Some(1)).parts(&[0, 0, 0, 1]).holds();
    }

    #[test]
    fn with_a_ledger_units_and_unreturned_sessions_count() {
        let scene = Scene::of(Rule::Occupancy, 4).capacity(2).waits_for(2, 1, 5, 7);
        scene.clone().token(0, 1).ledger(0, &[attending(1, 1, 7)]).breaks(ALONE);
        scene.clone().token(0, 0).ledger(0, &[attending(1, 1, 7)]).holds();
        scene.clone().token(0, 1).ledger(0, &[attending(1, 1, 8)]).holds();
        scene.token(0, 1).ledger(0, &[attending(1, 1, 7)]).waits(3, 1, 9, 2).holds();
    }
}
