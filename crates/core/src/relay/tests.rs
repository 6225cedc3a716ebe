//! What a relay does when it hears who is gone.

use super::*;
use crate::group::{self, Level};
use crate::protocol::Delay;
use crate::vocabulary::RequestId;

const ME: NodeId = NodeId::of(1, 0);
const NEAR: NodeId = NodeId::of(0, 0);
const FAR: NodeId = NodeId::of(2, 0);

type Node = Relayed<group::Node>;

/// It has a neighbour, over which it has heard from one that is far away.
fn relay() -> Node {
    let config = group::Config::open(ME, Level(1), Delay { least_ms: 1, most_ms: 2 });
    let mut relay = Relayed::new(group::Node::new(config), Config::default());
    relay.handle(Event::LinkUp { neighbour: NEAR }).unwrap();
    relay.handle(Event::Census { census: Census::of_living([NEAR, ME, FAR]) }).unwrap();
    relay.handle(Event::Receive { from: NEAR, message: flood(FAR, 1) }).unwrap();
    assert_eq!(relay.next_hop(FAR), Some(NEAR));
    relay
}

/// What an origin says to all.
fn flood(origin: NodeId, number: u64) -> Message<group::Message> {
    let stamp = group::Stamp { number: RequestId(number), version: 0 };
    let record = group::Record { stamp, wish: None };
    let payload = group::Message::Request { node: origin, record, again: false };
    Message::Flood { label: Label { origin, number, hops: 2 }, to: None, payload }
}

fn told(gone: &Census) -> Node {
    let mut relay = relay();
    let census = Census::of_living([NEAR, ME, FAR]).merged(gone);
    relay.handle(Event::Census { census }).unwrap();
    relay
}

#[test]
fn what_an_origin_that_is_gone_has_sent_is_neither_delivered_nor_passed_on() {
    let mut relay = told(&Census::gone_fact(FAR));
    let (before, late) = (relay.clone(), flood(FAR, 2));
    assert!(relay.is_stale(NEAR, &late));
    assert_eq!(relay.handle(Event::Receive { from: NEAR, message: late }), Ok(Vec::new()));
    assert_eq!(relay, before);
}

#[test]
fn routes_to_the_gone_are_forgotten_and_what_was_met_of_them() {
    let relay = told(&Census::gone_fact(FAR));
    assert_eq!(relay.next_hop(FAR), None);
    assert!(relay.routes.is_empty() && relay.met.is_empty());
}

#[test]
fn the_next_incarnation_of_an_origin_counts_from_one() {
    let back = NodeId::of(2, 1);
    let mut relay = told(&Census::living_fact(back));
    let effects = relay.handle(Event::Receive { from: NEAR, message: flood(back, 1) }).unwrap();
    assert!(matches!(effects.as_slice(), [Effect::Broadcast { .. }]), "{effects:?}");
    assert_eq!(relay.next_hop(back), Some(NEAR));
}

#[test]
fn a_neighbour_that_is_gone_is_no_neighbour_and_passes_nothing_on() {
    let mut relay = told(&Census::gone_fact(NEAR));
    assert_eq!((relay.next_hop(NEAR), relay.next_hop(FAR)), (None, None));
    assert_eq!(relay.handle(Event::Receive { from: NEAR, message: flood(FAR, 2) }), Ok(Vec::new()));
}

#[test]
fn a_relay_that_was_told_nothing_hears_everybody() {
    let config = group::Config::open(ME, Level(1), Delay { least_ms: 1, most_ms: 2 });
    let mut relay = Relayed::new(group::Node::new(config), Config::default());
    relay.handle(Event::LinkUp { neighbour: NEAR }).unwrap();
    for (number, origin) in [(1, FAR), (2, FAR), (1, NodeId::of(2, 1)), (3, FAR)] {
        let effects = relay.handle(Event::Receive { from: NEAR, message: flood(origin, number) }).unwrap();
        assert_eq!(effects.len(), 1, "{origin} {number}");
    }
}
