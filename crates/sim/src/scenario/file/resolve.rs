//! From the keys of a document to a scenario, with all checks that concern more than one key.

mod crashes;
mod mobility;
mod network;
mod protocol;
mod traffic;

use super::keys;
use super::place::{Place, Problem, Source};
use super::reader::Reader;
use crate::scenario::{Limits, Name, Network, ProtocolChoice, Scenario, Text, Warmup};
use crate::time::Span;

/// Reads everything. Files are looked for beside the source.
pub(super) fn scenario(source: &Source, reader: &mut Reader<'_>) -> Result<Scenario, Problem> {
    let mut top = reader.part("");
    let name = top.text("name")?;
    let nodes: u32 = top.get("nodes")?;
    let duration = top.get("duration")?;
    let warmup = match top.amount_or_word("warmup")? {
        Ok(seconds) => Warmup::Fixed(Span::from_seconds(seconds)),
        Err(_) => Warmup::Mser5,
    };
    if let Warmup::Fixed(span) = warmup
        && span >= duration
    {
        let given = if top.has("warmup") { "warmup" } else { "duration" };
        let message = format!("nothing is left to measure: warmup {span} of {duration}");
        return Err(top.problem(given, message, "a shorter warmup, or a longer duration"));
    }
    let drain = top.get("drain")?;
    top.get::<u64>("seed")?;
    let mut protocol = protocol::choice(reader)?;
    let network = network::network(source, reader, nodes, duration)?;
    protocol.over = protocol::over(reader, &protocol, &network)?;
    let traffic = traffic::traffic(reader, nodes, duration, &protocol)?;
    let crashes = crashes::crashes(reader, nodes, duration, &protocol, &network)?;
    let limits = limits(reader, nodes)?;
    nothing_is_unused(reader, &protocol)?;
    Ok(Scenario { name, nodes, duration, warmup, drain, protocol, network, traffic, crashes, limits })
}

fn limits(reader: &mut Reader<'_>, nodes: u32) -> Result<Limits, Problem> {
    let mut part = reader.part("limits");
    let in_flight = part.optional("in_flight")?.unwrap_or(Limits::of(nodes).in_flight);
    Ok(Limits { events: part.get("events")?, in_flight })
}

/// The canonical form leaves out what does not decide a run.
pub(super) const NOT_DECIDING: [&str; 2] = ["name", "seed"];

/// A key without effect is an error.
fn nothing_is_unused(reader: &Reader<'_>, protocol: &ProtocolChoice) -> Result<(), Problem> {
    let Some((path, item)) = reader.unused() else { return Ok(()) };
    let known: String = path.split('.').filter(|part| part.parse::<usize>().is_err()).collect::<Vec<_>>().join(".");
    let Some(key) = keys::find(&known) else { return Ok(()) };
    let (section, name) = (key.section(), key.name());
    let place = if let Place::Set(_) = item.place { &item.place } else { &item.key };
    let message = match section {
        "protocol" => format!("{} does not know `{name}`", called(protocol)),
        "area" | "mobility" if reader.section("topology").is_some() => {
            format!("`{name}` has no effect with [topology]")
        }
        _ => format!("`{name}` has no effect here"),
    };
    let help = match (section, key.only) {
        ("area" | "mobility", _) if reader.section("topology").is_some() => format!("[{section}] is for [radio]"),
        (_, "") => "take it out".to_owned(),
        (_, only) => format!("`{name}` is only for {only}"),
    };
    Err(Problem::new(place, message, help))
}

/// A protocol with the text that is run.
fn called(protocol: &ProtocolChoice) -> String {
    let name = protocol.name.name();
    match (&protocol.text, protocol.name) {
        (Text::Published { .. }, _) => format!("{name} (published)"),
        (Text::Repaired, Name::ReverseLink | Name::Flood | Name::Group | Name::GroupOverRelay) => {
            format!("{name} (repaired)")
        }
        (Text::Repaired, _) => name.to_owned(),
    }
}

/// Whether messages can go straight from any node to any other.
fn everyone_is_linked(network: &Network) -> bool {
    match network {
        Network::Radio(radio) => {
            let (width, height) = (radio.area.width, radio.area.height);
            width * width + height * height <= radio.range * radio.range
        }
        Network::Wired(wired) => {
            wired.shape == crate::scenario::Shape::Complete && wired.changes == crate::scenario::Changes::default()
        }
    }
}
