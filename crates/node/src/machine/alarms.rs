//! What has to be done at some time: leases, timeouts, timers of protocols.

use std::collections::BTreeSet;

use meshlock_core::{NodeId, Timer};

use super::{Now, Ticket};
use crate::wire::Number;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// Voters or the standing of this node. First: when a standing ends, leases end because of it.
    Voting,
    /// A lease or a timeout may be over.
    Request(Ticket),
    /// A timer of the protocol of a resource.
    Timer(Number, Timer),
    /// Whether tokens that are waited for are in reach.
    Reach,
    /// The next part of the report to a question.
    Report(NodeId, u64),
    /// The catalogue is to be kept on disk.
    Catalogue,
    /// Nothing may be held any more, which is to be noted.
    Promises,
    /// Clients that wait are told of their places.
    Places,
    /// What clients hold could not be noted: whether that works again.
    Noting,
    /// The rounds of neighbours were waited for long enough, for the call of this member.
    Call(u16),
}

/// All alarms by time. Those of requests are taken out when the request is over, so that short ones leave nothing.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    due: BTreeSet<(Now, Alarm)>,
    #[cfg(test)]
    sets: usize,
}

impl Alarms {
    pub(crate) fn set(&mut self, at: Now, alarm: Alarm) {
        self.due.insert((at, alarm));
        #[cfg(test)]
        {
            self.sets += 1;
        }
    }

    /// How often one was set.
    #[cfg(test)]
    pub(crate) fn sets(&self) -> usize {
        self.sets
    }

    pub(crate) fn unset(&mut self, at: Now, alarm: Alarm) {
        self.due.remove(&(at, alarm));
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.due.len()
    }

    pub(crate) fn next(&self) -> Option<Now> {
        self.due.first().map(|(at, _)| *at)
    }

    pub(crate) fn take_due(&mut self, now: Now) -> Option<Alarm> {
        if self.next()? > now {
            return None;
        }
        self.due.pop_first().map(|(_, alarm)| alarm)
    }
}
