//! What the header of a trace says about how its nodes were set up.

use std::collections::BTreeSet;

use meshlock_core::group::{Level, Members};
use meshlock_core::{Delay, NodeId, Order, Units};
use meshlock_properties::{RuleSet, Setting, Watcher};
use meshlock_trace::{Header, Source};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::AuditError;

/// How the nodes of a trace were set up.
pub(super) struct Setup {
    pub(super) protocol: Protocol,
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) setting: Setting,
    pub(super) rules: RuleSet,
    /// Links keep the order of their messages.
    pub(super) in_order: bool,
    pub(super) by_wall_clock: bool,
    /// Nodes whose last events are missing.
    pub(super) cut_off: BTreeSet<NodeId>,
    /// The node that begins with the token where nothing else is said.
    pub(super) first: Option<NodeId>,
}

/// The protocol with what only it needs.
pub(super) enum Protocol {
    ReverseLink { numbered: bool, passes: u32 },
    Flood { retry: Delay },
    Group { members: Members, levels: Level, retry: Option<Delay> },
}

impl Setup {
    pub(super) fn of(header: &Header) -> Result<Self, AuditError> {
        if header.source == Source::Check {
            return Err(unsupported("it was written by the checker, which has run it already; use `meshlock check`"));
        }
        if header.variant != "repaired" {
            let variant = &header.variant;
            return Err(unsupported(format!("it is of the variant {variant:?}; only \"repaired\" can be")));
        }
        let protocol = match header.protocol.as_str() {
            // Missing in recordings from before units were numbered.
            "reverse-link" => Protocol::ReverseLink {
                numbered: given(header, "numbered")?.unwrap_or(false),
                passes: given(header, "passes")?.unwrap_or(0),
            },
            "flood" => Protocol::Flood { retry: needed(header, "retry")? },
            "group" => group(header)?,
            other => {
                let known = "reverse-link, flood, and group over the relay";
                return Err(unsupported(format!("it is of protocol {other:?}; those that can be are {known}")));
            }
        };
        let capacity: u32 = needed(header, "capacity")?;
        let order: Order = needed(header, "order")?;
        let joins: u32 = needed(header, "joins")?;
        Ok(Self {
            protocol,
            name: header.protocol.clone(),
            source: header.source,
            setting: Setting {
                capacity: Units(capacity),
                order,
                joins,
                overtaking_bound: u32::MAX,
                numbered: false,
                passes: given(header, "passes")?.unwrap_or(0),
            },
            rules: Watcher::rules_of(&header.protocol).unwrap_or(RuleSet::NONE),
            in_order: given(header, "fifo")?.unwrap_or(true),
            by_wall_clock: given(header, "one_clock")? == Some(false),
            cut_off: given(header, "cut_off")?.unwrap_or_default(),
            first: header.nodes.iter().map(|node| node.id).min(),
        })
    }
}

fn group(header: &Header) -> Result<Protocol, AuditError> {
    let over: String = needed(header, "over")?;
    if over != "relay" {
        return Err(unsupported(format!("it is of protocol \"group\" over {over}; only over the relay it can be")));
    }
    let anyone = given::<String>(header, "members")?.is_some_and(|members| members == "anyone");
    let these = || header.nodes.iter().map(|node| node.id).collect();
    let members = if anyone { Members::Anyone } else { Members::These(these()) };
    Ok(Protocol::Group { members, levels: Level(needed(header, "levels")?), retry: given(header, "retry")? })
}

/// A parameter without which nothing can be run again.
fn needed<T: DeserializeOwned>(header: &Header, name: &str) -> Result<T, AuditError> {
    let missing = || unsupported(format!("its header has no parameter `{name}`; record it with this version"));
    given(header, name)?.ok_or_else(missing)
}

fn given<T: DeserializeOwned>(header: &Header, name: &str) -> Result<Option<T>, AuditError> {
    match header.parameters.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => T::deserialize(value)
            .map(Some)
            .map_err(|error| unsupported(format!("the parameter `{name}` of its header makes no sense: {error}"))),
    }
}

fn unsupported(what: impl Into<String>) -> AuditError {
    AuditError::Unsupported(what.into())
}
