//! An operator takes away what a client holds, from any node.
//!
//! The wish goes to all nodes as a question does, and the node that has the request acts on it. Its client is told at
//! once; what it holds goes to others when the client says that it has stopped, or its lease is over, as with a node
//! that stops. By force it goes at once, and only fences protect what the lock guards.

use meshlock_api::text::LONGEST_TEXT;
use meshlock_api::{NewRevocation, Problem, State};

use super::alarms::Alarm;
use super::clients::Ticket;
use super::{Machine, Now};
use crate::wire::{Fact, Revoke};

impl Machine {
    /// Whether a wish of an operator can be one, and what is asked of all nodes then: nothing is done yet.
    pub fn revocation(&self, wanted: &NewRevocation) -> Result<Revoke, Problem> {
        if wanted.id.is_empty() || wanted.id.len() > 128 {
            return Err(Problem::bad_request("the id of a request has 1 to 128 characters"));
        }
        for (what, text) in [("node", &wanted.node), ("reason", &wanted.reason), ("by", &wanted.by)] {
            let is_bad = |text: &String| text.len() > LONGEST_TEXT || text.chars().any(char::is_control);
            if text.as_ref().is_some_and(is_bad) {
                let message = format!("{what}: at most {LONGEST_TEXT} bytes and no control characters");
                return Err(Problem::bad_request(message));
            }
        }
        let revoke = Revoke {
            node: wanted.node.clone(),
            id: wanted.id.clone(),
            by: wanted.by.clone().unwrap_or_else(|| "an operator".to_owned()),
            at: self.settings.name.clone(),
            reason: wanted.reason.clone().unwrap_or_else(|| "an operator took it back".to_owned()),
            acts: false,
            force: wanted.force,
        };
        if revoke.is_possible() { Ok(revoke) } else { Err(Problem::bad_request("this is too long")) }
    }

    /// Does what an operator at any node wants done, if it is about a request of this node.
    pub(crate) fn revoke_here(&mut self, now: Now, wanted: &Revoke) {
        let Some(ticket) = self.meant(wanted).filter(|_| wanted.acts) else { return };
        let reason = format!("{} ({} at node {})", wanted.reason, wanted.by, wanted.at);
        let is_over = self.requests.get(ticket).is_none_or(|request| request.state.is_over());
        if self.lingers(ticket) && wanted.force {
            self.audit_revocation(now, ticket, (&wanted.by, &wanted.at), &wanted.reason, true);
            return self.end_lingering_of(now, ticket);
        }
        if is_over {
            return;
        }
        self.audit_revocation(now, ticket, (&wanted.by, &wanted.at), &wanted.reason, wanted.force);
        if wanted.force {
            self.end(now, ticket, State::Revoked, Some(reason));
        } else {
            self.end_when_stopped(now, ticket, State::Revoked, Some(reason));
        }
    }

    /// This node begins anew, and all that its clients held is void: nobody waits for those who were told to stop.
    pub(crate) fn forget_revoked(&mut self, now: Now) {
        for (_, ticket) in std::mem::take(&mut self.lingering) {
            if let Some(alarm_at) = self.requests.get(ticket).and_then(|request| request.alarm_at) {
                self.alarms.unset(alarm_at, Alarm::Request(ticket));
            }
            self.leave_stream(ticket);
            self.requests.retire(now, ticket);
            self.end_lingering_bundle(now, ticket);
            self.uncount_holder(now);
        }
    }

    /// The request that is meant, if it is here.
    fn meant(&self, wanted: &Revoke) -> Option<Ticket> {
        let is_here = wanted.node.as_ref().is_none_or(|node| *node == self.settings.name);
        self.requests.find(&wanted.id).filter(|_| is_here)
    }

    /// How it is doing, if it is here.
    pub(crate) fn revocable(&self, now: Now, wanted: &Revoke) -> Option<Fact> {
        let ticket = self.meant(wanted)?;
        let request = self.requests.get(ticket)?;
        Some(Fact::Revocable {
            resource: request.asked.names(),
            owner: request.asked.owner.clone(),
            state: request.state,
            stopped: request.state.is_over() && !self.lingers(ticket),
            expires_in_ms: request.alive_until.ms_since(now),
        })
    }
}
