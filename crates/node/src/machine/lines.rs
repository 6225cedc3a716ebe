//! What a stream is told of a request: all that there is, or in brief.

use std::borrow::Cow;

use meshlock_api::stream::{Brief, NodeLine};
use meshlock_api::{Problem, State};

use super::clients::Ticket;
use super::{Machine, Now};

impl Machine {
    /// The line that tells how a request is doing. What is over without its client's word is always told in full.
    pub fn line(&self, now: Now, ticket: Ticket, in_brief: bool) -> Result<NodeLine<'_>, Problem> {
        if in_brief && let Some(brief) = self.in_brief(now, ticket) {
            return Ok(NodeLine { brief: Some(brief), ..NodeLine::default() });
        }
        let info = self.look(now, ticket)?;
        Ok(match info.state {
            State::Queued | State::Granted if in_brief => NodeLine { brief: Some(info.into()), ..NodeLine::default() },
            State::Queued | State::Granted | State::Revoked | State::Rejected | State::Expired | State::Released => {
                NodeLine { request: Some(Cow::Owned(info)), ..NodeLine::default() }
            }
        })
    }

    /// Without a copy of anything, where nothing has to be looked up: one request that is held, or was given back.
    fn in_brief(&self, now: Now, ticket: Ticket) -> Option<Brief<'_>> {
        let request = self.requests.get(ticket).filter(|it| !it.role.is_bundle() && !it.role.is_part())?;
        let is_held = match request.state {
            State::Granted => true,
            State::Released => false,
            State::Queued | State::Revoked | State::Rejected | State::Expired => return None,
        };
        let id = request.asked.id.as_deref().map_or_else(|| Cow::Owned(self.id_of(ticket)), Cow::Borrowed);
        Some(Brief {
            id,
            state: request.state,
            parts: Vec::new(),
            fence: request.fence.filter(|_| is_held),
            slots: if is_held { request.slots.iter().collect() } else { Vec::new() },
            slot_names: if is_held { self.slot_names(request) } else { Vec::new() },
            lease_ms: request.told_ms,
            expires_in_ms: is_held.then(|| request.alive_until.ms_since(now)),
            place: None,
            out_of_reach: None,
            reason: None,
        })
    }
}
