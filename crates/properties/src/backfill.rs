//! With backfill, only a bounded number of requests pass a front that waits for units.
//!
//! Source: ours. A front that does not fit lets at most `passes` others past it until it is granted, wherever they are
//! granted: the count has to travel with the token.
//!
//! Checked by counting the grants that pass, from one grant in its turn to the next. A grant passes if a strictly more
//! urgent request is left in the queue of its granter; that this one did not fit is the business of `grant-order`. The
//! count begins anew when a request is cancelled or changes its urgency, because it may have been the one that was
//! passed, and when an heir decides, because the token it makes knows of no passes. Models in which links fail leave the
//! rule out: a front that is cut off from the token is passed uncounted.

use meshlock_core::GrantId;

use crate::rule::{Rule, Violation};

/// `new` is granted, past a more urgent request or in its turn; `passed` have passed since the last one in its turn.
pub(crate) fn count(passed: &mut u32, new: GrantId, passes: bool, bound: u32) -> Result<(), Violation> {
    if !passes {
        *passed = 0;
        return Ok(());
    }
    // Counts beyond the bound are all the same, so the number of states stays finite.
    *passed = passed.saturating_add(1).min(bound.saturating_add(1));
    if *passed <= bound {
        return Ok(());
    }
    let what = format!("request {new} passes a more urgent one, once more than the bound of {bound}");
    Err(Violation::new(Rule::Backfill, Some(new.node), what))
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;
    use crate::scene::Tale;

    fn tale() -> Tale {
        Tale::of(Rule::Backfill).passes(2)
    }

    #[test]
    fn a_front_is_passed_as_often_as_the_bound_says_until_one_is_granted_in_its_turn() {
        tale().turn(1, 1, true).turn(2, 1, true).turn(0, 1, false).turn(1, 2, true).turn(2, 2, true).holds();
    }

    #[test]
    fn once_more_than_the_bound_breaks_the_rule_wherever_it_is() {
        tale()
            .turn(1, 1, true)
            .turn(2, 1, true)
            .turn(3, 1, true)
            .breaks("backfill broken at node 3: request 3.1 passes a more urgent one, once more than the bound of 2");
    }

    #[test]
    fn who_was_passed_may_be_gone_or_forgotten_by_a_new_token() {
        let mut cancelled = tale();
        cancelled.turn(1, 1, true).turn(1, 2, true).cancels(0, 1).turn(1, 3, true).turn(1, 4, true).holds();
        let mut remade = tale();
        remade.turn(1, 1, true).turn(1, 2, true).decided(0, 9, Some(9)).turn(1, 3, true).holds();
    }
}
