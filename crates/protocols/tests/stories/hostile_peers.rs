//! Whatever a peer sends, no node panics, and what it rejects leaves it as it was.
//!
//! A small network runs at random. Now and then a message that is in flight is damaged: one of its numbers becomes
//! another one, preferably an extreme one, or it is delivered to the wrong node or twice. From then on rules may break,
//! since a member is lying; nodes must not.

use std::collections::BTreeMap;

use meshlock_core::group::Level;
use meshlock_core::relay::Relayed;
use meshlock_core::{
    Aging, Delay, Demand, Effect, Event, NodeId, Order, Protocol, RequestId, Timer, Units, flood, group, relay,
    reverse_link,
};
use meshlock_protocols::baselines::single::{self, Algorithm};
use meshlock_protocols::baselines::{central, lamport, naimi_trehel, raymond, raynal, ricart_agrawala, suzuki_kasami};
use serde_json::Value;

const NODES: u32 = 3;
const RUNS: u64 = 400;
const STEPS: usize = 150;
const RETRY: Delay = Delay { least_ms: 1, most_ms: 2 };

/// A fixed sequence for every seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).expect("less than a usize")
    }
}

/// Replaces one number somewhere inside.
fn damage(value: &mut Value, random: &mut Random) {
    let mut numbers = Vec::new();
    collect(value, &mut numbers);
    if numbers.is_empty() {
        return;
    }
    let at = random.below(numbers.len());
    let extremes: [Value; 9] = [
        0.into(),
        1.into(),
        7.into(),
        (-1).into(),
        u32::MAX.into(),
        i64::MAX.into(),
        i64::MIN.into(),
        u64::MAX.into(),
        (1_u64 << 62).into(),
    ];
    *numbers.swap_remove(at) = extremes[random.below(extremes.len())].clone();
}

fn collect<'a>(value: &'a mut Value, numbers: &mut Vec<&'a mut Value>) {
    match value {
        Value::Number(_) => numbers.push(value),
        Value::Array(items) => items.iter_mut().for_each(|item| collect(item, numbers)),
        Value::Object(fields) => fields.values_mut().for_each(|field| collect(field, numbers)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Runs networks with a liar among the wires; returns how many messages were damaged and how many rejected.
fn survives<P>(make: impl Fn(NodeId) -> P, linked: bool, demands: &[Demand]) -> (u32, u32)
where
    P: Protocol,
    P::Message: serde::Serialize + serde::de::DeserializeOwned,
{
    let (mut damaged, mut rejected) = (0, 0);
    for seed in 0..RUNS {
        let mut random = Random(seed);
        let mut nodes: BTreeMap<NodeId, P> = (0..NODES).map(|id| (NodeId(id), make(NodeId(id)))).collect();
        let mut wires: Vec<(NodeId, NodeId, P::Message)> = Vec::new();
        let mut timers: BTreeMap<NodeId, Timer> = BTreeMap::new();
        let mut next_request = 1;
        let mut todo: Vec<(NodeId, Event<P::Message>)> = Vec::new();
        if linked {
            let pairs = (0..NODES).flat_map(|a| (0..NODES).map(move |b| (a, b))).filter(|(a, b)| a != b);
            todo.extend(pairs.map(|(a, b)| (NodeId(a), Event::LinkUp { neighbour: NodeId(b) })));
        }
        for _ in 0..STEPS {
            let node = NodeId(u32::try_from(random.below(NODES as usize)).expect("less than a u32"));
            let (node, event) = match todo.pop() {
                Some(first) => first,
                None => match random.below(10) {
                    0 => {
                        next_request += 1;
                        let demand = demands[random.below(demands.len())];
                        (node, Event::Request { request: RequestId(next_request), demand })
                    }
                    1 => {
                        let Some(grant) = nodes[&node].view().holding.first().cloned() else { continue };
                        (node, Event::Release { request: grant.request, units: grant.units })
                    }
                    2 => {
                        let Some(timer) = timers.remove(&node) else { continue };
                        (node, Event::Expired { timer })
                    }
                    3 if linked => (node, Event::LinkDown { neighbour: NodeId((node.0 + 1) % NODES) }),
                    4 if linked => (node, Event::LinkUp { neighbour: NodeId((node.0 + 1) % NODES) }),
                    _ => {
                        if wires.is_empty() {
                            continue;
                        }
                        let (from, mut to, mut message) = wires.swap_remove(random.below(wires.len()));
                        match random.below(6) {
                            0 | 1 => {
                                let mut value = serde_json::to_value(&message).expect("messages can be written");
                                damage(&mut value, &mut random);
                                let Ok(lie) = serde_json::from_value(value) else { continue };
                                message = lie;
                                damaged += 1;
                            }
                            2 => wires.push((from, to, message.clone())),
                            3 => to = node,
                            _ => {}
                        }
                        (to, Event::Receive { from, message })
                    }
                },
            };
            let machine = nodes.get_mut(&node).expect("wires lead to nodes");
            let before = machine.clone();
            let Ok(effects) = machine.handle(event) else {
                assert_eq!(*machine, before, "a refused call changed the node (seed {seed})");
                continue;
            };
            for effect in effects {
                match effect {
                    Effect::Send { to, message } => wires.push((node, to, message)),
                    Effect::Multicast { to, message } => {
                        wires.extend(to.into_iter().map(|to| (node, to, message.clone())));
                    }
                    Effect::Broadcast { message } => {
                        wires.extend(
                            (0..NODES).map(NodeId).filter(|to| *to != node).map(|to| (node, to, message.clone())),
                        );
                    }
                    Effect::Arm { timer, .. } => {
                        timers.insert(node, timer);
                    }
                    Effect::Reject { .. } => {
                        assert_eq!(nodes[&node], before, "a rejected message changed the node (seed {seed})");
                        rejected += 1;
                    }
                    Effect::Granted { .. } => {}
                }
            }
            wires.truncate(200);
            wires.retain(|(_, to, _)| nodes.contains_key(to));
            let _ = nodes[&node].view();
        }
    }
    (damaged, rejected)
}

/// The test is worth something only if there were lies, and if some were noticed.
fn assert_tested((damaged, rejected): (u32, u32)) {
    assert!(damaged > 400 && rejected > 50, "{damaged} damaged, {rejected} rejected");
}

fn members() -> Vec<NodeId> {
    (0..NODES).map(NodeId).collect()
}

fn group_node(id: NodeId) -> group::Node {
    group::Node::new(group::Config::among(members(), id, Level(3), Some(RETRY)))
}

const SESSIONS: [Demand; 3] = [Demand::session(1, 1), Demand::session(2, 3), Demand::session(1, 2)];

#[test]
fn reverse_link_survives_a_lying_member() {
    let node = |id: NodeId| {
        let order = Order::Priority { aging: Aging(2) };
        let starts_with_token = id == NodeId(0);
        let capacity = Units(3);
        reverse_link::Node::new(reverse_link::Config {
            id,
            starts_with_token,
            capacity,
            order,
            joins: 1,
            passes: 1,
            numbered: true,
        })
    };
    let demands = [Demand::units(1, 0), Demand::units(3, i32::MAX), Demand::units(2, i32::MIN), Demand::session(4, 1)];
    assert_tested(survives(node, true, &demands));
}

#[test]
fn flood_survives_a_lying_member() {
    let node = |id| {
        let config = flood::Config::new(id);
        flood::Node::new(if id == NodeId(0) { config.with_token() } else { config })
    };
    assert_tested(survives(node, true, &[Demand::units(1, 0)]));
}

#[test]
fn group_survives_a_lying_member() {
    assert_tested(survives(group_node, false, &SESSIONS));
}

#[test]
fn group_over_the_relay_survives_a_lying_member() {
    let node = |id| Relayed::new(group_node(id), relay::Config::default());
    assert_tested(survives(node, true, &SESSIONS));
}

fn classic<A: Algorithm>(setting: A::Setting, demands: &[Demand])
where
    A::Setting: Clone,
    A::Message: serde::Serialize + serde::de::DeserializeOwned,
{
    assert_tested(survives(|id| single::Node::<A>::new(id, members(), setting.clone()), false, demands));
}

#[test]
fn classics_survive_a_lying_member() {
    let one = [Demand::units(1, 0)];
    classic::<suzuki_kasami::Algorithm>((), &one);
    classic::<ricart_agrawala::Algorithm>((), &one);
    classic::<lamport::Algorithm>((), &one);
    classic::<naimi_trehel::Algorithm>((), &one);
    classic::<raymond::Algorithm>((), &one);
    classic::<raynal::Algorithm>(Units(3), &[1, 2, 3].map(|units| Demand::units(units, 0)));
}

#[test]
fn central_survives_a_lying_member() {
    let order = Order::Priority { aging: Aging(2) };
    let node = |id| {
        central::Node::new(central::Config {
            capacity: Units(3),
            order,
            joins: 1,
            ..central::Config::mutex(id, members())
        })
    };
    let demands = [Demand::units(1, 0), Demand::units(3, i32::MAX), Demand::units(2, i32::MIN), Demand::session(4, 1)];
    assert_tested(survives(node, false, &demands));
}
