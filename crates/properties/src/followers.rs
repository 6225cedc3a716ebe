//! A captain counts the followers that are there: none too few, and none that are gone for good.
//!
//! Source: Swaroop and Singh, sections IV and V.A: the session ends when the captain's count of followers is zero. A
//! count that is too small opens the next session while a follower is inside, one that is too large never opens it (a
//! `complete` that overtakes the token and is dropped: 10 steps in the printed text).
//!
//! Checked in every state, as one equation over the network, because the count is spread: a captain may have counted
//! completes before the token brings the number they belong to, so a single count may even be negative.
//!
//! ```text
//! counted at captains + carried by the token on its way
//!     = followers inside + starts on their way + completes on their way
//! ```
//!
//! Only for group protocols on links that lose nothing: where `start` and `complete` are repeated, a message on its
//! way may be a repetition, and the model leaves this rule out. What is left then is `one-session` for a count too
//! small and `nobody-waits` for one too large.

use crate::rule::{Rule, Violation};
use crate::snapshot::Snapshot;

pub(crate) fn check(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    let held = snapshot.places().filter_map(|place| {
        let in_token = place.view.token.as_ref().and_then(|token| token.followers);
        place.view.followers.or(in_token)
    });
    let carried = snapshot.flights.iter().filter_map(|flight| flight.token.and_then(|token| token.followers));
    let counted: i64 = held.chain(carried).fold(0, i64::saturating_add);

    let inside =
        snapshot.places().filter(|place| place.view.captain.is_some() && !place.view.holding.is_empty()).count();
    let under_way = |kind| snapshot.flights.iter().filter(|flight| flight.kind == kind).count();
    let (starts, completes) = (under_way("start"), under_way("complete"));
    if i64::try_from(inside + starts + completes) == Ok(counted) {
        return Ok(());
    }
    let what = format!(
        "{counted} followers are counted, but {inside} are inside, {starts} starts and {completes} completes on their way"
    );
    Err(Violation::new(Rule::Followers, None, what))
}

#[cfg(test)]
mod tests {
    use meshlock_core::NodeId;
    use meshlock_core::view::TokenView;

    use crate::rule::Rule;
    use crate::scene::Scene;

    /// Node 0 is captain with this count; node 1 is inside as its follower.
    fn captain_counts(followers: i64) -> Scene {
        let scene = Scene::of(Rule::Followers, 3).token(0, 0).at(0, |view| view.followers = Some(followers));
        scene.attends(1, 1, 7).at(1, |view| view.captain = Some(NodeId(0))).busy()
    }

    #[test]
    fn followers_inside_invited_and_leaving_are_counted() {
        captain_counts(1).holds();
        captain_counts(2).flies(0, 2, "start").holds();
        captain_counts(3).flies(0, 2, "start").flies(2, 0, "complete").holds();
    }

    #[test]
    fn the_captain_itself_and_others_do_not_count() {
        captain_counts(1).attends(0, 1, 7).flies(2, 0, "request").holds();
    }

    #[test]
    fn a_complete_may_run_ahead_of_the_token_that_brings_the_number() {
        let token = TokenView { followers: Some(1), ..TokenView::default() };
        let scene = Scene::of(Rule::Followers, 3).at(1, |view| view.followers = Some(-1));
        scene.flies_with(0, 1, token).holds();
    }

    #[test]
    fn a_complete_that_was_dropped_breaks_the_rule() {
        let token = TokenView { followers: Some(1), ..TokenView::default() };
        let scene = Scene::of(Rule::Followers, 3).flies_with(0, 1, token);
        scene.breaks(
            "followers broken: 1 followers are counted, but 0 are inside, 0 starts and 0 completes on their way",
        );
    }

    #[test]
    fn an_uncounted_follower_breaks_the_rule() {
        captain_counts(0).breaks(
            "followers broken: 0 followers are counted, but 1 are inside, 0 starts and 0 completes on their way",
        );
    }
}
