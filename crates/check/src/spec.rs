//! A model as data: which protocol, which network, which requests, what may go wrong.
//!
//! The suite, the command line and the tests of planted bugs all describe models this way; [`Spec::model`] turns
//! a description into nodes.

mod demand;
mod rules;

use meshlock_core::recovery::Census;
use meshlock_core::{Aging, NodeId, Order, Units, Urgency};
use meshlock_properties::{RuleSet, Setting};
use meshlock_protocols::setup::RETRY;
use meshlock_protocols::{Name, Node, Recovering, Setup, SetupError, Text};

use crate::model::{Budgets, Failing, Medium, Model, ModelError, Timers, Workload};
use crate::topology::{Link, Topology};

pub use demand::{DemandError, parse_demand, parse_work, plain_demand};

/// Whether and how nodes recover from crashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// They do not.
    #[default]
    None,
    /// Who is gone says so itself when it returns, or an operator removes it.
    Restart,
    /// Voters may declare a member gone.
    Voters,
}

/// A model in words. Node 0 starts with the token.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub subject: Name,
    pub text: Text,
    /// Places of the printed text that are read in another way than usual, by name (`section-3`).
    pub readings: Vec<String>,
    pub topology: Topology,
    /// Links that are down at the start.
    pub down: Vec<Link>,
    /// The links that may change; `None` is all.
    pub changeable: Option<Vec<Link>>,
    /// Never cut the network apart.
    pub keep_connected: bool,
    /// What happens on a link that fails.
    pub failing: Failing,
    /// Whether channels keep the order.
    pub fifo: bool,
    pub capacity: u32,
    pub order: Order,
    /// How many may join past the front (reverse-link, central).
    pub joins: u32,
    /// How many may pass a front that waits for units (reverse-link).
    pub passes: u32,
    /// Whether grants say which units they have (reverse-link).
    pub numbered: bool,
    /// The levels of priority (group), the paper's K.
    pub levels: u32,
    /// Whether nodes repeat themselves by timers (group). Needed where messages can be lost.
    pub repeats: bool,
    /// What aging adds (published reverse-link), the paper's epsilon.
    pub epsilon: u32,
    /// Whether and how nodes recover from crashes.
    pub recovery: Recovery,
    /// How many resources there are, where nodes recover. Requests are made for all of them; see
    /// [`meshlock_protocols::recovering`].
    pub resources: usize,
    pub workload: Workload,
    pub budgets: Budgets,
    pub timers: Timers,
    /// The rules to watch; `None` is what this protocol promises.
    pub rules: Option<RuleSet>,
    /// For [`meshlock_properties::Rule::Overtaking`].
    pub overtaking_bound: u32,
    /// A greater level than this shows that messages do not come to an end.
    pub max_level: Option<i64>,
    /// More messages than this in one channel show the same.
    pub max_channel: usize,
}

impl Spec {
    /// One request of one unit at every node of this network; nothing goes wrong.
    pub fn new(subject: Name, text: Text, topology: Topology) -> Self {
        let nodes = topology.len();
        Self {
            subject,
            text,
            readings: Vec::new(),
            workload: Workload::same(nodes, 1, vec![plain_demand(subject)]),
            topology,
            down: Vec::new(),
            changeable: None,
            keep_connected: false,
            failing: Failing::Gentle,
            fifo: true,
            capacity: 1,
            order: Order::Priority { aging: Aging(0) },
            joins: 0,
            passes: 0,
            numbered: false,
            levels: 3,
            repeats: false,
            epsilon: 0,
            recovery: Recovery::None,
            resources: 1,
            budgets: Budgets::default(),
            // A timer that runs out while a node is inside only repeats what is known.
            timers: Timers { while_held: false, ..Timers::default() },
            rules: None,
            overtaking_bound: u32::MAX,
            max_level: None,
            max_channel: 16,
        }
    }

    pub fn watched(&self) -> RuleSet {
        self.rules.unwrap_or_else(|| rules::promised(self))
    }

    /// The largest difference of clocks that can matter: what the spread of priorities is worth in grants.
    fn clock_reach(&self) -> i64 {
        let aging = match self.order {
            Order::Priority { aging } => i64::from(aging.0),
            Order::Deadline => 0,
        };
        let priority = |urgency| match urgency {
            Urgency::Priority(priority) => Some(i64::from(priority.0)),
            Urgency::Deadline(_) => None,
        };
        let asked = self.workload.nodes.iter().flat_map(|work| &work.demands).map(|demand| demand.urgency);
        let all = || asked.clone().chain(self.budgets.urgencies.iter().copied()).filter_map(priority);
        let most = all().map(i64::abs).max().unwrap_or(0);
        2 + 2 * aging * most
    }

    pub fn setting(&self) -> Setting {
        // Sessions of group have no limit of units: all nodes may be inside together.
        let capacity = if self.subject.has_sessions_only() { self.nodes() } else { self.capacity };
        let Self { order, joins, passes, overtaking_bound, numbered, .. } = *self;
        Setting { capacity: Units(capacity), order, joins, passes, overtaking_bound, numbered }
    }

    fn nodes(&self) -> u32 {
        u32::try_from(self.topology.len()).unwrap_or(u32::MAX)
    }

    /// The model that is described.
    pub fn model(&self) -> Result<Model, SpecError> {
        let Self { subject, .. } = *self;
        if self.capacity != 1 && !subject.has_units() && !subject.has_sessions_only() {
            return Err(SpecError::OneUnitOnly(subject));
        }
        if subject == Name::GroupOverRelay && self.text != Text::Repaired {
            return Err(SpecError::PublishedOverRelay);
        }
        let up = self.topology.links().iter().filter(|link| !self.down.contains(link));
        let links: Vec<_> = up.map(|link| (link.low().0, link.high().0)).collect();
        let nodes = self.members(self.setup().network(self.nodes(), &links)?);
        let down = self.down_at_start();
        // The printed reverse-link text is built knowing its links; the others that live on links hear of them first.
        let knows_links = subject == Name::ReverseLink && self.text != Text::Repaired;
        let model = if subject.speaks_to_neighbours() && !knows_links {
            Model::settled(nodes, self.topology.clone(), down.clone()).map_err(ModelError::from)?
        } else {
            Model::new(nodes, self.topology.clone())
        };
        Ok(Model {
            medium: if subject.speaks_to_neighbours() { Medium::Links } else { Medium::AnyToAny },
            down,
            changeable: self.changeable.clone(),
            keep_connected: self.keep_connected,
            failing: self.failing,
            fifo: self.fifo,
            workload: self.workload.clone(),
            budgets: self.budgets.clone(),
            timers: self.timers,
            setting: self.setting(),
            rules: self.watched(),
            max_level: self.max_level,
            max_channel: self.max_channel,
            clock_reach: self.clock_reach(),
            ..model
        })
    }

    /// The same nodes as members of a mesh that recovers, the last of which may not have joined yet.
    fn members(&self, nodes: Vec<Node>) -> Vec<Node> {
        if self.recovery == Recovery::None {
            return nodes;
        }
        let joined = self.joined();
        let member = |(member, node): (u16, Node)| {
            let resources = vec![node; self.resources];
            let recovering = if member < joined {
                Recovering::founding(member, 0..joined, resources)
            } else {
                let before = Census::of_living((0..member).map(|member| NodeId::of(member, 0)));
                Recovering::invited(member, before, resources)
            };
            match self.recovery {
                Recovery::Voters => recovering.with_voters().into(),
                Recovery::None | Recovery::Restart => recovering.into(),
            }
        };
        (0..).zip(nodes).map(member).collect()
    }

    /// How many members there are at the start.
    fn joined(&self) -> u16 {
        u16::try_from(self.nodes().saturating_sub(self.budgets.members.joins)).unwrap_or(u16::MAX)
    }

    /// With the links of those who have not joined yet.
    fn down_at_start(&self) -> Vec<Link> {
        let joined = u32::from(self.joined());
        let unborn = self.topology.links().iter().filter(|link| link.high().0 >= joined && !self.down.contains(link));
        self.down.iter().chain(unborn).copied().collect()
    }

    fn setup(&self) -> Setup {
        // The checker ignores the length of delays.
        let retry = (self.repeats || self.subject == Name::Flood).then_some(RETRY);
        Setup {
            name: self.subject,
            text: self.text.clone(),
            readings: self.readings.clone(),
            over_relay: false,
            capacity: self.capacity,
            order: self.order,
            joins: self.joins,
            passes: self.passes,
            numbered: self.numbered,
            levels: self.levels,
            epsilon: self.epsilon,
            retry,
        }
    }
}

/// Why a description makes no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Nodes cannot be set up so.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The printed group text needs any node to reach any other.
    #[error("the published text is explored only as group, not over the relay")]
    PublishedOverRelay,
    /// More than one unit where the protocol has one.
    #[error("{0} knows one unit only; leave --k at 1")]
    OneUnitOnly(Name),
    /// The parts do not fit.
    #[error(transparent)]
    Model(#[from] ModelError),
}
