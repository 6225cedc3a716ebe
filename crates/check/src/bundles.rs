//! Clients that want several resources, all or none, on the protocol that nodes run.
//!
//! Each resource is a mutex of `reverse-link` on a line of nodes, each node has one client. A client asks for its resources
//! one after the other, the next as soon as it has the one before, and gives all back at once; it may give up while it
//! waits. The rules: no resource is held by two clients, and from every state all clients can be served, without one of
//! them giving up: no deadlock.
//!
//! What makes that so is that all clients ask in one order. [`Asking::AsListed`] is the bug that leaves it out.

use std::collections::{BTreeMap, VecDeque};

use meshlock_core::reverse_link::{Config, Message, Node};
use meshlock_core::{Demand, Effect, Event, NodeId, Protocol, RequestId, Units};

use crate::plain::Plain;

/// In which order a client asks for its resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// In that of their names, which is the same for all clients.
    ByName,
    /// In that of its own list.
    AsListed,
}

/// Nodes in a line, and what the client of each wants.
#[derive(Clone, Debug)]
pub struct BundleModel {
    /// The resources that the client of each node wants, by number, in the order of its list.
    pub wants: Vec<Vec<usize>>,
    /// How often.
    pub rounds: u64,
    /// Whether clients may give up while they wait.
    pub gives_up: bool,
    /// The order in which they ask.
    pub asking: Asking,
}

/// All resources and clients at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    resources: Vec<Resource>,
    clients: Vec<Client>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Resource {
    nodes: Vec<Node>,
    /// What is on the way between two nodes.
    wires: BTreeMap<(usize, usize), VecDeque<Message>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Client {
    /// How often it has asked. Its requests of this round have this number.
    round: u64,
    /// It waits, or has all.
    is_busy: bool,
    /// How many resources it has, in the order in which it asks.
    held: usize,
}

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A client asks for the first of its resources.
    Ask(usize),
    /// A client gives all back.
    Release(usize),
    /// A client no longer waits.
    GiveUp(usize),
    /// A message arrives.
    Deliver {
        /// Of which resource.
        resource: usize,
        /// From this node.
        from: usize,
        /// At this node.
        to: usize,
    },
}

impl BundleModel {
    /// The resources of a client, in the order in which it asks.
    fn order(&self, client: usize) -> Vec<usize> {
        let mut order = self.wants[client].clone();
        match self.asking {
            Asking::ByName => order.sort_unstable(),
            Asking::AsListed => {}
        }
        order
    }

    fn resource(&self, number: usize) -> Resource {
        let all = self.wants.len();
        let home = number % all;
        let nodes = (0..all).map(|node| Node::new(Config::mutex(id(node), node == home))).collect();
        Resource { nodes, wires: BTreeMap::new() }
    }

    /// One event at a node, and everything that comes of it there.
    fn event(&self, world: &mut World, resource: usize, node: usize, event: Event<Message>) {
        let effects = world.resources[resource].nodes[node].handle(event).expect("clients make no mistakes");
        let mut is_granted = false;
        for effect in effects {
            match effect {
                Effect::Send { to, message } => world.resources[resource].send(node, to, message),
                Effect::Multicast { to, message } => {
                    for to in to {
                        world.resources[resource].send(node, to, message.clone());
                    }
                }
                Effect::Broadcast { message } => {
                    for to in neighbours(node, self.wants.len()) {
                        world.resources[resource].send(node, id(to), message.clone());
                    }
                }
                Effect::Granted { .. } => is_granted = true,
                Effect::Arm { .. } => panic!("this protocol has no timers"),
                Effect::Reject { reason, .. } => panic!("peers make no mistakes: {reason}"),
            }
        }
        // When the event is applied to its end, as in a node.
        if is_granted {
            world.clients[node].held += 1;
            self.ask_for_next(world, node);
        }
    }

    fn ask_for_next(&self, world: &mut World, client: usize) {
        let Client { round, held, .. } = world.clients[client];
        if let Some(resource) = self.order(client).get(held) {
            let event = Event::Request { request: RequestId(round), demand: Demand::units(1, 0) };
            self.event(world, *resource, client, event);
        }
    }

    fn give_back(&self, world: &mut World, client: usize) {
        let Client { round, held, .. } = world.clients[client];
        let request = RequestId(round);
        (world.clients[client].held, world.clients[client].is_busy) = (0, false);
        for (place, resource) in self.order(client).into_iter().enumerate() {
            if place < held {
                self.event(world, resource, client, Event::Release { request, units: Units(1) });
            } else if place == held {
                self.event(world, resource, client, Event::Cancel { request });
            }
        }
    }
}

impl Resource {
    fn send(&mut self, from: usize, to: NodeId, message: Message) {
        self.wires.entry((from, to.0 as usize)).or_default().push_back(message);
    }

    fn take(&mut self, ends: (usize, usize)) -> Option<Message> {
        let wire = self.wires.get_mut(&ends)?;
        let message = wire.pop_front();
        if wire.is_empty() {
            self.wires.remove(&ends);
        }
        message
    }
}

impl Plain for BundleModel {
    type State = World;
    type Step = Step;

    /// All links are up, and nothing is under way.
    fn initial(&self) -> World {
        let count = self.wants.iter().flatten().max().map_or(0, |last| last + 1);
        let resources = (0..count).map(|number| self.resource(number)).collect();
        let mut world = World { resources, clients: vec![Client::default(); self.wants.len()] };
        for resource in 0..count {
            for node in 0..self.wants.len() {
                for neighbour in neighbours(node, self.wants.len()) {
                    self.event(&mut world, resource, node, Event::LinkUp { neighbour: id(neighbour) });
                }
            }
        }
        while let Some(step) = deliveries(&world).first() {
            world = self.apply(&world, step);
        }
        world
    }

    fn steps(&self, world: &World) -> Vec<Step> {
        let mut steps = deliveries(world);
        for (number, client) in world.clients.iter().enumerate() {
            let has_all = client.held == self.wants[number].len();
            if client.is_busy && has_all {
                steps.push(Step::Release(number));
            } else if client.is_busy && self.gives_up {
                steps.push(Step::GiveUp(number));
            } else if !client.is_busy && client.round < self.rounds {
                steps.push(Step::Ask(number));
            }
        }
        steps
    }

    fn apply(&self, world: &World, step: &Step) -> World {
        let mut world = world.clone();
        match *step {
            Step::Ask(client) => {
                world.clients[client].round += 1;
                world.clients[client].is_busy = true;
                self.ask_for_next(&mut world, client);
            }
            Step::Release(client) | Step::GiveUp(client) => self.give_back(&mut world, client),
            Step::Deliver { resource, from, to } => {
                if let Some(message) = world.resources[resource].take((from, to)) {
                    self.event(&mut world, resource, to, Event::Receive { from: id(from), message });
                }
            }
        }
        world
    }

    fn broken(&self, world: &World) -> Option<String> {
        let holds = |client: usize| self.order(client).into_iter().take(world.clients[client].held);
        let mut holders: Vec<usize> = (0..self.wants.len()).flat_map(holds).collect();
        holders.sort_unstable();
        let twice = holders.windows(2).find(|pair| pair[0] == pair[1])?;
        Some(format!("resource {} is held twice", twice[0]))
    }

    /// Every client was served, or gave up, as often as it wanted.
    fn is_reached(&self, world: &World) -> bool {
        world.clients.iter().all(|client| client.round == self.rounds && !client.is_busy)
    }

    /// A deadlock that ends because a client loses its patience is one.
    fn is_progress(&self, step: &Step) -> bool {
        !matches!(step, Step::GiveUp(_))
    }
}

fn deliveries(world: &World) -> Vec<Step> {
    let of = |(resource, it): (usize, &Resource)| {
        it.wires.keys().map(|(from, to)| Step::Deliver { resource, from: *from, to: *to }).collect::<Vec<_>>()
    };
    world.resources.iter().enumerate().flat_map(of).collect()
}

/// In a line.
fn neighbours(node: usize, all: usize) -> impl Iterator<Item = usize> {
    let before = node.checked_sub(1);
    before.into_iter().chain(Some(node + 1).filter(|after| *after < all))
}

fn id(node: usize) -> NodeId {
    NodeId(node as u32)
}
