//! What is explored: nodes, the network between them, what applications ask for, and how often each fault may happen.

mod settle;

use meshlock_core::recovery::Census;
use meshlock_core::{Aging, Demand, NodeId, Order, Protocol, Timer, Units, Urgency};
use meshlock_properties::{Rule, RuleSet, Setting};
use meshlock_protocols::Node;

use crate::members::{Careless, MemberBudgets};
use crate::topology::{Link, MOST_NODES, Topology};

pub use settle::SettleError;

/// Nodes, their network and everything that may happen to them.
///
/// All fields are open: start from [`Model::new`] or [`Model::settled`] and change what differs.
#[derive(Clone, Debug)]
pub struct Model {
    /// The nodes at the start, with ids 0, 1, 2, ... in this order.
    pub nodes: Vec<Node>,
    pub medium: Medium,
    /// The links, up at the start unless they are also in `down`. Without meaning in [`Medium::AnyToAny`].
    pub topology: Topology,
    /// Links that exist but are down at the start; they may be in the topology or not.
    pub down: Vec<Link>,
    /// The links that may be cut and formed; `None` is all of them.
    pub changeable: Option<Vec<Link>>,
    /// Never cut the network apart.
    pub keep_connected: bool,
    /// What happens to what is in flight on a link that is cut.
    pub failing: Failing,
    /// Whether a channel delivers in the order of sending.
    pub fifo: bool,
    pub workload: Workload,
    pub budgets: Budgets,
    pub timers: Timers,
    /// For each node the timer that is armed at the start.
    pub armed: Vec<Option<Timer>>,
    pub setting: Setting,
    pub rules: RuleSet,
    /// A node whose height has a greater level than this shows that messages do not come to an end.
    pub max_level: Option<i64>,
    /// A channel with more messages than this shows the same, or is full.
    pub max_channel: usize,
    /// What would overfill a channel has to wait, instead of being a finding. `None`: only if the workload is endless,
    /// because then a slow channel beside fast ones can grow without end on runs that are not fair.
    pub wait_when_full: Option<bool>,
    /// Go on when a node rejects a message. By default that is a finding: all nodes here follow the protocol.
    pub allow_rejects: bool,
    /// Let messages to nodes without a link vanish. By default sending one is a finding.
    pub allow_stray_sends: bool,
    /// What is not done although it must be, in tests of the checker itself.
    pub careless: Option<Careless>,
    /// Gaps between fences larger than this make no difference (only for canonical states).
    pub clock_reach: i64,
}

impl Model {
    /// These nodes on neighbour links, all up, without trouble: one request of one unit at every node, one unit.
    pub fn new<N: Into<Node>>(nodes: impl IntoIterator<Item = N>, topology: Topology) -> Self {
        let nodes: Vec<Node> = nodes.into_iter().map(Into::into).collect();
        let count = nodes.len();
        Self {
            armed: vec![None; count],
            workload: Workload::same(count, 1, vec![Demand::units(1, 0)]),
            nodes,
            medium: Medium::Links,
            topology,
            down: Vec::new(),
            changeable: None,
            keep_connected: false,
            failing: Failing::Gentle,
            fifo: true,
            budgets: Budgets::default(),
            timers: Timers::default(),
            setting: Setting {
                capacity: Units(1),
                order: Order::Priority { aging: Aging(0) },
                joins: 0,
                overtaking_bound: u32::MAX,
                passes: 0,
                numbered: false,
            },
            // Only a mesh that recovers promises that there is a token in the end.
            rules: RuleSet::ALL.without(Rule::Repaired),
            max_level: None,
            max_channel: 16,
            wait_when_full: None,
            allow_rejects: false,
            allow_stray_sends: false,
            careless: None,
            clock_reach: 2,
        }
    }

    /// All links there are, up or down at the start, in order.
    pub(crate) fn all_links(&self) -> Vec<Link> {
        match self.medium {
            Medium::Links => {
                let mut links = self.topology.links().to_vec();
                links.extend(&self.down);
                links.sort_unstable();
                links.dedup();
                links
            }
            Medium::AnyToAny => Vec::new(),
        }
    }

    /// Whether the nodes are members that recover from crashes.
    pub(crate) fn recovers(&self) -> bool {
        matches!(self.nodes.first(), Some(Node::Recovering(_)))
    }

    /// What the voters know at the start, where there are voters: who has joined.
    pub(crate) fn voters_record(&self) -> Option<Census> {
        let Some(Node::Recovering(first)) = self.nodes.first() else { return None };
        first.keeper().ratifies().then(|| first.keeper().census().clone())
    }

    /// Whether the parts of this model fit together.
    pub fn validate(&self) -> Result<(), ModelError> {
        let count = self.nodes.len();
        if count == 0 || count > MOST_NODES as usize {
            return Err(ModelError::NodeCount(count));
        }
        for (place, node) in self.nodes.iter().enumerate() {
            if node.id().0 as usize != place {
                return Err(ModelError::WrongId { place, id: node.id() });
            }
        }
        if self.medium == Medium::Links && self.topology.len() != count {
            return Err(ModelError::WrongTopology { nodes: count, topology: self.topology.to_string() });
        }
        if self.workload.nodes.len() != count || self.armed.len() != count {
            return Err(ModelError::WrongWorkload { nodes: count, workload: self.workload.nodes.len() });
        }
        let links = self.all_links();
        if let Some(link) = links.iter().find(|link| link.high().0 as usize >= count) {
            return Err(ModelError::NoSuchLink(*link));
        }
        if let Some(link) = self.changeable.iter().flatten().find(|link| !links.contains(link)) {
            return Err(ModelError::NoSuchLink(*link));
        }
        for (node, work) in self.workload.nodes.iter().enumerate() {
            if work.count > 0 && work.demands.is_empty() {
                return Err(ModelError::NothingToAsk(node));
            }
            let lists = [work.demands.len(), self.budgets.urgencies.len(), self.budgets.capacities.len()];
            if lists.into_iter().any(|length| length > MOST_CHOICES) {
                return Err(ModelError::TooManyChoices);
            }
        }
        if self.max_channel > MOST_IN_CHANNEL {
            return Err(ModelError::ChannelTooLong);
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Neighbours over links, which may come and go.
    Links,
    /// Any node to any other, always.
    AnyToAny,
}

/// What happens to what is in flight on a link that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// A link is cut only while nothing is on it, and both ends notice at once (the papers' assumption).
    Gentle,
    /// A cut link takes in nothing more; what is on it may still arrive until the receiving end notices the cut, and
    /// is lost then. The two ends notice at different times.
    Harsh,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    pub nodes: Vec<Work>,
    /// How many requests of one node may wait or be in use at the same time.
    pub outstanding: u32,
    /// Requests never run out: a node with a count above zero may always ask again.
    pub endless: bool,
    /// No application asks while a channel holds more messages than this; `None` is no limit. With 0, requests are made
    /// only when nothing is in flight, so that none is overtaken merely because it has not arrived yet.
    pub patience: Option<usize>,
}

impl Workload {
    /// The same for `nodes` nodes: `count` requests, each with any of the demands.
    pub fn same(nodes: usize, count: u32, demands: Vec<Demand>) -> Self {
        let work = Work { count, demands, pick: Pick::Any };
        Self { nodes: vec![work; nodes], outstanding: 1, endless: false, patience: None }
    }

    /// No requests, for `nodes` nodes.
    pub fn none(nodes: usize) -> Self {
        Self::same(nodes, 0, Vec::new())
    }

    /// The same with other work at one node.
    #[must_use]
    pub fn with(mut self, node: usize, work: Work) -> Self {
        if let Some(place) = self.nodes.get_mut(node) {
            *place = work;
        }
        self
    }

    /// The same without an end.
    #[must_use]
    pub fn endless(mut self) -> Self {
        self.endless = true;
        self
    }
}

/// What the application of one node asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub count: u32,
    pub demands: Vec<Demand>,
    pub pick: Pick,
}

impl Work {
    /// `count` requests, each with any of the demands.
    pub fn any(count: u32, demands: Vec<Demand>) -> Self {
        Self { count, demands, pick: Pick::Any }
    }

    /// These requests in this order.
    pub fn in_order(demands: Vec<Demand>) -> Self {
        let count = u32::try_from(demands.len()).unwrap_or(u32::MAX);
        Self { count, demands, pick: Pick::InOrder }
    }
}

/// How an application chooses its next demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Any of the list, each time.
    Any,
    /// One after the other, from the first again after the last.
    InOrder,
}

/// How often each kind of trouble may happen in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// Waiting requests that are cancelled.
    pub cancels: u32,
    /// Waiting requests whose urgency is changed ...
    pub reprioritisations: u32,
    /// ... to one of these.
    pub urgencies: Vec<Urgency>,
    /// Links that are cut or formed.
    pub link_changes: u32,
    /// Messages that are lost at the head of a channel.
    pub losses: u32,
    /// Timers that run out while something is still in flight.
    pub early_timers: u32,
    /// The capacities of the definitions that follow each other, as versions 1, 2, ... A definition that one node knows
    /// reaches all others in the end, each at its time.
    pub capacities: Vec<Units>,
    /// Nodes that leave: they make no more requests and give away what others need.
    pub leaves: u32,
    /// Nodes that stop in order and start again, as if saved and loaded.
    pub stops: u32,
    /// What happens to members that recover from crashes.
    pub members: MemberBudgets,
}

/// When timers run out.
///
/// A timer runs out while nothing else is in flight, or early within [`Budgets::early_timers`]. Retries never end, so
/// timers fire in rounds: each armed one fires once before any fires again. After `rounds` rounds with nothing but
/// timers and messages and without a grant, the state counts as quiet although timers are armed: a request that still
/// waits then is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// Rounds without progress; `None` is no limit (then attempts must be bounded by canonical states).
    pub rounds: Option<u8>,
    /// Whether timers also run out while units are in use; otherwise only when all grants are released.
    pub while_held: bool,
}

impl Default for Timers {
    fn default() -> Self {
        Self { rounds: Some(2), while_held: true }
    }
}

/// Why a model cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("a model has between 1 and {most} nodes, not {0}", most = MOST_NODES)]
    NodeCount(usize),
    /// Node 1 must be the second.
    #[error("the node in place {place} has id {id}; ids must be 0, 1, 2, ... in order")]
    WrongId { place: usize, id: NodeId },
    #[error("{nodes} nodes do not fit the topology {topology}")]
    WrongTopology { nodes: usize, topology: String },
    #[error("{nodes} nodes need {nodes} entries of workload and timers, not {workload}")]
    WrongWorkload { nodes: usize, workload: usize },
    /// A link to nowhere, or a change of a link that does not exist.
    #[error("there is no link {0} in this network")]
    NoSuchLink(Link),
    #[error("node {0} may make requests, but its list of demands is empty")]
    NothingToAsk(usize),
    /// Too many demands, urgencies or capacities.
    #[error("at most {most} demands at a node, {most} urgencies and {most} capacities can be tried", most = MOST_CHOICES)]
    TooManyChoices,
    /// The limit of a channel is too large.
    #[error("max_channel is at most {most}", most = MOST_IN_CHANNEL)]
    ChannelTooLong,
    /// More nodes than the graph search can tell apart.
    #[error("the search for starvation and endless messages is made for up to 8 nodes, not {0}")]
    TooManyForGraph(usize),
    /// The initial state could not be reached.
    #[error(transparent)]
    Settle(#[from] SettleError),
}

const MOST_CHOICES: usize = 255;
/// Places in a channel are kept in one byte.
pub(crate) const MOST_IN_CHANNEL: usize = 255;
