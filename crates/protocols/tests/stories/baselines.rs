//! The baselines do what is known of them: what an entry costs, who comes first, what they refuse.

use std::collections::{BTreeMap, VecDeque};

use crate::story::Story;
use meshlock_core::{
    Aging, Deadline, Demand, Effect, Event, Fence, Misuse, NodeId, Order, Priority, Protocol, RequestId, Session,
    Units, Urgency,
};
use meshlock_protocols::baselines::single::{self, Algorithm};
use meshlock_protocols::baselines::{central, lamport, naimi_trehel, raymond, raynal, ricart_agrawala, suzuki_kasami};

const ONE: Demand = Demand::units(1, 0);

fn members(count: u32) -> Vec<NodeId> {
    (1..=count).map(NodeId).collect()
}

fn central(id: NodeId, count: u32) -> central::Node {
    central::Node::new(central::Config::mutex(id, members(count)))
}

/// Of an algorithm without parameters.
fn plain<A: Algorithm<Setting = ()>>(id: NodeId, count: u32) -> single::Node<A> {
    single::Node::new(id, members(count), ())
}

fn raynal(id: NodeId, count: u32, k: u32) -> raynal::Node {
    raynal::Node::new(id, members(count), Units(k))
}

/// A network that counts: nodes 1 to n, messages in the order of sending.
struct Net<P: Protocol> {
    nodes: BTreeMap<NodeId, P>,
    wires: VecDeque<(NodeId, NodeId, P::Message)>,
    sent: usize,
    requests: u64,
    /// Grants in use, oldest first.
    inside: Vec<(NodeId, RequestId, Units)>,
}

impl<P: Protocol> Net<P> {
    fn new(count: u32, make: impl Fn(NodeId, u32) -> P) -> Self {
        let nodes = members(count).into_iter().map(|id| (id, make(id, count))).collect();
        Self { nodes, wires: VecDeque::new(), sent: 0, requests: 0, inside: Vec::new() }
    }

    fn event(&mut self, node: u32, event: Event<P::Message>) {
        let node = NodeId(node);
        let machine = self.nodes.get_mut(&node).expect("messages lead to nodes");
        for effect in machine.handle(event).expect("the applications here make no mistakes") {
            match effect {
                Effect::Send { to, message } => {
                    self.sent += 1;
                    self.wires.push_back((node, to, message));
                }
                Effect::Granted { grant } => self.inside.push((node, grant.request, grant.units)),
                Effect::Multicast { .. } | Effect::Broadcast { .. } | Effect::Arm { .. } | Effect::Reject { .. } => {
                    panic!("not expected of a baseline: {effect:?}")
                }
            }
        }
    }

    fn asks(&mut self, node: u32, units: u32) {
        self.requests += 1;
        let request = RequestId(self.requests);
        self.event(node, Event::Request { request, demand: Demand::units(units, 0) });
    }

    fn settles(&mut self) {
        while let Some((from, to, message)) = self.wires.pop_front() {
            self.event(to.0, Event::Receive { from, message });
        }
    }

    /// The request that has been inside longest leaves.
    fn first_leaves(&mut self) {
        let (node, request, units) = self.inside.remove(0);
        self.event(node.0, Event::Release { request, units });
    }

    /// The messages of one entry without contention.
    fn cost_of_entry(&mut self, node: u32) -> usize {
        let before = self.sent;
        self.asks(node, 1);
        self.settles();
        assert_eq!(self.inside.first().map(|(who, ..)| who.0), Some(node), "it is granted");
        self.first_leaves();
        self.settles();
        self.sent - before
    }

    /// What it costs if all ask at once, and how many were let in.
    fn cost_of_rush(&mut self) -> (usize, usize) {
        let before = self.sent;
        let all: Vec<u32> = self.nodes.keys().map(|id| id.0).collect();
        for &node in &all {
            self.asks(node, 1);
        }
        self.settles();
        let mut entries = 0;
        while !self.inside.is_empty() {
            entries += 1;
            self.first_leaves();
            self.settles();
        }
        assert_eq!(entries, all.len(), "all were granted");
        (self.sent - before, entries)
    }
}

/// An entry costs so much when idle; in a rush the whole costs at least and at most so much.
fn costs<P: Protocol>(
    make: impl Fn(NodeId, u32) -> P,
    idle: impl Fn(usize) -> usize,
    rush: impl Fn(usize) -> [usize; 2],
) {
    for count in 1..=7 {
        let n = count as usize;
        for node in 1..=count {
            assert_eq!(Net::new(count, &make).cost_of_entry(node), idle(n), "node {node} of {n}, idle");
        }
        let (cost, _) = Net::new(count, &make).cost_of_rush();
        let [least, most] = rush(n);
        assert!((least..=most).contains(&cost), "{n} nodes in a rush: {cost} is not in {least}..={most}");
    }
}

#[test]
fn ricart_agrawala_costs_two_messages_for_each_other_node() {
    costs(plain::<ricart_agrawala::Algorithm>, |n| 2 * (n - 1), |n| [2 * n * (n - 1); 2]);
}

#[test]
fn lamport_costs_three_messages_for_each_other_node() {
    costs(plain::<lamport::Algorithm>, |n| 3 * (n - 1), |n| [3 * n * (n - 1); 2]);
}

#[test]
fn raynal_with_one_unit_is_ricart_agrawala() {
    costs(|id, n| raynal(id, n, 1), |n| 2 * (n - 1), |n| [2 * n * (n - 1); 2]);
}

#[test]
fn raynal_costs_two_to_three_messages_for_each_other_node() {
    let bounds = |n: usize| [2 * n * (n - 1), 3 * n * (n - 1)];
    costs(|id, n| raynal(id, n, 3), |n| 2 * (n - 1), bounds);
    // In a rush all ask with the same clock: the one with the greatest id gets two answers from each other node.
    let (cost, entries) = Net::new(4, |id, n| raynal(id, n, 4)).cost_of_rush();
    assert_eq!(cost, 2 * entries * (entries - 1) + (3 + 2 + 1), "one more for each pair");
}

#[test]
fn suzuki_kasami_costs_n_messages_or_none_at_the_holder() {
    for count in 2..=7 {
        let mut net = Net::new(count, plain::<suzuki_kasami::Algorithm>);
        assert_eq!(net.cost_of_entry(1), 0);
        for node in 2..=count {
            assert_eq!(net.cost_of_entry(node), count as usize);
            assert_eq!(net.cost_of_entry(node), 0, "it has the token now");
        }
        let (cost, entries) = net.cost_of_rush();
        assert_eq!(cost, (entries - 1) * count as usize, "all but the holder");
    }
}

#[test]
fn a_coordinator_costs_three_messages_or_none_at_home() {
    for count in 1..=7 {
        let mut net = Net::new(count, central);
        assert_eq!(net.cost_of_entry(1), 0);
        for node in 2..=count {
            assert_eq!(net.cost_of_entry(node), 3);
        }
        assert_eq!(net.cost_of_rush().0, 3 * (count as usize - 1));
    }
}

/// The distance of two nodes in a binary tree, from the numbers of its places alone.
fn distance(mut a: u32, mut b: u32) -> usize {
    let mut steps = 0;
    while a != b {
        (a, b) = (a.max(b) / 2, a.min(b));
        steps += 1;
    }
    steps
}

#[test]
fn raymond_costs_twice_the_distance_to_the_token() {
    let mut net = Net::new(9, plain::<raymond::Algorithm>);
    let mut holder = 1;
    for node in [1, 9, 2, 2, 7, 8, 1, 5, 3, 6, 4] {
        assert_eq!(net.cost_of_entry(node), 2 * distance(holder, node), "{holder} to {node}");
        holder = node;
    }
}

#[test]
fn a_first_request_of_naimi_trehel_costs_two_messages() {
    for count in 2..=7 {
        assert_eq!(Net::new(count, plain::<naimi_trehel::Algorithm>).cost_of_entry(1), 0);
        for node in 2..=count {
            assert_eq!(Net::new(count, plain::<naimi_trehel::Algorithm>).cost_of_entry(node), 2);
        }
    }
}

#[test]
fn naimi_trehel_costs_at_most_n_messages_and_less_on_average() {
    let count = 16;
    let mut net = Net::new(count, plain::<naimi_trehel::Algorithm>);
    let (mut total, mut place, rounds) = (0, 1, 400);
    for _ in 0..rounds {
        place = (place * 75 + 74) % 65_537; // a fixed sequence that looks like none
        let cost = net.cost_of_entry(place % count + 1);
        assert!(cost <= count as usize, "{cost} messages");
        total += cost;
    }
    // The mean for one of n nodes chosen at random is the n-1st harmonic number, here 3.3, and one for the token.
    let mean = f64::from(u32::try_from(total).unwrap()) / f64::from(rounds);
    assert!((3.0..5.0).contains(&mean), "{mean} messages on average");
}

#[test]
fn everybody_in_a_rush_is_let_in_by_the_tokens_too() {
    Net::new(7, plain::<raymond::Algorithm>).cost_of_rush();
    Net::new(7, plain::<naimi_trehel::Algorithm>).cost_of_rush();
}

const CAST: [&str; 3] = ["ann", "bob", "cy"];

fn story<P: Protocol>(make: impl Fn(NodeId, u32) -> P) -> Story<P> {
    Story::new(&CAST, |id| make(id, 3)).any_to_any()
}

#[test]
fn raymond_asks_the_token_back_for_those_behind() {
    let mut story = Story::new(&["ann", "bob", "cy", "dan"], |id| plain::<raymond::Algorithm>(id, 4)).any_to_any();
    story.asks("ann", ONE).asks("dan", ONE).settles().asks("bob", ONE).settles().asks("cy", ONE).settles();
    story.releases("ann").settles().releases("dan").settles().releases("bob").settles();
    story.expect_holding(["cy"]).expect_token_at(["cy"]).expect_trace(
        "
        ann ask                -> granted
        dan ask                -> request to bob
        bob request from dan   -> request to ann
        ann request from bob   -> -
        bob ask                -> -
        cy  ask                -> request to ann
        ann request from cy    -> -
        ann release            -> privilege to bob, request to bob
        bob privilege from ann -> privilege to dan, request to dan
        bob request from ann   -> -
        dan privilege from bob -> granted
        dan request from bob   -> -
        dan release            -> privilege to bob
        bob privilege from dan -> granted
        bob release            -> privilege to ann
        ann privilege from bob -> privilege to cy
        cy  privilege from ann -> granted",
    );
}

#[test]
fn suzuki_kasami_serves_a_request_that_found_the_holder_inside() {
    let mut story = story(plain::<suzuki_kasami::Algorithm>);
    story.asks("ann", ONE).asks("cy", ONE).settles().releases("ann").settles().releases("cy").settles();
    story.expect_token_at(["cy"]).expect_trace(
        "
        ann ask             -> granted
        cy  ask             -> request to ann, request to bob
        ann request from cy -> -
        bob request from cy -> -
        ann release         -> token to cy
        cy  token from ann  -> granted
        cy  release         -> -",
    );
}

#[test]
fn in_ricart_agrawala_the_earlier_request_goes_first() {
    let mut story = story(plain::<ricart_agrawala::Algorithm>);
    story.asks("cy", ONE).delivers("cy", "ann").asks("ann", ONE).settles();
    story.expect_holding(["cy"]).expect_waiting(["ann"]).releases("cy").settles().expect_holding(["ann"]);
}

#[test]
fn in_lamports_queue_something_later_counts_as_an_answer() {
    let mut story = story(plain::<lamport::Algorithm>);
    // bob asks before it has heard of ann's request; ann's stamp is smaller among equals.
    story.asks("ann", ONE).asks("bob", ONE).delivers("bob", "ann").delivers("ann", "cy").delivers("cy", "ann");
    story.expect_holding(["ann"]).settles().releases("ann").settles().expect_holding(["bob"]);
}

#[test]
fn naimi_trehel_hands_the_token_straight_to_the_next() {
    let mut story = story(plain::<naimi_trehel::Algorithm>);
    story.asks("ann", ONE).asks("bob", ONE).settles().asks("cy", ONE).settles();
    story.releases("ann").settles().releases("bob").settles().expect_token_at(["cy"]).expect_trace(
        "
        ann ask              -> granted
        bob ask              -> request to ann
        ann request from bob -> -
        cy  ask              -> request to ann
        ann request from cy  -> request to bob
        bob request from ann -> -
        ann release          -> token to bob
        bob token from ann   -> granted
        bob release          -> token to cy
        cy  token from bob   -> granted",
    );
}

#[test]
fn raynal_lets_in_whoever_fits_beside_all_before_it() {
    let mut story = story(|id, n| raynal(id, n, 3));
    story.asks("ann", Demand::units(2, 0)).settles().asks("bob", Demand::units(2, 0)).settles();
    story.asks("cy", ONE).settles().expect_holding(["ann"]).expect_waiting(["bob", "cy"]);
    story.releases("ann").settles().expect_holding(["bob", "cy"]);
}

#[test]
fn raynal_does_not_confuse_permits_of_two_requests() {
    let mut story = story(|id, n| raynal(id, n, 3));
    story.asks("ann", Demand::units(2, 0)).settles().asks("cy", ONE).settles().expect_holding(["ann", "cy"]);
    // cy leaves and asks for all, while ann still owes it two units for the request before.
    story.releases("cy").settles().asks("cy", Demand::units(3, 0)).settles().expect_waiting(["cy"]);
    story.releases("ann").settles().expect_holding(["cy"]);
}

fn three_units(order: Order, joins: u32) -> Story<central::Node> {
    story(move |id, n| {
        central::Node::new(central::Config {
            capacity: Units(3),
            order,
            joins,
            ..central::Config::mutex(id, members(n))
        })
    })
}

const STRICT: Order = Order::Priority { aging: Aging(0) };

fn in_session(session: u64, units: u32, priority: i32) -> Demand {
    Demand { session: Some(Session(session)), ..Demand::units(units, priority) }
}

#[test]
fn the_coordinator_lets_nobody_pass_the_most_urgent() {
    let mut story = three_units(STRICT, 0);
    story.asks("bob", Demand::units(2, 0)).settles().asks("cy", Demand::units(2, 5)).settles();
    story.asks("ann", Demand::units(1, 4)).expect_holding(["bob"]).expect_waiting(["ann", "cy"]);
    story.releases("bob").settles().expect_holding(["ann", "cy"]);
}

#[test]
fn several_requests_of_a_node_are_served_by_the_coordinator() {
    let mut story = three_units(STRICT, 0);
    story.asks("bob", ONE).asks("bob", ONE).asks("bob", Demand::units(2, 0)).settles();
    story.expect_holding(["bob", "bob"]).expect_waiting(["bob"]).releases("bob").settles();
    story.expect_holding(["bob", "bob"]).expect_waiting([]);
}

#[test]
fn the_earliest_deadline_is_first_at_the_coordinator() {
    let mut story = three_units(Order::Deadline, 0);
    let by = |deadline| Demand { urgency: Urgency::Deadline(Deadline(deadline)), ..Demand::units(3, 0) };
    story.asks("ann", by(1)).asks("bob", by(20)).asks("cy", by(10)).settles().releases("ann").settles();
    story.expect_holding(["cy"]);
    story.asks("ann", ONE).expect_refused(Misuse::WrongUrgency { wants_deadline: true });
}

#[test]
fn grants_to_others_age_a_request_at_the_coordinator() {
    let mut story = three_units(Order::Priority { aging: Aging(2) }, 0);
    let all = |priority| Demand::units(3, priority);
    story.asks("ann", all(1)).asks("bob", all(0)).settles();
    story.asks("cy", all(1)).settles().releases("ann").settles().expect_holding(["cy"]);
    story.asks("ann", all(1)).settles().releases("cy").settles().expect_holding(["ann"]);
    // bob has seen two grants go to others, which is worth a step: it is as urgent as cy now, and came earlier.
    story.asks("cy", all(1)).settles().releases("ann").settles().expect_holding(["bob"]);
}

#[test]
fn one_may_join_the_running_session_past_the_front_and_no_more() {
    let mut story = three_units(STRICT, 1);
    story.asks("ann", in_session(1, 1, 0)).asks("bob", in_session(2, 1, 0)).settles();
    story.asks("cy", in_session(1, 1, 0)).settles().expect_holding(["ann", "cy"]);
    story.asks("cy", in_session(1, 1, 0)).settles().expect_waiting(["bob", "cy"]);
    story.releases("ann").releases("cy").settles().expect_holding(["bob"]).expect_waiting(["cy"]);
}

#[test]
fn a_cancellation_that_crosses_the_grant_gives_it_back() {
    let mut story = story(central);
    story.asks("bob", ONE).asks("cy", ONE).delivers("bob", "ann").cancels("bob").settles();
    story.expect_holding(["cy"]).expect_waiting([]).expect_trace(
        "
        bob ask              -> request to ann
        cy  ask              -> request to ann
        ann request from bob -> grant to bob
        bob cancel           -> cancel to ann
        ann request from cy  -> -
        bob grant from ann   -> -
        ann cancel from bob  -> grant to cy
        cy  grant from ann   -> granted",
    );
}

#[test]
fn a_changed_urgency_changes_the_place_in_the_queue() {
    let mut story = story(central);
    story.asks("ann", ONE).asks("bob", ONE).asks("cy", ONE).settles();
    story.reprioritizes("cy", Urgency::Priority(Priority(7))).settles().releases("ann").settles();
    story.expect_holding(["cy"]);
}

#[test]
fn callers_mistakes_are_refused() {
    let mut story = story(plain::<suzuki_kasami::Algorithm>);
    story.asks("bob", Demand::units(2, 0));
    story.expect_refused(Misuse::OverCapacity { asked: Units(2), capacity: Units(1) });
    story.asks("bob", Demand::session(1, 0)).expect_refused(Misuse::NoSessions);
    story.asks("bob", ONE).asks("bob", ONE).expect_refused(Misuse::Busy);
    story.cancels("bob");
    story.expect_refused(Misuse::Unsupported("cancel a request: what was sent cannot be called back"));
    let bob = story.id("bob");
    let release = |request, units| Event::Release { request: RequestId(request), units: Units(units) };
    story.event(bob, release(3, 1)).expect_refused(Misuse::NotGranted(RequestId(3)));
    story.event(bob, release(9, 1)).expect_refused(Misuse::UnknownRequest(RequestId(9)));
    story.settles().event(bob, release(3, 2));
    let request = RequestId(3);
    story.expect_refused(Misuse::PartialRelease { request, held: Units(1), asked: Units(2) });
    story.event(bob, Event::Cancel { request }).expect_refused(Misuse::AlreadyGranted(request));
    story.event(bob, release(3, 1)).event(bob, release(3, 1)).expect_refused(Misuse::AlreadyOver(request));
}

#[test]
fn a_token_that_nobody_waits_for_is_rejected() {
    let mut story = story(plain::<naimi_trehel::Algorithm>);
    let token = naimi_trehel::Message::Token { fence: Fence(9) };
    story.forges("bob", "cy", token).forges("bob", "ann", token).expect_trace(
        "
        cy  token from bob -> reject bob: an unrequested token
        ann token from bob -> reject bob: a second token",
    );
}

#[test]
fn fences_grow_with_every_grant_of_a_token() {
    let mut story = story(plain::<naimi_trehel::Algorithm>);
    let mut fences = Vec::new();
    for who in ["bob", "cy", "ann", "ann"] {
        story.asks(who, ONE).settles();
        fences.extend(story.view(who).holding[0].fence);
        story.releases(who);
    }
    assert_eq!(fences, [Fence(1), Fence(2), Fence(3), Fence(4)]);
}
