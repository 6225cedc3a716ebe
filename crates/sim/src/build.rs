//! From a scenario to a world with nodes of the right type.

use meshlock_core::baselines::{central, lamport, naimi_trehel, raymond, raynal, ricart_agrawala, suzuki_kasami};
use meshlock_core::group::Level;
use meshlock_core::relay::Relayed;
use meshlock_core::repairs::{Defect, Repairs};
use meshlock_core::{Delay, NodeId, Planted, Protocol, Units, flood, group, relay, reverse_link};
use serde::Serialize;

use crate::distribution::Distribution;
use crate::random::Streams;
use crate::run::RunError;
use crate::scenario::{
    Changes, MessageSize, Network, Over, ProtocolChoice, ProtocolName, Scenario, Shape, Text, Wired,
};
use crate::world::{Ground, Manner, Newcomers, World};

/// Something to be done with a world, whatever its protocol.
pub trait Visitor {
    /// What comes out.
    type Output;

    /// Does it.
    fn visit<P>(self, world: World<P>) -> Self::Output
    where
        P: Protocol,
        P::Message: Serialize;
}

/// Where retries make no difference: a network that loses nothing.
pub(crate) const PATIENT: Delay = Delay { least_ms: 1_000, most_ms: 2_000 };

/// Builds the world of a scenario and hands it to `visitor`.
pub fn with_world<V: Visitor>(scenario: &Scenario, seed: u64, visitor: V) -> Result<V::Output, RunError> {
    let choice = &scenario.protocol;
    if choice.name == ProtocolName::Omniscient && choice.over != Over::Links {
        let protocol = ProtocolChoice { over: Over::Links, ..choice.clone() };
        return with_world(&Scenario { protocol, ..scenario.clone() }, seed, visitor);
    }
    let scenario = &if choice.name == ProtocolName::Omniscient { without_delay(scenario) } else { scenario.clone() };
    let direct = is_direct(scenario);
    let ground = Ground::new(scenario, direct, Streams::new(seed)).map_err(|error| RunError(error.to_string()))?;
    let build = Build { scenario, choice: &scenario.protocol, direct, ground, seed, visitor };
    match (choice.name, &choice.text) {
        (ProtocolName::ReverseLink, Text::Repaired) => build.reverse_link(),
        (ProtocolName::ReverseLink, Text::Published { repairs }) => build.reverse_link_published(repairs),
        (ProtocolName::Flood, Text::Repaired) => build.flood(),
        (ProtocolName::Flood, Text::Published { repairs }) => build.flood_published(repairs),
        (ProtocolName::Group, Text::Repaired) => build.group(),
        (ProtocolName::Group, Text::Published { repairs }) => build.group_published(repairs),
        (
            ProtocolName::Raymond
            | ProtocolName::SuzukiKasami
            | ProtocolName::NaimiTrehel
            | ProtocolName::RicartAgrawala
            | ProtocolName::Lamport
            | ProtocolName::Raynal
            | ProtocolName::Central
            | ProtocolName::Omniscient,
            Text::Published { .. },
        ) => Err(RunError(format!("{} has no published text", choice.name.name()))),
        (ProtocolName::Raymond, Text::Repaired) => {
            build.single(|id, members| raymond::Node::new(raymond::Config::new(id, members)))
        }
        (ProtocolName::SuzukiKasami, Text::Repaired) => build.single(|id, members| {
            suzuki_kasami::Node::new(suzuki_kasami::Config { id, members, planted: Planted::NONE })
        }),
        (ProtocolName::NaimiTrehel, Text::Repaired) => build.single(|id, members| {
            naimi_trehel::Node::new(naimi_trehel::Config { id, members, planted: Planted::NONE })
        }),
        (ProtocolName::RicartAgrawala, Text::Repaired) => build.single(|id, members| {
            ricart_agrawala::Node::new(ricart_agrawala::Config { id, members, planted: Planted::NONE })
        }),
        (ProtocolName::Lamport, Text::Repaired) => {
            build.single(|id, members| lamport::Node::new(lamport::Config { id, members, planted: Planted::NONE }))
        }
        (ProtocolName::Raynal, Text::Repaired) => {
            let capacity = Units(choice.capacity);
            build.single(|id, members| {
                raynal::Node::new(raynal::Config { id, members, capacity, planted: Planted::NONE })
            })
        }
        (ProtocolName::Central | ProtocolName::Omniscient, Text::Repaired) => build.central(),
    }
}

/// Whether everybody reaches everybody without links that could change.
fn is_direct(scenario: &Scenario) -> bool {
    let complete = match &scenario.network {
        Network::Wired(wired) => {
            wired.shape == Shape::Complete && wired.changes.every.is_none() && wired.changes.script.is_empty()
        }
        Network::Radio(_) => false,
    };
    complete && !scenario.protocol.name.speaks_to_neighbours() && scenario.protocol.over == Over::Links
}

/// The same scenario on a network on which everything arrives at once.
fn without_delay(scenario: &Scenario) -> Scenario {
    let wired = Wired {
        shape: Shape::Complete,
        delay: Distribution::Constant(0.0),
        fifo: true,
        loss: 0.0,
        message: MessageSize::Fixed(0),
        gentle: false,
        changes: Changes::default(),
    };
    Scenario { network: Network::Wired(wired), ..scenario.clone() }
}

struct Build<'a, V> {
    scenario: &'a Scenario,
    choice: &'a ProtocolChoice,
    direct: bool,
    ground: Ground,
    seed: u64,
    visitor: V,
}

impl<V: Visitor> Build<'_, V> {
    /// For protocols that speak to neighbours.
    fn among_neighbours<P>(
        self,
        nodes: Vec<P>,
        relies_on_links: bool,
        traits: Traits,
        newcomers: Newcomers<P>,
    ) -> Result<V::Output, RunError>
    where
        P: Protocol,
        P::Message: Serialize,
    {
        if self.choice.over != Over::Links {
            let name = self.choice.name.name();
            return Err(RunError(format!("{name} speaks to neighbours only; leave `over` at \"links\"")));
        }
        let manner = Manner {
            hears_links: true,
            knows_first_links: traits.knows_first_links,
            direct: false,
            routed: false,
            one_at_a_time: traits.one_at_a_time,
            relies_on_links,
        };
        Ok(self.finish(nodes, manner, newcomers))
    }

    /// For protocols that speak to anybody. All of them know from the start who takes part.
    fn among_all<P>(self, nodes: Vec<P>, one_at_a_time: bool) -> Result<V::Output, RunError>
    where
        P: Protocol,
        P::Message: Serialize,
    {
        let manner = Manner {
            hears_links: false,
            knows_first_links: false,
            direct: self.direct,
            routed: self.choice.over == Over::Routing,
            one_at_a_time,
            relies_on_links: false,
        };
        if self.choice.over == Over::Relay {
            let nodes = nodes.into_iter().map(|node| Relayed::new(node, relay::Config::default())).collect();
            let newcomers = Newcomers::none(self.choice);
            return Ok(self.finish(nodes, Manner { hears_links: true, ..manner }, newcomers));
        }
        let newcomers = Newcomers::none(self.choice);
        Ok(self.finish(nodes, manner, newcomers))
    }

    fn finish<P>(self, nodes: Vec<P>, manner: Manner, newcomers: Newcomers<P>) -> V::Output
    where
        P: Protocol,
        P::Message: Serialize,
    {
        self.visitor.visit(World::new(self.scenario, self.ground, nodes, manner, newcomers, self.seed))
    }

    fn ids(&self) -> impl Iterator<Item = NodeId> + use<V> {
        (0..self.scenario.nodes).map(NodeId)
    }

    fn reverse_link(self) -> Result<V::Output, RunError> {
        let ProtocolChoice { capacity, order, joins, .. } = *self.choice;
        let node = move |id| {
            reverse_link::Node::new(reverse_link::Config {
                id,
                starts_with_token: id == NodeId(0),
                capacity: Units(capacity),
                order,
                joins,
                planted: Planted::NONE,
            })
        };
        let nodes = self.ids().map(node).collect();
        let traits = Traits { knows_first_links: false, one_at_a_time: false };
        self.among_neighbours(nodes, true, traits, Newcomers::made_by(node))
    }

    fn reverse_link_published(self, repairs: &[String]) -> Result<V::Output, RunError> {
        use reverse_link::published::{Config, network};
        let repairs = named(self.choice.name, repairs)?;
        let config = Config { capacity: Units(self.choice.capacity), epsilon: self.choice.epsilon, repairs };
        let nodes = network(self.scenario.nodes, &self.ground.links(), NodeId(0), config);
        let newcomers = Newcomers::none(self.choice);
        self.among_neighbours(nodes, true, Traits { knows_first_links: true, one_at_a_time: true }, newcomers)
    }

    fn flood(self) -> Result<V::Output, RunError> {
        let retry = self.choice.retry.unwrap_or(PATIENT);
        let node = move |id| {
            let starts_with_token = id == NodeId(0);
            flood::Node::new(flood::Config { id, starts_with_token, retry, planted: Planted::NONE })
        };
        let nodes = self.ids().map(node).collect();
        let traits = Traits { knows_first_links: false, one_at_a_time: true };
        self.among_neighbours(nodes, false, traits, Newcomers::made_by(node))
    }

    fn flood_published(self, repairs: &[String]) -> Result<V::Output, RunError> {
        use flood::published::{Config, Node};
        let repairs = named(self.choice.name, repairs)?;
        let stations: Vec<NodeId> = self.ids().collect();
        let nodes = self.ids().map(|id| Node::new(Config { id, stations: stations.clone(), repairs })).collect();
        let newcomers = Newcomers::none(self.choice);
        self.among_neighbours(nodes, false, Traits { knows_first_links: false, one_at_a_time: true }, newcomers)
    }

    fn group(self) -> Result<V::Output, RunError> {
        let members: Vec<NodeId> = self.ids().collect();
        let (levels, retry) = (Level(self.choice.levels), self.choice.retry);
        let node = |id| group::Node::new(group::Config::among(members.clone(), id, levels, retry));
        let nodes = self.ids().map(node).collect();
        self.among_all(nodes, true)
    }

    fn group_published(self, repairs: &[String]) -> Result<V::Output, RunError> {
        use group::published::{Config, Node};
        let repairs = named(self.choice.name, repairs)?;
        let (members, levels): (Vec<NodeId>, _) = (self.ids().collect(), Level(self.choice.levels));
        let node = |id| Node::new(Config { id, members: members.clone(), levels, repairs });
        let nodes = self.ids().map(node).collect();
        self.among_all(nodes, true)
    }

    /// A classic whose nodes know all members and serve one request at a time: any-to-any, no faults.
    fn single<P>(self, node: impl Fn(NodeId, Vec<NodeId>) -> P) -> Result<V::Output, RunError>
    where
        P: Protocol,
        P::Message: Serialize,
    {
        let members: Vec<NodeId> = self.ids().collect();
        let nodes = self.ids().map(|id| node(id, members.clone())).collect();
        self.among_all(nodes, true)
    }

    /// A coordinator, which serves any number of requests of a node.
    fn central(self) -> Result<V::Output, RunError> {
        let ProtocolChoice { capacity, order, joins, .. } = *self.choice;
        let (members, capacity): (Vec<NodeId>, _) = (self.ids().collect(), Units(capacity));
        let node = |id| {
            let members = members.clone();
            central::Node::new(central::Config { id, members, capacity, order, joins, planted: Planted::NONE })
        };
        let nodes = self.ids().map(node).collect();
        self.among_all(nodes, false)
    }
}

/// What else a protocol needs.
struct Traits {
    knows_first_links: bool,
    one_at_a_time: bool,
}

/// The defects of these names.
fn named<D: Defect>(protocol: ProtocolName, names: &[String]) -> Result<Repairs<D>, RunError> {
    let find = |name: &String| {
        D::named(name).ok_or_else(|| {
            let known = D::ALL.iter().map(|defect| defect.name()).collect::<Vec<_>>().join(", ");
            RunError(format!("{} has no repair called {name}; there are {known}", protocol.name()))
        })
    };
    names.iter().map(find).collect()
}
