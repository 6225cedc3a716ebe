//! Crashes, told step by step; then by chance.

use alloc::string::String;
use alloc::vec::Vec;

use super::Picture;
use crate::counters::{CounterVisitor, Line};
use crate::group::{Config, Level, Message, Node, State};
use crate::protocol::{Delay, Effect, Event, Misuse, Protocol};
use crate::recovery::stage::{Chances, Network, Stage};
use crate::recovery::{Census, Member, Picture as AnyPicture, Remake};
use crate::relay::{self, Relayed};
use crate::vocabulary::{Demand, NodeId, RequestId};

const RETRY: Delay = Delay { least_ms: 1, most_ms: 2 };

fn make(id: NodeId, starts_with_token: bool) -> Node {
    let config = Config::open(id, Level(2), RETRY);
    Node::new(if starts_with_token { config.with_token() } else { config })
}

/// All want one session, but for the last of four members.
fn wants(member: Member, _number: u64) -> Demand {
    Demand::session(if member == 3 { 2 } else { 1 }, 1)
}

fn stage(size: u16) -> Stage<'static, Node> {
    Stage::new(size, Network::Anyone, &make, wants)
}

fn id(member: u16) -> NodeId {
    NodeId::of(member, 0)
}

/// The first member is captain and the two after it follow; the last one waits for another session.
fn session_of_three() -> Stage<'static, Node> {
    let mut stage = stage(4);
    for member in 0..4 {
        stage.asks(member);
        stage.settles();
    }
    assert_eq!(stage.inside(), [0, 1, 2]);
    assert_eq!(stage.node(1).state(), State::EF);
    stage
}

#[test]
fn a_session_whose_captain_died_goes_on_at_the_heir_and_ends() {
    let mut stage = session_of_three();
    let fence = stage.held[0].1.fence;
    stage.crashes(0);
    stage.is_gone(0, 3);
    stage.settles();
    assert_eq!((stage.remade, stage.inside(), stage.token_at()), (1, [1, 2].into(), [1].into()));
    assert_eq!((stage.node(1).state(), stage.node(2).state()), (State::EC, State::EF));
    stage.releases(1);
    stage.settles();
    assert_eq!((stage.node(1).state(), stage.inside()), (State::HS, [2].into()), "not over while one is inside");
    stage.releases(2);
    stage.settles();
    assert_eq!((stage.inside(), stage.token_at()), ([3].into(), [3].into()), "no timer was needed");
    assert!(stage.held[0].1.fence > fence);
}

#[test]
fn the_heir_of_a_session_may_be_outside_and_others_join() {
    let mut stage = stage(3);
    for member in [0, 2] {
        stage.asks(member);
        stage.settles();
    }
    let fence = stage.held[0].1.fence;
    stage.crashes(0);
    stage.is_gone(0, 2);
    stage.settles();
    assert_eq!((stage.node(1).state(), stage.inside()), (State::HS, [2].into()));
    stage.asks(1);
    assert_eq!((stage.node(1).state(), stage.held[1].1.fence), (State::EC, fence), "one session has one fence");
    stage.releases(1);
    stage.releases(2);
    stage.settles();
    assert_eq!(stage.node(1).state(), State::HI);
}

#[test]
fn with_nobody_inside_the_new_token_begins_above_all_fences() {
    let mut stage = stage(3);
    stage.asks(2);
    stage.settles();
    let fence = stage.held[0].1.fence;
    stage.asks(1);
    stage.loses(|_| true);
    stage.crashes(2);
    stage.is_gone(2, 0);
    stage.settles();
    assert_eq!((stage.remade, stage.inside(), stage.token_at()), (1, [1].into(), [1].into()), "its row has its wish");
    assert!(stage.held[0].1.fence > fence);
}

#[test]
fn a_token_on_its_way_is_not_made_twice() {
    let mut stage = stage(3);
    stage.asks(2);
    stage.delivers(id(2), 0);
    assert_eq!((stage.row(0).copy, stage.row(2).accepted), (Some(1), 0));
    stage.loses(|message| matches!(message, Message::Token(_)));
    stage.crashes(1);
    stage.is_gone(1, 2);
    stage.settles();
    assert_eq!((stage.remade, stage.inside()), (0, [].into()), "it may still arrive");
    stage.timers_fire(2);
    stage.settles();
    assert_eq!((stage.remade, stage.inside(), stage.row(2).accepted), (0, [2].into(), 1));
}

#[test]
fn a_token_of_the_gone_is_refused_however_late_it_comes() {
    let mut stage = stage(3);
    stage.asks(2);
    stage.delivers(id(2), 0);
    stage.crashes(0);
    stage.is_gone(0, 2);
    stage.delivers(id(0), 2);
    assert_eq!((stage.inside(), stage.token_at()), ([].into(), [].into()));
    stage.settles();
    assert_eq!((stage.remade, stage.inside()), (1, [2].into()));
}

#[test]
fn a_token_for_its_former_self_is_not_for_a_new_incarnation() {
    let mut stage = stage(3);
    stage.asks(2);
    stage.delivers(id(2), 0);
    stage.crashes(2);
    stage.returns(2);
    stage.asks(2);
    stage.delivers(id(0), 2);
    assert_eq!((stage.inside(), stage.token_at()), ([].into(), [].into()));
    stage.settles();
    assert_eq!((stage.remade, stage.held[0].0), (1, NodeId::of(2, 1)));
}

#[test]
fn a_start_whose_captain_is_gone_is_void() {
    let mut stage = stage(4);
    stage.asks(3);
    stage.settles(); // the token is at 3, in a session of its own
    stage.asks(1);
    stage.settles();
    stage.asks(2);
    stage.settles();
    stage.releases(3);
    stage.crashes(1); // captain to be
    stage.is_gone(1, 2);
    stage.delivers(id(3), 2);
    assert!(stage.inside().is_empty(), "the start counts in a token that is lost");
    stage.settles();
    assert_eq!((stage.remade, stage.inside()), (1, [2].into()));
}

#[test]
fn followers_and_requests_of_the_gone_are_struck() {
    let mut stage = session_of_three();
    stage.releases(0);
    stage.releases(1);
    stage.settles();
    stage.asks(1); // behind the last member
    stage.settles();
    stage.crashes(2);
    stage.crashes(3);
    stage.is_gone(2, 1);
    stage.settles();
    assert_eq!((stage.remade, stage.inside(), stage.row(0).copy), (0, [].into(), Some(1)), "given to the next");
    stage.is_gone(3, 1);
    stage.settles();
    assert_eq!((stage.remade, stage.inside()), (1, [1].into()));
}

#[test]
fn who_leaves_after_the_census_grew_tells_all() {
    let mut stage = session_of_three();
    stage.crashes(3);
    stage.is_gone(3, 0);
    stage.settles();
    let mut follower = stage.node(1).clone();
    let request = follower.view().holding[0].request;
    let effects = follower.handle(Event::Release { request, units: crate::vocabulary::Units(1) }).unwrap();
    assert!(
        matches!(effects.as_slice(), [Effect::Broadcast { message: Message::Request { record, .. } }]
            if record.wish.is_none()),
        "{effects:?}"
    );
    for member in [1, 2, 0] {
        stage.releases(member);
        stage.settles();
    }
    assert_eq!((stage.remade, stage.node(0).state()), (0, State::HI), "its captain heard it too");
}

#[test]
fn the_timer_of_one_who_waits_starts_again_with_every_census() {
    let mut node = make(id(1), false);
    let living = Census::of_living([id(0), id(1), id(2)]);
    node.handle(Event::Census { census: living.clone() }).unwrap();
    node.handle(Event::Request { request: RequestId(7), demand: wants(1, 7) }).unwrap();
    let armed = Effect::Arm { timer: crate::protocol::Timer { epoch: 2 }, after: RETRY };
    let census = living.merged(&Census::removed_fact(2));
    assert_eq!(node.handle(Event::Census { census }), Ok([armed].into()));
}

#[test]
fn without_repetitions_there_is_no_recovery() {
    let mut node = Node::new(Config::among([id(0), id(1)], id(0), Level(1), None));
    let census = Census::of_living([id(0), id(1)]);
    assert_eq!(node.row(&census), None);
    let misuse = Misuse::Unsupported("recover without repeating what may be lost");
    assert_eq!(node.handle(Event::Census { census: census.clone() }), Err(misuse));
    let mut relayed = Relayed::new(node, relay::Config::default());
    let before = relayed.clone();
    assert_eq!(relayed.handle(Event::Census { census }), Err(misuse));
    assert_eq!(relayed, before);
}

#[test]
fn a_token_is_not_made_beside_another_nor_before_a_census() {
    let remake = || Event::Remake { remake: Remake { first: 5, rows: Vec::new() } };
    let refused = Err(Misuse::Unsupported("make a token anew while there is one"));
    assert_eq!(make(id(0), false).handle(remake()), refused);
    let mut holder = make(id(0), true);
    holder.handle(Event::Census { census: Census::of_living([id(0)]) }).unwrap();
    assert_eq!(holder.handle(remake()), refused);
}

#[test]
fn a_list_of_members_is_made_longer_by_the_census() {
    let members = || (0..3).map(id);
    let make = |node: NodeId, _| Node::new(Config::among(members(), node, Level(2), Some(RETRY)));
    let mut stage = Stage::new(3, Network::Anyone, &make, wants);
    stage.asks(0);
    stage.crashes(2);
    stage.returns(2);
    stage.settles();
    stage.asks(2);
    stage.settles();
    assert_eq!(stage.inside(), [0, 2]);
}

struct Shift;

impl CounterVisitor for Shift {
    fn visit(&mut self, _line: Line, value: i64) -> i64 {
        value + 10
    }
}

#[test]
fn the_numbers_of_a_row_are_shifted_with_those_of_the_process() {
    let stage = session_of_three();
    let census = Census::of_living((0..4).map(id));
    for member in 0..4 {
        let mut row = stage.row(member);
        row.visit_counters(&mut Shift);
        let mut node = stage.node(member).clone();
        node.visit_counters(&mut Shift);
        assert_eq!(node.row(&census), Some(row));
    }
    let AnyPicture::Group(Picture { inside, .. }) = stage.row(1).picture else { panic!("of group") };
    assert_eq!(inside, stage.held[1].1.fence);
}

const CHANCES: Chances = Chances { steps: 150, crashes: 3, losses: 3, early_timers: 3, cancels: 2 };

/// Runs by chance until one fails. How many tokens were made anew, and what was wrong in which run.
fn walks<P: Protocol>(runs: u64, network: Network, make: &dyn Fn(NodeId, bool) -> P) -> (usize, Option<(u64, String)>) {
    let mut remade = 0;
    for seed in 0..runs {
        let demand = |_, number: u64| Demand::session(number % 5 / 2, 1);
        let mut stage = Stage::new(3, network, make, demand);
        let outcome = stage.walk(seed, CHANCES);
        remade += stage.remade;
        if let Err(wrong) = outcome {
            return (remade, Some((seed, wrong)));
        }
    }
    (remade, None)
}

#[test]
fn whatever_crashes_one_token_is_left_and_everybody_is_served() {
    let (remade, wrong) = walks(1_000, Network::Anyone, &make);
    assert_eq!(wrong, None);
    assert!(remade > 300, "only {remade} tokens were lost and made anew");
}

#[test]
fn the_same_over_relays() {
    let relayed = |id, token| Relayed::new(make(id, token), relay::Config::default());
    for network in [Network::Line, Network::Full] {
        let (remade, wrong) = walks(1_000, network, &relayed);
        assert_eq!(wrong, None, "{network:?}");
        assert!(remade > 300, "{network:?}: only {remade} tokens were lost and made anew");
    }
}

#[cfg(feature = "mutants")]
#[test]
fn every_rule_about_the_gone_is_needed() {
    use crate::group::Bug;
    let first = Bug::ALL.iter().position(|bug| *bug == Bug::HearTheGone).expect("it is listed");
    for bug in &Bug::ALL[first..] {
        let planted = |id, token| {
            let mut node = make(id, token);
            node.plant(*bug);
            node
        };
        let (_, wrong) = walks(20_000, Network::Anyone, &planted);
        assert!(wrong.is_some(), "{bug:?} was not noticed");
    }
}
