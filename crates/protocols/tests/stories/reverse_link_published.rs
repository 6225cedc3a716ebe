//! What goes wrong in the printed reverse-link algorithm, told as stories: p1 to p14 of `docs/errata.md`.
//!
//! The stories follow the shortest runs that are known. Links point to ann at the start, because she has the token.
//! Where a repair can switch the cause, the same story is told again with the repair and ends well.

use crate::story::Story;
use meshlock_core::reverse_link::Height;
use meshlock_core::view::Origin;
use meshlock_core::{Demand, Event, NodeId};
use meshlock_protocols::printed::reverse_link::{Body, Config, Defect, Message, Node, network};

const CAST: [&str; 5] = ["ann", "bob", "cy", "dan", "eve"];

const PAIR: &[(u32, u32)] = &[(1, 2)];
const LINE: &[(u32, u32)] = &[(1, 2), (2, 3)];
const LINE_OF_4: &[(u32, u32)] = &[(1, 2), (2, 3), (3, 4)];
const LINE_OF_5: &[(u32, u32)] = &[(1, 2), (2, 3), (3, 4), (4, 5)];
const TRIANGLE: &[(u32, u32)] = &[(1, 2), (1, 3), (2, 3)];
const KITE: &[(u32, u32)] = &[(1, 2), (1, 3), (2, 3), (3, 4)];

/// The first of the cast, linked like this; ann has the token.
fn stage(links: &[(u32, u32)], config: Config) -> Story<Node> {
    let size = links.iter().map(|(_, b)| *b).max().expect("there are links");
    let mut nodes = network(size + 1, links, NodeId(1), config).into_iter().skip(1);
    // The nodes know their links from the start and send over no others, so the stage need not know them.
    Story::new(&CAST[..size as usize], |_| nodes.next().expect("as many nodes as cast")).any_to_any().telling(tell)
}

fn tell(message: &Message) -> String {
    match message.body {
        Body::Token(t) => format!("TOKEN({t})"),
        Body::Request(s) => format!("REQUEST({s})"),
        Body::Release(r) => format!("RELEASE({r})"),
        Body::Update(s) => format!("UPDATE({s})"),
        Body::Link => "LINK".to_string(),
    }
}

fn one(priority: i32) -> Demand {
    Demand::units(1, priority)
}

/// The messages arrive one after the other, each named by its link: `bob>ann`.
fn arrive(story: &mut Story<Node>, links: &str) {
    for (a, b) in links.split_whitespace().map(|link| link.split_once('>').expect("a link is written a>b")) {
        story.delivers(a, b);
    }
}

/// The link between `a` and `b` fails with nothing on it.
fn fails(story: &mut Story<Node>, a: &str, b: &str) {
    assert!(story.under_way(a, b).is_empty() && story.under_way(b, a).is_empty(), "links fail gently");
    breaks(story, a, b);
}

/// The link between `a` and `b` fails with everything on it.
fn breaks(story: &mut Story<Node>, a: &str, b: &str) {
    for (a, b) in [(a, b), (b, a)] {
        while !story.under_way(a, b).is_empty() {
            story.loses(a, b);
        }
    }
    for (a, b) in [(a, b), (b, a)] {
        story.event(story.id(a), Event::LinkDown { neighbour: story.id(b) });
    }
}

/// A link comes up between `a` and `b`.
fn forms(story: &mut Story<Node>, a: &str, b: &str) {
    for (a, b) in [(a, b), (b, a)] {
        story.event(story.id(a), Event::LinkUp { neighbour: story.id(b) });
    }
}

/// The names in a queue with their priorities, front first.
fn queue(story: &Story<Node>, who: &str) -> Vec<(&'static str, i64)> {
    let name = |origin| match origin {
        Origin::Local(_) => CAST[story.id(who).0 as usize - 1],
        Origin::Node(id) => CAST[id.0 as usize - 1],
    };
    story.view(who).queue.iter().map(|entry| (name(entry.origin), entry.rank.0)).collect()
}

fn free_units(story: &Story<Node>, who: &str) -> u32 {
    story.view(who).token.expect("the token is here").free.0
}

/// Ten steps after which cy has the token, waits, and is asked for the token by bob.
fn p1(config: Config) -> Story<Node> {
    let mut story = stage(LINE, config);
    story.asks("bob", one(1)).delivers("bob", "ann").asks("ann", one(1)).asks("cy", one(1));
    arrive(&mut story, "cy>bob ann>bob ann>bob bob>cy bob>cy bob>cy");
    story
}

#[test]
fn p1_a_waiting_holder_gives_the_token_away_and_forgets_itself() {
    let mut story = p1(Config::printed(1));
    story.expect_trace(
        "
        bob  ask                 -> REQUEST(1) to ann
        ann  REQUEST(1) from bob -> TOKEN(1) to bob
        ann  ask                 -> REQUEST(1) to bob
        cy   ask                 -> REQUEST(1) to bob
        bob  REQUEST(1) from cy  -> -
        bob  TOKEN(1) from ann   -> LINK to ann, LINK to cy, granted, TOKEN(0) to cy
        bob  REQUEST(1) from ann -> REQUEST(1) to cy
        cy   LINK from bob       -> -
        cy   TOKEN(0) from bob   -> LINK to bob
        cy   REQUEST(1) from bob -> TOKEN(0) to bob
        ",
    );
    story.expect_waiting(["ann", "cy"]);
    assert_eq!(queue(&story, "cy"), [], "no entry stands for cy any more");
    story.settles().releases("bob").settles().releases("ann").settles();
    story.expect_waiting(["cy"]).expect_holding([]).expect_token_at(["ann"]);
}

#[test]
fn p1_repaired_the_waiting_holder_keeps_its_place() {
    let mut story = p1(Config::printed(1).repaired(Defect::P1));
    story.expect_token_at(["cy"]).settles().releases("bob").settles();
    story.expect_holding(["cy"]).releases("cy").settles().expect_holding(["ann"]).expect_waiting([]);
}

/// Twelve steps after which an UPDATE has taken the token from cy, which waited with it.
fn p2(config: Config) -> Story<Node> {
    let mut story = stage(LINE_OF_5, config.repaired(Defect::P1));
    story.asks("bob", one(9)).delivers("bob", "ann").asks("cy", one(3));
    arrive(&mut story, "cy>bob ann>bob bob>cy bob>cy");
    story.asks("dan", one(2)).delivers("dan", "cy").asks("eve", one(5)).delivers("eve", "dan").delivers("dan", "cy");
    story
}

#[test]
fn p2_an_update_takes_the_token_from_a_waiting_holder_which_forgets_itself() {
    let mut story = p2(Config::printed(1));
    story.expect_trace(
        "
        bob  ask                 -> REQUEST(9) to ann
        ann  REQUEST(9) from bob -> TOKEN(1) to bob
        cy   ask                 -> REQUEST(3) to bob
        bob  REQUEST(3) from cy  -> -
        bob  TOKEN(1) from ann   -> LINK to ann, LINK to cy, granted, TOKEN(0) to cy
        cy   LINK from bob       -> -
        cy   TOKEN(0) from bob   -> LINK to bob, LINK to dan
        dan  ask                 -> REQUEST(2) to cy
        cy   REQUEST(2) from dan -> -
        eve  ask                 -> REQUEST(5) to dan
        dan  REQUEST(5) from eve -> UPDATE(5) to cy
        cy   UPDATE(5) from dan  -> TOKEN(0) to dan, REQUEST(3) to dan
        ",
    );
    assert_eq!(queue(&story, "cy"), [], "cy asks for the token, but not for itself");
    story.settles().releases("bob").settles().releases("eve").settles().releases("dan").settles();
    story.expect_waiting(["cy"]).expect_holding([]);
}

#[test]
fn p2_repaired_the_waiting_holder_goes_back_into_its_queue() {
    let mut story = p2(Config::printed(1).repaired(Defect::P2));
    story.settles().releases("bob").settles().releases("eve").settles();
    story.expect_holding(["cy"]).releases("cy").settles().expect_holding(["dan"]).expect_waiting([]);
}

#[test]
fn p3_a_holder_in_its_critical_section_keeps_the_free_units() {
    let tell = |config| {
        let mut story = stage(PAIR, config);
        story.asks("ann", one(1)).asks("bob", one(1)).delivers("bob", "ann");
        story
    };
    let mut story = tell(Config::printed(2));
    story.expect_trace(
        "
        ann  ask                 -> granted
        bob  ask                 -> REQUEST(1) to ann
        ann  REQUEST(1) from bob -> -
        ",
    );
    story.expect_waiting(["bob"]);
    assert_eq!((story.in_flight(), free_units(&story, "ann")), (0, 1));

    tell(Config::printed(2).repaired(Defect::P3)).settles().expect_holding(["ann", "bob"]);
}

#[test]
fn p4_a_more_urgent_request_of_its_own_is_not_reported() {
    let tell = |config| {
        let mut story = stage(LINE, config);
        story.asks("ann", one(1)).asks("cy", one(1)).delivers("cy", "bob").delivers("bob", "ann").asks("bob", one(5));
        story
    };
    let mut story = tell(Config::printed(1));
    story.expect_trace(
        "
        ann  ask                 -> granted
        cy   ask                 -> REQUEST(1) to bob
        bob  REQUEST(1) from cy  -> REQUEST(1) to ann
        ann  REQUEST(1) from bob -> -
        bob  ask                 -> -
        ",
    );
    assert_eq!(story.in_flight(), 0);
    assert_eq!(queue(&story, "bob"), [("bob", 5), ("cy", 1)]);
    assert_eq!(queue(&story, "ann"), [("bob", 1)], "the holder knows the old priority");

    let mut story = tell(Config::printed(1).repaired(Defect::P4));
    story.settles();
    assert_eq!(queue(&story, "ann"), [("bob", 5)]);
}

#[test]
fn p5_a_raised_priority_travels_one_hop() {
    let tell = |config| {
        let mut story = stage(LINE_OF_4, config);
        story.asks("ann", one(1)).asks("cy", one(1)).delivers("cy", "bob").delivers("bob", "ann");
        story.asks("dan", one(5)).delivers("dan", "cy").delivers("cy", "bob");
        story
    };
    let mut story = tell(Config::printed(1));
    story.expect_trace(
        "
        ann  ask                 -> granted
        cy   ask                 -> REQUEST(1) to bob
        bob  REQUEST(1) from cy  -> REQUEST(1) to ann
        ann  REQUEST(1) from bob -> -
        dan  ask                 -> REQUEST(5) to cy
        cy   REQUEST(5) from dan -> UPDATE(5) to bob
        bob  UPDATE(5) from cy   -> -
        ",
    );
    assert_eq!(story.in_flight(), 0);
    assert_eq!(queue(&story, "bob"), [("cy", 5)]);
    assert_eq!(queue(&story, "ann"), [("bob", 1)], "the holder knows the old priority");

    let mut story = tell(Config::printed(1).repaired(Defect::P5));
    story.settles();
    assert_eq!(queue(&story, "ann"), [("bob", 5)]);
}

#[test]
fn p6_an_update_goes_where_the_request_is_not() {
    let tell = |config: Config| {
        // With p5 in place the UPDATE would end at ann even if it went there.
        let mut story = stage(KITE, config.repaired(Defect::P5));
        story.asks("bob", one(1));
        arrive(&mut story, "bob>ann ann>bob bob>ann");
        story.asks("cy", one(1));
        arrive(&mut story, "bob>cy cy>ann ann>bob");
        story.asks("dan", one(5));
        arrive(&mut story, "dan>cy");
        story
    };
    let mut story = tell(Config::printed(1));
    story.delivers("cy", "bob");
    story.expect_trace(
        "
        bob  ask                 -> REQUEST(1) to ann
        ann  REQUEST(1) from bob -> TOKEN(1) to bob
        bob  TOKEN(1) from ann   -> LINK to ann, LINK to cy, granted
        ann  LINK from bob       -> -
        cy   ask                 -> REQUEST(1) to ann
        cy   LINK from bob       -> -
        ann  REQUEST(1) from cy  -> REQUEST(1) to bob
        bob  REQUEST(1) from ann -> -
        dan  ask                 -> REQUEST(5) to cy
        cy   REQUEST(5) from dan -> UPDATE(5) to bob
        bob  UPDATE(5) from cy   -> -
        ",
    );
    assert_eq!(story.in_flight(), 0);
    assert_eq!(queue(&story, "ann"), [("cy", 1)], "ann has the request of cy");
    assert_eq!(queue(&story, "bob"), [("ann", 1)], "bob got the UPDATE and has no such request");

    let mut story = tell(Config::printed(1).repaired(Defect::P6));
    story.settles();
    assert_eq!(queue(&story, "bob"), [("ann", 5)]);
}

/// One failure, 37 steps: cy leaves, and its release makes it look at the wrong neighbour when dan's LINK arrives.
fn p7(config: Config) -> Story<Node> {
    let mut story = stage(KITE, config);
    story.asks("bob", one(1)).asks("dan", one(1)).delivers("dan", "cy").asks("cy", one(1));
    arrive(&mut story, "cy>ann ann>cy bob>ann ann>cy cy>ann cy>bob cy>dan cy>dan cy>dan");
    story.releases("dan");
    arrive(&mut story, "dan>cy dan>cy cy>ann cy>ann ann>bob ann>bob ann>cy bob>ann cy>bob cy>dan");
    fails(&mut story, "ann", "bob");
    story.begins().asks("ann", one(1));
    arrive(&mut story, "ann>cy ann>cy bob>cy");
    story.releases("cy");
    arrive(&mut story, "cy>ann cy>bob cy>bob");
    story.releases("bob");
    arrive(&mut story, "cy>dan cy>dan dan>cy");
    story
}

#[test]
fn p7_a_release_makes_a_node_forget_where_its_request_is() {
    let mut story = p7(Config::printed(1));
    story.expect_trace(
        "
        ann  ask                 -> REQUEST(1) to cy
        cy   LINK from ann       -> LINK to ann, LINK to bob, LINK to dan
        cy   REQUEST(1) from ann -> REQUEST(1) to dan
        cy   LINK from bob       -> -
        cy   release             -> RELEASE(1) to bob
        ann  LINK from cy        -> -
        bob  LINK from cy        -> -
        bob  RELEASE(1) from cy  -> granted
        bob  release             -> -
        dan  LINK from cy        -> LINK to cy
        dan  REQUEST(1) from cy  -> -
        cy   LINK from dan       -> -
        ",
    );
    assert_eq!((story.in_flight(), queue(&story, "dan")), (0, vec![]), "dan has dropped the request");
    assert_eq!(story.view("cy").asked, Some(story.id("dan")), "and cy has not asked again");
    story.expect_waiting(["ann"]).expect_holding([]).expect_token_at(["bob"]);
}

#[test]
fn p7_repaired_a_release_leaves_next_alone() {
    let mut story = p7(Config::printed(1).repaired(Defect::P7));
    story.settles().expect_holding(["ann"]).expect_waiting([]);
}

/// Bob is in the CS; cy has asked ann, ann has asked bob for it, and the link between ann and cy fails.
fn p9(config: Config) -> Story<Node> {
    let mut story = stage(TRIANGLE, config);
    story.asks("bob", one(1)).delivers("bob", "ann").delivers("ann", "bob").asks("cy", one(1));
    arrive(&mut story, "cy>ann ann>bob");
    fails(&mut story, "ann", "cy");
    story
}

#[test]
fn p8_a_node_is_queued_twice() {
    let mut story = p9(Config::printed(1));
    story.asks("ann", one(1)).delivers("ann", "bob");
    story.expect_trace(
        "
        bob  ask                 -> REQUEST(1) to ann
        ann  REQUEST(1) from bob -> TOKEN(1) to bob
        bob  TOKEN(1) from ann   -> LINK to ann, LINK to cy, granted
        cy   ask                 -> REQUEST(1) to ann
        ann  REQUEST(1) from cy  -> REQUEST(1) to bob
        bob  REQUEST(1) from ann -> -
        ann  link down cy        -> -
        cy   link down ann       -> REQUEST(1) to bob
        ann  ask                 -> REQUEST(1) to bob
        bob  REQUEST(1) from ann -> -
        ",
    );
    assert_eq!(queue(&story, "bob"), [("ann", 1), ("ann", 1)]);

    let mut story = p9(Config::printed(1).repaired(Defect::P8));
    story.asks("ann", one(1)).delivers("ann", "bob");
    assert_eq!(queue(&story, "bob"), [("ann", 1)]);
}

#[test]
fn p9_the_token_goes_to_a_node_that_wants_nothing() {
    let mut story = p9(Config::printed(1));
    story.settles();
    assert_eq!(queue(&story, "bob"), [("ann", 1), ("cy", 1)], "ann's entry is a ghost");
    assert_eq!(queue(&story, "ann"), []);
    story.begins().releases("bob").delivers("bob", "ann");
    story.expect_trace(
        "
        bob  release           -> TOKEN(1) to ann, REQUEST(1) to ann
        ann  TOKEN(1) from bob -> LINK to bob
        ",
    );
    story.expect_token_at(["ann"]).expect_waiting(["cy"]);
}

#[test]
fn p10_what_aging_adds_is_not_reported() {
    let mut story = stage(LINE, Config::printed(2).aging(1));
    story.asks("bob", one(1)).delivers("bob", "ann").asks("ann", one(1)).asks("cy", one(1));
    arrive(&mut story, "cy>bob ann>bob ann>bob");
    story.releases("bob").settles();
    assert_eq!(queue(&story, "bob"), [("ann", 2)]);
    assert_eq!(queue(&story, "cy"), [("bob", 1)], "the holder knows the old priority");
}

/// Cy gets a new link to ann and loses its only old one before it has heard from ann.
fn p11(story: &mut Story<Node>) {
    forms(story, "ann", "cy");
    fails(story, "bob", "cy");
}

#[test]
fn p11_a_node_with_a_link_takes_the_minimum_of_nothing() {
    let mut story = stage(LINE, Config::printed(1));
    p11(&mut story);
    story.expect_trace(
        "
        ann  link up cy    -> LINK to cy
        cy   link up ann   -> LINK to ann
        bob  link down cy  -> -
        cy   link down bob -> -
        ",
    );
    assert_eq!(story.view("cy").neighbours, [], "N is empty, so line 5 of the failure holds of all its members");
    assert_eq!(story.view("cy").height, Some(Height { level: 0, depth: 2, id: NodeId(3) }));
}

#[test]
fn p11_a_request_made_meanwhile_is_never_sent() {
    let mut story = stage(LINE, Config::printed(1));
    p11(&mut story);
    story.begins().asks("cy", one(1)).delivers("cy", "ann").delivers("ann", "cy");
    story.expect_trace(
        "
        cy   ask           -> -
        ann  LINK from cy  -> -
        cy   LINK from ann -> -
        ",
    );
    assert_eq!((story.in_flight(), story.view("cy").neighbours), (0, vec![story.id("ann")]));
    story.expect_waiting(["cy"]).expect_holding([]).expect_token_at(["ann"]);
}

#[test]
fn p11_units_released_meanwhile_are_lost_for_ever() {
    let mut story = stage(LINE, Config::printed(1).repaired(Defect::P1));
    story.asks("bob", one(1)).delivers("bob", "ann").asks("ann", one(1)).asks("cy", one(1));
    arrive(&mut story, "cy>bob ann>bob ann>bob");
    story.releases("bob");
    arrive(&mut story, "bob>cy bob>cy bob>cy bob>cy cy>bob cy>bob bob>cy");
    story.expect_holding(["cy"]);
    p11(&mut story);
    story.begins().releases("cy").settles();
    story.expect_trace(
        "
        cy   release           -> -
        ann  LINK from bob     -> -
        ann  LINK from bob     -> -
        ann  TOKEN(0) from bob -> LINK to bob
        cy   LINK from ann     -> LINK to ann
        ann  LINK from cy      -> LINK to cy
        bob  LINK from ann     -> -
        ann  LINK from cy      -> -
        cy   LINK from ann     -> -
        ",
    );
    story.expect_holding([]).expect_waiting(["ann"]);
    assert_eq!(free_units(&story, "ann"), 0, "the unit is lost");
}

#[test]
fn p12_cut_off_from_the_token_heights_rise_for_ever() {
    let mut story = stage(LINE, Config::printed(1));
    fails(&mut story, "ann", "bob");
    assert!(!story.comes_to_rest(), "there are no requests, and still");
    assert!(story.view("bob").height.expect("nodes have heights").level > 1_000);
}

#[test]
fn p13_the_token_is_gone_with_its_link() {
    let mut story = stage(PAIR, Config::printed(1));
    story.asks("bob", one(1)).delivers("bob", "ann");
    breaks(&mut story, "ann", "bob");
    story.expect_trace(
        "
        bob  ask                 -> REQUEST(1) to ann
        ann  REQUEST(1) from bob -> TOKEN(1) to bob
        ann  link down bob       -> -
        bob  link down ann       -> -
        ",
    );
    forms(&mut story, "ann", "bob");
    // Without a token there is no sink that may stay one.
    assert!(!story.comes_to_rest());
    story.expect_token_at([]).expect_waiting(["bob"]);
}

#[test]
fn p14_units_are_gone_with_their_link() {
    let mut story = stage(LINE, Config::printed(1));
    story.asks("bob", one(1)).delivers("bob", "ann").asks("cy", one(1));
    arrive(&mut story, "cy>bob ann>bob");
    story.releases("bob").delivers("bob", "cy").delivers("bob", "cy");
    breaks(&mut story, "bob", "cy");
    story.expect_trace(
        "
        bob  ask                 -> REQUEST(1) to ann
        ann  REQUEST(1) from bob -> TOKEN(1) to bob
        cy   ask                 -> REQUEST(1) to bob
        bob  REQUEST(1) from cy  -> -
        bob  TOKEN(1) from ann   -> LINK to ann, LINK to cy, granted, TOKEN(0) to cy
        bob  release             -> RELEASE(1) to cy
        cy   LINK from bob       -> -
        cy   TOKEN(0) from bob   -> LINK to bob
        bob  link down cy        -> LINK to ann
        cy   link down bob       -> -
        ",
    );
    story.expect_holding([]).expect_waiting(["cy"]).expect_token_at(["cy"]);
    assert_eq!(free_units(&story, "cy"), 0, "the unit is lost");
}
