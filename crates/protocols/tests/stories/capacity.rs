//! The capacity of a resource changes while it is used (reverse-link). Ann starts with the token.

use crate::story::Story;
use meshlock_core::group::{self, Level};
use meshlock_core::reverse_link::{Capacity, Config, Node};
use meshlock_core::{Demand, Event, Misuse, NodeId, Protocol, Units, flood};

fn line(capacity: u32) -> Story<Node> {
    let node = |id| Node::new(Config { capacity: Units(capacity), ..Config::mutex(id, id == NodeId(1)) });
    let mut story = Story::new(&["ann", "bob", "cy"], node).linked(&[("ann", "bob"), ("bob", "cy")]);
    story.settles().begins();
    story
}

fn units(units: u32) -> Demand {
    Demand::units(units, 0)
}

fn known(story: &Story<Node>, who: &str) -> (u64, u32) {
    let Capacity { version, units } = story.node(who).capacity();
    (version, units.0)
}

#[test]
fn a_holder_that_hears_of_more_units_grants_them_at_once() {
    let mut story = line(1);
    story.asks("ann", units(1)).asks("bob", units(1)).settles().expect_waiting(["bob"]);
    story.hears_of_capacity("ann", 1, 2).settles().expect_holding(["ann", "bob"]);
    assert_eq!(known(&story, "bob"), (1, 2), "the token told bob");
    assert_eq!(known(&story, "cy"), (0, 1), "cy has not heard of it");
}

#[test]
fn a_claim_that_knows_a_newer_capacity_than_the_holder_is_no_mistake() {
    let mut story = line(1);
    story.hears_of_capacity("cy", 1, 3).asks("cy", units(3)).settles().expect_waiting(["cy"]);
    story.hears_of_capacity("ann", 1, 3).settles().expect_holding(["cy"]);
}

#[test]
fn a_node_that_is_behind_refuses_what_it_does_not_know_of() {
    let mut story = line(1);
    story.hears_of_capacity("ann", 1, 3);
    let over = Misuse::OverCapacity { asked: Units(3), capacity: Units(1) };
    story.asks("cy", units(3)).expect_refused(over);
    story.asks("cy", units(1)).settles().asks("cy", units(2)).expect_holding(["cy", "cy"]);
}

#[test]
fn after_lowering_nothing_is_granted_until_what_is_in_use_fits() {
    let mut story = line(3);
    story.asks("ann", units(1)).asks("ann", units(2)).asks("bob", units(1)).settles();
    story.hears_of_capacity("ann", 1, 1).settles().expect_holding(["ann", "ann"]).expect_waiting(["bob"]);
    story.releases("ann").settles().expect_waiting(["bob"]);
    story.releases("ann").settles().expect_holding(["bob"]);
}

#[test]
fn a_token_that_comes_with_an_older_capacity_learns_the_newer_one() {
    let mut story = line(2);
    story.asks("cy", units(1)).delivers("cy", "bob").delivers("bob", "ann");
    for who in ["ann", "bob", "cy"] {
        story.hears_of_capacity(who, 1, 1);
    }
    story.settles().expect_holding(["cy"]);
    story.asks("cy", units(1)).expect_holding(["cy"]).expect_waiting(["cy"]);
    assert_eq!(story.view("cy").token.unwrap().capacity, Some(Units(1)));
}

#[test]
fn what_is_not_newer_is_ignored() {
    let mut story = line(1);
    story.hears_of_capacity("ann", 2, 5).hears_of_capacity("ann", 1, 9).hears_of_capacity("ann", 2, 7);
    assert_eq!(known(&story, "ann"), (2, 5));
}

#[test]
fn a_waiting_request_that_no_longer_fits_blocks_those_behind_it_until_it_is_cancelled() {
    let mut story = line(3);
    story.asks("ann", units(1)).asks("bob", units(3)).asks("cy", units(1)).settles();
    story.hears_of_capacity("ann", 1, 1).releases("ann").settles().expect_waiting(["bob", "cy"]);
    story.cancels("bob").settles().expect_holding(["cy"]);
}

fn answer<P: Protocol>(mut node: P, version: u64) -> Result<usize, Misuse> {
    node.handle(Event::Resize { version, capacity: Units(2) }).map(|effects| effects.len())
}

#[test]
fn protocols_whose_capacity_never_changes_say_so() {
    let flood = || flood::Node::new(flood::Config::new(NodeId(1)));
    let group = group::Node::new(group::Config::among([], NodeId(1), Level(1), None));
    let refused = Err(Misuse::Unsupported("change its capacity"));
    assert_eq!(answer(flood(), 0), Ok(0), "no news");
    assert_eq!(answer(flood(), 1), refused);
    assert_eq!(answer(group, 1), refused);
}
