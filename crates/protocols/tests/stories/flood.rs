//! Stories of Suzuki-Kasami by flooding: each defect of the printed text with all the others repaired, and the same
//! schedule with the protocol we run; then what that protocol does about loss, movement and cancelled requests.
//!
//! In every story ann starts with the token.

use crate::story::Story;
use meshlock_core::flood;
use meshlock_core::view::Origin;
use meshlock_core::{Demand, Event, Misuse, NodeId, Protocol, RequestId, Units};
use meshlock_protocols::printed::flood::{self as published, Defect, Repairs};

const ONE: Demand = Demand::units(1, 0);
const PAIR: &[(&str, &str)] = &[("ann", "bob")];
const LINE: &[(&str, &str)] = &[("ann", "bob"), ("bob", "cy")];
const TRIANGLE: &[(&str, &str)] = &[("ann", "bob"), ("bob", "cy"), ("ann", "cy")];

const CAST: &[&str] = &["ann", "bob", "cy"];

fn printed(links: &[(&str, &str)], repairs: Repairs) -> Story<published::Node> {
    let stations = vec![NodeId(1), NodeId(2), NodeId(3)];
    let make = |id| published::Node::new(published::Config { id, stations: stations.clone(), repairs });
    Story::new(CAST, make).linked(links)
}

fn repaired(links: &[(&str, &str)]) -> Story<flood::Node> {
    let make = |id| {
        let config = flood::Config::new(id);
        flood::Node::new(if id == NodeId(1) { config.with_token() } else { config })
    };
    Story::new(CAST, make).linked(links)
}

fn after<P: Protocol>(mut story: Story<P>, schedule: fn(&mut Story<P>)) -> Story<P> {
    schedule(&mut story);
    story
}

#[test]
fn f1_relays_without_memory_repeat_a_request_for_ever() {
    let mut story = printed(LINE, Repairs::all_but([Defect::F1]));
    story.asks("cy", ONE).delivers("cy", "bob").delivers("bob", "cy").delivers("cy", "bob").expect_trace(
        "cy  ask              -> REQUEST to all
         bob REQUEST from cy  -> REQUEST to all
         cy  REQUEST from bob -> REQUEST to all
         bob REQUEST from cy  -> REQUEST to all",
    );
    assert!(!story.comes_to_rest());

    let mut story = repaired(LINE);
    story.asks("cy", ONE).delivers("cy", "bob").delivers("bob", "cy").expect_trace(
        "cy  ask              -> REQUEST to all, timer
         bob REQUEST from cy  -> REQUEST to all
         cy  REQUEST from bob -> -",
    );
    story.settles().expect_holding(["cy"]);
}

#[test]
fn f2_an_idle_holder_that_still_believes_to_be_inside_queues_and_never_sends() {
    fn schedule<P: Protocol>(story: &mut Story<P>) {
        story.asks("ann", ONE).releases("ann").asks("bob", ONE).settles();
    }
    let mut story = after(printed(PAIR, Repairs::all_but([Defect::F2])), schedule);
    story.expect_trace(
        "ann ask              -> granted
         ann release          -> -
         bob ask              -> REQUEST to all
         ann REQUEST from bob -> -",
    );
    story.expect_waiting(["bob"]).expect_token_at(["ann"]);
    assert_eq!(story.view("ann").role, "critical_section");

    let mut story = after(repaired(PAIR), schedule);
    story.expect_waiting([]).expect_holding(["bob"]);
}

#[test]
fn f3_a_slow_copy_of_the_token_makes_a_second_token() {
    fn schedule<P: Protocol>(story: &mut Story<P>) {
        story.asks("bob", ONE).delivers("bob", "ann").delivers("ann", "bob"); // bob is inside
        story.delivers("ann", "cy"); // cy repeats the TOKEN for bob; that copy will be slow
        story.asks("ann", ONE).delivers("ann", "bob").releases("bob").delivers("bob", "ann"); // ann is inside
        story.delivers("cy", "bob"); // the slow copy
        story.asks("cy", ONE).delivers("cy", "bob");
    }
    let mut story = after(printed(TRIANGLE, Repairs::all_but([Defect::F3])), schedule);
    story.expect_holding(["ann"]).expect_trace(
        "bob ask              -> REQUEST to all
         ann REQUEST from bob -> TOKEN to all
         bob TOKEN from ann   -> granted
         cy  TOKEN from ann   -> TOKEN to all
         ann ask              -> REQUEST to all
         bob REQUEST from ann -> -
         bob release          -> TOKEN to all
         ann TOKEN from bob   -> granted
         bob TOKEN from cy    -> -
         cy  ask              -> REQUEST to all
         bob REQUEST from cy  -> TOKEN to all",
    );
    story.settles().expect_holding(["ann", "cy"]);

    let mut story = after(repaired(TRIANGLE), schedule);
    story.settles().expect_holding(["ann"]).expect_waiting(["cy"]);
    story.releases("ann").settles().expect_holding(["cy"]).expect_waiting([]);
}

#[test]
fn f4_a_token_stamped_by_a_slow_clock_is_taken_for_an_old_one() {
    // ann's clock runs ahead of bob's: what bob sends to cy looks older than what ann sent to cy before.
    fn schedule<P: Protocol>(story: &mut Story<P>) {
        story.asks("cy", ONE).settles().asks("ann", ONE).settles().releases("cy").settles();
        story.asks("cy", ONE).settles().releases("ann").settles();
        story.asks("bob", ONE).settles().releases("cy").settles().expect_holding(["bob"]);
        story.asks("cy", ONE).settles().releases("bob").settles();
    }
    let mut story = after(printed(LINE, Repairs::all_but([Defect::F4])), schedule);
    story.expect_token_at([]).expect_holding([]).expect_waiting(["cy"]);

    let mut story = after(repaired(LINE), schedule);
    story.expect_holding(["cy"]);
}

#[test]
fn f5_a_request_queued_twice_brings_the_token_to_a_station_that_wants_nothing() {
    fn schedule<P: Protocol>(story: &mut Story<P>) {
        story.asks("ann", ONE).asks("bob", ONE).settles(); // ann hears of bob's request twice
        story.releases("ann").settles(); // bob is inside
        story.asks("ann", ONE).settles().releases("bob").settles();
    }
    let mut story = after(printed(TRIANGLE, Repairs::all_but([Defect::F5])), schedule);
    story.expect_waiting(["ann"]).expect_token_at(["bob"]);
    let bob = story.view("bob");
    assert_eq!(bob.role, "not_requesting");
    assert!(!bob.token.unwrap().queue.is_empty());

    let mut story = after(repaired(TRIANGLE), schedule);
    story.expect_holding(["ann"]).expect_waiting([]);
}

#[test]
fn f6_a_request_between_the_arrival_of_the_token_and_entry_is_forgotten() {
    fn schedule<P: Protocol>(story: &mut Story<P>) {
        story.asks("bob", ONE).delivers("bob", "ann").delivers("ann", "bob");
        story.asks("ann", ONE).delivers("ann", "bob").timer_fires("bob").releases("bob").settles();
    }
    let mut story = after(printed(PAIR, Repairs::all_but([Defect::F6, Defect::F7])), schedule);
    story.expect_waiting(["ann"]).expect_token_at(["bob"]).expect_trace(
        "bob ask              -> REQUEST to all
         ann REQUEST from bob -> TOKEN to all
         bob TOKEN from ann   -> timer
         ann ask              -> REQUEST to all
         bob REQUEST from ann -> -
         bob timer            -> granted
         bob release          -> -",
    );

    // The repair of F7 is enough: what was heard is remembered until the release.
    let mut story = after(printed(PAIR, Repairs::all_but([Defect::F6])), schedule);
    story.timers_fire().expect_holding(["ann"]);

    let mut story = after(repaired(PAIR), schedule);
    story.expect_holding(["ann"]).expect_waiting([]);
}

#[test]
fn f7_a_request_that_passed_the_next_holder_before_the_token_did_is_known_to_nobody() {
    fn schedule<P: Protocol>(story: &mut Story<P>) {
        story.asks("bob", ONE).delivers("bob", "ann"); // the TOKEN is on its way to bob
        story.asks("cy", ONE).delivers("cy", "bob").delivers("bob", "ann"); // cy's REQUEST passes bob, then ann
        story.delivers("ann", "bob").releases("bob").settles();
    }
    let mut story = after(printed(LINE, Repairs::all_but([Defect::F7])), schedule);
    story.expect_waiting(["cy"]).expect_token_at(["bob"]).expect_trace(
        "bob ask              -> REQUEST to all
         ann REQUEST from bob -> TOKEN to all
         cy  ask              -> REQUEST to all
         bob REQUEST from cy  -> REQUEST to all
         ann REQUEST from bob -> REQUEST to all
         bob TOKEN from ann   -> granted
         bob release          -> -
         cy  REQUEST from bob -> REQUEST to all
         cy  REQUEST from bob -> -
         bob REQUEST from ann -> -
         bob REQUEST from cy  -> -",
    );

    let mut story = after(repaired(LINE), schedule);
    story.expect_holding(["cy"]).expect_waiting([]);
}

/// cy asks, and moves from bob's side to ann's while the token for it is on the way to bob.
fn the_token_goes_where_cy_was<P: Protocol>(story: &mut Story<P>) {
    story.asks("cy", ONE).delivers("cy", "bob").delivers("bob", "cy").delivers("bob", "ann");
    story.begins().link_down("bob", "cy").link_up("ann", "cy").settles();
}

#[test]
fn f8_a_station_that_moves_behind_the_flood_misses_the_token_though_no_link_lost_anything() {
    let mut story = after(printed(LINE, Repairs::all()), the_token_goes_where_cy_was);
    story.expect_waiting(["cy"]).expect_token_at([]).expect_trace(
        "bob link down cy   -> -
         cy  link down bob  -> -
         ann link up cy     -> -
         cy  link up ann    -> -
         bob TOKEN from ann -> TOKEN to all
         ann TOKEN from bob -> -",
    );

    let mut story = after(repaired(LINE), the_token_goes_where_cy_was);
    story.expect_waiting(["cy"]).begins().timers_fire().settles().expect_holding(["cy"]).expect_trace(
        "cy  timer            -> REQUEST to all, timer
         ann REQUEST from cy  -> REQUEST to all, TOKEN to all
         bob REQUEST from ann -> REQUEST to all
         cy  REQUEST from ann -> -
         bob TOKEN from ann   -> TOKEN to all
         cy  TOKEN from ann   -> granted
         ann REQUEST from bob -> -
         ann TOKEN from bob   -> -",
    );
}

#[test]
fn f8_a_station_that_moves_before_the_flood_keeps_its_request_from_the_holder() {
    // ann moves from the far end to cy's side, past the flood, which never reaches her.
    fn schedule<P: Protocol>(story: &mut Story<P>) {
        story.asks("cy", ONE).link_up("ann", "cy").link_down("ann", "bob").settles();
    }
    let mut story = after(printed(LINE, Repairs::all()), schedule);
    story.expect_waiting(["cy"]).expect_token_at(["ann"]);

    let mut story = after(repaired(LINE), schedule);
    story.timers_fire().settles().expect_holding(["cy"]);
}

#[test]
fn f9_a_lost_request_is_asked_again() {
    let mut story = printed(PAIR, Repairs::all());
    story.loses_next("bob", "ann").asks("bob", ONE).settles().timers_fire().settles();
    story.expect_waiting(["bob"]).expect_token_at(["ann"]);

    let mut story = repaired(PAIR);
    story.loses_next("bob", "ann").asks("bob", ONE).settles().timers_fire().settles();
    story.expect_holding(["bob"]).expect_trace(
        "bob ask              -> REQUEST to all (lost to ann), timer
         bob timer            -> REQUEST to all, timer
         ann REQUEST from bob -> TOKEN to all
         bob TOKEN from ann   -> granted",
    );
}

#[test]
fn with_every_repair_the_printed_text_serves_everybody_on_a_still_network() {
    let mut story = printed(TRIANGLE, Repairs::all());
    story.asks("ann", ONE).asks("cy", ONE).settles().asks("bob", ONE).settles();
    story.releases("ann").settles().releases("cy").settles().releases("bob").settles();
    story.expect_holding([]).expect_waiting([]).expect_token_at(["bob"]);
}

#[test]
fn a_lost_token_is_given_again_from_the_copy() {
    let mut story = repaired(PAIR);
    story.loses_next("ann", "bob").asks("bob", ONE).settles().expect_waiting(["bob"]).expect_token_at([]);
    assert!(story.view("ann").keeps_copy);
    story.timers_fire().settles().expect_holding(["bob"]).expect_token_at(["bob"]).expect_trace(
        "bob ask              -> REQUEST to all, timer
         ann REQUEST from bob -> TOKEN to all (lost to bob)
         bob timer            -> REQUEST to all, timer
         ann REQUEST from bob -> REQUEST to all, TOKEN to all
         bob REQUEST from ann -> -
         bob TOKEN from ann   -> granted",
    );
}

#[test]
fn an_impatient_timer_makes_copies_of_which_only_one_is_accepted() {
    let mut story = repaired(PAIR);
    story.asks("bob", ONE).delivers("bob", "ann"); // the token is on its way
    story.timers_fire().settles().expect_holding(["bob"]).expect_token_at(["bob"]);
    story.begins().releases("bob").asks("ann", ONE).settles().expect_holding(["ann"]).expect_token_at(["ann"]);
    assert_eq!(story.view("bob").token, None);
}

#[test]
fn a_copy_is_forgotten_when_the_token_is_seen_again() {
    let mut story = repaired(LINE);
    story.asks("bob", ONE).settles();
    assert!(story.view("ann").keeps_copy);
    story.asks("cy", ONE).settles().releases("bob").settles().expect_holding(["cy"]);
    assert!(!story.view("ann").keeps_copy);
    assert!(story.view("bob").keeps_copy);
}

#[test]
fn a_timer_of_a_request_that_was_answered_does_nothing() {
    let mut story = repaired(PAIR);
    story.asks("bob", ONE).settles().begins().timers_fire().expect_trace("");
    story.releases("bob").timers_fire().expect_trace("bob release -> -");
}

#[test]
fn repetitions_back_off_to_sixteen_times_the_first_delay() {
    let mut story = repaired(&[]);
    story.asks("cy", ONE);
    let mut node = story.node("cy").clone();
    let mut delays = Vec::new();
    for epoch in 1..8 {
        let timer = meshlock_core::Timer { epoch };
        for effect in node.handle(Event::Expired { timer }).unwrap() {
            if let meshlock_core::Effect::Arm { after, .. } = effect {
                delays.push(after.least_ms);
            }
        }
    }
    assert_eq!(delays, [2_000, 4_000, 8_000, 16_000, 16_000, 16_000, 16_000]);
}

#[test]
fn the_queue_travels_with_the_token_and_goes_round() {
    let mut story = repaired(LINE);
    story.asks("ann", ONE).asks("bob", ONE).asks("cy", ONE).settles().expect_waiting(["bob", "cy"]);
    story.releases("ann").settles().expect_holding(["bob"]);
    story.asks("ann", ONE).settles().releases("bob").settles().expect_holding(["cy"]); // cy was queued before ann
    story.releases("cy").settles().expect_holding(["ann"]).expect_waiting([]);
}

#[test]
fn fences_grow_with_every_grant_at_whichever_node() {
    let mut story = repaired(LINE);
    let mut fences = Vec::new();
    for who in ["ann", "cy", "cy", "bob", "ann"] {
        story.asks(who, ONE).settles();
        fences.push(story.view(who).holding[0].fence.unwrap().0);
        story.releases(who).settles();
    }
    assert_eq!(fences, [1, 2, 3, 4, 5]);
}

#[test]
fn a_partition_heals() {
    let mut story = repaired(LINE);
    story.link_down("bob", "cy").asks("cy", ONE).asks("bob", ONE).settles().expect_holding(["bob"]);
    story.timers_fire().settles().releases("bob").settles().expect_waiting(["cy"]);
    story.link_up("bob", "cy").settles().expect_waiting(["cy"]);
    story.timers_fire().settles().expect_holding(["cy"]);
}

#[test]
fn a_node_nobody_knew_joins_and_is_served() {
    let mut story = repaired(PAIR);
    story.asks("ann", ONE).link_up("bob", "cy").asks("cy", ONE).settles().releases("ann").settles();
    story.expect_holding(["cy"]);
}

#[test]
fn a_cancelled_request_takes_the_token_without_entering_and_gives_it_on() {
    let mut story = repaired(LINE);
    story.asks("ann", ONE).asks("bob", ONE).settles().asks("cy", ONE).settles().begins();
    story.cancels("bob").expect_waiting(["cy"]);
    assert_eq!(story.view("bob").role, "withdrawn");
    story.releases("ann").settles().expect_holding(["cy"]).expect_waiting([]).expect_trace(
        "bob cancel         -> -
         ann release        -> TOKEN to all
         bob TOKEN from ann -> TOKEN to all
         ann TOKEN from bob -> TOKEN to all
         cy  TOKEN from bob -> granted
         bob TOKEN from ann -> -",
    );
}

#[test]
fn a_cancelled_request_still_asks_for_a_token_that_was_lost_on_its_way() {
    let mut story = repaired(PAIR);
    story.asks("bob", ONE).delivers("bob", "ann").loses("ann", "bob").cancels("bob");
    story.asks("ann", ONE).settles().expect_waiting(["ann"]).expect_token_at([]);
    story.timers_fire().settles().expect_holding(["ann"]).expect_waiting([]);
}

#[test]
fn a_request_after_a_cancelled_one_is_answered_by_the_token_sent_for_the_old() {
    let mut story = repaired(PAIR);
    story.asks("bob", ONE).delivers("bob", "ann").cancels("bob").asks("bob", ONE).expect_trace(
        "bob ask              -> REQUEST to all, timer
         ann REQUEST from bob -> TOKEN to all
         bob cancel           -> -
         bob ask              -> -",
    );
    story.settles().expect_holding(["bob"]);
    assert_eq!(story.view("bob").holding[0].request, RequestId(2));
    story.releases("bob").settles().asks("ann", ONE).settles().expect_holding(["ann"]);
    story.asks("bob", ONE).settles().releases("ann").settles().expect_holding(["bob"]);
}

#[test]
fn a_cancelled_request_can_be_cancelled_only_once() {
    let mut story = repaired(PAIR);
    story.asks("bob", ONE).cancels("bob");
    let (bob, request) = (story.id("bob"), RequestId(1));
    story.event(bob, Event::Cancel { request }).expect_refused(Misuse::AlreadyOver(request));
    story.event(bob, Event::Release { request, units: Units(1) }).expect_refused(Misuse::AlreadyOver(request));
}

#[test]
fn views_name_the_requests_of_the_callers_not_the_numbers_of_the_protocol() {
    let mut story = repaired(PAIR);
    let ann = story.id("ann");
    story.event(ann, Event::Request { request: RequestId(70), demand: ONE });
    assert_eq!(story.view("ann").holding[0].request, RequestId(70));
    story.event(ann, Event::Release { request: RequestId(70), units: Units(1) });
    story.event(ann, Event::Request { request: RequestId(70), demand: ONE });
    story.expect_refused(Misuse::RequestNumberUsed(RequestId(70)));
}

#[test]
#[should_panic(expected = "- expected: ann ask -> refused")]
fn a_wrong_trace_fails_with_the_difference() {
    repaired(PAIR).asks("ann", ONE).expect_trace("ann ask -> refused");
}

/// The stations of the report's figure 1 that it speaks of. The figure shows no links that could be read off; these are
/// what the text says: 7 hears 6, 14 does not, 5 is between 3 and 10, and everything is connected.
const FIGURE_1: &[(&str, &str)] =
    &[("s6", "s7"), ("s7", "s14"), ("s7", "s2"), ("s14", "s3"), ("s2", "s3"), ("s3", "s5"), ("s5", "s10")];
const STATIONS: [&str; 7] = ["s2", "s3", "s5", "s6", "s7", "s10", "s14"];

/// Section 4.1 of the report: 2 has the token (and is inside), 6 and 10 ask, and the request of 6 comes first.
fn figure_1<P: Protocol>(story: &mut Story<P>) {
    story.asks("s2", ONE).begins();
    story.asks("s6", ONE).delivers("s6", "s7"); // 7 hears it and passes it on
    story.delivers("s7", "s2").delivers("s7", "s14").delivers("s14", "s3");
    story.asks("s10", ONE).settles(); // what a station has passed on before, it destroys
    story.expect_holding(["s2"]).expect_waiting(["s6", "s10"]);
    story.releases("s2").settles().expect_holding(["s6"]).expect_waiting(["s10"]); // first come, first served
    let token = story.view("s6").token.expect("6 is inside, so it has the token");
    let queued: Vec<_> = token.queue.iter().map(|claim| claim.origin).collect();
    assert_eq!(queued, [Origin::Node(story.id("s10"))], "the queue travels in the token");
    story.releases("s6").settles().expect_holding(["s10"]).expect_waiting([]);
    story.releases("s10").settles().expect_token_at(["s10"]).expect_holding([]); // and stays where it is
}

#[test]
fn the_worked_example_of_the_report_goes_as_told_once_relays_remember_and_releases_end() {
    let stations: Vec<_> = (1..).map(NodeId).take(STATIONS.len()).collect();
    let printed = |repairs| {
        let make = |id| published::Node::new(published::Config { id, stations: stations.clone(), repairs });
        Story::new(&STATIONS, make).linked(FIGURE_1)
    };
    figure_1(&mut printed(Repairs::all()));

    // As printed, the first request circulates forever.
    let mut story = printed(Repairs::NONE);
    story.asks("s2", ONE).asks("s6", ONE);
    assert!(!story.comes_to_rest());
}

#[test]
fn the_worked_example_of_the_report_with_the_protocol_we_run() {
    let config = |id| flood::Config { starts_with_token: id == NodeId(1), ..flood::Config::new(id) };
    let mut story = Story::new(&STATIONS, |id| flood::Node::new(config(id))).linked(FIGURE_1);
    figure_1(&mut story);
}
