//! Mistakes of callers and of peers, which the report does not speak of, and what a waiting caller does.

use std::vec;
use std::vec::Vec;

use super::*;
use meshlock_core::vocabulary::Session;

const ME: NodeId = NodeId(2);
const PEER: NodeId = NodeId(1);
const ONE: Demand = Demand::units(1, 0);

fn station(id: NodeId, repairs: Repairs) -> Node {
    let mut node = Node::new(Config { id, stations: vec![PEER, ME], repairs });
    for neighbour in [PEER, ME].into_iter().filter(|n| *n != id) {
        node.handle(Event::LinkUp { neighbour }).unwrap();
    }
    node
}

/// S1, inside under the caller's number 5.
fn inside() -> Node {
    let mut node = station(PEER, Repairs::NONE);
    node.handle(Event::Request { request: RequestId(5), demand: ONE }).unwrap();
    node
}

/// S2, waiting under the caller's number 5.
fn waiting(repairs: Repairs) -> Node {
    let mut node = station(ME, repairs);
    node.handle(Event::Request { request: RequestId(5), demand: ONE }).unwrap();
    node
}

fn token(dest: NodeId) -> Message {
    Message::Token { dest, clock: 1, q: VecDeque::new(), ln: [(PEER, 0), (ME, 0)].into() }
}

#[test]
fn only_s1_starts_with_the_token() {
    assert!(station(PEER, Repairs::NONE).view().token.is_some());
    assert!(station(ME, Repairs::NONE).view().token.is_none());
}

#[test]
fn the_caller_wakes_in_a_step_of_its_own_unless_repaired() {
    let arrival = Event::Receive { from: PEER, message: token(ME) };
    let mut node = waiting(Repairs::NONE);
    let effects = node.handle(arrival.clone()).unwrap();
    assert_eq!(effects, [Effect::Arm { timer: Timer { epoch: 1 }, after: AT_ONCE }]);
    assert_eq!((node.etat(), node.view().role.as_str()), (Etat::Requesting, "requesting"));
    assert_eq!(node.handle(Event::Expired { timer: Timer { epoch: 0 } }).unwrap(), []);
    assert_eq!(node.handle(Event::Expired { timer: Timer { epoch: 1 } }).unwrap().len(), 1);
    assert_eq!(node.etat(), Etat::CriticalSection);

    let mut node = waiting(Repairs::NONE.with(Defect::F6));
    assert!(matches!(node.handle(arrival).unwrap()[..], [Effect::Granted { .. }]));
}

#[test]
fn mistakes_of_the_caller_are_refused_and_change_nothing() {
    let ask = |demand| Event::Request { request: RequestId(6), demand };
    let release = |request, units| Event::Release { request: RequestId(request), units: Units(units) };
    let request = RequestId(5);
    let wait = || waiting(Repairs::NONE);
    let stranger = Node::new(Config { id: NodeId(9), stations: vec![PEER, ME], repairs: Repairs::NONE });
    let over = Misuse::OverCapacity { asked: Units(2), capacity: Units(1) };
    let part = Misuse::PartialRelease { request, held: Units(1), asked: Units(2) };
    let not_known = Misuse::Unsupported("serve a station that is not one of those known in advance");
    let no_change = Misuse::Unsupported("change the urgency of a request");
    let cases = vec![
        (wait(), ask(ONE), Misuse::Busy),
        (inside(), ask(ONE), Misuse::Busy),
        (station(ME, Repairs::NONE), ask(Demand::units(0, 0)), Misuse::ZeroUnits),
        (station(ME, Repairs::NONE), ask(Demand::units(2, 0)), over),
        (station(ME, Repairs::NONE), ask(Demand { session: Some(Session(1)), ..ONE }), Misuse::NoSessions),
        (stranger, ask(ONE), not_known),
        (wait(), Event::Cancel { request }, Misuse::Unsupported("cancel a request")),
        (wait(), Event::Reprioritize { request, urgency: ONE.urgency }, no_change),
        (wait(), release(5, 1), Misuse::NotGranted(request)),
        (inside(), release(4, 1), Misuse::AlreadyOver(RequestId(4))),
        (inside(), release(6, 1), Misuse::UnknownRequest(RequestId(6))),
        (inside(), release(5, 2), part),
    ];
    for (mut node, event, misuse) in cases {
        let before = node.clone();
        assert_eq!(node.handle(event), Err(misuse));
        assert_eq!(node, before, "{misuse}");
    }
}

#[test]
fn request_numbers_grow() {
    let mut node = inside();
    let request = RequestId(5);
    node.handle(Event::Release { request, units: Units(1) }).unwrap();
    assert_eq!(node.handle(Event::Request { request, demand: ONE }), Err(Misuse::RequestNumberUsed(request)));
    let again = Event::Release { request, units: Units(1) };
    assert_eq!(node.handle(again), Err(Misuse::AlreadyOver(request)));
}

#[test]
fn what_cannot_be_from_a_station_is_rejected_and_changes_nothing() {
    let (ghost, huge) = (NodeId(9), u64::MAX);
    let numbers = |ln: [(NodeId, u64); 2]| Message::Token { dest: ME, clock: 1, q: VecDeque::new(), ln: ln.into() };
    let cases: Vec<(NodeId, Message, Rejection)> = vec![
        (ghost, Message::Request { site: PEER, k: 1 }, Rejection::UnknownSender),
        (PEER, Message::Request { site: ghost, k: 1 }, Rejection::UnknownNode),
        (PEER, Message::Request { site: PEER, k: huge }, Rejection::NumberOutOfRange),
        (PEER, token(ghost), Rejection::UnknownNode),
        (PEER, numbers([(PEER, 0), (ghost, 0)]), Rejection::UnknownNode),
        (PEER, numbers([(PEER, 0), (ME, huge)]), Rejection::NumberOutOfRange),
        (
            PEER,
            Message::Token { dest: ME, clock: 1, q: [ghost].into(), ln: [(PEER, 0), (ME, 0)].into() },
            Rejection::UnknownNode,
        ),
    ];
    for repairs in [Repairs::NONE, Repairs::all()] {
        for (from, message, reason) in cases.clone() {
            let mut node = waiting(repairs);
            let before = node.clone();
            let effects = node.handle(Event::Receive { from, message }).unwrap();
            assert_eq!(effects, [Effect::Reject { from, reason }]);
            assert_eq!(node, before, "{reason}");
        }
    }
}

#[test]
fn a_list_of_tokens_knows_each_of_them_and_the_latest_clock_all_before_it() {
    let second = |clock| Message::Token { dest: PEER, clock, q: VecDeque::new(), ln: [(PEER, 0), (ME, 0)].into() };
    for (readings, relayed) in [(Readings::NONE, 0), (Readings::NONE.with(Reading::TokenList), 1)] {
        let mut node = station(ME, Repairs::all()).read_as(readings);
        let mut hear = |clock| node.handle(Event::Receive { from: PEER, message: second(clock) }).unwrap().len();
        assert_eq!((hear(2), hear(2)), (1, 0), "the same one is old");
        assert_eq!(hear(1), relayed, "one with a smaller clock is old, unless each is told apart");
    }
}
