//! `[protocol]`: what each protocol knows, and what is refused because it does not.

use meshlock_core::{Aging, Order};
use meshlock_protocols::printed::{flood, group, reverse_link};
use meshlock_protocols::repairs::Defect;

use super::super::kind::Read;
use super::super::near;
use super::super::place::Problem;
use super::super::reader::Reader;
use super::{called, everyone_is_linked};
use crate::scenario::{Name, Network, Over, ProtocolChoice, Text};

/// Whether something is possible, and whether it is optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Never,
    Optional,
    Always,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    /// More than one unit.
    pub(super) units: bool,
    /// An order by urgency.
    pub(super) order: bool,
    /// Deadlines. Protocols that ignore urgency take them too, so that misses can be counted.
    pub(super) deadlines: bool,
    /// `aging` and `joins`.
    pub(super) joins: bool,
    pub(super) passes: bool,
    /// `levels`: priorities are from 1 to it.
    pub(super) levels: bool,
    pub(super) epsilon: bool,
    /// `retry`; `Optional`: it may be `none`.
    pub(super) retry: Use,
    pub(super) sessions: Use,
    /// A client may lose its patience.
    pub(super) cancels: bool,
}

/// What a protocol knows, in the text that is run.
pub(super) const fn abilities(name: Name, published: bool) -> Abilities {
    let plain = Abilities {
        units: false,
        order: false,
        deadlines: true,
        joins: false,
        passes: false,
        levels: false,
        epsilon: false,
        retry: Use::Never,
        sessions: Use::Never,
        cancels: !published,
    };
    match (name, published) {
        (Name::ReverseLink, true) => Abilities { units: true, epsilon: true, deadlines: false, ..plain },
        (Name::ReverseLink, false) | (Name::Central | Name::Omniscient, _) => {
            let passes = matches!(name, Name::ReverseLink);
            Abilities { units: true, order: true, joins: true, passes, sessions: Use::Optional, ..plain }
        }
        (Name::Flood, true) => plain,
        (Name::Flood, false) => Abilities { retry: Use::Always, ..plain },
        (Name::Group | Name::GroupOverRelay, _) => Abilities {
            levels: true,
            deadlines: false,
            sessions: Use::Always,
            retry: if published { Use::Never } else { Use::Optional },
            ..plain
        },
        (Name::Raynal, _) => Abilities { units: true, cancels: false, ..plain },
        (Name::Raymond | Name::SuzukiKasami | Name::RicartAgrawala | Name::Lamport | Name::NaimiTrehel, _) => {
            Abilities { cancels: false, ..plain }
        }
    }
}

/// Reads `[protocol]`; how messages travel is decided when the network is known.
pub(super) fn choice(reader: &mut Reader<'_>) -> Result<ProtocolChoice, Problem> {
    let mut part = reader.part("protocol");
    let word = part.text("name")?;
    let Some(name) = Name::named(&word, &Name::SIMULATED) else {
        return Err(part.problem("name", format!("there is no name `{word}`"), ""));
    };
    let published = part.text("text")? == "published";
    let defects = defects(name);
    if published && defects.is_empty() {
        let help = "take `text` out; reverse-link, flood and group have a published text";
        return Err(part.problem("text", format!("{word} has no published text"), help));
    }
    let mut choice = ProtocolChoice { name, ..ProtocolChoice::default() };
    if published {
        let mut repairs = Vec::new();
        if let Some(Read::Texts(given)) = part.any("repairs")? {
            for (given, place) in given {
                match defects.iter().find(|name| name.eq_ignore_ascii_case(&given)) {
                    Some(name) => repairs.push(*name),
                    None => {
                        let message = format!("{word} has no defect `{given}`");
                        return Err(Problem::new(&place, message, near::help(&given, &defects)));
                    }
                }
            }
        }
        // In the order of their numbers: equal sets, equal runs.
        let repairs: Vec<String> =
            defects.iter().filter(|name| repairs.contains(name)).map(|name| (*name).to_owned()).collect();
        part.show("repairs", format!("{repairs:?}"));
        choice.text = Text::Published { repairs };
    }
    let can = abilities(name, published);
    choice.capacity = part.get("capacity")?;
    if choice.capacity > 1 && !can.units {
        let message = format!("{word} has one unit only, not {}", choice.capacity);
        return Err(part.problem("capacity", message, "use reverse-link, central, raynal or omniscient for more"));
    }
    if can.order {
        choice.order = match part.text("order")?.as_str() {
            "deadline" => Order::Deadline,
            _ => Order::Priority { aging: Aging(part.get("aging")?) },
        };
    }
    if can.joins {
        choice.joins = part.get("joins")?;
    }
    if can.passes {
        choice.passes = part.get("passes")?;
    }
    if can.levels {
        choice.levels = part.get("levels")?;
    }
    if can.epsilon {
        choice.epsilon = part.get("epsilon")?;
    }
    if can.retry != Use::Never {
        if let Some(Read::Retry(retry)) = part.any("retry")? {
            choice.retry = retry;
        }
        if choice.retry.is_none() && can.retry == Use::Always {
            let message = format!("{} needs a retry", called(&choice));
            return Err(part.problem("retry", message, "write \"1s..2s\""));
        }
    }
    Ok(choice)
}

/// How messages travel, and whether that is possible.
pub(super) fn over(reader: &mut Reader<'_>, choice: &ProtocolChoice, network: &Network) -> Result<Over, Problem> {
    let linked = everyone_is_linked(network);
    let wired = matches!(network, Network::Wired(_));
    let omniscient = choice.name == Name::Omniscient;
    let otherwise = if omniscient || choice.name.speaks_to_neighbours() || (wired && linked) {
        "links"
    } else if choice.name == Name::Group {
        "relay"
    } else {
        "routing"
    };
    let mut part = reader.part("protocol");
    let over = match part.get_or::<String>("over", otherwise)?.as_str() {
        "relay" => Over::Relay,
        "routing" => Over::Routing,
        _ => Over::Links,
    };
    let name = choice.name.name();
    if (choice.name.speaks_to_neighbours() || omniscient) && over != Over::Links {
        let why = if omniscient { "needs no messages" } else { "sends to neighbours only" };
        return Err(part.problem("over", format!("{name} {why}"), "take `over` out, or write \"links\""));
    }
    let possible =
        linked || matches!(network, Network::Wired(wired) if wired.shape == crate::scenario::Shape::Complete);
    if over == Over::Links && !choice.name.speaks_to_neighbours() && !omniscient && !possible {
        let message = format!("{name} sends to any node, but not all nodes are linked to each other");
        let help = "write \"relay\" or \"routing\", or use [topology] with shape = \"complete\", or a longer range";
        return Err(part.problem("over", message, help));
    }
    Ok(over)
}

fn defects(name: Name) -> Vec<&'static str> {
    fn names<D: Defect>() -> Vec<&'static str> {
        D::ALL.iter().map(|defect| defect.name()).collect()
    }
    match name {
        Name::ReverseLink => names::<reverse_link::Defect>(),
        Name::Flood => names::<flood::Defect>(),
        Name::Group | Name::GroupOverRelay => names::<group::Defect>(),
        Name::Central
        | Name::Raymond
        | Name::SuzukiKasami
        | Name::RicartAgrawala
        | Name::Lamport
        | Name::NaimiTrehel
        | Name::Raynal
        | Name::Omniscient => Vec::new(),
    }
}
