//! There is at most one usable token, held or on its way.
//!
//! Source: every token algorithm's safety argument (Jiang, theorem 1; Swaroop and Singh, section V.A; Suzuki and Kasami
//! 1985): the holder of the token may grant, so two of them grant the same units twice.
//!
//! Checked in every state, long before two tokens can do harm, which makes shorter traces than exclusion does. A
//! token on its way counts only if its receiver would accept it now: copies that will be refused, and copies kept by
//! the sender until it knows of the arrival, are not tokens. Copies of one flooded transfer to the same receiver are one
//! token: whichever comes first is accepted, and then the others are not. No token at all is not this rule's business: during an
//! acknowledged transfer that is normal for a while, and if it lasts, `nobody-waits` speaks up.

use crate::rule::{Rule, Violation};
use crate::snapshot::{Flight, Snapshot};

pub(crate) fn check(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    if snapshot.tokens().nth(1).is_none() {
        return Ok(());
    }
    let held = snapshot.holders().map(|(place, _)| format!("node {} has one", place.id));
    let mut tokens: Vec<String> = held.collect();
    for (at, flight) in snapshot.flights.iter().enumerate() {
        let Some(token) = flight.token else { continue };
        let same = |other: &Flight<'_>| {
            other.to == flight.to && token.pass.is_some() && other.token.is_some_and(|t| t.pass == token.pass)
        };
        if !snapshot.flights[..at].iter().any(same) {
            tokens.push(format!("one is on its way from node {} to node {}", flight.from, flight.to));
        }
    }
    if tokens.len() < 2 {
        return Ok(());
    }
    Err(Violation::new(Rule::OneToken, None, format!("{} tokens: {}", tokens.len(), tokens.join(", "))))
}

#[cfg(test)]
mod tests {
    use meshlock_core::view::TokenView;

    use crate::rule::Rule;
    use crate::scene::Scene;

    #[test]
    fn a_token_held_or_flying_or_in_doubt_is_fine() {
        Scene::of(Rule::OneToken, 3).token(0, 1).busy().holds();
        Scene::of(Rule::OneToken, 3).token_flies(0, 1, 1).holds();
        Scene::of(Rule::OneToken, 3).at(0, |view| view.keeps_copy = true).busy().holds();
    }

    #[test]
    fn a_copy_that_is_kept_or_will_be_refused_is_no_token() {
        Scene::of(Rule::OneToken, 3).token(1, 1).at(0, |view| view.keeps_copy = true).flies(0, 1, "token").holds();
    }

    #[test]
    fn copies_of_one_transfer_to_one_receiver_are_one_token() {
        let numbered = |pass| TokenView { pass: Some(pass), ..TokenView::default() };
        let scene = |first, second| {
            let scene = Scene::of(Rule::OneToken, 3).fly(0, 2, "token", Some(numbered(first)), None);
            scene.fly(1, 2, "token", Some(numbered(second)), None)
        };
        scene(7, 7).holds();
        let two = "one is on its way from node 0 to node 2, one is on its way from node 1 to node 2";
        scene(7, 8).breaks(&format!("one-token broken: 2 tokens: {two}"));
    }

    #[test]
    fn two_holders_break_the_rule() {
        let scene = Scene::of(Rule::OneToken, 3).token(0, 1).token(2, 1).busy();
        scene.breaks("one-token broken: 2 tokens: node 0 has one, node 2 has one");
    }

    #[test]
    fn a_holder_and_a_token_on_its_way_break_the_rule() {
        let scene = Scene::of(Rule::OneToken, 3).token(0, 1).token_flies(0, 1, 1);
        scene.breaks("one-token broken: 2 tokens: node 0 has one, one is on its way from node 0 to node 1");
    }
}
