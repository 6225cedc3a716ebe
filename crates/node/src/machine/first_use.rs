//! What a client's first use of a name makes.

use meshlock_api::{Definition, Kind, NewRequest, NewResource, Order, Problem, Urgency};
use meshlock_core::NodeId;

use super::demand;

/// The resource that a request for an unknown name makes: one that can serve it. Refused where the request does not
/// say enough, so that no mistake leaves a resource behind.
pub(crate) fn implied(asked: &NewRequest, node: NodeId) -> Result<Definition, Problem> {
    let name = &asked.resource;
    let refuse = |why: &str, make: &str| {
        let hint = format!("make it first: meshlock resource make {name} {make}");
        Err(Problem::conflict(format!("there is no resource {name:?} yet, and {why}; {hint}")))
    };
    if asked.units.is_some_and(|units| units > 1) {
        let units = asked.units.unwrap_or(1);
        let why = format!("a request for {units} units does not say how many there are in all");
        return refuse(&why, &format!("--capacity {units}"));
    }
    if asked.session.is_some() && asked.mode.is_some() {
        return refuse("a request with a session and a mode fits no kind of resource", "--kind sessions");
    }
    let kind = match (&asked.session, asked.mode) {
        (Some(_), _) => Kind::Sessions,
        (None, Some(_)) => Kind::ReadersWriter,
        (None, None) => Kind::Mutex,
    };
    let by_deadline = matches!(asked.urgency, Some(Urgency::Deadline(_)));
    let order = by_deadline.then_some(Order::Deadline);
    let wanted = NewResource { kind: Some(kind), order, ..NewResource::default() };
    let definition = wanted.complete().map_err(Problem::bad_request)?;
    demand::demand(name, &definition, asked, node)?;
    Ok(definition)
}

#[cfg(test)]
mod tests {
    use meshlock_api::{Mode, Reason};

    use super::*;

    fn asked() -> NewRequest {
        NewRequest { resource: "gpu".into(), ..NewRequest::default() }
    }

    #[test]
    fn a_request_makes_what_can_serve_it() {
        let made = |asked: NewRequest| {
            let made = implied(&asked, NodeId(0)).expect("clear");
            (made.kind, made.order == Order::Deadline)
        };
        assert_eq!(made(asked()), (Kind::Mutex, false));
        assert_eq!(made(NewRequest { units: Some(1), ..asked() }), (Kind::Mutex, false));
        assert_eq!(made(NewRequest { mode: Some(Mode::Read), ..asked() }), (Kind::ReadersWriter, false));
        assert_eq!(made(NewRequest { session: Some("a".into()), ..asked() }), (Kind::Sessions, false));
        assert_eq!(made(NewRequest { urgency: Some(Urgency::Deadline(9)), ..asked() }), (Kind::Mutex, true));
    }

    #[test]
    fn units_say_nothing_of_the_capacity_and_the_refusal_names_the_command() {
        let refused = implied(&NewRequest { units: Some(2), ..asked() }, NodeId(0)).expect_err("unclear");
        assert_eq!(refused.reason, Reason::Conflict);
        assert!(refused.message.contains("meshlock resource make gpu --capacity 2"), "{refused}");
        let none = implied(&NewRequest { units: Some(0), ..asked() }, NodeId(0)).expect_err("nothing");
        assert_eq!(none.reason, Reason::BadRequest);
        let both = NewRequest { session: Some("a".into()), mode: Some(Mode::Write), ..asked() };
        assert!(implied(&both, NodeId(0)).is_err());
    }
}
