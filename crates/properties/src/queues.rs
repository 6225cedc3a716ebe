//! A queue names a neighbour once; when nothing is under way, what a node has been told is what the neighbour wants.
//!
//! Source: ours, against the duplicates and ghosts of Jiang's printed text: an entry put in twice sends the token
//! twice, an entry for a node that wants nothing sends it to where it stays, and a request that the asked node has
//! dropped is waited for in vain. Such states break no other rule until much later, so traces to them are short.
//!
//! In every state: no node's queue has two entries for one neighbour. In the quiet, for protocols with heights (where
//! the queue stays with the nodes and one ask is outstanding), told and meant agree exactly:
//! - a node that has an entry for a neighbour is the one that this neighbour has asked, and the entry has the rank of
//!   the front of the neighbour's own queue;
//! - a node that has asked a node of its part finds its entry there.
//!
//! Where the queue travels with the token, what is queued for a node is at least as urgent as what it asked for (it may
//! have aged, or joined others): the printed group text loses priorities on the way (defect G10).
//!
//! A node that asked one now out of its part is excused from the second: there is nothing to compare with. The first
//! has no excuse. An entry for a node beyond a broken link must go with the link.

use meshlock_core::NodeId;
use meshlock_core::view::{Claimant, Origin, View};

use crate::rule::{Rule, Violation};
use crate::snapshot::{NodeView, Snapshot};

/// No neighbour twice.
pub(crate) fn check_once(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    for place in snapshot.places() {
        for (i, (neighbour, _)) in entries(place.view).enumerate() {
            if entries(place.view).take(i).any(|(earlier, _)| earlier == neighbour) {
                return broken(place.id, format!("the queue names node {neighbour} twice"));
            }
        }
    }
    Ok(())
}

/// What the token has for a node is at least as urgent as what the node asked for.
pub(crate) fn check_carried(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    let held = snapshot.places().filter_map(|place| place.view.token.as_ref());
    for token in held.chain(snapshot.flights.iter().filter_map(|flight| flight.token)) {
        for claim in &token.queue {
            let Origin::Node(node) = claim.origin else { continue };
            let asked = snapshot.place(node).and_then(|place| place.view.waiting.iter().map(|w| w.rank).max());
            if let Some(asked) = asked.filter(|asked| *asked > claim.rank) {
                return broken(node, format!("it asked with rank {asked}, but is queued with rank {}", claim.rank));
            }
        }
    }
    Ok(())
}

/// Told and meant agree.
pub(crate) fn check_agreement(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    for place in snapshot.places().filter(|place| place.view.height.is_some()) {
        for (neighbour, claim) in entries(place.view) {
            let theirs = snapshot.place(neighbour).map(|other| other.view);
            if theirs.and_then(|view| view.asked) != Some(place.id) {
                return broken(place.id, format!("the queue has node {neighbour}, which has not asked here"));
            }
            let front = theirs.and_then(|view| view.queue.first()).map(|front| front.rank);
            if front != Some(claim.rank) {
                let meant =
                    front.map_or_else(|| "wants nothing".to_owned(), |rank| format!("has rank {rank} in front"));
                return broken(
                    place.id,
                    format!("the queue has node {neighbour} with rank {}, but it {meant}", claim.rank),
                );
            }
        }
        let asked = place.view.asked.and_then(|asked| snapshot.place(asked));
        let told = |asked: NodeView<'_>| entries(asked.view).any(|(neighbour, _)| neighbour == place.id);
        if let Some(asked) = asked.filter(|asked| asked.part == place.part && !told(*asked)) {
            return broken(place.id, format!("node {} is asked, but has no entry for this node", asked.id));
        }
    }
    Ok(())
}

fn entries(view: &View) -> impl Iterator<Item = (NodeId, &Claimant)> {
    view.queue.iter().filter_map(|claim| match claim.origin {
        Origin::Node(neighbour) => Some((neighbour, claim)),
        Origin::Local(_) => None,
    })
}

fn broken(node: NodeId, what: String) -> Result<(), Violation> {
    Err(Violation::new(Rule::Queues, Some(node), what))
}

#[cfg(test)]
mod tests {
    use meshlock_core::NodeId;
    use meshlock_core::view::TokenView;

    use crate::rule::Rule;
    use crate::scene::{Scene, claim_of, own_claim};

    /// Node 2 has a request of rank 5 and asked node 1, which asked node 0 for it.
    fn chain() -> Scene {
        let scene = Scene::of(Rule::Queues, 3).heights();
        let scene = scene.queue(2, &[own_claim(1, 5)]).asks(2, 1);
        scene.queue(1, &[claim_of(2, 5, 1)]).asks(1, 0).queue(0, &[claim_of(1, 5, 1)])
    }

    #[test]
    fn a_queue_that_travels_keeps_what_was_asked_for() {
        let queued = |rank| {
            let token = TokenView { queue: vec![claim_of(1, rank, 1)], ..TokenView::default() };
            Scene::of(Rule::Queues, 2).at(0, |view| view.token = Some(token)).waits(1, 1, 5, 1)
        };
        queued(5).holds();
        queued(7).holds();
        queued(4).breaks("queues broken at node 1: it asked with rank 5, but is queued with rank 4");
    }

    #[test]
    fn asks_and_entries_that_agree_are_fine() {
        chain().holds();
    }

    #[test]
    fn several_own_requests_are_no_duplicates() {
        chain().queue(2, &[own_claim(1, 5), own_claim(2, 4)]).holds();
    }

    #[test]
    fn a_neighbour_named_twice_breaks_the_rule_at_any_time() {
        let scene = chain().queue(0, &[claim_of(1, 5, 1), claim_of(1, 3, 1)]);
        scene.busy().breaks("queues broken at node 0: the queue names node 1 twice");
    }

    #[test]
    fn disagreement_is_normal_while_messages_are_under_way() {
        chain().queue(0, &[]).busy().holds();
    }

    #[test]
    fn a_ghost_breaks_the_rule() {
        let scene = chain().at(1, |view| view.asked = None);
        scene.breaks("queues broken at node 0: the queue has node 1, which has not asked here");
    }

    #[test]
    fn an_old_rank_breaks_the_rule() {
        let scene = chain().queue(0, &[claim_of(1, 3, 1)]);
        scene.breaks("queues broken at node 0: the queue has node 1 with rank 3, but it has rank 5 in front");
    }

    #[test]
    fn an_entry_for_one_that_wants_nothing_breaks_the_rule() {
        let scene = chain().queue(2, &[]);
        scene.breaks("queues broken at node 1: the queue has node 2 with rank 5, but it wants nothing");
    }

    #[test]
    fn an_ask_that_was_dropped_breaks_the_rule() {
        chain().queue(0, &[]).breaks("queues broken at node 1: node 0 is asked, but has no entry for this node");
    }

    #[test]
    fn an_ask_beyond_the_gap_is_excused_but_an_entry_is_not() {
        chain().queue(0, &[]).parts(&[0, 1, 1]).holds();
        let scene = chain().at(1, |view| view.asked = None).parts(&[0, 1, 1]);
        scene.breaks("queues broken at node 0: the queue has node 1, which has not asked here");
    }

    #[test]
    fn protocols_without_heights_are_only_checked_for_duplicates() {
        let scene =
            Scene::of(Rule::Queues, 3).queue(0, &[claim_of(1, 5, 1)]).at(2, |view| view.asked = Some(NodeId(1)));
        scene.holds();
    }
}
