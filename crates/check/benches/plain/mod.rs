//! The same network for `stateright`: a plain value per state, and its `Model` trait.
//!
//! It runs the very node type that we explore, and says what the explorer says about the world: channels keep their
//! order, one request of a node at a time, requests are numbered from 1. What an application waits for or uses is kept
//! beside its node, because building a whole view for every question would only slow this side down.

use std::collections::{BTreeMap, VecDeque};

use meshlock_check::Model;
use meshlock_core::reverse_link::{Message, Node};
use meshlock_core::{Demand, Effect, Event, Grant, NodeId, Protocol, RequestId, Units};
use meshlock_properties::Rule;
use stateright::{Checker, Model as _, Property};

/// A network of nodes at rest, with a number of requests for each.
#[derive(Clone)]
pub(crate) struct Plain {
    start: World,
    demand: Demand,
    requests: u32,
    capacity: Units,
    watches_exclusion: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    nodes: Vec<Node>,
    channels: BTreeMap<(u32, u32), VecDeque<Message>>,
    applications: Vec<Application>,
}

/// What the application of a node does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Application {
    requests_left: u32,
    doing: Doing,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Doing {
    Nothing,
    Waiting,
    Using(Grant),
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Deliver(u32, u32),
    Request(u32),
    Release(u32),
}

/// How many different states there are, and how many steps lead to them (with the start as one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) unique: u64,
    pub(crate) generated: u64,
}

impl Plain {
    /// The same start, work and number of units as in our model. Panics unless it is one that this side can play.
    pub(crate) fn of(model: &Model) -> Self {
        let work = &model.workload.nodes[0];
        assert!(
            model.workload.nodes.iter().all(|other| other == work) && work.demands.len() == 1,
            "one demand for all"
        );
        assert_eq!((model.workload.outstanding, model.workload.endless), (1, false), "one request at a time, bounded");
        let links = model.topology.links().iter().map(|link| (link.low().0, link.high().0));
        let directions = links.flat_map(|(low, high)| [(low, high), (high, low)]);
        let application = Application { requests_left: work.count, doing: Doing::Nothing };
        let start = World {
            nodes: model.nodes.iter().map(plain).collect(),
            channels: directions.map(|direction| (direction, VecDeque::new())).collect(),
            applications: vec![application; model.nodes.len()],
        };
        let capacity = model.setting.capacity;
        let watches_exclusion = model.rules.has(Rule::Exclusion);
        Self { start, demand: work.demands[0], requests: work.count, capacity, watches_exclusion }
    }

    /// Visits every state on one thread, breadth first.
    pub(crate) fn explore(self) -> Counts {
        let checker = self.checker().threads(1).spawn_bfs().join();
        assert!(checker.is_done() && checker.discoveries().is_empty(), "everything was seen and nothing is wrong");
        Counts { unique: checker.unique_state_count() as u64, generated: checker.state_count() as u64 }
    }
}

impl stateright::Model for Plain {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![self.start.clone()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Act>) {
        let busy = world.channels.iter().filter(|(_, content)| !content.is_empty());
        actions.extend(busy.map(|((from, to), _)| Act::Deliver(*from, *to)));
        for (node, application) in (0..).zip(&world.applications) {
            match application.doing {
                Doing::Using(_) => actions.push(Act::Release(node)),
                Doing::Nothing if application.requests_left > 0 => actions.push(Act::Request(node)),
                Doing::Nothing | Doing::Waiting => {}
            }
        }
    }

    fn next_state(&self, world: &World, action: Act) -> Option<World> {
        let mut next = world.clone();
        match action {
            Act::Deliver(from, to) => {
                let message = next.channels.get_mut(&(from, to))?.pop_front()?;
                next.handle(to, Event::Receive { from: NodeId(from), message });
            }
            Act::Request(node) => {
                let application = &mut next.applications[node as usize];
                application.requests_left -= 1;
                application.doing = Doing::Waiting;
                let request = RequestId(u64::from(self.requests - application.requests_left));
                next.handle(node, Event::Request { request, demand: self.demand });
            }
            Act::Release(node) => {
                let doing = &mut next.applications[node as usize].doing;
                let Doing::Using(Grant { request, units, .. }) = *doing else { return None };
                *doing = Doing::Nothing;
                next.handle(node, Event::Release { request, units });
            }
        }
        Some(next)
    }

    /// One property in either case: without any, `stateright` has nothing to look for and stops at once.
    fn properties(&self) -> Vec<Property<Self>> {
        if self.watches_exclusion {
            vec![Property::always("exclusion", |plain, world: &World| world.in_use() <= plain.capacity.0)]
        } else {
            vec![Property::always("true", |_, _| true)]
        }
    }
}

impl World {
    fn handle(&mut self, node: u32, event: Event<Message>) {
        let effects = self.nodes[node as usize].handle(event).expect("no caller makes a mistake here");
        for effect in effects {
            match effect {
                Effect::Send { to, message } => self.push((node, to.0), message),
                Effect::Multicast { to, message } => {
                    to.into_iter().for_each(|to| self.push((node, to.0), message.clone()));
                }
                Effect::Broadcast { message } => {
                    for (_, content) in self.channels.iter_mut().filter(|((from, _), _)| *from == node) {
                        content.push_back(message.clone());
                    }
                }
                Effect::Granted { grant } => self.applications[node as usize].doing = Doing::Using(grant),
                Effect::Arm { .. } => panic!("reverse-link has no timers"),
                Effect::Reject { from, reason } => panic!("node {node} rejects a message of {from}: {reason}"),
            }
        }
    }

    fn push(&mut self, direction: (u32, u32), message: Message) {
        self.channels.get_mut(&direction).expect("messages go to neighbours only").push_back(message);
    }

    fn in_use(&self) -> u32 {
        let used = |application: &Application| match &application.doing {
            Doing::Using(grant) => grant.units.0,
            Doing::Nothing | Doing::Waiting => 0,
        };
        self.applications.iter().map(used).sum()
    }
}

/// The node without the enum around it.
fn plain(node: &meshlock_protocols::Node) -> Node {
    let meshlock_protocols::Node::ReverseLink(node) = node else { panic!("the benchmark is of reverse-link") };
    node.clone()
}
