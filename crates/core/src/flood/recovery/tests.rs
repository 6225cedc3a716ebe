//! Crashes, told step by step; then by chance.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::{Config, Message, Node};
use super::Picture;
use crate::counters::{CounterVisitor, Line};
use crate::protocol::{Delay, Effect, Event, Misuse, Protocol, Rejection, Timer};
use crate::recovery::stage::{Chances, Network, Stage};
use crate::recovery::{Census, Picture as AnyPicture, Remake, Row};
use crate::vocabulary::{Demand, Fence, NodeId, RequestId};

fn make(id: NodeId, starts_with_token: bool) -> Node {
    Node::new(Config { starts_with_token, ..Config::new(id) })
}

fn stage(size: u16, network: Network) -> Stage<'static, Node> {
    Stage::new(size, network, &make, |_, _| Demand::units(1, 0))
}

fn id(member: u16) -> NodeId {
    NodeId::of(member, 0)
}

#[test]
fn the_heir_of_a_dead_holder_serves_those_who_wait() {
    let mut stage = stage(3, Network::Line);
    stage.asks(0);
    stage.settles();
    stage.asks(2);
    stage.asks(1);
    stage.settles();
    assert_eq!(stage.inside(), [0]);
    let lost = stage.held[0].1.fence;
    stage.crashes(0);
    stage.is_gone(0, 2);
    stage.settles();
    assert_eq!((stage.remade, stage.inside(), stage.token_at()), (1, [1].into(), [1].into()));
    assert!(stage.held[0].1.fence > lost, "above all that the lost token gave");
    stage.releases(1);
    stage.settles();
    assert_eq!((stage.inside(), stage.token_at()), ([2].into(), [2].into()), "known from its row, without a timer");
}

#[test]
fn a_token_on_its_way_is_not_made_twice() {
    let mut stage = stage(3, Network::Full);
    stage.asks(2);
    stage.delivers(id(2), 0);
    stage.delivers(id(0), 1); // it passes by
    assert_eq!((stage.row(0).copy, stage.row(1).accepted, stage.row(2).accepted), (Some(1), 0, 0));
    stage.crashes(1);
    stage.is_gone(1, 0);
    stage.loses(|message| matches!(message, Message::Token { .. }));
    stage.settles();
    assert_eq!((stage.remade, stage.inside()), (0, [].into()), "it may still arrive");
    stage.timers_fire(2);
    stage.settles();
    assert_eq!((stage.remade, stage.inside(), stage.row(2).accepted), (0, [2].into(), 1));
}

#[test]
fn a_token_whose_giver_is_gone_is_refused_on_every_way() {
    let mut stage = stage(3, Network::Full);
    stage.asks(2);
    stage.delivers(id(2), 0);
    let straight = stage.intercepts(id(0), 2);
    stage.delivers(id(0), 1); // which passes it on to 2
    stage.crashes(0);
    stage.is_gone(0, 2);
    stage.delivers(id(1), 2);
    assert_eq!((stage.inside(), stage.token_at()), ([].into(), [].into()), "a living hop does not make it valid");
    stage.settles();
    assert_eq!((stage.remade, stage.inside(), stage.token_at()), (1, [2].into(), [2].into()));
    let (from, late) = straight.into_iter().last().expect("the token");
    assert!(stage.node(2).is_stale(from, &late) && stage.node(2).token_in(from, &late).is_none());
    assert!(stage.node(1).is_stale(id(2), &late), "whoever passes it on");
}

#[test]
fn a_copy_for_the_gone_is_no_token() {
    let mut stage = stage(2, Network::Full);
    stage.asks(1);
    stage.delivers(id(1), 0);
    assert_eq!(stage.row(0).copy, Some(1));
    stage.crashes(1);
    let census = Census::of_living([id(0), id(1)]).merged(&Census::removed_fact(1));
    let row = stage.node(0).row(&census).expect("it recovers");
    assert_eq!((row.copy, row.token), (None, false), "a row is taken before the census is told");
    stage.is_gone(1, 0);
    assert_eq!((stage.remade, stage.token_at()), (1, [0].into()));
    assert!(!stage.node(0).view().keeps_copy);
}

#[test]
fn a_new_incarnation_asks_again_and_the_request_of_the_old_one_is_forgotten() {
    let mut stage = stage(3, Network::Line);
    stage.asks(0);
    stage.asks(2);
    stage.settles();
    stage.crashes(2);
    stage.returns(2);
    stage.settles();
    stage.releases(0);
    stage.settles();
    assert_eq!((stage.remade, stage.token_at()), (0, [0].into()), "nobody who is living wants it");
    stage.asks(2);
    stage.settles();
    assert_eq!((stage.remade, stage.held[0].0), (0, NodeId::of(2, 1)));
}

#[test]
fn a_token_for_its_former_self_passes_a_new_incarnation_by() {
    let mut stage = stage(3, Network::Full);
    stage.asks(2);
    stage.delivers(id(2), 0);
    let (_, token) = stage.intercepts(id(0), 2).pop().expect("the token");
    stage.crashes(2);
    stage.returns(2);
    stage.asks(2);
    assert_eq!(stage.node(2).token_in(id(0), &token), None);
    stage.settles();
    assert_eq!((stage.remade, stage.inside()), (1, [2].into()));
}

#[test]
fn a_request_of_the_gone_is_not_heard_from_others() {
    let mut stage = stage(3, Network::Full);
    stage.asks(2);
    let straight = stage.intercepts(id(2), 0);
    assert_eq!(straight.len(), 1);
    stage.delivers(id(2), 1); // which passes it on to 0
    stage.crashes(2);
    stage.is_gone(2, 0);
    stage.settles();
    assert_eq!((stage.remade, stage.token_at()), (0, [0].into()), "it is not given to one who is gone");
}

#[test]
fn the_gone_are_struck_from_the_queue() {
    let mut stage = stage(3, Network::Line);
    stage.asks(0);
    stage.asks(1);
    stage.asks(2);
    stage.settles();
    stage.releases(0);
    stage.settles();
    assert_eq!(stage.node(1).view().token.map(|token| token.queue.len()), Some(1));
    stage.crashes(2);
    stage.is_gone(2, 0);
    stage.settles();
    stage.releases(1);
    assert_eq!((stage.remade, stage.token_at()), (0, [1].into()));
}

/// A node that asked twice, and its timer with it.
fn impatient() -> Node {
    let mut node = make(id(1), false);
    node.handle(Event::LinkUp { neighbour: id(0) }).unwrap();
    node.handle(Event::Census { census: Census::of_living([id(0), id(1), id(2)]) }).unwrap();
    node.handle(Event::Request { request: RequestId(7), demand: Demand::units(1, 0) }).unwrap();
    node.handle(Event::Expired { timer: Timer { epoch: 1 } }).unwrap();
    node
}

#[test]
fn the_timer_of_one_who_waits_starts_again_with_every_census() {
    let mut node = impatient();
    let census = Census::of_living([id(0), id(1), id(2)]).merged(&Census::removed_fact(2));
    let after = Delay { least_ms: 1_000, most_ms: 2_000 };
    let armed = Effect::Arm { timer: Timer { epoch: 3 }, after };
    assert_eq!(node.handle(Event::Census { census }), Ok([armed].into()));
}

#[test]
fn a_token_that_answers_another_request_is_rejected() {
    let mut node = impatient();
    let token = |served| super::Token { transfer: 1, served: [(id(1), served)].into(), ..super::Token::default() };
    let message = |served| Message::Token { to: id(1), attempt: 0, giver: Some(id(0)), token: token(served) };
    let before = node.clone();
    assert_eq!(node.token_in(id(0), &message(1)), None);
    let rejected = node.handle(Event::Receive { from: id(0), message: message(1) }).unwrap();
    assert_eq!(rejected, [Effect::Reject { from: id(0), reason: Rejection::UnwantedToken }]);
    assert_eq!(node, before);
    assert!(node.token_in(id(0), &message(0)).is_some());
}

#[test]
fn a_new_token_knows_what_is_served_and_who_asks() {
    let mut node = make(id(0), false);
    node.handle(Event::Census { census: Census::of_living([id(0), id(1), id(2)]) }).unwrap();
    let row = |site, number, asking, copy, accepted| {
        let own = super::Heard { number, attempt: 2 };
        (site, Row { token: false, copy, accepted, picture: AnyPicture::Flood(Picture { site, own, asking }) })
    };
    let rows = [row(id(0), 0, false, None, 0), row(id(1), 4, false, Some(9), 3), row(id(2), 6, true, None, 9)];
    let effects = node.handle(Event::Remake { remake: Remake { first: 5, rows: rows.into() } }).unwrap();
    let [Effect::Broadcast { message: Message::Token { to, attempt, giver, token } }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!((*to, *attempt, *giver), (id(2), 2, Some(id(0))));
    assert_eq!((token.transfer, token.fence), (11, Fence(5)), "above every reported transfer, and then given away");
    assert_eq!(token.served, [(id(1), 4), (id(2), 5)].into());
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
fn a_node_that_was_told_no_census_keeps_and_names_nothing_for_it() {
    let mut node = make(id(1), false);
    node.handle(Event::LinkUp { neighbour: id(0) }).unwrap();
    node.handle(Event::Request { request: RequestId(7), demand: Demand::units(1, 0) }).unwrap();
    let token = super::Token { transfer: 4, ..super::Token::default() };
    let message = Message::Token { to: id(1), attempt: 0, giver: None, token };
    node.handle(Event::Receive { from: id(0), message }).unwrap();
    assert!(node.holds_token() && node.accepted == 0 && node.named_giver().is_none());
}

struct Lines(Vec<(&'static str, Option<NodeId>, i64)>);

impl CounterVisitor for Lines {
    fn visit(&mut self, line: Line, value: i64) -> i64 {
        self.0.push((line.name, line.of, value));
        value
    }
}

#[test]
fn the_numbers_of_a_row_are_on_the_lines_of_the_node() {
    let mut stage = stage(2, Network::Full);
    stage.asks(1);
    stage.settles();
    stage.releases(1);
    stage.asks(0);
    stage.settles();
    let mut lines = Lines(Vec::new());
    let mut row = stage.row(1);
    assert_eq!((row.copy, row.accepted), (Some(2), 1));
    row.visit_counters(&mut lines);
    stage.node(1).clone().visit_counters(&mut lines);
    for (name, of, value) in [("transfer", None, 2), ("transfer", None, 1), ("number", Some(id(1)), 1)] {
        let met = lines.0.iter().filter(|line| **line == (name, of, value)).count();
        assert!(met >= 2, "{name} {value} in {:?}", lines.0);
    }
}

const CHANCES: Chances = Chances { steps: 150, crashes: 3, losses: 3, early_timers: 3, cancels: 2 };

/// Runs by chance until one fails. How many tokens were made anew, and what was wrong in which run.
fn walks(runs: u64, network: Network, make: &dyn Fn(NodeId, bool) -> Node) -> (usize, Option<(u64, String)>) {
    let mut remade = 0;
    for seed in 0..runs {
        let mut stage = Stage::new(3, network, make, |_, _| Demand::units(1, 0));
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
    for network in [Network::Line, Network::Full] {
        let (remade, wrong) = walks(1_000, network, &make);
        assert_eq!(wrong, None, "{network:?}");
        assert!(remade > 300, "{network:?}: only {remade} tokens were lost and made anew");
    }
}

#[cfg(feature = "mutants")]
#[test]
fn every_rule_about_the_gone_is_needed() {
    use super::super::Bug;
    let first = Bug::ALL.iter().position(|bug| *bug == Bug::HearRequestOfGone).expect("it is listed");
    for bug in &Bug::ALL[first..] {
        let planted = |id, token| {
            let mut node = make(id, token);
            node.plant(*bug);
            node
        };
        let (_, wrong) = walks(20_000, Network::Full, &planted);
        assert!(wrong.is_some(), "{bug:?} was not noticed");
    }
}
