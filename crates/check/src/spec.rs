//! A model as data: which protocol, which network, which requests, what may go wrong.
//!
//! The suite, the command line and the tests of planted bugs all describe models this way; [`Spec::with_model`] turns
//! a description into nodes of the right type.

mod baselines;
mod build;
mod demand;
mod rules;

use std::fmt;

use meshlock_core::baselines::{central, lamport, naimi_trehel, raymond, raynal, ricart_agrawala, suzuki_kasami};
use meshlock_core::{Aging, Order, Planted, Units, Urgency, flood, group, reverse_link};
use meshlock_properties::{RuleSet, Setting};

use crate::model::{Budgets, Failing, ModelError, Timers, Workload};
use crate::topology::{Link, Topology};

pub use build::Visitor;
pub use demand::{DemandError, parse_demand, parse_work};

/// Which protocol is explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Jiang's prioritized h-out-of-k over the reverse-link graph.
    ReverseLink,
    /// The report's Suzuki-Kasami by flooding.
    Flood,
    /// Swaroop and Singh's prioritized group mutual exclusion, everyone to everyone.
    Group,
    /// The same over neighbour links, by the relay.
    GroupOverRelay,
    /// Baseline: a coordinator.
    Central,
    /// Baseline: Raymond's tree.
    Raymond,
    /// Baseline: Suzuki and Kasami.
    SuzukiKasami,
    /// Baseline: Ricart and Agrawala.
    RicartAgrawala,
    /// Baseline: Lamport.
    Lamport,
    /// Baseline: Naimi and Trehel.
    NaimiTrehel,
    /// Baseline: Raynal's h-out-of-k by permission.
    Raynal,
}

impl Subject {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::ReverseLink,
        Self::Flood,
        Self::Group,
        Self::GroupOverRelay,
        Self::Central,
        Self::Raymond,
        Self::SuzukiKasami,
        Self::RicartAgrawala,
        Self::Lamport,
        Self::NaimiTrehel,
        Self::Raynal,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReverseLink => "reverse-link",
            Self::Flood => "flood",
            Self::Group => "group",
            Self::GroupOverRelay => "group-over-relay",
            Self::Central => "central",
            Self::Raymond => "raymond",
            Self::SuzukiKasami => "suzuki-kasami",
            Self::RicartAgrawala => "ricart-agrawala",
            Self::Lamport => "lamport",
            Self::NaimiTrehel => "naimi-trehel",
            Self::Raynal => "raynal",
        }
    }

    /// Whether it is one of the classics that we compare with. They exist in one text only.
    pub const fn is_baseline(self) -> bool {
        match self {
            Self::ReverseLink | Self::Flood | Self::Group | Self::GroupOverRelay => false,
            Self::Central
            | Self::Raymond
            | Self::SuzukiKasami
            | Self::RicartAgrawala
            | Self::Lamport
            | Self::NaimiTrehel
            | Self::Raynal => true,
        }
    }

    /// Whether it assumes that everyone reaches everyone; otherwise it lives on links.
    pub const fn is_any_to_any(self) -> bool {
        matches!(self, Self::Group) || self.is_baseline()
    }

    /// The subject of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.name() == name)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which text of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// What a node runs.
    Repaired,
    /// The printed text, with some of its defects repaired, by name (`p1`, `g3`, `f7`).
    Published {
        /// The repaired ones.
        repairs: Vec<String>,
    },
}

impl Variant {
    /// The text as printed.
    pub const PRINTED: Self = Self::Published { repairs: Vec::new() };

    /// The printed text with these defects repaired.
    pub fn with_repairs(repairs: &[&str]) -> Self {
        Self::Published { repairs: repairs.iter().map(ToString::to_string).collect() }
    }
}

/// Bugs to be planted, at most one, and only with the feature `mutants` of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Into the reverse-link protocol.
    pub reverse_link: Planted<reverse_link::Bug>,
    /// Into the flood protocol.
    pub flood: Planted<flood::Bug>,
    /// Into the group protocol.
    pub group: Planted<group::Bug>,
    /// Into the coordinator.
    pub central: Planted<central::Bug>,
    /// Into Raymond's protocol.
    pub raymond: Planted<raymond::Bug>,
    /// Into that of Suzuki and Kasami.
    pub suzuki_kasami: Planted<suzuki_kasami::Bug>,
    /// Into that of Ricart and Agrawala.
    pub ricart_agrawala: Planted<ricart_agrawala::Bug>,
    /// Into Lamport's.
    pub lamport: Planted<lamport::Bug>,
    /// Into that of Naimi and Trehel.
    pub naimi_trehel: Planted<naimi_trehel::Bug>,
    /// Into Raynal's.
    pub raynal: Planted<raynal::Bug>,
}

impl Seeds {
    /// No bug.
    pub const NONE: Self = Self {
        reverse_link: Planted::NONE,
        flood: Planted::NONE,
        group: Planted::NONE,
        central: Planted::NONE,
        raymond: Planted::NONE,
        suzuki_kasami: Planted::NONE,
        ricart_agrawala: Planted::NONE,
        lamport: Planted::NONE,
        naimi_trehel: Planted::NONE,
        raynal: Planted::NONE,
    };
}

/// A model in words. Node 0 starts with the token.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Which protocol.
    pub subject: Subject,
    /// Which text of it.
    pub variant: Variant,
    /// Places of the printed text that are read in another way than usual, by name (`section-3`).
    pub readings: Vec<String>,
    /// Planted bugs.
    pub seeds: Seeds,
    /// The network.
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
    /// The k of h-out-of-k.
    pub capacity: u32,
    /// How requests are ordered.
    pub order: Order,
    /// How many may join past the front (reverse-link, central).
    pub joins: u32,
    /// The levels of priority (group), the paper's K.
    pub levels: u32,
    /// Whether nodes repeat themselves by timers (group). Needed where messages can be lost.
    pub repeats: bool,
    /// What aging adds (published reverse-link), the paper's epsilon.
    pub epsilon: u32,
    /// What applications ask for.
    pub workload: Workload,
    /// How often what may happen.
    pub budgets: Budgets,
    /// When timers run out.
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
    pub fn new(subject: Subject, variant: Variant, topology: Topology) -> Self {
        let nodes = topology.len();
        Self {
            subject,
            variant,
            readings: Vec::new(),
            seeds: Seeds::NONE,
            workload: Workload::same(nodes, 1, vec![subject.plain_demand()]),
            topology,
            down: Vec::new(),
            changeable: None,
            keep_connected: false,
            failing: Failing::Gentle,
            fifo: true,
            capacity: 1,
            order: Order::Priority { aging: Aging(0) },
            joins: 0,
            levels: 3,
            repeats: false,
            epsilon: 0,
            budgets: Budgets::default(),
            // A timer that runs out while somebody is inside only repeats what is known.
            timers: Timers { while_held: false, ..Timers::default() },
            rules: None,
            overtaking_bound: u32::MAX,
            max_level: None,
            max_channel: 16,
        }
    }

    /// The same with the printed text read in these other ways.
    #[must_use]
    pub fn read_as(self, readings: &[&str]) -> Self {
        Self { readings: readings.iter().map(ToString::to_string).collect(), ..self }
    }

    /// The rules that are watched.
    pub fn watched(&self) -> RuleSet {
        self.rules.unwrap_or_else(|| rules::promised(self))
    }

    /// The same with requests that never run out, made only while no channel holds more than
    /// `patience` messages.
    #[must_use]
    pub fn endless(mut self, patience: usize) -> Self {
        self.workload = self.workload.endless().patient(patience);
        self
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

    /// What the rules need to know.
    pub fn setting(&self) -> Setting {
        let capacity = match self.subject {
            // Everyone may be inside together: units do not limit anything.
            Subject::Group | Subject::GroupOverRelay => u32::try_from(self.topology.len()).unwrap_or(u32::MAX),
            Subject::ReverseLink
            | Subject::Flood
            | Subject::Central
            | Subject::Raymond
            | Subject::SuzukiKasami
            | Subject::RicartAgrawala
            | Subject::Lamport
            | Subject::NaimiTrehel
            | Subject::Raynal => self.capacity,
        };
        let (order, joins) = (self.order, self.joins);
        Setting { capacity: Units(capacity), order, joins, overtaking_bound: self.overtaking_bound }
    }
}

/// Why a description makes no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A repair that does not exist.
    #[error("{subject} has no repair called {name}; there are {known}")]
    NoSuchRepair {
        /// The protocol.
        subject: Subject,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A reading that does not exist.
    #[error("{subject} has no other reading called {name}; there are {known}")]
    NoSuchReading {
        /// The protocol.
        subject: Subject,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Only printed texts are read.
    #[error("{0} has no other readings: they are of the published reverse-link and flood texts")]
    NoOtherReadings(Subject),
    /// The printed group text needs everyone to reach everyone.
    #[error("the published text is explored only as group, not over the relay")]
    PublishedOverRelay,
    /// A baseline has no printed text of its own.
    #[error("{0} exists in one text only; leave out the variant")]
    OneTextOnly(Subject),
    /// More than one unit where the protocol has one.
    #[error("{0} knows one unit only; leave --k at 1")]
    OneUnitOnly(Subject),
    /// The parts do not fit.
    #[error(transparent)]
    Model(#[from] ModelError),
}
