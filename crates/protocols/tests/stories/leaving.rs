//! Nodes that leave in order. Ann starts with the token.

use crate::story::Story;
use meshlock_core::group::{self, Level};
use meshlock_core::reverse_link::{Config, Node};
use meshlock_core::{Delay, Demand, Misuse, NodeId, Protocol, Units, flood};

const ONE: Demand = Demand::units(1, 0);

fn network(capacity: u32, links: &[(&str, &str)]) -> Story<Node> {
    let node = |id| Node::new(Config { capacity: Units(capacity), ..Config::mutex(id, id == NodeId(1)) });
    let mut story = Story::new(&["ann", "bob", "cy"], node).linked(links);
    story.settles().begins();
    story
}

fn line(capacity: u32) -> Story<Node> {
    network(capacity, &[("ann", "bob"), ("bob", "cy")])
}

#[test]
fn a_node_that_leaves_gives_the_token_away_although_nobody_asks() {
    let mut story = line(1);
    assert!(!story.node("ann").may_go());
    story.leaves("ann").settles().expect_token_at(["bob"]).expect_trace(
        "
        ann leave            -> leaving to all, token to bob
        bob leaving from ann -> -
        bob token from ann   -> link to ann
        ann link from bob    -> -",
    );
    assert!(story.node("ann").may_go());
}

#[test]
fn a_node_may_not_go_before_the_token_is_known_to_have_arrived() {
    let mut story = line(1);
    story.leaves("ann");
    assert!(!story.node("ann").may_go(), "it keeps a copy");
    story.link_down("ann", "bob");
    assert!(!story.node("ann").may_go(), "no answer yet whether the token arrived");
    story.link_up("ann", "bob").settles().expect_token_at(["bob"]);
    assert!(story.node("ann").may_go());
}

#[test]
fn claims_still_travel_through_a_node_that_leaves() {
    let mut story = line(1);
    story.leaves("bob").asks("cy", ONE).settles().expect_holding(["cy"]).expect_token_at(["cy"]);
    story.asks("ann", ONE).settles().releases("cy").settles().expect_holding(["ann"]);
    assert!(story.node("bob").may_go());
}

#[test]
fn a_token_that_comes_by_for_nothing_goes_on_to_a_neighbour_that_stays() {
    let mut story = line(1);
    story.asks("cy", ONE).delivers("cy", "bob").delivers("bob", "ann").leaves("bob").cancels("cy").settles();
    assert_eq!(story.view("bob").token, None);
    assert!(story.node("bob").may_go());
    story.asks("cy", ONE).settles().expect_holding(["cy"]);
}

#[test]
fn the_token_does_not_wait_for_a_release_where_it_cannot_stay() {
    let mut story = line(2);
    story.asks("ann", ONE).asks("cy", Demand::units(2, 0)).settles().expect_waiting(["cy"]);
    story.releases("ann").settles().expect_holding(["cy"]).expect_token_at(["cy"]);
    story.asks("ann", ONE).settles().expect_waiting(["ann"]).releases("cy").settles().expect_holding(["ann"]);
    story.asks("bob", Demand::units(2, 0)).settles().cancels("bob").settles().leaves("bob").settles();
    assert!(story.node("bob").may_go());
}

#[test]
fn releases_are_brought_on_before_a_node_may_go() {
    let mut story = line(2);
    story.asks("cy", ONE).settles().asks("ann", ONE).settles().expect_holding(["ann", "cy"]);
    story.releases("cy").leaves("cy");
    assert!(!story.node("cy").may_go(), "its release is not confirmed");
    story.settles();
    assert!(story.node("cy").may_go());
}

#[test]
fn two_neighbours_that_leave_do_not_hand_the_token_to_each_other_without_end() {
    let mut story = network(1, &[("ann", "bob")]);
    story.leaves("ann").leaves("bob").settles().expect_token_at(["bob"]);
    assert!(story.node("ann").may_go());
    assert!(!story.node("bob").may_go(), "no node is left to take it: its state must be kept");
    story.link_up("bob", "cy").settles().expect_token_at(["cy"]);
    assert!(story.node("bob").may_go());
}

#[test]
fn a_node_that_leaves_asks_for_nothing_and_must_have_finished() {
    let mut story = line(1);
    story.asks("ann", ONE).leaves("ann").expect_refused(Misuse::StillBusy);
    story.asks("bob", ONE).settles().leaves("bob").expect_refused(Misuse::StillBusy);
    story.cancels("bob").releases("ann").settles().leaves("ann").leaves("ann").settles();
    story.asks("ann", ONE).expect_refused(Misuse::Leaving);
}

#[test]
fn a_new_neighbour_hears_that_a_node_leaves() {
    let mut story = line(1);
    story.leaves("cy").link_up("ann", "cy").settles().leaves("ann").settles().expect_token_at(["bob"]);
}

#[test]
fn flood_only_refuses_and_says_when_it_may_go() {
    let config = |id| flood::Config { starts_with_token: id == NodeId(1), ..flood::Config::new(id) };
    let mut story =
        Story::new(&["ann", "bob", "cy"], |id| flood::Node::new(config(id))).linked(&[("ann", "bob"), ("bob", "cy")]);
    story.asks("cy", ONE).leaves("cy").expect_refused(Misuse::StillBusy).cancels("cy").leaves("cy");
    assert!(!story.node("cy").may_go(), "the token will come for what it withdrew");
    story.settles().asks("cy", ONE).expect_refused(Misuse::Leaving).expect_token_at(["cy"]);
    assert!(!story.node("cy").may_go(), "no node asks for the token");
    story.asks("bob", ONE).settles().expect_holding(["bob"]);
    assert!(!story.node("cy").may_go(), "it keeps a copy of the token it gave away");
    story.asks("ann", ONE).settles().releases("bob").settles().expect_holding(["ann"]);
    assert!(story.node("cy").may_go(), "it has seen the token pass by");
}

#[test]
fn group_only_refuses_and_says_when_it_may_go() {
    let retry = Delay { least_ms: 1, most_ms: 2 };
    let config = |id| group::Config::among((1..=2).map(NodeId), id, Level(1), Some(retry));
    let mut story = Story::new(&["ann", "bob"], |id| group::Node::new(config(id))).any_to_any();
    let session = Demand::session(1, 1);
    story.asks("bob", session).leaves("bob").expect_refused(Misuse::StillBusy).settles().releases("bob");
    assert!(!story.node("ann").may_go(), "it keeps a copy of the token it gave away");
    story.leaves("bob").asks("bob", session).expect_refused(Misuse::Leaving);
    assert!(!story.node("bob").may_go());
    story.asks("ann", session).settles().expect_holding(["ann"]);
    story.releases("ann").settles();
    assert!(!story.node("ann").may_go());
}
