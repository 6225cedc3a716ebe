//! The one list of protocols.

use std::fmt;

/// A protocol by its name in files and on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// Jiang: prioritized h-out-of-k over the reverse-link graph.
    ReverseLink,
    /// The PSAR report: Suzuki-Kasami by flooding.
    Flood,
    /// Swaroop and Singh: prioritized group mutual exclusion.
    Group,
    /// The same over neighbour links, by the relay. The simulator calls it group with `over = "relay"`.
    GroupOverRelay,
    /// A coordinator at node 0.
    Central,
    /// Raymond's tree.
    Raymond,
    /// Suzuki and Kasami's broadcast.
    SuzukiKasami,
    /// Ricart and Agrawala's permissions.
    RicartAgrawala,
    /// Lamport's replicated queue.
    Lamport,
    /// Naimi and Trehel's path reversal.
    NaimiTrehel,
    /// Raynal's h-out-of-k permissions.
    Raynal,
    /// [`Self::Central`] on a network without delay: a bound for all others. Only the simulator has it.
    Omniscient,
}

impl Name {
    /// Those that the checker explores.
    pub const CHECKED: [Self; 11] = [
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

    /// Those that the simulator runs.
    pub const SIMULATED: [Self; 11] = [
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
            Self::GroupOverRelay => "group-over-relay",
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

    /// The protocol of this name, among those of [`Self::CHECKED`] or [`Self::SIMULATED`].
    pub fn named(name: &str, among: &[Self]) -> Option<Self> {
        among.iter().copied().find(|protocol| protocol.name() == name)
    }

    /// Whether it is group mutual exclusion: sessions instead of units.
    pub const fn has_sessions_only(self) -> bool {
        matches!(self, Self::Group | Self::GroupOverRelay)
    }

    /// Whether it is one of the classics. They exist in one text only and tolerate no faults.
    pub const fn is_baseline(self) -> bool {
        !matches!(self, Self::ReverseLink | Self::Flood | Self::Group | Self::GroupOverRelay)
    }

    /// Whether its messages go to neighbours only. All others send to any node.
    pub const fn speaks_to_neighbours(self) -> bool {
        matches!(self, Self::ReverseLink | Self::Flood | Self::GroupOverRelay)
    }

    /// Whether it serves several requests of a node at the same time.
    pub const fn serves_many(self) -> bool {
        matches!(self, Self::ReverseLink | Self::Central | Self::Omniscient)
    }

    /// Whether it knows more than one unit.
    pub const fn has_units(self) -> bool {
        matches!(self, Self::ReverseLink | Self::Central | Self::Raynal | Self::Omniscient)
    }

    /// Whether its printed text can be read in more than one way.
    pub const fn has_readings(self) -> bool {
        matches!(self, Self::ReverseLink | Self::Flood)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Text {
    /// What a node runs.
    Repaired,
    /// As printed, with some defects repaired by name (`p1`, `f7`, `g3`). Only reverse-link, flood and group have one.
    Published {
        /// The repaired ones.
        repairs: Vec<String>,
    },
}

impl Text {
    pub const PRINTED: Self = Self::Published { repairs: Vec::new() };

    /// The printed text with these defects repaired.
    pub fn with_repairs(repairs: &[&str]) -> Self {
        Self::Published { repairs: repairs.iter().map(ToString::to_string).collect() }
    }
}
