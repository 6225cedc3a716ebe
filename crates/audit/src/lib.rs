//! Runs a recorded trace again: every event goes through the very types of `meshlock-core`, and every effect and view
//! must come out as it was recorded. On the way the rules that a trace can show are watched, and every message that
//! arrives must have been sent, in order.
//!
//! Traces of the simulator and of nodes can be audited, of the repaired `reverse-link`, `flood`, and `group` over the
//! relay. Nodes that went on from an earlier run cannot be built anew; their events are not replayed, but counted.

mod replay;
mod setup;

use std::io::BufRead;

use meshlock_core::relay::{self, Relayed};
use meshlock_core::{NodeId, flood, group, reverse_link};
use meshlock_trace::{Reader, TraceError};
use serde::Serialize;

use replay::Replay;
use setup::Setup;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Audited {
    pub protocol: String,
    pub events: u64,
    /// Those that were run again.
    pub replayed: u64,
    pub nodes: u64,
    /// Messages that arrived and whose sending is in the trace.
    pub messages: u64,
    /// Messages from or to nodes that are not recorded from their beginning: nobody can say what was sent.
    pub unchecked_messages: u64,
    /// Nodes whose events were not run again.
    pub skipped: Vec<Skipped>,
    pub rules: Vec<&'static str>,
    /// The trace has an end; otherwise it was cut off or is still being written.
    pub ended: bool,
    /// Recorded by several machines with clocks of their own, so that what happened in different places may stand in the
    /// wrong order.
    pub by_wall_clock: bool,
    /// The first thing that is not as it should be; nothing after it was looked at.
    pub difference: Option<Difference>,
}

/// A node whose events were not run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    pub node: NodeId,
    pub name: String,
    pub events: u64,
    pub reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub line: u64,
    pub node: Option<NodeId>,
    pub rule: Option<String>,
    /// What is wrong, in words.
    pub what: String,
}

/// Why a trace cannot be audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error(transparent)]
    Unreadable(#[from] TraceError),
    #[error("this trace cannot be run again: {0}")]
    Unsupported(String),
}

/// Runs a trace again and compares.
pub fn audit(mut input: impl BufRead) -> Result<Audited, AuditError> {
    replay(&mut input)
}

/// Compiled here, once, and not again in every program that audits.
fn replay(input: &mut dyn BufRead) -> Result<Audited, AuditError> {
    let reader = Reader::new(input)?;
    let setup = Setup::of(reader.header())?;
    match &setup.protocol {
        setup::Protocol::ReverseLink { numbered, passes } => {
            let (numbered, passes) = (*numbered, *passes);
            let (capacity, order, joins) = (setup.setting.capacity, setup.setting.order, setup.setting.joins);
            let make = |id, starts_with_token, fence| {
                let config = reverse_link::Config { id, starts_with_token, capacity, order, joins, passes, numbered };
                reverse_link::Node::new(config).with_fences_above(fence)
            };
            Replay::new(&setup, make).run(reader.with_messages())
        }
        setup::Protocol::Flood { retry } => {
            let retry = *retry;
            let make = |id, starts_with_token, fence| {
                flood::Node::new(flood::Config { id, starts_with_token, retry }).with_fences_above(fence)
            };
            Replay::new(&setup, make).run(reader.with_messages())
        }
        setup::Protocol::Group { members, levels, retry } => {
            let make = |id, starts_with_token, fence| {
                let (members, levels, retry) = (members.clone(), *levels, *retry);
                let node = group::Config { id, members, starts_with_token, levels, retry };
                Relayed::new(group::Node::new(node).with_fences_above(fence), relay::Config::default())
            };
            Replay::new(&setup, make).run(reader.with_messages())
        }
    }
}
