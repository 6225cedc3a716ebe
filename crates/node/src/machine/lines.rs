//! What a stream is told of a request: all that there is, or in brief.

use std::borrow::Cow;

use meshlock_api::stream::{Brief, NodeLine};
use meshlock_api::{Problem, State};

use super::clients::Ticket;
use super::{Machine, Now};

/// How much a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    Full,
    /// In brief what goes on, and everything of what is over.
    Brief,
    /// In brief also that it was given back: its client has just said so.
    BriefToTheEnd,
}

impl Machine {
    /// The line that tells how a request is doing.
    pub fn line(&self, now: Now, ticket: Ticket, detail: Detail) -> Result<NodeLine<'_>, Problem> {
        let state = self.requests.get(ticket).map(|request| request.state);
        let is_brief = match state {
            Some(State::Queued | State::Granted) => detail != Detail::Full,
            Some(State::Released) => detail == Detail::BriefToTheEnd,
            Some(State::Revoked | State::Rejected | State::Expired) | None => false,
        };
        if !is_brief {
            return Ok(NodeLine { request: Some(Cow::Owned(self.look(now, ticket)?)), ..NodeLine::default() });
        }
        let brief = self.glimpse(now, ticket).map_or_else(|| self.look(now, ticket).map(Brief::from), Ok)?;
        Ok(NodeLine { brief: Some(brief), ..NodeLine::default() })
    }

    /// A single request that is held or was given back: nothing has to be looked up or copied for it.
    fn glimpse(&self, now: Now, ticket: Ticket) -> Option<Brief<'_>> {
        let request = self.requests.get(ticket).filter(|it| !it.role.is_bundle() && !it.role.is_part())?;
        let is_held = request.state == State::Granted;
        if !is_held && request.state != State::Released {
            return None;
        }
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
