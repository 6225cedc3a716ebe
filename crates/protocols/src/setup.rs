//! From a name, a text and parameters to nodes.

use meshlock_core::group::Level;
use meshlock_core::{Aging, Delay, NodeId, Order, Units, flood, group, reverse_link};

use crate::baselines::{central, lamport, naimi_trehel, raymond, raynal, ricart_agrawala, suzuki_kasami};
use crate::list::{Name, Text};
use crate::node::Node;
use crate::printed;
use crate::repairs::{Defect, Repairs};

/// How the nodes of a network are set up. Node 0 starts with the token. What a protocol does not use, it ignores.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    pub name: Name,
    pub text: Text,
    /// Places of the printed text that are read in another way than usual, by name (`section-3`).
    pub readings: Vec<String>,
    /// Inside a relay, for a protocol that sends to any node where only neighbours can be reached.
    pub over_relay: bool,
    pub capacity: u32,
    pub order: Order,
    /// How many may join a session past the front (reverse-link, central).
    pub joins: u32,
    /// How many may pass a front that waits for units (reverse-link).
    pub passes: u32,
    /// Whether grants say which units they have (reverse-link).
    pub numbered: bool,
    /// The greatest level of priority (group), the paper's K.
    pub levels: u32,
    /// What aging adds (printed reverse-link), the paper's epsilon.
    pub epsilon: u32,
    /// How long a node waits before it repeats itself (flood and group). Without it group never does.
    pub retry: Option<Delay>,
}

/// The delay where a protocol repeats itself and none is given. It makes no difference on a network that loses nothing.
pub const RETRY: Delay = Delay { least_ms: 1_000, most_ms: 2_000 };

/// Why nodes cannot be set up so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    #[error("{protocol} has no repair called {name}; there are {known}")]
    NoSuchRepair { protocol: Name, name: String, known: String },
    #[error("{protocol} has no other reading called {name}; there are {known}")]
    NoSuchReading { protocol: Name, name: String, known: String },
    /// Only printed texts have readings.
    #[error("{0} has no other readings: they are of the published reverse-link and flood texts")]
    NoOtherReadings(Name),
    /// A baseline has no printed text of its own.
    #[error("{0} exists in one text only; leave out the variant")]
    OneTextOnly(Name),
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            name: Name::ReverseLink,
            text: Text::Repaired,
            readings: Vec::new(),
            over_relay: false,
            capacity: 1,
            order: Order::Priority { aging: Aging(0) },
            joins: 0,
            passes: 0,
            numbered: false,
            levels: 10,
            epsilon: 0,
            retry: Some(RETRY),
        }
    }
}

impl Setup {
    /// The nodes `0..nodes` of a network with these links at the start, which the printed reverse-link text knows.
    pub fn network(&self, nodes: u32, links: &[(u32, u32)]) -> Result<Vec<Node>, SetupError> {
        let built = match &self.text {
            _ if !self.readings.is_empty() && (self.text == Text::Repaired || !self.name.has_readings()) => {
                Err(SetupError::NoOtherReadings(self.name))
            }
            Text::Repaired => Ok((0..nodes).map(|id| self.repaired(NodeId(id), nodes)).collect()),
            Text::Published { repairs } => self.printed(repairs, nodes, links),
        }?;
        let relayed = self.over_relay || self.name == Name::GroupOverRelay;
        Ok(if relayed { built.into_iter().map(Node::over_relay).collect() } else { built })
    }

    /// A node that comes to a running network, if this protocol knows its peers only as neighbours.
    pub fn newcomer(&self, id: NodeId) -> Option<Node> {
        let open = self.text == Text::Repaired && matches!(self.name, Name::ReverseLink | Name::Flood);
        open.then(|| self.repaired(id, 0))
    }

    fn repaired(&self, id: NodeId, nodes: u32) -> Node {
        let Self { order, joins, passes, numbered, .. } = *self;
        let (starts_with_token, capacity) = (id == NodeId(0), Units(self.capacity));
        let members = || (0..nodes).map(NodeId);
        match self.name {
            Name::ReverseLink => {
                let config = reverse_link::Config { id, starts_with_token, capacity, order, joins, passes, numbered };
                reverse_link::Node::new(config).into()
            }
            Name::Flood => {
                let retry = self.retry.unwrap_or(RETRY);
                flood::Node::new(flood::Config { id, starts_with_token, retry }).into()
            }
            Name::Group | Name::GroupOverRelay => {
                group::Node::new(group::Config::among(members(), id, Level(self.levels), self.retry)).into()
            }
            Name::Central | Name::Omniscient => {
                central::Node::new(central::Config { id, members: members().collect(), capacity, order, joins }).into()
            }
            Name::Raymond => raymond::Node::new(id, members(), ()).into(),
            Name::SuzukiKasami => suzuki_kasami::Node::new(id, members(), ()).into(),
            Name::RicartAgrawala => ricart_agrawala::Node::new(id, members(), ()).into(),
            Name::Lamport => lamport::Node::new(id, members(), ()).into(),
            Name::NaimiTrehel => naimi_trehel::Node::new(id, members(), ()).into(),
            Name::Raynal => raynal::Node::new(id, members(), capacity).into(),
        }
    }

    fn printed(&self, repairs: &[String], nodes: u32, links: &[(u32, u32)]) -> Result<Vec<Node>, SetupError> {
        let ids = || (0..nodes).map(NodeId);
        Ok(match self.name {
            Name::ReverseLink => {
                let (capacity, epsilon, repairs) = (Units(self.capacity), self.epsilon, self.repairs(repairs)?);
                let config = printed::reverse_link::Config { capacity, epsilon, repairs };
                let readings = self.other_readings()?;
                let nodes = printed::reverse_link::network(nodes, links, NodeId(0), config);
                nodes.into_iter().map(|node| node.read_as(readings).into()).collect()
            }
            Name::Flood => {
                let (stations, repairs): (Vec<NodeId>, _) = (ids().collect(), self.repairs(repairs)?);
                let readings = self.other_readings()?;
                let config = |id| printed::flood::Config { id, stations: stations.clone(), repairs };
                ids().map(|id| printed::flood::Node::new(config(id)).read_as(readings).into()).collect()
            }
            Name::Group | Name::GroupOverRelay => {
                let (members, repairs): (Vec<NodeId>, _) = (ids().collect(), self.repairs(repairs)?);
                let levels = Level(self.levels);
                let config = |id| printed::group::Config { id, members: members.clone(), levels, repairs };
                ids().map(|id| printed::group::Node::new(config(id)).into()).collect()
            }
            Name::Central
            | Name::Raymond
            | Name::SuzukiKasami
            | Name::RicartAgrawala
            | Name::Lamport
            | Name::NaimiTrehel
            | Name::Raynal
            | Name::Omniscient => return Err(SetupError::OneTextOnly(self.name)),
        })
    }

    fn repairs<D: Defect>(&self, names: &[String]) -> Result<Repairs<D>, SetupError> {
        let protocol = self.name;
        named(names).map_err(|(name, known)| SetupError::NoSuchRepair { protocol, name, known })
    }

    fn other_readings<D: Defect>(&self) -> Result<Repairs<D>, SetupError> {
        let protocol = self.name;
        named(&self.readings).map_err(|(name, known)| SetupError::NoSuchReading { protocol, name, known })
    }
}

/// The set of these names; otherwise the one that is wrong, and all that there are.
fn named<D: Defect>(names: &[String]) -> Result<Repairs<D>, (String, String)> {
    let known = || D::ALL.iter().map(|defect| defect.name()).collect::<Vec<_>>().join(", ");
    names.iter().map(|name| D::named(name).ok_or_else(|| (name.clone(), known()))).collect()
}
