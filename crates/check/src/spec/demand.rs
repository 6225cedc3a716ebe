//! Demands as text: `2@5` is two units at priority 5, `1@3/7` the same in session 7, `1#90` one unit by deadline 90.

use meshlock_core::{Deadline, Demand, Priority, Session, Units, Urgency};

use crate::model::Work;
use meshlock_protocols::Name;

/// The smallest demand of a protocol.
pub const fn plain_demand(protocol: Name) -> Demand {
    if protocol.has_sessions_only() { Demand::session(1, 1) } else { Demand::units(1, 0) }
}

/// What is wrong with a demand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}`: {what}; write UNITS@PRIORITY, UNITS@PRIORITY/SESSION or UNITS#DEADLINE, for instance 1@5, 2@0/7, 1#90"
)]
pub struct DemandError {
    pub text: String,
    pub what: String,
}

pub fn parse_demand(text: &str) -> Result<Demand, DemandError> {
    let wrong = |what: String| DemandError { text: text.to_string(), what };
    let (body, session) = match text.split_once('/') {
        Some((body, session)) => (body, Some(session)),
        None => (text, None),
    };
    let at = body.find(['@', '#']).ok_or_else(|| wrong("neither @ nor # in it".to_string()))?;
    let (units, urgency) = body.split_at(at);
    let units = units.parse().map_err(|_| wrong(format!("{units:?} is no number of units")))?;
    let number = &urgency[1..];
    let urgency = if urgency.starts_with('@') {
        let priority = number.parse().map_err(|_| wrong(format!("{number:?} is no priority")))?;
        Urgency::Priority(Priority(priority))
    } else {
        let deadline = number.parse().map_err(|_| wrong(format!("{number:?} is no deadline")))?;
        Urgency::Deadline(Deadline(deadline))
    };
    let number = |s: &str| s.parse().map(Session).map_err(|_| wrong(format!("{s:?} is no session")));
    Ok(Demand { units: Units(units), urgency, session: session.map(number).transpose()? })
}

/// Reads the work of one node: demands with commas between them, made in this order.
pub fn parse_work(text: &str) -> Result<Work, DemandError> {
    if text.is_empty() || text == "-" {
        return Ok(Work::any(0, Vec::new()));
    }
    let demands = text.split(',').map(|demand| parse_demand(demand.trim())).collect::<Result<_, _>>()?;
    Ok(Work::in_order(demands))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_are_read_as_written() {
        assert_eq!(parse_demand("2@5"), Ok(Demand::units(2, 5)));
        assert_eq!(parse_demand("1@-3/7"), Ok(Demand::session(7, -3)));
        let deadline = Demand { urgency: Urgency::Deadline(Deadline(90)), ..Demand::units(1, 0) };
        assert_eq!(parse_demand("1#90"), Ok(deadline));
    }

    #[test]
    fn a_wrong_demand_is_named_with_what_is_allowed() {
        for text in ["", "5", "x@1", "1@y", "1@1/z", "1#-2", "@", "1@"] {
            let error = parse_demand(text).unwrap_err().to_string();
            assert!(error.contains("UNITS@PRIORITY"), "{error}");
        }
    }
}
