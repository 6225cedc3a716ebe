//! Callers' and peers' mistakes, names of states, fences, and what can be seen.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::counters::{CounterVisitor, Line};
use crate::group::message::{Message, Record, Stamp, Start, Wish};
use crate::group::token::Token;
use crate::group::{Config, Level, Node, State};
use crate::protocol::{Delay, Effect, Event, Misuse, Protocol, Rejection, Timer};
use crate::vocabulary::{Deadline, Demand, Fence, Grant, NodeId, Priority, RequestId, Session, Units, Urgency};

const X: Demand = Demand::session(1, 1);

fn node(id: u32) -> Node {
    let retry = Some(Delay { least_ms: 1, most_ms: 2 });
    let members = vec![NodeId(1), NodeId(2), NodeId(3)];
    Node::new(Config::among(members, NodeId(id), Level(3), retry))
}

fn ask(node: &mut Node, request: u64, demand: Demand) -> Result<Vec<Effect<Message>>, Misuse> {
    node.handle(Event::Request { request: RequestId(request), demand })
}

fn tell(node: &mut Node, from: u32, message: Message) -> Vec<Effect<Message>> {
    node.handle(Event::Receive { from: NodeId(from), message }).expect("messages are no misuse")
}

fn request_of(node: u32, number: u64, version: u64, wish: Option<(u64, u32)>) -> Message {
    let wish = wish.map(|(session, level)| Wish { session: Session(session), level: Level(level) });
    let stamp = Stamp { number: RequestId(number), version };
    Message::Request { node: NodeId(node), record: Record { stamp, wish }, again: false }
}

fn complete_of(node: u32, number: u64, version: u64) -> Message {
    Message::Complete { node: NodeId(node), stamp: Stamp { number: RequestId(number), version } }
}

fn start_for(node: u32, number: u64) -> Start {
    let (node, number, captain) = (NodeId(node), RequestId(number), NodeId(1));
    Start { node, number, session: Session(1), fence: Fence(4), captain }
}

/// A token for the first request of node 2.
fn token_for_2() -> Token {
    let accepted = BTreeMap::from([(NodeId(2), Stamp { number: RequestId(1), version: 0 })]);
    Token { transfer: 1, session: Some(Session(1)), accepted, ..Token::default() }
}

fn granted(effects: &[Effect<Message>]) -> Vec<Grant> {
    let grant =
        |effect: &Effect<Message>| if let Effect::Granted { grant } = effect { Some(grant.clone()) } else { None };
    effects.iter().filter_map(grant).collect()
}

#[test]
fn a_demand_must_have_a_session_one_unit_and_a_level() {
    let capacity = Units(1);
    let deadline = Demand { urgency: Urgency::Deadline(Deadline(9)), ..X };
    let cases = [
        (Demand::units(1, 1), Misuse::SessionNeeded),
        (Demand { units: Units(0), ..X }, Misuse::ZeroUnits),
        (Demand { units: Units(2), ..X }, Misuse::OverCapacity { asked: Units(2), capacity }),
        (Demand::session(1, 0), Misuse::NoSuchLevel { asked: 0, levels: 3 }),
        (Demand::session(1, -1), Misuse::NoSuchLevel { asked: -1, levels: 3 }),
        (Demand::session(1, 4), Misuse::NoSuchLevel { asked: 4, levels: 3 }),
        (deadline, Misuse::WrongUrgency { wants_deadline: false }),
    ];
    for (demand, misuse) in cases {
        let mut node = node(2);
        assert_eq!(ask(&mut node, 1, demand), Err(misuse));
        assert_eq!(node, self::node(2), "{misuse}");
    }
}

#[test]
fn one_request_at_a_time_with_growing_numbers() {
    let mut waiting = node(2);
    ask(&mut waiting, 5, X).unwrap();
    assert_eq!(ask(&mut waiting, 6, X), Err(Misuse::Busy));
    assert_eq!(ask(&mut waiting, 5, X), Err(Misuse::RequestNumberUsed(RequestId(5))));
    let mut inside = node(1);
    ask(&mut inside, 5, X).unwrap();
    assert_eq!(ask(&mut inside, 6, X), Err(Misuse::Busy));
}

#[test]
fn what_is_cancelled_changed_or_released_must_be_there() {
    let cancel = |request| Event::Cancel { request: RequestId(request) };
    let urge = |request, p| {
        let urgency = Urgency::Priority(Priority(p));
        Event::Reprioritize { request: RequestId(request), urgency }
    };
    let release = |request, units| Event::Release { request: RequestId(request), units: Units(units) };
    let number = RequestId(5);

    let mut node = node(2);
    assert_eq!(node.handle(cancel(5)), Err(Misuse::UnknownRequest(number)));
    assert_eq!(node.handle(release(5, 1)), Err(Misuse::UnknownRequest(number)));
    ask(&mut node, 5, X).unwrap();
    assert_eq!(node.handle(urge(6, 1)), Err(Misuse::UnknownRequest(RequestId(6))));
    assert_eq!(node.handle(urge(5, 4)), Err(Misuse::NoSuchLevel { asked: 4, levels: 3 }));
    assert_eq!(node.handle(release(5, 1)), Err(Misuse::NotGranted(number)));
    tell(
        &mut node,
        1,
        Message::Token(Token {
            accepted: BTreeMap::from([(NodeId(2), Stamp { number, version: 0 })]),
            ..token_for_2()
        }),
    );
    assert_eq!(node.state(), State::EC);
    assert_eq!(node.handle(cancel(5)), Err(Misuse::AlreadyGranted(number)));
    assert_eq!(node.handle(urge(5, 1)), Err(Misuse::AlreadyGranted(number)));
    let partial = Misuse::PartialRelease { request: number, held: Units(1), asked: Units(2) };
    assert_eq!(node.handle(release(5, 2)), Err(partial));
    node.handle(release(5, 1)).unwrap();
    for event in [cancel(5), urge(5, 1), release(5, 1), release(4, 1)] {
        let number = if event == release(4, 1) { RequestId(4) } else { number };
        assert_eq!(node.handle(event), Err(Misuse::AlreadyOver(number)));
    }
}

#[test]
fn a_peers_mistake_is_rejected_and_changes_nothing() {
    let stranger = NodeId(9);
    let huge = u64::MAX;
    let queued = |level| {
        let mut token = token_for_2();
        let wish = Wish { session: Session(2), level: Level(level) };
        token.queue.add(NodeId(3), RequestId(1), wish, Level(9));
        token
    };
    let stamp = Stamp { number: RequestId(1), version: 0 };
    let cases = [
        (9, complete_of(9, 1, 1), Rejection::UnknownSender),
        (2, complete_of(2, 1, 1), Rejection::UnknownSender),
        (1, complete_of(3, 1, 1), Rejection::UnknownNode),
        (1, request_of(3, 1, 0, None), Rejection::UnknownNode),
        (1, request_of(1, 1, huge, Some((1, 1))), Rejection::NumberOutOfRange),
        (1, request_of(1, 1, 0, Some((1, 0))), Rejection::NumberOutOfRange),
        (1, request_of(1, 1, 0, Some((1, 4))), Rejection::NumberOutOfRange),
        (1, complete_of(1, 1, huge), Rejection::NumberOutOfRange),
        (1, Message::Start(start_for(3, 1)), Rejection::UnknownNode),
        (1, Message::Start(Start { captain: stranger, ..start_for(2, 1) }), Rejection::UnknownNode),
        (1, Message::Start(Start { captain: NodeId(2), ..start_for(2, 1) }), Rejection::UnknownNode),
        (1, Message::Start(Start { fence: Fence(huge), ..start_for(2, 1) }), Rejection::NumberOutOfRange),
        (1, Message::Start(start_for(2, 2)), Rejection::UnexpectedAnswer),
        (1, Message::Start(Start { session: Session(7), ..start_for(2, 1) }), Rejection::UnexpectedAnswer),
        (1, Message::Ask { node: NodeId(3), number: RequestId(1) }, Rejection::UnknownNode),
        (1, Message::Ask { node: NodeId(2), number: RequestId(2) }, Rejection::UnexpectedAnswer),
        (1, Message::Token(Token { transfer: huge, ..token_for_2() }), Rejection::NumberOutOfRange),
        (1, Message::Token(Token { clock: Fence(huge), ..token_for_2() }), Rejection::NumberOutOfRange),
        (1, Message::Token(queued(4)), Rejection::NumberOutOfRange),
        (1, Message::Token(queued(0)), Rejection::NumberOutOfRange),
        (
            1,
            Message::Token(Token { accepted: BTreeMap::from([(stranger, stamp)]), ..token_for_2() }),
            Rejection::UnknownNode,
        ),
        (
            1,
            Message::Token(Token { followers: BTreeMap::from([(NodeId(2), RequestId(1))]), ..token_for_2() }),
            Rejection::UnwantedToken,
        ),
        (1, Message::Have { transfer: 1 }, Rejection::UnexpectedAnswer),
    ];
    let mut waiting = node(2);
    ask(&mut waiting, 1, X).unwrap();
    for (from, message, reason) in cases {
        let mut node = waiting.clone();
        let effects = tell(&mut node, from, message.clone());
        assert_eq!(effects, [Effect::Reject { from: NodeId(from), reason }], "{message:?}");
        assert_eq!(node, waiting, "{message:?}");
    }
}

#[test]
fn a_token_is_taken_once_by_one_that_asked() {
    let mut never_asked = node(2);
    let from = NodeId(1);
    let reject = |reason| Effect::Reject { from, reason };
    assert_eq!(tell(&mut never_asked, 1, Message::Token(token_for_2())), [reject(Rejection::UnwantedToken)]);

    let mut node = node(2);
    ask(&mut node, 1, X).unwrap();
    assert_eq!(granted(&tell(&mut node, 1, Message::Token(token_for_2()))).len(), 1);
    let again = tell(&mut node, 1, Message::Token(token_for_2()));
    assert_eq!(again, [Effect::Send { to: from, message: Message::Have { transfer: 1 } }]);
    let second = Token { transfer: 2, ..token_for_2() };
    assert_eq!(tell(&mut node, 1, Message::Token(second)), [reject(Rejection::SecondToken)]);
}

#[test]
fn a_copy_is_dropped_only_when_its_own_transfer_is_known_to_have_arrived() {
    let mut giver = node(1);
    tell(&mut giver, 2, request_of(2, 1, 0, Some((1, 1))));
    assert!(giver.view().keeps_copy);
    tell(&mut giver, 3, Message::Have { transfer: 1 });
    tell(&mut giver, 2, Message::Have { transfer: 0 });
    assert!(giver.view().keeps_copy);
    assert!(giver.is_stale(NodeId(2), &Message::Have { transfer: 0 }));
    assert!(!giver.is_stale(NodeId(2), &Message::Have { transfer: 1 }));
    tell(&mut giver, 2, Message::Have { transfer: 1 });
    assert!(!giver.view().keeps_copy);
}

#[test]
fn a_node_answers_to_the_papers_states() {
    let mut captain = node(1);
    assert_eq!(captain.state(), State::HI);
    ask(&mut captain, 1, X).unwrap();
    assert_eq!(captain.state(), State::EC);
    tell(&mut captain, 2, request_of(2, 1, 0, Some((1, 1))));
    captain.handle(Event::Release { request: RequestId(1), units: Units(1) }).unwrap();
    assert_eq!(captain.state(), State::HS);
    ask(&mut captain, 2, Demand::session(2, 1)).unwrap();
    assert_eq!((captain.state(), captain.view().waiting.len()), (State::HS, 1));

    let mut follower = node(2);
    assert_eq!(follower.state(), State::N);
    ask(&mut follower, 1, X).unwrap();
    assert_eq!(follower.state(), State::R);
    tell(&mut follower, 1, Message::Start(start_for(2, 1)));
    assert_eq!((follower.state(), follower.view().captain), (State::EF, Some(NodeId(1))));
    assert_eq!(follower.view().role, "EF");
}

#[test]
fn all_of_a_session_share_its_fence_and_later_sessions_have_greater_ones() {
    let mut holder = node(1);
    let first = granted(&ask(&mut holder, 1, X).unwrap())[0].clone();
    let effects = tell(&mut holder, 2, request_of(2, 1, 0, Some((1, 1))));
    let [Effect::Send { message: Message::Start(start), .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(Some(start.fence), first.fence);
    tell(&mut holder, 3, request_of(3, 1, 0, Some((2, 1))));
    holder.handle(Event::Release { request: RequestId(1), units: Units(1) }).unwrap();
    let effects = tell(&mut holder, 2, complete_of(2, 1, 1));
    let [Effect::Send { to: NodeId(3), message: Message::Token(token) }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let mut next = node(3);
    ask(&mut next, 1, Demand::session(2, 1)).unwrap();
    let second = granted(&tell(&mut next, 1, Message::Token(token.clone())))[0].clone();
    assert!(second.fence > Some(start.fence));
}

#[test]
fn only_what_can_never_matter_is_stale() {
    let mut node = node(1);
    let wanted = request_of(2, 2, 1, Some((1, 1)));
    tell(&mut node, 2, wanted.clone());
    let is_stale = |node: &Node, message: &Message| node.is_stale(NodeId(2), message);
    let again = match wanted.clone() {
        Message::Request { node, record, .. } => Message::Request { node, record, again: true },
        other @ (Message::Start(_)
        | Message::Complete { .. }
        | Message::Ask { .. }
        | Message::Token(_)
        | Message::Have { .. }) => other,
    };
    assert!(is_stale(&node, &wanted), "heard already");
    assert!(!is_stale(&node, &again), "said again, it may move something");
    assert!(is_stale(&node, &request_of(2, 2, 0, Some((1, 1)))));
    assert!(is_stale(&node, &complete_of(2, 1, 9)));
    assert!(!is_stale(&node, &complete_of(2, 2, 2)));
    tell(&mut node, 2, complete_of(2, 2, 2));
    assert!(is_stale(&node, &again) && is_stale(&node, &complete_of(2, 2, 2)));

    let mut follower = self::node(2);
    ask(&mut follower, 1, X).unwrap();
    let start = Message::Start(start_for(2, 1));
    let ask = Message::Ask { node: NodeId(2), number: RequestId(1) };
    assert!(!follower.is_stale(NodeId(1), &start));
    tell(&mut follower, 1, start.clone());
    assert!(follower.is_stale(NodeId(1), &start) && !follower.is_stale(NodeId(1), &ask));
    assert_eq!(tell(&mut follower, 1, ask.clone()), [], "still inside");
    follower.handle(Event::Release { request: RequestId(1), units: Units(1) }).unwrap();
    assert!(follower.is_stale(NodeId(1), &start) && !follower.is_stale(NodeId(1), &ask));
    let answer = Effect::Send { to: NodeId(1), message: request_of(2, 1, 1, None) };
    assert_eq!(tell(&mut follower, 1, ask), [answer]);
}

#[test]
fn a_timer_of_an_earlier_request_is_ignored() {
    let mut node = node(2);
    ask(&mut node, 1, X).unwrap();
    node.handle(Event::Cancel { request: RequestId(1) }).unwrap();
    ask(&mut node, 2, X).unwrap();
    let expire = |node: &mut Node, epoch| node.handle(Event::Expired { timer: Timer { epoch } }).unwrap();
    assert_eq!(expire(&mut node, 1), []);
    assert_eq!(expire(&mut node, 2).len(), 2, "the request to all and the next timer");
}

#[test]
fn without_retry_there_are_no_timers() {
    let members = vec![NodeId(1), NodeId(2)];
    let config = Config::among(members, NodeId(2), Level(1), None);
    let effects = ask(&mut Node::new(config), 1, X).unwrap();
    assert!(matches!(effects.as_slice(), [Effect::Broadcast { .. }]), "{effects:?}");
}

/// Adds to every number of a kind what stands here for it.
struct Shift(BTreeMap<&'static str, i64>);

impl CounterVisitor for Shift {
    fn visit(&mut self, line: Line, value: i64) -> i64 {
        value + self.0[line.name]
    }
}

#[test]
fn renumbered_nodes_and_messages_behave_the_same() {
    let shift =
        || Shift(BTreeMap::from([("request", 40), ("attempt", 50), ("transfer", 60), ("clock", 70), ("epoch", 80)]));
    let (mut holder, mut asker) = (node(1), node(2));
    ask(&mut holder, 1, X).unwrap();
    ask(&mut asker, 1, Demand::session(2, 1)).unwrap();
    tell(&mut holder, 2, request_of(2, 1, 0, Some((2, 1))));
    tell(&mut holder, 3, request_of(3, 1, 0, Some((2, 1))));
    let (mut shifted_holder, mut shifted_asker) = (holder.clone(), asker.clone());
    shifted_holder.visit_counters(&mut shift());
    shifted_asker.visit_counters(&mut shift());
    assert_ne!(shifted_holder, holder);

    let release = |request| Event::Release { request: RequestId(request), units: Units(1) };
    let plain = holder.handle(release(1)).unwrap();
    let shifted = shifted_holder.handle(release(41)).unwrap();
    let renumber = |effect: Effect<Message>| {
        let Effect::Send { to, mut message } = effect else { panic!("{effect:?}") };
        Node::visit_message_counters(&mut message, &mut shift());
        Effect::Send { to, message }
    };
    assert_eq!(plain.iter().cloned().map(renumber).collect::<Vec<_>>(), shifted);
    assert_eq!(plain.len(), 2, "a start to 3 and the token to 2");
    holder.visit_counters(&mut shift());
    assert_eq!(holder, shifted_holder);

    for effect in shifted {
        if let Effect::Send { to: NodeId(2), message } = effect {
            assert_eq!(granted(&tell(&mut shifted_asker, 1, message)).len(), 1);
        }
    }
}

#[test]
fn where_anyone_may_come_nobody_is_rejected_as_a_stranger() {
    let retry = Delay { least_ms: 1, most_ms: 2 };
    let mut node = Node::new(Config::open(NodeId(5), Level(3), retry).with_token());
    let effects = tell(&mut node, 900, request_of(900, 1, 0, Some((7, 1))));
    assert!(
        matches!(effects.as_slice(), [Effect::Send { to: NodeId(900), message: Message::Token(_) }]),
        "{effects:?}"
    );
    assert_eq!(node.view().neighbours, [NodeId(900)], "it knows those it has heard of");
    let mut closed = self::node(1);
    let reason = Rejection::UnknownSender;
    let effects = tell(&mut closed, 900, request_of(900, 1, 0, Some((7, 1))));
    assert_eq!(effects, [Effect::Reject { from: NodeId(900), reason }]);
}

#[test]
fn the_token_starts_where_it_is_said_to_and_not_at_the_smallest_id() {
    let retry = Delay { least_ms: 1, most_ms: 2 };
    let open = |id| Config::open(NodeId(id), Level(3), retry);
    assert_eq!(Node::new(open(1)).state(), State::N);
    assert_eq!(Node::new(open(2).with_token()).state(), State::HI);
}
