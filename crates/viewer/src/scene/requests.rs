//! The requests of a node that are open, told from events alone.

use meshlock_core::{Event, Grant, Urgency};
use serde::Serialize;

use super::Changed;

/// A request that waits or holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct OpenRequest {
    request: u64,
    pub(super) units: u32,
    urgency: Urgency,
    session: Option<u64>,
    asked: u64,
    pub(super) granted: Option<u64>,
    fence: Option<u64>,
}

/// What an event means for the requests of its node.
pub(super) fn take_event<M>(open: &mut Vec<OpenRequest>, event: &Event<M>, at: u64, changed: &mut Changed) {
    match event {
        Event::Request { request, demand } => {
            changed.requests += 1;
            open.push(OpenRequest {
                request: request.0,
                units: demand.units.0,
                urgency: demand.urgency,
                session: demand.session.map(|session| session.0),
                asked: at,
                granted: None,
                fence: None,
            });
        }
        Event::Cancel { request } => {
            open.retain(|other| other.request != request.0 || other.granted.is_some());
        }
        Event::Reprioritize { request, urgency } => {
            let waits = |other: &&mut OpenRequest| other.request == request.0 && other.granted.is_none();
            if let Some(other) = open.iter_mut().find(waits) {
                other.urgency = *urgency;
            }
        }
        Event::Release { request, units } => {
            let held = |other: &OpenRequest| other.request == request.0 && other.granted.is_some();
            if let Some(place) = open.iter().position(held) {
                let given = units.0.min(open[place].units);
                changed.releases += 1;
                changed.units -= i64::from(given);
                open[place].units -= given;
                if open[place].units == 0 {
                    open.remove(place);
                }
            }
        }
        Event::LinkUp { .. }
        | Event::LinkDown { .. }
        | Event::Receive { .. }
        | Event::Expired { .. }
        | Event::Resize { .. }
        | Event::Leave
        | Event::Resume
        | Event::Census { .. }
        | Event::Remake { .. } => {}
    }
}

/// A grant comes to the request that waits for it.
pub(super) fn take_grant(open: &mut [OpenRequest], grant: &Grant, at: u64, changed: &mut Changed) {
    let waits = |other: &&mut OpenRequest| other.request == grant.request.0 && other.granted.is_none();
    if let Some(request) = open.iter_mut().find(waits) {
        request.granted = Some(at);
        request.units = grant.units.0;
        request.session = grant.session.map(|session| session.0);
        request.fence = grant.fence.map(|fence| fence.0);
        let waited = at.saturating_sub(request.asked);
        changed.grants += 1;
        changed.waited += waited;
        changed.longest = changed.longest.max(waited);
        changed.units += i64::from(grant.units.0);
    }
}
