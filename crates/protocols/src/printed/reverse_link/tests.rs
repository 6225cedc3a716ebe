use std::vec;
use std::vec::Vec;

use super::*;
use meshlock_core::protocol::{Effect, Event, Misuse, Protocol, Rejection};
use meshlock_core::reverse_link::Height;
use meshlock_core::view::Origin;
use meshlock_core::vocabulary::{Deadline, Demand, NodeId, Rank, RequestId, Urgency};

type Effects = Vec<Effect<Message>>;

fn height(level: i64, depth: i64, id: u32) -> Height {
    Height { level, depth, id: NodeId(id) }
}

/// Line 0-1-2 with the token at 0.
fn line(config: Config) -> Vec<Node> {
    network(3, &[(0, 1), (1, 2)], NodeId(0), config)
}

fn ask(node: &mut Node, request: u64, demand: Demand) -> Effects {
    node.handle(Event::Request { request: RequestId(request), demand }).unwrap()
}

fn leave(node: &mut Node, request: u64, units: u32) -> Effects {
    node.handle(Event::Release { request: RequestId(request), units: Units(units) }).unwrap()
}

fn receive(node: &mut Node, height: Height, body: Body) -> Effects {
    node.handle(Event::Receive { from: height.id, message: Message { height, body } }).unwrap()
}

fn send(to: u32, height: Height, body: Body) -> Effect<Message> {
    Effect::Send { to: NodeId(to), message: Message { height, body } }
}

fn granted(request: u64, units: u32) -> Effect<Message> {
    let grant = meshlock_core::Grant {
        request: RequestId(request),
        units: Units(units),
        session: None,
        fence: None,
        slots: meshlock_core::Slots::NONE,
    };
    Effect::Granted { grant }
}

fn queue(node: &Node) -> Vec<(u32, i64)> {
    node.q.iter().map(|entry| (entry.node.0, entry.priority.0)).collect()
}

#[test]
fn heights_are_hops_to_the_holder_and_next_is_the_lowest_neighbour() {
    let nodes = network(5, &[(0, 1), (0, 2), (1, 2), (2, 3)], NodeId(3), Config::printed(1));
    assert_eq!(nodes.iter().map(|node| node.height.depth).collect::<Vec<_>>(), [2, 2, 1, 0, 5]);
    assert_eq!(nodes.iter().map(|node| node.next.0).collect::<Vec<_>>(), [2, 2, 3, 3, 4]);
    assert_eq!(nodes.iter().filter(|node| node.view().token.is_some()).count(), 1);
    assert_eq!(nodes[1].ht_vector[&NodeId(2)], nodes[2].height);
}

#[test]
fn an_idle_holder_enters_at_once() {
    let mut holder = line(Config::printed(3)).remove(0);
    assert_eq!(ask(&mut holder, 1, Demand::units(2, 5)), [granted(1, 2)]);
    let view = holder.view();
    assert_eq!((view.role.as_str(), view.token.unwrap().free), ("CS", Units(1)));
    assert_eq!(leave(&mut holder, 1, 2), []);
    assert_eq!((holder.view().role.as_str(), holder.t), ("NCS", Units(3)));
}

#[test]
fn only_the_first_of_several_requests_is_forwarded() {
    let mut middle = line(Config::printed(1)).remove(1);
    let own = middle.height;
    assert_eq!(receive(&mut middle, height(0, 2, 2), Body::Request(Rank(1))), [send(0, own, Body::Request(Rank(1)))]);
    assert_eq!(middle.view().asked, Some(NodeId(0)));
    assert_eq!(ask(&mut middle, 1, Demand::units(1, 1)), []);
    assert_eq!(queue(&middle), [(2, 1), (1, 1)]);
}

#[test]
fn the_token_lowers_its_receiver_and_goes_to_the_front_with_a_request_behind_it() {
    let mut middle = line(Config::printed(1)).remove(1);
    receive(&mut middle, height(0, 2, 2), Body::Request(Rank(4)));
    ask(&mut middle, 1, Demand::units(1, 1));
    let low = height(0, -1, 1);
    let expected = [
        send(0, low, Body::Link),
        send(2, low, Body::Link),
        send(2, low, Body::Token(Units(1))),
        send(2, low, Body::Request(Rank(1))),
    ];
    assert_eq!(receive(&mut middle, height(0, 0, 0), Body::Token(Units(1))), expected);
    assert_eq!(middle.ht_vector[&NodeId(2)], height(0, -2, 2));
    // Until the LINK that was foreseen arrives, other heights of 2 are not believed.
    receive(&mut middle, height(0, 2, 2), Body::Link);
    assert_eq!(middle.ht_vector[&NodeId(2)], height(0, -2, 2));
    receive(&mut middle, height(0, -2, 2), Body::Link);
    receive(&mut middle, height(0, -3, 2), Body::Link);
    assert_eq!(middle.ht_vector[&NodeId(2)], height(0, -3, 2));
}

/// Those of LINK to the giver and nothing else: a driver may send them with the next message.
#[test]
fn what_the_giver_of_the_token_has_foreseen_can_wait() {
    let mut middle = line(Config::printed(1)).remove(1);
    ask(&mut middle, 1, Demand::units(1, 1));
    let heard = Some(NodeId(0));
    let sent = receive(&mut middle, height(0, 0, 0), Body::Token(Units(1)));
    let can_wait = |effect: &Effect<Message>| {
        let Effect::Send { to, message } = effect else { return false };
        middle.can_wait(message, *to, heard)
    };
    let low = height(0, -1, 1);
    let waiting: Vec<_> = sent.iter().filter(|effect| can_wait(effect)).cloned().collect();
    assert_eq!(waiting, [send(0, low, Body::Link)]);
    let link = Message { height: low, body: Body::Link };
    assert!(!middle.can_wait(&link, NodeId(0), None), "nobody has given it anything");
    let raised = Message { height: height(1, 0, 1), body: Body::Link };
    assert!(!middle.can_wait(&raised, NodeId(0), heard), "nobody could foresee that");
}

#[test]
fn a_holder_that_waits_for_units_enters_when_they_come_back() {
    let mut last = line(Config::printed(2)).remove(2);
    ask(&mut last, 1, Demand::units(2, 1));
    receive(&mut last, height(0, 0, 1), Body::Token(Units(1)));
    assert_eq!((last.state, queue(&last)), (State::Es, vec![]), "dequeued, and waits");
    assert_eq!(last.view().queue[0].origin, Origin::Local(RequestId(1)), "but a viewer sees it");
    assert_eq!(receive(&mut last, height(0, 0, 1), Body::Release(Units(1))), [granted(1, 2)]);
}

/// The token waits at node 2 for a second unit.
fn waiting_holder(config: Config, priority: i32) -> Node {
    let mut last = line(config).remove(2);
    ask(&mut last, 1, Demand::units(2, priority));
    receive(&mut last, height(0, 0, 1), Body::Token(Units(1)));
    last
}

#[test]
fn a_preempted_waiter_is_forgotten_as_printed_and_speaks_for_itself_when_repaired() {
    let mut printed = waiting_holder(Config::printed(2), 1);
    let own = printed.height;
    let token = send(1, own, Body::Token(Units(1)));
    assert_eq!(receive(&mut printed, height(0, 0, 1), Body::Request(Rank(5))), core::slice::from_ref(&token));
    assert_eq!((printed.state, queue(&printed)), (State::Es, vec![]));

    let mut repaired = waiting_holder(Config::printed(2).repaired(Defect::P1), 1);
    let request = send(1, own, Body::Request(Rank(1)));
    assert_eq!(receive(&mut repaired, height(0, 0, 1), Body::Request(Rank(5))), [token, request]);
    assert_eq!(queue(&repaired), [(2, 1)]);
}

#[test]
fn a_repaired_waiter_keeps_the_token_from_those_who_are_not_more_urgent() {
    let mut repaired = waiting_holder(Config::printed(2).repaired(Defect::P1), 5);
    assert_eq!(receive(&mut repaired, height(0, 0, 1), Body::Request(Rank(5))), []);
    let enters = receive(&mut repaired, height(0, 0, 1), Body::Release(Units(1)));
    assert_eq!(enters[..2], [granted(1, 2), send(1, height(0, -1, 2), Body::Token(Units(0)))]);
}

/// The token waits at node 1 for a second unit, with a claim of node 0 (priority 3) before one of node 2 (priority 2).
fn busy_holder() -> Node {
    let mut middle = line(Config::printed(2)).remove(1);
    ask(&mut middle, 1, Demand::units(2, 5));
    receive(&mut middle, height(0, 0, 0), Body::Token(Units(1)));
    let above = |id| height(0, 9, id);
    middle.ht_vector.extend([(NodeId(0), above(0)), (NodeId(2), above(2))]);
    middle.q =
        vec![node::Entry { node: NodeId(0), priority: Rank(3) }, node::Entry { node: NodeId(2), priority: Rank(2) }];
    middle
}

#[test]
fn an_update_that_takes_the_token_away_is_also_reported_by_its_line_6() {
    let mut middle = busy_holder();
    let own = middle.height;
    let said = receive(&mut middle, height(0, 9, 2), Body::Update(Rank(7)));
    let expected = [
        send(2, own, Body::Token(Units(1))),  // 4, which gives the token to the front
        send(2, own, Body::Request(Rank(3))), // and a REQUEST behind it
        send(2, own, Body::Request(Rank(5))), // 5
        send(2, own, Body::Update(Rank(3))),  // 6 and 7: node 2 has come to the front from another place
    ];
    assert_eq!(said, expected);
}

#[test]
fn line_6_of_update_says_nothing_if_the_request_was_at_the_front_already() {
    let mut middle = busy_holder();
    middle.q.remove(0);
    let own = middle.height;
    let said = receive(&mut middle, height(0, 9, 2), Body::Update(Rank(7)));
    assert_eq!(said, [send(2, own, Body::Token(Units(1))), send(2, own, Body::Request(Rank(5)))]);
}

#[test]
fn section_3_ignores_a_request_while_no_link_has_come_and_the_appendix_only_its_height() {
    for (readings, queued) in [(Readings::NONE, vec![(0, 4)]), (Readings::NONE.with(Reading::Section3), vec![])] {
        let mut middle = line(Config::printed(1)).remove(1).read_as(readings);
        middle.link_not_received.insert(NodeId(0));
        middle.ht_vector.insert(NodeId(0), height(0, 9, 0));
        receive(&mut middle, height(0, 0, 0), Body::Request(Rank(4)));
        assert_eq!(queue(&middle), queued);
        assert_eq!(middle.ht_vector[&NodeId(0)], height(0, 9, 0));
    }
}

#[test]
fn a_sink_raises_itself_above_its_lowest_neighbour_and_asks_again() {
    let mut nodes = network(4, &[(0, 1), (1, 2), (1, 3)], NodeId(0), Config::printed(1));
    let middle = &mut nodes[1];
    ask(middle, 1, Demand::units(1, 1));
    receive(middle, height(0, 2, 2), Body::Request(Rank(1)));
    let raised = height(1, 1, 1);
    let expected = [send(2, raised, Body::Link), send(3, raised, Body::Link), send(2, raised, Body::Request(Rank(1)))];
    assert_eq!(middle.handle(Event::LinkDown { neighbour: NodeId(0) }).unwrap(), expected);
    assert_eq!(queue(middle), [(1, 1)], "the request of 2, now below, is deleted");
    // 2 raises itself too: partial reversal puts 1 just below it, above 3.
    receive(middle, height(2, 2, 2), Body::Link);
    receive(middle, height(1, 7, 3), Body::Link);
    assert_eq!(middle.height, height(2, 1, 1));
}

#[test]
fn a_new_link_hears_the_height_again_if_it_has_changed_meanwhile() {
    let mut nodes = network(3, &[(0, 1)], NodeId(0), Config::printed(1));
    let node = &mut nodes[1];
    assert_eq!(node.handle(Event::LinkUp { neighbour: NodeId(2) }).unwrap(), [send(2, height(0, 1, 1), Body::Link)]);
    assert_eq!(node.view().neighbours, [NodeId(0)], "not a neighbour before its first LINK");
    receive(node, height(0, 0, 0), Body::Token(Units(1)));
    assert_eq!(receive(node, height(0, 3, 2), Body::Link), [send(2, height(0, -1, 1), Body::Link)]);
    assert_eq!(node.view().neighbours, [NodeId(0), NodeId(2)]);
}

#[test]
fn aging_raises_what_is_queued_and_only_that() {
    let mut middle = line(Config::printed(2).aging(3)).remove(1);
    ask(&mut middle, 1, Demand::units(1, 9));
    receive(&mut middle, height(0, 2, 2), Body::Request(Rank(1)));
    let effects = receive(&mut middle, height(0, 0, 0), Body::Token(Units(2)));
    assert_eq!(effects[2..], [granted(1, 1), send(2, height(0, -1, 1), Body::Token(Units(1)))]);
    receive(&mut middle, height(0, 0, 0), Body::Request(Rank(1)));
    leave(&mut middle, 1, 1);
    assert_eq!(queue(&middle), [(0, 4)]);
}

#[test]
fn callers_mistakes_leave_the_node_alone() {
    let mut node = line(Config::printed(2)).remove(1);
    ask(&mut node, 3, Demand::units(1, 1));
    let deadline = Demand { urgency: Urgency::Deadline(Deadline(1)), ..Demand::units(1, 1) };
    let request = |request, demand| Event::Request { request: RequestId(request), demand };
    let release = |request, units| Event::Release { request: RequestId(request), units: Units(units) };
    let urgency = Urgency::Deadline(Deadline(1));
    let mistakes: [(Event<Message>, Misuse); 11] = [
        (request(4, Demand::units(0, 1)), Misuse::ZeroUnits),
        (request(4, Demand::units(3, 1)), Misuse::OverCapacity { asked: Units(3), capacity: Units(2) }),
        (request(3, Demand::units(1, 1)), Misuse::RequestNumberUsed(RequestId(3))),
        (request(4, Demand::session(1, 1)), Misuse::NoSessions),
        (request(4, deadline), Misuse::WrongUrgency { wants_deadline: false }),
        (request(4, Demand::units(1, 1)), Misuse::Busy),
        (release(3, 1), Misuse::NotGranted(RequestId(3))),
        (release(4, 1), Misuse::UnknownRequest(RequestId(4))),
        (release(2, 1), Misuse::AlreadyOver(RequestId(2))),
        (Event::Cancel { request: RequestId(3) }, Misuse::Unsupported("cancel a request")),
        (
            Event::Reprioritize { request: RequestId(3), urgency },
            Misuse::Unsupported("change the urgency of a request"),
        ),
    ];
    let before = node.clone();
    for (event, misuse) in mistakes {
        assert_eq!(node.handle(event), Err(misuse));
        assert_eq!(node, before);
    }
    receive(&mut node, height(0, 0, 0), Body::Token(Units(2)));
    let partial = Misuse::PartialRelease { request: RequestId(3), held: Units(1), asked: Units(2) };
    assert_eq!(node.handle(release(3, 2)), Err(partial));
}

#[test]
fn peers_mistakes_are_rejected_and_leave_the_node_alone() {
    let far = 1 << 62;
    let mut holder = line(Config::printed(2)).remove(0);
    let mistakes = [
        (2, height(0, 2, 2), Body::Link, Rejection::UnknownSender),
        (1, height(0, 2, 2), Body::Link, Rejection::ForeignHeight),
        (1, height(far + 1, 0, 1), Body::Link, Rejection::NumberOutOfRange),
        (1, height(0, i64::MIN, 1), Body::Link, Rejection::NumberOutOfRange),
        (1, height(0, 1, 1), Body::Token(Units(3)), Rejection::ImpossibleUnits),
        (1, height(0, 1, 1), Body::Release(Units(0)), Rejection::ImpossibleUnits),
        (1, height(0, 1, 1), Body::Release(Units(1)), Rejection::ImpossibleUnits),
        (1, height(0, 1, 1), Body::Token(Units(0)), Rejection::SecondToken),
    ];
    let before = holder.clone();
    for (from, height, body, reason) in mistakes {
        let from = NodeId(from);
        let message = Message { height, body };
        assert_eq!(holder.token_in(from, &message), None);
        let effects = holder.handle(Event::Receive { from, message }).unwrap();
        assert_eq!(effects, [Effect::Reject { from, reason }]);
        assert_eq!(holder, before);
    }
}

#[test]
fn the_view_shows_queue_and_outstanding_request() {
    let mut middle = line(Config::printed(3)).remove(1);
    ask(&mut middle, 7, Demand::units(2, 1));
    receive(&mut middle, height(0, 2, 2), Body::Request(Rank(4)));
    let view = middle.view();
    assert_eq!(
        view.queue.iter().map(|c| c.origin).collect::<Vec<_>>(),
        [Origin::Node(NodeId(2)), Origin::Local(RequestId(7))]
    );
    assert_eq!((view.asked, view.waiting[0].units), (Some(NodeId(0)), Units(2)));
    let token = Message { height: height(0, 0, 0), body: Body::Token(Units(2)) };
    assert_eq!(middle.token_in(NodeId(0), &token).unwrap().free, Units(2));
    let release = Message { height: height(0, 0, 0), body: Body::Release(Units(2)) };
    assert_eq!(Node::returning_in(&release).unwrap().units, Units(2));
    assert_eq!([Node::kind(&token), Node::kind(&release)], ["token", "release"]);
}
