//! What callers and peers may not do, and the printed queue.

use std::vec;
use std::vec::Vec;

use crate::printed::group::{Config, Message, Node, Queue, Repairs, Token};
use meshlock_core::group::{Level, State};
use meshlock_core::protocol::{Effect, Event, Misuse, Protocol, Rejection};
use meshlock_core::view::Origin;
use meshlock_core::vocabulary::{Demand, NodeId, Priority, RequestId, Session, Units, Urgency};

const X: Demand = Demand::session(1, 1);

fn node(id: u32) -> Node {
    let members = vec![NodeId(1), NodeId(2), NodeId(3)];
    Node::new(Config { id: NodeId(id), members, levels: Level(3), repairs: Repairs::NONE })
}

fn ask(node: &mut Node, request: u64, demand: Demand) -> Result<Vec<Effect<Message>>, Misuse> {
    node.handle(Event::Request { request: RequestId(request), demand })
}

#[test]
fn the_first_holds_an_idle_token_and_the_others_want_nothing() {
    assert_eq!([1, 2, 3].map(|id| node(id).state()), [State::HI, State::N, State::N]);
}

#[test]
fn callers_mistakes_are_refused() {
    let mut node = node(2);
    assert_eq!(ask(&mut node, 1, Demand::units(1, 1)), Err(Misuse::SessionNeeded));
    assert_eq!(ask(&mut node, 1, Demand::session(1, 4)), Err(Misuse::NoSuchLevel { asked: 4, levels: 3 }));
    let release = |units| Event::Release { request: RequestId(1), units: Units(units) };
    assert_eq!(node.handle(release(1)), Err(Misuse::UnknownRequest(RequestId(1))));
    ask(&mut node, 1, X).unwrap();
    assert_eq!(ask(&mut node, 2, X), Err(Misuse::Busy));
    assert_eq!(node.handle(release(1)), Err(Misuse::NotGranted(RequestId(1))));
    let cancel = Event::Cancel { request: RequestId(1) };
    assert_eq!(node.handle(cancel), Err(Misuse::Unsupported("cancel a request")));
    let change = Event::Reprioritize { request: RequestId(1), urgency: Urgency::Priority(Priority(2)) };
    assert_eq!(node.handle(change), Err(Misuse::Unsupported("change a priority")));
    let message = Message::Token { token: Token::default(), followers: 0 };
    node.handle(Event::Receive { from: NodeId(1), message }).unwrap();
    let partial = Misuse::PartialRelease { request: RequestId(1), held: Units(1), asked: Units(2) };
    assert_eq!(node.handle(release(2)), Err(partial));
    node.handle(release(1)).unwrap();
    assert_eq!(node.handle(release(1)), Err(Misuse::AlreadyOver(RequestId(1))));
    assert_eq!(ask(&mut node, 1, X), Err(Misuse::RequestNumberUsed(RequestId(1))));
}

#[test]
fn peers_mistakes_are_rejected_and_change_nothing() {
    let request = |node, level| {
        let (node, level) = (NodeId(node), Some(Level(level)));
        Message::Request { node, number: 1, session: Session(1), level }
    };
    let start = |captain| Message::Start { captain: NodeId(captain) };
    let token = Message::Token { token: Token::default(), followers: 0 };
    let cases = [
        (9, Message::Complete, Rejection::UnknownSender),
        (2, Message::Complete, Rejection::UnknownSender),
        (1, request(3, 1), Rejection::UnknownNode),
        (1, request(1, 0), Rejection::NumberOutOfRange),
        (1, request(1, 4), Rejection::NumberOutOfRange),
        (1, start(9), Rejection::UnknownNode),
        (1, start(2), Rejection::UnknownNode),
        (1, start(1), Rejection::UnexpectedAnswer),
        (1, token, Rejection::UnwantedToken),
    ];
    for (from, message, reason) in cases {
        let (mut node, from) = (node(2), NodeId(from));
        let effects = node.handle(Event::Receive { from, message: message.clone() }).unwrap();
        assert_eq!(effects, [Effect::Reject { from, reason }], "{message:?}");
        assert_eq!(node, self::node(2), "{message:?}");
    }
}

#[test]
fn an_entry_moves_forward_past_lower_ones_only() {
    let queued = |requests: &[(u32, u64, u32)]| {
        let mut queue = Queue::default();
        for &(node, session, level) in requests {
            queue.add(NodeId(node), Session(session), Level(level), true);
        }
        let node = |origin| if let Origin::Node(node) = origin { node.0 } else { 0 };
        queue.claimants().into_iter().map(|claim| (node(claim.origin), claim.rank.0)).collect::<Vec<_>>()
    };
    assert_eq!(queued(&[(1, 1, 1), (2, 2, 1), (3, 3, 2)]), [(3, 2), (1, 1), (2, 1)]);
    assert_eq!(queued(&[(1, 1, 2), (2, 2, 1), (3, 2, 2)]), [(1, 2), (2, 2), (3, 2)]);
    assert_eq!(queued(&[(1, 1, 2), (2, 2, 1), (3, 2, 3)]), [(2, 3), (3, 3), (1, 2)]);
}
