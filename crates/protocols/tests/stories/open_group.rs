//! Stories of the group protocol on a mesh whose nodes come later: there is no list of members, and the configuration
//! says where the token starts.

use crate::story::Story;
use meshlock_core::group::{Config, Level, Node};
use meshlock_core::relay::{self, Relayed};
use meshlock_core::{Delay, Demand, NodeId};

const RETRY: Delay = Delay { least_ms: 500, most_ms: 1_000 };
const X: Demand = Demand::session(1, 1);
const Y: Demand = Demand::session(2, 1);

/// The token starts at bob; dan and eve have no link yet.
fn mesh() -> Story<Relayed<Node>> {
    let config = |id| Config::open(id, Level(3), RETRY);
    let config = move |id| if id == NodeId(2) { config(id).with_token() } else { config(id) };
    let make = |id| Relayed::new(Node::new(config(id)), relay::Config::default());
    Story::new(&["ann", "bob", "cy", "dan", "eve"], make).linked(&[("ann", "bob"), ("bob", "cy")])
}

#[test]
fn a_node_that_comes_later_is_served() {
    let mut story = mesh();
    story.asks("cy", X).settles().expect_holding(["cy"]).expect_token_at(["cy"]);
    story.link_up("dan", "ann").asks("dan", Y).settles().expect_waiting(["dan"]);
    story.releases("cy").settles().expect_holding(["dan"]).expect_token_at(["dan"]);
}

#[test]
fn a_node_that_comes_later_joins_the_open_session() {
    let mut story = mesh();
    story.asks("cy", X).settles().link_up("dan", "ann").asks("dan", X).settles().expect_holding(["cy", "dan"]);
}

#[test]
fn a_newcomer_with_the_token_serves_those_who_asked_before_it_came() {
    let mut story = mesh();
    story.asks("ann", X).asks("cy", Y).settles().expect_holding(["ann"]).expect_waiting(["cy"]);
    story.link_up("dan", "cy").asks("dan", Y).settles().releases("ann").settles().expect_holding(["cy", "dan"]);
}

#[test]
fn a_request_made_before_the_first_link_is_said_again_and_served() {
    let mut story = mesh();
    story.asks("eve", X).settles().expect_waiting(["eve"]);
    story.link_up("eve", "cy").timers_fire().settles().expect_holding(["eve"]).expect_token_at(["eve"]);
    story.asks("ann", Y).settles().expect_waiting(["ann"]);
    story.releases("eve").settles().expect_holding(["ann"]);
}
