//! Mistakes of callers and of peers, and the counters that the checker relies on.

use alloc::vec;

use super::*;
use crate::counters::{CounterVisitor, Line};
use crate::protocol::{Protocol, Rejection};
use crate::vocabulary::Session;

const ME: NodeId = NodeId(2);
const PEER: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(3);
const ONE: Demand = Demand::units(1, 0);

fn node(config: Config) -> Node {
    let mut node = Node::new(config);
    node.handle(Event::LinkUp { neighbour: PEER }).unwrap();
    node
}

/// Without the token, its request number 1 flooded, the caller's number being 5.
fn waiting() -> Node {
    let mut node = node(Config::new(ME));
    node.handle(Event::Request { request: RequestId(5), demand: ONE }).unwrap();
    node
}

fn holder() -> Node {
    node(Config::new(ME).with_token())
}

/// Inside under the caller's number 5.
fn inside() -> Node {
    let mut node = holder();
    node.handle(Event::Request { request: RequestId(5), demand: ONE }).unwrap();
    node
}

fn token(transfer: u64) -> Token {
    Token { transfer, ..Token::default() }
}

fn token_for(to: NodeId, token: Token) -> Message {
    Message::Token { to, attempt: 0, giver: None, token }
}

fn request(site: NodeId, number: u64, attempt: u64) -> Message {
    Message::Request { site, heard: Heard { number, attempt } }
}

fn receive(node: &mut Node, from: NodeId, message: Message) -> Effects {
    node.handle(Event::Receive { from, message }).unwrap()
}

#[test]
fn mistakes_of_the_caller_are_refused_and_change_nothing() {
    let ask = |request, demand| Event::Request { request: RequestId(request), demand };
    let release = |request, units| Event::Release { request: RequestId(request), units: Units(units) };
    let cancel = |request| Event::Cancel { request: RequestId(request) };
    let urgency = ONE.urgency;
    let change = |request| Event::Reprioritize { request: RequestId(request), urgency };
    let over = |request| Misuse::AlreadyOver(RequestId(request));
    let unknown = |request| Misuse::UnknownRequest(RequestId(request));
    let session = Demand { session: Some(Session(1)), ..ONE };
    let cases = vec![
        ("no units", holder(), ask(6, Demand::units(0, 0)), Misuse::ZeroUnits),
        (
            "two units",
            holder(),
            ask(6, Demand::units(2, 0)),
            Misuse::OverCapacity { asked: Units(2), capacity: Units(1) },
        ),
        ("a session", holder(), ask(6, session), Misuse::NoSessions),
        ("a second request", waiting(), ask(6, ONE), Misuse::Busy),
        ("a request from inside", inside(), ask(6, ONE), Misuse::Busy),
        ("release while waiting", waiting(), release(5, 1), Misuse::NotGranted(RequestId(5))),
        ("release of nothing", holder(), release(0, 1), unknown(0)),
        ("release of the future", inside(), release(6, 1), unknown(6)),
        ("release of the past", inside(), release(4, 1), over(4)),
        (
            "release of two",
            inside(),
            release(5, 2),
            Misuse::PartialRelease { request: RequestId(5), held: Units(1), asked: Units(2) },
        ),
        ("cancel from inside", inside(), cancel(5), Misuse::AlreadyGranted(RequestId(5))),
        ("cancel of the past", waiting(), cancel(4), over(4)),
        ("cancel of nothing", holder(), cancel(1), unknown(1)),
        (
            "another urgency",
            waiting(),
            change(5),
            Misuse::Unsupported("change the urgency of a request: it ignores urgencies"),
        ),
        ("another urgency from inside", inside(), change(5), Misuse::AlreadyGranted(RequestId(5))),
    ];
    for (what, mut node, event, misuse) in cases {
        let before = node.clone();
        assert_eq!(node.handle(event), Err(misuse), "{what}");
        assert_eq!(node, before, "{what}");
    }
}

#[test]
fn a_released_grant_cannot_be_released_again() {
    let mut node = inside();
    let release = Event::Release { request: RequestId(5), units: Units(1) };
    node.handle(release.clone()).unwrap();
    assert_eq!(node.handle(release), Err(Misuse::AlreadyOver(RequestId(5))));
    let again = Event::Request { request: RequestId(5), demand: ONE };
    assert_eq!(node.handle(again), Err(Misuse::RequestNumberUsed(RequestId(5))));
}

#[test]
fn mistakes_of_peers_are_rejected_and_change_nothing() {
    let huge = u64::MAX;
    let far_served = Token { served: [(OTHER, huge)].into(), ..token(1) };
    let far_fence = Token { fence: Fence(huge), ..token(1) };
    let bad = Rejection::NumberOutOfRange;
    let cases = vec![
        ("a stranger", waiting(), OTHER, request(OTHER, 1, 0), Rejection::UnknownSender),
        ("itself", waiting(), ME, request(OTHER, 1, 0), Rejection::UnknownSender),
        ("request 0", waiting(), PEER, request(OTHER, 0, 1), bad),
        ("a huge request", waiting(), PEER, request(OTHER, huge, 0), bad),
        ("a huge attempt", waiting(), PEER, request(OTHER, 1, huge), bad),
        ("a request of its own that it never made", waiting(), PEER, request(ME, 2, 0), bad),
        ("an attempt of its own that it never made", waiting(), PEER, request(ME, 1, 1), bad),
        (
            "a transfer that never was",
            waiting(),
            PEER,
            Message::Token { to: ME, attempt: 1, giver: None, token: token(0) },
            bad,
        ),
        ("a huge transfer", waiting(), PEER, token_for(ME, token(huge)), bad),
        ("a huge served", waiting(), PEER, token_for(ME, far_served), bad),
        ("a huge fence", waiting(), PEER, token_for(ME, far_fence), bad),
        ("a token while it holds one", holder(), PEER, token_for(ME, token(1)), Rejection::SecondToken),
        ("a token for another while it is inside", inside(), PEER, token_for(OTHER, token(1)), Rejection::SecondToken),
        ("a token it did not ask for", node(Config::new(ME)), PEER, token_for(ME, token(1)), Rejection::UnwantedToken),
    ];
    for (what, mut node, from, message, reason) in cases {
        let before = node.clone();
        assert_eq!(node.token_in(from, &message), None, "{what}");
        assert_eq!(receive(&mut node, from, message), [Effect::Reject { from, reason }], "{what}");
        assert_eq!(node, before, "{what}");
    }
}

#[test]
fn a_token_seen_before_is_old_news_not_a_mistake() {
    let mut node = waiting();
    assert!(node.token_in(PEER, &token_for(ME, token(7))).is_some());
    receive(&mut node, PEER, token_for(ME, token(7)));
    assert!(node.holds_token());
    for old in [token(7), token(6)] {
        let message = token_for(ME, old);
        assert!(node.is_stale(PEER, &message));
        assert_eq!(receive(&mut node, PEER, message), []);
    }
    let again = Message::Token { to: ME, attempt: 1, giver: None, token: token(7) };
    assert_eq!(node.token_in(PEER, &again), None);
    assert_eq!(receive(&mut node, PEER, again), [], "another copy of the transfer that is here");
}

#[test]
fn what_is_stale_stays_stale_and_does_nothing() {
    let mut node = waiting();
    let messages: Vec<_> = (1..4)
        .flat_map(|n| {
            let asked = [request(OTHER, n, 0), request(OTHER, n, 1), request(PEER, n, 2)];
            asked.into_iter().chain([1, 0].map(|a| Message::Token {
                to: OTHER,
                attempt: a,
                giver: None,
                token: token(n),
            }))
        })
        .collect();
    let mut stale = Vec::new();
    // A fixed order that jumps back and forth.
    for step in 0..60 {
        let message = messages[(step * 7) % messages.len()].clone();
        let (before, known) = (node.clone(), node.is_stale(PEER, &message));
        let effects = receive(&mut node, PEER, message.clone());
        assert_eq!(known, effects.is_empty() && node == before, "{message:?}");
        stale.push(message);
        assert!(stale.iter().all(|old| node.is_stale(PEER, old)));
    }
}

/// Adds a constant to every number but zero, and remembers the lines it met.
struct Shift(Vec<Line>);

impl CounterVisitor for Shift {
    fn visit(&mut self, line: Line, value: i64) -> i64 {
        self.0.push(line);
        if value == 0 { 0 } else { value + 10 }
    }
}

#[test]
fn a_node_whose_numbers_are_all_shifted_behaves_the_same() {
    let mut original = waiting();
    receive(&mut original, PEER, request(OTHER, 1, 1));
    let mut shifted = original.clone();
    let mut shift = Shift(Vec::new());
    shifted.visit_counters(&mut shift);
    assert_ne!(original, shifted);

    let served = [(ME, 1), (OTHER, 0)].into();
    let mut message = token_for(ME, Token { served, fence: Fence(3), ..token(2) });
    let effects = receive(&mut original, PEER, message.clone());
    Node::visit_message_counters(&mut message, &mut shift);
    let shifted_effects = receive(&mut shifted, PEER, message);
    assert_eq!(effects.len(), shifted_effects.len());
    original.visit_counters(&mut shift);
    assert_eq!(original, shifted);

    let names: BTreeSet<_> = shift.0.iter().map(|line| (line.name, line.of)).collect();
    let expected = [
        ("attempt", None),
        ("clock", None),
        ("epoch", Some(ME)),
        ("number", Some(ME)),
        ("number", Some(OTHER)),
        ("request", Some(ME)),
        ("transfer", None),
    ];
    assert_eq!(names, expected.into());
}
