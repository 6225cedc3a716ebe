//! A protocol, its text and its parameters.

use meshlock_core::{Aging, Delay, Order};
use meshlock_protocols::{Name, Setup, Text};

/// A protocol with its parameters. What a protocol does not use is ignored by it and refused by the file reader.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolChoice {
    pub name: Name,
    /// Its text. A broken rule ends a run of the repaired one; those of printed texts are counted.
    pub text: Text,
    pub over: Over,
    pub capacity: u32,
    pub order: Order,
    /// How many requests may join a session past the front (reverse-link).
    pub joins: u32,
    /// How many requests may pass a front that waits for units (reverse-link).
    pub passes: u32,
    /// The greatest level of priority (group), the paper's K.
    pub levels: u32,
    /// What aging adds (published reverse-link), the paper's epsilon.
    pub epsilon: u32,
    /// How long a node waits before it repeats itself (flood and group); `None` if it never does.
    pub retry: Option<Delay>,
}

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
            name: Name::ReverseLink,
            text: Text::Repaired,
            over: Over::Links,
            capacity: 1,
            order: Order::Priority { aging: Aging(0) },
            joins: 0,
            passes: 0,
            levels: 10,
            epsilon: 0,
            retry: Some(Delay { least_ms: 1_000, most_ms: 2_000 }),
        }
    }
}

impl ProtocolChoice {
    /// The nodes' part of it.
    pub(crate) fn setup(&self) -> Setup {
        Setup {
            name: self.name,
            text: self.text.clone(),
            readings: Vec::new(),
            over_relay: self.over == Over::Relay,
            capacity: self.capacity,
            order: self.order,
            joins: self.joins,
            passes: self.passes,
            numbered: false,
            levels: self.levels,
            epsilon: self.epsilon,
            retry: self.retry,
        }
    }
}
