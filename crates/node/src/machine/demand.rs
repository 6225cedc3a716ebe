//! From what a client asks for to what a protocol understands.

use meshlock_api::resource::check_lease;
use meshlock_api::text::LONGEST_TEXT;
use meshlock_api::{Definition, Kind, Mode, NewRequest, Order, Problem, Protocol, Urgency};
use meshlock_core::group::readers_writer::Access;
use meshlock_core::vocabulary::{Deadline, Priority};
use meshlock_core::{Demand, NodeId, Session, Units};

use super::bundle;

/// The priorities that protocol `group` offers: 0 to this.
pub(crate) const GROUP_PRIORITIES: i32 = 9;

/// The demand of a request for a resource of this definition, or why it can never be granted.
pub(crate) fn demand(name: &str, definition: &Definition, asked: &NewRequest, node: NodeId) -> Result<Demand, Problem> {
    let urgency = urgency(name, definition, asked.urgency.unwrap_or(Urgency::Priority(0)))?;
    let units = units(name, definition, asked)?;
    let session = session(name, definition, asked, node)?;
    Ok(Demand { units: Units(units), urgency, session })
}

/// The urgency as the protocol of the resource wants it.
pub(crate) fn urgency(name: &str, definition: &Definition, asked: Urgency) -> Result<meshlock_core::Urgency, Problem> {
    match (definition.order, asked) {
        (Order::Deadline, Urgency::Deadline(at)) => Ok(meshlock_core::Urgency::Deadline(Deadline(at))),
        (Order::Deadline, Urgency::Priority(_)) => {
            Err(Problem::conflict(format!("{name:?} is ordered by deadline: give a deadline, not a priority")))
        }
        (Order::Priority { .. }, Urgency::Deadline(_)) => {
            Err(Problem::conflict(format!("{name:?} is ordered by priority: give a priority, not a deadline")))
        }
        (Order::Priority { .. }, Urgency::Priority(priority)) => {
            let level = match definition.protocol {
                Protocol::ReverseLink | Protocol::Flood => priority,
                Protocol::Group if (0..=GROUP_PRIORITIES).contains(&priority) => priority + 1,
                Protocol::Group => {
                    let range = format!("0 to {GROUP_PRIORITIES}");
                    return Err(Problem::conflict(format!(
                        "protocol \"group\" has priorities {range}, not {priority}"
                    )));
                }
            };
            Ok(meshlock_core::Urgency::Priority(Priority(level)))
        }
    }
}

fn units(name: &str, definition: &Definition, asked: &NewRequest) -> Result<u32, Problem> {
    let capacity = definition.capacity;
    let units = asked.units.unwrap_or(1);
    if units == 0 {
        return Err(Problem::bad_request("0 units asked for; ask for at least 1"));
    }
    if definition.kind == Kind::ReadersWriter {
        if asked.units.is_some_and(|units| units != 1) {
            return Err(Problem::conflict(format!("{name:?} has readers and writers, not units: leave units out")));
        }
        let writes = asked.mode.unwrap_or(Mode::Write) == Mode::Write;
        return Ok(if writes && definition.protocol == Protocol::ReverseLink { capacity } else { 1 });
    }
    if units > capacity {
        let has = format!("{name:?} has {capacity} in all");
        return Err(Problem::conflict(format!("{units} units can never be granted: {has}")));
    }
    if units > 1 && definition.protocol != Protocol::ReverseLink {
        return Err(Problem::conflict(format!("{name:?} is served by a protocol without units: ask for 1")));
    }
    Ok(units)
}

fn session(name: &str, definition: &Definition, asked: &NewRequest, node: NodeId) -> Result<Option<Session>, Problem> {
    if asked.mode.is_some() && definition.kind != Kind::ReadersWriter {
        return Err(Problem::conflict(format!("{name:?} has no readers and writers: leave the mode out")));
    }
    match (definition.kind, &asked.session) {
        (Kind::Sessions, Some(session)) => Ok(Some(session_number(session))),
        (Kind::Sessions, None) => Err(Problem::conflict(format!("{name:?} has sessions: say which one to attend"))),
        (_, Some(_)) => Err(Problem::conflict(format!("{name:?} has no sessions: leave the session out"))),
        (Kind::ReadersWriter, None) if definition.protocol == Protocol::Group => {
            let access = match asked.mode.unwrap_or(Mode::Write) {
                Mode::Read => Access::Read,
                Mode::Write => Access::Write(node),
            };
            Ok(Some(access.session()))
        }
        (Kind::ReadersWriter | Kind::Mutex | Kind::Semaphore, None) => Ok(None),
    }
}

/// The number of a session's name: the first 63 bits of its SHA-256, so that two names never meet in practice. The
/// same on every node, without any agreement.
pub(crate) fn session_number(name: &str) -> Session {
    let digest = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
    let first = digest.as_ref().iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    Session(first >> 1)
}

/// What is wrong with a request whatever its resource is.
pub(crate) fn check(asked: &NewRequest) -> Result<(), Problem> {
    if !asked.all.is_empty() {
        bundle::check(asked)?;
    } else if asked.resource.is_empty() {
        return Err(Problem::bad_request("say what is asked for: \"resource\", or several resources in \"all\""));
    } else {
        meshlock_api::resource::check_name(&asked.resource).map_err(Problem::bad_request)?;
    }
    if let Some(id) = &asked.id {
        check_text("id", id, 128)?;
        if id.is_empty() || id.contains(['/', '?', '#', '%']) || !id.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Problem::bad_request("an id has 1 to 128 visible ASCII characters, none of / ? # %"));
        }
        if id.starts_with('~') {
            return Err(Problem::bad_request("ids that begin with ~ are given by the node; choose another"));
        }
    }
    if let Some(session) = &asked.session {
        check_text("session", session, LONGEST_TEXT)?;
    }
    if let Some(owner) = &asked.owner {
        check_text("owner", owner, LONGEST_TEXT)?;
    }
    if let Some(lease) = asked.lease_ms {
        check_lease(lease).map_err(Problem::bad_request)?;
    }
    Ok(())
}

fn check_text(what: &str, text: &str, longest: usize) -> Result<(), Problem> {
    if text.len() > longest || text.chars().any(char::is_control) {
        return Err(Problem::bad_request(format!("{what}: at most {longest} bytes and no control characters")));
    }
    Ok(())
}
