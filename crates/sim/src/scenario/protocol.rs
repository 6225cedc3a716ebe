//! Which protocol, which text of it, with which parameters.

use meshlock_core::{Aging, Delay, Order};

/// A protocol with its parameters. What a protocol does not use is ignored by it and refused by the file reader.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolChoice {
    /// Which.
    pub name: ProtocolName,
    /// Which text of it.
    pub text: Text,
    /// How its messages travel.
    pub over: Over,
    /// The k of h-out-of-k.
    pub capacity: u32,
    /// How requests are ordered.
    pub order: Order,
    /// How many may join a session past the front (reverse-link).
    pub joins: u32,
    /// The greatest level of priority (group), the paper's K.
    pub levels: u32,
    /// What aging adds (published reverse-link), the paper's epsilon.
    pub epsilon: u32,
    /// How long a node waits before it repeats itself (flood and group); `None` if it never does.
    pub retry: Option<Delay>,
}

/// The protocols there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtocolName {
    /// Jiang: prioritized h-out-of-k over the reverse-link graph.
    ReverseLink,
    /// The PSAR report: Suzuki-Kasami by flooding.
    Flood,
    /// Swaroop and Singh: prioritized group mutual exclusion.
    Group,
    /// A coordinator at node 0 that everybody asks.
    Central,
    /// Raymond's tree.
    Raymond,
    /// Suzuki and Kasami's broadcast.
    SuzukiKasami,
    /// Ricart and Agrawala's permissions.
    RicartAgrawala,
    /// Lamport's queue that everybody keeps.
    Lamport,
    /// Naimi and Trehel's path reversal.
    NaimiTrehel,
    /// Raynal's h-out-of-k permissions.
    Raynal,
    /// Knows everything at once: [`Self::Central`] on a network without delay. The bound nobody can beat.
    Omniscient,
}

impl ProtocolName {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::ReverseLink,
        Self::Flood,
        Self::Group,
        Self::Central,
        Self::Raymond,
        Self::SuzukiKasami,
        Self::RicartAgrawala,
        Self::Lamport,
        Self::NaimiTrehel,
        Self::Raynal,
        Self::Omniscient,
    ];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReverseLink => "reverse-link",
            Self::Flood => "flood",
            Self::Group => "group",
            Self::Central => "central",
            Self::Raymond => "raymond",
            Self::SuzukiKasami => "suzuki-kasami",
            Self::RicartAgrawala => "ricart-agrawala",
            Self::Lamport => "lamport",
            Self::NaimiTrehel => "naimi-trehel",
            Self::Raynal => "raynal",
            Self::Omniscient => "omniscient",
        }
    }

    /// The protocol of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// Whether its messages go to neighbours only. All others send to any node.
    pub const fn speaks_to_neighbours(self) -> bool {
        matches!(self, Self::ReverseLink | Self::Flood)
    }
}

/// Which text of a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// What a node runs. A broken rule ends the run.
    Repaired,
    /// As printed, with some defects repaired by name (`p1`, `f7`, `g3`). Broken rules are counted. Only
    /// reverse-link, flood and group have one.
    Published {
        /// The repaired ones.
        repairs: Vec<String>,
    },
}

/// How messages of a protocol travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Over the links of the network, to neighbours. For any-to-any protocols the network should be complete.
    Links,
    /// To any node by meshlock's relay, which floods and learns routes. Messages can be lost.
    Relay,
    /// To any node by ideal routing: hop by hop on a shortest path of the moment, waiting where there is none, sent
    /// again where a link breaks. Costs transmissions but no messages of its own: better than any real routing.
    Routing,
}

impl Default for ProtocolChoice {
    fn default() -> Self {
        Self {
            name: ProtocolName::ReverseLink,
            text: Text::Repaired,
            over: Over::Links,
            capacity: 1,
            order: Order::Priority { aging: Aging(0) },
            joins: 0,
            levels: 10,
            epsilon: 0,
            retry: Some(Delay { least_ms: 1_000, most_ms: 2_000 }),
        }
    }
}
