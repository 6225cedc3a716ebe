//! A cancelled request is never granted, and no node is granted what it does not wait for.
//!
//! Source: ours for cancellation; for unwanted grants the rule "no grant without a wish" that showed the double
//! service in Swaroop and Singh's text (a second queue entry, an old copy of a request) and in the PSAR report.
//!
//! The second rule contains the first: what was cancelled does not wait. They are two because they fail for different
//! reasons, a forgotten entry or one served twice, and a report should say which. So old cancellations have to be
//! remembered; request numbers grow at each node, so the [`KEPT`] latest of each node suffice for a short run, and in
//! a long one an older cancellation that comes true is still an unwanted grant.
//!
//! Nothing is excused. A grant and a cancellation that cross are no excuse either: both happen at one node, so one of
//! them comes first there, and cancelling what is granted is a caller's mistake that never becomes an occurrence.

use meshlock_core::GrantId;

use crate::rule::{Rule, Violation};

/// How many cancellations of one node are remembered.
const KEPT: usize = 16;

/// Puts `id` into the sorted list and forgets the oldest of its node if there are too many.
pub(crate) fn remember(cancelled: &mut Vec<GrantId>, id: GrantId) {
    if let Err(place) = cancelled.binary_search(&id) {
        cancelled.insert(place, id);
    }
    let first = cancelled.partition_point(|other| other.node < id.node);
    let past = cancelled.partition_point(|other| other.node <= id.node);
    if past - first > KEPT {
        cancelled.remove(first);
    }
}

pub(crate) fn check(cancelled: &[GrantId], id: GrantId) -> Result<(), Violation> {
    match cancelled.binary_search(&id) {
        Ok(_) => {
            Err(Violation::new(Rule::Cancelled, Some(id.node), format!("request {id} was cancelled and is granted")))
        }
        Err(_) => Ok(()),
    }
}

pub(crate) fn check_wanted(waited: bool, id: GrantId) -> Result<(), Violation> {
    if waited {
        return Ok(());
    }
    let what = format!("request {id} is granted, but does not wait");
    Err(Violation::new(Rule::UnwantedGrant, Some(id.node), what))
}

#[cfg(test)]
mod tests {
    use super::KEPT;
    use crate::rule::Rule;
    use crate::scene::Tale;

    #[test]
    fn who_cancels_may_ask_again_under_a_new_number() {
        for rule in [Rule::Cancelled, Rule::UnwantedGrant] {
            let mut tale = Tale::of(rule);
            tale.asks(0, 1).asks(1, 1).cancels(0, 1).granted(1, 1, 1).asks(0, 2).granted(0, 2, 1);
            tale.holds();
        }
    }

    #[test]
    fn a_grant_of_what_was_cancelled_breaks_the_rule() {
        let mut tale = Tale::of(Rule::Cancelled);
        tale.asks(0, 1).cancels(0, 1).granted(0, 1, 1);
        tale.breaks("cancelled broken at node 0: request 0.1 was cancelled and is granted");
    }

    #[test]
    fn without_memory_of_cancellations_it_is_an_unwanted_grant() {
        let mut tale = Tale::of(Rule::UnwantedGrant);
        tale.asks(0, 1).cancels(0, 1).granted(0, 1, 1);
        tale.breaks("unwanted-grant broken at node 0: request 0.1 is granted, but does not wait");
    }

    #[test]
    fn a_request_granted_twice_breaks_the_rule() {
        let mut tale = Tale::of(Rule::UnwantedGrant);
        tale.asks(2, 1).granted(2, 1, 1).released(2, 1).granted(2, 1, 1);
        tale.breaks("unwanted-grant broken at node 2: request 2.1 is granted, but does not wait");
    }

    #[test]
    fn another_nodes_request_of_the_same_number_is_another_request() {
        let mut tale = Tale::of(Rule::UnwantedGrant);
        tale.asks(2, 1).granted(1, 1, 1);
        tale.breaks("unwanted-grant broken at node 1: request 1.1 is granted, but does not wait");
    }

    #[test]
    fn the_latest_cancellations_of_each_node_are_remembered_and_no_more() {
        let mut tale = Tale::of(Rule::Cancelled);
        for request in 0..=KEPT as u64 {
            tale.cancels(0, request).cancels(1, request);
        }
        let mut forgotten = tale.clone();
        forgotten.granted(1, 0, 1);
        forgotten.holds();
        tale.granted(1, 1, 1);
        tale.breaks("cancelled broken at node 1: request 1.1 was cancelled and is granted");
    }
}
