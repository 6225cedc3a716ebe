//! When nothing is under way, a node that leaves has nothing that others need.
//!
//! Source: ours. A node that says that it leaves gives away what others need, so that it may go after a while without
//! taking anything with it: neither the token, nor an unconfirmed copy of the token, nor released units that the token
//! does not know of.
//!
//! Excused are the token if no neighbour stays to take it, and copies and released units while the network is split:
//! the node that could confirm or take them may be in another part.

use crate::rule::{Rule, Violation};
use crate::snapshot::{NodeView, Snapshot};

pub(crate) fn check(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    let split = snapshot.is_split();
    for place in snapshot.places().filter(|place| place.view.leaving) {
        let what = if place.view.token.is_some() && a_neighbour_stays(snapshot, place) {
            "the token"
        } else if place.view.keeps_copy && !split {
            "a copy of the token"
        } else if !place.view.returning.is_empty() && !split {
            "released units"
        } else {
            continue;
        };
        return Err(Violation::new(Rule::Leaving, Some(place.id), format!("it leaves, but still has {what}")));
    }
    Ok(())
}

fn a_neighbour_stays(snapshot: &Snapshot<'_>, place: NodeView<'_>) -> bool {
    let neighbours = place.view.neighbours.iter().filter_map(|neighbour| snapshot.place(*neighbour));
    neighbours.into_iter().any(|neighbour| !neighbour.view.leaving)
}

#[cfg(test)]
mod tests {
    use meshlock_core::NodeId;

    use crate::rule::Rule;
    use crate::scene::{Scene, released};

    /// Node 0 leaves; node 1 is its neighbour.
    fn leaving() -> Scene {
        let scene = Scene::of(Rule::Leaving, 3).at(0, |view| view.neighbours = vec![NodeId(1)]);
        scene.at(0, |view| view.leaving = true)
    }

    #[test]
    fn a_node_that_stays_may_have_everything() {
        Scene::of(Rule::Leaving, 2).token(0, 1).at(1, |view| view.keeps_copy = true).holds();
    }

    #[test]
    fn a_node_that_leaves_must_have_given_everything_away() {
        leaving().holds();
        leaving().token(0, 1).breaks("leaving broken at node 0: it leaves, but still has the token");
        let copy = leaving().at(0, |view| view.keeps_copy = true);
        copy.clone().breaks("leaving broken at node 0: it leaves, but still has a copy of the token");
        copy.busy().holds();
        let owing = leaving().at(0, |view| view.returning.push(released(0, 1, 1)));
        owing.breaks("leaving broken at node 0: it leaves, but still has released units");
    }

    #[test]
    fn the_last_node_keeps_the_token() {
        leaving().token(0, 1).at(1, |view| view.leaving = true).holds();
        leaving().token(0, 1).at(0, |view| view.neighbours.clear()).holds();
    }

    #[test]
    fn in_a_split_network_a_copy_may_be_in_doubt() {
        leaving().at(0, |view| view.keeps_copy = true).parts(&[0, 0, 1]).holds();
    }
}
