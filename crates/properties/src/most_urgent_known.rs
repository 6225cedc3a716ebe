//! When nothing is under way, the holder knows the most urgent request of all.
//!
//! Source: "highest priority first" (Jiang, section 2 and theorem 2). The holder can only honour what it has been told, and
//! the printed text has three ways of not telling it (a more urgent local request, a raised priority one hop away, a
//! report sent to the wrong neighbour). `grant-order` cannot see those: every node acts rightly by what it knows.
//!
//! Checked as: the front of the holder's queue has the rank of the most urgent request of its part. Its node may
//! differ, among equals or because the holder only knows through which neighbour the claim came. A front that is more
//! urgent than anything wanted is as wrong as one that is less: the token will go where it is not needed. Parts without
//! the token are excused. If no request waits, a left-over claim is the business of `queues`.

use crate::rule::{Rule, Violation};
use crate::snapshot::Snapshot;

pub(crate) fn check(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    let Some((holder, token)) = snapshot.holders().next() else {
        return Ok(());
    };
    let in_part = snapshot.waiting().filter(|(place, _)| place.part == holder.part);
    let Some((place, waiting)) = in_part.max_by_key(|(_, waiting)| waiting.rank) else {
        return Ok(());
    };
    let front = holder.view.queue.first().or(token.queue.first()).map(|claim| claim.rank);
    if front == Some(waiting.rank) {
        return Ok(());
    }
    let known = front.map_or_else(|| "nothing".to_owned(), |rank| format!("rank {rank} at most"));
    let what = format!(
        "request {}.{} waits with rank {}, but this holder knows of {known}",
        place.id, waiting.request, waiting.rank
    );
    Err(Violation::new(Rule::MostUrgentKnown, Some(holder.id), what))
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;
    use crate::scene::{Scene, claim_of};

    fn two_wait() -> Scene {
        Scene::of(Rule::MostUrgentKnown, 4).token(0, 0).uses(0, 1, 1).waits(2, 1, 3, 1).waits(3, 1, 5, 1)
    }

    #[test]
    fn the_holder_may_know_it_through_any_neighbour() {
        two_wait().queue(0, &[claim_of(1, 5, 1)]).holds();
        two_wait().at(0, |view| view.token.as_mut().unwrap().queue = vec![claim_of(3, 5, 1)]).holds();
    }

    #[test]
    fn a_priority_that_did_not_arrive_breaks_the_rule() {
        two_wait().queue(0, &[claim_of(1, 3, 1)]).breaks(
            "most-urgent-known broken at node 0: request 3.1 waits with rank 5, but this holder knows of rank 3 at most",
        );
    }

    #[test]
    fn an_empty_queue_beside_a_waiting_node_breaks_the_rule() {
        two_wait().breaks(
            "most-urgent-known broken at node 0: request 3.1 waits with rank 5, but this holder knows of nothing",
        );
    }

    #[test]
    fn an_urgency_that_no_request_has_breaks_the_rule() {
        two_wait().queue(0, &[claim_of(1, 9, 1)]).breaks(
            "most-urgent-known broken at node 0: request 3.1 waits with rank 5, but this holder knows of rank 9 at most",
        );
    }

    #[test]
    fn requests_of_another_part_need_not_be_known() {
        two_wait().queue(0, &[claim_of(1, 3, 1)]).parts(&[0, 0, 0, 1]).holds();
    }
}
