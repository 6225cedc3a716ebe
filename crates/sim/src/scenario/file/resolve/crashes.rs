//! `[crashes]` and its script.

use super::super::place::Problem;
use super::super::reader::Reader;
use super::called;
use super::network::no_node;
use crate::build::{can_recover, recovering_protocols};
use crate::scenario::{Crashes, Network, Over, ProtocolChoice, Recovery, ScriptedCrash, Voting};
use crate::time::Span;

/// `None` if there is no such section.
pub(super) fn crashes(
    reader: &mut Reader<'_>,
    nodes: u32,
    duration: Span,
    protocol: &ProtocolChoice,
    network: &Network,
) -> Result<Option<Crashes>, Problem> {
    let Some(place) = reader.section("crashes") else { return Ok(None) };
    if let Some((message, help)) = obstacle(nodes, protocol, network) {
        return Err(Problem::new(&place, message, help));
    }
    let count = reader.count("crashes.script");
    let script = (0..count).map(|index| scripted(reader, index, nodes, duration)).collect::<Result<Vec<_>, _>>()?;
    let mut part = reader.part("crashes");
    let per_hour = part.get("per_hour")?;
    if per_hour == 0.0 && script.is_empty() {
        let help = "write per_hour = 10, or a [[crashes.script]] with `at`, `node` and `for`";
        return Err(part.problem("per_hour", "nothing says when a node crashes", help));
    }
    // What has no effect is refused as such, so it is read only where it has one.
    let (back, never) = if per_hour > 0.0 {
        (part.get("back")?, part.get("never")?)
    } else {
        (crate::distribution::Distribution::Constant(0.0), 0.0)
    };
    let lease = part.get("lease")?;
    let recovery = match part.text("recovery")?.as_str() {
        "none" => Recovery::None,
        "restart" => Recovery::Restart { removal: part.get("removal")? },
        _ => {
            let voters: u32 = part.optional("voters")?.unwrap_or(if nodes < 3 { 1 } else { 3 });
            if voters.is_multiple_of(2) || voters > nodes {
                let message = format!("{voters} of {nodes} nodes cannot vote");
                return Err(part.problem("voters", message, "write 1, 3 or 5, and not more than `nodes`"));
            }
            part.show("voters", voters.to_string());
            Recovery::Voters(Voting::new(voters, part.get("standing")?, part.get("drift")?))
        }
    };
    Ok(Some(Crashes { per_hour, back, never, script, lease, believed_lease: lease, recovery }))
}

/// Why no node may crash in this scenario, and what to do about it.
fn obstacle(nodes: u32, protocol: &ProtocolChoice, network: &Network) -> Option<(String, String)> {
    if !can_recover(protocol) {
        let able = recovering_protocols().join(", ");
        let message = format!("{} cannot recover from crashes", called(protocol));
        return Some((message, format!("take [crashes] out, or use one that can: {able} (text = \"repaired\")")));
    }
    if protocol.over == Over::Routing {
        let help = "write over = \"relay\" in [protocol]";
        return Some(("crashes and ideal routing do not go together".to_owned(), help.to_owned()));
    }
    if nodes > u32::from(u16::MAX) {
        return Some((format!("a mesh has at most {} members", u16::MAX), "use fewer nodes".to_owned()));
    }
    if let Network::Wired(wired) = network
        && (wired.loss > 0.0 || !wired.fifo)
    {
        let message = "a mesh that recovers needs links that keep all messages and their order while they are up";
        return Some((message.to_owned(), "take `loss` and `fifo` out of [topology]".to_owned()));
    }
    None
}

fn scripted(reader: &mut Reader<'_>, index: usize, nodes: u32, duration: Span) -> Result<ScriptedCrash, Problem> {
    let mut part = reader.nth("crashes.script", index);
    let at = part.get("at")?;
    if at > duration {
        return Err(part.problem("at", "this crash comes after the end", format!("the duration is {duration}")));
    }
    let node: u32 = part.get("node")?;
    if node >= nodes {
        return Err(part.problem("node", no_node(node, nodes), ""));
    }
    Ok(ScriptedCrash { at, node, back: part.optional("for")? })
}
