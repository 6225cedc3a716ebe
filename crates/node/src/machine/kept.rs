//! Grants that a clean stop could not give back: their clients have not said that they stopped, and their leases are not
//! over. They are saved, and held again from the next start on.
//!
//! How much of a lease had passed cannot be told: it is not known how long the node was away. So it begins anew, in full,
//! and ends when the client gives back, or gives no sign for so long.

use std::collections::BTreeSet;

use meshlock_api::{Mode, NewRequest, State, Urgency};
use meshlock_core::{Demand, RequestId, Session, Slots};
use serde::{Deserialize, Serialize};

use super::clients::Ticket;
use super::requests::Request;
use super::resource::Company;
use super::{Machine, Now};
use crate::wire::Number;

/// A grant in what is saved: what was asked for, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptGrant {
    ticket: u64,
    id: Option<String>,
    resource: String,
    units: Option<u32>,
    asked_urgency: Option<Urgency>,
    session: Option<String>,
    mode: Option<Mode>,
    asked_lease_ms: Option<u64>,
    timeout_ms: Option<u64>,
    owner: Option<String>,
    urgency: Option<Urgency>,
    lease_ms: u64,
    number: Option<RequestId>,
    demand: Option<Demand>,
    fence: Option<u64>,
    #[serde(default)]
    slots: Slots,
}

/// Clients that attend a session under one grant, in what is saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptCompany {
    resource: String,
    number: RequestId,
    session: Session,
    fence: Option<u64>,
    members: Vec<u64>,
    places: u32,
}

/// A grant that is kept, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldGrant {
    /// The resource.
    pub resource: String,
    /// The id of the request.
    pub id: String,
    /// Who asked.
    pub owner: Option<String>,
}

impl Machine {
    /// What clients hold that were told to stop and have not answered.
    pub fn lingering(&self) -> Vec<HeldGrant> {
        let held = |(_, ticket): &(Number, Ticket)| {
            let request = self.requests.get(*ticket)?;
            let id = self.id_of(*ticket);
            Some(HeldGrant { resource: request.asked.resource.clone(), id, owner: request.asked.owner.clone() })
        };
        self.lingering.iter().filter_map(held).collect()
    }

    pub(super) fn kept_grants(&self) -> (Vec<KeptGrant>, Vec<KeptCompany>) {
        let grants = self.lingering.iter().filter_map(|(_, ticket)| Some(keep(*ticket, self.requests.get(*ticket)?)));
        let companies = self.resources.values().filter_map(|known| {
            let Company { number, session, fence, members, places } = known.company.as_ref()?;
            let members = members.iter().map(|ticket| ticket.0).collect();
            let resource = known.entry.name.clone();
            Some(KeptCompany { resource, number: *number, session: *session, fence: *fence, members, places: *places })
        });
        (grants.collect(), companies.collect())
    }

    /// Holds again what was kept. The resources must be known.
    pub(super) fn hold_again(&mut self, now: Now, grants: Vec<KeptGrant>, companies: Vec<KeptCompany>) {
        for grant in grants {
            let Some(resource) = self.names.get(&grant.resource).copied() else { continue };
            let ticket = Ticket(grant.ticket);
            let number = grant.number;
            let request = held(now, resource, grant);
            if let Some(known) = self.resources.get_mut(&resource) {
                known.usage.hold(ticket, &request);
                known.tickets.extend(number.map(|number| (number, ticket)));
            }
            // Its client may hold on to it, also if this node is killed now.
            self.promise(request.alive_until);
            self.count_holder();
            self.requests.restore(ticket, request);
            self.set_alarm(ticket);
        }
        for KeptCompany { resource, number, session, fence, members, places } in companies {
            let members: BTreeSet<Ticket> = members.into_iter().map(Ticket).collect();
            let known = self.names.get(&resource).and_then(|resource| self.resources.get_mut(resource));
            if let (Some(known), Some(first)) = (known, members.first().copied()) {
                // Also if the first of them has left, the grant is still in use.
                known.tickets.entry(number).or_insert(first);
                known.company = Some(Company { number, session, fence, members, places });
            }
        }
    }
}

fn keep(Ticket(ticket): Ticket, request: &Request) -> KeptGrant {
    // Of a bundle the parts are kept, each by itself: they end with their leases.
    let asked = request.asked.clone();
    let NewRequest { id, resource, all: _, units, urgency, session, mode, lease_ms, timeout_ms, owner } = asked;
    KeptGrant {
        ticket,
        id,
        resource,
        units,
        asked_urgency: urgency,
        session,
        mode,
        asked_lease_ms: lease_ms,
        timeout_ms,
        owner,
        urgency: request.urgency,
        lease_ms: request.lease_ms,
        number: request.number,
        demand: request.demand,
        fence: request.fence,
        slots: request.slots.clone(),
    }
}

fn held(now: Now, resource: Number, grant: KeptGrant) -> Request {
    let asked = NewRequest {
        id: grant.id,
        resource: grant.resource,
        all: Vec::new(),
        units: grant.units,
        urgency: grant.asked_urgency,
        session: grant.session,
        mode: grant.mode,
        lease_ms: grant.asked_lease_ms,
        timeout_ms: grant.timeout_ms,
        owner: grant.owner,
    };
    Request {
        urgency: grant.urgency,
        resource: Some(resource),
        demand: grant.demand,
        number: grant.number,
        state: State::Granted,
        fence: grant.fence,
        slots: grant.slots,
        granted_at: Some(now),
        lease_ms: grant.lease_ms,
        told_ms: grant.lease_ms,
        alive_until: now.plus_ms(grant.lease_ms),
        ..Request::new(now, asked)
    }
}
