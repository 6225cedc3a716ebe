//! What is written down for an audit: who held what, when, and who took it away. The machine itself writes nothing.

use meshlock_api::{AuditGrant, AuditRecord, Audited, State};

use super::clients::Ticket;
use super::{Machine, Now, Request};

/// How many records wait to be taken: a stop ends all requests at once.
const MOST: usize = 200_000;

/// Records that nobody has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    is_on: bool,
    records: Vec<AuditRecord>,
    missed: u64,
}

impl Machine {
    /// Writes down what happens from now on, for [`take_audit`](Self::take_audit).
    pub fn begin_audit(&mut self, now: Now) {
        self.audit.is_on = true;
        let node = self.settings.name.clone();
        self.write_down(now, || Audited::Started { node, version: env!("CARGO_PKG_VERSION").to_owned() });
    }

    /// What was written down since the last time.
    pub fn take_audit(&mut self) -> Vec<AuditRecord> {
        let mut records = std::mem::take(&mut self.audit.records);
        if let Some(last) = records.last().filter(|_| self.audit.missed > 0) {
            let what = Audited::Missed { records: std::mem::take(&mut self.audit.missed) };
            records.push(AuditRecord { at_ms: last.at_ms, what });
        }
        records
    }

    fn write_down(&mut self, now: Now, what: impl FnOnce() -> Audited) {
        if !self.audit.is_on {
            return;
        }
        if self.audit.records.len() >= MOST {
            self.audit.missed += 1;
            return;
        }
        let at_ms = self.settings.began_unix_ms.saturating_add(now.0 / 1_000_000);
        self.audit.records.push(AuditRecord { at_ms, what: what() });
    }

    pub(super) fn audit_grant(&mut self, now: Now, ticket: Ticket) {
        let Some(request) = self.requests.get(ticket).filter(|_| self.audit.is_on) else { return };
        let (grant, asked) = (self.grant_of(ticket, request), &request.asked);
        let (units, session, mode) = (asked.units.unwrap_or(1), asked.session.clone(), asked.mode);
        let waited_ms = now.ms_since(request.asked_at);
        self.write_down(now, || Audited::Granted { grant, units, session, mode, waited_ms });
    }

    pub(super) fn audit_end(&mut self, now: Now, ticket: Ticket, state: State) {
        let Some(request) = self.requests.get(ticket).filter(|_| self.audit.is_on) else { return };
        // Of a bundle each part is written down.
        let Some(since) = request.granted_at.filter(|_| !request.role.is_bundle()) else { return };
        let (grant, reason, held_ms) = (self.grant_of(ticket, request), request.reason.clone(), now.ms_since(since));
        self.write_down(now, || Audited::Ended { grant, state, reason, held_ms });
    }

    pub(super) fn audit_stop(&mut self, now: Now, ticket: Ticket) {
        let Some(grant) = self.requests.get(ticket).map(|request| self.grant_of(ticket, request)) else { return };
        self.write_down(now, || Audited::Stopped { grant });
    }

    pub(super) fn audit_revocation(&mut self, now: Now, ticket: Ticket, by: (&str, &str), reason: &str, forced: bool) {
        for part in self.parts(ticket) {
            self.audit_revocation(now, part, by, reason, forced);
        }
        let whole = self.requests.get(ticket).filter(|request| !request.role.is_bundle());
        let Some(grant) = whole.map(|request| self.grant_of(ticket, request)) else { return };
        let (by, at, reason) = (by.0.to_owned(), by.1.to_owned(), reason.to_owned());
        self.write_down(now, || Audited::Revoked { grant, by, at, reason, forced });
    }

    fn grant_of(&self, ticket: Ticket, request: &Request) -> AuditGrant {
        AuditGrant {
            resource: request.asked.resource.clone(),
            request: self.id_of(ticket),
            owner: request.asked.owner.clone(),
            fence: request.fence,
        }
    }
}
