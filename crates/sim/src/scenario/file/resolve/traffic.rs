//! `[traffic]` and its classes.

use std::collections::BTreeSet;

use meshlock_core::Order;

use super::super::kind::Read;
use super::super::place::Problem;
use super::super::reader::{Part, Reader};
use super::called;
use super::network::no_node;
use super::protocol::{Abilities, Use, abilities};
use crate::distribution::Distribution;
use crate::scenario::{Arrivals, Class, ProtocolChoice, Text, Traffic, UrgencyOf};
use crate::time::Span;

/// All classes; `[traffic]` alone is one.
pub(super) fn traffic(
    reader: &mut Reader<'_>,
    nodes: u32,
    duration: Span,
    protocol: &ProtocolChoice,
) -> Result<Traffic, Problem> {
    let count = reader.count("traffic.class");
    let mut names = BTreeSet::new();
    let mut classes = Vec::new();
    for index in 0..count.max(1) {
        let mut part = if count == 0 { reader.only_class() } else { reader.nth("traffic.class", index) };
        let class = class(&mut part, nodes, duration, protocol, count > 0)?;
        if !names.insert(class.name.clone()) {
            let message = format!("two classes have the name `{}`", class.name);
            return Err(part.problem("name", message, "give each its own: tables tell classes by name"));
        }
        classes.push(class);
    }
    Ok(Traffic { classes })
}

const fn can(protocol: &ProtocolChoice) -> Abilities {
    abilities(protocol.name, matches!(protocol.text, Text::Published { .. }))
}

fn class(
    part: &mut Part<'_, '_>,
    nodes: u32,
    duration: Span,
    protocol: &ProtocolChoice,
    one_of_several: bool,
) -> Result<Class, Problem> {
    if one_of_several && !part.has("name") {
        return Err(part.problem("name", "`name` is missing in [[traffic.class]]", "write name = \"hot\""));
    }
    let name = part.text("name")?;
    let where_ = match part.any("nodes")? {
        Some(Read::Nodes(Some(given))) => given,
        _ => (0..nodes).collect(),
    };
    if let Some(node) = where_.iter().copied().find(|node| *node >= nodes) {
        return Err(part.problem("nodes", no_node(node, nodes), ""));
    }
    let holding = part.get::<Distribution>("holding")?;
    let arrivals = arrivals(part, duration, holding.range().1)?;
    let units = part.get::<Distribution>("units")?;
    let most = units.range().1;
    if most > f64::from(protocol.capacity) {
        let message = format!("`units` can be {most}, but the capacity is {}", protocol.capacity);
        return Err(part.problem("units", message, "ask for less, or raise `capacity` in [protocol]"));
    }
    let urgency = urgency(part, protocol)?;
    let session = session(part, protocol)?;
    let patience = part.optional("patience")?;
    if patience.is_some() && !can(protocol).cancels {
        let message = format!("{} cannot cancel a request", called(protocol));
        return Err(part.problem(
            "patience",
            message,
            "take `patience` out, or use reverse-link, flood, group (repaired), central or omniscient",
        ));
    }
    let start = part.get("start")?;
    let stop = part.optional("stop")?;
    if start >= duration {
        return Err(part.problem("start", format!("this class starts after the end, {duration}"), "start earlier"));
    }
    if stop.is_some_and(|stop| stop <= start) {
        return Err(part.problem("stop", "`stop` is not after `start`", "stop later, or take it out"));
    }
    Ok(Class { name, nodes: where_, arrivals, holding, units, urgency, session, patience, start, stop })
}

fn arrivals(part: &mut Part<'_, '_>, duration: Span, holding: f64) -> Result<Arrivals, Problem> {
    let given: Vec<&str> = ["think", "gap", "burst"].into_iter().filter(|key| part.has(key)).collect();
    if let [one, other, ..] = given.as_slice() {
        let help = "`think`, `gap` and `burst` are three ways to ask; keep one";
        return Err(part.problem(other, format!("both `{one}` and `{other}` are given"), help));
    }
    if let Some(requests) = part.optional("burst")? {
        let at = part.get("at")?;
        if at >= duration {
            return Err(part.problem("at", format!("this burst comes after the end, {duration}"), "earlier"));
        }
        return Ok(Arrivals::Burst { at, requests });
    }
    if let Some(gap) = part.optional::<Distribution>("gap")? {
        if gap.range().1 <= 0.0 {
            return Err(part.problem("gap", "with no time between requests there is no end of them", "more than 0s"));
        }
        return Ok(Arrivals::Open { gap });
    }
    let think = part.get::<Distribution>("think")?;
    if think.range().1 <= 0.0 && holding <= 0.0 {
        let help = "think or hold for more than 0s";
        return Err(part.problem("think", "a client that neither thinks nor holds asks endlessly at one moment", help));
    }
    Ok(Arrivals::Closed { think })
}

fn urgency(part: &mut Part<'_, '_>, protocol: &ProtocolChoice) -> Result<UrgencyOf, Problem> {
    let can = can(protocol);
    if part.has("priority") && part.has("deadline") {
        return Err(part.problem("deadline", "both `priority` and `deadline` are given", "keep one"));
    }
    if let Some(deadline) = part.optional("deadline")? {
        if !can.deadlines {
            let message = format!("{} knows priorities only", called(protocol));
            return Err(part.problem("deadline", message, "use `priority` instead of `deadline`"));
        }
        if can.order && protocol.order != Order::Deadline {
            let help = "write order = \"deadline\" in [protocol], or use `priority`";
            return Err(part.problem("deadline", "requests have a deadline, but are ordered by priority", help));
        }
        return Ok(UrgencyOf::Deadline(deadline));
    }
    let priority = part.get::<Distribution>("priority")?;
    if can.order && protocol.order == Order::Deadline {
        let help = "write deadline = \"5s\" in [traffic], or order = \"priority\" in [protocol]";
        return Err(part.problem("priority", "requests are ordered by deadline, but have none", help));
    }
    let (low, high) = priority.range();
    if can.levels && (low < 1.0 || high > f64::from(protocol.levels)) {
        let wrong = if low < 1.0 { low } else { high };
        let help = "raise `levels` in [protocol], or ask less urgently";
        let message = format!("`priority` can be {wrong}, but the levels are 1 to {}", protocol.levels);
        return Err(part.problem("priority", message, help));
    }
    Ok(UrgencyOf::Priority(priority))
}

fn session(part: &mut Part<'_, '_>, protocol: &ProtocolChoice) -> Result<Option<Distribution>, Problem> {
    let can = can(protocol);
    let session = part.optional("session")?;
    match (can.sessions, &session) {
        (Use::Never, Some(_)) => {
            let help = "take `session` out, or use reverse-link (repaired), group, central or omniscient";
            Err(part.problem("session", format!("{} has no sessions", called(protocol)), help))
        }
        (Use::Always, None) => {
            let help = "write session = 1, or session = \"uniform(1, 3)\" in [traffic]";
            Err(part.problem("session", "group needs a session for every request", help))
        }
        (Use::Never | Use::Optional, None) | (Use::Optional | Use::Always, Some(_)) => Ok(session),
    }
}
