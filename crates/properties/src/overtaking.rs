//! With aging, a request is overtaken only a bounded number of times.
//!
//! Source: the starvation argument for aging (Jiang, theorem 3; Swaroop and Singh, sections V.B and VI), in the form our aging
//! gives it: the rank is `priority x D - clock`, so a request made later by more than `D` grants per step of priority
//! ranks behind. A later request may therefore pass only while the difference of priorities lasts, plus what its node
//! had not heard of the clock, plus what was granted before the older request was known at the token.
//!
//! Checked by counting, for each waiting request, the grants that go to requests made after it, at any node. The
//! model knows its priorities, `D` and network and sets the bound; with strict priority there is none, and the rule is
//! left out of the set. Grants to requests made earlier are no overtaking and are not counted, however many they are.
//!
//! A request whose urgency is changed is a new one from then on, with a count of its own: who lowers itself has to let
//! others pass, and who raises itself passes others as a new request would.

use meshlock_core::GrantId;

use crate::rule::{Rule, Violation};
use crate::waiters::Waiter;

/// `new` was granted, and `earlier` are the requests made before it that still wait.
pub(crate) fn count(earlier: &mut [Waiter], new: GrantId, bound: u32) -> Result<(), Violation> {
    let mut verdict = Ok(());
    for waiter in earlier {
        // Counts beyond the bound are all the same, so the number of states stays finite.
        waiter.overtaken = waiter.overtaken.saturating_add(1).min(bound.saturating_add(1));
        if waiter.overtaken > bound && verdict.is_ok() {
            let what = format!("request {} is overtaken by {new}, once more than the bound of {bound}", waiter.id);
            verdict = Err(Violation::new(Rule::Overtaking, Some(waiter.id.node), what));
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;
    use crate::scene::Tale;

    #[test]
    fn a_request_may_be_passed_as_often_as_the_bound_says() {
        let mut tale = Tale::of(Rule::Overtaking).overtaking_bound(2);
        tale.asks(0, 1).asks(1, 1).granted(1, 1, 1).asks(1, 2).granted(1, 2, 1).granted(0, 1, 1);
        tale.holds();
    }

    #[test]
    fn grants_to_those_who_were_there_before_do_not_count() {
        let mut tale = Tale::of(Rule::Overtaking).overtaking_bound(0);
        tale.asks(1, 1).asks(2, 1).asks(0, 1).granted(1, 1, 1).granted(2, 1, 1).granted(0, 1, 1);
        tale.holds();
    }

    #[test]
    fn once_more_than_the_bound_breaks_the_rule() {
        let mut tale = Tale::of(Rule::Overtaking).overtaking_bound(1);
        tale.asks(0, 1).asks(1, 1).granted(1, 1, 1).asks(1, 2).granted(1, 2, 1);
        tale.breaks("overtaking broken at node 0: request 0.1 is overtaken by 1.2, once more than the bound of 1");
    }

    #[test]
    fn a_changed_request_is_a_new_one() {
        let mut tale = Tale::of(Rule::Overtaking).overtaking_bound(0);
        tale.asks(0, 1).asks(1, 1).reprioritizes(0, 1).granted(1, 1, 1);
        tale.holds();
        tale.asks(1, 2).granted(1, 2, 1);
        tale.breaks("overtaking broken at node 0: request 0.1 is overtaken by 1.2, once more than the bound of 0");
    }

    #[test]
    fn who_raises_itself_past_an_older_request_overtakes_it() {
        let mut tale = Tale::of(Rule::Overtaking).overtaking_bound(0);
        tale.asks(0, 1).asks(1, 1).reprioritizes(0, 1).granted(0, 1, 1);
        tale.breaks("overtaking broken at node 1: request 1.1 is overtaken by 0.1, once more than the bound of 0");
    }
}
