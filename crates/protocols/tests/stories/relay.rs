//! Stories of the relay: a lock that needs any node to reach any other, on networks where only neighbours can.
//!
//! The lock inside is the smallest there is: ann decides, and a node that enters tells all others.

use crate::story::Story;
use crate::story::central::{Central, Word};
use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::relay::{Config, Label, Message, Relayed, inner_kind};
use meshlock_core::{Demand, NodeId, Protocol, RequestId};

const ONE: Demand = Demand::units(1, 0);
const CAST: &[&str] = &["ann", "bob", "cy", "dan"];
const LINE: &[(&str, &str)] = &[("ann", "bob"), ("bob", "cy"), ("cy", "dan")];
const SQUARE: &[(&str, &str)] = &[("ann", "bob"), ("bob", "cy"), ("cy", "dan"), ("ann", "dan")];

type Carried = Relayed<Central>;

fn network(links: &[(&str, &str)]) -> Story<Carried> {
    network_with(links, Config::default())
}

fn network_with(links: &[(&str, &str)], config: Config) -> Story<Carried> {
    let words = |message: &Message<Word>| {
        let way = if matches!(message, Message::Flood { .. }) { "flood" } else { "hop" };
        format!("{} by {way}", inner_kind::<Central>(message))
    };
    Story::new(CAST, |id| Relayed::new(Central::new(id), config)).telling(words).linked(links)
}

#[test]
fn the_first_message_is_flooded_and_the_answer_finds_its_way_back() {
    let mut story = network(LINE);
    story.asks("cy", ONE).settles().expect_holding(["cy"]).expect_trace(
        "cy  ask                    -> ASK by flood to all, timer
         bob ASK by flood from cy   -> ASK by flood to all
         dan ASK by flood from cy   -> ASK by flood to all
         ann ASK by flood from bob  -> YES by hop to bob
         cy  ASK by flood from bob  -> -
         cy  ASK by flood from dan  -> -
         bob YES by hop from ann    -> YES by hop to cy
         cy  YES by hop from bob    -> granted, INSIDE by flood to all
         bob INSIDE by flood from cy  -> INSIDE by flood to all
         dan INSIDE by flood from cy  -> INSIDE by flood to all
         ann INSIDE by flood from bob -> INSIDE by flood to all
         cy  INSIDE by flood from bob -> -
         cy  INSIDE by flood from dan -> -
         bob INSIDE by flood from ann -> -",
    );
    // By now the way to ann is known as well.
    story.begins().releases("cy").settles().expect_trace(
        "cy  release              -> DONE by hop to bob
         bob DONE by hop from cy  -> DONE by hop to ann
         ann DONE by hop from bob -> -",
    );
}

#[test]
fn a_neighbour_needs_no_route() {
    let mut story = network(LINE);
    story.asks("bob", ONE).delivers("bob", "ann").delivers("ann", "bob").expect_trace(
        "bob ask                 -> ASK by hop to ann, timer
         ann ASK by hop from bob -> YES by hop to bob
         bob YES by hop from ann -> granted, INSIDE by flood to all",
    );
}

#[test]
fn everybody_hears_a_broadcast_exactly_once_however_many_ways_there_are() {
    let mut story = network(SQUARE);
    story.asks("cy", ONE).settles();
    for other in ["ann", "bob", "dan"] {
        assert_eq!(story.node(other).inner().entries_heard, 1, "{other}");
    }
    assert_eq!(story.node("cy").inner().entries_heard, 0);
}

#[test]
fn a_broken_route_is_dropped_and_the_message_flooded() {
    let mut story = network(SQUARE);
    story.asks("cy", ONE).settles();
    assert_eq!(story.node("cy").next_hop(NodeId(1)), Some(NodeId(2)));
    story.link_down("bob", "cy").begins();
    assert_eq!(story.node("cy").next_hop(NodeId(1)), None);
    story.releases("cy").settles().expect_trace(
        "cy  release                -> DONE by flood to all
         dan DONE by flood from cy  -> DONE by flood to all
         ann DONE by flood from dan -> -
         cy  DONE by flood from dan -> -",
    );
}

#[test]
fn a_message_that_meets_a_broken_route_on_its_way_is_flooded_from_there() {
    let mut story = network(SQUARE);
    story.asks("cy", ONE).settles().begins().releases("cy").link_down("ann", "bob").settles().expect_trace(
        "cy  release                -> DONE by hop to bob
         ann link down bob          -> -
         bob link down ann          -> -
         bob DONE by hop from cy    -> DONE by flood to all
         cy  DONE by flood from bob -> DONE by flood to all
         bob DONE by flood from cy  -> -
         dan DONE by flood from cy  -> DONE by flood to all
         ann DONE by flood from dan -> -
         cy  DONE by flood from dan -> -",
    );
}

#[test]
fn what_a_failing_link_loses_is_lost_and_the_lock_inside_repeats_it() {
    let mut story = network(LINE);
    story.asks("dan", ONE).delivers("dan", "cy").loses_next("bob", "ann").settles();
    story.expect_waiting(["dan"]).timers_fire().settles().expect_holding(["dan"]);
}

#[test]
fn messages_that_overtake_each_other_are_both_delivered_and_copies_are_not() {
    let mut story = network(&[("ann", "bob")]);
    let flood = |number, word: Word| Message::Flood { label: label(4, number, 2), to: None, payload: word };
    story.forges("bob", "ann", flood(2, Word::Inside)).forges("bob", "ann", flood(1, Word::Inside));
    story.forges("bob", "ann", flood(2, Word::Inside)).forges("bob", "ann", flood(1, Word::Inside));
    assert_eq!(story.node("ann").inner().entries_heard, 2);
}

#[test]
fn routes_follow_the_latest_message_not_a_late_one() {
    let mut story = network(&[("ann", "bob"), ("ann", "cy")]);
    let flood = |number| Message::Flood { label: label(4, number, 2), to: None, payload: Word::Inside };
    story.forges("bob", "ann", flood(2)).forges("cy", "ann", flood(1));
    assert_eq!(story.node("ann").next_hop(NodeId(4)), Some(NodeId(2)));
    story.link_down("ann", "bob").forges("cy", "ann", flood(1));
    assert_eq!(story.node("ann").next_hop(NodeId(4)), None, "an old message does not mend a route");
    story.forges("cy", "ann", flood(3));
    assert_eq!(story.node("ann").next_hop(NodeId(4)), Some(NodeId(3)));
}

#[test]
fn a_message_goes_no_further_than_the_hop_limit() {
    let mut story = network_with(LINE, Config { hop_limit: 2 });
    story.asks("dan", ONE).settles().expect_waiting(["dan"]).expect_trace(
        "dan ask                   -> ASK by flood to all, timer
         cy  ASK by flood from dan -> ASK by flood to all
         bob ASK by flood from cy  -> -
         dan ASK by flood from cy  -> -",
    );
    let mut story = network_with(LINE, Config { hop_limit: 3 });
    story.asks("dan", ONE).settles().expect_holding(["dan"]);
}

#[test]
fn a_partition_heals() {
    let mut story = network(LINE);
    story.link_down("bob", "cy").asks("dan", ONE).asks("bob", ONE).settles().expect_holding(["bob"]);
    story.link_up("bob", "cy").timers_fire().settles().releases("bob").settles().expect_holding(["dan"]);
}

fn label(origin: u32, number: u64, hops: u16) -> Label {
    Label { origin: NodeId(origin), number, hops }
}

#[test]
fn what_the_lock_inside_sends_to_itself_goes_over_no_link() {
    let mut story = network(LINE);
    story.asks("ann", ONE).expect_holding(["ann"]).expect_trace("ann ask -> timer, granted, INSIDE by flood to all");
}

#[test]
fn forged_labels_are_rejected() {
    let (unlinked, bad) = ("no link to this sender", "a number is out of range");
    let cases = [
        ("a sender without a link", "cy", label(3, 1, 1), unlinked),
        ("no hops", "bob", label(3, 1, 0), bad),
        ("too many hops", "bob", label(3, 1, 65), bad),
        ("number zero", "bob", label(3, 0, 1), bad),
        ("a number beyond counting", "bob", label(3, u64::MAX, 1), bad),
        ("a message of its own that it never sent", "bob", label(1, 1, 2), bad),
    ];
    for (what, from, label, reason) in cases {
        let mut story = network(LINE);
        let expected = format!("reject {from}: {reason}");
        let flood = Message::Flood { label, to: None, payload: Word::Inside };
        story.forges(from, "ann", flood).expect_trace(&format!("ann INSIDE by flood from {from} -> {expected}"));
        let hop = Message::Hop { label, to: NodeId(1), payload: Word::Inside };
        story.begins().forges(from, "ann", hop);
        story.expect_trace(&format!("ann INSIDE by hop from {from} -> {expected}"));
        assert_eq!(story.node("ann").inner().entries_heard, 0, "{what}");
    }
}

#[test]
fn a_message_to_itself_from_itself_is_forged() {
    let mut story = network(LINE);
    story.asks("bob", ONE).settles().begins(); // ann's first message was the YES to bob
    let hop = Message::Hop { label: label(1, 1, 2), to: NodeId(1), payload: Word::Inside };
    story.forges("bob", "ann", hop).expect_trace("ann INSIDE by hop from bob -> reject bob: a number is out of range");
}

#[test]
fn what_the_lock_inside_rejects_is_neither_passed_on_nor_learned_from() {
    let mut story = network(LINE);
    let payload = Word::Ask(RequestId(1));
    let flood = Message::Flood { label: label(4, 1, 2), to: None, payload };
    story
        .forges("cy", "bob", flood)
        .expect_trace("bob ASK by flood from cy -> reject dan: an answer to nothing that was asked");
    assert_eq!(story.node("bob").next_hop(NodeId(4)), None);
}

#[test]
fn relayed_messages_are_counted_apart_from_what_they_carry() {
    let flood: Message<Word> = Message::Flood { label: label(1, 1, 1), to: None, payload: Word::Inside };
    let hop = Message::Hop { label: label(1, 1, 1), to: NodeId(2), payload: Word::Done(RequestId(1)) };
    assert_eq!((Carried::kind(&flood), inner_kind::<Central>(&flood)), ("relay-flood", "INSIDE"));
    assert_eq!((Carried::kind(&hop), inner_kind::<Central>(&hop)), ("relay-hop", "DONE"));
    assert!(Carried::returning_in(&hop).is_some());
    assert!(Carried::returning_in(&flood).is_none());
}

#[test]
fn a_token_counts_only_at_its_destination_and_once() {
    let mut story = network(LINE);
    story.asks("cy", ONE).delivers("cy", "bob").delivers("bob", "ann");
    let yes = story.under_way("ann", "bob")[0].clone();
    assert!(story.node("bob").token_in(NodeId(1), &yes).is_none(), "it only passes by");
    story.delivers("ann", "bob").delivers("bob", "cy"); // the request's echo
    let yes = story.under_way("bob", "cy")[0].clone();
    assert!(story.node("cy").token_in(NodeId(2), &yes).is_some());
    story.delivers("bob", "cy").expect_holding(["cy"]);
    assert!(story.node("cy").token_in(NodeId(2), &yes).is_none());
    assert!(story.node("cy").is_stale(NodeId(2), &yes));
}

#[test]
fn the_checker_sees_the_numbers_of_messages_and_windows_on_one_line_for_each_origin() {
    struct Names(Vec<(Line, i64)>);
    impl CounterVisitor for Names {
        fn visit(&mut self, line: Line, value: i64) -> i64 {
            self.0.push((line, value));
            value
        }
    }
    let mut story = network(LINE);
    story.asks("cy", ONE).settles();
    let mut names = Names(Vec::new());
    story.node("bob").clone().visit_counters(&mut names);
    let of_cy: Vec<_> = names.0.iter().filter(|(line, _)| *line == relay_line(3)).map(|(_, value)| *value).collect();
    assert_eq!(of_cy, [2, 2], "the route's number and the window's");
    let mut flood = Message::Flood { label: label(3, 7, 1), to: None, payload: Word::Inside };
    let mut names = Names(Vec::new());
    Carried::visit_message_counters(&mut flood, &mut names);
    assert_eq!(names.0, [(relay_line(3), 0), (relay_line(3), 7)]);
}

fn relay_line(origin: u32) -> Line {
    Line { name: "relay", of: Some(NodeId(origin)), reach: 64 }
}

/// A small generator, so that every run is the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

#[test]
fn next_hops_never_form_a_circle_however_links_and_messages_come_and_go() {
    let cast = &["ann", "bob", "cy", "dan", "eve", "flo"];
    let (mut handed_on, mut granted) = (0, 0);
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut story = Story::new(cast, |id| Relayed::new(Central::new(id), Config::default()));
        for _ in 0..400 {
            let (a, b) = (cast[dice.below(6)], cast[dice.below(6)]);
            match dice.below(16) {
                0 if a != b && story.is_linked(a, b) => drop(story.link_down(a, b)),
                0 | 1 if a != b && !story.is_linked(a, b) => drop(story.link_up(a, b)),
                2 if story.view(a).waiting.is_empty() && story.view(a).holding.is_empty() => drop(story.asks(a, ONE)),
                3 if !story.view(a).holding.is_empty() => {
                    story.releases(a);
                    granted += 1;
                }
                4..8 => drop(story.timer_fires(a)),
                _ => {
                    let busy = story.busy_pairs();
                    if !busy.is_empty() {
                        let (from, to) = busy[dice.below(busy.len())];
                        story.delivers(from, to);
                    }
                }
            }
            handed_on += longest_way(&story, cast).saturating_sub(2);
        }
    }
    assert!(handed_on > 100 && granted > 20, "the walk saw long routes ({handed_on}) and grants ({granted})");
}

/// Follows the next hops between all pairs of nodes and returns the length of the longest route.
fn longest_way(story: &Story<Carried>, cast: &[&str]) -> usize {
    let mut longest = 0;
    for start in cast {
        for goal in (1..=6).map(NodeId) {
            let (mut at, mut steps) = (story.id(start), 0);
            while at != goal {
                let name = cast[usize::try_from(at.0).expect("a small cast") - 1];
                let Some(next) = story.node(name).next_hop(goal) else { break };
                (at, steps) = (next, steps + 1);
                assert!(steps <= 6, "a circle on the way from {start} to node {goal}");
            }
            longest = longest.max(steps);
        }
    }
    longest
}
