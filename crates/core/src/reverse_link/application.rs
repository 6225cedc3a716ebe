//! What the application at a node does: ask, cancel, change its mind, give back. Its mistakes change nothing.

use super::capacity::Capacity;
use super::message::Body;
use super::node::{Effects, Node};
use super::queue::{Claim, Claimer, Entry};
use super::rules::Rules;
use crate::protocol::Misuse;
use crate::vocabulary::{Demand, Fence, GrantId, Order, Rank, RequestId, Units, Urgency};

impl Node {
    pub(super) fn on_request(&mut self, request: RequestId, demand: Demand) -> Result<(), Misuse> {
        if self.leaving {
            return Err(Misuse::Leaving);
        }
        Misuse::check_units(&demand, self.capacity.units)?;
        if self.last_request.is_some_and(|last| request <= last) {
            return Err(Misuse::RequestNumberUsed(request));
        }
        let rank = self.rank(demand.urgency, self.clock)?;
        self.last_request = Some(request);
        let claimer = Claimer::Local { request, urgency: demand.urgency, since: self.clock };
        self.enqueue(Entry {
            claimer,
            claim: Claim { alone: true, origin: self.config.id, rank, units: demand.units, session: demand.session },
        });
        Ok(())
    }

    pub(super) fn on_reprioritize(&mut self, request: RequestId, urgency: Urgency) -> Result<(), Misuse> {
        let Entry { claimer, claim } = self.waiting(request)?;
        let Claimer::Local { since, .. } = claimer else { return Err(Misuse::UnknownRequest(request)) };
        let rank = self.rank(urgency, since)?;
        self.queue.remove_local(request);
        self.enqueue(Entry { claimer: Claimer::Local { request, urgency, since }, claim: Claim { rank, ..claim } });
        Ok(())
    }

    pub(super) fn on_release(&mut self, request: RequestId, units: Units) -> Result<(), Misuse> {
        let Some(at) = self.holding.iter().position(|grant| grant.request == request) else {
            return Err(match self.waiting(request) {
                Ok(_) => Misuse::NotGranted(request),
                Err(over_or_unknown) => over_or_unknown,
            });
        };
        let held = self.holding[at].units;
        if held != units {
            return Err(Misuse::PartialRelease { request, held, asked: units });
        }
        self.holding.remove(at);
        let grant = GrantId { node: self.config.id, request };
        self.custody.take(grant);
        if self.recovers() {
            self.returned.push(grant);
        }
        Ok(())
    }

    pub(super) fn on_leave(&mut self, out: &mut Effects) -> Result<(), Misuse> {
        if !self.holding.is_empty() || !self.queue.waiting().is_empty() {
            return Err(Misuse::StillBusy);
        }
        if !self.leaving {
            self.leaving = true;
            self.broadcast(Body::Leaving, out);
        }
        Ok(())
    }

    /// The resource was defined anew. What is not newer is no news; a waiting request that asks for too much now stays
    /// in the queue until it is cancelled, and those behind it wait.
    pub(super) fn on_resize(&mut self, capacity: Capacity) {
        if capacity.version > self.capacity.version {
            self.capacity = capacity;
        }
    }

    /// The entry of a waiting request, or why there is none.
    pub(super) fn waiting(&self, request: RequestId) -> Result<Entry, Misuse> {
        if let Some(entry) = self.queue.local(request) {
            return Ok(*entry);
        }
        if self.holding.iter().any(|grant| grant.request == request) {
            return Err(Misuse::AlreadyGranted(request));
        }
        Err(match self.last_request {
            Some(last) if request <= last => Misuse::AlreadyOver(request),
            Some(_) | None => Misuse::UnknownRequest(request),
        })
    }

    fn rank(&self, urgency: Urgency, since: Fence) -> Result<Rank, Misuse> {
        let wants_deadline = self.config.order == Order::Deadline;
        self.config.order.rank(urgency, since).ok_or(Misuse::WrongUrgency { wants_deadline })
    }
}
