//! `[radio]` with `[area]`, or `[topology]` with its changes.

use super::super::kind::Read;
use super::super::place::{Place, Problem, Source};
use super::super::reader::{Part, Reader};
use super::mobility;
use crate::scenario::{Area, Changes, MessageSize, Network, Radio, ScriptedChange, Shape, Wired};
use crate::time::Span;

/// The one or the other.
pub(super) fn network(
    source: &Source,
    reader: &mut Reader<'_>,
    nodes: u32,
    duration: Span,
) -> Result<Network, Problem> {
    match (reader.section("radio"), reader.section("topology")) {
        (Some(_), None) => Ok(Network::Radio(radio(source, reader, nodes)?)),
        (None, Some(_)) => Ok(Network::Wired(wired(reader, nodes, duration)?)),
        (None, None) => {
            let help = "add [radio] for a radio network, or [topology] for given links; both may be empty";
            Err(Problem::new(&Place::Whole, "there is no network", help))
        }
        (Some(radio), Some(topology)) => {
            // The later one is the one too many.
            let start = |place: &Place| if let Place::Bytes { start, .. } = place { *start } else { usize::MAX };
            let place = if start(&radio) > start(&topology) { radio } else { topology };
            Err(Problem::new(&place, "there are two networks: [radio] and [topology]", "take one of them out"))
        }
    }
}

fn radio(source: &Source, reader: &mut Reader<'_>, nodes: u32) -> Result<Radio, Problem> {
    let mut part = reader.part("radio");
    let range = part.get("range")?;
    let bandwidth = part.get("bandwidth")?;
    let latency = part.get("latency")?;
    let error = part.get("error")?;
    let message = message(&mut part)?;
    let ack = part.get::<f64>("ack")? as u32;
    let retries = part.get("retries")?;
    let hold_back = part.optional("hold_back")?;
    let gentle = part.get("gentle")?;
    let (mobility, area) = match mobility::recorded(source, reader, nodes)? {
        Some(recorded) => recorded,
        None => {
            let area = area(reader, range, nodes)?;
            (mobility::mobility(source, reader, area, nodes)?, area)
        }
    };
    Ok(Radio { area, range, bandwidth, latency, error, message, ack, retries, hold_back, gentle, mobility })
}

fn area(reader: &mut Reader<'_>, range: f64, nodes: u32) -> Result<Area, Problem> {
    let mut part = reader.part("area");
    let Some(degree) = part.optional::<f64>("degree")? else {
        return match part.any("size")? {
            Some(Read::Pair(width, height)) => Ok(Area { width, height }),
            _ => Err(part.problem("size", "`size` is missing in [area]", "")),
        };
    };
    if part.has("size") {
        return Err(part.problem("degree", "both `size` and `degree` are given", "take one of them out"));
    }
    // The mean number of neighbours in a large area is pi r^2 n / A.
    let side = (std::f64::consts::PI * range * range * f64::from(nodes) / degree).sqrt();
    Ok(Area { width: side, height: side })
}

fn message(part: &mut Part<'_, '_>) -> Result<MessageSize, Problem> {
    match part.amount_or_word("message")? {
        Ok(bytes) => Ok(MessageSize::Fixed(bytes as u32)),
        Err(_) => Ok(MessageSize::Encoded { header: part.get::<f64>("header")? as u32 }),
    }
}

fn wired(reader: &mut Reader<'_>, nodes: u32, duration: Span) -> Result<Wired, Problem> {
    let mut part = reader.part("topology");
    let otherwise = if part.has("links") { "links" } else { "complete" };
    let shape = match part.get_or::<String>("shape", otherwise)?.as_str() {
        "line" => Shape::Line,
        "ring" => Shape::Ring,
        "star" => Shape::Star,
        "grid" => Shape::Grid,
        "tree" => Shape::Tree { arity: part.get("arity")? },
        "random" => Shape::Random { connectivity: part.get("connectivity")? },
        "links" => Shape::Links(links(&mut part, "links", nodes)?),
        _ => Shape::Complete,
    };
    let delay = part.get("delay")?;
    let fifo = part.get("fifo")?;
    let loss = part.get("loss")?;
    let message = message(&mut part)?;
    let hold_back = part.optional("hold_back")?;
    let gentle = part.get("gentle")?;
    let every = part.optional("change_every")?;
    let keep_connected = part.get("keep_connected")?;
    if keep_connected && every.is_none() {
        let help = "add change_every = \"10s\", or take `keep_connected` out";
        return Err(part.problem("keep_connected", "`keep_connected` has no effect without `change_every`", help));
    }
    let count = reader.count("topology.change");
    let script = (0..count).map(|index| change(reader, index, nodes, duration)).collect::<Result<_, _>>()?;
    let changes = Changes { every, keep_connected, script };
    Ok(Wired { shape, delay, fifo, loss, message, hold_back, gentle, changes })
}

fn change(reader: &mut Reader<'_>, index: usize, nodes: u32, duration: Span) -> Result<ScriptedChange, Problem> {
    let mut part = reader.nth("topology.change", index);
    let at = part.get("at")?;
    if at > duration {
        let help = format!("nothing changes after the duration, {duration}");
        return Err(part.problem("at", "this change comes after the end", help));
    }
    let (key, up) = match (part.has("up"), part.has("cut")) {
        (true, false) => ("up", true),
        (false, true) => ("cut", false),
        (true, true) => return Err(part.problem("cut", "a change has `up` or `cut`, not both", "write two changes")),
        (false, false) => {
            let help = "write cut = [0, 1] or up = [0, 1]";
            return Err(part.problem("at", "this change has neither `up` nor `cut`", help));
        }
    };
    match links(&mut part, key, nodes)?.first() {
        Some((a, b)) => Ok(ScriptedChange { at, a: *a, b: *b, up }),
        None => Err(part.problem(key, format!("`{key}` is empty"), "write [0, 1]")),
    }
}

fn links(part: &mut Part<'_, '_>, key: &str, nodes: u32) -> Result<Vec<(u32, u32)>, Problem> {
    let mut links: Vec<(u32, u32)> = Vec::new();
    let Some(Read::Links(given)) = part.any(key)? else { return Ok(links) };
    for (a, b, place) in given {
        if let Some(node) = [a, b].into_iter().find(|node| *node >= nodes) {
            return Err(Problem::new(&place, no_node(node, nodes), ""));
        }
        if links.contains(&(a, b)) || links.contains(&(b, a)) {
            return Err(Problem::new(&place, format!("the link of {a} and {b} is there twice"), "take one out"));
        }
        links.push((a, b));
    }
    Ok(links)
}

pub(super) fn no_node(node: u32, nodes: u32) -> String {
    format!("there is no node {node}: nodes = {nodes}, so they are numbered 0 to {}", nodes - 1)
}
